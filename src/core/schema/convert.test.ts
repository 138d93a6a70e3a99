import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { armId, readingOf } from "../../../test/fixtures/schema-reading.ts";
import type { DeliverySchema, Event, InputSchema } from "../event.ts";
import { readCloudEvents } from "./cloudevents.ts";
import {
  contentTypeOf,
  defaultDeliverySchema,
  isConversionAllowed,
  piecesOf,
  renderEvent,
} from "./convert.ts";
import { readCustomEvents } from "./custom.ts";
import { isRfc3339 } from "./datetime.ts";
import { readEventGridEvents } from "./eventgrid.ts";
import { type InputMapping, noMapping } from "./mapping.ts";

const bodyIn = (...of: Parameters<typeof piecesOf>) => piecesOf(...of).join("");

const eg = "EventGridSchema";
const ce = "CloudEventSchemaV1_0";
const custom = "CustomInputSchema";
const deliverySchemas: readonly DeliverySchema[] = [eg, ce, custom];

const eventGridMembers: Readonly<Record<string, string>> = {
  id: '"1807"',
  subject: '"myapp/vehicles/motorcycles"',
  data: '{ "make":"Ducati", "wheels":2.0 }',
  eventType: '"recordInserted"',
  eventTime: '"2017-08-10T21:03:07+00:00"',
  dataVersion: '"1.0"',
};

function textOf(members: Readonly<Record<string, string | undefined>>): string {
  const all = Object.entries(members);
  return `{${all.flatMap(([name, raw]) => (raw === undefined ? [] : `"${name}":${raw}`))}}`;
}

function eventGridEvent(changes: Readonly<Record<string, string | undefined>> = {}): Event {
  const text = textOf({ ...eventGridMembers, ...changes });
  return readEventGridEvents(text, readingOf())[0]?.event as Event;
}

const customText = '{ "kind":"Created", "n": 1.0, "data":{"id":"inner"} }';
const mapping: InputMapping = {
  ...noMapping,
  eventType: { sourceField: "kind", defaultValue: null },
  subject: { sourceField: null, defaultValue: "DefaultSubject" },
  dataVersion: { sourceField: "n", defaultValue: null },
};

function customEvent(changes: Partial<InputMapping> = {}): Event {
  const reading = readingOf({ mapping: { ...mapping, ...changes } });
  return readCustomEvents(customText, reading)[0]?.event as Event;
}

function cloudEvent(text: string): Event {
  return readCloudEvents(text, "single", readingOf())[0]?.event as Event;
}

test("only the conversions that Event Grid knows are allowed", () => {
  const table: Readonly<Record<InputSchema, readonly boolean[]>> = {
    EventGridSchema: [true, true, false],
    CloudEventSchemaV1_0: [false, true, false],
    CustomEventSchema: [true, true, true],
  };
  for (const [input, row] of Object.entries(table) as [InputSchema, boolean[]][]) {
    const allowed = deliverySchemas.map((delivery) => isConversionAllowed(input, delivery));
    assert.deepEqual(allowed, row, input);
  }
});

test("who does not ask gets the schema of the topic", () => {
  assert.equal(defaultDeliverySchema("EventGridSchema"), eg);
  assert.equal(defaultDeliverySchema("CloudEventSchemaV1_0"), ce);
  assert.equal(defaultDeliverySchema("CustomEventSchema"), custom);
});

test("in its own schema an event is the very text that was kept", () => {
  const grid = eventGridEvent();
  assert.deepEqual(renderEvent(grid, eg), {
    text: grid.text,
    metadataVersion: "1",
    dataVersion: "1.0",
  });
  const text = '{"specversion":"1.0","id":"1","source":"/s","type":"t","ext":1.0}';
  const cloud = cloudEvent(text);
  assert.deepEqual(renderEvent(cloud, ce), { text, metadataVersion: "1.0", dataVersion: null });
  assert.deepEqual(renderEvent(customEvent(), custom), {
    text: customText,
    metadataVersion: "1",
    dataVersion: "1.0",
  });
});

test("an Event Grid event as a CloudEvent", () => {
  assert.deepEqual(renderEvent(eventGridEvent(), ce), {
    text:
      `{"specversion":"1.0","id":"1807","source":"${armId}",` +
      '"subject":"myapp/vehicles/motorcycles","type":"recordInserted",' +
      '"time":"2017-08-10T21:03:07+00:00","dataschema":"#1.0",' +
      '"data":{ "make":"Ducati", "wheels":2.0 }}',
    metadataVersion: "1.0",
    dataVersion: null,
  });
});

test("a CloudEvent has no empty data schema and no empty subject", () => {
  for (const dataVersion of [undefined, '""', "null"]) {
    const { text } = renderEvent(eventGridEvent({ dataVersion, subject: '""' }), ce);
    assert.doesNotMatch(text, /"dataschema"|"subject"/);
    assert.ok(cloudEvent(text));
  }
});

