// Dead letters read back and sent again, end to end: the real program on the virtual clock,
// endpoints on real sockets that fail and recover, dead letters in Azurite and in folders.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { BlobServiceClient } from "@azure/storage-blob";
import type {
  DeadLetterGroup,
  DeadLetterPage,
  DeadLetterView,
  RedriveView,
} from "../src/core/api/views.ts";
import { startAzurite } from "./fixtures/azurite.ts";
import {
  boxIn,
  type Json,
  makeFolder,
  openScene,
  order,
  type Scene,
  sendTo,
  startAt,
} from "./fixtures/dead-letter-broker.ts";
import { openReceiver, type Receiver } from "./fixtures/receiver.ts";
import { freePort, serve } from "./fixtures/webhook.ts";

const oneAttempt = { retryPolicy: { maxDeliveryAttempts: 1 } };

const idsIn = (receiver: Receiver, path: string) =>
  receiver.received
    .filter((request) => request.path === path)
    .flatMap(({ body }) => [JSON.parse(body)].flat().map((event: Json) => event.id));

/** An endpoint that fails until it is fixed, and dead letters in a folder. */
async function openFailing(
  t: Parameters<typeof openReceiver>[0],
  {
    topics = {},
    maxDeliveryAttempts = 1,
    maxEventsPerBatch = 1,
  }: {
    readonly topics?: Readonly<Record<string, Json>>;
    readonly maxDeliveryAttempts?: number;
    readonly maxEventsPerBatch?: number;
  } = {},
) {
  const receiver = await openReceiver(t);
  receiver.answer = () => 503;
  const folder = makeFolder(t);
  const properties = { endpointUrl: `${receiver.url}/billing`, maxEventsPerBatch };
  const billing = {
    destination: { endpointType: "WebHook", properties },
    deadLetterDestination: boxIn("letters"),
    retryPolicy: { maxDeliveryAttempts },
  };
  const script = {
    folder,
    storageAccounts: { letters: { folder: join(folder, "dead") } },
    topics: { orders: { subscriptions: { billing } }, ...topics },
  };
  return { receiver, folder, script, scene: await openScene(t, script) };
}

async function letterPage(scene: Scene, query = ""): Promise<DeadLetterPage> {
  return scene.ask<DeadLetterPage>("GET", `/dead-letters${query}`);
}

async function redriveOf(scene: Scene, id: string): Promise<RedriveView> {
  return scene.ask<RedriveView>("GET", `/redrives/${id}`);
}

