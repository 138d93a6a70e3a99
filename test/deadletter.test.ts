// Dead letters end to end: the real program on the virtual clock, endpoints that fail on real
// sockets, and what is found afterwards in Azurite and in a folder.

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join, relative, sep } from "node:path";
import { test } from "node:test";
import { startAzurite } from "./fixtures/azurite.ts";
import {
  boxIn,
  type Json,
  makeFolder,
  openScene,
  order,
  sendTo,
  startAt,
} from "./fixtures/dead-letter-broker.ts";
import { openReceiver } from "./fixtures/receiver.ts";
import { freePort, serve } from "./fixtures/webhook.ts";

const accounts = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Storage/storageAccounts";
const guid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

/** The files below a folder with their text, by their path as a blob would be named. */
function filesIn(folder: string): ReadonlyMap<string, string> {
  mkdirSync(folder, { recursive: true });
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return new Map(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [relative(folder, path).replaceAll(sep, "/"), readFileSync(path, "utf8")]),
  );
}

test("after five minutes each schema is in Azurite and in a folder, in one form (L-1 to L-8)", async (t) => {
  const azurite = await startAzurite(t);
  await azurite.makeContainer("box");
  const receiver = await openReceiver(t);
  receiver.answer = () => 404;
  const folder = makeFolder(t);
  const oneAttempt = { retryPolicy: { maxDeliveryAttempts: 1 } };
  const both = (more: Json = {}) => ({
    subscriptions: {
      "to-blob": sendTo(receiver.url, {
        deadLetterDestination: boxIn("devstoreaccount1"),
        ...more,
      }),
      "to-folder": sendTo(receiver.url, { deadLetterDestination: boxIn("letters"), ...more }),
    },
  });
  const properties = {
    eventType: { sourceField: "myEventType" },
    subject: { defaultValue: "subjectDefault" },
    dataVersion: { defaultValue: "1.0" },
  };
  const { publish, advance, factsNamed } = await openScene(t, {
    folder,
    storageAccounts: {
      devstoreaccount1: { connectionString: azurite.connectionString },
      letters: { folder: join(folder, "dead") },
    },
    topics: {
      orders: both(oneAttempt),
      clouds: { inputSchema: "CloudEventSchemaV1_0", ...both(oneAttempt) },
      customs: {
        inputSchema: "CustomEventSchema",
        inputSchemaMapping: { inputSchemaMappingType: "Json", properties },
        ...both(oneAttempt),
      },
    },
  });
  const cloudEvent =
    '{"specversion":"1.0","id":"caee971c","source":"mysource","dataversion":"1.0",' +
    '"subject":"mySubject","type":"fooEventType","datacontenttype":"application/json",' +
    '"data":{"prop1":"value1","prop2":5.0}}';
  const custom = '{ "prop1": "my property", "prop2": 5.0, "myEventType": "fooEventType" }';
  await publish("orders", [order("a"), order("b")]);
  await publish("clouds", cloudEvent, "application/cloudevents+json");
  await publish("customs", `[${custom}]`);
  await advance("PT4M59S");
  assert.equal((await azurite.blobs("box")).size, 0);
  assert.deepEqual([...filesIn(join(folder, "dead"))], []);
  const told = await advance("PT1S");
  assert.deepEqual([told.deadLettered, told.dropped], [8, 0]);

  const blobs = await azurite.blobs("box");
  const files = filesIn(join(folder, "dead", "box"));
  const hour = "2030/1/1/0";
  const form = (name: string) => new RegExp(`^${name}/${hour}/${guid.source}\\.json$`);
  for (const path of blobs.keys()) assert.match(path, form("TO-BLOB"));
  for (const path of files.keys()) assert.match(path, form("TO-FOLDER"));
  const inBlobs = [...blobs.values()].map(({ text }) => text).sort();
  assert.deepEqual(inBlobs, [...files.values()].sort());
  assert.equal(inBlobs.length, 3);
  assert.deepEqual(
    new Set([...blobs.values()].map(({ contentType }) => contentType)),
    new Set(["application/json; charset=utf-8"]),
  );

  const holding = (part: string) => inBlobs.find((text) => text.includes(part)) ?? "";
  const time = '"2030-01-01T00:00:00.0000000Z"';
  const remarks =
    '"deadLetterReason":"MaxDeliveryAttemptsExceeded","deliveryAttempts":1,' +
    '"lastDeliveryOutcome":"NotFound","lastHttpStatusCode":404,' +
    `"publishTime":${time},"lastDeliveryAttemptTime":${time}`;
  const sent = receiver.received.map(({ body }) => body);
  const asSent = (id: string) => sent.find((body) => body.includes(`"id":"${id}"`)) ?? "";
  const records = ["a", "b"].map((id) => `${asSent(id).slice(1, -2)},${remarks}}`);
  assert.equal(holding('"id":"a"'), `[${records.join(",")}]`);
  const lower = remarks.replace(/"(\w+)":/g, (name) => name.toLowerCase());
  assert.equal(holding("caee971c"), `[${cloudEvent.slice(0, -1)},${lower}}]`);
  const [wrapped] = JSON.parse(holding("my property"));
  assert.equal(
    holding("my property"),
    `[{"id":"${wrapped.id}","eventTime":"2030-01-01T00:00:00.0000000Z","eventType":"fooEventType",` +
      `"dataVersion":"1.0","metadataVersion":"1","topic":"${wrapped.topic}",` +
      `"subject":"subjectDefault",${remarks},"data":${custom}}]`,
  );
  assert.match(wrapped.id, guid);

  const facts = await factsNamed("delivery.deadLettered", 8);
  assert.equal(facts.length, 8);
  for (const { container, blob } of facts) {
    assert.equal(container, "box");
    assert.ok(blobs.has(blob as string) || files.has(blob as string), String(blob));
  }
});

