import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readingOf, refusalOf } from "../../../test/fixtures/schema-reading.ts";
import { readCloudEvents } from "./cloudevents.ts";
import { noMapping } from "./mapping.ts";
import type { Reading } from "./reading.ts";

/** Everything an event needs, as raw JSON; a test says only what is different. */
const members: Readonly<Record<string, string>> = {
  specversion: '"1.0"',
  type: '"com.example.created"',
  source: '"/shop/orders"',
  id: '"A234-1234-1234"',
};

function eventText(changes: Readonly<Record<string, string | undefined>> = {}): string {
  const all = Object.entries({ ...members, ...changes });
  return `{${all.flatMap(([name, raw]) => (raw === undefined ? [] : `"${name}":${raw}`))}}`;
}

const read = (text: string, changes: Partial<Reading> = {}) =>
  readCloudEvents(text, text.trimStart().startsWith("[") ? "batch" : "single", readingOf(changes));

const refusal = (text: string) => refusalOf(() => read(text));

test("an event is kept as it was written, and nothing is stamped", () => {
  const text = eventText({
    subject: '"123"',
    time: '"2018-04-05T17:31:00Z"',
    comexampleextension: '"value"',
    data: '{ "one" : 1.0 }',
  });
  assert.deepEqual(read(` ${text}\n`), [
    {
      event: {
        systemId: "system-1",
        topic: "orders",
        publishedAt: readingOf().publishedAt,
        schema: "CloudEventSchemaV1_0",
        dataVersion: "",
        text,
        envelope: null,
        trace: null,
        hops: 0,
      },
      fields: {
        id: "A234-1234-1234",
        subject: "123",
        eventType: "com.example.created",
        topic: "/shop/orders",
        dataVersion: "",
        schema: "CloudEventSchemaV1_0",
        parsed: JSON.parse(text),
      },
      domainTopic: null,
    },
  ]);
  assert.equal(read(eventText())[0]?.fields.subject, "");
});

test("a batch is an array, also of one or of none", () => {
  assert.deepEqual(read("[]"), []);
  const texts = read(`[ ${eventText()} , ${eventText({ id: '"2"' })} ]`);
  assert.deepEqual(
    texts.map(({ event }) => event.text),
    [eventText(), eventText({ id: '"2"' })],
  );
});

test("whatever is published as data and extensions is delivered letter by letter", () => {
  const number = fc.constantFrom("1.0", "-0", "1e400", "12345678901234567890", "1.50E-3");
  const value = fc.oneof(
    number,
    fc.json({ maxDepth: 0 }).filter(isPlain),
    fc.boolean().map(String),
  );
  const name = fc.stringMatching(/^x[a-z0-9]{1,30}$/);
  fc.assert(
    fc.property(
      fc.dictionary(name, value, { maxKeys: 4 }),
      fc.oneof(fc.json(), number),
      fc.constantFrom("", " ", "\n\t"),
      (extensions, data, blank) => {
        const all = { ...members, ...extensions, data };
        const written = Object.entries(all).map(([key, raw]) => `"${key}"${blank}:${blank}${raw}`);
        const text = `{${blank}${written.join(`${blank},${blank}`)}${blank}}`;
        assert.equal(read(text)[0]?.event.text, text);
        assert.equal(read(`[${text},${text}]`)[1]?.event.text, text);
      },
    ),
  );
});

