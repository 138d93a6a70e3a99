// The valve of one dispatcher: whether its subscription runs, is paused or drains
// (core/delivery/flow.ts), and the rate of a drain (core/delivery/rate.ts). The rules are there;
// here their state is kept. A dispatcher asks before it claims and sends, and reports what it has
// sent.
//
// A running subscription, as nearly all are, costs two comparisons.

import { beganBefore, type FlowState, heldMs, runningFlow } from "../core/delivery/flow.ts";
import { type Pace, paceOf, readyAhead, takeTurn, turnAt } from "../core/delivery/rate.ts";
import type { Clock, Instant } from "../core/ports.ts";

const unlimited = Number.POSITIVE_INFINITY;

export class Valve {
  readonly #clock: Clock;
  readonly #onTurn: () => void;
  #flowState: FlowState = runningFlow;
  #pace: Pace | null = null;
  #holds = 0;
  #callOff: (() => void) | null = null;

  /** `onTurn` is called when a drain may send again. */
  constructor(clock: Clock, onTurn: () => void) {
    this.#clock = clock;
    this.#onTurn = onTurn;
  }

  set(flowState: FlowState): void {
    const { flow } = flowState;
    const before = this.#flowState.flow;
    this.#flowState = flowState;
    if (flow.kind !== "draining") this.#pace = null;
    else if (before.kind !== "draining" || before.perSecond !== flow.perSecond) {
      const nextAt = this.#pace?.nextAt ?? 0;
      this.#pace = { ...paceOf(flow.perSecond), nextAt };
    }
  }

  /** Also shut while an operator changes the queue. The result ends that. */
  hold(): () => void {
    this.#holds += 1;
    let isOver = false;
    return () => {
      if (!isOver) this.#holds -= 1;
      isOver = true;
    };
  }

  /** Whether nothing may be claimed or sent. */
  get isShut(): boolean {
    return this.#holds > 0 || this.#flowState.flow.kind === "paused";
  }

  get isDraining(): boolean {
    return this.#pace !== null;
  }

  /** How many events may be sent now. */
  room(now: Instant): number {
    if (this.#pace === null) return unlimited;
    return turnAt(this.#pace) > now ? 0 : readyAhead(this.#pace);
  }

  /** How many events to have ready besides those in flight. */
  get ahead(): number {
    return this.#pace === null ? unlimited : readyAhead(this.#pace);
  }

  /** This many events are sent now. */
  pass(count: number, now: Instant): void {
    if (this.#pace === null) return;
    this.#pace = takeTurn(this.#pace, now, count);
    this.#callOff?.();
    this.#callOff = this.#clock.after(Math.max(0, turnAt(this.#pace) - now), () => {
      this.#callOff = null;
      this.#onTurn();
    });
  }

  /** How much of the time since then was paused. */
  heldMs(since: Instant, now: Instant): number {
    return heldMs(this.#flowState, since, now);
  }

  /** What began at or before this is that old, pauses not counted. */
  beganBefore(ageMs: number, now: Instant): Instant {
    return beganBefore(this.#flowState, ageMs, now);
  }

  close(): void {
    this.#callOff?.();
    this.#callOff = null;
  }
}