test("what failed is listed, read, grouped, tried out and sent again, in Azurite and in a folder (L-6)", async (t) => {
  const azurite = await startAzurite(t);
  await azurite.makeContainer("box");
  const receiver = await openReceiver(t);
  receiver.answer = () => 503;
  const folder = makeFolder(t);
  const to = (path: string, account: string) =>
    sendTo(`${receiver.url}${path}`, { deadLetterDestination: boxIn(account), ...oneAttempt });
  const scene = await openScene(t, {
    folder,
    storageAccounts: {
      devstoreaccount1: { connectionString: azurite.connectionString },
      letters: { folder: join(folder, "dead") },
    },
    topics: {
      orders: {
        subscriptions: {
          "to-blob": to("/blob", "devstoreaccount1"),
          "to-folder": {
            ...to("/folder", "letters"),
            filter: { subjectBeginsWith: "orders/" },
          },
        },
      },
    },
  });
  const data = '{"amount":12.00,"big":12345678901234567890,"name":"\\u00fc"}';
  const event = `[{"id":"a","subject":"orders/1","eventType":"order.placed",
    "eventTime":"2029-12-31T23:59:59.1234567+00:00","data":${data},"dataVersion":"7"}]`;
  await scene.publish("orders", event);
  await scene.advance("PT5M");

  const { value, next, remarks } = await letterPage(scene);
  assert.deepEqual([value.length, next, remarks], [2, null, []]);
  const places = value.map(({ account, container, subscription }) => [
    account,
    container,
    subscription,
  ]);
  assert.deepEqual(places, [
    ["devstoreaccount1", "box", "TO-BLOB"],
    ["letters", "box", "TO-FOLDER"],
  ]);
  for (const view of value) {
    const { id, blob, account, container, subscription, ...rest } = view;
    assert.deepEqual(rest, {
      ...{ topic: "orders", eventId: "a", subject: "orders/1", type: "order.placed" },
      ...{ reason: "MaxDeliveryAttemptsExceeded", outcome: "Busy", status: 503, attempts: 1 },
      ...{ publishedAt: startAt, lastAttemptAt: startAt, writtenAt: startAt, redriven: 0 },
    });
    const one = await scene.ask<DeadLetterView>("GET", `/dead-letters/${id}`);
    const { record, ...shown } = one;
    assert.deepEqual(shown, view);
    assert.ok(record?.includes(`"data":${data}`), record);
  }
  const groups = await scene.ask<DeadLetterGroup[]>("GET", "/dead-letters/groups");
  assert.deepEqual(
    groups.find(({ subscription }) => subscription === "TO-FOLDER"),
    {
      ...{ reason: "MaxDeliveryAttemptsExceeded", outcome: "Busy", subscription: "TO-FOLDER" },
      ...{ topic: "orders", endpoint: `${receiver.url}/folder`, count: 1 },
      ...{ oldestAt: startAt, newestAt: startAt, isPartial: false },
    },
  );

  const before = receiver.received.length;
  const tried = await scene.ask<RedriveView>("POST", "/redrives", { query: {}, dryRun: true });
  assert.deepEqual(
    [tried.state, tried.total, tried.sent, tried.skipped, tried.sample],
    ["dryRun", 2, 0, 0, value],
  );
  assert.equal(receiver.received.length, before, "a dry run sends nothing");
  assert.deepEqual((await scene.ask<Json>("GET", "/redrives")).value, []);

  receiver.answer = () => 200;
  const asSent = receiver.received.map(({ body }) => body);
  const started = await scene.ask<RedriveView>("POST", "/redrives", { query: {} }, 202);
  assert.equal(started.state, "running");
  await scene.advance("PT1S");
  const done = await redriveOf(scene, started.id);
  assert.deepEqual([done.state, done.total, done.sent, done.failed], ["done", 2, 2, 0]);
  const again = receiver.received.slice(before);
  assert.deepEqual(again.map(({ path }) => path).sort(), ["/blob", "/folder"]);
  for (const { body, headers } of again) {
    assert.ok(asSent.includes(body), "the event is sent as it was sent before, letter by letter");
    assert.equal(headers["aeg-delivery-count"], "0");
  }
  const after = await letterPage(scene);
  assert.deepEqual(
    after.value.map(({ redriven }) => redriven),
    [1, 1],
  );
  assert.equal((await letterPage(scene, "?redriven=false")).value.length, 0);
  const [fact] = await scene.factsNamed("redrive.ended", 1);
  assert.deepEqual([fact?.state, fact?.sent, fact?.total], ["done", 2, 2]);
  assert.equal((await scene.ask<Json>("GET", "/events/a")).acceptedWith, "redrive");
  const metrics = await (await fetch(`${scene.program.url}/metrics`)).text();
  assert.match(metrics, /posthorn_redriven_events_total\{[^}]*subscription="to-blob"[^}]*\} 1/);
});

test("each schema comes back as it was published (L-6, L-7, L-8)", async (t) => {
  const properties = {
    eventType: { sourceField: "kind" },
    subject: { defaultValue: "none" },
    dataVersion: { defaultValue: "1" },
  };
  const receiver = await openReceiver(t);
  receiver.answer = () => 503;
  const folder = makeFolder(t);
  const deadLetterDestination = boxIn("letters");
  const own = (eventDeliverySchema: string) => ({
    main: sendTo(receiver.url, { deadLetterDestination, eventDeliverySchema, ...oneAttempt }),
  });
  const scene = await openScene(t, {
    folder,
    storageAccounts: { letters: { folder: join(folder, "dead") } },
    topics: {
      grids: { subscriptions: own("EventGridSchema") },
      turned: { subscriptions: own("CloudEventSchemaV1_0") },
      customs: {
        inputSchema: "CustomEventSchema",
        inputSchemaMapping: { inputSchemaMappingType: "Json", properties },
        subscriptions: own("CustomInputSchema"),
      },
    },
  });
  await scene.publish("grids", order("g", { data: { deadLetterReason: 1 } }));
  await scene.publish("customs", '[{ "kind": "k", "n": 1.0 }]');
  await scene.publish("turned", order("t"));
  await scene.advance("PT5M");
  const before = receiver.received.map(({ body }) => body).sort();
  receiver.answer = () => 200;
  await scene.ask("POST", "/redrives", { query: { subscription: "main" } }, 202);
  await scene.advance("PT1S");
  assert.deepEqual(
    receiver.received
      .slice(3)
      .map(({ body }) => body)
      .sort(),
    before,
  );
});

