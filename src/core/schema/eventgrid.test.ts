import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { armId, readingOf, refusalOf } from "../../../test/fixtures/schema-reading.ts";
import type { RefusalCode } from "../refusal.ts";
import { readEventGridEvents } from "./eventgrid.ts";
import { publishLimits } from "./limits.ts";
import type { Reading } from "./reading.ts";

const stamp = `"topic":"${armId}"`;

/** Everything an event needs, as raw JSON; a test says only what is different. */
const members: Readonly<Record<string, string>> = {
  id: '"1807"',
  subject: '"myapp/vehicles/motorcycles"',
  data: '{"make":"Ducati"}',
  eventType: '"recordInserted"',
  eventTime: '"2017-08-10T21:03:07+00:00"',
  dataVersion: '"1.0"',
};

function eventText(changes: Readonly<Record<string, string | undefined>> = {}): string {
  const all = Object.entries({ ...members, ...changes });
  return `{${all.flatMap(([name, raw]) => (raw === undefined ? [] : `"${name}":${raw}`))}}`;
}

function read(text: string, changes: Partial<Reading> = {}) {
  return readEventGridEvents(text, readingOf(changes));
}

function refusal(text: string, code: RefusalCode, changes: Partial<Reading> = {}): string {
  return refusalOf(() => read(text, changes), code);
}

test("an accepted event is stamped with topic, metadataVersion and its system id", () => {
  assert.deepEqual(read(`[${eventText()}]`, { publishedAt: 77 }), [
    {
      event: {
        systemId: "system-1",
        topic: "orders",
        publishedAt: 77,
        schema: "EventGridSchema",
        dataVersion: "1.0",
        text:
          `{"id":"1807",${stamp},"subject":"myapp/vehicles/motorcycles","data":{"make":"Ducati"},` +
          '"eventType":"recordInserted","eventTime":"2017-08-10T21:03:07+00:00",' +
          '"dataVersion":"1.0","metadataVersion":"1"}',
        envelope: null,
        trace: null,
        hops: 0,
      },
      fields: {
        id: "1807",
        subject: "myapp/vehicles/motorcycles",
        eventType: "recordInserted",
        topic: armId,
        dataVersion: "1.0",
        schema: "EventGridSchema",
        parsed: JSON.parse(eventText()),
      },
      domainTopic: null,
    },
  ]);
});

test("numbers, escapes, blanks and member order inside data arrive as they were published", () => {
  const data =
    '{ "big":12345678901234567890, "one":1.0,"tiny":1e-400,"text":"\\u00e9\\/\\ud800é" }';
  const [published] = read(eventText({ data, id: '"\\u0041"' }));
  assert.ok(published?.event.text.includes(`"data":${data},`));
  assert.ok(published?.event.text.startsWith('{"id":"\\u0041",'));
  assert.equal(published?.fields.id, "A");
});

test("whatever JSON is published as data is delivered letter by letter", () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(3), (data, indent) => {
      const raw = JSON.stringify(JSON.parse(data), null, indent);
      const [published] = read(`[${eventText()},\n${eventText({ data: raw })} ]`).slice(1);
      assert.equal(
        published?.event.text,
        `{"id":"1807",${stamp},"subject":${members.subject},"data":${raw},` +
          `"eventType":${members.eventType},"eventTime":${members.eventTime},` +
          '"dataVersion":"1.0","metadataVersion":"1"}',
      );
    }),
  );
});

test("a bare object is an array of one, and an empty array is accepted with nothing to do", () => {
  assert.equal(read(` ${eventText()}\n`).length, 1);
  assert.deepEqual(read("[ ]"), []);
});

test("each event of a request has its own system id, in their order", () => {
  const events = read(`[${eventText()} , ${eventText({ id: '"two"' })}]`);
  assert.deepEqual(
    events.map(({ event, fields }) => [event.systemId, fields.id]),
    [
      ["system-1", "1807"],
      ["system-2", "two"],
    ],
  );
});

test("what may be left out is stamped: dataVersion is empty and data is null", () => {
  for (const dataVersion of [undefined, "null", '""']) {
    for (const data of [undefined, "null"]) {
      const [published] = read(eventText({ data, dataVersion }));
      assert.equal(published?.event.dataVersion, "");
      assert.equal(
        published?.event.text,
        `{"id":"1807",${stamp},"subject":${members.subject},"data":null,` +
          `"eventType":${members.eventType},"eventTime":${members.eventTime},` +
          '"dataVersion":"","metadataVersion":"1"}',
      );
    }
  }
});

