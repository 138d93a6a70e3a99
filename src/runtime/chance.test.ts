import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { realChance, seededChance } from "./chance.ts";

test("the same seed and purpose draw the same number, whatever was drawn before", () => {
  fc.assert(
    fc.property(fc.nat(), fc.string(), fc.array(fc.string()), (seed, purpose, others) => {
      const chance = seededChance(seed);
      for (const other of others) chance.draw(other);
      assert.equal(chance.draw(purpose), seededChance(seed).draw(purpose));
      assert.ok(chance.draw(purpose) >= 0 && chance.draw(purpose) < 1);
    }),
  );
});

test("another seed or another purpose draws another number", () => {
  const draws = new Set<number>();
  for (let seed = 0; seed < 100; seed++) {
    for (let purpose = 0; purpose < 100; purpose++)
      draws.add(seededChance(seed).draw(`${purpose}`));
  }
  assert.equal(draws.size, 10_000);
});

test("draws for purposes that look alike are spread evenly", () => {
  const chance = seededChance(7);
  const bins = new Array<number>(20).fill(0);
  const draws = 20_000;
  let inPairs = 0;
  let before = 0.5;
  for (let count = 0; count < draws; count++) {
    const drawn = chance.draw(`retry ${count}/1`);
    const bin = Math.floor(drawn * bins.length);
    bins[bin] = (bins[bin] ?? 0) + 1;
    inPairs += (drawn - 0.5) * (before - 0.5);
    before = drawn;
  }
  const expected = draws / bins.length;
  const chiSquare = bins.reduce((sum, seen) => sum + (seen - expected) ** 2 / expected, 0);
  // 19 degrees of freedom: one fair source in a thousand exceeds 43.8.
  assert.ok(chiSquare < 43.8, `chi-square is ${chiSquare}`);
  const correlation = (inPairs / draws) * 12;
  assert.ok(Math.abs(correlation) < 0.03, `neighbours correlate by ${correlation}`);
});

test("real chance differs from draw to draw and stays within its bounds", () => {
  const chance = realChance();
  const draws = Array.from({ length: 1_000 }, () => chance.draw("the same"));
  assert.ok(new Set(draws).size > 990);
  assert.ok(draws.every((drawn) => drawn >= 0 && drawn < 1));
});