test("one letter goes to a URL by its id, and what that does with it is told", async (t) => {
  const { scene, receiver } = await openFailing(t);
  await scene.publish("orders", [order("a"), order("b")]);
  await scene.advance("PT5M");
  const { value } = await letterPage(scene);
  const [a, b] = ["a", "b"].map((id) => value.find(({ eventId }) => eventId === id)?.id);
  receiver.answer = ({ path, body }) =>
    path.startsWith("/elsewhere") && body.includes('"id":"a"') ? 200 : 503;
  const url = `${receiver.url}/elsewhere?code=secret`;
  const started = await scene.ask<RedriveView>(
    "POST",
    "/redrives",
    { ids: [a, b], to: { url } },
    202,
  );
  assert.equal(started.to, `${receiver.url}/elsewhere`, "what may be a secret is not told");
  await scene.advance("PT1S");
  const done = await redriveOf(scene, started.id);
  assert.deepEqual([done.state, done.total, done.sent, done.failed], ["done", 2, 1, 1]);
  assert.deepEqual(done.remarks, ["BILLING, event b: Busy (503)."]);
  assert.deepEqual(idsIn(receiver, "/elsewhere?code=secret"), ["a", "b"]);
  assert.deepEqual(idsIn(receiver, "/billing"), ["a", "b"], "its own endpoint got nothing again");
  await scene.advance("PT1H");
  assert.equal(
    idsIn(receiver, "/elsewhere?code=secret").length,
    2,
    "to a URL there is one attempt",
  );
  assert.equal((await letterPage(scene)).value.length, 2, "and no dead letter");
});

test("letters go to another subscription past its filter, and are retried there", async (t) => {
  const repair = sendTo("http://127.0.0.1:9/none", { filter: { subjectEndsWith: "/repair" } });
  const receiver = await openReceiver(t);
  const { scene, receiver: failing } = await openFailing(t, {
    topics: {
      repairs: {
        subscriptions: { repair: { ...repair, ...sendTo(`${receiver.url}/repair`) } },
      },
    },
  });
  await scene.publish("orders", order("a"));
  await scene.advance("PT5M");
  let count = 0;
  receiver.answer = () => (++count < 3 ? 500 : 200);
  const to = { topic: "Repairs", subscription: "REPAIR" };
  const started = await scene.ask<RedriveView>(
    "POST",
    "/redrives",
    { query: { to: startAt }, to },
    202,
  );
  await scene.advance("PT5M");
  assert.deepEqual((await redriveOf(scene, started.id)).state, "done");
  assert.deepEqual(
    idsIn(receiver, "/repair"),
    ["a", "a", "a"],
    "a failure is retried as any other",
  );
  assert.equal(failing.received.length, 1);
  const [event] = JSON.parse(receiver.received[0]?.body ?? "[]");
  assert.match(event.topic, /\/topics\/orders$/, "the event still says where it came from");
  assert.equal(receiver.received[0]?.headers["aeg-subscription-name"], "REPAIR");
});

test("letters are chosen by reason, outcome, type and time, and shown in pages", async (t) => {
  const { scene, receiver } = await openFailing(t, { maxDeliveryAttempts: 2 });
  receiver.answer = ({ body }) => (body.includes('"bad') ? 400 : 503);
  await scene.publish("orders", [order("bad1"), order("busy1")]);
  await scene.advance("PT3H");
  await scene.publish("orders", [order("bad2"), order("busy2", { eventType: "order.paid" })]);
  await scene.advance("PT10M");
  const found = async (query: string) => {
    const { value, next } = await letterPage(scene, query);
    assert.equal(next, null);
    return value.map(({ eventId }) => eventId).sort();
  };
  assert.deepEqual(await found("?reason=undeliverableduetohttpbadrequest"), ["bad1", "bad2"]);
  assert.deepEqual(await found("?outcome=Busy"), ["busy1", "busy2"]);
  assert.deepEqual(await found("?type=order.paid"), ["busy2"]);
  assert.deepEqual(await found("?from=2030-01-01T02:00:00Z"), ["bad2", "busy2"]);
  assert.deepEqual(await found("?to=2030-01-01T00:30:00Z&outcome=Busy"), ["busy1"]);
  assert.deepEqual(await found("?from=2030-01-02T00:00:00Z"), []);
  assert.deepEqual(await found("?subscription=billing&topic=orders"), [
    ...["bad1", "bad2", "busy1", "busy2"],
  ]);
  assert.deepEqual(await found("?topic=other"), []);
  const seen: string[] = [];
  for (let after = ""; ; ) {
    const page = await letterPage(scene, `?limit=1${after}`);
    seen.push(...page.value.map(({ eventId }) => eventId));
    assert.ok(page.value.length <= 1);
    if (page.next === null) break;
    after = `&after=${page.next}`;
  }
  assert.deepEqual(seen.slice(0, 2).sort(), ["bad2", "busy2"], "the newest hour first");
  assert.deepEqual(seen.slice(2).sort(), ["bad1", "busy1"]);
  receiver.answer = () => 200;
  const before = receiver.received.length;
  const query = { outcome: "Busy", from: "2030-01-01T02:00:00Z" };
  await scene.ask("POST", "/redrives", { query }, 202);
  await scene.advance("PT10S");
  const sent = receiver.received.slice(before).map(({ body }) => JSON.parse(body)[0].id);
  assert.deepEqual(sent, ["busy2"]);
});