test("a container made within four hours gets what waited for it (L-4)", async (t) => {
  const azurite = await startAzurite(t);
  const receiver = await openReceiver(t);
  receiver.answer = (_, count) => (count < 3 ? 503 : 400);
  const deadLetterDestination = boxIn("devstoreaccount1");
  const { publish, advance, factsNamed } = await openScene(t, {
    storageAccounts: { devstoreaccount1: { connectionString: azurite.connectionString } },
    topics: {
      orders: { subscriptions: { billing: sendTo(receiver.url, { deadLetterDestination }) } },
    },
  });
  await publish("orders", order("a"));
  await advance("PT3H");
  const attempts = await factsNamed("delivery.attempted", 20);
  const writes = attempts.filter(({ stage }) => stage === "deadLetter");
  assert.ok(writes.length > 10);
  for (const { status, detail, decision } of writes) {
    assert.deepEqual([status, detail, decision], [404, "ContainerNotFound", "retry"]);
  }
  await azurite.makeContainer("box");
  const told = await advance("PT5M30S");
  assert.deepEqual([told.deadLettered, told.dropped], [1, 0]);
  const [[path, blob] = ["", { text: "" }]] = [...(await azurite.blobs("box"))];
  assert.match(path, /^BILLING\/2030\/1\/1\/3\//);
  const [record] = JSON.parse(blob.text);
  assert.equal(record.deadLetterReason, "UndeliverableDueToHttpBadRequest");
  assert.deepEqual(
    [record.deliveryAttempts, record.lastDeliveryOutcome, record.lastHttpStatusCode],
    [3, "BadRequest", 400],
    "what it tells of is the subscriber, not the store",
  );
});

test("a store that is away for four hours loses the event, with its reason (L-4)", async (t) => {
  const receiver = await openReceiver(t);
  receiver.answer = () => 413;
  const nobody = `http://127.0.0.1:${await freePort()}/away`;
  const account = "DefaultEndpointsProtocol=http;AccountName=away;AccountKey=c2VjcmV0";
  const connectionString = `${account};BlobEndpoint=${nobody}`;
  const billing = sendTo(receiver.url, { deadLetterDestination: boxIn("away") });
  const { publish, advance, factsNamed } = await openScene(t, {
    storageAccounts: { away: { connectionString } },
    topics: { orders: { subscriptions: { billing } } },
  });
  await publish("orders", order("a"));
  const before = await advance("PT3H59M");
  assert.deepEqual([before.deadLettered, before.dropped], [0, 0]);
  const told = await advance("PT20M");
  assert.deepEqual([told.deadLettered, told.dropped, told.nextDueAt], [0, 1, null]);
  const [dropped] = await factsNamed("delivery.dropped", 1);
  assert.equal(dropped?.reason, "DeadLetterStoreUnavailable");
  assert.match(String(dropped?.words), /^DeadLetterStoreUnavailable: the store failed for 4 h/);
  const attempts = await factsNamed("delivery.attempted", 2);
  const write = attempts.find(({ stage }) => stage === "deadLetter");
  assert.equal(write?.why, "connection");
  assert.match(String(write?.detail), /ECONNREFUSED/);
  assert.ok(!JSON.stringify(attempts).includes("c2VjcmV0"));
});

test("a store that is forbidden, full, busy or slow is tried until it takes what waits (L-4)", async (t) => {
  const receiver = await openReceiver(t);
  receiver.answer = () => 400;
  const refuse = (status: number, code: string) => (response: ServerResponse) => {
    const error = `<Error><Code>${code}</Code><Message>m</Message></Error>`;
    response.writeHead(status, { "content-type": "application/xml", "x-ms-error-code": code });
    response.end(`<?xml version="1.0"?>${error}`);
  };
  const turns = [
    refuse(403, "AuthorizationFailure"),
    refuse(507, "InsufficientStorage"),
    refuse(503, "ServerBusy"),
    () => {},
    (response: ServerResponse) => response.writeHead(201, { etag: '"1"' }).end(),
  ];
  const taken: string[] = [];
  let turn = 0;
  const account = await serve(t, (response, { method, body }) => {
    // What looks whether the container is there is no blob.
    if (method !== "PUT") return void response.writeHead(200).end();
    taken.push(body);
    turns[turn++]?.(response);
  });
  const connectionString =
    "DefaultEndpointsProtocol=http;AccountName=odd;AccountKey=c2VjcmV0;" +
    `BlobEndpoint=http://127.0.0.1:${account.port}/odd`;
  const billing = sendTo(receiver.url, { deadLetterDestination: boxIn("odd") });
  const { publish, advance, factsNamed } = await openScene(t, {
    storageAccounts: { odd: { connectionString } },
    topics: { orders: { subscriptions: { billing } } },
    options: ["--clock-start", startAt, "--clock-patience", "PT5S"],
  });
  await publish("orders", order("a"));
  const told = await advance("PT1H");
  assert.deepEqual([told.deadLettered, told.dropped, told.nextDueAt], [1, 0, null]);
  const writes = (await factsNamed("delivery.attempted", 5)).filter(
    ({ stage }) => stage === "deadLetter",
  );
  assert.deepEqual(
    writes.map(({ status, why, detail, decision }) => [status ?? why, detail, decision]),
    [
      [403, "AuthorizationFailure", "retry"],
      [507, "InsufficientStorage", "retry"],
      [503, "ServerBusy", "retry"],
      ["timeout", "No answer came in time.", "retry"],
    ],
  );
  assert.equal(taken.length, 5);
  assert.equal(new Set(taken).size, 1, "the record is the same each time");
});

test("what was given up before a crash is written after it, as it would have been (L-3, P-13)", async (t) => {
  const receiver = await openReceiver(t);
  receiver.answer = () => 500;
  const folder = makeFolder(t);
  const deadLetterDestination = boxIn("letters");
  const retryPolicy = { maxDeliveryAttempts: 2 };
  const billing = sendTo(receiver.url, { deadLetterDestination, retryPolicy });
  const script = {
    folder,
    storageAccounts: { letters: { folder: join(folder, "dead") } },
    topics: { orders: { subscriptions: { billing } } },
  };
  const first = await openScene(t, script);
  await first.publish("orders", order("a"));
  await first.advance("PT1M");
  assert.equal(receiver.received.length, 2);
  assert.equal(await first.program.end("SIGKILL"), "SIGKILL");
  const options = ["--clock-start", "2030-01-01T05:59:00Z"];
  const second = await openScene(t, { ...script, options });
  await second.factsNamed("delivery.deadLettered", 1);
  assert.equal(receiver.received.length, 2);
  const [[path, text] = ["", ""]] = [...filesIn(join(folder, "dead", "box"))];
  assert.match(path, /^BILLING\/2030\/1\/1\/5\//, "the hour is that of the write");
  const [record] = JSON.parse(text);
  assert.equal(record.deadLetterReason, "MaxDeliveryAttemptsExceeded");
  assert.equal(record.deliveryAttempts, 2);
  assert.equal(record.publishTime, "2030-01-01T00:00:00.0000000Z");
  assert.match(record.lastDeliveryAttemptTime, /^2030-01-01T00:00:1\d\.\d{7}Z$/);
});

test("each blob raises an event of its account, and no blob of those does (L-5)", async (t) => {
  const receiver = await openReceiver(t);
  receiver.answer = () => 400;
  const folder = makeFolder(t);
  const deadLetterDestination = boxIn("letters");
  const watch = sendTo(`${receiver.url}/watch`, { deadLetterDestination });
  const { publish, advance } = await openScene(t, {
    folder,
    storageAccounts: {
      [`${accounts}/letters`]: { folder: join(folder, "dead"), subscriptions: { watch } },
    },
    topics: {
      orders: {
        subscriptions: { billing: sendTo(`${receiver.url}/hook`, { deadLetterDestination }) },
      },
    },
  });
  await publish("orders", order("a"));
  await advance("PT5M");
  const notices = () => receiver.received.filter(({ path }) => path === "/watch");
  const [notice] = notices();
  const [told] = JSON.parse(notice?.body ?? "[{}]");
  const [blob = ""] = [...filesIn(join(folder, "dead", "box")).keys()];
  assert.equal(told.eventType, "Microsoft.Storage.BlobCreated");
  assert.equal(told.topic, `${accounts}/letters`);
  assert.equal(told.subject, `/blobServices/default/containers/box/blobs/${blob}`);
  assert.equal(
    JSON.parse(readFileSync(new URL(told.data.url), "utf8"))[0].id,
    "a",
    "its URL leads to the dead letter",
  );
  await advance("P2D");
  assert.equal(notices().length, 1);
  const names = [...filesIn(join(folder, "dead", "box")).keys()].map((path) => path.split("/")[0]);
  assert.deepEqual(names.sort(), ["BILLING", "WATCH"]);
});
