// Durations and times as people write and read them, and waiting on a given clock. Of ISO 8601 only
// what needs no calendar is understood: a month has no fixed length, so it is refused and not
// guessed.

import type { Clock, Instant } from "../ports.ts";
import { refuseValue } from "./wording.ts";

/** Ends early, and never rejects, when the signal aborts. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = () => {
      cancel();
      resolve();
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener("abort", stop);
      resolve();
    });
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** Null: never. */
export function earlier(a: Instant | null, b: Instant): Instant {
  return a === null || b < a ? b : a;
}

const amounts = (units: string) => units.replace(/[A-Z]/g, "(?:(\\d+(?:[.,]\\d+)?)$&)?");
const durationForm = new RegExp(`^P${amounts("YMWD")}(?:T${amounts("HMS")})?$`, "i");

const weekMs = 604_800_000;
const dayMs = 86_400_000;
const hourMs = 3_600_000;
const minuteMs = 60_000;
const secondMs = 1_000;

/** Longer is a mistake, and times stay within what a Date can hold. */
const durationMsMax = 36_525 * dayMs;

/** Milliseconds of a duration such as `PT30S`. Refusal: InvalidSetting, naming `field`. */
export function parseDuration(text: string, field: string): number {
  const refuse = (allowed: string) => refuseValue({ field, value: text, allowed });
  const found = durationForm.exec(text);
  if (found === null || /[PT]$/i.test(text)) {
    throw refuse("an ISO 8601 duration such as PT30S, PT5M or P1DT2H");
  }
  const [years, months, weeks, days, hours, minutes, seconds] = found
    .slice(1)
    .map((part) => (part === undefined ? undefined : Number(part.replace(",", "."))));
  if (years !== undefined || months !== undefined) {
    throw refuse("a duration in weeks, days, hours, minutes and seconds (years and months vary)");
  }
  const ms = Math.round(
    (weeks ?? 0) * weekMs +
      (days ?? 0) * dayMs +
      (hours ?? 0) * hourMs +
      (minutes ?? 0) * minuteMs +
      (seconds ?? 0) * secondMs,
  );
  if (ms > durationMsMax) throw refuse("a duration of at most P36525D");
  return ms;
}

const shortUnitsMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: secondMs,
  m: minuteMs,
  min: minuteMs,
  h: hourMs,
  d: dayMs,
};
const shortForm = /^(?:\d+(?:\.\d+)?(?:ms|min|s|m|h|d))+$/;

/**
 * Milliseconds of a duration as people write it, `45s` or `2h30m`, or as in ISO 8601. Refusal:
 * InvalidSetting, naming `field`.
 */
export function parseLength(text: string, field: string): number {
  if (/^P/i.test(text)) return parseDuration(text, field);
  if (text === "0") return 0;
  const refuse = (allowed: string) => refuseValue({ field, value: text, allowed });
  if (!shortForm.test(text)) throw refuse("a duration such as 45s, 10m, 2h30m or PT45S");
  let ms = 0;
  for (const [, amount, unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)(ms|min|s|m|h|d)/g)) {
    ms += Number(amount) * (shortUnitsMs[unit] ?? 0);
  }
  if (ms > durationMsMax) throw refuse("a duration of at most 36525d");
  return Math.round(ms);
}

const instantForm =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|[+-]\d{2}:\d{2})$/i;

/** An ISO 8601 instant with its zone. Refusal: InvalidSetting, naming `field`. */
export function parseInstant(text: string, field: string): Instant {
  const parts = instantForm.exec(text);
  const at = parts === null ? Number.NaN : instantOf(parts);
  if (Number.isNaN(at)) {
    throw refuseValue({
      field,
      value: text,
      allowed: "an ISO 8601 instant with its zone, such as 2030-01-01T00:00:00Z",
    });
  }
  return at;
}

/** NaN for a day or an hour that does not exist, which Date would silently roll over. */
function instantOf(parts: RegExpExecArray): number {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const fractionMs = Math.floor(Number(`0.${parts[7] ?? "0"}`) * secondMs);
  const isReal =
    month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month) && hour < 24 && minute < 60;
  const offsetMs = offsetOf(parts[8] ?? "Z");
  if (!isReal || second >= 60 || Number.isNaN(offsetMs)) return Number.NaN;
  const midnight = new Date(0).setUTCFullYear(year, month - 1, day);
  return midnight + hour * hourMs + minute * minuteMs + second * secondMs + fractionMs - offsetMs;
}

function daysOf(year: number, month: number): number {
  return new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
}

function offsetOf(zone: string): number {
  if (zone === "Z" || zone === "z") return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(4, 6));
  if (hours > 23 || minutes > 59) return Number.NaN;
  return (zone.startsWith("-") ? -1 : 1) * (hours * hourMs + minutes * minuteMs);
}

/** A duration in ISO 8601, in whole seconds: `P1DT2H`. */
export function durationText(ms: number): string {
  const days = Math.floor(ms / dayMs);
  const hours = Math.floor((ms % dayMs) / hourMs);
  const minutes = Math.floor((ms % hourMs) / minuteMs);
  const seconds = Math.floor((ms % minuteMs) / secondMs);
  const within = [hours && `${hours}H`, minutes && `${minutes}M`, seconds && `${seconds}S`];
  const time = within.filter(Boolean).join("");
  if (days === 0 && time === "") return "PT0S";
  return `P${days === 0 ? "" : `${days}D`}${time === "" ? "" : `T${time}`}`;
}

/** `2030-01-01T00:00:00.000Z` */
export function isoInstant(at: Instant): string {
  return new Date(at).toISOString();
}

/** With the seven digits of the service, of which we have three: `2030-01-01T00:00:00.0000000Z`. */
export function longInstant(at: Instant): string {
  return `${isoInstant(at).slice(0, -1)}0000Z`;
}

const units: readonly (readonly [string, number])[] = [
  ["d", dayMs],
  ["h", hourMs],
  ["min", minuteMs],
  ["s", secondMs],
  ["ms", 1],
];

/** A duration in its two largest units, cut and not rounded: `23 h 58 min`. */
export function wordsOfMs(ms: number): string {
  let left = Math.floor(Math.abs(ms));
  const words: string[] = [];
  let largest = -1;
  for (const [place, [unit, unitMs]] of units.entries()) {
    const count = Math.floor(left / unitMs);
    if (count > 0) {
      if (largest < 0) largest = place;
      words.push(`${count} ${unit}`);
      left -= count * unitMs;
    }
    if (largest >= 0 && place > largest) break;
  }
  return words.length === 0 ? "0 s" : `${ms < 0 ? "-" : ""}${words.join(" ")}`;
}
