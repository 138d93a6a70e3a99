import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { armId, readingOf, refusalOf } from "../../../test/fixtures/schema-reading.ts";
import { readCustomEvents } from "./custom.ts";
import { type InputMapping, noMapping } from "./mapping.ts";
import type { Reading } from "./reading.ts";

/** The mapping of the service's own example. */
const mapping: InputMapping = {
  ...noMapping,
  eventType: { sourceField: "myEventTypeField", defaultValue: null },
  subject: { sourceField: null, defaultValue: "DefaultSubject" },
  dataVersion: { sourceField: null, defaultValue: "1.0" },
};

const example =
  '{"myEventTypeField":"Created","resource":"Users/example/Messages/1000",' +
  '"resourceData":{"someDataField1":"SomeDataFieldValue"}}';

function read(text: string, changes: Partial<InputMapping> = {}, more: Partial<Reading> = {}) {
  return readCustomEvents(text, readingOf({ mapping: { ...mapping, ...changes }, ...more }));
}

function envelopeOf(text: string, changes: Partial<InputMapping> = {}) {
  return JSON.parse(read(text, changes)[0]?.event.envelope ?? "null");
}

test("an event is kept as it was written, with the envelope that the mapping makes", () => {
  assert.deepEqual(read(`[ ${example} ]`), [
    {
      event: {
        systemId: "system-2",
        topic: "orders",
        publishedAt: readingOf().publishedAt,
        schema: "CustomEventSchema",
        dataVersion: "1.0",
        text: example,
        envelope:
          `{"id":"system-1","topic":"${armId}","subject":"DefaultSubject",` +
          '"eventType":"Created","eventTime":"2030-01-31T13:05:09.0070000Z",' +
          '"dataVersion":"1.0","metadataVersion":"1"}',
        trace: null,
        hops: 0,
      },
      fields: {
        id: "system-1",
        subject: "DefaultSubject",
        eventType: "Created",
        topic: armId,
        dataVersion: "1.0",
        schema: "CustomEventSchema",
        parsed: JSON.parse(example),
      },
      domainTopic: null,
    },
  ]);
  assert.equal(read(example).length, 1);
  assert.deepEqual(read("[]"), []);
});

test("every member can come from a field, also from one that lies deeper", () => {
  const text =
    '{"a":{"id":"7","b":{"when":"2020-01-01T00:00:00Z"}},"a.v":"2","what":"T","about":"\\u0041"}';
  const { topic: _, ...envelope } = envelopeOf(text, {
    id: { sourceField: "a.id" },
    eventTime: { sourceField: "a.b.when" },
    eventType: { sourceField: "what", defaultValue: "not this" },
    subject: { sourceField: "about", defaultValue: null },
    dataVersion: { sourceField: "a.v", defaultValue: null },
  });
  assert.deepEqual(envelope, {
    id: "7",
    subject: "A",
    eventType: "T",
    eventTime: "2020-01-01T00:00:00Z",
    dataVersion: "2",
    metadataVersion: "1",
  });
});

test("numbers and truth values count as the texts they are written as", () => {
  for (const raw of ["1.0", "12345678901234567890", "true", "-0", "1e400"]) {
    const text = `{"myEventTypeField":"T","n":{"v":${raw}}}`;
    const { id, dataVersion } = envelopeOf(text, {
      id: { sourceField: "n.v" },
      dataVersion: { sourceField: "n.v", defaultValue: null },
    });
    assert.deepEqual([id, dataVersion], [raw, raw]);
  }
});

test("the default is taken when the event lacks the field; null counts as lacking", () => {
  const eventType = { sourceField: "kind", defaultValue: "Default" };
  for (const [text, type] of [
    ["{}", "Default"],
    ['{"kind":null}', "Default"],
    ['{"kind":""}', ""],
    ['{"kind":"Own"}', "Own"],
  ] as const) {
    assert.equal(envelopeOf(text, { eventType }).eventType, type);
  }
});

test("an id or a time that the event lacks is made up", () => {
  const { id, eventTime } = envelopeOf(example, {
    id: { sourceField: "gone" },
    eventTime: { sourceField: "gone.too" },
  });
  assert.deepEqual([id, eventTime], ["system-1", "2030-01-31T13:05:09.0070000Z"]);
});

