// Broken parts, put in one after the other, must be found out: a simulation that stays green with
// one of them proves nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { plantedFaults } from "./planted-faults.ts";
import { plantedPullFaults } from "./planted-pull-faults.ts";
import { drawWeather, type Weather } from "./weather.ts";
import { simulate } from "./world.ts";

for (const { name, rule, plant, weather } of [...plantedFaults, ...plantedPullFaults]) {
  test(`the simulation finds out ${name}`, async () => {
    const found = new Set<string>();
    for (let seed = 1; seed <= 60; seed += 1) {
      const drawn = lighten(drawWeather(seed, "memory"));
      const run = await simulate({ weather: weather?.(drawn) ?? drawn, plant });
      for (const violation of run.violations) found.add(violation.rule);
      if ([...found].some((each) => each.startsWith(rule))) return;
    }
    assert.fail(`not found by "${rule}", only by: ${[...found].join("; ")}`);
  });
}

function lighten(weather: Weather): Weather {
  const publishes = Math.min(weather.publishes, 10);
  const eventsPerPublishMax = Math.min(weather.eventsPerPublishMax, 4);
  return { ...weather, publishes, eventsPerPublishMax };
}
