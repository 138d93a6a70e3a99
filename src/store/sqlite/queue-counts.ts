// How many deliveries wait in each queue. Changes are summed up first, so that there is one write
// per queue and not one per delivery: those of the current round, and those of earlier rounds that
// are in the journal alone.

import type { Queue } from "../../core/delivery/delivery.ts";
import { stageNumber } from "./round.ts";
import type { Statements } from "./statements.ts";

/** How the count of one queue has changed. */
interface Delta {
  readonly key: number;
  /** In the current round. */
  round: number;
  /** In earlier ones. */
  earlier: number;
  isOfRound: boolean;
}

export class QueueCounts {
  readonly #statements: Statements;
  /** By `keyOf`. */
  #deltas = new Map<number, Delta>();
  /** Those of the current round. */
  #ofRound: Delta[] = [];

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  add(queue: Queue, by: number): void {
    const delta = this.#deltaOf(keyOf(queue));
    delta.round += by;
    if (!delta.isOfRound) this.#ofRound.push(delta);
    delta.isOfRound = true;
  }

  /** Before anyone reads the counts, and before the round is committed. */
  write(): void {
    for (const { key, round } of this.#ofRound) this.#write(key, round);
    this.clear();
  }

  /** Those of earlier rounds, too; they are forgotten by `written`, once that has not failed. */
  writeEarlier(): void {
    for (const { key, earlier } of this.#deltas.values()) this.#write(key, earlier);
  }

  written(): void {
    for (const delta of this.#ofRound) delta.earlier = 0;
    this.#deltas = new Map(this.#ofRound.map((delta) => [delta.key, delta]));
  }

  /** The round is in the journal. */
  keep(): void {
    for (const delta of this.#ofRound) delta.earlier += delta.round;
    this.clear();
  }

  /** What was not written is undone with its round. */
  clear(): void {
    for (const delta of this.#ofRound) {
      delta.round = 0;
      delta.isOfRound = false;
    }
    this.#ofRound = [];
  }

  #deltaOf(key: number): Delta {
    const known = this.#deltas.get(key);
    if (known !== undefined) return known;
    const made = { key, round: 0, earlier: 0, isOfRound: false };
    this.#deltas.set(key, made);
    return made;
  }

  #write(key: number, by: number): void {
    if (by !== 0) this.#statements.addCount.run(Math.floor(key / 2), key % 2, by);
  }
}

/** One number for subscription and stage: this is asked for with each delivery. */
function keyOf({ subscription, stage }: Queue): number {
  return 2 * subscription + stageNumber[stage];
}
