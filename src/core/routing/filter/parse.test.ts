import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Refusal } from "../../refusal.ts";
import { type AdvancedFilter, type Filter, filterForAll } from "../filter.ts";
import { operators, operatorTypes } from "./operator.ts";
import { parseFilter } from "./parse.ts";
import { renderFilter } from "./render.ts";

function refused(json: unknown): string {
  try {
    parseFilter(json, "filter");
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    assert.equal(error.code, "InvalidSetting");
    return error.message;
  }
  assert.fail(`it was accepted: ${JSON.stringify(json)}`);
}

/** One advanced filter. */
function advanced(filter: Record<string, unknown>): object {
  return { advancedFilters: [{ key: "data.k", ...filter }] };
}

test("a filter is read in Event Grid's own property names", () => {
  const json = {
    subjectBeginsWith: "a",
    subjectEndsWith: "z",
    isSubjectCaseSensitive: true,
    includedEventTypes: ["T.A"],
    enableAdvancedFilteringOnArrays: true,
    advancedFilters: [
      { operatorType: "NumberIn", key: "data.n", values: [1, 2.0] },
      { operatorType: "numberinrange", key: "data.r", values: [[1, 2]] },
      { operatorType: "NumberGreaterThanOrEquals", key: "data.key1", value: 5 },
      { operatorType: "BoolEquals", key: "data.b", value: true, values: null },
      { operatorType: "STRINGCONTAINS", key: "Subject", values: ["container1", ""] },
      { operatorType: "IsNullOrUndefined", key: "data.q", value: null },
    ],
  };
  assert.deepEqual(parseFilter(json, "filter"), {
    subjectBeginsWith: "a",
    subjectEndsWith: "z",
    isSubjectCaseSensitive: true,
    includedEventTypes: ["T.A"],
    onArrays: true,
    advanced: [
      { operatorType: "NumberIn", key: "data.n", values: [1, 2] },
      { operatorType: "NumberInRange", key: "data.r", values: [[1, 2]] },
      { operatorType: "NumberGreaterThanOrEquals", key: "data.key1", value: 5 },
      { operatorType: "BoolEquals", key: "data.b", value: true },
      { operatorType: "StringContains", key: "Subject", values: ["container1", ""] },
      { operatorType: "IsNullOrUndefined", key: "data.q" },
    ],
  } satisfies Filter);
});

test("what is left out, null, empty or a lone All asks for nothing", () => {
  const nulls = {
    subjectBeginsWith: null,
    subjectEndsWith: null,
    isSubjectCaseSensitive: null,
    includedEventTypes: null,
    enableAdvancedFilteringOnArrays: null,
    advancedFilters: null,
  };
  const empty = { subjectBeginsWith: "", includedEventTypes: [], advancedFilters: [] };
  const all = ["All", "all"].map((word) => ({ includedEventTypes: [word] }));
  for (const json of [undefined, null, {}, nulls, empty, ...all]) {
    assert.deepEqual(parseFilter(json, "filter"), filterForAll);
  }
  const two = { includedEventTypes: ["All", "Created"] };
  assert.deepEqual(parseFilter(two, "filter").includedEventTypes, ["All", "Created"]);
});