test("what is needed and neither there nor given a default is refused by its name", () => {
  const none = { sourceField: null, defaultValue: null };
  for (const name of ["subject", "eventType", "dataVersion"] as const) {
    const field = { sourceField: "my.own", defaultValue: null };
    assert.equal(
      refusalOf(() => read(`[${example},${example}]`, { [name]: field })),
      "This resource is configured to receive event in 'CustomEvent' schema. The JSON received " +
        "does not conform to the expected schema. Event at index 0: 'my.own', the source field " +
        `of '${name}', is not set.`,
    );
    assert.match(
      refusalOf(() => read(example, { [name]: none })),
      new RegExp(`index 0: '${name}' has no source field in the input schema mapping`),
    );
  }
  assert.match(
    refusalOf(() => readCustomEvents(example, readingOf())),
    /'subject' has no source field/,
  );
});

test("a field of a wrong shape is named, and never shown", () => {
  const cases: readonly (readonly [string, Partial<InputMapping>, RegExp])[] = [
    ['{"x":{"a":"s3cret"}}', { id: { sourceField: "x" } }, /'x' must be a string, and is an obj/],
    ['{"x":["s3cret"]}', { id: { sourceField: "x" } }, /'x' must be a string, and is an array/],
    ['{"x":"s3cret"}', { eventTime: { sourceField: "x" } }, /'x' must be a date and time such as/],
  ];
  for (const [text, changes, words] of cases) {
    const eventType = { sourceField: null, defaultValue: "T" };
    const message = refusalOf(() => read(text, { eventType, ...changes }));
    assert.match(message, words);
    assert.doesNotMatch(message, /s3cret/);
  }
  assert.match(
    refusalOf(() => read(`[${example},7]`)),
    /index 1: the event must be an object, and is a number\.$/,
  );
});

test("no path reaches into a prototype, and a path through something else finds nothing", () => {
  const fields = ["__proto__.x", "constructor.name", "toString", "a.length", "list.0", "a..b", "."];
  const text = '{"myEventTypeField":"T","a":"text","list":["x"]}';
  for (const sourceField of fields) {
    assert.equal(envelopeOf(text, { id: { sourceField } }).id, "system-1", sourceField);
  }
  const twice = '{"myEventTypeField":"T","a":{"b":"first","b":"last"}}';
  assert.equal(envelopeOf(twice, { id: { sourceField: "a.b" } }).id, "last");
  const own = '{"myEventTypeField":"T","__proto__":{"x":"mine"}}';
  assert.equal(envelopeOf(own, { id: { sourceField: "__proto__.x" } }).id, "mine");
});

test("any object is delivered letter by letter, and its envelope is valid JSON", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.json()), fc.string(), (members, subject) => {
      const given = { ...members, s: JSON.stringify(subject) };
      const inside = Object.entries(given).map(([name, raw]) => `${JSON.stringify(name)}: ${raw}`);
      const text = `{ ${inside.join(",")} }`;
      const eventType = { sourceField: null, defaultValue: subject };
      const field = { sourceField: "s", defaultValue: null };
      const [published] = read(text, { eventType, subject: field });
      assert.equal(published?.event.text, text);
      const envelope = JSON.parse(published?.event.envelope ?? "");
      assert.deepEqual([envelope.subject, envelope.eventType], [subject, subject]);
      assert.equal(published?.fields.subject, subject);
    }),
  );
});

test("in a domain the mapping says which topic an event is for", () => {
  const topic = { sourceField: "tenant.name" };
  const text = '{"myEventTypeField":"T","tenant":{"name":"foo"}}';
  const [published] = read(text, { topic }, { isDomain: true });
  assert.equal(published?.domainTopic, "foo");
  assert.equal(published?.fields.topic, `${armId}/topics/foo`);
  assert.equal(JSON.parse(published?.event.envelope ?? "").topic, `${armId}/topics/foo`);
  assert.equal(read(text, { topic })[0]?.domainTopic, null);
  assert.equal(read(text, { topic })[0]?.fields.topic, armId);
  for (const [bad, words] of [
    [example, /'tenant\.name', the source field of 'topic', is not set\.$/],
    ['{"myEventTypeField":"T","tenant":{"name":""}}', /the source field of 'topic', is not set\.$/],
  ] as const) {
    assert.match(
      refusalOf(() => read(bad, { topic }, { isDomain: true })),
      words,
    );
  }
  assert.match(
    refusalOf(() => read(text, {}, { isDomain: true })),
    /'topic' has no source field in the input schema mapping/,
  );
});
