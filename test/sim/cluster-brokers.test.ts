// Several brokers at once on one simulated database: seeds that once found something, and new ones.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type ClusterReport, simulateCluster } from "./cluster/world.ts";

/** Each with the number of brokers, and what it found. */
const kept: readonly (readonly [seed: number, brokers: number, found: string])[] = [
  [2, 3, "a subscription that was handed over stayed with its old owner in other catalogs"],
  [3, 3, "the same, and events that waited for ever"],
  [61, 3, "a replaced dispatcher's send was still under way when its queue was handed over"],
  [1042, 3, "the same, in another order"],
];
const freshSeeds = 15;
const seedMax = 2 ** 31;

function assertLawful({ seed, brokers, violations }: ClusterReport): void {
  const again = `npm run sim -- --seed ${seed} --brokers ${brokers}`;
  assert.deepEqual(violations.slice(0, 5), [], again);
}

for (const [seed, brokers, found] of kept) {
  test(`kept seed ${seed} with ${brokers} brokers: ${found}`, async () => {
    assertLawful(await simulateCluster(seed, brokers));
  });
}

for (const brokers of [2, 3]) {
  test(`${brokers} brokers keep the law through crashes, freezes and cuts`, async (t) => {
    const first = Math.floor(Math.random() * seedMax);
    t.diagnostic(`simulation: ${freshSeeds} fresh seeds from ${first}, ${brokers} brokers`);
    const seen = new Set<string>();
    for (let count = 0; count < freshSeeds; count += 1) {
      const seed = (first + count) % seedMax;
      // Each a test of its own: a run under load may take its time, but it has to go on.
      await t.test(`seed ${seed}`, async () => {
        const run = await simulateCluster(seed, brokers);
        assertLawful(run);
        assert.ok(run.sends.length > 0 || run.publishes.length > 0);
        for (const { disturbances } of run.processes) {
          for (const { kind } of disturbances) seen.add(kind);
        }
      });
    }
    assert.deepEqual([...seen].toSorted(), ["crash", "cut", "freeze", "stop"]);
  });
}

test("the same seed is the same run", async () => {
  const tell = ({ sends }: ClusterReport) =>
    sends.map(({ process, events, begunAt, endpoint }) => [
      process.name,
      events,
      begunAt,
      endpoint,
    ]);
  const [once, again] = [await simulateCluster(7, 3), await simulateCluster(7, 3)];
  assert.deepEqual(tell(again), tell(once));
});
