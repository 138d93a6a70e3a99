// Finds the bad events of a batch, where a subscription asks for it: a batch that is answered with
// a code that is never retried is sent again in halves, and these in halves, until the bad event is
// alone and only that one is undeliverable. The answer counts for every event of a batch (B-3), so
// a half that succeeds is delivered.
//
// Only the largest allowed batch of each event is remembered, in memory. The halves of one failure
// are one attempt of each event in them, however many requests it takes: good events do not use up
// attempts because of a bad one. When the memory is lost, halving starts over.

import type { Stage } from "./delivery.ts";
import type { Outcome } from "./outcome.ts";
import type { Policy } from "./policy.ts";
import { isFinal } from "./retry.ts";

/** By event number: the largest batch it may be in. */
export type SplitSizes = ReadonlyMap<number, number>;

/** How many events are remembered; beyond that the oldest start over. */
export const splitSizesMax = 20_000;

/** Whether a batch is sent again in halves instead of being undeliverable. */
export function isSplit(
  batch: { readonly size: number; readonly stage: Stage; readonly splitOnFailure: boolean },
  policy: Policy,
  outcome: Outcome,
): boolean {
  if (!batch.splitOnFailure || batch.size < 2 || batch.stage !== "deliver") return false;
  return isFinal(policy, outcome);
}

/** How large the halves of a batch are, the larger one of an odd number. */
export function halfOf(size: number): number {
  return Math.ceil(size / 2);
}

/**
 * How many of the next events may go together with the first: those next to it that were halved as
 * far. Events that are not suspected never join those that are.
 */
export function togetherMax(line: readonly number[], sizes: SplitSizes): number {
  const [first] = line;
  if (first === undefined || sizes.size === 0) return line.length;
  const size = sizes.get(first);
  const most = Math.min(line.length, size ?? line.length);
  let count = 1;
  while (count < most && sizes.get(line[count] as number) === size) count += 1;
  return count;
}
