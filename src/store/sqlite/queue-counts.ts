// How many deliveries wait in each queue. The changes of a round are summed up first, so that there
// is one write per queue and not one per delivery.

import type { Queue } from "../../core/ports.ts";
import { stageNumber } from "./round.ts";
import type { Statements } from "./statements.ts";

export class QueueCounts {
  readonly #statements: Statements;
  readonly #deltas = new Map<string, { queue: Queue; delta: number }>();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  add(queue: Queue, delta: number): void {
    const key = `${queue.subscription}/${queue.stage}`;
    const known = this.#deltas.get(key);
    if (known === undefined) this.#deltas.set(key, { queue, delta });
    else known.delta += delta;
  }

  /** Before anyone reads the counts, and before the round ends. */
  write(): void {
    for (const { queue, delta } of this.#deltas.values()) {
      if (delta !== 0) {
        this.#statements.addCount.run(queue.subscription, stageNumber[queue.stage], delta);
      }
    }
    this.#deltas.clear();
  }

  /** What was not written is undone with its round. */
  clear(): void {
    this.#deltas.clear();
  }
}
