// How a subscription is let run: on, held, or let go slowly. A pause keeps everything and ages
// nothing: what waits for a paused subscription does not grow older, so that no pause, however
// long, costs an event its life.
//
//   running   Everything is sent when it is due. Ends with a pause.
//   paused    Nothing is sent to the subscriber; events go on coming in, and dead letters go on
//             being written. Ends when an operator resumes or drains it.
//   draining  As running, but with no more than so many events a second, until nothing is due any
//             more: then it is running again by itself.
//
// A law without a clock of its own. Who may say so, and how it is kept, is told elsewhere.

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

/** How a subscription runs now, and when it did not; the earliest pause first. */
export interface FlowState {
  readonly flow: Flow;
  readonly pauses: readonly Pause[];
}

export const runningFlow: FlowState = { flow: { kind: "running" }, pauses: [] };

/** Remembered of one subscription; beyond that the oldest become one. */
export const pausesMax = 64;

/** Events a second that a drain may be told. */
export const drainRange = { min: 0.01, max: 10_000 } as const;

/** The same value when it is paused already: its first pause is what counts. */
export function pause(flowState: FlowState, now: Instant): FlowState {
  if (flowState.flow.kind === "paused") return flowState;
  return { ...flowState, flow: { kind: "paused", since: now } };
}

/** Running from now on, or draining. */
export function goOn(flowState: FlowState, flow: Exclude<Flow, { kind: "paused" }>, now: Instant) {
  return { flow, pauses: pausesUntil(flowState, now) } satisfies FlowState;
}

/** Every pause, the one under way as if it ended now. */
function pausesUntil({ flow, pauses }: FlowState, now: Instant): readonly Pause[] {
  if (flow.kind !== "paused" || flow.since >= now) return pauses;
  const all = [...pauses, { from: flow.since, until: now }];
  const [first, second, ...rest] = all;
  if (all.length <= pausesMax || first === undefined || second === undefined) return all;
  // What ran between the two counts as paused, which can only lengthen a life.
  return [{ from: first.from, until: second.until }, ...rest];
}

/** How much of the time from one instant to the other it was paused. */
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
 * The latest instant since which so much time has passed, pauses not counted: what began then or
 * before is at least so old.
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
