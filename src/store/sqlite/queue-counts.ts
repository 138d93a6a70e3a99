// How many deliveries wait in each queue. Changes are summed up first, so that there is one write
// per queue and not one per delivery: those of the current round, and those of earlier rounds that
// are in the journal alone.

import type { Queue } from "../../core/delivery/delivery.ts";
import { stageNumber } from "./round.ts";
import type { Statements } from "./statements.ts";

/** By `keyOf`. */
type Deltas = Map<number, number>;

export class QueueCounts {
  readonly #statements: Statements;
  readonly #round: Deltas = new Map();
  readonly #earlier: Deltas = new Map();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  add(queue: Queue, delta: number): void {
    addTo(this.#round, keyOf(queue), delta);
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
    for (const [key, delta] of this.#round) addTo(this.#earlier, key, delta);
    this.#round.clear();
  }

  /** What was not written is undone with its round. */
  clear(): void {
    this.#round.clear();
  }

  #write(deltas: Deltas): void {
    for (const [key, delta] of deltas) {
      if (delta !== 0) this.#statements.addCount.run(Math.floor(key / 2), key % 2, delta);
    }
  }
}

/** One number for subscription and stage: this is asked for with each delivery. */
function keyOf({ subscription, stage }: Queue): number {
  return 2 * subscription + stageNumber[stage];
}

function addTo(deltas: Deltas, key: number, delta: number): void {
  deltas.set(key, (deltas.get(key) ?? 0) + delta);
}
