// What the embedded store keeps in memory of one queue. Leases are only here, so that a claim
// writes nothing; the store is open in one process only, and its leases end with it. Everything a
// round changes here can be undone, because its transaction may fail.

import type { Queue } from "../../core/delivery/delivery.ts";
import type { Instant, Want } from "../../core/ports.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import { NumberMap } from "./number-map.ts";

export interface Hold {
  readonly lease: number;
  readonly until: Instant;
}

/** A claim that found less than it wanted: later appends may be leased to it (Store.claim). */
export interface Standing {
  room: number;
  charsRoom: number;
  /** It has nothing yet, and so takes one event of any size. */
  isEmpty: boolean;
  readonly leaseMs: number;
}

/** A position in a queue: by due time, then by event. */
export interface QueuePosition {
  readonly dueAt: Instant;
  readonly event: number;
}

export class QueueLeases {
  /** By event number. */
  readonly held = new NumberMap<Hold>();
  standing: Standing | null = null;
  /** Every row up to here is leased, so that a claim can start behind it. */
  frontier: QueuePosition | null = null;
  /** Whether the current round has touched it; see `Leases`. */
  isTouched = false;
  readonly #journal: (readonly [event: number, before: Hold | undefined])[] = [];

  hold(event: number, hold: Hold): void {
    this.#journal.push([event, this.held.get(event)]);
    this.held.set(event, hold);
  }

  /** An ended lease does not hold its delivery, but may still be settled. */
  isHeld(event: number, now: Instant): boolean {
    const hold = this.held.get(event);
    return hold !== undefined && hold.until > now;
  }

  release(event: number): void {
    const before = this.held.get(event);
    if (before === undefined) return;
    this.#journal.push([event, before]);
    this.held.delete(event);
  }

  /** Something here is free now: the frontier may not be beyond it. */
  free(place: QueuePosition): void {
    if (this.frontier !== null && !isBefore(this.frontier, place)) this.frontier = null;
  }

  lookEverywhere(): void {
    this.frontier = null;
  }

  /** Ends leases: what is held until now or before can be claimed again. */
  lookBack(now: Instant): void {
    for (const hold of this.held.values()) {
      if (hold.until <= now) {
        this.frontier = null;
        return;
      }
    }
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
    const isEmpty = found.count === 0;
    const { leaseMs } = want;
    this.standing = room > 0 && charsRoom > 0 ? { room, charsRoom, isEmpty, leaseMs } : null;
  }

  /** How long the standing claim leases another event of this size for; null: it takes no more. */
  take(chars: number): number | null {
    const { standing } = this;
    if (standing === null) return null;
    if (chars > standing.charsRoom && !standing.isEmpty) {
      this.standing = null;
      return null;
    }
    standing.room -= 1;
    standing.charsRoom -= chars;
    standing.isEmpty = false;
    if (standing.room === 0 || standing.charsRoom <= 0) this.standing = null;
    return standing.leaseMs;
  }

  /** The round is on disk. */
  keep(): void {
    this.#journal.length = 0;
  }

  /** The round is not on disk: everything is undone. */
  undo(): void {
    for (const [event, before] of this.#journal.reverse()) {
      if (before === undefined) this.held.delete(event);
      else this.held.set(event, before);
    }
    this.#journal.length = 0;
    this.frontier = null;
    this.standing = null;
  }
}

export function isBefore(a: QueuePosition, b: QueuePosition): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.event < b.event);
}

// The leases of all queues, and which queues the current round has touched: these are kept or
// undone with it.

/** Of a subscription that is retired, the first stage is gone. */
export type LeasePair = readonly [deliver: QueueLeases | undefined, deadLetter: QueueLeases];

export class Leases {
  readonly #pairs = new Map<SubscriptionId, LeasePair>();
  #touched: QueueLeases[] = [];

  /** Adds both stages of the subscription, unless they exist. */
  add(id: SubscriptionId): void {
    if (!this.#pairs.has(id)) this.#pairs.set(id, [new QueueLeases(), new QueueLeases()]);
  }

  remove(id: SubscriptionId): void {
    this.#pairs.delete(id);
  }

  /** Only its dead letters are left. */
  retire(id: SubscriptionId): void {
    this.#pairs.set(id, [undefined, this.#pairs.get(id)?.[1] ?? new QueueLeases()]);
  }

  has(queue: Queue): boolean {
    return this.find(queue) !== undefined;
  }

  pair(subscription: SubscriptionId): LeasePair | undefined {
    return this.#pairs.get(subscription);
  }

  find(queue: Queue): QueueLeases | undefined {
    return this.#pairs.get(queue.subscription)?.[queue.stage === "deliver" ? 0 : 1];
  }

  /** Rows may be anywhere. */
  lookEverywhere(): void {
    for (const pair of this.#pairs.values()) for (const line of pair) line?.lookEverywhere();
  }

  /** Called before a lease changes. */
  touch(line: QueueLeases): QueueLeases {
    if (!line.isTouched) this.#touched.push(line);
    line.isTouched = true;
    return line;
  }

  /** The round is on disk. */
  keep(): void {
    for (const line of this.#takeTouched()) line.keep();
  }

  /** The round is not on disk: everything is undone. */
  undo(): void {
    for (const line of this.#takeTouched()) line.undo();
  }

  #takeTouched(): readonly QueueLeases[] {
    const touched = this.#touched;
    this.#touched = [];
    for (const line of touched) line.isTouched = false;
    return touched;
  }
}
