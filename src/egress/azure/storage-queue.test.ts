// Queues of a storage account: Azure's own client, and an endpoint on a real socket that speaks as
// much of the protocol as one event needs. test/destination.test.ts uses a real queue, on Azurite.

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import {
  answeredOf,
  noReplyOf,
  type SinkWorld,
  sinkContract,
} from "../../../test/contract/sink.ts";
import {
  openSender,
  openSink,
  parcelWith,
  resourceIds,
} from "../../../test/fixtures/destination.ts";
import { freePort, serve, serveAsTold, serveRefusals } from "../../../test/fixtures/webhook.ts";
import type { StorageQueueDestination } from "../../core/subscription.ts";

const key = Buffer.from("not a secret").toString("base64");

const accountAt = (port: number) => ({
  connectionString:
    `DefaultEndpointsProtocol=http;AccountName=shop;AccountKey=${key};` +
    `BlobEndpoint=http://127.0.0.1:${port}/shop;QueueEndpoint=http://127.0.0.1:${port}/shop`,
});

const queueIn = (account: string, ttlSeconds: number | null = null): StorageQueueDestination => ({
  ...{ kind: "storageQueue", queueName: "orders", ttlSeconds },
  resourceId: resourceIds.queue(account),
});

const taken =
  '<?xml version="1.0"?><QueueMessagesList><QueueMessage><MessageId>1</MessageId>' +
  "<InsertionTime>Tue, 01 Jan 2030 00:00:00 GMT</InsertionTime>" +
  "<ExpirationTime>Tue, 08 Jan 2030 00:00:00 GMT</ExpirationTime><PopReceipt>p</PopReceipt>" +
  "<TimeNextVisible>Tue, 01 Jan 2030 00:00:00 GMT</TimeNextVisible>" +
  "</QueueMessage></QueueMessagesList>";

const take = (response: ServerResponse) =>
  response.writeHead(201, { "content-type": "application/xml" }).end(taken);

const textIn = (body: string) =>
  Buffer.from(/<MessageText>(.*)<\/MessageText>/s.exec(body)?.[1] ?? "", "base64").toString();

sinkContract("a storage queue", async (deps): Promise<SinkWorld<StorageQueueDestination>> => {
  const { endpoint, world } = await serveAsTold(take);
  const storageAccounts = { shop: accountAt(endpoint.port), nobody: accountAt(await freePort()) };
  return {
    sink: openSink(deps, { storageAccounts }),
    destination: queueIn("shop"),
    nowhere: queueIn("nobody"),
    received: () => endpoint.arrived.map(({ body }) => [textIn(body)]),
    ...world,
    carriesOne: true,
  };
});

test("a queue gets one event as Base64 of an object, and nothing beside it", async (t) => {
  const endpoint = await serve(t, take);
  const { send } = openSender(t, { storageAccounts: { shop: accountAt(endpoint.port) } });
  const parcel = parcelWith('{"id":"ü"}', {
    headers: [{ kind: "static", name: "x-mine", value: "v", isSecret: false }],
  });
  assert.equal(answeredOf(await send(queueIn("shop"), { parcel })).status, 200);
  await send(queueIn("shop", -1), { parcel });
  await send(queueIn("shop", 60), { parcel });
  const [usual, endless, short] = endpoint.arrived;
  assert.ok(usual && endless && short);
  assert.equal(textIn(usual.body), '{"id":"ü"}');
  assert.equal(usual.method, "POST");
  assert.match(usual.path ?? "", /^\/shop\/orders\/messages(?!.*messagettl)/);
  assert.match(endless.path ?? "", /messagettl=-1/);
  assert.match(short.path ?? "", /messagettl=60/);
  assert.ok(!("x-mine" in usual.headers) && !("aeg-event-type" in usual.headers));
});

test("an account may ask for the text as it is", async (t) => {
  const endpoint = await serve(t, take);
  const account = { ...accountAt(endpoint.port), queueEncoding: "text" };
  const { send } = openSender(t, { storageAccounts: { shop: account } });
  await send(queueIn("shop"), { parcel: parcelWith('{"id":"<&>"}', {}) });
  const [arrived] = endpoint.arrived;
  assert.match(arrived?.body ?? "", />\{&quot;id&quot;:&quot;&lt;&amp;&gt;&quot;\}</);
});

test("what the store says no to is told with its code and tried once", async (t) => {
  const refusals = [
    [404, "QueueNotFound"],
    [403, "AuthenticationFailed"],
    [413, "RequestBodyTooLarge"],
    [503, "ServerBusy"],
  ] as const;
  const endpoint = await serveRefusals(t, refusals);
  const { send } = openSender(t, { storageAccounts: { shop: accountAt(endpoint.port) } });
  for (const [status, code] of refusals) {
    assert.deepEqual(await send(queueIn("shop")), { kind: "answered", status, detail: code });
  }
  assert.equal(endpoint.arrived.length, refusals.length);
});

test("an account that is in no section any more leads nowhere", async (t) => {
  const { send } = openSender(t, {});
  const { why, detail } = noReplyOf(await send(queueIn("shop")));
  assert.equal(why, "dns");
  assert.match(detail ?? "", /storageAccounts\/shop is not in storageAccounts\.$/);
});
