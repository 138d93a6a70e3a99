// How many deliveries wait in each queue. Changes are summed up first, so that there is one write
// per queue and not one per delivery: those of the current round, and those of earlier rounds that
// are in the journal alone.

import type { Queue } from "../../core/ports.ts";
import { stageNumber } from "./round.ts";
import type { Statements } from "./statements.ts";

type Deltas = Map<string, { readonly queue: Queue; delta: number }>;

export class QueueCounts {
  readonly #statements: Statements;
  readonly #round: Deltas = new Map();
  readonly #earlier: Deltas = new Map();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  add(queue: Queue, delta: number): void {
    addTo(this.#round, queue, delta);
  }

  /** Before anyone reads the counts, and before the round is committed. */
  write(): void {
    this.#write(this.#round);
    this.#round.clear();
  }

  /** Those of earlier rounds, too; they are forgotten by `written`, once that has not failed. */
  writeEarlier(): void {
    this.#write(this.#earlier);
  }

  written(): void {
    this.#earlier.clear();
  }

  /** The round is in the journal. */
  keep(): void {
    for (const { queue, delta } of this.#round.values()) addTo(this.#earlier, queue, delta);
    this.#round.clear();
  }

  /** What was not written is undone with its round. */
  clear(): void {
    this.#round.clear();
  }

  #write(deltas: Deltas): void {
    for (const { queue, delta } of deltas.values()) {
      if (delta !== 0) {
        this.#statements.addCount.run(queue.subscription, stageNumber[queue.stage], delta);
      }
    }
  }
}

function addTo(deltas: Deltas, queue: Queue, delta: number): void {
  const key = `${queue.subscription}/${queue.stage}`;
  const known = deltas.get(key);
  if (known === undefined) deltas.set(key, { queue, delta });
  else known.delta += delta;
}
