import assert from "node:assert/strict";
import { test } from "node:test";
import type { Counts } from "../../core/api/views.ts";
import { RateHistory } from "./rate-history.ts";

function sums(over: Partial<Counts> = {}): Counts {
  const none = { published: 0, refused: 0, delivered: 0, failed: 0, deadLettered: 0, dropped: 0 };
  return { ...none, ...over };
}

/** Beats every second, with what has been counted by then. */
function run(beats: number, countedAt: (second: number) => Partial<Counts>): RateHistory {
  const pulse = new RateHistory();
  for (let second = 1; second <= beats; second++) {
    pulse.beat({ at: second * 1_000, sums: sums(countedAt(second)), waiting: second });
  }
  return pulse;
}

test("a rate is taken over the last ten seconds, or since the start", () => {
  assert.deepEqual(new RateHistory().rates(), { published: 0, delivered: 0, failed: 0 });
  assert.equal(run(2, (second) => ({ published: 4 * second })).rates().published, 4);
  const calm = run(30, (second) => ({ published: 100, delivered: 3 * second, failed: second / 2 }));
  assert.deepEqual(calm.rates(), { published: 0, delivered: 3, failed: 0.5 });
});

test("the last hour comes in points of ten seconds, each with what happened in it", () => {
  const { stepMs, points } = run(25, (second) => ({ published: second })).history(60);
  assert.equal(stepMs, 10_000);
  assert.deepEqual(
    points.map(({ at, waiting, counts }) => [at, waiting, counts.published]),
    [
      [10_000, 10, 10],
      [20_000, 20, 10],
    ],
  );
});

test("more than an hour comes in points of a minute", () => {
  const { stepMs, points } = run(150, (second) => ({ dropped: second })).history(90);
  assert.equal(stepMs, 60_000);
  assert.deepEqual(
    points.map(({ counts }) => counts.dropped),
    [60, 60],
  );
});

test("no more is kept than a chart can show", () => {
  const pulse = run(100_000, () => ({}));
  assert.equal(pulse.history(60).points.length, 360);
  assert.equal(pulse.history(1).points.length, 6);
  assert.equal(pulse.history(1_440).points.length, 1_440);
});
