import assert from "node:assert/strict";
import { test } from "node:test";
import type { Health } from "../core/delivery/health.ts";
import { VirtualClock } from "../runtime/clock/virtual.ts";
import { HealthMemory } from "./health-memory.ts";

const now = Date.parse("2030-01-01T12:00:00Z");
const unhealthy: Health = { kind: "unhealthy", until: now + 30_000, waitMs: 30_000 };

/** A store whose writes end when they are told to. */
function open() {
  const writes: { readonly key: string; readonly end: (error?: Error) => void }[] = [];
  const clock = new VirtualClock({ startAt: now, patienceMs: 1_000 });
  const memory = new HealthMemory({
    clock,
    log: { fact: () => {} },
    store: {
      notes: () => Promise.resolve([]),
      keepMemo: (_kind, _key, record) => Promise.resolve(record),
      putMemo: (_kind, key) => {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        writes.push({ key, end: (error) => (error === undefined ? resolve() : reject(error)) });
        return promise;
      },
    },
  });
  const keys = () => writes.map(({ key }) => key);
  return { clock, memory, writes, keys };
}

test("what changes while something is written is written together afterwards", async () => {
  const { memory, writes, keys } = open();
  for (const key of ["a", "b", "c", "d"]) memory.put(key, unhealthy);
  assert.deepEqual(keys(), ["a"]);
  writes[0]?.end();
  await untilCount(writes, 4);
  assert.deepEqual(keys(), ["a", "b", "c", "d"]);
  for (const { end } of writes) end();
  await memory.written();
});

test("of what is written together only what failed is written again", async () => {
  const { clock, memory, writes, keys } = open();
  for (const key of ["a", "b", "c"]) memory.put(key, unhealthy);
  writes[0]?.end();
  await untilCount(writes, 3);
  writes[1]?.end(new Error("no room"));
  writes[2]?.end();
  await memory.written();
  await clock.advance({ byMs: 1_000 });
  assert.deepEqual(keys(), ["a", "b", "c", "b"]);
  writes[3]?.end();
  await memory.close();
});

async function untilCount(list: readonly unknown[], count: number): Promise<void> {
  while (list.length < count) await new Promise(setImmediate);
}
