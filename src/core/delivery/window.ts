// How many deliveries a dispatcher may have in hand: in its buffer and in sends. What comes beyond
// them is not passed on when it is stored, and has to be read back, which costs more than all the
// rest of a delivery. But what is in hand takes memory, and is given back when it has waited long.

import type { Instant } from "../ports.ts";

/** Full batches; more of small ones, up to so many events. */
const batchesAhead = 8;
const smallBatchesAhead = 32;
/** Whatever the batches, and however fast the queue is. */
const eventsMax = 3_200;
/** A queue has in hand at least what it has lately sent within this time. */
const aheadMs = 100;
/** How often its rate is taken. */
const measureMs = 200;

export class Window {
  readonly #least: number;
  #since: Instant;
  #sent = 0;
  #perMs = 0;

  constructor(limits: { readonly sendsMax: number; readonly batchMax: number }, now: Instant) {
    const { sendsMax, batchMax } = limits;
    const ofSmall = Math.min(smallBatchesAhead * batchMax, eventsMax);
    this.#least = Math.max(2 * sendsMax, batchesAhead * batchMax, ofSmall);
    this.#since = now;
  }

  /** In deliveries. */
  get size(): number {
    return Math.max(this.#least, Math.min(Math.floor(this.#perMs * aheadMs), eventsMax));
  }

  /** So many were sent. */
  count(deliveries: number, now: Instant): void {
    const passedMs = now - this.#since;
    if (passedMs >= measureMs) {
      this.#perMs = this.#sent / passedMs;
      this.#since = now;
      this.#sent = 0;
    }
    this.#sent += deliveries;
  }
}
