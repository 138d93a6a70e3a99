// How many sends may be under way to all endpoints together. Every one holds a connection, and
// connections are what a machine runs out of first: two hundred endpoints that hang would hold
// thousands. The law of who may begin is core/delivery/send-share.ts; here is its state, and who
// waits for somebody else's send to end.

import { sendRoom } from "../core/delivery/send-share.ts";

export class SendBudget {
  readonly #max: number;
  #total = 0;
  /**
   * Nudges of endpoints that have something to send, in the order in which they began to wait, and
   * whether the last send of each succeeded.
   */
  readonly #waiting = new Map<() => void, boolean>();

  constructor(max: number) {
    this.#max = max;
  }

  /** How many more sends an endpoint may begin; `answers`: whether its last one succeeded. */
  room(answers: boolean): number {
    return sendRoom({ answers, total: this.#total, max: this.#max });
  }

  begin(): void {
    this.#total += 1;
  }

  end(): void {
    this.#total -= 1;
    const free = this.#total;
    let left = this.#waiting.size;
    for (const [nudge, answers] of this.#waiting) {
      if (left === 0 || this.#total > free) return;
      left -= 1;
      // A hundred that hang would be nudged with every send of one that does not.
      if (this.room(answers) === 0) continue;
      this.#waiting.delete(nudge);
      nudge();
    }
  }

  /**
   * For an endpoint without room: it is nudged once, when a send of any endpoint has ended, there
   * is room for one like it, and nobody before it has taken the place. Whoever still has none then
   * waits again.
   */
  wait(nudge: () => void, answers: boolean): void {
    this.#waiting.set(nudge, answers);
  }
}
