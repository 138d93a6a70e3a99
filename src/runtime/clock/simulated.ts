// Time for a what-if: it moves from one alarm to the next as fast as they can be handled. Unlike
// the virtual clock it waits for nothing real. Its users do no I/O, so between two moments there
// are only promises, and all of them end within one turn.

import type { Clock, Instant } from "../../core/ports.ts";
import { AlarmHeap } from "./alarms.ts";

/** How long it may block the event loop at a time. */
const sliceMs = 4;

export class SimulatedClock implements Clock {
  readonly #alarms = new AlarmHeap();
  #now: Instant = 0;
  #sliceEndsAt = 0;

  now(): Instant {
    return this.#now;
  }

  after(ms: number, ring: () => void): () => void {
    const alarm = this.#alarms.add(this.#now + Math.max(0, ms), ring);
    return () => this.#alarms.remove(alarm);
  }

  /** Rings everything that is due until then, in order. Stops as soon as `isOver` says so. */
  async run(until: Instant, isOver: () => boolean): Promise<void> {
    for (;;) {
      await this.#quiet();
      const next = this.#alarms.first();
      if (isOver() || next === undefined || next.at > until) break;
      this.#now = next.at;
      this.#ringDue();
    }
    if (Number.isFinite(until)) this.#now = until;
  }

  /** What is set meanwhile waits until everything is idle again. */
  #ringDue(): void {
    const limit = this.#alarms.created;
    for (;;) {
      const alarm = this.#alarms.first();
      if (alarm === undefined || alarm.at > this.#now || alarm.order >= limit) return;
      this.#alarms.remove(alarm);
      alarm.ring();
    }
  }

  /** Resolves when every promise has ended; now and then, after others had a turn. */
  #quiet(): Promise<void> {
    if (performance.now() < this.#sliceEndsAt) {
      return new Promise((go) => process.nextTick(go));
    }
    return new Promise((go) => {
      setImmediate(() => {
        this.#sliceEndsAt = performance.now() + sliceMs;
        go();
      });
    });
  }
}
