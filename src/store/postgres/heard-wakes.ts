// Wakes that other brokers send, as they are passed on: the first at once, and those that come soon
// after it together, each queue with its earliest time. So a queue that several brokers publish to
// is claimed from once for all of them.

import type { Clock, Instant } from "../../core/ports.ts";
import type { SubscriptionId } from "../../core/subscription.ts";

export interface HeardWakesOptions {
  readonly clock: Clock;
  /** Between two times at which they are passed on. */
  readonly spacingMs: () => number;
  readonly wake: (subscription: SubscriptionId, at: Instant) => void;
}

export class HeardWakes {
  readonly #options: HeardWakesOptions;
  readonly #waiting = new Map<SubscriptionId, Instant>();
  #passedAt = Number.NEGATIVE_INFINITY;
  #callOff: (() => void) | null = null;

  constructor(options: HeardWakesOptions) {
    this.#options = options;
  }

  hear(due: ReadonlyMap<SubscriptionId, Instant>): void {
    for (const [subscription, at] of due) {
      this.#waiting.set(subscription, Math.min(at, this.#waiting.get(subscription) ?? at));
    }
    if (this.#callOff !== null) return;
    const { clock, spacingMs } = this.#options;
    const leftMs = this.#passedAt + spacingMs() - clock.now();
    if (leftMs <= 0) this.#pass();
    else this.#callOff = clock.after(leftMs, () => this.#pass());
  }

  close(): void {
    this.#callOff?.();
    this.#waiting.clear();
  }

  #pass(): void {
    this.#callOff = null;
    this.#passedAt = this.#options.clock.now();
    const all = [...this.#waiting];
    this.#waiting.clear();
    for (const [subscription, at] of all) this.#options.wake(subscription, at);
  }
}
