// The simulated clock: alarms in order, and between two of them a turn of the event loop, in which
// every chain of promises comes to its end however long it is. Nothing in the simulated world uses
// a timer of the system, a thread or a socket, so that one turn is enough.

import type { Clock, Instant } from "../../src/core/ports.ts";
import { AlarmHeap } from "../../src/runtime/clock/alarms.ts";

export class SimClock implements Clock {
  readonly #alarms = new AlarmHeap();
  readonly #onTurn: () => void;
  #now: Instant;

  /** `onTurn`: called before each alarm, when all is quiet. */
  constructor(startAt: Instant, onTurn: () => void) {
    this.#now = startAt;
    this.#onTurn = onTurn;
  }

  now(): Instant {
    return this.#now;
  }

  after(ms: number, ring: () => void): () => void {
    if (!Number.isInteger(ms) || ms < 0) throw new RangeError(`${ms} ms is no time to wait`);
    const alarm = this.#alarms.add(this.#now + ms, ring);
    return () => this.#alarms.remove(alarm);
  }

  /** Alarms that have been set and not yet rung or been called off. */
  get alarms(): number {
    return this.#alarms.size;
  }

  /** Rings everything due until then. With `isOver`, stops as soon as that is true. */
  async run(until: Instant, isOver: () => boolean = () => false): Promise<void> {
    for (;;) {
      await new Promise((go) => setImmediate(go));
      this.#onTurn();
      const alarm = this.#alarms.first();
      if (alarm === undefined || alarm.at > until || isOver()) break;
      this.#alarms.remove(alarm);
      this.#now = alarm.at;
      alarm.ring();
    }
    if (!isOver() && this.#alarms.size > 0) this.#now = Math.max(this.#now, until);
  }
}
