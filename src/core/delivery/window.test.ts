import assert from "node:assert/strict";
import { test } from "node:test";
import { Window } from "./window.ts";

const start = 1_000_000;

test("a queue has in hand two rounds of sends, or some batches", () => {
  const sizes: readonly [sendsMax: number, batchMax: number, size: number][] = [
    [64, 1, 128],
    [8, 1, 32],
    [64, 10, 320],
    [64, 100, 3_200],
    [64, 5_000, 40_000],
  ];
  for (const [sendsMax, batchMax, size] of sizes) {
    assert.equal(new Window({ sendsMax, batchMax }, start).size, size, `${sendsMax}, ${batchMax}`);
  }
});

/** Sends so many a millisecond for a second. */
function servedAt(perMs: number): Window {
  const window = new Window({ sendsMax: 64, batchMax: 1 }, start);
  for (let ms = 1; ms <= 1_000; ms += 1) window.count(perMs, start + ms);
  return window;
}

test("a queue that is served fast has in hand what it sends within a tenth of a second", () => {
  assert.equal(servedAt(1).size, 128);
  assert.equal(servedAt(10).size, 1_000);
  assert.equal(servedAt(100).size, 3_200);
});

test("a queue that was fast and is slow has little in hand again", () => {
  const window = servedAt(10);
  window.count(1, start + 60_000);
  assert.equal(window.size, 128);
});

test("while time stands still, nothing is measured", () => {
  const window = new Window({ sendsMax: 64, batchMax: 1 }, start);
  for (let send = 0; send < 100_000; send += 1) window.count(1, start);
  assert.equal(window.size, 128);
});
