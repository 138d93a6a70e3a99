// Blobs of dead letters that the real program has written, byte by byte against the service's own
// examples of L-6, L-7 and L-8. The clock is set to the moments of the examples.
//
// What is brought into line before the bytes are compared, and why:
// - the examples are printed over several lines, and ours are not: theirs is taken as compact JSON;
// - the service's times have seven digits, our clock three: the last four of theirs become zeros;
// - on the virtual clock an attempt ends when it began, so the last attempt is at the publish;
// - we also tell the last status (`lastHttpStatusCode`), as older captures of the service have it;
// - a CloudEvent has its `specversion` and its last attempt, which the example leaves out;
// - of the custom event, the id is made up and the topic's id is shortened in the example.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { startProgram } from "./fixtures/program.ts";
import { openReceiver } from "./fixtures/receiver.ts";

/** The examples as they are published; of the first, only what is added to the event. */
const examples = {
  eventGrid: `
    { "deadLetterReason": "MaxDeliveryAttemptsExceeded", "deliveryAttempts": 1,
      "lastDeliveryOutcome": "NotFound", "publishTime": "2020-08-13T17:18:14.0265758Z",
      "lastDeliveryAttemptTime": "2020-08-13T17:18:14.0465788Z" }`,
  custom: `
    { "id": "8bc07e6f-0885-4729-90e4-7c3f052bd754", "eventTime": "2020-08-13T18:11:29.4121391Z",
      "eventType": "myEventType", "dataVersion": "1.0", "metadataVersion": "1",
      "topic": "/subscriptions/.../topics/myCustomSchemaTopic", "subject": "subjectDefault",
      "deadLetterReason": "MaxDeliveryAttemptsExceeded", "deliveryAttempts": 1,
      "lastDeliveryOutcome": "NotFound", "publishTime": "2020-08-13T18:11:29.4121391Z",
      "lastDeliveryAttemptTime": "2020-08-13T18:11:29.4277644Z",
      "data": { "prop1": "my property", "prop2": 5, "myEventType": "fooEventType" } }`,
  cloudEvent: `
    { "id": "caee971c-3ca0-4254-8f99-1395b394588e", "source": "mysource", "dataversion": "1.0",
      "subject": "mySubject", "type": "fooEventType", "datacontenttype": "application/json",
      "data": { "prop1": "value1", "prop2": 5 },
      "deadletterreason": "MaxDeliveryAttemptsExceeded", "deliveryattempts": 1,
      "lastdeliveryoutcome": "NotFound", "publishtime": "2020-08-13T21:21:36.4018726Z" }`,
};

/** On one line, with our digits, and the last attempt at the publish. */
function inOurForm(example: string): string {
  const compact = JSON.stringify(JSON.parse(example));
  const times = compact.replace(/(\.\d{3})\d{4}Z"/g, '$10000Z"');
  const [, publishTime = ""] = /"publishTime":("[^"]*")/.exec(times) ?? [];
  return times.replace(
    /"lastDeliveryAttemptTime":"[^"]*"/,
    `"lastDeliveryAttemptTime":${publishTime}`,
  );
}

const key = "blob-key";
const accounts = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Storage/storageAccounts";

