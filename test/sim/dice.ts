// Chance for the simulated world. Each stream is named and has a sequence of its own, so that a new
// draw in one place changes nothing in another, and a kept seed stays the same storm for longer.

import { hash } from "node:crypto";

export class Dice {
  readonly #words: Uint32Array;

  constructor(seed: number, stream: string) {
    const digest = hash("sha256", `${seed}/${stream}`, "buffer");
    this.#words = Uint32Array.from([0, 4, 8, 12], (offset) => digest.readUInt32LE(offset));
    // The generator stands still on four zeros.
    if (this.#words.every((word) => word === 0)) this.#words[0] = 1;
  }

  /** A number in [0, 1), by xorshift. */
  next(): number {
    const words = this.#words;
    const [first = 0, second = 0, third = 0, last = 0] = words;
    const mixed = first ^ (first << 11);
    words[0] = second;
    words[1] = third;
    words[2] = last;
    words[3] = last ^ (last >>> 19) ^ mixed ^ (mixed >>> 8);
    return (words[3] ?? 0) / 2 ** 32;
  }

  isHit(probability: number): boolean {
    return this.next() < probability;
  }

  /** A whole number, both ends included. */
  whole(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  /** A whole number of which small and large orders of magnitude are equally likely. */
  spread(min: number, max: number): number {
    return Math.round(min * (max / min) ** this.next());
  }

  pick<T>(list: readonly T[]): T {
    const found = list[Math.floor(this.next() * list.length)];
    if (found === undefined) throw new RangeError("there is nothing to pick from");
    return found;
  }

  /** Each with the given probability, but never none of them. */
  some<T>(list: readonly T[], probability: number): readonly T[] {
    const chosen = list.filter(() => this.isHit(probability));
    return chosen.length > 0 ? chosen : [this.pick(list)];
  }
}
