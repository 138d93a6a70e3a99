import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { eventGridFields } from "../../../test/fixtures/event-fields.ts";
import { compileFilter, type Filter, filterForAll } from "./filter.ts";

function matches(
  filter: Partial<Filter>,
  event: { readonly subject?: string; readonly eventType?: string },
): boolean {
  return compileFilter({ ...filterForAll, ...filter })(eventGridFields(event));
}

test("an empty filter matches every event", () => {
  assert.ok(matches({}, {}));
  assert.ok(matches({}, { subject: "", eventType: "" }));
  assert.ok(matches({ includedEventTypes: [] }, {}));
});

test("event types are matched whole and without regard to letter case", () => {
  const filter = { includedEventTypes: ["Created", "Deleted"] };
  assert.ok(matches(filter, { eventType: "Created" }));
  assert.ok(matches(filter, { eventType: "dELETED" }));
  assert.ok(!matches(filter, { eventType: "Create" }));
  assert.ok(!matches(filter, { eventType: "CreatedAnew" }));
});

test("a subject is matched by its beginning and its end, both of them", () => {
  const filter = { subjectBeginsWith: "/blobs/a", subjectEndsWith: ".jpg" };
  assert.ok(matches(filter, {}));
  assert.ok(!matches(filter, { subject: "/blobs/b/photo.jpg" }));
  assert.ok(!matches(filter, { subject: "/blobs/a/photo.png" }));
  assert.ok(matches({ subjectBeginsWith: "/blobs/a" }, { subject: "/blobs/a" }));
  assert.ok(matches({ subjectEndsWith: "abc" }, { subject: "ABC" }));
  assert.ok(!matches({ subjectBeginsWith: "/blobs/*" }, {}), "there are no wildcards");
});

test("letter case counts in a subject only when asked for, and never in a type", () => {
  const filter = { subjectBeginsWith: "/BLOBS", includedEventTypes: ["CREATED"] };
  assert.ok(matches(filter, {}));
  assert.ok(!matches({ ...filter, isSubjectCaseSensitive: true }, {}));
  assert.ok(
    matches(
      { ...filter, isSubjectCaseSensitive: true },
      { subject: "/BLOBS/x", eventType: "cReated" },
    ),
  );
});

test("every part of a filter must agree", () => {
  const filter = { includedEventTypes: ["Created"], subjectEndsWith: ".jpg" };
  assert.ok(matches(filter, {}));
  assert.ok(!matches(filter, { eventType: "Deleted" }));
  assert.ok(!matches(filter, { subject: "photo.png" }));
});

test("a letter whose lower case depends on its neighbours still matches", () => {
  assert.ok(matches({ subjectBeginsWith: "/ΟΔΟΣ" }, { subject: "/οδοσ-1" }));
  assert.ok(matches({ subjectBeginsWith: "/ΟΔΟΣ" }, { subject: "/ΟΔΟΣ1" }));
});

test("a subject matches its own beginning and end in any language and either case rule", () => {
  const parts = fc.string({ unit: "binary", maxLength: 12 });
  fc.assert(
    fc.property(parts, parts, parts, fc.boolean(), (head, middle, tail, isSubjectCaseSensitive) => {
      const filter = { subjectBeginsWith: head, subjectEndsWith: tail, isSubjectCaseSensitive };
      assert.ok(matches(filter, { subject: head + middle + tail }));
    }),
  );
});