test("a redrive keeps its pace, and a stopped one sends no more", async (t) => {
  // One request that fails, for ten of them make an endpoint unhealthy, and the rest would wait.
  const { scene, receiver } = await openFailing(t, { maxEventsPerBatch: 30 });
  const ids = Array.from({ length: 30 }, (_, index) => `e${index}`);
  await scene.publish(
    "orders",
    ids.map((id) => order(id)),
  );
  await scene.advance("PT6M");
  receiver.answer = () => 200;
  const started = await scene.ask<RedriveView>(
    "POST",
    "/redrives",
    { query: {}, perSecond: 5 },
    202,
  );
  const sentAfter = async (duration: string) => {
    await scene.advance(duration);
    return (await redriveOf(scene, started.id)).sent;
  };
  assert.equal(await sentAfter("PT0S"), 1, "the first goes at once");
  assert.equal(await sentAfter("PT1S"), 6);
  assert.equal(await sentAfter("PT2S"), 16);
  const stopped = await scene.ask<RedriveView>("DELETE", `/redrives/${started.id}`);
  assert.deepEqual([stopped.state, stopped.total, stopped.sent], ["stopped", 30, 16]);
  assert.equal(await sentAfter("PT1H"), 16);
  const again = await scene.ask<RedriveView>("DELETE", `/redrives/${started.id}`);
  assert.deepEqual(again, stopped, "what has ended stays as it is");
  assert.equal(idsIn(receiver, "/billing").length - ids.length, 16);
  assert.equal((await letterPage(scene, "?redriven=true")).value.length, 16);
});

test("another order can take what a stopped redrive has left", async (t) => {
  const { scene, receiver, folder, script } = await openFailing(t);
  const ids = Array.from({ length: 10 }, (_, index) => `e${index}`);
  await scene.publish(
    "orders",
    ids.map((id) => order(id)),
  );
  await scene.advance("PT6M");
  receiver.answer = () => 200;
  await scene.ask("POST", "/redrives", { query: {}, perSecond: 1 }, 202);
  await scene.advance("PT3S");
  assert.equal(await scene.program.end("SIGTERM"), 0);
  const [fact] = await scene.factsNamed("redrive.ended", 1);
  assert.deepEqual([fact?.state, fact?.sent], ["stopped", 4]);
  const options = ["--clock-start", "2030-01-01T01:00:00Z"];
  const second = await openScene(t, { ...script, folder, options });
  await second.ask("POST", "/redrives", { query: { redriven: false } }, 202);
  await second.advance("PT10S");
  const sent = receiver.received.slice(10).map(({ body }) => JSON.parse(body)[0].id);
  assert.deepEqual(sent.sort(), ids.sort(), "each once, over both");
});

test("what keeps coming back is left alone after three times, unless someone insists", async (t) => {
  const other = { deadLetterDestination: boxIn("letters"), ...oneAttempt };
  const receiver = await openReceiver(t);
  receiver.answer = () => 503;
  const { scene } = await openFailing(t, {
    topics: { others: { subscriptions: { second: sendTo(`${receiver.url}/second`, other) } } },
  });
  await scene.publish("orders", order("a"));
  await scene.advance("PT5M");
  const newest = async () => {
    const { value } = await letterPage(scene);
    return value.toSorted((one, next) => next.redriven - one.redriven)[0] as DeadLetterView;
  };
  const redrive = async (more: Json = {}) => {
    const { id } = await newest();
    const body = { ids: [id], ...more };
    const started = await scene.ask<RedriveView>("POST", "/redrives", body, 202);
    await scene.advance("PT1H");
    return redriveOf(scene, started.id);
  };
  assert.equal((await newest()).redriven, 0);
  await redrive();
  assert.equal((await newest()).redriven, 1);
  const there = { to: { topic: "others", subscription: "second" } };
  await redrive(there);
  const [second] = (await letterPage(scene, "?subscription=second")).value;
  assert.equal(second?.redriven, 2, "the count goes with the event to another subscription");
  const lost = { ids: [second?.id], dryRun: true };
  const { remarks } = await scene.ask<RedriveView>("POST", "/redrives", lost);
  assert.match(
    remarks[0] ?? "",
    /^SECOND, event a: There is no subscription "SECOND" of \S+ here\./,
  );
  await scene.ask("POST", "/redrives", { ids: [second?.id], ...there }, 202);
  await scene.advance("PT1H");
  const before = receiver.received.length;
  const [tired] = (await letterPage(scene, "?subscription=second")).value;
  assert.equal(tired?.redriven, 3);
  const order4 = { ids: [tired?.id], ...there };
  const tried = await scene.ask<RedriveView>("POST", "/redrives", { ...order4, dryRun: true });
  assert.deepEqual(
    [tried.skipped, tried.sample, tried.remarks],
    [1, [], ["SECOND, event a: It has been sent again 3 times; `force` sends it all the same."]],
  );
  await scene.ask("POST", "/redrives", order4, 202);
  await scene.advance("PT1H");
  assert.equal(receiver.received.length, before);
  await scene.ask("POST", "/redrives", { ...order4, force: true }, 202);
  await scene.advance("PT1H");
  assert.equal(receiver.received.length, before + 1);
});

