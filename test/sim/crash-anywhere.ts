// A crash at each call of a port in turn, in a small world in which much happens. Each kind of
// store is a test file of its own, so that they run side by side.

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertLawful, type Occurrence, occurrences } from "./verdict.ts";
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

/** Another one, in which events are fetched. */
const pullWorld: Weather = {
  ...fairWeather,
  ...{ seed: 17, visits: 12, subscriptions: 1, publishes: 1, eventsPerPublishMax: 1 },
  safetyMs: 3_600_000,
};

/** Tests that share the calls, so that a slow machine sees progress. */
const parts = 8;

export function crashAnywhere(store: StoreKind): void {
  const steering = ["paused", "drained", "halved", "closed"] as const;
  const sending = ["retried", "delivered late", "given up", "dead-lettered", "dropped"] as const;
  crashIn(`small world on the ${store} store`, { ...smallWorld, store }, [
    ...([...sending, ...steering, "batch"] as const),
  ]);
  crashIn(`world of receivers on the ${store} store`, { ...pullWorld, store }, [
    ...([
      "acknowledge",
      "release",
      "reject",
      "renewLock",
      "received again",
      "too late",
      "expired",
    ] as const),
  ]);
}

function crashIn(world: string, weather: Weather, much: readonly Occurrence[]): void {
  let calls = 0;

  test(`much happens in the ${world}`, async () => {
    const untouched = await simulate({ weather });
    assertLawful(untouched);
    assert.deepEqual(new Set(much).difference(new Set<string>(occurrences(untouched))), new Set());
    const beyond = await simulate({ weather, crashAt: untouched.calls + 1 });
    assert.equal(beyond.journal.lives.length, 1, "there is no call after the last");
    calls = untouched.calls;
  });

  for (let part = 1; part <= parts; part += 1) {
    const which = `part ${part} of ${parts}`;
    test(`a crash at any port call loses nothing in the ${world} (D-1, D-2): ${which}`, async (t) => {
      assert.ok(calls >= parts, "there are calls in each part");
      let crashes = 0;
      for (let crashAt = part; crashAt <= calls; crashAt += parts) {
        const run = await simulate({ weather, crashAt });
        assertLawful(run);
        assert.ok(run.journal.lives.length > 1, `there was a crash at call ${crashAt}`);
        crashes += 1;
      }
      t.diagnostic(`simulation: ${crashes} crashes, one at a port call each, ${world}`);
    });
  }
}
