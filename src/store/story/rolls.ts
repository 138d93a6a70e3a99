// The subscriptions that were considered, stored once for all their events, and as long as the text
// of one of these is kept: without it there is nothing to explain. A roll is a list of blocks,
// shared with those before and after it, so that of thousands only what changed is written.

import type { Batch, Numbers } from "./batch.ts";
import type { StoryStatements } from "./statements.ts";

export class Rolls {
  readonly #statements: StoryStatements;
  readonly #rolls: Renumbered;
  readonly #blocks: Renumbered;
  /** How many rolls have a block; null: not read yet. */
  #uses: Map<number, number> | null = null;
  /** How many texts a roll has gained or lost, not yet written. */
  readonly #deltas = new Map<number, number>();
  /** Could not be kept, for want of a block. */
  #refused: number[] = [];

  constructor(statements: StoryStatements) {
    this.#statements = statements;
    this.#rolls = new Renumbered(statements.lastRoll.get()?.number as number);
    this.#blocks = new Renumbered(statements.lastBlock.get()?.number as number);
  }

  add({ rolls, blocks }: Pick<Batch, "rolls" | "blocks">): void {
    for (const { number, members } of blocks) {
      this.#statements.addBlock.run(this.#blocks.add(number), members);
    }
    for (const roll of rolls) {
      const known = roll.blocks.flatMap((block) => this.#blocks.of(block) ?? []);
      if (known.length < roll.blocks.length) this.#refused.push(roll.number);
      else {
        for (const block of known) this.#use(block, 1);
        this.#statements.addRoll.run(this.#rolls.add(roll.number), JSON.stringify(known));
      }
    }
  }

  /**
   * As we number it. `told`: the number in the process that reports it; 0: all matched, and there
   * is nothing to explain. Undefined: nothing is kept, for want of a text or because it is unknown.
   */
  of(told: number, hasText: boolean): number | undefined {
    return told === 0 && hasText ? 0 : this.#rolls.of(told);
  }

  addText(entry: number, told: number, text: Uint8Array | null): void {
    const roll = this.of(told, text !== null);
    if (roll === undefined) return;
    this.#statements.addText.run(entry, roll, text);
    this.count(roll, 1);
  }

  removeText(entry: number): void {
    const roll = this.#statements.removeText.get(entry)?.roll as number | undefined;
    if (roll !== undefined) this.count(roll, -1);
  }

  /** So many texts more, or fewer. */
  count(roll: number, delta: number): void {
    if (roll === 0) return;
    this.#deltas.set(roll, (this.#deltas.get(roll) ?? 0) + delta);
  }

  /** Removes rolls with their last text, and blocks with their last roll. Those that are gone. */
  settle(): Numbers {
    const gone = { rolls: this.#refused, blocks: [] as number[] };
    for (const [roll, delta] of this.#deltas) {
      const left = this.#statements.countTexts.get(delta, roll)?.texts as number | undefined;
      if (left === undefined || left > 0) continue;
      const blocks = this.#statements.blocks.get(roll)?.blocks as string;
      gone.rolls.push(...this.#rolls.remove(roll));
      for (const block of JSON.parse(blocks) as number[]) {
        if (this.#use(block, -1) > 0) continue;
        this.#statements.removeBlock.run(block);
        gone.blocks.push(...this.#blocks.remove(block));
      }
      this.#statements.removeRoll.run(roll);
    }
    this.#deltas.clear();
    this.#refused = [];
    return gone;
  }

  /** The transaction has failed: whoever reports sends everything again. */
  undo(): void {
    this.#deltas.clear();
    this.#refused = [];
    this.#uses = null;
    this.#rolls.clear();
    this.#blocks.clear();
  }

  /** One roll more or fewer has it, whose row is written after this. How many have it then. */
  #use(block: number, delta: 1 | -1): number {
    if (this.#uses === null) {
      const rows = this.#statements.blockUses.all();
      this.#uses = new Map(rows.map((row) => [row.block as number, row.rolls as number]));
    }
    const rolls = (this.#uses.get(block) ?? 0) + delta;
    if (rolls > 0) this.#uses.set(block, rolls);
    else this.#uses.delete(block);
    return rolls;
  }
}

/** Our numbers by those of the process that reports, and the other way round. */
class Renumbered {
  readonly #kept = new Map<number, number>();
  readonly #told = new Map<number, number>();
  #made: number;

  constructor(made: number) {
    this.#made = made;
  }

  add(told: number): number {
    this.#made += 1;
    this.#kept.set(told, this.#made);
    this.#told.set(this.#made, told);
    return this.#made;
  }

  of(told: number): number | undefined {
    return this.#kept.get(told);
  }

  /** Its number there, if it has one. */
  remove(kept: number): number[] {
    const told = this.#told.get(kept);
    this.#told.delete(kept);
    if (told === undefined || this.#kept.get(told) !== kept) return [];
    this.#kept.delete(told);
    return [told];
  }

  clear(): void {
    this.#kept.clear();
    this.#told.clear();
  }
}
