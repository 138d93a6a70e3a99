import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { makeEvent, subscriptionDraft } from "../../../test/contract/fixture.ts";
import type { Delivery, LastAttempt } from "../delivery/delivery.ts";
import type { Event } from "../event.ts";
import type { Subscription } from "../subscription.ts";
import { deadLetterOf, deadLetterPath, deadLettersOf, type GivenUp } from "./record.ts";

const notFound = { number: 1, outcome: "NotFound", status: null };

const plainText =
  '{"id":"a","topic":"/t","subject":"s","data":null,"eventType":"x",' +
  '"eventTime":"2021-07-01T12:00:00Z","dataVersion":"","metadataVersion":"1"}';

function givenUp(event: Partial<Event>, rest: Partial<Omit<GivenUp, "event">> = {}): GivenUp {
  const made = makeEvent("e", { text: plainText, ...event });
  return { event: made, last: null, reason: "TimeToLiveExceeded", ...rest };
}

/** An example of the specification as we write it: on one line, with times of milliseconds. */
function asWritten(example: string): string {
  const compact = JSON.stringify(JSON.parse(example));
  return compact.replace(/(Time":"[^"]*\.\d{3})\d{4}Z"/gi, '$10000Z"');
}

test("a dead letter in the Event Grid schema is the service's own example (L-6)", () => {
  const text =
    '{"id":"93902694-901e-008f-6f95-7153a806873c","topic":"/subscriptions/1/topics/t",' +
    '"subject":"/blobs/1","data":{"size":1.0,"name":"\\u00fc"},"eventType":"Created",' +
    '"eventTime":"2020-08-13T17:18:13.1647262Z","dataVersion":"","metadataVersion":"1"}';
  const example = `{
    "deadLetterReason": "MaxDeliveryAttemptsExceeded", "deliveryAttempts": 1,
    "lastDeliveryOutcome": "NotFound", "publishTime": "2020-08-13T17:18:14.0265758Z",
    "lastDeliveryAttemptTime": "2020-08-13T17:18:14.0465788Z" }`;
  const record = deadLetterOf(
    givenUp(
      { text, publishedAt: Date.parse("2020-08-13T17:18:14.026Z") },
      {
        reason: "MaxDeliveryAttemptsExceeded",
        last: { ...notFound, at: Date.parse("2020-08-13T17:18:14.046Z") },
      },
    ),
    "EventGridSchema",
  );
  assert.equal(record, `${text.slice(0, -1)},${asWritten(example).slice(1)}`);
});

test("a dead letter of a CloudEvent is the service's own example, and its last time (L-7)", () => {
  const example = `
    { "id": "caee971c-3ca0-4254-8f99-1395b394588e", "source": "mysource", "dataversion": "1.0",
      "subject": "mySubject", "type": "fooEventType", "datacontenttype": "application/json",
      "data": { "prop1": "value1", "prop2": 5 },
      "deadletterreason": "MaxDeliveryAttemptsExceeded", "deliveryattempts": 1,
      "lastdeliveryoutcome": "NotFound", "publishtime": "2020-08-13T21:21:36.4018726Z" }`;
  const publishedAt = Date.parse("2020-08-13T21:21:36.401Z");
  const whole = asWritten(example);
  const record = deadLetterOf(
    givenUp(
      {
        schema: "CloudEventSchemaV1_0",
        text: `${whole.slice(0, whole.indexOf(',"deadletterreason"'))}}`,
        publishedAt,
      },
      { reason: "MaxDeliveryAttemptsExceeded", last: { ...notFound, at: publishedAt + 20 } },
    ),
    "CloudEventSchemaV1_0",
  );
  const lastTime = ',"lastdeliveryattempttime":"2020-08-13T21:21:36.4210000Z"}';
  assert.equal(record, `${whole.slice(0, -1)}${lastTime}`);
});

test("a dead letter of a custom schema is the service's own example (L-8)", () => {
  const example = `
    { "id": "8bc07e6f-0885-4729-90e4-7c3f052bd754", "eventTime": "2020-08-13T18:11:29.4121391Z",
      "eventType": "myEventType", "dataVersion": "1.0", "metadataVersion": "1",
      "topic": "/subscriptions/.../topics/myCustomSchemaTopic", "subject": "subjectDefault",
      "deadLetterReason": "MaxDeliveryAttemptsExceeded", "deliveryAttempts": 1,
      "lastDeliveryOutcome": "NotFound", "publishTime": "2020-08-13T18:11:29.4121391Z",
      "lastDeliveryAttemptTime": "2020-08-13T18:11:29.4277644Z",
      "data": { "prop1": "my property", "prop2": 5, "myEventType": "fooEventType" } }`;
  const publishedAt = Date.parse("2020-08-13T18:11:29.412Z");
  const event: Partial<Event> = {
    schema: "CustomEventSchema",
    text: '{"prop1":"my property","prop2":5,"myEventType":"fooEventType"}',
    envelope:
      '{"id":"8bc07e6f-0885-4729-90e4-7c3f052bd754",' +
      '"topic":"/subscriptions/.../topics/myCustomSchemaTopic","subject":"subjectDefault",' +
      '"eventType":"myEventType","eventTime":"2020-08-13T18:11:29.4120000Z",' +
      '"dataVersion":"1.0","metadataVersion":"1"}',
    publishedAt,
  };
  const last = { ...notFound, at: Date.parse("2020-08-13T18:11:29.427Z") };
  const given = givenUp(event, { reason: "MaxDeliveryAttemptsExceeded", last });
  for (const schema of ["CustomInputSchema", "EventGridSchema"] as const) {
    assert.equal(deadLetterOf(given, schema), asWritten(example), schema);
  }
  const asCloudEvent = JSON.parse(deadLetterOf(given, "CloudEventSchemaV1_0"));
  assert.equal(asCloudEvent.type, "myEventType");
  assert.equal(asCloudEvent.deadletterreason, "MaxDeliveryAttemptsExceeded");
});

test("an event converted for its subscriber is kept as it was sent (L-7)", () => {
  const record = JSON.parse(deadLetterOf(givenUp({}), "CloudEventSchemaV1_0"));
  assert.equal(record.specversion, "1.0");
  assert.equal(record.deadletterreason, "TimeToLiveExceeded");
  assert.equal(record.deadLetterReason, undefined);
});

test("the last status is told where there was one, under either spelling (L-6, L-7)", () => {
  const last: LastAttempt = { at: 1_600_000_000_000, number: 3, outcome: "TimedOut", status: 408 };
  const given = givenUp({}, { last, reason: "MaxDeliveryAttemptsExceeded" });
  const members = (record: string) => Object.entries(JSON.parse(record)).slice(-6);
  assert.deepEqual(members(deadLetterOf(given, "EventGridSchema")), [
    ["deadLetterReason", "MaxDeliveryAttemptsExceeded"],
    ["deliveryAttempts", 3],
    ["lastDeliveryOutcome", "TimedOut"],
    ["lastHttpStatusCode", 408],
    ["publishTime", "2021-07-01T12:00:00.0000000Z"],
    ["lastDeliveryAttemptTime", "2020-09-13T12:26:40.0000000Z"],
  ]);
  assert.deepEqual(
    members(deadLetterOf(given, "CloudEventSchemaV1_0")).map(([name]) => name),
    [
      "deadletterreason",
      "deliveryattempts",
      "lastdeliveryoutcome",
      "lasthttpstatuscode",
      "publishtime",
      "lastdeliveryattempttime",
    ],
  );
});

test("an event that was never sent has no attempt, no status and no last time (L-6)", () => {
  const record = JSON.parse(deadLetterOf(givenUp({}), "EventGridSchema"));
  assert.equal(record.deliveryAttempts, 0);
  assert.equal(record.lastDeliveryOutcome, "Probation");
  assert.equal("lastHttpStatusCode" in record, false);
  assert.equal("lastDeliveryAttemptTime" in record, false);
});

test("a dead letter published again and given up again has each name once (L-7)", () => {
  const cloudEvent: Partial<Event> = {
    schema: "CloudEventSchemaV1_0",
    text: '{ "id": "a", "data": 1.0, "source": "s", "specversion": "1.0", "type": "t" }',
  };
  const last = { at: 0, number: 2, outcome: "Busy", status: 503 };
  const first = deadLetterOf(givenUp(cloudEvent, { last }), "CloudEventSchemaV1_0");
  const again = deadLetterOf(
    givenUp({ ...cloudEvent, text: first }, { reason: "MaxDeliveryAttemptsExceeded" }),
    "CloudEventSchemaV1_0",
  );
  assert.equal(
    again,
    '{"id":"a","data":1.0,"source":"s","specversion":"1.0","type":"t",' +
      '"deadletterreason":"MaxDeliveryAttemptsExceeded","deliveryattempts":0,' +
      '"lastdeliveryoutcome":"Probation","publishtime":"2021-07-01T12:00:00.0000000Z"}',
  );
});

test("whatever an event holds, its record is JSON with the event in it (L-6, L-7, L-8)", () => {
  const members = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(members, fc.constantFrom("eg", "ce", "custom"), (own, form) => {
      const value = { id: "e", ...own };
      const text = JSON.stringify(value);
      const last = { ...notFound, at: 1 };
      if (form === "custom") {
        const event = { schema: "CustomEventSchema", text, envelope: '{"id":"made up"}' } as const;
        const record = JSON.parse(deadLetterOf(givenUp(event, { last }), "CustomInputSchema"));
        assert.deepEqual(record.data, JSON.parse(text));
        return;
      }
      const isCloudEvent = form === "ce";
      const schema = isCloudEvent ? "CloudEventSchemaV1_0" : "EventGridSchema";
      const record = deadLetterOf(givenUp({ schema, text }, { last }), schema);
      const parsed = JSON.parse(record);
      for (const [name, member] of Object.entries(JSON.parse(text))) {
        assert.deepEqual(parsed[name], member, name);
      }
      assert.equal(
        isCloudEvent ? parsed.deadletterreason : parsed.deadLetterReason,
        "TimeToLiveExceeded",
      );
    }),
  );
});

test("a blob holds the records of a parcel as an array, also of one", () => {
  const subscription = { ...subscriptionDraft({}), id: 1, revision: 1 };
  const deliveries = ["a", "b"].map((id) => givenUp({ systemId: id }) as Delivery);
  for (const some of [deliveries, deliveries.slice(1)]) {
    const records = some.map((delivery) => deadLetterOf(delivery, "EventGridSchema"));
    assert.equal(deadLettersOf({ subscription, deliveries: some }), `[${records.join(",")}]`);
  }
});

test("a blob's path has the name in capitals and the hour in UTC without leading zeros", () => {
  const id = "11111111-1111-1111-1111-111111111111";
  const table: [string, string, string][] = [
    ["my-blob-subscription", "2019-08-08T05:59:59.999Z", "MY-BLOB-SUBSCRIPTION/2019/8/8/5"],
    ["Billing2", "2030-12-31T23:00:00Z", "BILLING2/2030/12/31/23"],
    ["abc", "2030-01-01T00:30:00Z", "ABC/2030/1/1/0"],
  ];
  for (const [subscription, time, folder] of table) {
    const path = deadLetterPath({ topic: "t", subscription, at: Date.parse(time), id });
    assert.equal(path, `${folder}/${id}.json`);
  }
});

test("a letter of a namespace has its remarks beside the event, under its own path (N-50 to N-52)", () => {
  const publishedAt = Date.parse("2023-11-01T20:33:51.452Z");
  const at = Date.parse("2023-11-01T20:33:52.369Z");
  const text = '{"specversion":"1.0","id":"A234","source":"/mycontext","type":"t","data":{}}';
  const schema = "CloudEventSchemaV1_0" as const;
  const event = makeEvent("e", { schema, publishedAt, text });
  const last = { at, number: 1, outcome: "Received", status: null };
  const destinationOfQueue = { kind: "pull", lockMs: 60_000 } as const;
  const names = { topic: "shop/orders", name: "billing", destination: destinationOfQueue };
  const queue: Subscription = { ...subscriptionDraft(names), id: 1, revision: 1 };
  const letter = (over: Partial<GivenUp>, subscription: Subscription = queue) => {
    const reason = "MaxDeliveryAttemptsExceeded";
    const delivery = { event, last, reason, ...over } as unknown as Delivery;
    return JSON.parse(deadLettersOf({ subscription, deliveries: [delivery] }))[0];
  };
  assert.deepEqual(letter({}), {
    deadLetterProperties: {
      deadletterreason: "Maximum delivery attempts was exceeded.",
      deliveryattempts: 1,
      deliveryresult: "Event was not acknowledged nor rejected.",
      publishutc: "2023-11-01T20:33:51.4520000Z",
      deliveryattemptutc: "2023-11-01T20:33:52.3690000Z",
    },
    event: JSON.parse(text),
  });
  const rejected = letter({ reason: "Rejected", last: { ...last, outcome: "Rejected" } });
  assert.partialDeepStrictEqual(rejected.deadLetterProperties, {
    deadletterreason: "Event was rejected.",
    deliveryresult: "Rejected",
  });
  const old = letter({ reason: "TimeToLiveExceeded", last: null }).deadLetterProperties;
  assert.equal(old.deadletterreason, "Event time to live has expired.");
  assert.equal(old.deliveryattempts, 0);
  assert.ok(!("deliveryattemptutc" in old));
  const headers = [
    { name: "custom-header-1", kind: "static", value: "value1", isSecret: false },
    { name: "hidden", kind: "static", value: "s3cret", isSecret: true },
  ] as const;
  const destination = { kind: "webhook", url: "https://a.test" } as const;
  const pushed = letter(
    { reason: "UndeliverableDueToHttpUnauthorized", last: { ...last, outcome: "Unauthorized" } },
    { ...queue, destination, headers },
  );
  assert.deepEqual(pushed.customDeliveryProperties, { "custom-header-1": "value1" });
  assert.partialDeepStrictEqual(pushed.deadLetterProperties, {
    deadletterreason: "Undeliverable due to client error",
    deliveryresult: "Unauthorized",
  });
  const path = deadLetterPath({ topic: "shop/orders", subscription: "billing", at, id: "x" });
  assert.equal(path, "shop/orders/billing/2023/11/1/20/x.json");
});
