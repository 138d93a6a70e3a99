// Azure's own client of Service Bus, and a stand-in for the service that speaks AMQP to it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { busContract, openBus } from "../../../test/contract/bus.ts";
import { answeredOf, noReplyOf } from "../../../test/contract/sink.ts";
import { openSender, parcelWith, resourceIds } from "../../../test/fixtures/destination.ts";
import type { DeliveryHeader } from "../../core/subscription.ts";

const section = "serviceBusNamespaces";

const queueIn = (namespace: string) => ({
  kind: "serviceBusQueue" as const,
  resourceId: resourceIds.busQueue(namespace, "orders"),
});
const queue = queueIn("bus");

busContract("a serviceBusQueue", { section, within: queueIn });
busContract("a serviceBusTopic", {
  section,
  within: (namespace) => ({
    kind: "serviceBusTopic",
    resourceId: resourceIds.busTopic(namespace, "orders"),
  }),
});

test("a queue gets one event as an object, and beside it what a webhook gets in headers", async (t) => {
  const { bus, send } = await openBus(t, section);
  assert.equal(answeredOf(await send(queue)).status, 200);
  const [transfer] = bus.transfers;
  assert.deepEqual(transfer, {
    entity: "orders",
    messages: [
      {
        body: '{"id":"a"}',
        properties: { message_id: "event-1", content_type: "application/json; charset=utf-8" },
        annotations: {},
        application: {
          "aeg-event-type": "Notification",
          "aeg-subscription-name": "WAREHOUSE",
          "aeg-delivery-count": "0",
          "aeg-metadata-version": "1",
          "aeg-data-version": "1.0",
          "aeg-output-event-id": "event-1",
        },
      },
    ],
  });
});

test("names that Service Bus has a meaning for set its own properties, others go beside (C-1)", async (t) => {
  const { bus, send } = await openBus(t, section);
  const fixed = (name: string, value: string): DeliveryHeader => ({
    ...{ kind: "static", name, value, isSecret: false },
  });
  const headers: readonly DeliveryHeader[] = [
    { kind: "dynamic", name: "SessionId", sourceField: "data.customer" },
    fixed("CorrelationId", "c-1"),
    fixed("Label", "orders"),
    fixed("ReplyTo", "answers"),
    fixed("ReplyToSessionId", "r-1"),
    fixed("To", "shop"),
    { kind: "dynamic", name: "PartitionKey", sourceField: "data.customer" },
    fixed("viaPartitionKey", "via"),
    { kind: "dynamic", name: "X-Amount", sourceField: "data.amount" },
    { kind: "dynamic", name: "x-missing", sourceField: "data.nothing" },
  ];
  const parcel = parcelWith('{"id":"a","data":{"customer":"Käte","amount":12.50}}', { headers });
  await send(queue, { parcel });
  const [message] = bus.transfers[0]?.messages ?? [];
  assert.deepEqual(message?.properties, {
    ...{ message_id: "event-1", content_type: "application/json; charset=utf-8" },
    ...{ group_id: "Käte", correlation_id: "c-1", subject: "orders", reply_to: "answers" },
    ...{ reply_to_group_id: "r-1", to: "shop" },
  });
  assert.deepEqual(message?.annotations, {
    "x-opt-partition-key": "Käte",
    "x-opt-via-partition-key": "via",
  });
  assert.equal(message?.application["X-Amount"], "12.50");
  assert.ok(!("x-missing" in (message?.application ?? {})));
  const long = parcelWith(`{"data":{"amount":"${"ü".repeat(3_000)}!"}}`, { headers });
  await send(queue, { parcel: long });
  const [cut] = bus.transfers[1]?.messages ?? [];
  assert.equal(cut?.application["X-Amount"], "ü".repeat(2_048), "4,096 bytes and no more");
  const byId: DeliveryHeader = { kind: "dynamic", name: "MessageId", sourceField: "id" };
  await send(queue, { parcel: parcelWith('{"id":"mine"}', { headers: [byId] }) });
  assert.equal(bus.transfers[2]?.messages[0]?.properties.message_id, "mine");
});

test("a CloudEvent keeps its type, and a trace goes with every attempt", async (t) => {
  const { bus, send } = await openBus(t, section);
  const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const event =
    '{"id":"a","topic":"/t","subject":"s","eventType":"e","eventTime":"2030-01-01T00:00:00Z",' +
    '"data":1,"dataVersion":""}';
  const parcel = parcelWith(event, { deliverySchema: "CloudEventSchemaV1_0" });
  await send(queue, { parcel: { ...parcel, trace: { parent, state: null } } });
  const [message] = bus.transfers[0]?.messages ?? [];
  assert.equal(
    message?.body,
    '{"specversion":"1.0","id":"a","source":"/t","subject":"s","type":"e",' +
      '"time":"2030-01-01T00:00:00Z","data":1}',
  );
  assert.equal(message?.properties.content_type, "application/cloudevents+json; charset=utf-8");
  assert.equal(message?.application["aeg-metadata-version"], "1.0");
  assert.ok(!("aeg-data-version" in (message?.application ?? {})));
  assert.equal(message?.application.traceparent, parent);
});

test("what the bus says no to has the status and the name that the service has for it", async (t) => {
  const { bus, send } = await openBus(t, section);
  const table = [
    ["amqp:link:message-size-exceeded", "It is too large.", 413, undefined],
    ["com.microsoft:server-busy", "Later.", 503, undefined],
    ["com.microsoft:entity-disabled", "It is off.", 503, "Disabled"],
    ["amqp:resource-limit-exceeded", "It is full.", 503, "Full"],
    ["amqp:unauthorized-access", "No.", 401, undefined],
    ["com.microsoft:argument-error", "Nonsense.", 400, undefined],
    ["amqp:not-allowed", "The SessionId was not set.", 400, "SessionQueueNotSupported"],
    ["amqp:internal-error", "Oh.", 500, undefined],
  ] as const;
  for (const [condition, description, status, name] of table) {
    bus.behave({ condition, description });
    const outcome = answeredOf(await send(queue));
    assert.deepEqual([outcome.status, outcome.name], [status, name], condition);
    assert.equal(
      outcome.retryAfterMs,
      name === "Disabled" || name === "Full" ? 300_000 : undefined,
    );
    assert.ok(outcome.detail);
  }
  bus.behave({ condition: "com.microsoft:timeout", description: "It took too long." });
  assert.equal(noReplyOf(await send(queue)).why, "timeout");
  assert.equal(bus.transfers.length, table.length + 1, "each was tried once");
});

test("a queue that is gone is a 404, and found when it is back (P-8)", async (t) => {
  const { bus, send } = await openBus(t, section);
  bus.missing.add("orders");
  const { status, detail } = answeredOf(await send(queue));
  assert.deepEqual([status, detail], [404, "MessagingEntityNotFound"]);
  bus.missing.clear();
  assert.equal(answeredOf(await send(queue)).status, 200);
});

test("a host that nobody knows leads nowhere", async (t) => {
  const access = "SharedAccessKeyName=k;SharedAccessKey=s";
  const connectionString = `Endpoint=sb://nobody.invalid;${access};UseDevelopmentEmulator=true`;
  const { send } = openSender(t, { [section]: { bus: { connectionString } } });
  assert.notEqual((await send(queue)).kind, "answered");
});
