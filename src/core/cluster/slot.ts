// A slot is what brokers of a cluster own. Every endpoint belongs to one, by a hash of its key, and
// with it the subscriptions that send there: both stages of their deliveries, their handshakes and
// their expiry. So one broker alone knows an endpoint's health, and bounds what is sent to it. A
// queue that clients fetch from has no endpoint, and belongs to a slot by its own name. Slot 0 also
// carries the cluster's odd jobs.
//
// The number of slots and the hash are written in databases: they never change.

import { type Destination, endpointKeyOf, type Subscription } from "../subscription.ts";
import { foldCase } from "../text/compare.ts";

/** From 0 to `slotCount` - 1. */
export type Slot = number;

export const slotCount = 256;

export const oddJobsSlot: Slot = 0;

export const everySlot: readonly Slot[] = Array.from({ length: slotCount }, (_, slot) => slot);

/** The slot of an endpoint. */
export function slotOf(destination: Destination): Slot {
  return slotOfKey(endpointKeyOf(destination));
}

export function slotOfKey(endpointKey: string): Slot {
  return hashOf(endpointKey) % slotCount;
}

/** Where a subscription belongs. */
export function homeSlot({
  topic,
  name,
  destination,
}: Pick<Subscription, "topic" | "name" | "destination">): Slot {
  if (destination.kind !== "pull") return slotOf(destination);
  return slotOfKey(`pull ${foldCase(topic)} ${foldCase(name)}`);
}

/**
 * Whose owner serves the subscription: usually that of its home. When the destination changes, the
 * broker that still has sends to the old one in flight hands it over when they have ended.
 */
export function servingSlot(
  subscription: Pick<Subscription, "slot" | "topic" | "name" | "destination">,
): Slot {
  return subscription.slot ?? homeSlot(subscription);
}

/** FNV-1a over the UTF-16 units, with its bits mixed once more at the end. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
