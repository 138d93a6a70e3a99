import assert from "node:assert/strict";
import { test } from "node:test";
import { type Arm, type Json, openArm, ordersPath, provider } from "../../../test/fixtures/arm.ts";
import { resourceIds } from "../../../test/fixtures/destination.ts";

const path = `${ordersPath}${provider}/eventSubscriptions/billing`;

async function openOrders(...given: Parameters<typeof openArm>): Promise<Arm> {
  const arm = await openArm(...given);
  await arm.good("PUT", ordersPath, { location: "local" });
  return arm;
}

const to = (endpointType: string, properties: Json, more: Json = {}) => ({
  properties: { destination: { endpointType, properties }, ...more },
});

const resources = [
  ["ServiceBusQueue", resourceIds.busQueue("bus", "orders")],
  ["ServiceBusTopic", resourceIds.busTopic("bus", "orders")],
  ["EventHub", resourceIds.eventHub("hubs", "telemetry")],
  ["HybridConnection", resourceIds.relay("relay", "orders")],
] as const;

for (const [endpointType, resourceId] of resources) {
  test(`a ${endpointType} is in force at once, asked by nobody, and shown as it was written`, async (t) => {
    const arm = await openOrders(t);
    const header = { name: "x-key", type: "Dynamic", properties: { sourceField: "data.key" } };
    const properties = { resourceId, deliveryAttributeMappings: [header] };
    const made = await arm.good("PUT", path, to(endpointType.toUpperCase(), properties));
    assert.deepEqual(made.body.properties.destination, { endpointType, properties });
    const shown = await arm.good("GET", path);
    assert.equal(shown.body.properties.provisioningState, "Succeeded");
    assert.deepEqual(shown.body.properties.destination, { endpointType, properties });
    assert.deepEqual(arm.asked, []);
    const full = await arm.good("POST", `${path}/getFullUrl`);
    assert.deepEqual(full.body, { endpointUrl: null });
    // The Azure CLI writes back what it has read, without the headers.
    await arm.good("PATCH", path, { destination: { endpointType, properties: { resourceId } } });
    const { subscriptions } = await arm.catalog();
    assert.equal(subscriptions[0]?.headers.length, 1);
    await arm.good("DELETE", path);
    assert.deepEqual(arm.asked, [], "nor is it told that its subscription is gone");
  });
}

test("a queue stands by itself or at the end of the id, and may have a time to live", async (t) => {
  const arm = await openOrders(t);
  const resourceId = resourceIds.queue("queues");
  const whole = `${resourceId}/queueServices/default/queues/orders`;
  const record = { kind: "storageQueue", resourceId, queueName: "orders" };
  for (const [properties, ttlSeconds] of [
    [{ resourceId, queueName: "orders" }, null],
    [{ resourceId: whole }, null],
    [{ resourceId: whole.toLowerCase(), queueName: "orders" }, null],
    [{ resourceId, queueName: "orders", queueMessageTimeToLiveInSeconds: 300 }, 300],
    [{ resourceId, queueName: "orders", queueMessageTimeToLiveInSeconds: -1 }, -1],
  ] as const) {
    await arm.good("PUT", path, to("storagequeue", properties));
    const [stored] = (await arm.catalog()).subscriptions;
    assert.deepEqual(stored?.destination, { ...record, ttlSeconds });
  }
  const shown = await arm.good("GET", path);
  assert.deepEqual(shown.body.properties.destination, {
    endpointType: "StorageQueue",
    properties: { resourceId, queueName: "orders", queueMessageTimeToLiveInSeconds: -1 },
  });
});

test("a function is asked like a webhook, at the address in the file", async (t) => {
  const arm = await openOrders(t);
  const resourceId = resourceIds.functionOf("app", "onOrder");
  const properties = { resourceId, maxEventsPerBatch: 10, preferredBatchSizeInKilobytes: 128 };
  const made = await arm.good("PUT", path, to("AzureFunction", properties));
  assert.equal(made.body.properties.provisioningState, "Creating");
  const { body } = await arm.follow(made);
  assert.equal(body.status, "Succeeded");
  const url = "https://app.test/runtime/webhooks/EventGrid?functionName=onOrder&code=hush";
  assert.deepEqual(arm.asked, [`POST ${url}`]);
  const shown = await arm.good("GET", path);
  assert.deepEqual(shown.body.properties.destination, {
    endpointType: "AzureFunction",
    properties: properties,
  });
  assert.ok(!JSON.stringify(shown.body).includes("hush"));
});

