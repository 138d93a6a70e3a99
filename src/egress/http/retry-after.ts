// Retry-After, as an endpoint may send it with any answer: a number of seconds, or an HTTP date.
// What cannot be read is as if it had not been sent. The two obsolete forms of date are not read:
// nobody has sent them for decades, and one of them does not even name its zone.

import type { Instant } from "../../core/ports.ts";

const secondsForm = /^\d{1,9}$/;
const dateForm = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** In milliseconds from now; a date that has passed means at once. */
export function readRetryAfter(value: string, now: Instant): number | undefined {
  const text = value.trim();
  if (secondsForm.test(text)) return Number(text) * 1_000;
  const at = dateForm.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
