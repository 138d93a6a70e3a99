import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Heap } from "./heap.ts";

const least = () => new Heap<number>((one, other) => one < other);

function drain(heap: Heap<number>): number[] {
  const all: number[] = [];
  for (let item = heap.take(); item !== undefined; item = heap.take()) all.push(item);
  return all;
}

test("whatever order things come in, they go in their own", () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), (numbers) => {
      const heap = least();
      for (const number of numbers) heap.add(number);
      assert.equal(heap.size, numbers.length);
      assert.equal(heap.first(), numbers.length === 0 ? undefined : Math.min(...numbers));
      assert.deepEqual(
        drain(heap),
        numbers.toSorted((one, other) => one - other),
      );
    }),
  );
});