test("a notice that is sent again raises no notice of its own (L-5)", async (t) => {
  const receiver = await openReceiver(t);
  receiver.answer = () => 400;
  const folder = makeFolder(t);
  const deadLetterDestination = boxIn("letters");
  const scene = await openScene(t, {
    folder,
    storageAccounts: {
      letters: {
        folder: join(folder, "dead"),
        subscriptions: { watch: sendTo(`${receiver.url}/watch`, { deadLetterDestination }) },
      },
    },
    topics: {
      orders: {
        subscriptions: { billing: sendTo(`${receiver.url}/billing`, { deadLetterDestination }) },
      },
    },
  });
  await scene.publish("orders", order("a"));
  await scene.advance("PT20M");
  const watch = () => receiver.received.filter(({ path }) => path === "/watch").length;
  assert.equal(watch(), 1);
  const { value } = await letterPage(scene, "?subscription=watch");
  assert.deepEqual(
    value.map(({ type, topic }) => [type, topic]),
    [["Microsoft.Storage.BlobCreated", "letters"]],
  );
  await scene.ask("POST", "/redrives", { ids: value.map(({ id }) => id) }, 202);
  await scene.advance("P1D");
  assert.equal(watch(), 2, "sent again once");
  const again = await letterPage(scene, "?subscription=watch");
  assert.equal(again.value.length, 2, "given up on again, and told of to nobody");
});

/** As the service's documentation has them, in the layouts that it writes. */
const foreign: Readonly<Record<string, string>> = {
  "BILLING/2019/8/8/5/11111111-1111-1111-1111-111111111111.json": `[{
    "id": "real-1", "eventTime": "2019-08-08T05:18:13.1647262Z", "eventType": "order.placed",
    "dataVersion": "", "metadataVersion": "1", "subject": "orders/1",
    "topic": "/subscriptions/x/resourceGroups/y/providers/Microsoft.EventGrid/topics/orders",
    "deadLetterReason": "UndeliverableDueToHttpBadRequest", "deliveryAttempts": 1,
    "lastDeliveryOutcome": "BadRequest", "lastHttpStatusCode": 400,
    "publishTime": "2019-08-08T05:18:14.0265758Z", "data": { "size": 1.0 } }]`,
  "GONE-SUB/2019/8/8/23/22222222-2222-2222-2222-222222222222.json":
    '\uFEFF{"id":"real-2","source":"/mine","type":"t","specversion":"1.0","deliveryattempts":30,' +
    '"deadletterreason":"MaxDeliveryAttemptsExceeded","lastdeliveryoutcome":"NotFound"}',
  "ns1/topic1/sub1/2023/11/1/20/33333333-3333-3333-3333-333333333333.json":
    '[{"deadLetterProperties":{"deadletterreason":"Maximum delivery attempts was exceeded.",' +
    '"deliveryattempts":1,"deliveryresult":"Event was not acknowledged nor rejected.",' +
    '"publishutc":"2023-11-01T20:33:51.4521467Z","deliveryattemptutc":"2023-11-01T20:33:52.3692079Z"},' +
    '"customDeliveryProperties":{"custom-header-1":"value1"},' +
    '"event":{"specversion":"1.0","id":"real-3","type":"t","source":"/s"}}]',
  "BROKEN/2019/8/9/5/44444444-4444-4444-4444-444444444444.json": "[{]",
  "HALF/2019/8/9/5/55555555-5555-5555-5555-555555555555.json": '[{"id":"no reason"}]',
};

