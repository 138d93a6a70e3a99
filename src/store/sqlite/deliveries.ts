// The three operations of the embedded store, append, claim and settle, within the engine's round
// (engine.ts). Leases are in memory (leases.ts), deliveries and events are rows; on failure the
// engine undoes both together.

import type { Event } from "../../core/event.ts";
import type {
  Claim,
  Delivery,
  Instant,
  Queue,
  Routed,
  Settlement,
  Want,
} from "../../core/ports.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import type { Leases, QueueLeases } from "./leases.ts";
import type { QueueCounts } from "./queue-counts.ts";
import { type Push, stageNumber, stageOf } from "./round.ts";
import { deliveryOf } from "./row.ts";
import type { SqlRow, Statements } from "./statements.ts";

/** What the engine gives to the parts that change deliveries. */
export interface QueueDeps {
  readonly statements: Statements;
  readonly leases: Leases;
  readonly counts: QueueCounts;
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
  readonly #tell: Tell;
  #eventsMade: number;
  #leasesMade: number;

  /** Numbers are assigned above `from`. */
  constructor(deps: QueueDeps, from: number) {
    this.#statements = deps.statements;
    this.#leases = deps.leases;
    this.#counts = deps.counts;
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

  append(routed: readonly Routed[], now: Instant, op: number): number[] {
    const numbers: number[] = [];
    const woken = new Set<SubscriptionId>();
    for (const [index, { event, to }] of routed.entries()) {
      const number = ++this.#eventsMade;
      numbers.push(number);
      let isKept = false;
      for (const subscription of to) {
        const line = this.#leases.pair(subscription)?.[0];
        if (line === undefined) continue;
        this.#statements.addDelivery.run(number, subscription, now, event.publishedAt);
        this.#counts.add({ subscription, stage: "deliver" }, 1);
        line.free({ dueAt: now, event: number });
        isKept = true;
        const push = this.#push(line, { op, index, event: number, subscription }, event, now);
        if (push === null) woken.add(subscription);
        else this.#tell.push(push);
      }
      if (isKept) {
        const { systemId, topic, publishedAt, schema, dataVersion, text, envelope, trace, hops } =
          event;
        this.#statements.addEvent.run(
          number,
          systemId,
          topic,
          publishedAt,
          schema,
          dataVersion,
          text,
          envelope,
          trace?.parent ?? null,
          trace?.state ?? null,
          hops,
        );
      }
    }
    for (const subscription of woken) this.#tell.wake({ subscription, stage: "deliver" }, now);
    return numbers;
  }

  #push(
    line: QueueLeases,
    push: Pick<Push, "op" | "index" | "event" | "subscription">,
    event: Event,
    now: Instant,
  ): Push | null {
    const leaseMs = this.#leases.touch(line).take(event.text.length);
    if (leaseMs === null) return null;
    const lease = ++this.#leasesMade;
    const leasedUntil = now + leaseMs;
    line.hold(push.event, { lease, until: leasedUntil });
    return { ...push, lease, leasedUntil };
  }

  claim(queue: Queue, want: Want): Claim {
    const line = this.#leases.find(queue);
    if (line === undefined) return { deliveries: [], nextDueAt: null };
    this.#leases.touch(line).lookBack(want.now);
    this.#passHeld(queue, line, want.now);
    const deliveries: Delivery[] = [];
    let chars = 0;
    let isCaughtUp = true;
    for (const row of this.#candidates(queue, line, want)) {
      const number = row.event as number;
      if (!line.isHeld(number, want.now)) {
        const size = (row.text as string).length;
        if (deliveries.length >= want.max || (chars > 0 && chars + size > want.charsMax)) {
          isCaughtUp = false;
          break;
        }
        chars += size;
        const lease = ++this.#leasesMade;
        const leasedUntil = want.now + want.leaseMs;
        line.hold(number, { lease, until: leasedUntil });
        deliveries.push({ ...deliveryOf(row), lease, leasedUntil });
      }
      if (want.sinceBefore === undefined) {
        line.frontier = { dueAt: row.due_at as number, event: number };
      }
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

  #candidates(queue: Queue, line: QueueLeases, want: Want): Iterable<SqlRow> {
    const stage = stageNumber[queue.stage];
    if (want.max === 0) return [];
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

  /** The first row without a lease, or the end of the first lease. */
  #nextDueAt(queue: Queue, line: QueueLeases): Instant | null {
    let next = line.earliestEnd();
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
    const line = leases.find((one) => one?.held.has(event));
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

  #apply(settlement: Settlement, stage: number): void {
    const { event, subscription } = settlement.delivery;
    const queue = { subscription, stage: stageOf(stage) };
    switch (settlement.kind) {
      case "gone":
        this.#statements.removeDelivery.run(event, subscription);
        this.#statements.removeEvent.run(event, event);
        this.#counts.add(queue, -1);
        if (this.#leases.pair(subscription)?.[0] === undefined) {
          this.#statements.forgetRetired.run(subscription);
        }
        return;
      case "back": {
        // The lease is over but it was the latest: an older one may not count again.
        const row = this.#statements.putFence.get(settlement.lease, event, subscription);
        this.#free(queue, { dueAt: row?.due_at as number, event });
        return;
      }
      case "due": {
        const { at, since, attempts, last, reason, lease } = settlement;
        this.#statements.putBack.run(
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
