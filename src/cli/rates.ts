// Shares and rates as typed at a prompt: `10%`, `0.5`.

import { refuseValue } from "../core/text/wording.ts";

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