test("a time that RFC 3339 does not know is completed, another stays as it was written", () => {
  for (const [given, wanted] of [
    ['"2017-08-10T21:03+0100"', '"2017-08-10T21:03:00+01:00"'],
    ['"2017-08-10T21:03:07.12\\u0033Z"', '"2017-08-10T21:03:07.12\\u0033Z"'],
  ]) {
    const { text } = renderEvent(eventGridEvent({ eventTime: given }), ce);
    assert.ok(text.includes(`"time":${wanted},`), text);
  }
});

test("a custom event as an Event Grid event is its envelope with the whole of it as data", () => {
  const event = customEvent();
  const { text, metadataVersion, dataVersion } = renderEvent(event, eg);
  assert.ok(text.endsWith(`,"data":${customText}}`));
  assert.deepEqual(JSON.parse(text), {
    ...JSON.parse(event.envelope ?? ""),
    data: JSON.parse(customText),
  });
  assert.deepEqual([metadataVersion, dataVersion], ["1", "1.0"]);
});

test("a custom event as a CloudEvent", () => {
  assert.equal(
    renderEvent(customEvent(), ce).text,
    `{"specversion":"1.0","id":"system-1","source":"${armId}","subject":"DefaultSubject",` +
      '"type":"Created","time":"2030-01-31T13:05:09.0070000Z","dataschema":"#1.0",' +
      `"data":${customText}}`,
  );
});

test("an event whose topic was given another schema meanwhile goes as it was published", () => {
  const text = '{"specversion":"1.0","id":"1","source":"/s","type":"t"}';
  assert.equal(renderEvent(cloudEvent(text), eg).text, text);
  assert.equal(renderEvent(cloudEvent(text), custom).text, text);
  const grid = eventGridEvent();
  assert.equal(renderEvent(grid, custom).text, grid.text);
});

test("whatever an Event Grid event holds, converted it is a valid CloudEvent with the same", () => {
  const text = fc.string({ unit: "binary", minLength: 1 });
  const number = fc.constantFrom("1.0", "-0", "1e400", "12345678901234567890");
  fc.assert(
    fc.property(
      text,
      text,
      text,
      text,
      fc.oneof(fc.json(), number),
      (id, subject, type, v, data) => {
        const quote = (value: string) => JSON.stringify(value);
        const changes = { id: quote(id), subject: quote(subject), eventType: quote(type) };
        const event = eventGridEvent({ ...changes, dataVersion: quote(v), data });
        const rendered = renderEvent(event, ce).text;
        assert.equal(cloudEvent(rendered).text, rendered);
        assert.ok(rendered.endsWith(`,"data":${data}}`));
        const { data: _, ...attributes } = JSON.parse(rendered);
        assert.ok(isRfc3339(attributes.time));
        assert.deepEqual(attributes, {
          specversion: "1.0",
          id,
          source: armId,
          subject,
          type,
          time: "2017-08-10T21:03:07+00:00",
          dataschema: `#${v}`,
        });
      },
    ),
  );
});

test("whatever a custom event holds, it comes out whole in every schema", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.json()), fc.string(), (members, subject) => {
      const inside = Object.entries(members).map(
        ([name, raw]) => `${JSON.stringify(name)} :${raw}`,
      );
      const given = `{ ${inside.join(", ")} }`;
      const reading = readingOf({
        mapping: {
          ...mapping,
          eventType: { sourceField: null, defaultValue: "T" },
          subject: { sourceField: null, defaultValue: subject },
          dataVersion: { sourceField: null, defaultValue: "" },
        },
      });
      const event = readCustomEvents(given, reading)[0]?.event as Event;
      const cloud = renderEvent(event, ce).text;
      assert.equal(cloudEvent(cloud).text, cloud);
      assert.ok(cloud.endsWith(`,"data":${given}}`));
      const grid = renderEvent(event, eg).text;
      const again = readEventGridEvents(grid, readingOf())[0]?.event.text ?? "";
      assert.deepEqual(JSON.parse(again), JSON.parse(grid));
      assert.ok(again.includes(`,"data":${given},`));
      assert.equal(renderEvent(event, custom).text, given);
    }),
  );
});

test("bodies are arrays, but for a CloudEvent that is not batched (D-4)", () => {
  const json = "application/json; charset=utf-8";
  for (const delivery of [eg, custom] as const) {
    for (const isBatched of [false, true]) {
      assert.equal(contentTypeOf(delivery, isBatched), json);
      assert.equal(bodyIn(["1"], delivery, isBatched), "[1]");
    }
    assert.equal(bodyIn(["1", "2"], delivery, true), "[1,2]");
  }
  assert.equal(contentTypeOf(ce, false), "application/cloudevents+json; charset=utf-8");
  assert.equal(contentTypeOf(ce, true), "application/cloudevents-batch+json; charset=utf-8");
  assert.equal(bodyIn(["1"], ce, false), "1");
  assert.equal(bodyIn(["1"], ce, true), "[1]");
  assert.equal(bodyIn(["1", "2"], ce, true), "[1,2]");
});
