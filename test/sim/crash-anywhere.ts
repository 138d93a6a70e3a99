// A crash at each call of a port in turn, in a small world in which much happens. Each kind of
// store is a test file of its own, so that they run side by side.

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertLawful, occurrences } from "./verdict.ts";
import { fairWeather, type StoreKind, type Weather } from "./weather.ts";
import { simulate } from "./world.ts";

/** A small world, with a seed by which much happens in it. */
const smallWorld: Weather = {
  ...fairWeather,
  seed: 340,
  changes: 1,
  acts: 5,
  splits: 1,
  poison: 0.3,
  publishes: 4,
  eventsPerPublishMax: 3,
  network: { moods: ["flapping"], share: 0.6, strayFaults: 0 },
};

export function crashAnywhere(store: StoreKind): void {
  test(`a crash at any port call loses nothing on the ${store} store (D-1, D-2)`, async (t) => {
    const weather = { ...smallWorld, store };
    const untouched = await simulate({ weather });
    assertLawful(untouched);
    const much = [
      ...["retried", "delivered late", "given up", "dead-lettered", "dropped", "batch"],
      ...["paused", "drained", "halved", "closed"],
    ];
    assert.deepEqual(new Set(much).difference(new Set<string>(occurrences(untouched))), new Set());
    let crashAt = 0;
    for (let isOver = false; !isOver; ) {
      crashAt += 1;
      const run = await simulate({ weather, crashAt });
      assertLawful(run);
      isOver = run.journal.lives.length === 1;
    }
    assert.equal(crashAt, untouched.calls + 1, "there was a crash at each call");
    t.diagnostic(`simulation: ${untouched.calls} crashes, one at each port call, ${store} store`);
  });
}
