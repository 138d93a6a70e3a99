// Due times are kept by the database's clock, so that brokers whose clocks differ by seconds agree
// on what is due. What clocks differ by within half a second is left alone: then times are kept as
// they were given.

import type { Instant } from "../../core/ports.ts";

const toleratedMs = 500;

export class Times {
  #offsetMs = 0;

  /** The database's time, and ours at the middle of asking for it. */
  measured(database: Instant, here: Instant): void {
    const offset = database - here;
    if (Math.abs(offset - this.#offsetMs) <= toleratedMs) return;
    this.#offsetMs = Math.abs(offset) <= toleratedMs ? 0 : offset;
  }

  /** How far the database's clock is ahead of ours. */
  get offsetMs(): number {
    return this.#offsetMs;
  }

  /** By the database's clock. */
  there(at: Instant): Instant {
    return at + this.#offsetMs;
  }

  /** By ours. */
  here(at: Instant): Instant {
    return at - this.#offsetMs;
  }
}
