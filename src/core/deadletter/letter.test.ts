import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { makeEvent } from "../../../test/contract/fixture.ts";
import type { DeliverySchema, Event } from "../event.ts";
import { type Letter, readLetters } from "./letter.ts";
import { deadLetterOf, type GivenUp } from "./record.ts";
import { eventOfLetter, turnsOf, whyNotAs } from "./redrive.ts";

const last = { at: 1_600_000_000_026, number: 3, outcome: "Busy", status: 503 };
const stamp = { systemId: "new", at: 1_900_000_000_000 };
const topicArmId = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.EventGrid/topics/t";

function lettersIn(blob: string): readonly Letter[] {
  return readLetters(blob).map((read) => {
    assert.equal(read.kind, "letter", read.kind === "unreadable" ? read.why : "");
    return (read as { letter: Letter }).letter;
  });
}

function whyOf(blob: string): readonly string[] {
  return readLetters(blob).map((read) => (read.kind === "unreadable" ? read.why : "letter"));
}

const blanks = fc.stringMatching(/^[ \n\t]{0,3}$/);

/** The same value in another spelling, as publishers have them. */
const spelt = fc
  .tuple(fc.jsonValue(), blanks)
  .map(([value, blank]) => `${blank}${JSON.stringify(value, null, blank)}${blank}`);

const events: Readonly<
  Record<string, (data: string) => readonly [Partial<Event>, DeliverySchema]>
> = {
  eventGrid: (data) => [
    {
      text:
        `{"id":"a","topic":"${topicArmId}","subject":"s","data":${data},"eventType":"x",` +
        '"eventTime":"2021-07-01T12:00:00.1234567Z","dataVersion":"2","metadataVersion":"1"}',
      dataVersion: "2",
    },
    "EventGridSchema",
  ],
  cloudEvent: (data) => [
    {
      schema: "CloudEventSchemaV1_0",
      dataVersion: "",
      text: `{ "id": "a", "source" :"/s", "specversion":"1.0","type":"t", "data":${data}, "x": 1 }`,
    },
    "CloudEventSchemaV1_0",
  ],
  custom: (data) => [
    {
      schema: "CustomEventSchema",
      text: `{ "own": ${data} }`,
      envelope:
        `{"id":"made up","topic":"${topicArmId}","subject":"s","eventType":"x",` +
        '"eventTime":"2021-07-01T12:00:00Z","dataVersion":"1.0","metadataVersion":"1"}',
      dataVersion: "1.0",
    },
    "CustomInputSchema",
  ],
};

test("what is written and read back is the event, letter by letter (L-6, L-7, L-8)", () => {
  fc.assert(
    fc.property(spelt, fc.constantFrom(...Object.keys(events)), (data, form) => {
      const [fields, delivery] = events[form]?.(data) ?? assert.fail();
      const event = makeEvent("e", fields);
      const given: GivenUp = { event, last, reason: "MaxDeliveryAttemptsExceeded" };
      const record = deadLetterOf(given, delivery);
      const [letter, second] = lettersIn(`[${record},${record}]`);
      assert.ok(letter);
      assert.deepEqual(second, letter);
      const goal = { topic: "t", topicArmId, inputSchema: event.schema };
      const again = eventOfLetter(letter, goal, stamp);
      assert.deepEqual(again, {
        ...event,
        ...{ topic: "t", systemId: "new", publishedAt: stamp.at },
      });
      assert.equal(whyNotAs(letter, event.schema, delivery), null);
      assert.equal(deadLetterOf({ ...given, event: { ...event } }, delivery), record);
      const { reason, outcome, status, attempts, publishedAt, lastAttemptAt } = letter;
      assert.deepEqual(
        [reason, outcome, status, attempts, publishedAt, lastAttemptAt],
        ["MaxDeliveryAttemptsExceeded", "Busy", 503, 3, event.publishedAt, last.at],
      );
    }),
  );
});

/** As the service's documentation shows it: what was added stands before the data. */
const real = `{
  "id": "93902694", "eventTime": "2020-08-13T17:18:13.1647262Z", "eventType": "Created",
  "dataVersion": "", "metadataVersion": "1", "topic": "${topicArmId}", "subject": "/blobs/1",
  "deadLetterReason": "MaxDeliveryAttemptsExceeded", "deliveryAttempts": 1,
  "lastDeliveryOutcome": "NotFound", "publishTime": "2020-08-13T17:18:14.0265758Z",
  "data": { "size": 1.0, "url": "\\u0061" }
}`;

test("a record of the service's own is read, wherever its remarks stand (L-6)", () => {
  const [letter] = lettersIn(`[${real}]`);
  assert.equal(
    letter?.text,
    '{"id":"93902694","eventTime":"2020-08-13T17:18:13.1647262Z","eventType":"Created",' +
      `"dataVersion":"","metadataVersion":"1","topic":"${topicArmId}","subject":"/blobs/1",` +
      '"data":{ "size": 1.0, "url": "\\u0061" }}',
  );
  assert.equal(letter?.publishedAt, Date.parse("2020-08-13T17:18:14.026Z"));
  assert.equal(letter?.lastAttemptAt, null, "a time that was left out is not known");
  assert.equal(letter?.status, null);
});

test("the service's example of a CloudEvent has no version, and gets one (L-7)", () => {
  const [letter] = lettersIn(`[{ "id": "caee", "source": "mysource", "type": "foo",
    "data": { "prop2": 5 }, "deadletterreason": "MaxDeliveryAttemptsExceeded",
    "deliveryattempts": 1, "lastdeliveryoutcome": "NotFound",
    "publishtime": "2020-08-13T21:21:36.4018726Z" }]`);
  assert.equal(letter?.form, "cloudEvent");
  assert.equal(
    letter?.text,
    '{"specversion":"1.0","id":"caee","source":"mysource","type":"foo","data":{ "prop2": 5 }}',
  );
});

