import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../../core/refusal.ts";
import { advancedFilter, deliveryAttribute } from "./filter-options.ts";

test("filters are read as az reads them, operators in any letter case", () => {
  const table: [string, object][] = [
    [
      "data.a NumberGreaterThan 10",
      { operatorType: "NumberGreaterThan", key: "data.a", value: 10 },
    ],
    ["data.a numberlessthan -2.5", { operatorType: "NumberLessThan", key: "data.a", value: -2.5 }],
    ["data.a NumberIn 1 2", { operatorType: "NumberIn", key: "data.a", values: [1, 2] }],
    [
      "data.a NumberInRange 1,2 3,4.5",
      {
        operatorType: "NumberInRange",
        key: "data.a",
        values: [
          [1, 2],
          [3, 4.5],
        ],
      },
    ],
    ["data.a BoolEquals True", { operatorType: "BoolEquals", key: "data.a", value: true }],
    [
      "subject StringContains a b",
      { operatorType: "StringContains", key: "subject", values: ["a", "b"] },
    ],
    ["data.a IsNotNull", { operatorType: "IsNotNull", key: "data.a" }],
    ["data.a isnullorundefined", { operatorType: "IsNullOrUndefined", key: "data.a" }],
  ];
  for (const [words, filter] of table) {
    assert.deepEqual(advancedFilter(words.split(" ")), filter);
  }
});

test("false is false, in a filter and as the mark of a secret", () => {
  assert.equal(advancedFilter(["data.a", "BoolEquals", "false"]).value, false);
  assert.deepEqual(deliveryAttribute(["x-a", "static", "v", "false"]), {
    name: "x-a",
    type: "Static",
    properties: { value: "v", isSecret: false },
  });
});

test("headers are a text, secret or not, or a place in the event", () => {
  assert.deepEqual(deliveryAttribute(["x-a", "Static", "v", "true"]).properties, {
    value: "v",
    isSecret: true,
  });
  assert.deepEqual(deliveryAttribute(["x-a", "dynamic", "data.key"]), {
    name: "x-a",
    type: "Dynamic",
    properties: { sourceField: "data.key" },
  });
});

test("what is no filter and no header is refused in one line that says what would be", () => {
  const table: [(words: readonly string[]) => unknown, string, RegExp][] = [
    [advancedFilter, "data.a", /must be followed by KEY OPERATOR VALUE…$/],
    [advancedFilter, "data.a NumberGraeterThan 1", /did you mean NumberGreaterThan\?$/],
    [advancedFilter, "data.a NumberIn", /NumberIn must be followed by at least one number$/],
    [advancedFilter, "data.a NumberIn x", /must be followed by at least one number$/],
    [advancedFilter, "data.a NumberLessThan 1 2", /must be followed by one number$/],
    [advancedFilter, "data.a NumberInRange 1", /at least one range such as 5,10$/],
    [advancedFilter, "data.a BoolEquals yes", /BoolEquals must be followed by true or false$/],
    [advancedFilter, "data.a IsNotNull 1", /must be followed by no value$/],
    [
      deliveryAttribute,
      "x-a",
      /must be followed by NAME static VALUE \[true\|false\], or NAME dyn/,
    ],
    [deliveryAttribute, "x-a static", /must be followed by NAME static VALUE \[true\|false\]$/],
    [deliveryAttribute, "x-a static v perhaps", /must be true or false after its value/],
    [deliveryAttribute, "x-a dynamic a b", /must be followed by NAME dynamic PATH$/],
  ];
  for (const [read, words, message] of table) {
    assert.throws(
      () => read(words.split(" ")),
      (error) => error instanceof Refusal && message.test(error.message),
      words,
    );
  }
});
