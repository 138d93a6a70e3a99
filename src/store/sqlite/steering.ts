// The embedded store's part in steering (the port of that name): what an operator drops or makes
// due, a little at a time, within the engine's round (engine.ts).

import type { Queue } from "../../core/delivery/delivery.ts";
import type { Instant } from "../../core/ports.ts";
import type { SkipStep } from "../../core/steering.ts";
import type { QueueDeps, Tell } from "./deliveries.ts";
import type { Leases, QueueLeases } from "./leases.ts";
import type { QueueCounts } from "./queue-counts.ts";
import { stageNumber } from "./round.ts";
import type { Statements } from "./statements.ts";

/** Rows that one step changes, and events that one step reads. */
const steerRowsMax = 500;
const findRowsMax = 20_000;

export class SqliteSteering {
  readonly #statements: Statements;
  readonly #leases: Leases;
  readonly #counts: QueueCounts;
  readonly #tell: Tell;
  readonly #lastEvent: () => number;

  constructor(deps: QueueDeps, lastEvent: () => number) {
    this.#statements = deps.statements;
    this.#leases = deps.leases;
    this.#counts = deps.counts;
    this.#tell = deps.tell;
    this.#lastEvent = lastEvent;
  }

  /**
   * Goes through the queue in order. Deliveries settled meanwhile may move behind the current
   * position; so it goes through again, until nothing more is found.
   */
  skip(queue: Queue, step: SkipStep | null): { dropped: number; next: SkipStep | null } {
    const line = this.#touched(queue);
    if (line === undefined) return { dropped: 0, next: null };
    const start = { dueAt: Number.MIN_SAFE_INTEGER, event: 0, hasDropped: false };
    const from = step ?? { ...start, through: this.#lastEvent() };
    const { subscription } = queue;
    const places = this.#statements.somePlaces.all({
      subscription,
      stage: stageNumber[queue.stage],
      fromDueAt: from.dueAt,
      fromEvent: from.event,
      limit: steerRowsMax,
    });
    let dropped = 0;
    for (const place of places) {
      const event = place.event as number;
      if (event > from.through) continue;
      this.#statements.removeDelivery.run(event, subscription);
      this.#statements.removeEvent.run(event, event);
      line.release(event);
      dropped += 1;
    }
    this.#counts.add(queue, -dropped);
    this.#statements.forgetRetired.run(subscription);
    const hasDropped = from.hasDropped || dropped > 0;
    const last = places.at(-1);
    if (last !== undefined && places.length === steerRowsMax) {
      const place = { dueAt: last.due_at as number, event: last.event as number };
      return { dropped, next: { ...from, ...place, hasDropped } };
    }
    return { dropped, next: hasDropped ? { ...from, ...start } : null };
  }

  hasten(
    queue: Queue,
    { event, now }: { readonly event: number | null; readonly now: Instant },
  ): { hastened: number; isOver: boolean } {
    const { subscription } = queue;
    const stage = stageNumber[queue.stage];
    if (event !== null) return { hastened: this.#hastenOne(queue, event, now), isOver: true };
    const line = this.#touched(queue);
    if (line === undefined) return { hastened: 0, isOver: true };
    const rows = this.#statements.someLater.all(subscription, stage, now, steerRowsMax);
    for (const row of rows) {
      this.#statements.putDueAt.run(now, row.event as number, subscription);
      line.free({ dueAt: now, event: row.event as number });
    }
    if (rows.length > 0) this.#tell.wake(queue, now);
    return { hastened: rows.length, isOver: rows.length < steerRowsMax };
  }

  #hastenOne(queue: Queue, event: number, now: Instant): number {
    const { subscription } = queue;
    const stage = stageNumber[queue.stage];
    const line = this.#touched(queue);
    const row = this.#statements.fence.get(event, subscription);
    if (row === undefined || row.stage !== stage || line === undefined) return 0;
    const head = this.#statements.somePlaces.get({
      ...{ subscription, stage, fromDueAt: Number.MIN_SAFE_INTEGER, fromEvent: 0, limit: 1 },
    });
    const isFirst = head === undefined || head.event === event;
    const firstAt = isFirst ? now : Math.min(now, (head.due_at as number) - 1);
    const at = Math.min(row.due_at as number, firstAt);
    this.#statements.putDueAt.run(at, event, subscription);
    line.free({ dueAt: at, event });
    this.#tell.wake(queue, at);
    return 1;
  }

  find(systemId: string, after: number): { event: number | null; next: number | null } {
    const row = this.#statements.findEvent.get({ systemId, after, limit: findRowsMax });
    const event = (row?.found ?? null) as number | null;
    const isOver = event !== null || row?.seen !== findRowsMax;
    return { event, next: isOver ? null : (row?.last as number) };
  }

  /** The leases of an existing queue; changes are undone with the round. */
  #touched(queue: Queue): QueueLeases | undefined {
    const line = this.#leases.find(queue);
    return line && this.#leases.touch(line);
  }
}
