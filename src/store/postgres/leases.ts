// What this broker keeps in memory of the queues: leases, which only the owner of a queue gives, so
// that a claim writes nothing; and standing claims, to which appends are leased before they are on
// disk. Statements are under way at the same time: what ends while a claim is being read is noted,
// so that a row which the claim still saw is not leased again.

import { type Slot, servingSlot } from "../../core/cluster/slot.ts";
import type { Queue, Stage } from "../../core/delivery/delivery.ts";
import type { Instant, Want } from "../../core/ports.ts";
import type { Subscription, SubscriptionId } from "../../core/subscription.ts";

export interface Hold {
  readonly lease: number;
  readonly until: Instant;
}

/** A claim that found less than it wanted: later appends may be leased to it (Store.claim). */
interface Standing {
  room: number;
  charsRoom: number;
  /** It has nothing yet, and so takes one event of any size. */
  isEmpty: boolean;
  readonly leaseMs: number;
}

export class QueueLeases {
  /** By event number. */
  readonly held = new Map<number, Hold>();
  /** Being settled: they stay leased until that is on disk. */
  readonly settling = new Set<number>();
  /** When the queue's reader was told to come again. */
  nextDueAt: Instant | null = null;
  #standing: Standing | null = null;
  /** Of each claim that is being read, the events that have ended or come meanwhile. */
  readonly #readers = new Set<Set<number>>();

  /** A claim begins: no other stands. The answer collects what ends meanwhile. */
  beginReading(): Set<number> {
    this.#standing = null;
    const moved = new Set<number>();
    this.#readers.add(moved);
    return moved;
  }

  endReading(moved: Set<number>): void {
    this.#readers.delete(moved);
  }

  get isBeingRead(): boolean {
    return this.#readers.size > 0;
  }

  hold(event: number, hold: Hold): void {
    this.held.set(event, hold);
  }

  release(event: number): void {
    if (!this.held.delete(event)) return;
    this.settling.delete(event);
    for (const moved of this.#readers) moved.add(event);
  }

  /** Events that a claim at this time may not lease. */
  heldAt(now: Instant): number[] {
    const events: number[] = [];
    for (const [event, { until }] of this.held) {
      if (until > now || this.settling.has(event)) events.push(event);
    }
    return events;
  }

  isHeld(event: number, now: Instant): boolean {
    const hold = this.held.get(event);
    return hold !== undefined && (hold.until > now || this.settling.has(event));
  }

  earliestEnd(): Instant | null {
    let earliest: Instant | null = null;
    for (const { until } of this.held.values()) {
      if (earliest === null || until < earliest) earliest = until;
    }
    return earliest;
  }

  stand(want: Want, found: { readonly count: number; readonly chars: number }): void {
    const room = want.max - found.count;
    const charsRoom = want.charsMax - found.chars;
    const isOpen = room > 0 && charsRoom > 0 && !this.isBeingRead;
    const { leaseMs } = want;
    this.#standing = isOpen ? { room, charsRoom, isEmpty: found.count === 0, leaseMs } : null;
  }

  /** How long the standing claim leases another event of this size for; null: it takes no more. */
  take(chars: number): number | null {
    const standing = this.#standing;
    if (standing === null) return null;
    if (chars > standing.charsRoom && !standing.isEmpty) {
      this.#standing = null;
      return null;
    }
    standing.room -= 1;
    standing.charsRoom -= chars;
    standing.isEmpty = false;
    if (standing.room <= 0 || standing.charsRoom <= 0) this.#standing = null;
    return standing.leaseMs;
  }

  /** Nothing is leased any more. */
  clear(): void {
    for (const event of [...this.held.keys()]) this.release(event);
    this.#standing = null;
    this.nextDueAt = null;
  }
}

interface Known {
  readonly slot: Slot;
  /** Deleted: only its dead letters are left. */
  readonly isRetired: boolean;
  /** Clients fetch from it, at any broker. */
  readonly isPull: boolean;
  readonly deliver: QueueLeases;
  readonly deadLetter: QueueLeases;
}

/** All queues of the database, whoever owns them. */
export class Leases {
  readonly #known = new Map<SubscriptionId, Known>();

  put(
    subscription: Parameters<typeof servingSlot>[0] & Pick<Subscription, "id">,
    isRetired: boolean,
  ): void {
    const { id } = subscription;
    const old = this.#known.get(id);
    const slot = servingSlot(subscription);
    if (old !== undefined && old.slot !== slot) clear(old);
    if (isRetired) old?.deliver.clear();
    const deliver = old?.deliver ?? new QueueLeases();
    const deadLetter = old?.deadLetter ?? new QueueLeases();
    const isPull = subscription.destination.kind === "pull";
    this.#known.set(id, { slot, isRetired, isPull, deliver, deadLetter });
  }

  remove(id: SubscriptionId): void {
    const known = this.#known.get(id);
    if (known !== undefined) clear(known);
    this.#known.delete(id);
  }

  ids(): readonly SubscriptionId[] {
    return [...this.#known.keys()];
  }

  slotOf(id: SubscriptionId): Slot | undefined {
    return this.#known.get(id)?.slot;
  }

  isPull(id: SubscriptionId): boolean {
    return this.#known.get(id)?.isPull === true;
  }

  isRetired(id: SubscriptionId): boolean {
    return this.#known.get(id)?.isRetired === true;
  }

  /** Undefined: there is no such queue. */
  find({ subscription, stage }: Queue): QueueLeases | undefined {
    const known = this.#known.get(subscription);
    if (known === undefined || (stage === "deliver" && known.isRetired)) return undefined;
    return known[stage];
  }

  /** Where the event is leased. */
  holding(id: SubscriptionId, event: number): { stage: Stage; leases: QueueLeases } | undefined {
    const known = this.#known.get(id);
    if (known === undefined) return undefined;
    if (!known.isRetired && known.deliver.held.has(event)) {
      return { stage: "deliver", leases: known.deliver };
    }
    const isHeld = known.deadLetter.held.has(event);
    return isHeld ? { stage: "deadLetter", leases: known.deadLetter } : undefined;
  }

  /** The subscriptions of these slots. */
  idsOf(slots: ReadonlySet<Slot>): readonly SubscriptionId[] {
    const ids: SubscriptionId[] = [];
    for (const [id, { slot }] of this.#known) if (slots.has(slot)) ids.push(id);
    return ids;
  }

  queuesOf(subscription: SubscriptionId): readonly { queue: Queue; leases: QueueLeases }[] {
    const stages: readonly Stage[] = ["deliver", "deadLetter"];
    return stages.flatMap((stage) => {
      const queue = { subscription, stage };
      const leases = this.find(queue);
      return leases === undefined ? [] : [{ queue, leases }];
    });
  }

  /** These slots are no longer ours. */
  clear(isLost: (slot: Slot) => boolean): void {
    for (const known of this.#known.values()) if (isLost(known.slot)) clear(known);
  }
}

function clear({ deliver, deadLetter }: Known): void {
  deliver.clear();
  deadLetter.clear();
}