/** A broker that gives up after one attempt at an endpoint that is not there, and its blobs. */
async function openScene(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-blobs-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const receiver = await openReceiver(t);
  receiver.answer = () => 404;
  const subscription = {
    destination: { endpointType: "WebHook", properties: { endpointUrl: receiver.url } },
    retryPolicy: { maxDeliveryAttempts: 1 },
    deadLetterDestination: {
      endpointType: "StorageBlob",
      properties: { resourceId: `${accounts}/letters`, blobContainerName: "box" },
    },
  };
  const topic = (name: string, more: object) => ({
    [name]: { key1: key, subscriptions: { [name]: subscription }, ...more },
  });
  const properties = {
    eventType: { defaultValue: "myEventType" },
    subject: { defaultValue: "subjectDefault" },
    dataVersion: { defaultValue: "1.0" },
  };
  const inputSchemaMapping = { inputSchemaMappingType: "Json", properties };
  const config = join(folder, "config.json");
  const topics = {
    ...topic("grid", {}),
    ...topic("clouds", { inputSchema: "CloudEventSchemaV1_0" }),
    ...topic("myCustomSchemaTopic", { inputSchema: "CustomEventSchema", inputSchemaMapping }),
  };
  const storageAccounts = { letters: { folder: join(folder, "letters") } };
  writeFileSync(config, JSON.stringify({ topics, storageAccounts }));
  const { url, end } = await startProgram([
    ...["--config", config, "--data", join(folder, "data"), "--clock", "virtual"],
    ...["--clock-start", "2020-08-13T17:00:00Z"],
  ]);
  t.after(() => end("SIGKILL"));
  const moveClock = async (to: object) => {
    const answer = await fetch(`${url}/clock`, { method: "POST", body: JSON.stringify(to) });
    assert.equal(answer.status, 200, await answer.text());
  };
  return {
    receiver,
    /** The one blob that a publish at that moment ends in, and when its five minutes are over. */
    async blobOf(name: string, at: string, body: string, contentType = "application/json") {
      await moveClock({ to: at });
      const headers = { "aeg-sas-key": key, "content-type": contentType };
      const answer = await fetch(`${url}/topics/${name}/api/events`, {
        method: "POST",
        headers,
        body,
      });
      assert.equal(answer.status, 200, await answer.text());
      await moveClock({ advance: "PT5M" });
      const place = join(folder, "letters/box", name.toUpperCase());
      const files = readdirSync(place, { recursive: true, encoding: "utf8" });
      const [path = "", ...others] = files.filter((each) => each.endsWith(".json"));
      assert.deepEqual(others, []);
      assert.match(path, /^2020\/8\/13\/\d+\/[0-9a-f-]{36}\.json$/);
      return readFileSync(join(place, path), "utf8");
    },
  };
}

const status = ',"lastHttpStatusCode":404';

test("a blob of an Event Grid event is the example, byte for byte (L-6)", async (t) => {
  const { blobOf, receiver } = await openScene(t);
  const event =
    '{"id":"93902694-901e-008f-6f95-7153a806873c","subject":"/blobs/1","eventType":"Created",' +
    '"eventTime":"2020-08-13T17:18:13.1647262Z","data":{"size":1.0},"dataVersion":""}';
  const blob = await blobOf("grid", "2020-08-13T17:18:14.026Z", event);
  assert.ok(blob.includes(status));
  const delivered = receiver.received[0]?.body ?? "";
  const expected = `${delivered.slice(0, -2)},${inOurForm(examples.eventGrid).slice(1)}]`;
  assert.equal(blob.replace(status, ""), expected);
});

test("a blob of a CloudEvent is the example, byte for byte (L-7)", async (t) => {
  const { blobOf } = await openScene(t);
  const example = inOurForm(examples.cloudEvent);
  const version = ',"specversion":"1.0"';
  const event = `${example.slice(0, example.indexOf(',"deadletterreason"'))}${version}}`;
  const type = "application/cloudevents+json";
  const blob = await blobOf("clouds", "2020-08-13T21:21:36.401Z", event, type);
  const last = ',"lastdeliveryattempttime":"2020-08-13T21:21:36.4010000Z"';
  for (const more of [version, status.toLowerCase(), last]) assert.ok(blob.includes(more), more);
  const bare = [version, status.toLowerCase(), last].reduce(
    (text, more) => text.replace(more, ""),
    blob,
  );
  assert.equal(bare, `[${example}]`);
});

test("a blob of a custom event is the example, byte for byte (L-8)", async (t) => {
  const { blobOf } = await openScene(t);
  const example = inOurForm(examples.custom);
  const event = JSON.stringify(JSON.parse(example).data);
  const blob = await blobOf("myCustomSchemaTopic", "2020-08-13T18:11:29.412Z", event);
  const topic =
    "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn" +
    "/providers/Microsoft.EventGrid/topics/myCustomSchemaTopic";
  for (const more of [status, topic]) assert.ok(blob.includes(more), more);
  const shortened = blob
    .replace(status, "")
    .replace(topic, "/subscriptions/.../topics/myCustomSchemaTopic")
    .replace(/"id":"[0-9a-f-]{36}"/, '"id":"8bc07e6f-0885-4729-90e4-7c3f052bd754"');
  assert.equal(shortened, `[${example}]`);
});