test("a bad member is refused by its path, with what was found and what is allowed", () => {
  const at = "filter.advancedFilters[0]";
  const table: [unknown, string | RegExp][] = [
    [[], "filter must be an object, and is an array of 0"],
    ["x", 'filter must be an object, and is "x"'],
    [
      { subjectBeginWith: "" },
      'there is no member "subjectBeginWith" in filter; did you mean subjectBeginsWith?',
    ],
    [JSON.parse('{"__proto__":{}}'), /^there is no member "__proto__" in filter; known are/],
    [
      { subjectEndsWith: 5 },
      "filter.subjectEndsWith must be a text of at most 512 characters, and is the number 5",
    ],
    [{ subjectBeginsWith: "x".repeat(513) }, /^filter\.subjectBeginsWith must be .*513 characters/],
    [
      { isSubjectCaseSensitive: "yes" },
      'filter.isSubjectCaseSensitive must be true or false, and is "yes"',
    ],
    [
      { enableAdvancedFilteringOnArrays: 1 },
      "filter.enableAdvancedFilteringOnArrays must be true or false, and is the number 1",
    ],
    [
      { includedEventTypes: "Created" },
      'filter.includedEventTypes must be a list of at most 1000 event types, and is "Created"',
    ],
    [{ includedEventTypes: Array(1001).fill("a") }, /must be a list of at most 1000 event types/],
    [
      { includedEventTypes: ["a", ""] },
      "filter.includedEventTypes[1] must be an event type of at most 512 characters, " +
        "and is an empty text",
    ],
    [{ advancedFilters: {} }, /^filter\.advancedFilters must be a list of at most 25 filters/],
    [{ advancedFilters: [null] }, `${at} must be an object, and is null`],
    [advanced({}), /^filter\.advancedFilters\[0\]\.operatorType must be NumberIn, .*is missing$/],
    [
      advanced({ operatorType: "StringIs", values: ["a"] }),
      `${at}.operatorType must be an operator such as StringIn, and is "StringIs"`,
    ],
    [
      advanced({ operatorType: "toString", values: ["a"] }),
      /^filter\.advancedFilters\[0\]\.operatorType must be NumberIn, .* and is "toString"$/,
    ],
    [
      advanced({ operatorType: "StringIn", vlaues: ["a"] }),
      `there is no member "vlaues" in ${at}; did you mean values?`,
    ],
    [
      advanced({ operatorType: "StringIn", value: "a" }),
      `there is no member "value" in ${at}; did you mean values?`,
    ],
    [
      advanced({ operatorType: "NumberLessThan", values: [1] }),
      `there is no member "values" in ${at}; did you mean value?`,
    ],
    [
      advanced({ operatorType: "IsNotNull", values: ["a"] }),
      `there is no member "values" in ${at}; known are operatorType, key`,
    ],
    [
      advanced({ operatorType: "IsNotNull", key: "" }),
      `${at}.key must be a key such as Subject or data.color, of at most 512 characters, ` +
        "and is an empty text",
    ],
    [advanced({ operatorType: "IsNotNull", key: null }), /\.key must be a key .*and is null$/],
    [advanced({ operatorType: "IsNotNull", key: "k".repeat(513) }), /\.key must be a key such as/],
    [
      advanced({ operatorType: "NumberLessThan" }),
      `${at}.value must be a finite number, and is missing`,
    ],
    [
      advanced({ operatorType: "NumberLessThan", value: "5" }),
      `${at}.value must be a finite number, and is "5"`,
    ],
    [
      advanced({ operatorType: "NumberIn", values: JSON.parse("[1,1e999]") }),
      `${at}.values[1] must be a finite number, and is the number Infinity`,
    ],
    [
      advanced({ operatorType: "NumberIn", values: [] }),
      `${at}.values must be a list of 1 to 25 numbers, and is an array of 0`,
    ],
    [advanced({ operatorType: "StringIn", values: null }), /must be a list of 1 to 25 texts, and/],
    [
      advanced({ operatorType: "StringIn", values: ["a", 5] }),
      `${at}.values[1] must be a text of at most 512 characters, and is the number 5`,
    ],
    [
      advanced({ operatorType: "BoolEquals", value: "true" }),
      `${at}.value must be true or false, and is "true"`,
    ],
    [
      advanced({ operatorType: "NumberInRange", values: [1, 2] }),
      `${at}.values[0] must be a list of two numbers, the lower one first, and is the number 1`,
    ],
    [
      advanced({ operatorType: "NumberInRange", values: [[2, 1]] }),
      `${at}.values[0] must be a list of two numbers, the lower one first, and is 2, 1`,
    ],
    [
      advanced({ operatorType: "NumberInRange", values: [[1, "2"]] }),
      `${at}.values[0][1] must be a finite number, and is "2"`,
    ],
  ];
  for (const [json, words] of table) {
    const message = refused(json);
    if (typeof words === "string") assert.equal(message, words);
    else assert.match(message, words);
  }
});

