import assert from "node:assert/strict";
import { test } from "node:test";
import { HandClock } from "../../../test/contract/sink.ts";
import { Lane } from "./lane.ts";

/** Rounds as they begin; each is under way until it is ended. */
function openLane(spacingMs: number) {
  const clock = new HandClock();
  const rounds: { readonly ops: readonly string[]; end(): void }[] = [];
  const lane = new Lane<string, string>({
    ...{ clock, inFlightMax: 2, gatherMs: 0, weightOf: () => 1, weightMax: 4 },
    spacingMs: () => spacingMs,
    run: (ops) =>
      new Promise((resolve) => rounds.push({ ops, end: () => resolve(ops.map((op) => op)) })),
  });
  const settle = async () => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((go) => setImmediate(go));
  };
  return {
    clock,
    settle,
    begun: () => rounds.map(({ ops }) => ops.join("")),
    end: async (place: number) => {
      rounds[place]?.end();
      await settle();
    },
    async add(...ops: readonly string[]) {
      for (const op of ops) void lane.do(op);
      await settle();
    },
  };
}

test("who comes alone does not wait, and who comes while others are under way waits for more", async () => {
  const { clock, add, begun, settle } = openLane(8);
  await add("a");
  await add("b");
  clock.advance(7);
  await add("c");
  assert.deepEqual(begun(), ["a"]);
  clock.advance(1);
  await settle();
  assert.deepEqual(begun(), ["a", "bc"]);
});

test("after a round with company the next one waits for some, and after a lone one it does not", async () => {
  const { clock, add, begun, end, settle } = openLane(8);
  await add("a", "b");
  await end(0);
  clock.advance(7);
  await add("c");
  assert.deepEqual(begun(), ["ab"], "none is under way, but there may be others soon");
  clock.advance(1);
  await settle();
  assert.deepEqual(begun(), ["ab", "c"]);
  await end(1);
  await add("d");
  await end(2);
  await add("e");
  assert.deepEqual(begun(), ["ab", "c", "d", "e"], "one caller after the other is not held up");
});

test("a full round does not wait", async () => {
  const { add, begun } = openLane(8);
  await add("a");
  await add("b", "c");
  await add("d", "e");
  assert.deepEqual(begun(), ["a", "bcde"]);
});
