import assert from "node:assert/strict";
import { test } from "node:test";
import { answerAt, checkOrder, returnAt, sawOf } from "./order.ts";

const otherwise = { status: 200, answerMs: 7 };
const outage = [
  { fromMs: 10, untilMs: 20, does: 503 },
  { fromMs: 30, untilMs: null, does: "timeout" },
];

test("a spell lasts from its begin to just before its end", () => {
  const statusAt = (atMs: number) => {
    const { outcome, afterMs } = answerAt(outage, otherwise, atMs);
    return [outcome.kind === "answered" ? outcome.status : outcome.why, afterMs];
  };
  assert.deepEqual(statusAt(9), [200, 7]);
  assert.deepEqual(statusAt(10), [503, 7]);
  assert.deepEqual(statusAt(19), [503, 7]);
  assert.deepEqual(statusAt(20), [200, 7]);
  assert.deepEqual(statusAt(30), ["timeout", null]);
  assert.deepEqual(statusAt(1e12), ["timeout", null]);
});

test("the endpoint is back when its last spell ends, at once without any", () => {
  assert.equal(returnAt([]), 0);
  assert.equal(returnAt(outage.slice(0, 1)), 20);
  assert.equal(returnAt(outage), null);
});

test("what came of a request has the name an outage gives it", () => {
  assert.equal(sawOf({ kind: "answered", status: 503 }), "503");
  for (const does of ["timeout", "refused", "dns", "tls"]) {
    const { outcome } = answerAt([{ fromMs: 0, untilMs: null, does }], otherwise, 0);
    assert.equal(sawOf(outcome), does);
  }
});

test("each number is taken from its least to its most, and no further", () => {
  const order = { profile: "azure", outage: [] };
  const spell = { fromMs: 0, untilMs: 1, does: 500 };
  const table: [string, unknown, unknown][] = [
    ["eventBytes", [1, 1_048_576], [0, 1_048_577]],
    ["backlog", [0, 100_000], [-1, 100_001]],
    ["answerMs", [0, 600_000], [-1, 600_001]],
  ];
  for (const [name, fine, wrong] of table) {
    for (const value of fine as number[]) checkOrder({ ...order, [name]: value });
    for (const value of wrong as number[]) {
      const words = new RegExp(`^${name} must be a whole number from `);
      assert.throws(() => checkOrder({ ...order, [name]: value }), { message: words });
    }
  }
  const spells = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ ...spell, fromMs: at * 2, untilMs: at * 2 + 1 }));
  checkOrder({ ...order, outage: spells(100) });
  assert.throws(() => checkOrder({ ...order, outage: spells(101) }), /at most 100 spells/);
});
