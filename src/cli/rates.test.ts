import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../core/refusal.ts";
import { rateOf, shareOf } from "./rates.ts";

test("shares and rates are read, and what is none is refused", () => {
  assert.deepEqual([shareOf("10%", "a"), shareOf("0.1", "a"), shareOf("0", "a")], [0.1, 0.1, 0]);
  assert.deepEqual([rateOf("10", "a"), rateOf("0.5", "a")], [10, 0.5]);
  const wrong = [
    () => shareOf("110%", "--drop"),
    () => shareOf("ten", "--drop"),
    () => rateOf("0", "--rate"),
    () => rateOf("-1", "--rate"),
  ];
  for (const run of wrong) assert.throws(run, Refusal);
});
