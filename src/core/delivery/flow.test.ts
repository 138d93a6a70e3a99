// Pauses keep everything, age nothing, and are remembered within limits.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { plainSubscription } from "../subscription.ts";
import {
  beganBefore,
  type FlowState,
  goOn,
  heldMs,
  pause,
  pausesMax,
  runningFlow,
} from "./flow.ts";
import { policyOf } from "./policy.ts";
import { profiles } from "./profile.ts";
import { expire, explain } from "./retry.ts";

const hourMs = 3_600_000;

/** A subscription's flow after this many pauses, each after some time of running. */
function courseOf(lengths: readonly { readonly ranMs: number; readonly pausedMs: number }[]) {
  let now = 0;
  let flowState: FlowState = runningFlow;
  for (const { ranMs, pausedMs } of lengths) {
    now += ranMs;
    flowState = pause(flowState, now);
    now += pausedMs;
    flowState = goOn(flowState, { kind: "running" }, now);
  }
  return { flowState, now };
}

const lengths = fc.array(
  fc.record({ ranMs: fc.integer({ min: 1, max: 50 }), pausedMs: fc.integer({ min: 1, max: 50 }) }),
  { maxLength: 8 },
);

test("what is paused does not grow older, the pause under way included (R-6)", () => {
  const paused = pause(runningFlow, 10 * hourMs);
  assert.equal(heldMs(paused, 0, 12 * hourMs), 2 * hourMs);
  assert.equal(heldMs(paused, 11 * hourMs, 12 * hourMs), hourMs);
  const resumed = goOn(paused, { kind: "running" }, 15 * hourMs);
  assert.equal(heldMs(resumed, 0, 20 * hourMs), 5 * hourMs);
  assert.equal(heldMs(resumed, 16 * hourMs, 20 * hourMs), 0);
});

test("an event outlives a pause longer than its life, and ends by its own time (R-6)", () => {
  const destination = { kind: "webhook", url: "http://a/" } as const;
  const policy = policyOf({ ...plainSubscription, destination }, profiles.azure);
  const flowState = goOn(pause(runningFlow, hourMs), { kind: "running" }, 100 * hourMs);
  const atAge = (now: number) => {
    const held = heldMs(flowState, 0, now);
    return expire({ stage: "deliver", attempts: 1, since: 0, heldMs: held, policy }, now);
  };
  assert.equal(atAge(122 * hourMs), null);
  const end = atAge(123 * hourMs);
  assert.equal(end?.kind, "drop");
  assert.equal(
    end && explain(end),
    "TimeToLiveExceeded: due 1 d after its publish, 4 d 3 h of pauses not counted, with 1 d to " +
      "live, 1 attempt made; dropped",
  );
});

test("a subscription that was never paused ages by the clock alone", () => {
  assert.equal(heldMs(runningFlow, 0, 99 * hourMs), 0);
  assert.equal(beganBefore(runningFlow, hourMs, 3 * hourMs), 2 * hourMs);
});

test("pausing twice is pausing once, and a pause of no length is none", () => {
  const once = pause(runningFlow, 5);
  assert.equal(pause(once, 9), once);
  assert.deepEqual(goOn(once, { kind: "running" }, 5), runningFlow);
});

test("draining ends a pause like resuming does", () => {
  const flowState = goOn(pause(runningFlow, 5), { kind: "draining", perSecond: 2 }, 9);
  assert.deepEqual(flowState.pauses, [{ from: 5, until: 9 }]);
  assert.deepEqual(flowState.flow, { kind: "draining", perSecond: 2 });
});

test("no more pauses are remembered than the bound, and forgetting only lengthens a life", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 * pausesMax }), fc.nat(400), (count, since) => {
      const many = Array.from({ length: count }, () => ({ ranMs: 1, pausedMs: 1 }));
      const { flowState, now } = courseOf(many);
      assert.ok(flowState.pauses.length <= pausesMax);
      const from = Math.min(since, now);
      const exactMs = Math.floor((now - from + (from % 2 === 0 ? 0 : 1)) / 2);
      assert.ok(heldMs(flowState, from, now) >= exactMs);
    }),
  );
});

test("the cut-off for an age is exact: what began by then is so old, what began after is not", () => {
  fc.assert(
    fc.property(lengths, fc.nat(60), fc.integer({ min: 1, max: 300 }), (given, ranMs, ageMs) => {
      const { flowState, now: pausedAt } = courseOf(given);
      const now = pausedAt + ranMs;
      const cutOff = beganBefore(flowState, ageMs, now);
      const ageOf = (since: number) => now - since - heldMs(flowState, since, now);
      assert.ok(ageOf(cutOff) >= ageMs);
      assert.ok(ageOf(cutOff + 1) < ageMs);
    }),
  );
});