test("dead letters that Azure wrote are listed and sent again, and what is broken is reported", async (t) => {
  const azurite = await startAzurite(t);
  await azurite.makeContainer("foreign");
  const client = BlobServiceClient.fromConnectionString(azurite.connectionString);
  for (const [path, text] of Object.entries(foreign)) {
    const blob = client.getContainerClient("foreign").getBlockBlobClient(path);
    await blob.upload(text, Buffer.byteLength(text));
  }
  const receiver = await openReceiver(t);
  const scene = await openScene(t, {
    storageAccounts: { devstoreaccount1: { connectionString: azurite.connectionString } },
    topics: {
      orders: { subscriptions: { billing: sendTo(`${receiver.url}/billing`) } },
      clouds: {
        inputSchema: "CloudEventSchemaV1_0",
        subscriptions: { all: sendTo(`${receiver.url}/clouds`) },
      },
    },
  });
  assert.deepEqual((await letterPage(scene)).value, [], "no subscription names the container");
  const place = { account: "devstoreaccount1", container: "foreign" };
  const { value, remarks } = await letterPage(scene, `?${new URLSearchParams(place)}`);
  assert.deepEqual(
    value.map(({ eventId, subscription, topic, writtenAt, attempts }) => [
      ...[eventId, subscription, topic, writtenAt, attempts],
    ]),
    [
      ["real-3", "SUB1", null, "2023-11-01T20:00:00.000Z", 1],
      ["real-2", "GONE-SUB", null, "2019-08-08T23:00:00.000Z", 30],
      ["real-1", "BILLING", "orders", "2019-08-08T05:00:00.000Z", 1],
    ],
  );
  assert.deepEqual(remarks, [
    "devstoreaccount1/foreign/BROKEN/2019/8/9/5/44444444-4444-4444-4444-444444444444.json, " +
      "record 0: The blob is not JSON.",
    "devstoreaccount1/foreign/HALF/2019/8/9/5/55555555-5555-5555-5555-555555555555.json, " +
      "record 0: The record has no deadLetterReason.",
  ]);
  const home = await scene.ask<RedriveView>("POST", "/redrives", { query: place }, 202);
  await scene.advance("PT1S");
  const done = await redriveOf(scene, home.id);
  assert.deepEqual([done.state, done.total, done.sent, done.skipped], ["done", 3, 1, 2]);
  assert.ok(
    done.remarks.includes(
      'GONE-SUB, event real-2: There is no subscription "GONE-SUB" of /mine here. Name one with `to`.',
    ),
    done.remarks.join("\n"),
  );
  assert.match(receiver.received[0]?.body ?? "", /"data":\{ "size": 1\.0 \}\}\]$/);
  const to = { topic: "clouds", subscription: "all" };
  const query = { ...place, redriven: false };
  const other = await scene.ask<RedriveView>("POST", "/redrives", { query, to }, 202);
  await scene.advance("PT1S");
  assert.deepEqual(
    [(await redriveOf(scene, other.id)).sent, idsIn(receiver, "/clouds")],
    [2, ["real-3", "real-2"]],
  );
  const back = { topic: "orders", subscription: "billing" };
  const turned = { ids: [value[0]?.id], to: back, dryRun: true };
  const refused = await scene.ask<RedriveView>("POST", "/redrives", turned);
  assert.deepEqual(refused.remarks, [
    "SUB1, event real-3: An event in the schema CloudEventSchemaV1_0 cannot be delivered as " +
      "EventGridSchema.",
  ]);
});

test("stores that cannot be read are told of beside those that can", async (t) => {
  const nobody = `http://127.0.0.1:${await freePort()}/away`;
  const mute = await serve(t, () => {});
  const account = "DefaultEndpointsProtocol=http;AccountName=away;AccountKey=c2VjcmV0";
  const receiver = await openReceiver(t);
  receiver.answer = () => 400;
  const folder = makeFolder(t);
  const to = (box: string) => sendTo(receiver.url, { deadLetterDestination: boxIn(box) });
  const scene = await openScene(t, {
    folder,
    storageAccounts: {
      away: { connectionString: `${account};BlobEndpoint=${nobody}` },
      mute: { connectionString: `${account};BlobEndpoint=http://127.0.0.1:${mute.port}/mute` },
      letters: { folder: join(folder, "dead") },
    },
    topics: { orders: { subscriptions: { one: to("away"), two: to("letters") } } },
  });
  const [unreachable] = await scene.factsNamed("deadLetter.unreachable", 1);
  assert.deepEqual([unreachable?.subscription, unreachable?.container], ["one", "box"]);
  assert.match(String(unreachable?.why), /^The store gave no answer: .*ECONNREFUSED/);
  await scene.publish("orders", order("a"));
  await scene.advance("PT5M");
  const { value, remarks } = await letterPage(scene);
  assert.deepEqual(
    value.map(({ subscription }) => subscription),
    ["TWO"],
  );
  assert.match(remarks[0] ?? "", /^away\/box: The store gave no answer: /);
  assert.ok(!JSON.stringify(remarks).includes("c2VjcmV0"));
  const redrive = async (account: string) =>
    scene.ask<RedriveView>("POST", "/redrives", { query: { account, container: "box" } }, 202);
  const failing = await redrive("away");
  await scene.advance("PT1S");
  const failed = await redriveOf(scene, failing.id);
  assert.deepEqual([failed.state, failed.total, failed.remarks.length], ["failed", 0, 1]);
  const hanging = await redrive("mute");
  await mute.reached(1);
  const stopped = await scene.ask<RedriveView>("DELETE", `/redrives/${hanging.id}`);
  assert.equal(stopped.state, "stopped", "a store that never answers holds nobody up");
});

