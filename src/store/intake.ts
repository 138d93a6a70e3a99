// How much a store takes at once: it refuses publishes while more events wait to be written than it
// may hold, or while one more would wait too long (core/shedding.ts).

import { Chain, type Linked } from "../core/chain.ts";
import type { Instant, Routed } from "../core/ports.ts";
import { Refusal } from "../core/refusal.ts";
import { type DiskPace, expectedWaitMs, isShedding, paceAfter } from "../core/shedding.ts";

export interface IntakeLimits {
  /** Characters of events waiting for the disk, beyond which publishes are refused. */
  readonly waitingCharsMax: number;
  /** How long a publish may have to wait for the disk; beyond that, others are refused. */
  readonly waitMsMax?: number;
  readonly retryAfterMs: number;
}

/** Events that wait to be written. */
export interface Came extends Linked<Came> {
  readonly at: Instant;
  readonly chars: number;
}

export class Intake {
  readonly #limits: IntakeLimits;
  #waitingChars = 0;
  /** Of appends not yet answered, when each came; the oldest first. */
  readonly #cameAt = new Chain<Came>();
  #pace: DiskPace = null;
  #isShedding = false;

  constructor(limits: IntakeLimits) {
    this.#limits = limits;
  }

  /** Keeps account of these until `write` has ended. Refusal: TooManyRequests. */
  async through<T>(routed: readonly Routed[], now: Instant, write: () => Promise<T>): Promise<T> {
    const came = this.enter(routed, now);
    try {
      return await write();
    } finally {
      this.leave(came);
    }
  }

  /** Keeps account of these until they `leave`. Refusal: TooManyRequests. */
  enter(routed: readonly Routed[], now: Instant): Came {
    const { retryAfterMs } = this.#limits;
    const chars = charsOf(routed);
    const why = this.#whyNotNow(chars, now);
    if (why !== null) throw new Refusal("TooManyRequests", why, { retryAfterMs });
    const came: Came = { at: now, chars, before: null, after: null };
    this.#cameAt.add(came);
    this.#waitingChars += chars;
    return came;
  }

  leave(came: Came): void {
    this.#waitingChars -= came.chars;
    this.#cameAt.remove(came);
  }

  /** A round with so many characters of new events took so long. */
  measured(chars: number, ms: number): void {
    this.#pace = paceAfter(this.#pace, { chars, ms });
  }

  /** Null, or why a publish of so many characters is refused. One that would be alone never is. */
  #whyNotNow(chars: number, now: Instant): string | null {
    const { waitingCharsMax, waitMsMax = Number.POSITIVE_INFINITY } = this.#limits;
    const oldest = this.#cameAt.first;
    const oldestMs = oldest === null ? 0 : now - oldest.at;
    const load = { oldestMs, waitingChars: this.#waitingChars, pace: this.#pace };
    this.#isShedding = isShedding(this.#isShedding, expectedWaitMs(load), waitMsMax);
    if (this.#isShedding) return "The disk is behind with earlier events; try again.";
    return this.#waitingChars > 0 && this.#waitingChars + chars > waitingCharsMax
      ? "More events are waiting for the disk than the broker holds; try again."
      : null;
  }
}

export function charsOf(routed: readonly Routed[]): number {
  let chars = 0;
  for (const { event } of routed) chars += event.text.length;
  return chars;
}
