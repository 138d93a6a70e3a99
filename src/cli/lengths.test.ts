import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../core/refusal.ts";
import { lengthOf, rateOf, shareOf } from "./lengths.ts";

test("lengths are read as people write them, and as ISO 8601", () => {
  const table: [string, number][] = [
    ["0", 0],
    ["500ms", 500],
    ["45s", 45_000],
    ["1.5s", 1_500],
    ["10m", 600_000],
    ["10min", 600_000],
    ["2h30m", 9_000_000],
    ["1d", 86_400_000],
    ["PT2H", 7_200_000],
  ];
  for (const [text, ms] of table) assert.equal(lengthOf(text, "--for"), ms, text);
});

test("shares and rates are read, and what is none is refused", () => {
  assert.deepEqual([shareOf("10%", "a"), shareOf("0.1", "a"), shareOf("0", "a")], [0.1, 0.1, 0]);
  assert.deepEqual([rateOf("10", "a"), rateOf("0.5", "a")], [10, 0.5]);
  const wrong = [
    () => lengthOf("5", "--for"),
    () => lengthOf("5 s", "--for"),
    () => lengthOf("", "--for"),
    () => lengthOf("PTX", "--for"),
    () => shareOf("110%", "--drop"),
    () => shareOf("ten", "--drop"),
    () => rateOf("0", "--rate"),
    () => rateOf("-1", "--rate"),
  ];
  for (const run of wrong) assert.throws(run, Refusal);
});
