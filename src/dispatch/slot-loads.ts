// How many deliveries a second each slot sends, smoothed: what slots are shared out by among
// brokers (core/cluster/balance.ts).

import { type Slot, slotCount } from "../core/cluster/slot.ts";
import type { Instant } from "../core/ports.ts";

/** Of a new rate, what counts at once. */
const weight = 0.3;
/** Less than this is not told. */
const loadMin = 0.05;
/** Asked again sooner, the rates are those of before. */
const apartMsMin = 500;

export class SlotLoads {
  readonly #sent = new Float64Array(slotCount);
  readonly #rates = new Float64Array(slotCount);
  #readAt: Instant;

  constructor(now: Instant) {
    this.#readAt = now;
  }

  count(slot: Slot, deliveries: number): void {
    this.#sent[slot] = (this.#sent[slot] ?? 0) + deliveries;
  }

  rates(now: Instant): ReadonlyMap<Slot, number> {
    const passedMs = now - this.#readAt;
    if (passedMs >= apartMsMin) {
      this.#readAt = now;
      for (const [slot, sent] of this.#sent.entries()) {
        const before = this.#rates[slot] ?? 0;
        this.#rates[slot] = before + weight * ((sent * 1_000) / passedMs - before);
        this.#sent[slot] = 0;
      }
    }
    return new Map([...this.#rates.entries()].filter(([, rate]) => rate >= loadMin));
  }

  /** It sent so many where it was before. */
  inherit(slot: Slot, rate: number): void {
    this.#rates[slot] = rate;
  }

  /** It belongs to another broker now. */
  forget(slot: Slot): void {
    this.#sent[slot] = 0;
    this.#rates[slot] = 0;
  }
}
