import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventGridFields } from "../../../../test/fixtures/event-fields.ts";
import { type AdvancedFilter, compileFilter, filterForAll, type OperatorType } from "../filter.ts";
import { operatorTypes } from "./operator.ts";

/** Without it, the key is missing. */
type Given = { readonly k?: unknown };

function holds(filter: AdvancedFilter, data: Given, { onArrays = false } = {}): boolean {
  const matches = compileFilter({ ...filterForAll, advanced: [filter], onArrays });
  return matches(eventGridFields({ data }));
}

interface Table {
  readonly filter: AdvancedFilter;
  readonly yes: readonly Given[];
  readonly no: readonly Given[];
  /** With the switch for arrays; without it all of them fail. */
  readonly arraysYes: readonly unknown[][];
  readonly arraysNo: readonly unknown[][];
}

const key = "data.k";
const nothings: readonly Given[] = [{}, { k: null }];
/** Present, comparable, and of a type that is not compared here. */
const texts: readonly Given[] = [{ k: "" }, { k: "5" }, { k: "true" }];
const numbers: readonly Given[] = [{ k: 0 }, { k: 5 }];
const truths: readonly Given[] = [{ k: true }, { k: false }];
const ofObjects = [{ a: 5 }, { a: "red" }];

/** The rows of the documentation, and what it says of missing keys, arrays and types. */
const tables: readonly Table[] = [
  {
    filter: { operatorType: "NumberIn", key, values: [5, -1.5] },
    yes: [{ k: 5 }, { k: 5.0 }, { k: -1.5 }],
    no: [...nothings, { k: 4 }, ...texts, ...truths],
    arraysYes: [
      [1, 5],
      ["x", 5],
      [null, -1.5],
    ],
    arraysNo: [[], [1, 2], ["5"], [[5]], [null]],
  },
  {
    filter: { operatorType: "NumberNotIn", key, values: [5, 0] },
    yes: [...nothings, { k: 4 }, ...texts, ...truths],
    no: [{ k: 5 }, { k: 0 }, { k: -0 }],
    arraysYes: [[], [1, 2], ["5"], [null]],
    arraysNo: [
      [1, 5],
      ["x", 0],
      [{ a: 1 }, 5],
    ],
  },
  {
    filter: { operatorType: "NumberLessThan", key, value: 5 },
    yes: [{ k: 4.9 }, { k: -1e300 }],
    no: [...nothings, { k: 5 }, { k: 6 }, ...texts, ...truths],
    arraysYes: [[9, 4]],
    arraysNo: [[], [5, 6], ["4"]],
  },
  {
    filter: { operatorType: "NumberLessThanOrEquals", key, value: 5 },
    yes: [{ k: 5 }, { k: 4 }],
    no: [...nothings, { k: 5.1 }, ...texts, ...truths],
    arraysYes: [[9, 5]],
    arraysNo: [[], [6], ["4"]],
  },
  {
    filter: { operatorType: "NumberGreaterThan", key, value: 5 },
    yes: [{ k: 5.1 }, { k: 1e300 }],
    no: [...nothings, { k: 5 }, { k: 4 }, ...texts, ...truths],
    arraysYes: [[1, 6]],
    arraysNo: [[], [5], ["6"]],
  },
  {
    filter: { operatorType: "NumberGreaterThanOrEquals", key, value: 5 },
    yes: [{ k: 5 }, { k: 6 }],
    no: [...nothings, { k: 4.9 }, ...texts, ...truths],
    arraysYes: [[1, 5]],
    arraysNo: [[], [4], ["6"]],
  },
  {
    filter: {
      operatorType: "NumberInRange",
      key,
      values: [
        [3.14, 999.95],
        [3000, 4000],
      ],
    },
    yes: [{ k: 3.14 }, { k: 999.95 }, { k: 5 }, { k: 3500 }],
    no: [...nothings, { k: 3 }, { k: 1000 }, { k: 4001 }, ...texts, ...truths],
    arraysYes: [[1, 3000]],
    arraysNo: [[], [1, 2000], ["5"]],
  },
  {
    filter: {
      operatorType: "NumberNotInRange",
      key,
      values: [
        [3.14, 999.95],
        [3000, 4000],
      ],
    },
    yes: [...nothings, { k: 3 }, { k: 1000 }, ...texts, ...truths],
    no: [{ k: 3.14 }, { k: 999.95 }, { k: 3500 }],
    arraysYes: [[], [1, 2000], ["5"]],
    arraysNo: [[1, 5]],
  },
  {
    filter: { operatorType: "BoolEquals", key, value: true },
    yes: [{ k: true }],
    no: [...nothings, { k: false }, ...texts, ...numbers, { k: 1 }],
    arraysYes: [[false, true]],
    arraysNo: [[], [false], ["true", 1]],
  },
  {
    filter: { operatorType: "BoolEquals", key, value: false },
    yes: [{ k: false }],
    no: [...nothings, { k: true }, ...texts, ...numbers],
    arraysYes: [[false, true]],
    arraysNo: [[], [true], ["", 0, null]],
  },
  {
    filter: { operatorType: "StringIn", key, values: ["Red", "grün"] },
    yes: [{ k: "red" }, { k: "RED" }, { k: "GRÜN" }],
    no: [...nothings, { k: "redder" }, { k: "re" }, { k: "" }, ...numbers, ...truths],
    arraysYes: [["x", "rED"]],
    arraysNo: [[], ["x"], [["red"]]],
  },
  {
    filter: { operatorType: "StringNotIn", key, values: ["Red", "5"] },
    yes: [...nothings, { k: "redder" }, { k: "" }, ...numbers, ...truths],
    no: [{ k: "red" }, { k: "RED" }, { k: "5" }],
    arraysYes: [[], ["x"], [5], [null]],
    arraysNo: [
      ["x", "rED"],
      [{}, "red"],
    ],
  },
  {
    filter: { operatorType: "StringContains", key, values: ["MAN", "x"] },
    yes: [{ k: "Germany" }, { k: "man" }, { k: "axe" }],
    no: [...nothings, { k: "ma" }, { k: "" }, ...numbers, ...truths],
    arraysYes: [["a", "human"]],
    arraysNo: [[], ["m", "an"]],
  },
  {
    filter: { operatorType: "StringNotContains", key, values: ["MAN", "x"] },
    yes: [{ k: "ma" }, { k: "" }, ...numbers, ...truths],
    no: [...nothings, { k: "Germany" }, { k: "axe" }],
    arraysYes: [[], ["m", "an"], [7]],
    arraysNo: [["a", "human"]],
  },
  {
    filter: { operatorType: "StringBeginsWith", key, values: ["event", "Log"] },
    yes: [{ k: "EventHub" }, { k: "log" }],
    no: [...nothings, { k: "an event" }, { k: "lo" }, ...numbers, ...truths],
    arraysYes: [["a", "events"]],
    arraysNo: [[], ["my log"]],
  },
  {
    filter: { operatorType: "StringNotBeginsWith", key, values: ["event", "Log"] },
    yes: [{ k: "an event" }, { k: "lo" }, ...numbers, ...truths],
    no: [...nothings, { k: "EventHub" }, { k: "LOG" }],
    arraysYes: [[], ["my log"], [7]],
    arraysNo: [["a", "events"]],
  },
  {
    filter: { operatorType: "StringEndsWith", key, values: [".jpg", "PNG"] },
    yes: [{ k: "a.JPG" }, { k: "png" }],
    no: [...nothings, { k: "a.jpg.zip" }, { k: "" }, ...numbers, ...truths],
    arraysYes: [["a", "b.jpg"]],
    arraysNo: [[], ["jpg"]],
  },
  {
    filter: { operatorType: "StringNotEndsWith", key, values: [".jpg", "PNG"] },
    yes: [{ k: "a.jpg.zip" }, { k: "" }, ...numbers, ...truths],
    no: [...nothings, { k: "a.JPG" }, { k: "png" }],
    arraysYes: [[], ["jpg"], [7]],
    arraysNo: [["a", "b.jpg"]],
  },
];

