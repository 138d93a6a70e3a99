// Where the axes of a chart have their ticks: at round numbers and round times of the zone.

import { isUtc } from "../zone.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const steps = [
  minute,
  ...[5, 10, 15, 30].map((each) => each * minute),
  ...[1, 2, 3, 6, 12].map((each) => each * hour),
  day,
  2 * day,
  7 * day,
];
export interface Tick {
  readonly atMs: number;
  /** The beginning of a day. */
  readonly isDay: boolean;
  readonly anchor: "start" | "middle" | "end";
}

/** Half a word. */
const edge = 16;
/** Between two words below the axis. */
const apart = 62;

export function timeTicks(
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  width: number,
): readonly Tick[] {
  const span = toMs - fromMs;
  const step = steps.find((each) => (each / span) * width >= apart) ?? 7 * day;
  const offsetMs = isUtc() ? 0 : -new Date(toMs).getTimezoneOffset() * minute;
  const first = Math.ceil((fromMs + offsetMs) / step) * step - offsetMs;
  const ticks: Tick[] = [];
  for (let atMs = first; atMs <= toMs; atMs += step) {
    const share = (atMs - fromMs) / span;
    // A word at the very edge would be cut off in its middle.
    const anchor = share * width < edge ? "start" : (1 - share) * width < edge ? "end" : "middle";
    ticks.push({ atMs, isDay: (atMs + offsetMs) % day === 0, anchor });
  }
  return ticks;
}

/** Zero, a middle and a top that does not jump with every point: 2, 4, 6 or 10 and zeros. */
export function valueTicks(
  series: readonly { readonly values: readonly (number | null)[] }[],
  given: number | undefined,
  isWhole: boolean,
): readonly number[] {
  // A scale of whole things has a middle that is whole, too.
  const least = isWhole ? 2 : 0;
  const most =
    given ??
    Math.max(least, roundUp(Math.max(0, ...series.flatMap(({ values }) => known(values)))));
  return [0, most / 2, most];
}

function known(values: readonly (number | null)[]): number[] {
  return values.filter((value) => value !== null);
}

export function roundUp(most: number): number {
  if (most <= 0) return 2;
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [1, 2, 4, 6, 10].find((each) => each * power >= most) ?? 10;
  return step * power;
}