test("bad ids, queries and orders are refused in words", async (t) => {
  const { scene, folder } = await openFailing(t);
  await scene.publish("orders", order("a"));
  await scene.advance("PT5M");
  const [letter] = (await letterPage(scene)).value;
  assert.ok(letter);
  const refused = async (method: string, path: string, body: unknown, status: number) => {
    const { error } = await scene.ask<{ error: { message: string } }>(method, path, body, status);
    return error.message;
  };
  const get = (path: string, status = 400) => refused("GET", path, undefined, status);
  assert.equal(await get("/dead-letters/nonsense"), "id is not the id of a dead letter");
  const elsewhere = (parts: unknown[]) => Buffer.from(JSON.stringify(parts)).toString("base64url");
  const { account, container, blob } = letter;
  const ids: [string, number, RegExp][] = [
    [elsewhere([account, container, "../../data/admin.key", 0]), 400, /^id is not the id/],
    [elsewhere([account, container, blob, 7]), 404, /^The blob has no record 7\.$/],
    [elsewhere([account, container, "NO/2030/1/1/0/x.json", 0]), 404, /^The disk answered ENOENT/],
    [elsewhere(["unknown", container, blob, 0]), 503, /^unknown is not in storageAccounts\.$/],
  ];
  for (const [id, status, words] of ids)
    assert.match(await get(`/dead-letters/${id}`, status), words);
  const bad = join(folder, "dead/box/bad.json");
  mkdirSync(dirname(bad), { recursive: true });
  writeFileSync(bad, "[1]");
  const unreadable = elsewhere([account, container, "bad.json", 0]);
  assert.match(await get(`/dead-letters/${unreadable}`, 409), /The record is not an object\.$/);

  assert.match(await get("/dead-letters?from=yesterday"), /^from must be an ISO 8601 instant/);
  assert.match(
    await get("/dead-letters?from=2030-01-02T00:00:00Z&to=2030-01-01T00:00:00Z"),
    /^to must not be before from$/,
  );
  assert.match(await get("/dead-letters?limit=0"), /^limit must be a whole number from 1 to 1000/);
  assert.match(await get("/dead-letters?after=x"), /^after must be the `next` of a page before$/);
  assert.match(await get("/dead-letters?resaon=x"), /did you mean reason\?$/);
  assert.match(await get("/dead-letters?redriven=maybe"), /^redriven must be true or false/);
  assert.match(await get("/dead-letters?account=none", 404), /^There is no storage account "none"/);
  assert.match(
    await get("/dead-letters?account=letters&container=UP"),
    /^container must be 3 to 63/,
  );
  assert.match(await get("/redrives/none", 404), /^There is no redrive "none"\.$/);

  const post = (body: unknown, status = 400) => refused("POST", "/redrives", body, status);
  const query = {};
  assert.match(await post({}), /^the request must have ids or query, and has neither$/);
  assert.match(await post({ ids: [letter.id], query }), /and has both$/);
  assert.match(await post({ ids: [] }), /^ids must be an array of 1 to 1000 ids/);
  assert.match(await post({ ids: [letter.id, "x"] }), /^ids\[1\] is not the id of a dead letter$/);
  assert.match(await post({ query: { raeson: "x" } }), /did you mean reason\?$/);
  assert.match(await post({ query: { type: 1 } }), /^query\.type must be a text/);
  assert.match(await post({ query: { account: "none" } }, 404), /^There is no storage account/);
  assert.match(
    await post({ query, perSecond: 0 }),
    /^perSecond must be a number of events a second/,
  );
  assert.match(await post({ query, perSecond: 1e6 }), /from 0\.01 to 1000/);
  assert.match(await post({ query, dryRun: "yes" }), /^dryRun must be true or false/);
  assert.match(
    await post({ query, to: {} }),
    /^to must be an object with topic and subscription, or with url/,
  );
  assert.match(
    await post({ query, to: { url: "http://a", topic: "b" } }),
    /^to must be an object with topic/,
  );
  assert.match(await post({ query, to: { topic: "orders" } }), /^to\.subscription must be a name/);
  assert.match(
    await post({ query, to: { topic: "orders", subscription: "none" } }, 404),
    /^There is no subscription 'orders\/none'\.$/,
  );
  const secret = "ftp://host/?code=secret";
  const words = await post({ query, to: { url: secret } });
  assert.match(words, /^to\.url must be an absolute http or https URL/);
  assert.ok(!words.includes("secret"));
  assert.match(
    await post({ query, to: { url: "http://host/a\nb" } }),
    /^to\.url must be an absolute http or https URL/,
  );
  assert.deepEqual((await scene.ask<Json>("GET", "/redrives")).value, [], "nothing was begun");
  const answer = await fetch(`${scene.program.url}/api/v1/dead-letters`);
  assert.equal(answer.status, 401, "dead letters are for admins");
});

