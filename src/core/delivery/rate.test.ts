import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { changePace, type Pace, readyAhead, takeTurn, turnAt } from "./rate.ts";

const paceOf = (perMinute: number): Pace => {
  const pace = changePace(null, perMinute);
  assert.ok(pace);
  return pace;
};

/** When requests go out if there is always one, from `start` on. */
function departures(perMinute: number, count: number, start = 1_000): number[] {
  let pace = paceOf(perMinute);
  let now = start;
  return Array.from({ length: count }, () => {
    now = Math.max(now, turnAt(pace));
    pace = takeTurn(pace, now);
    return now;
  });
}

test("requests are evenly spaced over the minute", () => {
  assert.deepEqual(departures(120, 4), [1_000, 1_500, 2_000, 2_500]);
  assert.deepEqual(departures(1, 3), [1_000, 61_000, 121_000]);
});

test("a rate beyond a request a millisecond is kept as well", () => {
  assert.deepEqual(departures(120_000, 5), [1_000, 1_000, 1_001, 1_001, 1_002]);
  assert.deepEqual(departures(40_000, 5), [1_000, 1_001, 1_003, 1_004, 1_006]);
});

test("a pause saves nothing up", () => {
  let pace = takeTurn(paceOf(60), 0);
  pace = takeTurn(pace, 3_600_000);
  assert.equal(turnAt(pace), 3_601_000);
});

test("no minute sees more requests than allowed, however often we could send", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3_000 }), (perMinute) => {
      const at = departures(perMinute, perMinute * 2 + 2);
      for (const [index, first] of at.entries()) {
        const beyond = at[index + perMinute];
        // Turns are cut to whole milliseconds.
        if (beyond !== undefined) assert.ok(beyond - first >= 60_000 - 1);
      }
    }),
    { numRuns: 20 },
  );
});

test("a changed rate counts from the next request, and none lifts the limit", () => {
  const pace = takeTurn(paceOf(60), 5_000);
  assert.equal(changePace(pace, 60), pace);
  assert.deepEqual(changePace(pace, 600), { perMinute: 600, nextAt: 6_000 });
  assert.equal(changePace(pace, null), null);
});

test("no more is made ready than goes out in a second, and never nothing", () => {
  assert.deepEqual([1, 60, 120, 6_000].map(paceOf).map(readyAhead), [1, 1, 2, 100]);
});
