// Whether what a writer has read still holds: the revision of a record (the port Registry), or the
// terms that events were routed by (the port Store).

import type { RoutedBy } from "../core/ports.ts";
import { Refusal } from "../core/refusal.ts";

/** `at`: the record's revision; undefined: there is none. Refusal: PreconditionFailed. */
export function checkRevision(at: number | undefined, wanted: number | undefined): void {
  if (wanted === undefined || (at ?? 0) === wanted) return;
  throw new Refusal("PreconditionFailed", "The record has been changed since it was read.");
}

/** `mark`: the topic's; null: it is gone. Refusal: PreconditionFailed. */
export function checkRouting(by: RoutedBy | undefined, mark: number | null | undefined): void {
  if (by === undefined || by.mark === mark) return;
  throw refuseRouting();
}

export function refuseRouting(): Refusal {
  const words = "The topic or its subscriptions have been changed since the events were routed.";
  return new Refusal("PreconditionFailed", words);
}
