// Azure's own client of Event Hubs, and a stand-in for the service that speaks AMQP to it.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  answeredOf,
  noReplyOf,
  type SinkWorld,
  sinkContract,
} from "../../../test/contract/sink.ts";
import { busString, messageBytesMax, startBus } from "../../../test/fixtures/amqp.ts";
import {
  inReverse,
  openSender,
  openSink,
  parcelWith,
  resourceIds,
} from "../../../test/fixtures/destination.ts";
import { freePort, type Scope } from "../../../test/fixtures/webhook.ts";
import type { DeliveryHeader, PushDestination } from "../../core/subscription.ts";

const hub = (namespace: string, name = "telemetry"): PushDestination => ({
  kind: "eventHub",
  resourceId: resourceIds.eventHub(namespace, name),
});

sinkContract("an event hub", async (deps): Promise<SinkWorld<PushDestination>> => {
  const ends: (() => unknown)[] = [];
  const bus = await startBus({ after: (end) => ends.push(end) });
  const eventHubNamespaces = {
    hubs: { connectionString: bus.connectionString },
    nobody: { connectionString: busString(await freePort()) },
  };
  return {
    sink: openSink(deps, { eventHubNamespaces }),
    destination: hub("hubs"),
    nowhere: hub("nobody"),
    received: () => bus.transfers.map(({ messages }) => messages.map(({ body }) => body)),
    behave: (how) =>
      bus.behave(
        how === "refuse" ? { condition: "com.microsoft:server-busy", description: "Later." } : how,
      ),
    reached: bus.reached,
    release: bus.release,
    closeEndpoint: async () => {
      for (const end of ends) await end();
    },
    breaksSilently: true,
  };
});

async function openHubs(t: Scope, change = (connectionString: string) => connectionString) {
  const scope = inReverse(t);
  const bus = await startBus(scope);
  const connectionString = change(bus.connectionString);
  const { send } = openSender(scope, { eventHubNamespaces: { hubs: { connectionString } } });
  return { bus, send };
}

test("a hub gets one event as an object, and beside it what a webhook gets in headers", async (t) => {
  const { bus, send } = await openHubs(t);
  assert.equal(answeredOf(await send(hub("hubs"))).status, 200);
  const [transfer] = bus.transfers;
  assert.equal(transfer?.entity, "telemetry");
  const [message] = transfer?.messages ?? [];
  assert.equal(message?.body, '{"id":"a"}');
  assert.equal(message?.properties.content_type, "application/json; charset=utf-8");
  assert.equal(message?.properties.message_id, "event-1");
  assert.deepEqual(message?.application, {
    "aeg-event-type": "Notification",
    "aeg-subscription-name": "WAREHOUSE",
    "aeg-delivery-count": "0",
    "aeg-metadata-version": "1",
    "aeg-data-version": "1.0",
    "aeg-output-event-id": "event-1",
  });
});

test("PartitionKey chooses the partition, other headers are properties (C-1)", async (t) => {
  const { bus, send } = await openHubs(t);
  const headers: readonly DeliveryHeader[] = [
    { kind: "dynamic", name: "PartitionKey", sourceField: "data.device" },
    { kind: "static", name: "MessageId", value: "no id here", isSecret: false },
  ];
  const parcel = parcelWith('{"id":"a","data":{"device":"d-7"}}', { headers });
  await send(hub("hubs"), { parcel });
  const [message] = bus.transfers[0]?.messages ?? [];
  assert.equal(message?.annotations["x-opt-partition-key"], "d-7");
  assert.equal(message?.application.MessageId, "no id here");
  assert.ok(!("PartitionKey" in (message?.application ?? {})));
});

test("what a hub says no to has the status and the name that the service has for it", async (t) => {
  const { bus, send } = await openHubs(t);
  const table = [
    ["amqp:link:message-size-exceeded", 413, undefined],
    ["com.microsoft:server-busy", 503, undefined],
    ["com.microsoft:entity-disabled", 503, "Disabled"],
    ["amqp:resource-limit-exceeded", 503, "Full"],
    ["amqp:unauthorized-access", 401, undefined],
    ["com.microsoft:argument-error", 400, undefined],
    ["amqp:internal-error", 500, undefined],
  ] as const;
  for (const [condition, status, name] of table) {
    bus.behave({ condition, description: "No." });
    const outcome = answeredOf(await send(hub("hubs")));
    assert.deepEqual([outcome.status, outcome.name], [status, name], condition);
  }
  bus.behave("accept");
  bus.missing.add("gone");
  assert.equal(answeredOf(await send(hub("hubs", "gone"))).status, 404);
  assert.equal(bus.transfers.length, table.length, "each was tried once");
});

test("a wrong key is a 401, and an id in no section leads nowhere", async (t) => {
  const { bus, send } = await openHubs(t, (right) =>
    right.replace(/SharedAccessKey=[^;]*/, "SharedAccessKey=wrong-one"),
  );
  const outcome = answeredOf(await send(hub("hubs")));
  assert.equal(outcome.status, 401);
  assert.ok(!JSON.stringify(outcome).includes("wrong-one"));
  assert.equal(bus.transfers.length, 0);
  const { why, detail } = noReplyOf(await send(hub("other")));
  assert.equal(why, "dns");
  assert.match(detail ?? "", /eventhubs\/telemetry is not in eventHubNamespaces\.$/);
});

test("the namespace's connection string may be one of a single hub", async (t) => {
  const { bus, send } = await openHubs(t, (whole) => `${whole}EntityPath=telemetry`);
  assert.equal(answeredOf(await send(hub("hubs"))).status, 200);
  assert.equal(answeredOf(await send(hub("hubs", "other"))).status, 200);
  assert.deepEqual(
    bus.transfers.map(({ entity }) => entity),
    ["telemetry", "other"],
  );
});

test("an event that is too large for a hub is a 413 before it is sent (P-7)", async (t) => {
  const { bus, send } = await openHubs(t);
  const parcel = parcelWith(`{"id":"${"x".repeat(messageBytesMax)}"}`, {});
  const outcome = answeredOf(await send(hub("hubs"), { parcel }));
  assert.equal(outcome.status, 413);
  assert.equal(bus.transfers.length, 0);
  assert.equal(
    answeredOf(await send(hub("hubs"))).status,
    200,
    "and the next one is not disturbed",
  );
});

test("sends at the same time share one link", async (t) => {
  const { bus, send } = await openHubs(t);
  const outcomes = await Promise.all(Array.from({ length: 10 }, () => send(hub("hubs"))));
  for (const outcome of outcomes) assert.equal(answeredOf(outcome).status, 200);
  assert.equal(bus.links.length, 1);
});