test("an event that fails again and again is sent once per order, and three times in all", async (t) => {
  const { scene, receiver } = await openFailing(t);
  receiver.answer = () => 400;
  await scene.publish("orders", order("a"));
  await scene.advance("PT1H");
  const sends: number[] = [];
  for (let round = 0; round < 4; round++) {
    const before = idsIn(receiver, "/billing").length;
    const body = { query: { subscription: "billing" } };
    const tried = await scene.ask<RedriveView>("POST", "/redrives", { ...body, dryRun: true });
    assert.deepEqual([tried.total, tried.sample.length], [1, round === 3 ? 0 : 1]);
    const { id } = await scene.ask<RedriveView>("POST", "/redrives", body, 202);
    await scene.advance("PT1H");
    const { state, total, sent, skipped } = await redriveOf(scene, id);
    assert.deepEqual(
      [state, total, sent, skipped],
      ["done", 1, ...(round === 3 ? [0, 1] : [1, 0])],
    );
    sends.push(idsIn(receiver, "/billing").length - before);
  }
  assert.deepEqual(sends, [1, 1, 1, 0]);
  assert.equal((await letterPage(scene)).value.length, 4);
});

test("by ids, too, an event is sent once, by its newest letter", async (t) => {
  const { scene, receiver } = await openFailing(t);
  await scene.publish("orders", order("a"));
  await scene.advance("PT1H");
  await scene.ask("POST", "/redrives", { query: {} }, 202);
  await scene.advance("PT1H");
  const letters = (await letterPage(scene)).value;
  assert.equal(letters.length, 2);
  receiver.answer = () => 200;
  const ids = letters.map(({ id }) => id);
  const { id } = await scene.ask<RedriveView>("POST", "/redrives", { ids }, 202);
  await scene.advance("PT1H");
  const { total, sent, skipped, remarks } = await redriveOf(scene, id);
  assert.deepEqual([total, sent, skipped], [2, 1, 1]);
  assert.match(remarks[0] ?? "", /^BILLING, event a: It is named twice\.$/);
  assert.deepEqual(idsIn(receiver, "/billing"), ["a", "a", "a"]);
});

for (const signal of ["SIGTERM", "SIGKILL"] as const) {
  test(`after ${signal} a redrive is found stopped, and goes on with what it has not sent`, async (t) => {
    const { scene, receiver, script } = await openFailing(t);
    const ids = ["a", "b", "c", "d", "e"];
    for (const id of ids) await scene.publish("orders", order(id));
    await scene.advance("PT1H");
    receiver.received.length = 0;
    receiver.answer = () => 200;
    const body = { query: { subscription: "billing" }, perSecond: 1 };
    const { id } = await scene.ask<RedriveView>("POST", "/redrives", body, 202);
    await scene.advance("PT1S");
    assert.equal((await redriveOf(scene, id)).sent, 2);
    await scene.program.end(signal);

    const again = await openScene(t, script);
    const stopped = await redriveOf(again, id);
    const isCutOff = signal === "SIGKILL";
    assert.deepEqual([stopped.state, stopped.total], ["stopped", 5]);
    // What was under way when the broker was killed may have been sent: it is sent once more.
    assert.equal(stopped.sent, isCutOff ? 1 : 2);
    assert.ok(stopped.endedAt);
    assert.deepEqual((await again.ask<Json>("GET", "/redrives")).value, [stopped]);
    const resumed = await again.ask<RedriveView>("POST", `/redrives/${id}/resume`, undefined, 202);
    assert.equal(resumed.state, "running");
    await again.ask("POST", `/redrives/${id}/resume`, undefined, 409);
    await again.advance("PT1M");
    const { state, total, sent, failed, skipped } = await redriveOf(again, id);
    assert.deepEqual([state, total, sent, failed, skipped], ["done", 5, 5, 0, 0]);
    const got = idsIn(receiver, "/billing");
    assert.deepEqual([...new Set(got)].toSorted(), ids);
    assert.ok(got.length === (isCutOff ? 6 : 5), String(got));
    await again.ask("POST", `/redrives/${id}/resume`, undefined, 409);
  });
}
