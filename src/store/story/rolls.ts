// Who was asked, kept once for all the events they were asked about, and as long as a text of one
// of them is kept: without it there is nothing to explain.

import type { StoryStatements } from "./statements.ts";

export class Rolls {
  readonly #statements: StoryStatements;
  /** The numbers here by those of the process that tells of them, and the other way round. */
  readonly #kept = new Map<number, number>();
  readonly #told = new Map<number, number>();
  /** How many texts more or less a roll has, not yet written. */
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

  /** `told`: as the process that tells of it calls it; nothing is kept of one that is not known. */
  addText(entry: number, told: number, text: string | null): void {
    const roll = this.#kept.get(told);
    if (roll === undefined) return;
    this.#statements.addText.run(entry, roll, text);
    this.#count(roll, 1);
  }

  removeText(entry: number): void {
    const roll = this.#statements.removeText.get(entry)?.roll as number | undefined;
    if (roll !== undefined) this.#count(roll, -1);
  }

  #count(roll: number, delta: number): void {
    this.#deltas.set(roll, (this.#deltas.get(roll) ?? 0) + delta);
  }

  /** Which have gone with their last text, by the numbers of the process that told of them. */
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
