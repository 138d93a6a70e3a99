// Finding the events that spoil a batch, where a subscription asks for it: a batch that is answered
// with a code that is never retried goes out again in halves, and these in halves, until the event
// that is to blame travels alone and is given up alone. The answer counts for every event of a
// batch (B-3), so a half that is taken is delivered.
//
// What is remembered is how large a batch each event may travel in; nothing of it is kept on disk.
// The halves of one failure are one attempt of each event in them, however many requests it takes:
// innocent events do not use up their attempts because of their neighbours. The law asks only that
// the memory is kept while the events are; when it is lost, halving begins anew.

import type { Stage } from "../ports.ts";
import type { Outcome } from "./outcome.ts";
import type { Policy } from "./policy.ts";
import { isFinal } from "./retry.ts";

/** By event number: the largest batch it may travel in. */
export type SplitSizes = ReadonlyMap<number, number>;

/** Events whose halves are remembered; beyond that the oldest begin anew. */
export const splitSizesMax = 20_000;

/** Whether a batch goes out again in halves instead of being given up. */
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
 * How many of those in line may travel together with the first: those that stand with it and were
 * halved as far as it was. Events that are under no suspicion never join those that are.
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
