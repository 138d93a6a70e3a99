// Stretches of time: which are kept and for how long, and which one a chart is drawn with. Figures
// are written by the minute and rolled up twice, so that a chart of a week reads as little as one
// of an hour. All stretches are aligned to the epoch, in UTC.

import type { Instant } from "../ports.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

export interface Level {
  readonly stepMs: number;
  readonly keptMs: number;
}

/** The finest first; each step is a multiple of the one before. */
export const levels: readonly [Level, ...Level[]] = [
  { stepMs: minuteMs, keptMs: 7 * dayMs },
  { stepMs: 15 * minuteMs, keptMs: 7 * dayMs },
  { stepMs: hourMs, keptMs: 35 * dayMs },
];

export const finestMs = levels[0].stepMs;

/** How far back a chart may go. */
export const keptMsMax = Math.max(...levels.map(({ keptMs }) => keptMs));

/** What a chart may be drawn with: round numbers on its axis. */
const chartSteps: readonly number[] = [
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * minuteMs),
  ...[1, 2, 3, 6, 12, 24].map((hours) => hours * hourMs),
];

export interface Range {
  readonly from: Instant;
  /** Not within it. */
  readonly to: Instant;
  readonly stepMs: number;
}

/** The beginning of the stretch that a moment is in. */
export function startOf(at: Instant, stepMs: number): Instant {
  return Math.floor(at / stepMs) * stepMs;
}

/**
 * The range in whole steps, with as many points as possible and no more than `points`. The last
 * step is the one that `to` is in. Beyond the days that minutes are kept there are only hours.
 */
export function chartRange(
  asked: { readonly from: Instant; readonly to: Instant; readonly points: number },
  now: Instant,
): Range {
  const { to, points } = asked;
  const from = Math.max(Math.min(asked.from, to), now - keptMsMax);
  const least = levels.find(({ keptMs }) => now - from <= keptMs)?.stepMs ?? hourMs;
  const fits = (stepMs: number) =>
    stepMs >= least &&
    countOf({ from: startOf(from, stepMs), to: endOf(to, stepMs), stepMs }) <= points;
  const stepMs = chartSteps.find(fits) ?? (chartSteps.at(-1) as number);
  return { from: startOf(from, stepMs), to: endOf(to, stepMs), stepMs };
}

function endOf(to: Instant, stepMs: number): Instant {
  return startOf(Math.max(0, to - 1), stepMs) + stepMs;
}

export function countOf({ from, to, stepMs }: Range): number {
  return Math.max(0, Math.round((to - from) / stepMs));
}

/** The coarsest level whose steps make up the steps of a chart. */
export function levelFor(stepMs: number): Level {
  return levels.findLast((level) => stepMs % level.stepMs === 0) ?? levels[0];
}

/** How long minutes are kept when they need more room than they may have: a tenth less. */
export function shortened(oldest: Instant, now: Instant): number {
  return Math.max(finestMs, Math.floor((now - oldest) * 0.9));
}
