// Delays the answers to wrong credentials, as core/access/guessing.ts says. Both the table and the
// delayed answers are bounded.

import { delayOf, type Guesses, guesserOf, guessesAfter } from "../../core/access/guessing.ts";

const addressesMax = 10_000;
const heldMax = 1_000;

export class GuessTable {
  readonly #now: () => number;
  readonly #sleep: (ms: number) => Promise<void>;
  /** The latest guesser is last. */
  readonly #byAddress = new Map<string, Guesses>();
  #held = 0;

  constructor(
    now: () => number = Date.now,
    sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
  ) {
    this.#now = now;
    this.#sleep = sleep;
  }

  get size(): number {
    return this.#byAddress.size;
  }

  /**
   * Notes a wrong credential, and resolves when it may be answered; with false if too many answers
   * are delayed, so that the connection is closed instead.
   */
  async hold(remote: string): Promise<boolean> {
    const guesser = guesserOf(remote);
    const guesses = guessesAfter(this.#byAddress.get(guesser), this.#now());
    this.#byAddress.delete(guesser);
    this.#byAddress.set(guesser, guesses);
    const [oldest = ""] = this.#byAddress.keys();
    if (this.#byAddress.size > addressesMax) this.#byAddress.delete(oldest);
    const delayMs = delayOf(guesses);
    if (delayMs === 0) return true;
    if (this.#held >= heldMax) return false;
    this.#held += 1;
    await this.#sleep(delayMs);
    this.#held -= 1;
    return true;
  }
}
