import assert from "node:assert/strict";
import { test } from "node:test";
import { readNotice, wakeNotice } from "./notices.ts";

test("a notice of queues that are due is read as it was written", () => {
  const due = new Map([
    [1, 1_800_000_000_000],
    [20, 0],
    [3, -5],
    [4, 1.5],
  ]);
  assert.deepEqual(readNotice(wakeNotice(due)), { kind: "wake", due });
});

test("one with other words wakes all queues, and brings no time that is none", () => {
  for (const text of [
    "w",
    "w;",
    "w1",
    "w1:",
    "w1:x",
    "w:1",
    "w1:2;",
    "w1:2;3",
    "w1:NaN",
    "w1:1e9",
  ]) {
    assert.deepEqual(readNotice(text), { kind: "wake", due: null }, text);
  }
  assert.deepEqual(readNotice(`w1:${"9".repeat(400)}`), { kind: "wake", due: null });
  for (const text of ["", "x", "\0"]) assert.equal(readNotice(text), null);
});
