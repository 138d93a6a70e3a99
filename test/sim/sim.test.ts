// The simulation as a test: kept seeds, fresh seeds, a crash at every port call, the same seed
// twice, and broken parts that must be found out. A seed that fails is printed with the way to
// replay it; when it is fixed, it joins seeds.txt.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { plantedFaults } from "./plants.ts";
import {
  drawWeather,
  fairWeather,
  type StoreKind,
  storeKinds,
  tellWeather,
  type Weather,
} from "./weather.ts";
import { type Run, simulate } from "./world.ts";

const freshSeeds = 300;
const seedMax = 2 ** 31;
const dayMs = 24 * 3_600_000;
/** Violations shown of one run; the replay shows them all. */
const violationsShown = 5;

interface KeptSeed {
  readonly seed: number;
  readonly store: StoreKind;
  readonly found: string;
}

/** A line is `seed store date what it found`; lines that begin with # are for people. */
function readKeptSeeds(): readonly KeptSeed[] {
  const lines = readFileSync(new URL("seeds.txt", import.meta.url), "utf8").split("\n");
  return lines.flatMap((line) => {
    if (line === "" || line.startsWith("#")) return [];
    const [seed, name, , ...found] = line.split(" ");
    const store = storeKinds.find((kind) => kind === name);
    assert.ok(store, `seeds.txt names a store: ${line}`);
    return [{ seed: Number(seed), store, found: found.join(" ") }];
  });
}

function assertLawful({ weather, violations }: Run): void {
  if (violations.length === 0) return;
  const shown = violations.slice(0, violationsShown);
  const words = shown.map(({ rule, words }) => `${rule}: ${words}`).join("\n");
  const again = `npm run sim -- --seed ${weather.seed} --store ${weather.store} --verbose`;
  assert.fail(`${violations.length} violations\n${words}\n\n${tellWeather(weather)}\n\n${again}`);
}

const everySight = [
  ...["crash", "stop", "publish refused", "publish lost", "batch", "removed"],
  ...["retried", "delivered", "delivered late", "given up", "dead-lettered", "dropped", "expired"],
  ...["unhealthy", "probing", "recovering", "healthy", "store failed"],
  ...["closed", "paused", "resumed", "draining", "drained", "skipped", "hastened", "halved"],
] as const;

/** What a run had in it. */
function* sights({ book }: Run): Iterable<(typeof everySight)[number]> {
  for (const { ended } of book.lives) if (ended !== null) yield ended.how;
  for (const { answer } of book.publications) {
    if (answer === "refused" || answer === "lost") yield `publish ${answer}`;
  }
  if (book.sends.some(({ deliveries }) => deliveries.length > 1)) yield "batch";
  for (const { name, fields } of book.facts) {
    if (name === "deliveries.dropped" && fields.reason !== "Skipped") yield "removed";
    if (name === "delivery.givenUp") yield "given up";
    if (name === "delivery.dropped") yield "dropped";
    if (fields.reason === "TimeToLiveExceeded") yield "expired";
    if (name === "store.failed") yield "store failed";
    if (name === "subscription.paused") yield "paused";
    if (name === "subscription.resumed") yield "resumed";
    if (name === "subscription.draining") yield "draining";
    if (name === "subscription.drained") yield "drained";
    if (name === "deliveries.hastened" && Number(fields.count) > 0) yield "hastened";
    if (fields.reason === "Skipped" && Number(fields.count) > 0) yield "skipped";
    if (name === "batch.halved") yield "halved";
    if (name === "endpoint.changed") yield fields.to as "unhealthy";
    if (name !== "delivery.attempted") continue;
    if (fields.decision === "retry") yield "retried";
    if (fields.decision !== "delivered") continue;
    if (fields.stage === "deadLetter") yield "dead-lettered";
    else yield fields.late === true ? "delivered late" : "delivered";
  }
}

for (const { seed, store, found } of readKeptSeeds()) {
  test(`kept seed ${seed} on the ${store} store: ${found}`, async () => {
    assertLawful(await simulate({ weather: drawWeather(seed, store) }));
  });
}

test("fresh seeds: safety in every weather, and an end to everything in calm", async (t) => {
  const first = Math.floor(Math.random() * seedMax);
  t.diagnostic(`simulation: ${freshSeeds} fresh seeds from ${first}`);
  const startedAt = performance.now();
  const seen = new Set<string>();
  let simulatedMs = 0;
  for (let count = 0; count < freshSeeds; count += 1) {
    const run = await simulate({ weather: drawWeather((first + count) % seedMax) });
    assertLawful(run);
    for (const each of sights(run)) seen.add(each);
    simulatedMs += run.simulatedMs;
  }
  // So many weathers have had everything in them, or they are too fair to prove anything.
  assert.deepEqual(new Set(everySight).difference(seen), new Set());
  const minutes = (performance.now() - startedAt) / 60_000;
  const perMinute = (amount: number) => Math.round(amount / minutes);
  t.diagnostic(
    `simulation: ${perMinute(freshSeeds)} seeds and ${perMinute(simulatedMs / dayMs)} simulated ` +
      "days per minute",
  );
});

test("the same seed is the same run, byte for byte", async () => {
  for (const store of storeKinds) {
    for (const seed of [11, 12, 13]) {
      const weather = drawWeather(seed, store);
      const once = await simulate({ weather, isTraced: true });
      const again = await simulate({ weather, isTraced: true });
      assert.equal(again.hash, once.hash, `seed ${seed} on the ${store} store`);
      assert.ok(once.book.length > 0);
    }
  }
});

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

for (const store of storeKinds) {
  test(`a crash at any port call loses nothing on the ${store} store (D-1, D-2)`, async (t) => {
    const weather = { ...smallWorld, store };
    const untouched = await simulate({ weather });
    assertLawful(untouched);
    const much = [
      ...["retried", "delivered late", "given up", "dead-lettered", "dropped", "batch"],
      ...["paused", "drained", "halved", "closed"],
    ];
    assert.deepEqual(new Set(much).difference(new Set<string>(sights(untouched))), new Set());
    let crashAt = 0;
    for (let isOver = false; !isOver; ) {
      crashAt += 1;
      const run = await simulate({ weather, crashAt });
      assertLawful(run);
      isOver = run.book.lives.length === 1;
    }
    assert.equal(crashAt, untouched.calls + 1, "there was a crash at each call");
    t.diagnostic(`simulation: ${untouched.calls} crashes, one at each port call, ${store} store`);
  });
}

for (const { name, rule, plant, weather } of plantedFaults) {
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
