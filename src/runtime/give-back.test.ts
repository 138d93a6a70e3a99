// What a burst took is given back when it is over.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { getHeapStatistics } from "node:v8";
import { giveBackWhenQuiet } from "./give-back.ts";

test("a thread that was busy gives its memory back when it is quiet", async () => {
  const end = giveBackWhenQuiet(20);
  const heapBytes = () => getHeapStatistics().total_heap_size;
  let kept: object[] | null = [];
  const before = heapBytes();
  // In turns of the event loop, because its time is what is looked at.
  while (heapBytes() < before + 100_000_000) {
    for (let index = 0; index < 50_000; index += 1) kept.push({ index, text: `${index}` });
    await setTimeout(1);
  }
  assert.ok(kept.length > 0);
  kept = null;
  while (heapBytes() > before + 50_000_000) await setTimeout(20);
  end();
});
