// Lengths and points in time as people read them. Nothing reads these texts back.

import type { Instant } from "./ports.ts";

/** `3.1 s`, `1 min 40 s`, `34 h 46 min`: the two largest units, rounded down. */
export function sayDuration(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${Math.floor(ms / 100) / 10} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return join(minutes, "min", seconds % 60, "s");
  return join(Math.floor(minutes / 60), "h", minutes % 60, "min");
}

/** `2030-01-01T14:05:33.100Z` */
export function sayInstant(at: Instant): string {
  return new Date(at).toISOString();
}

function join(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}
