// Durations and shares as typed at a prompt: `45s`, `2h30m`, `500ms`, `10%`. ISO 8601 works as
// well, as in settings.

import { parseDuration } from "../core/text/time.ts";
import { refuseValue } from "../core/text/wording.ts";

const unitsMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const form = /^(?:\d+(?:\.\d+)?(?:ms|min|s|m|h|d))+$/;

/** Milliseconds. Refusal: InvalidSetting, naming `field`. */
export function lengthOf(text: string, field: string): number {
  if (/^P/i.test(text)) return parseDuration(text, field);
  if (text === "0") return 0;
  if (!form.test(text)) {
    throw refuseValue({ field, value: text, allowed: "a length such as 45s, 10m, 2h30m or 500ms" });
  }
  let ms = 0;
  for (const [, amount, unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)(ms|min|s|m|h|d)/g)) {
    ms += Number(amount) * (unitsMs[unit] ?? 0);
  }
  return Math.round(ms);
}

/** A fraction: `10%` or `0.1`. Refusal: InvalidSetting. */
export function shareOf(text: string, field: string): number {
  const [, amount, sign] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text) ?? [];
  const share = Number(amount) / (sign === "%" ? 100 : 1);
  if (share >= 0 && share <= 1) return share;
  throw refuseValue({ field, value: text, allowed: "a share such as 10% or 0.1" });
}

/** A positive number: `0.5`. Refusal: InvalidSetting. */
export function rateOf(text: string, field: string): number {
  const rate = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (rate > 0 && rate <= 1_000_000) return rate;
  throw refuseValue({ field, value: text, allowed: "a number above 0, such as 10 or 0.5" });
}
