// Counts, second by second: the current rates, and points for charts of the last hour and of the
// last day. Bounded, and only in memory: use Prometheus for longer times.
//
// Time comes with each beat. Under a virtual clock several beats may have the same time.

import type { Counts } from "../../core/api/views.ts";
import type { Instant } from "../../core/ports.ts";

/** How many beats, of a second each, make one point. */
const fineBeats = 10;
const coarseBeats = 60;
const finePointsMax = 360;
const coarsePointsMax = 1_440;

/** A rate is taken over this many beats. */
const rateBeats = 10;

/** Charts of the first hour have finer points. */
const fineMinutesMax = 60;

export interface Point {
  readonly at: Instant;
  readonly waiting: number;
  readonly counts: Counts;
}

/** Points of one width. */
interface Track {
  readonly beats: number;
  readonly max: number;
  readonly points: Point[];
  /** The sums at the last point. */
  before: Counts;
}

const nothing: Counts = {
  published: 0,
  refused: 0,
  delivered: 0,
  failed: 0,
  deadLettered: 0,
  dropped: 0,
};

export class RateHistory {
  readonly #fine: Track = { beats: fineBeats, max: finePointsMax, points: [], before: nothing };
  readonly #coarse: Track = {
    beats: coarseBeats,
    max: coarsePointsMax,
    points: [],
    before: nothing,
  };
  /** The sums at the latest beats, the oldest first. */
  readonly #sums: Counts[] = [nothing];
  #beats = 0;

  /** Called every second: the counts since the start, and what waits. */
  beat(now: { readonly at: Instant; readonly sums: Counts; readonly waiting: number }): void {
    this.#beats += 1;
    this.#sums.push(now.sums);
    if (this.#sums.length > rateBeats + 1) this.#sums.shift();
    for (const track of [this.#fine, this.#coarse]) {
      if (this.#beats % track.beats !== 0) continue;
      const counts = difference(now.sums, track.before);
      track.points.push({ at: now.at, waiting: now.waiting, counts });
      track.before = now.sums;
      if (track.points.length > track.max) track.points.shift();
    }
  }

  /** Whether the next beat needs the number of waiting deliveries. */
  get isPointNext(): boolean {
    return (this.#beats + 1) % fineBeats === 0;
  }

  /** Per second, over the last few. */
  rates(): Pick<Counts, "published" | "delivered" | "failed"> {
    const { length } = this.#sums;
    const [first = nothing] = this.#sums;
    const last = this.#sums[length - 1] ?? nothing;
    const seconds = Math.max(1, length - 1);
    const { published, delivered, failed } = difference(last, first);
    const perSecond = (count: number) => Math.round((count / seconds) * 10) / 10;
    return {
      published: perSecond(published),
      delivered: perSecond(delivered),
      failed: perSecond(failed),
    };
  }

  history(minutes: number): { readonly stepMs: number; readonly points: readonly Point[] } {
    const track = minutes <= fineMinutesMax ? this.#fine : this.#coarse;
    const count = Math.ceil((minutes * 60) / track.beats);
    return { stepMs: track.beats * 1_000, points: track.points.slice(-count) };
  }
}

function difference(now: Counts, before: Counts): Counts {
  return {
    published: now.published - before.published,
    refused: now.refused - before.refused,
    delivered: now.delivered - before.delivered,
    failed: now.failed - before.failed,
    deadLettered: now.deadLettered - before.deadLettered,
    dropped: now.dropped - before.dropped,
  };
}
