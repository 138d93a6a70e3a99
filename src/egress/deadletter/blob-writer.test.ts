// Writing dead letters to a storage account: Azure's own client, and an endpoint on a real socket
// that speaks as much of the protocol as one blob needs. test/deadletter.test.ts uses a real store.

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import {
  answeredOf,
  CountedActivity,
  HandClock,
  noReplyOf,
  parcelOf,
  type SinkWorld,
  sinkContract,
} from "../../../test/contract/sink.ts";
import {
  freePort,
  lateMs,
  type Scope,
  serve,
  serveAsTold,
  serveRefusals,
  waitMs,
} from "../../../test/fixtures/webhook.ts";
import { parseStorageAccounts, storageArmId } from "../../core/azure/storage.ts";
import type { DeadLetterDestination } from "../../core/subscription.ts";
import { openDeadLetters } from "./sink.ts";

const key = Buffer.from("not a secret").toString("base64");
const group = { subscriptionId: "s", resourceGroup: "rg" };

const boxIn = (account: string): DeadLetterDestination => ({
  kind: "blob",
  resourceId: storageArmId({ group, account }),
  container: "box",
});

function accountAt(port: number, name = "letters"): string {
  const endpoint = `BlobEndpoint=http://127.0.0.1:${port}/${name}`;
  return `DefaultEndpointsProtocol=http;AccountName=${name};AccountKey=${key};${endpoint};`;
}

const take = (response: ServerResponse) => response.writeHead(201, { etag: '"1"' }).end();

sinkContract("a storage account", async (deps): Promise<SinkWorld<DeadLetterDestination>> => {
  const { endpoint, world } = await serveAsTold(take);
  const accounts = parseStorageAccounts({
    letters: { connectionString: accountAt(endpoint.port) },
    nobody: { connectionString: accountAt(await freePort()) },
  });
  return {
    sink: openDeadLetters({ ...deps, accounts, ids: { next: () => "guid" } }),
    destination: boxIn("letters"),
    nowhere: boxIn("nobody"),
    received: () => endpoint.arrived.map(({ body }) => eventsIn(body)),
    ...world,
  };
});

/** Only the events, without what a dead letter adds. */
function eventsIn(body: string): string[] {
  return (JSON.parse(body) as Record<string, unknown>[]).map((record) => {
    const { deadLetterReason, deliveryAttempts, lastDeliveryOutcome, publishTime, ...event } =
      record;
    return JSON.stringify(event);
  });
}

function openSender(t: Scope, section: unknown) {
  const sink = openDeadLetters({
    clock: new HandClock(),
    activity: new CountedActivity(),
    ids: { next: () => "guid" },
    accounts: parseStorageAccounts(section),
  });
  t.after(() => sink.close());
  const signal = new AbortController().signal;
  const limits = { waitMs, lateMs, signal };
  const parcel = parcelOf(['{"id":"a"}', '{"id":"b"}']);
  return (destination: DeadLetterDestination) => sink.send(parcel, destination, limits);
}

test("one blob is put by one request, at the path that the service would give it", async (t) => {
  const endpoint = await serve(t, take);
  const send = openSender(t, { letters: { connectionString: accountAt(endpoint.port) } });
  const { status, written } = answeredOf(await send(boxIn("letters")));
  assert.equal(status, 201);
  const path = "WAREHOUSE/2021/7/1/12/guid.json";
  const url = `http://127.0.0.1:${endpoint.port}/letters/box/${path}`;
  const [arrived] = endpoint.arrived;
  assert.ok(arrived);
  assert.deepEqual(written, {
    ...{ container: "box", path, url, etag: '"1"' },
    bytes: Buffer.byteLength(arrived.body),
  });
  assert.equal(endpoint.arrived.length, 1);
  assert.equal(arrived.method, "PUT");
  assert.equal(arrived.path, `/letters/box/${path}`);
  assert.equal(arrived.headers["x-ms-blob-type"], "BlockBlob");
  assert.equal(arrived.headers["x-ms-blob-content-type"], "application/json; charset=utf-8");
  assert.deepEqual(eventsIn(arrived.body), ['{"id":"a"}', '{"id":"b"}']);
});

test("what a store says no to is told with its code and tried once", async (t) => {
  const refusals = [
    [404, "ContainerNotFound"],
    [403, "AuthenticationFailed"],
    [409, "AccountBeingCreated"],
    [503, "ServerBusy"],
    [500, "InternalError"],
  ] as const;
  const endpoint = await serveRefusals(t, refusals);
  const send = openSender(t, { letters: { connectionString: accountAt(endpoint.port) } });
  for (const [status, code] of refusals) {
    assert.deepEqual(await send(boxIn("letters")), { kind: "answered", status, detail: code });
  }
  assert.equal(endpoint.arrived.length, refusals.length);
});

test("an account that is not in the settings any more is an outcome, not an end", async (t) => {
  const send = openSender(t, {});
  const { why, detail } = noReplyOf(await send(boxIn("letters")));
  assert.equal(why, "dns");
  assert.match(detail ?? "", /storageAccounts\/letters is not in storageAccounts\.$/);
});

test("a connection string that the client cannot use is an outcome that names no key", async (t) => {
  const connectionString = accountAt(1).replace(/BlobEndpoint=.*/, "BlobEndpoint=nonsense");
  const send = openSender(t, { letters: { connectionString } });
  for (let count = 0; count < 2; count++) {
    const { why, detail } = noReplyOf(await send(boxIn("letters")));
    assert.equal(why, "connection");
    assert.ok(detail !== undefined && detail !== "" && !detail.includes(key), detail);
  }
});

test("a shared access signature opens the store, and is not told", async (t) => {
  const endpoint = await serve(t, take);
  const connectionString =
    `BlobEndpoint=http://127.0.0.1:${endpoint.port}/letters;` +
    "SharedAccessSignature=sv=2022-11-02&sig=c2VjcmV0";
  const send = openSender(t, { letters: { connectionString } });
  const { status, written } = answeredOf(await send(boxIn("letters")));
  assert.equal(status, 201);
  assert.match(endpoint.arrived[0]?.path ?? "", /[?&]sig=c2VjcmV0/);
  assert.doesNotMatch(written?.url ?? "?", /\?|sig/);
});
