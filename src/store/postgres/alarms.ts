// What the store does later, and again and again; all of it ends when the store does.

import type { Clock } from "../../core/ports.ts";

export class Alarms {
  readonly #clock: Clock;
  readonly #set = new Set<() => void>();
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** An error is left to the next time. */
  later(ms: number, act: () => Promise<void>): void {
    if (this.#isClosed) return;
    const callOff = this.#clock.after(ms, () => {
      this.#set.delete(callOff);
      void act().catch(() => {});
    });
    this.#set.add(callOff);
  }

  every(ms: () => number, act: () => Promise<void>): void {
    this.later(ms(), () => act().finally(() => this.every(ms, act)));
  }

  close(): void {
    this.#isClosed = true;
    for (const callOff of this.#set) callOff();
    this.#set.clear();
  }
}