test("an Event Grid event with a member of its own called source stays one", () => {
  const [letter] = lettersIn(real.replace('"eventType"', '"source": "x", "eventType"'));
  assert.equal(letter?.form, "eventGrid");
});

test("an object, an object to a line, a byte order mark: all are blobs", () => {
  const line = JSON.stringify(JSON.parse(real));
  for (const blob of [real, `\uFEFF[${real}]`, ` \n${real}\n`, `${line}\r\n${line}\r\n`]) {
    const letters = lettersIn(blob);
    assert.equal(letters[0]?.id, "93902694", blob);
    assert.equal(letters.length, blob.startsWith(line) ? 2 : 1);
  }
});

test("names in another letter case are corrected", () => {
  const [letter] = lettersIn(
    '[{"Id":"1","EventType":"x","Subject":"s","EventTime":"2021-07-01T12:00:00Z","Data":{"Id":2},' +
      '"DeadLetterReason":"TimeToLiveExceeded","DeliveryAttempts":"4"}]',
  );
  assert.equal(
    letter?.text,
    '{"id":"1","eventType":"x","subject":"s","eventTime":"2021-07-01T12:00:00Z","data":{"Id":2}}',
  );
  assert.deepEqual([letter?.reason, letter?.attempts], ["TimeToLiveExceeded", 4]);
});

test("the records of a namespace are read, with the event wrapped or not", () => {
  const remarks = `"deadLetterProperties": { "deadletterreason": "Maximum delivery attempts was
    exceeded.", "deliveryattempts": 1, "deliveryresult": "Event was not acknowledged nor rejected.",
    "publishutc": "2023-11-01T20:33:51.4521467Z", "deliveryattemptutc": "2023-11-01T20:33:52Z" },
    "customDeliveryProperties": { "custom-header-1": "value1" }`.replaceAll("\n    ", " ");
  const event = '"specversion": "1.0", "id": "e1", "type": "t", "source": "/s"';
  const wrapped = `[{ ${remarks}, "event": { ${event} } }]`;
  const flat = `[{ ${event}, ${remarks.replace("deadLetterP", "deadletterP")} }]`;
  for (const blob of [wrapped, flat]) {
    const [letter] = lettersIn(blob);
    assert.deepEqual(
      [letter?.form, letter?.id, letter?.outcome, letter?.lastAttemptAt],
      ["cloudEvent", "e1", "Event was not acknowledged nor rejected.", 1_698_870_832_000],
    );
    assert.equal(letter?.text.replace(/ }$/, "}"), `{ ${event}}`);
  }
});

test("what cannot be read is told in words, beside what can", () => {
  assert.deepEqual(whyOf(""), ["The blob is empty."]);
  assert.deepEqual(whyOf("[]"), []);
  assert.deepEqual(whyOf("<xml/>"), ["The blob is not JSON."]);
  assert.deepEqual(whyOf(`[${real},null,[1],{"id":"1"}]`), [
    "letter",
    "The record is not an object.",
    "The record is not an object.",
    "The record has no deadLetterReason.",
  ]);
  assert.deepEqual(whyOf('{"id":"1","deadLetterReason":"r"}'), ["The record has no eventType."]);
  const line = JSON.stringify(JSON.parse(real));
  assert.deepEqual(whyOf(`${line}\n{"id":`), ["letter", "Line 2 is not JSON."]);
});

test("whatever a blob holds, reading it throws nothing", () => {
  const members = fc.dictionary(
    fc.constantFrom("id", "deadLetterReason", "eventType", "event", "deadLetterProperties", "x"),
    fc.jsonValue(),
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        fc.array(members).map((all) => JSON.stringify(all)),
      ),
      (blob) => {
        for (const { record, kind } of readLetters(blob))
          assert.ok(kind !== "letter" || record !== "");
      },
    ),
  );
});

test("an Event Grid record goes to who takes it, and is refused in words to who does not", () => {
  const [letter] = lettersIn(`[${real}]`);
  assert.ok(letter);
  assert.equal(whyNotAs(letter, "EventGridSchema", "CloudEventSchemaV1_0"), null);
  assert.equal(whyNotAs(letter, "CustomEventSchema", "CustomInputSchema"), null);
  assert.equal(
    whyNotAs({ ...letter, form: "cloudEvent" }, "EventGridSchema", "EventGridSchema"),
    "An event in the schema CloudEventSchemaV1_0 cannot be delivered as EventGridSchema.",
  );
});

test("a record without a topic is stamped with that of its new one", () => {
  const [letter] = lettersIn(
    '{"id":"1","subject":"s","eventType":"x","eventTime":"2021-07-01T12:00:00Z","data":1.0,' +
      '"deadLetterReason":"r"}',
  );
  assert.ok(letter);
  const goal = { topic: "t", topicArmId, inputSchema: "EventGridSchema" } as const;
  assert.equal(
    eventOfLetter(letter, goal, stamp).text,
    '{"id":"1","subject":"s","eventType":"x","eventTime":"2021-07-01T12:00:00Z","data":1.0,' +
      `"topic":"${topicArmId}"}`,
  );
});

test("a redrive keeps its pace at any rate", () => {
  for (const perSecond of [0.1, 1, 9, 10, 25, 100, 1_000]) {
    const { together, gapMs } = turnsOf(perSecond);
    assert.ok(Math.abs((together / gapMs) * 1_000 - perSecond) < 1e-9, String(perSecond));
    assert.ok(gapMs >= 99, `${perSecond}: ${gapMs}`);
  }
});
