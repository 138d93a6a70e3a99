// The three operations of the embedded store, append, claim and settle, within the engine's round
// (engine.ts). Leases are in memory (leases.ts), and so are events that came a moment ago
// (fresh.ts); deliveries and events are rows otherwise. On failure the engine undoes all of it
// together.
//
// In a fast round new events stay in memory; in any other they become rows at once.

import type { Delivery, Queue } from "../../core/delivery/delivery.ts";
import type { Seen } from "../../core/ledger.ts";
import type { Claim, Instant, Routed, Settlement, Want } from "../../core/ports.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import type { AddEvents, Fresh, FreshEvent } from "./fresh.ts";
import { type EntryWriter, type JournalEntry, RoutedBytes } from "./journal-record.ts";
import { isBefore, type Leases, type QueueLeases, type QueuePosition } from "./leases.ts";
import type { QueueCounts } from "./queue-counts.ts";
import { type Op, type Push, stageNumber, stageOf } from "./round.ts";
import { deliveryOf } from "./row.ts";
import type { SqlRow, Statements } from "./statements.ts";

/** What the engine gives to the parts that change deliveries. */
export interface QueueDeps {
  readonly statements: Statements;
  readonly leases: Leases;
  readonly counts: QueueCounts;
  readonly fresh: Fresh;
  readonly addEvents: AddEvents;
  readonly tell: Tell;
}

/** What the current round reports once it is on disk. */
export interface Tell {
  push(push: Push): void;
  wake(queue: Queue, dueAt: Instant): void;
}

export class Deliveries {
  readonly #statements: Statements;
  readonly #leases: Leases;
  readonly #counts: QueueCounts;
  readonly #fresh: Fresh;
  readonly #addEvents: AddEvents;
  readonly #tell: Tell;
  /** Where the journal's record of this round is made; null: it has none. */
  #entries: EntryWriter | null = null;
  #isFast = false;
  #eventsMade: number;
  #leasesMade: number;

  /** Numbers are assigned above `from`. */
  constructor(deps: QueueDeps, from: number) {
    this.#statements = deps.statements;
    this.#leases = deps.leases;
    this.#counts = deps.counts;
    this.#fresh = deps.fresh;
    this.#addEvents = deps.addEvents;
    this.#tell = deps.tell;
    this.#eventsMade = from;
    this.#leasesMade = from;
  }

  /** The number of the latest event. */
  get lastEvent(): number {
    return this.#eventsMade;
  }

  /** Leases are numbered in one row, whoever gives them. */
  nextLease(): number {
    this.#leasesMade += 1;
    return this.#leasesMade;
  }

  /** A round begins. */
  begin(entries: EntryWriter | null, isFast: boolean): void {
    this.#entries = entries;
    this.#isFast = isFast;
  }

