// Who gets an event. A directory is the catalog prepared for looking things up: a value, built
// anew after every change and never altered, so that a publish sees one state of it from
// beginning to end.

import type { EventFields } from "./event.ts";
import { compileFilter, type EventTest, foldCase, foldedTypes } from "./filter.ts";
import type { Catalog } from "./ports.ts";
import type { Subscription, SubscriptionId } from "./subscription.ts";
import type { Topic } from "./topic.ts";

export interface Directory {
  /** Without regard to letter case. */
  topic(name: string): Topic | undefined;
  subscription(id: SubscriptionId): Subscription | undefined;
  /** The subscriptions of a topic whose filters match, each once; none for an unknown topic. */
  route(topicName: string, fields: EventFields): readonly SubscriptionId[];
}

/** A subscription, and what its filter asks beyond the event type. */
interface Candidate {
  readonly id: SubscriptionId;
  readonly matches: EventTest;
}

/**
 * The subscriptions of one topic. Those that list event types are found by the type, so that a
 * thousand subscriptions to a thousand types cost an event one look; the rest are asked in turn.
 */
interface Audience {
  readonly byType: Map<string, Candidate[]>;
  readonly ofAnyType: Candidate[];
}

export function openDirectory(catalog: Catalog): Directory {
  const topics = new Map(catalog.topics.map((topic) => [foldCase(topic.name), topic]));
  const subscriptions = new Map(catalog.subscriptions.map((each) => [each.id, each]));
  const audiences = new Map<string, Audience>();
  for (const subscription of catalog.subscriptions) {
    const topic = foldCase(subscription.topic);
    if (!topics.has(topic)) continue;
    let audience = audiences.get(topic);
    if (audience === undefined) {
      audience = { byType: new Map(), ofAnyType: [] };
      audiences.set(topic, audience);
    }
    admit(audience, subscription);
  }
  return {
    topic: (name) => topics.get(foldCase(name)),
    subscription: (id) => subscriptions.get(id),
    route(topicName, fields) {
      const audience = audiences.get(foldCase(topicName));
      return audience === undefined ? [] : choose(audience, fields);
    },
  };
}

function admit(audience: Audience, { id, filter }: Subscription): void {
  const types = foldedTypes(filter);
  const candidate = { id, matches: compileFilter({ ...filter, includedEventTypes: null }) };
  if (types === null) {
    audience.ofAnyType.push(candidate);
    return;
  }
  for (const type of types) {
    const candidates = audience.byType.get(type);
    if (candidates === undefined) audience.byType.set(type, [candidate]);
    else candidates.push(candidate);
  }
}

function choose({ byType, ofAnyType }: Audience, fields: EventFields): SubscriptionId[] {
  const chosen: SubscriptionId[] = [];
  const ofThisType = byType.size === 0 ? undefined : byType.get(foldCase(fields.eventType));
  if (ofThisType !== undefined) {
    for (const { id, matches } of ofThisType) if (matches(fields)) chosen.push(id);
  }
  for (const { id, matches } of ofAnyType) if (matches(fields)) chosen.push(id);
  return chosen;
}
