// The same as JavaScript's own map, whatever is done to both.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { NumberMap } from "./number-map.ts";

/** Few different places, so that many share one; and beyond 2^32, as events have them. */
const keys = fc.oneof(
  fc.integer({ min: 1, max: 40 }),
  fc.integer({ min: 0, max: 40 }).map((number) => 5 * 2 ** 32 + number * 8),
);

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("set"), key: keys }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("delete"), key: keys }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("clear"), key: fc.constant(0) }) },
  ),
  { maxLength: 200 },
);

test("what is set is found until it is deleted", () => {
  fc.assert(
    fc.property(steps, (taken) => {
      const map = new NumberMap<number>();
      const model = new Map<number, number>();
      for (const [value, { kind, key }] of taken.entries()) {
        if (kind === "set") {
          map.set(key, value);
          model.set(key, value);
        } else if (kind === "delete") assert.equal(map.delete(key), model.delete(key));
        else {
          map.clear();
          model.clear();
        }
        assert.equal(map.size, model.size);
      }
      const inOrder = [...model].sort(([a], [b]) => a - b);
      assert.deepEqual(
        [...map].sort(([a], [b]) => a - b),
        inOrder,
      );
      assert.deepEqual(
        [...map.keys()].sort((a, b) => a - b),
        inOrder.map(([key]) => key),
      );
      assert.deepEqual(
        [...map.values()].sort((a, b) => a - b),
        inOrder.map(([, value]) => value).sort((a, b) => a - b),
      );
      for (let key = 1; key <= 40; key += 1) {
        assert.equal(map.get(key), model.get(key));
        assert.equal(map.has(key), model.has(key));
      }
    }),
    { numRuns: 500 },
  );
});

test("many come and go beside one that stays", () => {
  const map = new NumberMap<string>();
  const from = 7 * 2 ** 32;
  map.set(from, "stays");
  for (let number = from + 1; number < from + 50_000; number += 1) {
    map.set(number, "goes");
    if (number > from + 100) assert.ok(map.delete(number - 100));
  }
  assert.equal(map.get(from), "stays");
  assert.equal(map.size, 101);
});