  append(routed: readonly Routed[], now: Instant, op: number): number[] {
    const numbers: number[] = [];
    const added: FreshEvent[] = [];
    const woken = new Set<SubscriptionId>();
    const lines: QueueLeases[] = [];
    for (let index = 0; index < routed.length; index += 1) {
      const one = routed[index] as Routed;
      const number = ++this.#eventsMade;
      numbers.push(number);
      const kept: SubscriptionId[] = [];
      lines.length = 0;
      for (const subscription of one.to) {
        const line = this.#leases.pair(subscription)?.[0];
        if (line === undefined) continue;
        kept.push(subscription);
        lines.push(line);
      }
      if (kept.length === 0) continue;
      if (kept.length > 1 && new Set(kept).size < kept.length) {
        throw new Error("UNIQUE: an event is routed to a subscription twice.");
      }
      const fresh = { number, routed: one, dueAt: now, to: kept };
      const chars = one instanceof RoutedBytes ? one.chars : one.event.text.length;
      added.push(fresh);
      this.#entries?.appended(number, one, now, kept);
      if (this.#isFast) this.#fresh.add(fresh);
      for (let place = 0; place < lines.length; place += 1) {
        const line = lines[place] as QueueLeases;
        const subscription = kept[place] as SubscriptionId;
        this.#counts.add({ subscription, stage: "deliver" }, 1);
        if (!this.#isFast) line.free({ dueAt: now, event: number });
        const leaseMs = this.#leases.touch(line).take(chars);
        if (leaseMs !== null) {
          const lease = ++this.#leasesMade;
          const leasedUntil = now + leaseMs;
          line.hold(number, { lease, until: leasedUntil });
          this.#tell.push({ op, index, event: number, subscription, lease, leasedUntil });
        } else {
          if (this.#isFast) this.#fresh.free(fresh, subscription);
          woken.add(subscription);
        }
      }
    }
    if (!this.#isFast) this.#addEvents(added);
    for (const subscription of woken) this.#tell.wake({ subscription, stage: "deliver" }, now);
    return numbers;
  }

  claim(queue: Queue, want: Want): Claim {
    const line = this.#leases.find(queue);
    if (line === undefined) return { deliveries: [], nextDueAt: null };
    this.#leases.touch(line).lookBack(want.now);
    this.#passHeld(queue, line, want.now);
    const deliveries: Delivery[] = [];
    let chars = 0;
    let isCaughtUp = true;
    const isFull = (size: number) =>
      deliveries.length >= want.max || (chars > 0 && chars + size > want.charsMax);
    for (const { fresh, row } of this.#candidates(queue, line, want)) {
      const number = fresh?.number ?? (row?.event as number);
      if (!line.isHeld(number, want.now)) {
        const seen = row === null ? seenOf(fresh, queue.subscription) : deliveryOf(row);
        const size = seen.event.text.length;
        if (isFull(size)) {
          isCaughtUp = false;
          break;
        }
        chars += size;
        const lease = ++this.#leasesMade;
        const leasedUntil = want.now + want.leaseMs;
        line.hold(number, { lease, until: leasedUntil });
        deliveries.push({ ...seen, lease, leasedUntil });
      }
      if (row === null) this.#fresh.take(fresh, queue.subscription);
      else if (want.sinceBefore === undefined) line.frontier = placeOf(row);
    }
    line.standing = null;
    if (isCaughtUp && want.sinceBefore === undefined) {
      line.stand(want, { count: deliveries.length, chars });
    }
    return { deliveries, nextDueAt: this.#nextDueAt(queue, line) };
  }

  /**
   * Moves the frontier behind the leased head of the queue. In steady state that is the whole
   * queue, leased on arrival: reading only positions is cheaper than reading events.
   */
  #passHeld(queue: Queue, line: QueueLeases, now: Instant): void {
    for (const place of this.#places(queue, line)) {
      const event = place.event as number;
      if (!line.isHeld(event, now)) return;
      line.frontier = { dueAt: place.due_at as number, event };
    }
  }

  /** What is due, rows and fresh ones, in order. */
  *#candidates(queue: Queue, line: QueueLeases, want: Want): Iterable<Candidate> {
    if (want.max === 0) return;
    const rows = this.#rows(queue, line, want)[Symbol.iterator]();
    try {
      let row = rows.next();
      for (const fresh of this.#freeOf(queue)) {
        const { number: event, dueAt } = fresh;
        if (dueAt > want.now) break;
        for (; !row.done && isBefore(placeOf(row.value), { dueAt, event }); row = rows.next()) {
          yield { row: row.value, fresh: null };
        }
        yield { row: null, fresh };
      }
      for (; !row.done; row = rows.next()) yield { row: row.value, fresh: null };
    } finally {
      rows.return?.();
    }
  }

  /** Fresh deliveries without a lease, the earliest first. */
  #freeOf({ subscription, stage }: Queue): Iterable<FreshEvent> {
    return stage === "deliver" ? this.#fresh.freeOf(subscription) : [];
  }

  #rows(queue: Queue, line: QueueLeases, want: Want): Iterable<SqlRow> {
    const stage = stageNumber[queue.stage];
    if (want.sinceBefore !== undefined) {
      return this.#statements.dueAndOld.all({
        subscription: queue.subscription,
        stage,
        now: want.now,
        since: want.sinceBefore,
        limit: want.max + line.held.size + 1,
      }) as SqlRow[];
    }
    const from = line.frontier ?? { dueAt: Number.MIN_SAFE_INTEGER, event: 0 };
    return this.#statements.due.iterate({
      subscription: queue.subscription,
      stage,
      now: want.now,
      fromDueAt: from.dueAt,
      fromEvent: from.event,
    }) as Iterable<SqlRow>;
  }

  /** The queue behind the frontier, in order. */
  #places(queue: Queue, line: QueueLeases): Iterable<SqlRow> {
    const from = line.frontier ?? { dueAt: Number.MIN_SAFE_INTEGER, event: 0 };
    return this.#statements.places.iterate({
      subscription: queue.subscription,
      stage: stageNumber[queue.stage],
      fromDueAt: from.dueAt,
      fromEvent: from.event,
    }) as Iterable<SqlRow>;
  }

  /** The first delivery without a lease, or the end of the first lease. */
  #nextDueAt(queue: Queue, line: QueueLeases): Instant | null {
    let next = line.earliestEnd();
    for (const { dueAt } of this.#freeOf(queue)) {
      if (next === null || dueAt < next) next = dueAt;
      break;
    }
    for (const place of this.#places(queue, line)) {
      if (line.held.has(place.event as number)) continue;
      const dueAt = place.due_at as number;
      if (next === null || dueAt < next) next = dueAt;
      break;
    }
    return next;
  }

  settle(settlement: Settlement): boolean {
    const { event, subscription } = settlement.delivery;
    const leases = this.#leases.pair(subscription);
    if (leases === undefined) return false;
    // Nothing waits for a deleted subscription but its dead letters.
    const isBackwards = settlement.kind === "due" && settlement.stage === "deliver";
    if (isBackwards && leases[0] === undefined) return false;
    const [first, second] = leases;
    const line = first?.held.has(event) ? first : second.held.has(event) ? second : undefined;
    if (line === undefined) {
      // Not leased in memory: a receiver's lock, or a late answer to its latest settlement.
      const { lockedAt } = settlement;
      if (settlement.kind === "back") return false;
      const row = this.#statements.fence.get(event, subscription);
      if (row?.fence !== settlement.lease || leases[row.stage as 0 | 1] === undefined) return false;
      if (lockedAt !== undefined && (row.due_at as number) <= lockedAt) return false;
      this.#apply(settlement, row.stage as number);
      return true;
    }
    if (line.held.get(event)?.lease !== settlement.lease) return false;
    this.#leases.touch(line).release(event);
    this.#apply(settlement, line === leases[0] ? 0 : 1);
    return true;
  }

  /**
   * Fresh events that this round cannot handle as such: what is put back, and what is held by a
   * lease that has ended.
   */
  *notAsFresh(ops: readonly Op[]): Iterable<number> {
    for (const op of ops) {
      if (op.kind === "settle") {
        for (const { kind, delivery } of op.settlements) if (kind !== "gone") yield delivery.event;
      } else if (op.kind === "claim" && op.queue.stage === "deliver") {
        const { subscription } = op.queue;
        for (const [event, { until }] of this.#leases.find(op.queue)?.held ?? []) {
          const isOver = until <= op.want.now;
          if (isOver && this.#fresh.find(event, subscription) !== undefined) yield event;
        }
      }
    }
  }

  /** Fresh ones have become rows. */
  spilled(events: readonly FreshEvent[]): void {
    for (const { number: event, dueAt, to } of events) {
      for (const subscription of to) this.#leases.pair(subscription)?.[0]?.free({ dueAt, event });
    }
  }

  /** Does again what the journal says was done, into the store's file. */
  repeat(entry: JournalEntry): void {
    if (entry.kind === "settled") {
      this.#apply(entry.settlement, stageNumber[entry.stage]);
      return;
    }
    const { number, event, now } = entry;
    const to = entry.to.filter((id) => this.#leases.pair(id)?.[0] !== undefined);
    if (to.length === 0 || this.#statements.hasEvent.get(number) !== undefined) return;
    this.#addEvents([{ number, routed: { event }, dueAt: now, to }]);
    for (const subscription of to) this.#counts.add({ subscription, stage: "deliver" }, 1);
  }

  #apply(settlement: Settlement, stage: number): void {
    const { event, subscription } = settlement.delivery;
    const queue = { subscription, stage: stageOf(stage) };
    this.#entries?.settled(settlement, queue.stage);
    switch (settlement.kind) {
      case "gone": {
        const fresh = this.#fresh.find(event, subscription);
        if (fresh !== undefined) {
          this.#fresh.remove(fresh, subscription);
          this.#counts.add(queue, -1);
          return;
        }
        if (this.#statements.removeDelivery.run(event, subscription).changes === 0) return;
        this.#statements.removeEvent.run(event, event);
        this.#counts.add(queue, -1);
        if (this.#leases.pair(subscription)?.[0] === undefined) {
          this.#statements.forgetRetired.run(subscription);
        }
        return;
      }
      case "back": {
        // The lease is over but it was the latest: an older one may not count again.
        const row = this.#statements.putFence.get(settlement.lease, event, subscription);
        if (row !== undefined) this.#free(queue, { dueAt: row.due_at as number, event });
        return;
      }
      case "due": {
        const { at, since, attempts, last, reason, lease } = settlement;
        const { changes } = this.#statements.putBack.run(
          stageNumber[settlement.stage],
          at,
          since,
          attempts,
          lease,
          last?.at ?? null,
          last?.number ?? null,
          last?.outcome ?? null,
          last?.status ?? null,
          reason,
          event,
          subscription,
        );
        if (changes === 0) return;
        if (settlement.stage !== queue.stage) {
          this.#counts.add(queue, -1);
          this.#counts.add({ subscription, stage: settlement.stage }, 1);
        }
        this.#free({ subscription, stage: settlement.stage }, { dueAt: at, event });
        return;
      }
      default:
        settlement satisfies never;
    }
  }

  #free(queue: Queue, place: { readonly dueAt: Instant; readonly event: number }): void {
    this.#leases.find(queue)?.free(place);
    this.#tell.wake(queue, place.dueAt);
  }
}

/** What a claim may lease: a row, which may be held, or a fresh delivery without a lease. */
type Candidate =
  | { readonly row: SqlRow; readonly fresh: null }
  | { readonly row: null; readonly fresh: FreshEvent };

function placeOf(row: SqlRow): QueuePosition {
  return { dueAt: row.due_at as number, event: row.event as number };
}

function seenOf({ number, routed, dueAt }: FreshEvent, subscription: SubscriptionId): Seen {
  const { event } = routed;
  return {
    id: { event: number, subscription },
    stage: "deliver",
    dueAt,
    attempts: 0,
    since: event.publishedAt,
    last: null,
    reason: null,
    event,
  };
}
