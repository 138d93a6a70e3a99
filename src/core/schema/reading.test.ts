import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readingOf, refusalOf } from "../../../test/fixtures/schema-reading.ts";
import { Refusal } from "../refusal.ts";
import { readCloudEvents } from "./cloudevents.ts";
import { renderEvent } from "./convert.ts";
import { readCustomEvents } from "./custom.ts";
import { readEventGridEvents } from "./eventgrid.ts";
import { publishLimits } from "./limits.ts";
import { noMapping } from "./mapping.ts";

/** How every reader handles bad input. Each has a good event with room for one more member. */
interface Reader {
  readonly name: string;
  readonly read: (text: string) => ReturnType<typeof readEventGridEvents>;
  readonly eventWith: (member: string) => string;
}

const customMapping = {
  ...noMapping,
  id: { sourceField: "a.b.id" },
  eventType: { sourceField: null, defaultValue: "T" },
  subject: { sourceField: "subject", defaultValue: "" },
  dataVersion: { sourceField: null, defaultValue: "1" },
};

const readers: readonly Reader[] = [
  {
    name: "Event Grid",
    read: (text) => readEventGridEvents(text, readingOf()),
    eventWith: (member) =>
      `{"id":"1","subject":"s","eventType":"t","eventTime":"2030-01-01T00:00:00Z",${member}}`,
  },
  {
    name: "CloudEvents",
    read: (text) =>
      readCloudEvents(text, text.trimStart().startsWith("[") ? "batch" : "single", readingOf()),
    eventWith: (member) => `{"specversion":"1.0","id":"1","source":"/s","type":"t",${member}}`,
  },
  {
    name: "custom",
    read: (text) => readCustomEvents(text, readingOf({ mapping: customMapping })),
    eventWith: (member) => `{"id":"1",${member}}`,
  },
];

const nested = (depth: number) => `"data":${"[".repeat(depth)}${"]".repeat(depth)}`;

for (const { name, read, eventWith } of readers) {
  test(`${name}: what is nested deeper than allowed is refused, at any length`, () => {
    const { depthMax } = publishLimits;
    assert.equal(read(`[${eventWith(nested(depthMax - 1))}]`).length, 1);
    for (const depth of [depthMax, 10_000, 500_000]) {
      assert.equal(
        refusalOf(() => read(`[${eventWith(nested(depth))}]`)),
        "An event is nested too deep: at most 256 objects and arrays may lie within each other.",
      );
    }
    const objects = `"data":${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`;
    assert.match(
      refusalOf(() => read(eventWith(objects))),
      /nested too deep/,
    );
    // A long text is checked before it is parsed, so that the parser is not the one to refuse it.
    assert.match(
      refusalOf(() => read("[".repeat(1_000_000))),
      /nested too deep/,
    );
    const long = `[${eventWith(nested(depthMax - 1))}${" ".repeat(300_000)}]`;
    assert.equal(read(long).length, 1);
  });

  test(`${name}: malformed JSON is refused with its place and no quotation`, () => {
    const whole = `[${eventWith('"data":"s3cret"')}]`;
    for (let cut = 0; cut < whole.length; cut += 1) {
      const message = refusalOf(() => read(whole.slice(0, cut)));
      assert.match(message, /^The body is not valid JSON/);
      assert.doesNotMatch(message, /s3cr/);
    }
    for (const bad of ["{'id':1}", "[1,]", "{a:1}", "NaN", "01", '"\t"', "\u0000", "[]x", "//"]) {
      assert.match(
        refusalOf(() => read(bad)),
        /^The body is not valid JSON/,
      );
    }
  });

  test(`${name}: a name that stands twice is refused`, () => {
    for (const twice of ['"id":"2"', '"\\u0069d":"2"']) {
      assert.match(
        refusalOf(() => read(`[${eventWith('"data":1')},${eventWith(twice)}]`)),
        /Event at index 1: 'id' occurs more than once\.$/,
      );
    }
    assert.match(
      refusalOf(() => read(eventWith('"__proto__":1,"__proto__":2'))),
      /'__proto__' occurs more than once\.$/,
    );
  });

  test(`${name}: within data everything arrives as it was written`, () => {
    const values = [
      "1e999999",
      "-0.0",
      `${"9".repeat(5_000)}`,
      '"\\ud800 \\u0000 \\u2028"',
      '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
      '{"a":1,"a":2}',
    ];
    for (const value of values) {
      const [published] = read(eventWith(`"data":${value}`));
      assert.ok(published);
      assert.ok(published.event.text.includes(`"data":${value}`));
      const { text } = renderEvent(published.event, "CloudEventSchemaV1_0");
      assert.ok(text.includes(value));
    }
    assert.equal(Reflect.get({}, "polluted"), undefined);
  });

  test(`${name}: more than 5,000 events or 1 MB are too much`, () => {
    const small = eventWith('"data":1');
    const list = (count: number) => `[${Array(count).fill(small).join()}]`;
    assert.equal(read(list(5_000)).length, 5_000);
    assert.match(
      refusalOf(() => read(list(5_001)), "PayloadTooLarge"),
      /^The request has 5001 events; at most 5000 are allowed\.$/,
    );
    const large = eventWith(`"data":"${"é".repeat(524_288)}"`);
    assert.match(
      refusalOf(() => read(large), "PayloadTooLarge"),
      /^The request is too large: at most 1048576 bytes are allowed\.$/,
    );
  });

  test(`${name}: whatever JSON is published, it is accepted or refused, never worse`, () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    const known = fc.constantFrom("id", "type", "subject", "source", "time", "data", "__proto__");
    const members = fc.dictionary(fc.oneof(known, fc.string()), value, { noNullPrototype: true });
    fc.assert(
      fc.property(fc.oneof(value, fc.array(members)), members, (any, more) => {
        const inside = JSON.stringify(more).slice(1, -1) || '"data":0';
        for (const text of [JSON.stringify(any), `[${eventWith(inside)}]`]) {
          try {
            for (const { event } of read(text)) {
              JSON.parse(event.text);
              JSON.parse(renderEvent(event, "CloudEventSchemaV1_0").text);
              JSON.parse(renderEvent(event, "EventGridSchema").text);
            }
          } catch (error) {
            assert.ok(error instanceof Refusal, String(error));
          }
        }
      }),
    );
  });
}
