import assert from "node:assert/strict";
import { test } from "node:test";
import { GuessTable } from "./guess-table.ts";

test("each address is slowed down for itself", async () => {
  const slept: number[] = [];
  const table = new GuessTable(
    () => 0,
    async (ms) => void slept.push(ms),
  );
  for (let count = 0; count < 22; count++) assert.ok(await table.hold("192.0.2.1"));
  assert.ok(await table.hold("192.0.2.2"));
  assert.deepEqual(slept, [100, 200]);
});

test("what is remembered is bounded: the longest quiet are forgotten first", async () => {
  const table = new GuessTable(
    () => 0,
    async () => {},
  );
  for (let count = 0; count < 20; count++) await table.hold("kept");
  for (let index = 0; index < 9_999; index++) await table.hold(`a${index}`);
  assert.equal(table.size, 10_000);
  await table.hold("one more");
  assert.equal(table.size, 10_000);
});

test("what is held back is bounded: beyond it connections end, until some are answered", async () => {
  const ends: (() => void)[] = [];
  const table = new GuessTable(
    () => 0,
    () => new Promise((resolve) => ends.push(resolve)),
  );
  for (let count = 0; count < 20; count++) await table.hold("x");
  const held = Array.from({ length: 1_000 }, () => table.hold("x"));
  assert.equal(await table.hold("x"), false);
  ends[0]?.();
  assert.equal(await held[0], true);
  const next = table.hold("x");
  for (const end of ends) end();
  assert.equal(await next, true);
  await Promise.all(held);
});
