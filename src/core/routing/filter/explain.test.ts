import assert from "node:assert/strict";
import { test } from "node:test";
import { cloudEventFields, eventGridFields } from "../../../../test/fixtures/event-fields.ts";
import { type AdvancedFilter, type Filter, filterForAll } from "../filter.ts";
import { explainFilter } from "./explain.ts";

function explain(filter: Partial<Filter>, data: unknown = {}) {
  return explainFilter({ ...filterForAll, ...filter }, eventGridFields({ data }));
}

test("a filter that asks for nothing matches without a clause", () => {
  assert.deepEqual(explain({}), { matches: true, clauses: [] });
});

test("every clause says whether it holds and what it found", () => {
  const { matches, clauses } = explain(
    {
      includedEventTypes: ["Created", "Deleted"],
      subjectBeginsWith: "/BLOBS",
      subjectEndsWith: ".jpg",
      isSubjectCaseSensitive: true,
      advanced: [
        { operatorType: "StringIn", key: "data.color", values: ["red", "blue"] },
        { operatorType: "NumberInRange", key: "data.size", values: [[1, 5]] },
        { operatorType: "IsNotNull", key: "data.owner" },
      ],
    },
    { color: "green", size: 3 },
  );
  assert.equal(matches, false);
  assert.deepEqual(clauses, [
    {
      clause: "includedEventTypes Created, Deleted",
      holds: true,
      because: 'eventType is "Created"',
    },
    {
      clause: "subjectBeginsWith /BLOBS (letter case counts)",
      holds: false,
      because: 'subject is "/blobs/a/photo.jpg"',
    },
    {
      clause: "subjectEndsWith .jpg (letter case counts)",
      holds: true,
      because: 'subject is "/blobs/a/photo.jpg"',
    },
    {
      clause: "data.color StringIn red, blue",
      holds: false,
      because: 'data.color is "green"',
    },
    {
      clause: "data.size NumberInRange 1 to 5",
      holds: true,
      because: "data.size is the number 3",
    },
    {
      clause: "data.owner IsNotNull",
      holds: false,
      because: "data.owner is missing",
    },
  ]);
});

test("why something was not even compared is said", () => {
  const number: AdvancedFilter = { operatorType: "NumberNotIn", key: "data.k", values: [1] };
  const found = (k: unknown, onArrays = false, advanced: AdvancedFilter = number) =>
    explain({ advanced: [advanced], onArrays }, { k }).clauses[0]?.because;
  assert.equal(found("5"), 'data.k is "5", which is not a number');
  assert.equal(found(null), "data.k is null");
  assert.equal(found({}), "data.k is an object, which cannot be compared");
  assert.equal(found([{}], true), "data.k is an array of objects, which cannot be compared");
  assert.equal(
    found([1, 2]),
    "data.k is an array of 2, and enableAdvancedFilteringOnArrays is off",
  );
  assert.equal(
    found([1, "b", null, true], true),
    'data.k is an array of 4 (the number 1, "b", null, …)',
  );
  assert.equal(found([], true), "data.k is an array of 0");
  const bool: AdvancedFilter = { operatorType: "BoolEquals", key: "data.k", value: true };
  assert.equal(found("true", false, bool), 'data.k is "true", which is not true or false');
  assert.equal(found(true, false, bool), "data.k is true");
  const text: AdvancedFilter = { operatorType: "StringNotIn", key: "data.k", values: [""] };
  assert.equal(found(5, false, text), "data.k is the number 5, which is not a text");
  const empty = explain({ advanced: [text] }, { k: 5 }).clauses[0]?.clause;
  assert.equal(empty, 'data.k StringNotIn ""');
});

test("an extension that counts as text is not called anything else", () => {
  const advanced: AdvancedFilter[] = [{ operatorType: "StringIn", key: "level", values: ["5"] }];
  const fields = cloudEventFields({ level: 5 });
  assert.deepEqual(explainFilter({ ...filterForAll, advanced }, fields), {
    matches: true,
    clauses: [{ clause: "level StringIn 5", holds: true, because: "level is the number 5" }],
  });
});

test("long lists and long texts are cut to a line", () => {
  const types = Array.from({ length: 1000 }, (_, index) => `${"type".repeat(100)}${index}`);
  const { clauses } = explain(
    {
      includedEventTypes: types,
      advanced: [{ operatorType: "IsNotNull", key: "data.k" }],
    },
    { k: "x".repeat(10_000) },
  );
  assert.match(clauses[0]?.clause ?? "", /^includedEventTypes (type)+…, .*… and 992 more$/);
  for (const { clause, because } of clauses) {
    assert.ok(clause.length < 600, clause);
    assert.ok(because.length < 120, because);
  }
});
