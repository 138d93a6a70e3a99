// Azure's own client of Event Hubs, and a stand-in for the service that speaks AMQP to it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { busContract, openBus } from "../../../test/contract/bus.ts";
import { answeredOf } from "../../../test/contract/sink.ts";
import { parcelWith, resourceIds } from "../../../test/fixtures/destination.ts";
import type { DeliveryHeader } from "../../core/subscription.ts";

const section = "eventHubNamespaces";

const hub = (name = "telemetry", namespace = "bus") => ({
  kind: "eventHub" as const,
  resourceId: resourceIds.eventHub(namespace, name),
});

busContract("an event hub", { section, within: (namespace) => hub("telemetry", namespace) });

test("a hub gets one event as an object, and beside it what a webhook gets in headers", async (t) => {
  const { bus, send } = await openBus(t, section);
  assert.equal(answeredOf(await send(hub())).status, 200);
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
  const { bus, send } = await openBus(t, section);
  const headers: readonly DeliveryHeader[] = [
    { kind: "dynamic", name: "PartitionKey", sourceField: "data.device" },
    { kind: "static", name: "MessageId", value: "no id here", isSecret: false },
  ];
  const parcel = parcelWith('{"id":"a","data":{"device":"d-7"}}', { headers });
  await send(hub(), { parcel });
  const [message] = bus.transfers[0]?.messages ?? [];
  assert.equal(message?.annotations["x-opt-partition-key"], "d-7");
  assert.equal(message?.application.MessageId, "no id here");
  assert.ok(!("PartitionKey" in (message?.application ?? {})));
});

test("what a hub says no to has the status and the name that the service has for it", async (t) => {
  const { bus, send } = await openBus(t, section);
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
    const outcome = answeredOf(await send(hub()));
    assert.deepEqual([outcome.status, outcome.name], [status, name], condition);
  }
  bus.behave("accept");
  bus.missing.add("gone");
  assert.equal(answeredOf(await send(hub("gone"))).status, 404);
  assert.equal(bus.transfers.length, table.length, "each was tried once");
});

test("the namespace's connection string may be one of a single hub", async (t) => {
  const { bus, send } = await openBus(t, section, (whole) => `${whole}EntityPath=telemetry`);
  assert.equal(answeredOf(await send(hub())).status, 200);
  assert.equal(answeredOf(await send(hub("other"))).status, 200);
  assert.deepEqual(
    bus.transfers.map(({ entity }) => entity),
    ["telemetry", "other"],
  );
});