test("25 advanced filters, 25 values in all and 512 characters are allowed, and no more", () => {
  const filters = (count: number, values: readonly string[] | null) =>
    Array.from({ length: count }, () => ({
      operatorType: values === null ? "IsNotNull" : "StringIn",
      key: "data.k",
      ...(values !== null && { values }),
    }));
  const read = (advancedFilters: object[]) => parseFilter({ advancedFilters }, "filter");
  assert.equal(read(filters(25, ["x".repeat(512)])).advanced.length, 25);
  assert.equal(read(filters(25, null)).advanced.length, 25);
  assert.equal(read(filters(1, Array(25).fill("x"))).advanced.length, 1);
  assert.equal(
    refused({ advancedFilters: filters(26, null) }),
    "filter.advancedFilters must be a list of at most 25 filters, and is an array of 26",
  );
  assert.equal(
    refused({ advancedFilters: filters(13, ["a", "b"]) }),
    "filter.advancedFilters must have at most 25 values over all its filters, and has 26",
  );
  assert.match(
    refused({ advancedFilters: filters(1, Array(26).fill("x")) }),
    /\.values must be a list of 1 to 25 texts, and is an array of 26$/,
  );
  assert.match(
    refused({ advancedFilters: filters(1, ["x".repeat(513)]) }),
    /\.values\[0\] must be a text of at most 512 characters, and is .*513 characters\)$/,
  );
});

test("a filter is shown as the service shows it", () => {
  assert.deepEqual(renderFilter(filterForAll), { subjectBeginsWith: "", subjectEndsWith: "" });
  const shown = {
    subjectBeginsWith: "/a",
    subjectEndsWith: "",
    includedEventTypes: ["Created"],
    isSubjectCaseSensitive: true,
    enableAdvancedFilteringOnArrays: true,
    advancedFilters: [
      { operatorType: "NumberIn", key: "data.n", values: [1, 2.5] },
      { operatorType: "IsNotNull", key: "Subject" },
    ],
  };
  assert.deepEqual(renderFilter(parseFilter(shown, "filter")), shown);
});

/** As JSON.parse makes them. */
function plainRecord<T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>;
}

/** Any filter that keeps to the limits. */
const anyFilter: fc.Arbitrary<Filter> = plainRecord({
  includedEventTypes: fc.option(
    fc.array(
      fc.string({ minLength: 1 }).filter((type) => type.toLowerCase() !== "all"),
      { minLength: 1, maxLength: 4 },
    ),
  ),
  subjectBeginsWith: fc.string(),
  subjectEndsWith: fc.string(),
  isSubjectCaseSensitive: fc.boolean(),
  onArrays: fc.boolean(),
  advanced: fc.array(fc.constantFrom(...operatorTypes).chain(anyAdvanced), { maxLength: 6 }),
});

function anyAdvanced(operatorType: (typeof operatorTypes)[number]): fc.Arbitrary<AdvancedFilter> {
  const number = fc.double({ noNaN: true, noDefaultInfinity: true });
  const list = <T>(each: fc.Arbitrary<T>) => fc.array(each, { minLength: 1, maxLength: 4 });
  const range = fc.tuple(number, number).map(([one, other]) => [one, other].sort((a, b) => a - b));
  const operands = {
    number: { value: number },
    numbers: { values: list(number) },
    ranges: { values: list(range) },
    boolean: { value: fc.boolean() },
    texts: { values: list(fc.string({ unit: "binary" })) },
    none: {},
  };
  const key = fc.string({ minLength: 1 });
  return plainRecord({
    operatorType: fc.constant(operatorType),
    key,
    ...operands[operators[operatorType].operand],
  }) as fc.Arbitrary<AdvancedFilter>;
}

test("what is shown and read back is the same filter", () => {
  fc.assert(
    fc.property(anyFilter, (filter) => {
      assert.deepEqual(parseFilter(renderFilter(filter), "filter"), filter);
    }),
  );
});

test("whatever is given, it is read or refused, and what is read can be shown", () => {
  const word = fc.constantFrom("operatorType", "key", "values", "value", "__proto__", "x");
  const loose = fc.oneof(
    fc.jsonValue(),
    fc.record({ advancedFilters: fc.array(fc.dictionary(word, fc.jsonValue())) }),
    fc.record({
      advancedFilters: fc.array(
        fc.record({
          operatorType: fc.constantFrom(...operatorTypes),
          key: fc.jsonValue(),
          values: fc.jsonValue(),
        }),
      ),
    }),
  );
  fc.assert(
    fc.property(loose, (json) => {
      try {
        const filter = parseFilter(json, "filter");
        assert.deepEqual(parseFilter(renderFilter(filter), "filter"), filter);
      } catch (error) {
        assert.ok(error instanceof Refusal, String(error));
      }
    }),
  );
});
