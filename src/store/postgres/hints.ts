// What tells other brokers of new deliveries: a notice to the owner of the queue alone, so that the
// others are not woken; of a queue that clients fetch from to everybody.

import type { Slot } from "../../core/cluster/slot.ts";
import type { Instant } from "../../core/ports.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import { textArray } from "./binary.ts";
import type { Leases } from "./leases.ts";
import { channelOf, wakeNotice } from "./notices.ts";
import type { Times } from "./times.ts";

/** A notice as it is sent. */
export interface Hint {
  readonly channel: string;
  readonly text: string;
}

/** Sends hints: a list of channels and a list of texts. */
export const notifyAll = {
  name: "notify all",
  text: "select pg_notify(h.channel, h.text) from unnest($1::text[], $2::text[]) h(channel, text)",
};

export function hintsFor(
  due: ReadonlyMap<SubscriptionId, Instant>,
  places: {
    readonly leases: Leases;
    readonly times: Times;
    /** As far as is known; null: nobody. */
    ownerOf(slot: Slot): string | null;
  },
): readonly Hint[] {
  const { leases, times, ownerOf } = places;
  const channels = new Map<string, Map<SubscriptionId, Instant>>();
  for (const [id, at] of due) {
    const slot = leases.slotOf(id);
    const isForAll = slot === undefined || leases.isPull(id);
    const channel = channelOf(isForAll ? null : ownerOf(slot));
    const queues = channels.get(channel) ?? new Map<SubscriptionId, Instant>();
    channels.set(channel, queues.set(id, times.there(at)));
  }
  return [...channels].map(([channel, queues]) => ({ channel, text: wakeNotice(queues) }));
}

export function hintColumns(hints: readonly Hint[]): [Buffer, Buffer] {
  return [textArray(hints.map(({ channel }) => channel)), textArray(hints.map(({ text }) => text))];
}
