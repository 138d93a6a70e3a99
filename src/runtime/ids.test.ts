import assert from "node:assert/strict";
import { test } from "node:test";
import { realIds, seededIds } from "./ids.ts";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function take(ids: { next(): string }, count: number): string[] {
  return Array.from({ length: count }, () => ids.next());
}

test("every id is a UUID and none comes twice, random or from a seed", () => {
  for (const ids of [realIds(), seededIds(1)]) {
    const taken = take(ids, 2_000);
    for (const id of taken) assert.match(id, uuid);
    assert.equal(new Set(taken).size, taken.length);
  }
});

test("the same seed gives the same sequence of ids, another seed another", () => {
  assert.deepEqual(take(seededIds(3), 50), take(seededIds(3), 50));
  assert.notDeepEqual(take(seededIds(3), 50), take(seededIds(4), 50));
});
