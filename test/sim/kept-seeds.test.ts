// Seeds that once found something, and that the same seed is the same run. A fresh seed that fails
// joins seeds.txt in the commit that mends what it found.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { assertLawful } from "./verdict.ts";
import { drawWeather, type StoreKind, storeKinds } from "./weather.ts";
import { simulate } from "./world.ts";

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

for (const { seed, store, found } of readKeptSeeds()) {
  test(`kept seed ${seed} on the ${store} store: ${found}`, async () => {
    const weather = drawWeather(seed, store);
    assertLawful(await simulate({ weather }));
    // One that was found before there were receivers was found without them.
    if (weather.visits > 0) assertLawful(await simulate({ weather: { ...weather, visits: 0 } }));
  });
}

test("the same seed is the same run, byte for byte", async () => {
  for (const store of storeKinds) {
    for (const [visits, seed] of [11, 12, 13].entries()) {
      const weather = { ...drawWeather(seed, store), visits: 10 * visits };
      const once = await simulate({ weather, isTraced: true });
      const again = await simulate({ weather, isTraced: true });
      assert.equal(again.hash, once.hash, `seed ${seed} on the ${store} store`);
      assert.ok(once.journal.length > 0);
    }
  }
});
