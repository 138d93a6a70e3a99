import assert from "node:assert/strict";
import { test } from "node:test";
import {
  cloudEventFields,
  customFields,
  eventGridFields,
} from "../../../../test/fixtures/event-fields.ts";
import type { EventFields } from "../../event.ts";
import { compileFilter, filterForAll } from "../filter.ts";
import { openEventValues, parseKey } from "./event-values.ts";

function find(fields: EventFields, key: string): unknown {
  return openEventValues(fields).find(parseKey(key)).value;
}

function isIn(fields: EventFields, key: string, ...values: string[]): boolean {
  const advanced = [{ operatorType: "StringIn" as const, key, values }];
  return compileFilter({ ...filterForAll, advanced })(fields);
}

test("the names of the Event Grid envelope are keys in any letter case", () => {
  const fields = eventGridFields();
  const table: [string, unknown][] = [
    ["Id", "1807"],
    ["ID", "1807"],
    ["Topic", fields.topic],
    ["Subject", "/blobs/a/photo.jpg"],
    ["subject", "/blobs/a/photo.jpg"],
    ["EventType", "Created"],
    ["eventtype", "Created"],
    ["DataVersion", "1.0"],
  ];
  for (const [key, value] of table) assert.equal(find(fields, key), value, key);
  for (const key of ["EventTime", "type", "source", "Subject.x", "", ".", "x.data"]) {
    assert.equal(find(fields, key), undefined, key);
  }
});

test("below data the letters of a key count, and a path may be long", () => {
  const fields = eventGridFields({ data: { Color: "red", a: { b: { c: [1] } }, "": 7 } });
  assert.equal(find(fields, "data.Color"), "red");
  assert.equal(find(fields, "DATA.Color"), "red");
  assert.equal(find(fields, "Data.color"), undefined);
  assert.deepEqual(find(fields, "data.a.b.c"), [1]);
  assert.equal(find(fields, "data.a.B.c"), undefined);
  assert.equal(find(fields, "data.Color.length"), undefined);
  assert.equal(find(fields, "data.a.b.c.0"), undefined, "places in arrays are no members");
  assert.equal(find(fields, "data.a.b.c.length"), undefined);
  assert.equal(find(fields, "data."), 7);
});

test("data that is no object has no members", () => {
  for (const data of [undefined, null, "text", 5, true, [{ a: 1 }]]) {
    assert.equal(find(eventGridFields({ data }), "data.a"), undefined);
  }
  assert.equal(find(eventGridFields({ data: "text" }), "data"), "text");
  assert.equal(find(eventGridFields(), "data.a"), undefined);
});

test("attributes and extensions of a CloudEvent are keys in any letter case", () => {
  const fields = cloudEventFields({ subject: "s", comexample: "x", data: { a: 1 } });
  const table: [string, unknown][] = [
    ["id", "A1"],
    ["Source", "/shop/eu"],
    ["TYPE", "order.placed"],
    ["specVersion", "1.0"],
    ["Subject", "s"],
    ["comExample", "x"],
    ["data.a", 1],
    ["eventId", "A1"],
    ["eventType", "order.placed"],
  ];
  for (const [key, value] of table) assert.equal(find(fields, key), value, key);
  assert.equal(find(cloudEventFields({ eventtype: "own" }), "eventType"), "own");
  assert.equal(find(cloudEventFields(), "subject"), undefined);
  assert.equal(find(cloudEventFields(), "dataVersion"), undefined);
});

test("an extension that is a number is compared as text too, a member of data is not", () => {
  assert.ok(isIn(cloudEventFields({ level: 5 }), "level", "5"));
  assert.ok(isIn(cloudEventFields({ flag: true }), "flag", "TRUE"));
  assert.ok(!isIn(cloudEventFields({ data: { level: 5 } }), "data.level", "5"));
  const advanced = [{ operatorType: "NumberGreaterThan" as const, key: "level", value: 4 }];
  const matches = compileFilter({ ...filterForAll, advanced });
  assert.ok(matches(cloudEventFields({ level: 5 })));
  assert.ok(!matches(cloudEventFields({ level: "5" })), "a text is no number");
});

test("in the custom schema data is the event as it was published", () => {
  const fields = customFields({ color: "red", data: { color: "blue" }, Subject: "own" });
  assert.equal(find(fields, "data.color"), "red");
  assert.equal(find(fields, "data.data.color"), "blue");
  assert.equal(find(fields, "Subject"), "/blobs/a/photo.jpg", "the envelope is the mapping's");
});

test("a key never reaches a prototype, and finds a member of that name", () => {
  const keys = ["__proto__", "constructor", "toString", "hasOwnProperty", "__proto__.x"];
  const plain = JSON.parse('{"a":{}}');
  for (const key of keys) {
    for (const prefix of ["data.", "data.a.", "data.a.b.", ""]) {
      for (const fields of [
        eventGridFields({ data: plain }),
        cloudEventFields({ data: plain }),
        customFields(plain),
      ]) {
        assert.equal(find(fields, `${prefix}${key}`), undefined, `${prefix}${key}`);
      }
    }
  }
  assert.equal(find(eventGridFields({ data: plain }), "data.constructor.name"), undefined);
  const tricky = JSON.parse('{"__proto__":{"x":1},"constructor":"c"}');
  assert.equal(find(eventGridFields({ data: tricky }), "data.__proto__.x"), 1);
  assert.equal(find(eventGridFields({ data: tricky }), "data.constructor"), "c");
});

test("types and the subject are filtered by what the event is, whatever its schema calls it", () => {
  const matches = compileFilter({
    ...filterForAll,
    includedEventTypes: ["order.placed"],
    subjectBeginsWith: "/eu",
  });
  assert.ok(matches(cloudEventFields({ subject: "/EU/7" })));
  assert.ok(!matches(cloudEventFields()));
  assert.ok(matches(customFields({}, { eventType: "Order.Placed", subject: "/eu" })));
});
