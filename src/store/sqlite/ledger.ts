// Reading and counting in the embedded store (the port Ledger), within the engine's round
// (engine.ts). Deliveries of a deleted subscription are not shown.

import type { DeliveryId, Queue } from "../../core/delivery/delivery.ts";
import type { QueueCount, Seen } from "../../core/ledger.ts";
import type { Leases } from "./leases.ts";
import type { QueueCounts } from "./queue-counts.ts";
import { stageNumber, stageOf } from "./round.ts";
import { deliveryOf } from "./row.ts";
import type { Statements } from "./statements.ts";

/** A queue up to this size is sorted to be shown; a longer one is filtered from all deliveries. */
const fewWaitingMax = 10_000;

export class SqliteLedger {
  readonly #statements: Statements;
  readonly #leases: Leases;
  readonly #counts: QueueCounts;

  constructor(statements: Statements, leases: Leases, counts: QueueCounts) {
    this.#statements = statements;
    this.#leases = leases;
    this.#counts = counts;
  }

  counts(): QueueCount[] {
    this.#counts.write();
    return this.#statements.counts
      .all()
      .map((row) => ({
        ...{ subscription: row.subscription as number, stage: stageOf(row.stage as number) },
        waiting: row.waiting as number,
      }))
      .filter((count) => this.#leases.has(count))
      .map((count) => ({ ...count, ...this.#timesOf(count) }));
  }

  #timesOf(queue: Queue): Pick<QueueCount, "oldestAt" | "nextDueAt"> {
    const { subscription } = queue;
    const stage = stageNumber[queue.stage];
    const { nextDueAt, oldestTried, oldestUntried } = this.#statements;
    const before = (oldestTried.get(subscription, stage)?.since ??
      Number.MAX_SAFE_INTEGER) as number;
    const untried = oldestUntried.get({ subscription, stage, before })?.since;
    return {
      oldestAt: Math.min(before, (untried ?? before) as number),
      nextDueAt: (nextDueAt.get(subscription, stage)?.due_at ?? 0) as number,
    };
  }

  waiting(queue: Queue, page: { readonly after: number; readonly limit: number }): Seen[] {
    if (!this.#leases.has(queue)) return [];
    this.#counts.write();
    const { subscription } = queue;
    const stage = stageNumber[queue.stage];
    const count = (this.#statements.count.get(subscription, stage)?.waiting ?? 0) as number;
    const { waitingFew, waitingMany } = this.#statements;
    const statement = count <= fewWaitingMax ? waitingFew : waitingMany;
    return statement
      .all({ subscription, stage, after: page.after, limit: Math.min(page.limit, 1000) })
      .map(deliveryOf);
  }

  look({ event, subscription }: DeliveryId): Seen | null {
    const row = this.#statements.look.get(event, subscription);
    const stage = stageOf((row?.stage ?? 0) as number);
    if (row === undefined || !this.#leases.has({ subscription, stage })) return null;
    return deliveryOf(row);
  }
}
