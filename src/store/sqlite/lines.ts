// The lines of all queues there are, and which of them the round under way has touched: those are
// kept with it or undone with it.

import type { Queue } from "../../core/ports.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import { QueueLeases } from "./leases.ts";

export type LeasePair = readonly [deliver: QueueLeases, deadLetter: QueueLeases];

export class Leases {
  readonly #pairs = new Map<SubscriptionId, LeasePair>();
  readonly #touched = new Set<QueueLeases>();

  /** A line in each stage for each of these subscriptions, and no others. */
  draw(ids: ReadonlySet<SubscriptionId>): void {
    for (const id of this.#pairs.keys()) if (!ids.has(id)) this.#pairs.delete(id);
    for (const id of ids)
      if (!this.#pairs.has(id)) this.#pairs.set(id, [new QueueLeases(), new QueueLeases()]);
  }

  has(subscription: SubscriptionId): boolean {
    return this.#pairs.has(subscription);
  }

  pair(subscription: SubscriptionId): LeasePair | undefined {
    return this.#pairs.get(subscription);
  }

  find(queue: Queue): QueueLeases | undefined {
    return this.#pairs.get(queue.subscription)?.[queue.stage === "deliver" ? 0 : 1];
  }

  /** Before a lease of it changes. */
  touch(line: QueueLeases): QueueLeases {
    this.#touched.add(line);
    return line;
  }

  /** The round is on disk. */
  keep(): void {
    for (const line of this.#touched) line.keep();
    this.#touched.clear();
  }

  /** The round is not on disk: as if it had never been. */
  undo(): void {
    for (const line of this.#touched) line.undo();
    this.#touched.clear();
  }
}