describe("each operator decides as the documentation says", () => {
  for (const { filter, yes, no, arraysYes, arraysNo } of tables) {
    const value = "value" in filter ? ` ${filter.value}` : "";
    test(`${filter.operatorType}${value}`, () => {
      const expect = (expected: boolean, given: Given, onArrays: boolean) =>
        assert.equal(
          holds(filter, given, { onArrays }),
          expected,
          `${JSON.stringify(given)}, arrays ${onArrays ? "on" : "off"}`,
        );
      for (const onArrays of [false, true]) {
        for (const given of yes) expect(true, given, onArrays);
        for (const given of no) expect(false, given, onArrays);
        expect(false, { k: { a: 5 } }, onArrays);
        expect(false, { k: ofObjects }, onArrays);
      }
      for (const k of arraysYes) expect(true, { k }, true);
      for (const k of arraysNo) expect(false, { k }, true);
      for (const k of [...arraysYes, ...arraysNo]) expect(false, { k }, false);
    });
  }

  test("IsNullOrUndefined and IsNotNull", () => {
    const there = [...texts, ...numbers, ...truths, { k: {} }, { k: [] }, { k: [null] }];
    for (const onArrays of [false, true]) {
      for (const given of [...nothings, ...there]) {
        const isThere = there.includes(given);
        const said = JSON.stringify(given);
        const missing = holds({ operatorType: "IsNullOrUndefined", key }, given, { onArrays });
        const present = holds({ operatorType: "IsNotNull", key }, given, { onArrays });
        assert.equal(missing, !isThere, said);
        assert.equal(present, isThere, said);
      }
    }
  });

  test("no operator is left out of these tables", () => {
    const told: OperatorType[] = ["IsNullOrUndefined", "IsNotNull"];
    for (const { filter } of tables) told.push(filter.operatorType);
    assert.deepEqual(new Set(told), new Set(operatorTypes));
  });
});

test("advanced filters, types and the subject must all agree, also two on one key", () => {
  const matches = compileFilter({
    ...filterForAll,
    includedEventTypes: ["created"],
    subjectEndsWith: ".jpg",
    advanced: [
      { operatorType: "NumberGreaterThan", key: "data.size", value: 10 },
      { operatorType: "NumberLessThan", key: "data.size", value: 20 },
    ],
  });
  const data = { size: 15 };
  assert.ok(matches(eventGridFields({ data })));
  assert.ok(!matches(eventGridFields({ data: { size: 25 } })));
  assert.ok(!matches(eventGridFields({ data: { size: 5 } })));
  assert.ok(!matches(eventGridFields({ data, eventType: "Deleted" })));
  assert.ok(!matches(eventGridFields({ data, subject: "photo.png" })));
});

test("the switch for the subject's letter case does not concern advanced filters", () => {
  const matches = compileFilter({
    ...filterForAll,
    isSubjectCaseSensitive: true,
    advanced: [{ operatorType: "StringBeginsWith", key: "Subject", values: ["/BLOBS"] }],
  });
  assert.ok(matches(eventGridFields()));
});
