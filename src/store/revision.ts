// Whether a record is still as whoever writes it has read it (the port Registry).

import { Refusal } from "../core/refusal.ts";

/** `at`: where the record is; undefined: there is none. Refusal: PreconditionFailed. */
export function checkRevision(at: number | undefined, wanted: number | undefined): void {
  if (wanted === undefined || (at ?? 0) === wanted) return;
  throw new Refusal("PreconditionFailed", "The record has been changed since it was read.");
}