test("what leads nowhere or makes no sense is refused in words, and nothing is written", async (t) => {
  const arm = await openOrders(t);
  const at = "properties.destination.properties";
  const queue = resourceIds.queue("queues");
  const bus = resourceIds.busQueue("bus", "orders");
  const header = (name: string, type = "Static") => ({
    name,
    type,
    properties: type === "Static" ? { value: "v" } : { sourceField: "id" },
  });
  const withHeaders = (...deliveryAttributeMappings: unknown[]) =>
    to("ServiceBusQueue", { resourceId: bus, deliveryAttributeMappings });
  const table: readonly (readonly [Json, string, RegExp])[] = [
    [
      to("ServiceBusQueue", { resourceId: resourceIds.busQueue("bass", "orders") }),
      `${at}.resourceId`,
      /Service Bus namespace 'bass', which this broker does not know: add it to serviceBusNamespaces in its file, which has bus$/,
    ],
    [
      to("ServiceBusTopic", { resourceId: bus }),
      `${at}.resourceId`,
      /must be \/subscriptions\/<id>\/.*\/Microsoft\.ServiceBus\/namespaces\/<name>\/topics\/<name>/,
    ],
    [to("EventHub", {}), `${at}.resourceId`, /\/eventhubs\/<name>, and is missing/],
    [
      to("ServiceBusQueue", { resourceId: bus, maxEventsPerBatch: 5 }),
      `${at}.maxEventsPerBatch`,
      /must be left out: ServiceBusQueue takes one event at a time$/,
    ],
    [
      to("StorageQueue", {
        resourceId: queue,
        queueName: "orders",
        deliveryAttributeMappings: [1],
      }),
      `${at}.deliveryAttributeMappings`,
      /must be left out: StorageQueue knows no headers$/,
    ],
    [
      to("StorageQueue", { resourceId: queue, queueName: "Or" }),
      `${at}.queueName`,
      /3 to 63 lower/,
    ],
    [
      to("StorageQueue", {
        resourceId: `${queue}/queueServices/default/queues/a-b`,
        queueName: "c",
      }),
      `${at}.queueName`,
      /left out or a-b, as in resourceId/,
    ],
    [
      to("StorageQueue", { resourceId: resourceIds.queue("letters"), queueName: "orders" }),
      `${at}.resourceId`,
      /storage account 'letters', which is a folder, and folders have no queues$/,
    ],
    ...[0, -2, 1.5, "60"].map(
      (ttl) =>
        [
          to("StorageQueue", {
            ...{ resourceId: queue, queueName: "orders" },
            queueMessageTimeToLiveInSeconds: ttl,
          }),
          `${at}.queueMessageTimeToLiveInSeconds`,
          /a whole number of seconds from 1 on, or -1 for no end/,
        ] as const,
    ),
    [
      withHeaders(header("MessageId")),
      `${at}.deliveryAttributeMappings[0]`,
      /MessageId is an event's own, and so Dynamic$/,
    ],
    [
      withHeaders(header("SessionId"), header("messageid", "Dynamic")),
      `${at}.deliveryAttributeMappings[1]`,
      /only one of SessionId and MessageId may be set$/,
    ],
    [
      to("PartnerDestination", { resourceId: bus }),
      "properties.destination.endpointType",
      /must be WebHook, AzureFunction, StorageQueue, .* or HybridConnection/,
    ],
  ];
  for (const [body, target, words] of table) {
    const answer = await arm.ask("PUT", path, body);
    const { error } = answer.body as {
      error: { details?: { target?: string }[]; message: string };
    };
    assert.equal(answer.status, 400, JSON.stringify(answer.body));
    assert.match(error.message, words);
    assert.ok(JSON.stringify(answer.body).includes(target), target);
  }
  assert.deepEqual((await arm.catalog()).subscriptions, []);
});

test("an identity is kept and shown, and the file's credentials are used", async (t) => {
  const arm = await openOrders(t);
  const destination = {
    endpointType: "EventHub",
    properties: {
      resourceId: resourceIds.eventHub("hubs", "telemetry"),
    },
  };
  const userAssignedIdentity = "/subscriptions/s/resourceGroups/rg/providers/x/y/me";
  const mine = { type: "UserAssigned", userAssignedIdentity };
  const own = { type: "SystemAssigned", userAssignedIdentity: null };
  const deadLetterDestination = {
    endpointType: "StorageBlob",
    properties: { resourceId: resourceIds.queue("letters"), blobContainerName: "given-up" },
  };
  await arm.good("PUT", path, {
    properties: {
      deliveryWithResourceIdentity: { identity: { type: "SystemAssigned" }, destination },
      deadLetterWithResourceIdentity: { identity: mine, deadLetterDestination },
    },
  });
  const { properties } = (await arm.good("GET", path)).body;
  assert.equal("destination" in properties, false);
  assert.deepEqual(properties.deliveryWithResourceIdentity, { identity: own, destination });
  assert.equal("deadLetterDestination" in properties, false);
  assert.deepEqual(properties.deadLetterWithResourceIdentity, {
    identity: mine,
    deadLetterDestination,
  });
  // A client that writes back what it has read changes nothing.
  await arm.good("PUT", path, { properties });
  assert.deepEqual((await arm.good("GET", path)).body.properties, properties);
  const [stored] = (await arm.catalog()).subscriptions;
  assert.deepEqual(stored?.deadLetter?.identity, mine);
});

test("an identity that could not be used is refused in words", async (t) => {
  const arm = await openOrders(t);
  const identity = { type: "SystemAssigned" };
  const hook = { endpointType: "WebHook", properties: { endpointUrl: "https://hook.test/" } };
  const at = "properties.deliveryWithResourceIdentity";
  const resourceId = resourceIds.eventHub("hubs", "telemetry");
  const hub = { endpointType: "EventHub", properties: { resourceId } };
  const table: readonly (readonly [Json, RegExp])[] = [
    [{ identity, destination: hook }, /endpointType must be a queue, a topic, a hub or a relay/],
    [{ destination: hub }, new RegExp(`${at}.identity must be an object, and is missing`)],
    [{ identity: { type: "None" }, destination: hub }, /SystemAssigned or UserAssigned/],
    [
      { identity: { type: "UserAssigned" }, destination: hub },
      /userAssignedIdentity must be the resource id of an identity/,
    ],
    [{ identity }, /destination must be an object, and is missing/],
  ];
  for (const [deliveryWithResourceIdentity, words] of table) {
    const { status, body } = await arm.ask("PUT", path, {
      properties: { deliveryWithResourceIdentity },
    });
    assert.equal(status, 400);
    assert.match((body as { error: { message: string } }).error.message, words);
  }
});
