// The subscriptions that were considered, stored once for all their events, and as long as the text
// of one of these is kept: without it there is nothing to explain.

import type { StoryStatements } from "./statements.ts";

export class Rolls {
  readonly #statements: StoryStatements;
  /** Our numbers by those of the process that reports them, and the other way round. */
  readonly #kept = new Map<number, number>();
  readonly #told = new Map<number, number>();
  /** How many texts a roll has gained or lost, not yet written. */
  readonly #deltas = new Map<number, number>();
  #made: number;

  constructor(statements: StoryStatements) {
    this.#statements = statements;
    this.#made = statements.lastRoll.get()?.number as number;
  }

  add({ number, members }: { readonly number: number; readonly members: string }): void {
    this.#made += 1;
    this.#kept.set(number, this.#made);
    this.#told.set(this.#made, number);
    this.#statements.addRoll.run(this.#made, members);
  }

  /**
   * `told`: the number in the process that reports it; 0: all matched, and there is nothing to
   * explain. Nothing is kept of an unknown one.
   */
  addText(entry: number, told: number, text: string | null): void {
    const roll = told === 0 && text !== null ? 0 : this.#kept.get(told);
    if (roll === undefined) return;
    this.#statements.addText.run(entry, roll, text);
    if (roll > 0) this.#count(roll, 1);
  }

  removeText(entry: number): void {
    const roll = this.#statements.removeText.get(entry)?.roll as number | undefined;
    if (roll !== undefined && roll > 0) this.#count(roll, -1);
  }

  #count(roll: number, delta: number): void {
    this.#deltas.set(roll, (this.#deltas.get(roll) ?? 0) + delta);
  }

  /** Those removed with their last text, by the numbers of the process that reported them. */
  settle(): readonly number[] {
    const gone: number[] = [];
    for (const [roll, delta] of this.#deltas) {
      const left = this.#statements.countTexts.get(delta, roll)?.texts as number | undefined;
      if (left === undefined || left > 0) continue;
      this.#statements.removeRoll.run(roll);
      const number = this.#told.get(roll);
      this.#told.delete(roll);
      if (number === undefined) continue;
      this.#kept.delete(number);
      gone.push(number);
    }
    this.#deltas.clear();
    return gone;
  }

  /** The transaction has failed. */
  undo(): void {
    this.#deltas.clear();
  }
}
