// A number that stands for the terms by which a topic's events are routed: the revisions of its
// record and of all its subscriptions. Whoever holds the same records has the same mark, in
// whatever order they came, so that a publish routed by an old catalog is noticed at the append
// (the port Store). It is a sum, so that a store can keep it up to date with each write.

import type { SubscriptionId } from "../subscription.ts";

/** Marks are whole numbers below this. */
export const markBound = 2 ** 52;

interface Marked {
  readonly id: SubscriptionId;
  readonly revision: number;
}

export function routingMark(topicRevision: number, subscriptions: Iterable<Marked>): number {
  let mark = markOfTopic(topicRevision);
  for (const one of subscriptions) mark = addMarks(mark, markOf(one));
  return mark;
}

/** No subscription has the id 0. */
export function markOfTopic(revision: number): number {
  return markOf({ id: 0, revision });
}

export function markOf({ id, revision }: Marked): number {
  const low = mix(mix(revision) ^ mix(revision / 2 ** 32) ^ Math.imul(id + 1, 0x9e3779b1));
  const high = mix(low ^ Math.imul(id + 1, 0x85ebca6b)) & 0xfffff;
  return high * 2 ** 32 + (low >>> 0);
}

export function addMarks(one: number, other: number): number {
  return (one + other) % markBound;
}

/** What has to be added to take this mark away. */
export function negativeMark(mark: number): number {
  return (markBound - mark) % markBound;
}

/** Spreads 32 bits over 32 bits, the same for each number. */
function mix(number: number): number {
  let bits = number | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return bits ^ (bits >>> 16);
}
