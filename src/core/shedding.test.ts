import assert from "node:assert/strict";
import { test } from "node:test";
import { type DiskPace, expectedWaitMs, isShedding, paceAfter } from "./shedding.ts";

const mebi = 1_048_576;

test("the pace is learnt from large rounds; small ones can only show that it is better", () => {
  const table: [pace: DiskPace, chars: number, ms: number, next: DiskPace][] = [
    [null, 0, 5, null],
    [null, 500, 5, null],
    [null, mebi, 1_048.576, 0.001],
    [0.001, 2 * mebi, 6 * 1_048.576, 0.002],
    [0.001, 0, 5, 0.001],
    // Five milliseconds are those of the sync.
    [0.001, 500, 5, 0.001],
    [0.001, 100_000, 10, 0.0001],
  ];
  for (const [pace, chars, ms, next] of table) {
    const seen = paceAfter(pace, { chars, ms });
    if (next === null) assert.equal(seen, null);
    else assert.ok(Math.abs((seen ?? 0) - next) < 1e-9, `${pace} ${chars} ${ms}: ${seen}`);
  }
});

test("the wait is what the oldest has waited or what waits will take, whichever is longer", () => {
  const table: [oldestMs: number, waitingChars: number, pace: DiskPace, waitMs: number][] = [
    [0, 0, null, 0],
    [700, 5_000, null, 700],
    [700, 5_000, 0.1, 700],
    [700, 50_000, 0.1, 5_000],
  ];
  for (const [oldestMs, waitingChars, pace, waitMs] of table) {
    assert.equal(expectedWaitMs({ oldestMs, waitingChars, pace }), waitMs);
  }
});

test("refusing begins beyond the longest wait and ends below half of it", () => {
  const table: [was: boolean, waitMs: number, is: boolean][] = [
    [false, 0, false],
    [false, 2_000, false],
    [false, 2_001, true],
    [true, 2_001, true],
    [true, 1_000, true],
    [true, 999, false],
    [false, 1_500, false],
  ];
  for (const [was, waitMs, is] of table) assert.equal(isShedding(was, waitMs, 2_000), is);
});
