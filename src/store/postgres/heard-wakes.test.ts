import assert from "node:assert/strict";
import { test } from "node:test";
import { HandClock } from "../../../test/contract/sink.ts";
import { HeardWakes } from "./heard-wakes.ts";

test("the first wake is passed on at once, and those soon after it together", () => {
  const clock = new HandClock();
  const woken: [number, number][] = [];
  const wakes = new HeardWakes({
    clock,
    spacingMs: () => 10,
    wake: (subscription, at) => void woken.push([subscription, at]),
  });
  wakes.hear(new Map([[1, 100]]));
  assert.deepEqual(woken.splice(0), [[1, 100]]);
  clock.advance(4);
  wakes.hear(new Map([[1, 130]]));
  wakes.hear(
    new Map([
      [1, 120],
      [2, 110],
    ]),
  );
  clock.advance(5);
  assert.deepEqual(woken, []);
  clock.advance(1);
  assert.deepEqual(woken.splice(0), [
    [1, 120],
    [2, 110],
  ]);
  clock.advance(10);
  wakes.hear(new Map([[2, 140]]));
  assert.deepEqual(woken.splice(0), [[2, 140]]);
  wakes.hear(new Map([[2, 150]]));
  wakes.close();
  clock.advance(20);
  assert.deepEqual(woken, []);
});
