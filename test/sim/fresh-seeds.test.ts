// The whole broker in weathers that nobody has seen before. A seed that fails is printed with the
// way to replay it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertLawful, everyOccurrence, occurrences } from "./verdict.ts";
import { drawWeather } from "./weather.ts";
import { simulate } from "./world.ts";

const seedsPerTest = 50;
const tests = 6;
const seedMax = 2 ** 31;
const dayMs = 24 * 3_600_000;

const first = Math.floor(Math.random() * seedMax);
const seen = new Set<string>();

for (let each = 0; each < tests; each += 1) {
  const from = first + each * seedsPerTest;
  test(`safety in every weather, and an end to everything in calm: part ${each + 1}`, async (t) => {
    const startedAt = performance.now();
    let simulatedMs = 0;
    for (let count = 0; count < seedsPerTest; count += 1) {
      const run = await simulate({ weather: drawWeather((from + count) % seedMax) });
      assertLawful(run);
      for (const occurrence of occurrences(run)) seen.add(occurrence);
      simulatedMs += run.simulatedMs;
    }
    const minutes = (performance.now() - startedAt) / 60_000;
    const perMinute = (amount: number) => Math.round(amount / minutes);
    t.diagnostic(
      `simulation: ${seedsPerTest} fresh seeds from ${from}, ${perMinute(seedsPerTest)} seeds ` +
        `and ${perMinute(simulatedMs / dayMs)} simulated days per minute`,
    );
  });
}

test("so many weathers have had everything in them that can happen", () => {
  assert.deepEqual(new Set(everyOccurrence).difference(seen), new Set());
});
