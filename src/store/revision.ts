// Whether a record is still at the revision its writer has read (the port Registry).

import { Refusal } from "../core/refusal.ts";

/** `at`: the record's revision; undefined: there is none. Refusal: PreconditionFailed. */
export function checkRevision(at: number | undefined, wanted: number | undefined): void {
  if (wanted === undefined || (at ?? 0) === wanted) return;
  throw new Refusal("PreconditionFailed", "The record has been changed since it was read.");
}
