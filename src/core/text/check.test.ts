import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../refusal.ts";
import { checkInteger, shapeOf } from "./check.ts";

test("a refused value is told by its shape, and a text is never repeated", () => {
  const table: [unknown, string][] = [
    [undefined, "missing"],
    [null, "null"],
    [31, "the number 31"],
    [-0.5, "the number -0.5"],
    [true, "true"],
    ["", "an empty text"],
    ["secret", "a text of 6 characters"],
    [[1, 2], "an array of 2"],
    [{ key: "secret" }, "an object"],
  ];
  for (const [value, shape] of table) assert.equal(shapeOf(value), shape);
});

test("a whole number in its range is taken, and everything else is refused", () => {
  const range = { min: 2, max: 4 };
  for (const value of [2, 3, 4]) assert.equal(checkInteger(value, "depth", range), value);
  for (const value of [
    1,
    5,
    2.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    "3",
    null,
    undefined,
    [3],
  ]) {
    assert.throws(
      () => checkInteger(value, "depth", range),
      (error) =>
        error instanceof Refusal &&
        error.code === "InvalidSetting" &&
        error.message.startsWith("depth must be a whole number from 2 to 4, and is "),
    );
  }
});
