import assert from "node:assert/strict";
import { test } from "node:test";
import { sendRoom } from "./send-share.ts";

test("a quarter is kept for endpoints that answer", () => {
  const max = 100;
  for (const [answers, total, room] of [
    [false, 0, 75],
    [false, 74, 1],
    [false, 75, 0],
    [false, 90, 0],
    [true, 0, 100],
    [true, 90, 10],
    [true, 100, 0],
    [true, 101, 0],
  ] as const) {
    assert.equal(sendRoom({ answers, total, max }), room, `${answers} ${total}`);
  }
});
