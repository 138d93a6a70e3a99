// Whether a subscription runs, is paused or drains. A pause keeps everything and ages nothing: the
// time to live of waiting events stands still, so that no pause, however long, makes an event
// expire.
//
//   running   Everything is sent when it is due. Ends with a pause.
//   paused    Nothing is sent to the subscriber; events are still accepted, and dead letters are
//             still written. Ends when an operator resumes or drains it.
//   draining  As running, but with a limited number of events a second, until nothing is due any
//             more: then it runs again by itself.
//
// A pure function of its arguments, without a clock. Who may pause, and how it is stored, is
// decided elsewhere.

import type { Instant } from "../ports.ts";

export type Flow =
  | { readonly kind: "running" }
  | { readonly kind: "paused"; readonly since: Instant }
  | { readonly kind: "draining"; readonly perSecond: number };

/** A pause that is over. */
export interface Pause {
  readonly from: Instant;
  readonly until: Instant;
}

/** Whether a subscription runs now, and its past pauses; the earliest first. */
export interface FlowState {
  readonly flow: Flow;
  readonly pauses: readonly Pause[];
}

export const runningFlow: FlowState = { flow: { kind: "running" }, pauses: [] };

/** Pauses kept per subscription; beyond that the oldest are merged. */
export const pausesMax = 64;

/** The rates that a drain may have, in events a second. */
export const drainRange = { min: 0.01, max: 10_000 } as const;

/** The same value when it is paused already: the first pause counts. */
export function pause(flowState: FlowState, now: Instant): FlowState {
  if (flowState.flow.kind === "paused") return flowState;
  return { ...flowState, flow: { kind: "paused", since: now } };
}

/** Running from now on, or draining. */
export function goOn(flowState: FlowState, flow: Exclude<Flow, { kind: "paused" }>, now: Instant) {
  return { flow, pauses: pausesUntil(flowState, now) } satisfies FlowState;
}

/** Every pause, the current one as if it ended now. */
function pausesUntil({ flow, pauses }: FlowState, now: Instant): readonly Pause[] {
  if (flow.kind !== "paused" || flow.since >= now) return pauses;
  const all = [...pauses, { from: flow.since, until: now }];
  const [first, second, ...rest] = all;
  if (all.length <= pausesMax || first === undefined || second === undefined) return all;
  // The running time between the two counts as paused, which can only lengthen a time to live.
  return [{ from: first.from, until: second.until }, ...rest];
}

/** How much of the time between two instants it was paused. */
export function heldMs(flowState: FlowState, from: Instant, now: Instant): number {
  const { flow, pauses } = flowState;
  if (flow.kind !== "paused" && pauses.length === 0) return 0;
  let ms = 0;
  for (const each of pausesUntil(flowState, now)) {
    ms += Math.max(0, Math.min(each.until, now) - Math.max(each.from, from));
  }
  return ms;
}

/**
 * The latest instant since which this much time has passed, pauses not counted: what began then or
 * before is at least this old.
 */
export function beganBefore(flowState: FlowState, ageMs: number, now: Instant): Instant {
  let at = now;
  let leftMs = ageMs;
  for (const each of pausesUntil(flowState, now).toReversed()) {
    if (each.from >= at) continue;
    const ranMs = Math.max(0, at - each.until);
    if (ranMs >= leftMs) return at - leftMs;
    leftMs -= ranMs;
    at = each.from;
  }
  return at - leftMs;
}