function isPlain(json: string): boolean {
  return !/^(null|[[{])/.test(json);
}

test("the first missing attribute is named, in the service's order and by its names", () => {
  const order = ["specversion", "type", "source", "id"];
  for (const [index, name] of order.entries()) {
    const calledAs = name === "type" ? "eventType" : name;
    const gone = Object.fromEntries(order.slice(index).map((each) => [each, undefined]));
    assert.equal(
      refusal(`[${eventText()},${eventText(gone)}]`),
      `This resource is configured for 'CloudEventV10' schema and requires '${calledAs}' property ` +
        `to be set. Event at index 1: '${name}' is missing.`,
    );
    assert.match(refusal(eventText({ [name]: "null" })), /' is null\.$/);
    assert.match(refusal(eventText({ [name]: '""' })), /' is an empty text\.$/);
    assert.match(refusal(eventText({ [name]: "1" })), /must be a string, and is a number\.$/);
  }
});

test("a wrong shape is named with its index and field, and never with its content", () => {
  const cases: readonly (readonly [changes: Record<string, string>, ending: RegExp])[] = [
    [{ specversion: '"0.3"' }, /'specversion' must be "1\.0", and is a text of 3 characters\.$/],
    [{ subject: "4711" }, /'subject' must be a string, and is a number\.$/],
    [{ dataschema: "{}" }, /'dataschema' must be a string, and is an object\.$/],
    [{ datacontenttype: "[]" }, /'datacontenttype' must be a string, and is an array of 0\.$/],
    [{ time: '"s3cret"' }, /'time' must be an RFC 3339 time such as 2030-01-31T13:05:09Z, and/],
    [{ time: '"2018-04-05T17:31:00"' }, /'time' must be an RFC 3339 time/],
    [{ time: '"2018-04-05T17:31Z"' }, /'time' must be an RFC 3339 time/],
    [{ time: '"2018-04-31T17:31:00Z"' }, /'time' must be an RFC 3339 time/],
    [{ xtrace: '{"a":"s3cret"}' }, /'xtrace' must be a string, a number or a boolean, and is an/],
    [{ xtrace: '["s3cret"]' }, /'xtrace' must be a string, a number or a boolean, and is an array/],
    [{ xTrace: '"a"' }, /'xTrace' must be a name of lower-case letters and digits/],
    [{ x_trace: '"a"' }, /'x_trace' must be a name of lower-case letters and digits/],
    [{ "": '"a"' }, /a member's name must be a name of lower-case letters and digits/],
    [{ ["__proto__"]: '{"id":"s3cret"}' }, /'__proto__' must be a name of lower-case/],
    [{ data: "1", data_base64: '"AA=="' }, /'data' and 'data_base64' must not both be there\.$/],
    [{ data_base64: '"s3cret!!"' }, /'data_base64' must be base64, and is a text of 8 characters/],
    [{ data_base64: '"AAA"' }, /'data_base64' must be base64/],
    [{ data_base64: '"A==="' }, /'data_base64' must be base64/],
    [{ data_base64: '"AA=A"' }, /'data_base64' must be base64/],
    [{ data_base64: '"-_-_"' }, /'data_base64' must be base64/],
    [{ data_base64: "{}" }, /'data_base64' must be a string, and is an object\.$/],
  ];
  for (const [changes, ending] of cases) {
    const message = refusal(`[${eventText()},${eventText(changes)}]`);
    assert.match(message, /'CloudEventV10' schema\. The JSON received does not .* index 1: /);
    assert.match(message, ending);
    assert.doesNotMatch(message, /4711|s3cret/);
  }
});

test("any bytes in base64 are taken, and a long text is looked at without trouble", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const text = eventText({ data_base64: `"${Buffer.from(bytes).toString("base64")}"` });
      assert.equal(read(text)[0]?.event.text, text);
    }),
  );
  const long = Buffer.alloc(780_000, 0x5a).toString("base64");
  assert.equal(read(eventText({ data_base64: `"${long}"` })).length, 1);
});

test("times are taken as RFC 3339 has them", () => {
  const times = ["2018-04-05T17:31:00Z", "2018-04-05t17:31:00.91726z", "2018-04-05T17:31:00-23:59"];
  for (const time of times) assert.equal(read(eventText({ time: `"${time}"` })).length, 1);
});

test("attributes that are null are not set and left out; data may be null", () => {
  const nulls = { subject: "null", time: "null", xtension: "null", data_base64: "null" };
  const [published] = read(eventText({ ...nulls, data: "null", count: "1.0" }));
  assert.equal(published?.event.text, eventText({ data: "null", count: "1.0" }));
  const [binary] = read(eventText({ data: "null", data_base64: '"AA=="' }));
  assert.equal(binary?.event.text, eventText({ data_base64: '"AA=="' }));
});

test("one event where an array was announced is refused, and the other way round", () => {
  const schema =
    "This resource is configured to receive event in 'CloudEventV10' schema. " +
    "The JSON received does not conform to the expected schema. ";
  assert.equal(
    refusalOf(() => readCloudEvents(`[${eventText()}]`, "single", readingOf())),
    `${schema}Token Expected: StartObject, Actual Token Received: StartArray.`,
  );
  assert.equal(
    refusalOf(() => readCloudEvents(eventText(), "batch", readingOf())),
    `${schema}Token Expected: StartArray, Actual Token Received: StartObject.`,
  );
  // What one client sends when it is given an array.
  const joined = `${eventText()},${eventText()}`;
  assert.match(refusal(joined), /^The body is not valid JSON \(line 1, column \d+\)\.$/);
  assert.match(refusal('"s3cret"'), /index 0: the event must be an object, and is a text of 6/);
});

test("in a domain the source names the topic, or what the mapping says", () => {
  const isDomain = true;
  assert.equal(read(eventText(), { isDomain })[0]?.domainTopic, "/shop/orders");
  const topicIn = (sourceField: string | null) => ({ ...noMapping, topic: { sourceField } });
  const text = eventText({ tenant: '"t-1"', data: '{"of":{"tenant":7.0}}', subject: "null" });
  for (const [field, topic] of [
    [null, "/shop/orders"],
    ["tenant", "t-1"],
    ["data.of.tenant", "7.0"],
  ] as const) {
    const [published] = read(text, { isDomain, mapping: topicIn(field) });
    assert.equal(published?.domainTopic, topic);
    assert.equal(published?.fields.topic, "/shop/orders");
  }
  for (const field of ["nothing", "subject", "data.of.tenant.deeper"]) {
    assert.match(
      refusalOf(() => read(text, { isDomain, mapping: topicIn(field) })),
      /index 0: '[\w.]+', the source field of 'topic', is not set\.$/,
    );
  }
});

test("an event's own trace context counts where the request has none, and stays as it is", () => {
  const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const text = eventText({ traceparent: `"${parent}"`, tracestate: '"a=1"' });
  const own = { parent, state: "a=1" };
  const [event] = read(text);
  assert.deepEqual(event?.event.trace, own);
  assert.equal(event?.event.text, text);
  const trace = { parent: parent.replace("b7", "c8"), state: null };
  const [ofRequest] = read(text, { trace });
  assert.deepEqual(ofRequest?.event.trace, trace);
  assert.equal(ofRequest?.event.text, text);
  const bad = read(`[${eventText({ traceparent: '"00-bad"' })},${eventText()}]`);
  assert.deepEqual(
    bad.map((each) => each.event.trace),
    [null, null],
  );
});