test("members that are not of the schema are dropped, __proto__ among them", () => {
  const strange = '{"subject":"from the prototype"}';
  const [published] = read(eventText({ colour: '"red"', ["__proto__"]: strange }));
  assert.deepEqual(published?.event, read(eventText())[0]?.event);
  assert.equal(published?.fields.subject, "myapp/vehicles/motorcycles");
  assert.match(
    refusal(`{"__proto__":${eventText()}}`, "InputJsonInvalid"),
    /requires 'subject' property/,
  );
});

test("the first missing property is named, in the service's order, with the event's index", () => {
  const order = ["subject", "id", "eventType", "eventTime"];
  for (const [index, name] of order.entries()) {
    const gone = Object.fromEntries(order.slice(index).map((each) => [each, undefined]));
    assert.equal(
      refusal(`[${eventText()},${eventText(gone)}]`, "InputJsonInvalid"),
      `This resource is configured for 'EventGridEvent' schema and requires '${name}' property ` +
        `to be set. Event at index 1: '${name}' is missing.`,
    );
    assert.match(refusal(eventText({ [name]: "null" }), "InputJsonInvalid"), /' is null\.$/);
  }
});

test("a wrong shape is named with its index and field, and never with its content", () => {
  const cases: readonly (readonly [text: string, ending: RegExp])[] = [
    [eventText({ id: "true" }), /index 0: 'id' must be a string, and is true\.$/],
    [eventText({ subject: "4711" }), /index 0: 'subject' must be a string, and is a number\.$/],
    [eventText({ subject: '["s3cret"]' }), /'subject' must be a string, and is an array of 1\.$/],
    [eventText({ dataVersion: "{}" }), /'dataVersion' must be a string, and is an object\.$/],
    [eventText({ metadataVersion: '"2"' }), /'metadataVersion' must be left out or "1", and is/],
    ["4711", /index 0: the event must be an object, and is a number\.$/],
    ['"s3cret"', /the event must be an object, and is a text of 6 characters\.$/],
    [`[${eventText()},null]`, /index 1: the event must be an object, and is null\.$/],
    [`[[${eventText()}]]`, /index 0: the event must be an object, and is an array of 1\.$/],
  ];
  for (const [text, ending] of cases) {
    const message = refusal(text, "InputJsonInvalid");
    assert.match(message, ending);
    assert.doesNotMatch(message, /4711|s3cret/);
  }
});

test("a member that stands twice is refused, also when it is escaped or unknown", () => {
  for (const twice of ['"id":"2"', '"\\u0069d":"2"']) {
    const text = eventText().replace("{", `{${twice},`);
    assert.match(refusal(text, "InputJsonInvalid"), /index 0: 'id' occurs more than once\.$/);
  }
  const text = eventText().replace("{", '{"x y":1,"x y":2,');
  assert.match(refusal(text, "InputJsonInvalid"), /a member's name occurs more than once/);
});

test("text that is not JSON is refused with the place where it is known, and no quotation", () => {
  const cut = eventText().slice(0, -1);
  const cases: readonly (readonly [text: string, message: string])[] = [
    ["", "The body is not valid JSON: it ends too early."],
    [cut, `The body is not valid JSON (line 1, column ${cut.length + 1}).`],
    ['[{"id":s3cret}]', "The body is not valid JSON."],
    [`${eventText()}\n,`, "The body is not valid JSON (line 2, column 1)."],
  ];
  for (const [text, message] of cases) {
    assert.equal(refusal(text, "InputJsonInvalid"), message);
  }
});

test("a number as id or dataVersion is taken as text, and a time without a zone as UTC", () => {
  const [published] = read(
    eventText({ id: "4711", dataVersion: "1.0", eventTime: '"2017-08-10T21:03:07"' }),
  );
  assert.partialDeepStrictEqual(published?.fields, { id: "4711", dataVersion: "1.0" });
  const { id, dataVersion, eventTime } = JSON.parse(published?.event.text ?? "");
  assert.deepEqual([id, dataVersion, eventTime], ["4711", "1.0", "2017-08-10T21:03:07Z"]);
  const [exact] = read(eventText({ id: "12345678901234567890" }));
  assert.equal(exact?.fields.id, "12345678901234567890");
});

test("eventTime needs a date and a time", () => {
  const good = [
    "2017-08-10T21:03:07+00:00",
    "2017-08-10T21:03:07.1234567Z",
    "2017-08-10t21:03:07z",
    "2017-08-10T21:03:07+0000",
    "2017-08-10T21:03-09",
    "2024-02-29T00:00:00Z",
    "2023-12-31T23:59:59Z",
  ];
  for (const time of good) assert.equal(read(eventText({ eventTime: `"${time}"` })).length, 1);
  const bad = [
    "2017-08-10",
    "2017-08-10 21:03:07Z",
    "10.8.2017 21:03",
    "2023-02-29T00:00:00Z",
    "2023-04-31T00:00:00Z",
    "2017-13-10T21:03:07Z",
    "2017-08-10T24:03:07Z",
    "2017-08-10T21:03:07Z\\n",
    "",
  ];
  for (const time of bad) {
    const message = refusal(eventText({ eventTime: `"${time}"` }), "InputJsonInvalid");
    assert.match(message, /index 0: 'eventTime' must be a date and time such as/);
  }
});

test("an event for another topic is unauthorized; its own topic may be named", () => {
  assert.equal(read(eventText({ topic: `"${armId}"`, metadataVersion: '"1"' })).length, 1);
  assert.equal(read(eventText({ topic: "null", metadataVersion: "null" })).length, 1);
  for (const topic of ['"s3cret"', '""', "4711", `"${armId}/x"`]) {
    const message = refusal(`[${eventText()},${eventText({ topic })}]`, "Unauthorized");
    assert.match(message, /^The event at index 1 is not for this topic/);
    assert.doesNotMatch(message, /s3cret|4711/);
  }
});

test("in a domain each event names its topic, and carries the ARM id of that", () => {
  const text = `[${eventText({ topic: '"foo"' })},${eventText({ topic: '"b\\u00e4r"' })}]`;
  const events = read(text, { isDomain: true });
  assert.deepEqual(
    events.map(({ domainTopic, fields, event }) => [
      domainTopic,
      fields.topic,
      JSON.parse(event.text).topic,
      event.topic,
    ]),
    [
      ["foo", `${armId}/topics/foo`, `${armId}/topics/foo`, "orders"],
      ["bär", `${armId}/topics/bär`, `${armId}/topics/bär`, "orders"],
    ],
  );
});

test("in a domain an event without a topic is refused", () => {
  for (const [topic, shape] of [
    [undefined, "missing"],
    ["null", "null"],
    ['""', "an empty text"],
  ] as const) {
    assert.equal(
      refusal(eventText({ topic }), "InputJsonInvalid", { isDomain: true }),
      "This resource is configured for 'EventGridEvent' schema and requires 'topic' property to " +
        `be set. Event at index 0: 'topic' is ${shape}.`,
    );
  }
  const message = refusal(eventText({ topic: "1" }), "InputJsonInvalid", { isDomain: true });
  assert.match(message, /'topic' must be a string, and is a number\.$/);
});

test("5,000 events are accepted and one more is too large", () => {
  const small = '{"id":"1","subject":"","eventType":"","eventTime":"2017-08-10T21:03:07Z"}';
  const list = (count: number) => `[${Array(count).fill(small).join()}]`;
  assert.equal(read(list(5000)).length, 5000);
  assert.equal(
    refusal(list(5001), "PayloadTooLarge"),
    "The request has 5001 events; at most 5000 are allowed.",
  );
});

test("a request and an event may have 1 MB of UTF-8, and not a byte more", () => {
  const bytesMax = 1_048_576;
  const frame = Buffer.byteLength(eventText({ data: '""' }));
  const sized = (bytes: number, unit: string) => {
    const count = Math.floor((bytes - frame) / Buffer.byteLength(unit));
    const text = eventText({ data: `"${unit.repeat(count)}"` });
    return text + " ".repeat(bytes - Buffer.byteLength(text));
  };
  for (const unit of ["x", "é", "€", "😀"]) {
    assert.equal(read(sized(bytesMax, unit)).length, 1);
    assert.equal(
      refusal(sized(bytesMax + 1, unit), "PayloadTooLarge"),
      "The request is too large: at most 1048576 bytes are allowed.",
    );
  }
  const limits = { ...publishLimits, eventBytesMax: 1000 };
  const event = (bytes: number) => sized(bytes, "€").replace(/\}( *)$/, "$1}");
  assert.equal(read(`[${event(1000)},${event(900)}]`, { limits }).length, 2);
  assert.equal(
    refusal(`[${event(1000)},${event(1001)}]`, "PayloadTooLarge", { limits }),
    "The event at index 1 is too large: at most 1000 bytes are allowed.",
  );
});
