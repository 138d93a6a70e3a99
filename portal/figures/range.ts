// The span of time that a page shows: one in the address for charts, lists and searches alike, as
// `range=24h`, or as `from` and `to`. It goes along from page to page.

import { brokerNow, useNow } from "../live.ts";
import type { Span } from "../parts/chart.tsx";
import { usePlace } from "../route.ts";
import { sayInstant } from "../zone.ts";

export const ranges = [
  ["15m", 15, "15 min"],
  ["1h", 60, "1 h"],
  ["6h", 360, "6 h"],
  ["24h", 1_440, "24 h"],
  ["7d", 10_080, "7 d"],
] as const;

export type RangeName = (typeof ranges)[number][0];

export interface Range {
  /** Null: from one instant to another. */
  readonly minutes: number | null;
  /** ISO 8601, as in the address; null: open, or as `minutes` say. */
  readonly from: string | null;
  readonly to: string | null;
  /** Whether the address names one; otherwise it is the last hour, and lists show everything. */
  readonly isGiven: boolean;
}

const usual = 60;
const minuteMs = 60_000;

export function rangeIn(query: URLSearchParams): Range {
  const from = instantIn(query.get("from"));
  const to = instantIn(query.get("to"));
  if (from !== null || to !== null) return { minutes: null, from, to, isGiven: true };
  const found = ranges.find(([name]) => name === query.get("range"));
  return { minutes: found?.[1] ?? usual, from: null, to: null, isGiven: found !== undefined };
}

/** An address may be typed: what is no instant is no bound. */
function instantIn(text: string | null): string | null {
  return text === null || Number.isNaN(Date.parse(text)) ? null : text;
}

export function useRange(): Range {
  return rangeIn(usePlace().query);
}

/** From when to when a chart is. An open end is now, an open beginning an hour before the end. */
export function useSpan({ minutes, from, to }: Range): Span {
  const now = useNow(60_000);
  const toMs = to === null ? now : Date.parse(to);
  const fromMs = from === null ? toMs - (minutes ?? usual) * minuteMs : Date.parse(from);
  return { fromMs, toMs: Math.max(toMs, fromMs + minuteMs) };
}

/** For a list: nothing where no range is given. `from` moves with the clock, by minutes. */
export function boundsOf({ minutes, from, to, isGiven }: Range): {
  readonly from: string | null;
  readonly to: string | null;
} {
  if (!isGiven || minutes === null) return { from, to };
  const nowMs = Math.floor(brokerNow() / minuteMs) * minuteMs;
  return { from: new Date(nowMs - minutes * minuteMs).toISOString(), to: null };
}

export function sayRange({ minutes, from, to }: Range, now: number): string {
  if (minutes !== null) {
    const words = ranges.find(([, each]) => each === minutes)?.[2] ?? `${minutes} min`;
    return minutes === usual ? "Last hour" : `Last ${words}`;
  }
  const say = (iso: string) => sayInstant(iso, now).replace(/:\d\d$/, "");
  if (from === null) return `Until ${say(to ?? "")}`;
  return to === null ? `Since ${say(from)}` : `${say(from)} – ${say(to)}`;
}
