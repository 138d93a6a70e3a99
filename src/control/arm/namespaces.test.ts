// Namespaces, their topics and event subscriptions as Azure Resource Manager's resources.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Arm,
  answer,
  group,
  openArm,
  ordersPath,
  provider,
} from "../../../test/fixtures/arm.ts";

const namespacePath = `${group}${provider}/namespaces/shop-1`;
const topicPath = `${namespacePath}/topics/orders`;
const subscriptionPath = `${topicPath}/eventSubscriptions/billing`;

const queue = (over: object = {}) => ({
  properties: { deliveryConfiguration: { deliveryMode: "Queue", queue: over } },
});

async function openTopic(arm: Arm): Promise<void> {
  await arm.good("PUT", namespacePath, { location: "eastus" });
  await arm.good("PUT", topicPath, { properties: {} });
}

test("a namespace needs only a location, and is shown with its host (N-1, N-66, N-71, N-72)", async (t) => {
  const arm = await openArm(t);
  const made = await arm.good("PUT", namespacePath, { location: "eastus", tags: { a: "b" } });
  assert.equal(made.status, 201);
  assert.equal(made.body.properties.provisioningState, "Creating");
  assert.match(String(made.headers["azure-asyncoperation"]), /operationsStatus/);
  assert.equal((await arm.follow(made)).body.status, "Succeeded");
  const { body } = await arm.good("GET", namespacePath);
  assert.deepEqual(body, {
    properties: {
      provisioningState: "Succeeded",
      isZoneRedundant: true,
      publicNetworkAccess: "Enabled",
      inboundIpRules: null,
      minimumTlsVersionAllowed: "1.2",
      topicsConfiguration: {
        hostname: body.properties.topicsConfiguration.hostname,
        customDomains: [],
      },
    },
    sku: { name: "Standard", capacity: 1 },
    systemData: null,
    location: "eastus",
    tags: { a: "b" },
    id: namespacePath,
    name: "shop-1",
    type: "Microsoft.EventGrid/namespaces",
  });
  assert.match(body.properties.topicsConfiguration.hostname, /^shop-1\.localhost:\d+$/);
});

test("a namespace is written again with what was read, and patched", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", namespacePath, { location: "eastus" });
  const { body: before } = await arm.good("GET", namespacePath);
  const again = await arm.good("PUT", namespacePath, before);
  assert.equal(again.body.properties.provisioningState, "Updating");
  const change = {
    sku: { name: "Standard", capacity: 3 },
    tags: { team: "x" },
    properties: {
      publicNetworkAccess: "Disabled",
      topicSpacesConfiguration: { state: "Disabled" },
    },
  };
  const changed = await arm.good("PATCH", namespacePath, change);
  assert.equal(changed.status, 202);
  const { body } = await arm.good("GET", namespacePath);
  assert.partialDeepStrictEqual(body, change);
});

test("lists and keys of namespaces and of topics (N-64, N-74)", async (t) => {
  const arm = await openArm(t);
  await openTopic(arm);
  const names = async (path: string) =>
    (await arm.good("GET", path)).body.value.map(({ name }: { name: string }) => name);
  assert.deepEqual(await names(`${group}${provider}/namespaces`), ["shop-1"]);
  assert.deepEqual(await names(`/subscriptions/S${provider}/namespaces`), ["shop-1"]);
  assert.deepEqual(await names(`${namespacePath}/topics`), ["orders"]);
  // Neither is a topic of the older tier.
  assert.deepEqual(await names(`${group}${provider}/topics`), []);
  for (const path of [namespacePath, topicPath]) {
    const { body: keys } = await arm.good("POST", `${path}/listKeys`);
    const { body: renewed } = await arm.good("POST", `${path}/regenerateKey`, { keyName: "key2" });
    assert.equal(renewed.key1, keys.key1);
    assert.notEqual(renewed.key2, keys.key2);
    const wrong = await arm.ask("POST", `${path}/regenerateKey`, { keyName: "key3" });
    assert.equal(wrong.status, 400);
  }
});

test("a topic keeps events for one day unless it says otherwise (N-67)", async (t) => {
  const arm = await openArm(t);
  await openTopic(arm);
  const { body } = await arm.good("GET", topicPath);
  assert.deepEqual(body, {
    properties: {
      provisioningState: "Succeeded",
      publisherType: "Custom",
      inputSchema: "CloudEventSchemaV1_0",
      eventRetentionInDays: 1,
    },
    systemData: null,
    id: topicPath,
    name: "orders",
    type: "Microsoft.EventGrid/namespaces/topics",
  });
  const change = { properties: { eventRetentionInDays: 7 } };
  assert.equal((await arm.good("PATCH", topicPath, change)).status, 202);
  const { properties } = (await arm.good("GET", topicPath)).body;
  assert.equal(properties.eventRetentionInDays, 7);
});

test("a queue is shown with its defaults, and read back as it was written (N-68, N-70)", async (t) => {
  const arm = await openArm(t);
  await openTopic(arm);
  await arm.good("PUT", subscriptionPath, { properties: {} });
  const { body: plain } = await arm.good("GET", subscriptionPath);
  assert.deepEqual(plain, {
    properties: {
      provisioningState: "Succeeded",
      deliveryConfiguration: {
        deliveryMode: "Queue",
        queue: {
          receiveLockDurationInSeconds: 60,
          maxDeliveryCount: 10,
          eventTimeToLive: "P1D",
        },
      },
      eventDeliverySchema: "CloudEventSchemaV1_0",
    },
    systemData: null,
    id: subscriptionPath,
    name: "billing",
    type: "Microsoft.EventGrid/namespaces/topics/eventSubscriptions",
  });
  const full = {
    deliveryConfiguration: {
      deliveryMode: "Queue",
      queue: {
        receiveLockDurationInSeconds: 120,
        maxDeliveryCount: 4,
        eventTimeToLive: "PT2H",
        deadLetterDestinationWithResourceIdentity: {
          identity: { type: "SystemAssigned", userAssignedIdentity: null },
          deadLetterDestination: {
            endpointType: "StorageBlob",
            properties: {
              resourceId: `${group}/providers/Microsoft.Storage/storageAccounts/letters`,
              blobContainerName: "letters",
            },
          },
        },
      },
    },
    eventDeliverySchema: "CloudEventSchemaV1_0",
    filtersConfiguration: {
      includedEventTypes: ["com.x.created"],
      filters: [{ operatorType: "StringBeginsWith", key: "subject", values: ["orders/"] }],
    },
    expirationTimeUtc: "2031-01-01T00:00:00.000Z",
  };
  await arm.good("PUT", subscriptionPath, { properties: full });
  const { properties } = (await arm.good("GET", subscriptionPath)).body;
  assert.deepEqual(properties, { provisioningState: "Succeeded", ...full });
  const { status } = await arm.good("PUT", subscriptionPath, { properties });
  assert.equal(status, 201);
});

test("a patch of a queue changes what it names, and nothing else", async (t) => {
  const arm = await openArm(t);
  await openTopic(arm);
  await arm.good("PUT", subscriptionPath, queue({ maxDeliveryCount: 4, eventTimeToLive: "PT2H" }));
  const longer = queue({ receiveLockDurationInSeconds: 90 });
  assert.equal((await arm.good("PATCH", subscriptionPath, longer)).status, 202);
  const { properties } = (await arm.good("GET", subscriptionPath)).body;
  assert.deepEqual(properties.deliveryConfiguration.queue, {
    receiveLockDurationInSeconds: 90,
    maxDeliveryCount: 4,
    eventTimeToLive: "PT2H",
  });
});

test("a push subscription to a webhook is asked first, and hides its URL (N-57, N-69)", async (t) => {
  const arm = await openArm(t);
  await openTopic(arm);
  const push = (endpointUrl: string, over: object = {}) => ({
    properties: {
      deliveryConfiguration: {
        deliveryMode: "Push",
        push: {
          destination: { endpointType: "WebHook", properties: { endpointUrl } },
          ...over,
        },
      },
    },
  });
  const made = await arm.good("PUT", subscriptionPath, push("https://hook.test/a?code=secret"));
  assert.equal((await arm.follow(made)).body.status, "Succeeded");
  assert.deepEqual(arm.asked, ["OPTIONS https://hook.test/a?code=secret"]);
  const { body } = await arm.good("GET", subscriptionPath);
  const shown = body.properties.deliveryConfiguration;
  assert.equal(shown.deliveryMode, "Push");
  assert.equal(shown.push.maxDeliveryCount, 10);
  assert.equal(shown.push.destination.properties.endpointBaseUrl, "https://hook.test/a");
  assert.ok(!JSON.stringify(body).includes("secret"));
  const url = await arm.good("POST", `${subscriptionPath}/getFullUrl`);
  assert.equal(url.body.endpointUrl, "https://hook.test/a?code=secret");
  arm.react(answer(500));
  const other = `${topicPath}/eventSubscriptions/other`;
  const refused = await arm.good("PUT", other, push("https://no.test/"));
  await arm.clock.advance({ byMs: 60 * 60_000 });
  assert.equal((await arm.follow(refused)).body.status, "Failed");
});

test("what is wrong is refused by name (N-65, N-75, N-76)", async (t) => {
  const arm = await openArm(t);
  await openTopic(arm);
  const inQueue = "properties.deliveryConfiguration.queue";
  const push = (destination: object | undefined) => ({
    properties: { deliveryConfiguration: { deliveryMode: "Push", push: { destination } } },
  });
  const storage = {
    endpointType: "StorageQueue",
    properties: {
      resourceId: `${group}/providers/Microsoft.Storage/storageAccounts/queues`,
      queueName: "work",
    },
  };
  const filters = (filtersConfiguration: object) => ({
    properties: { ...queue().properties, filtersConfiguration },
  });
  const cases: [string, object, RegExp][] = [
    [subscriptionPath, queue({ receiveLockDurationInSeconds: 59 }), new RegExp(`${inQueue}.rec`)],
    [subscriptionPath, queue({ receiveLockDurationInSeconds: 301 }), /from 60 to 300/],
    [subscriptionPath, queue({ receiveLockDurationInSeconds: 60.5 }), /whole number/],
    [subscriptionPath, queue({ maxDeliveryCount: 0 }), /maxDeliveryCount .* from 1 to 10/],
    [subscriptionPath, queue({ maxDeliveryCount: 11 }), /from 1 to 10/],
    [subscriptionPath, queue({ eventTimeToLive: "PT59S" }), /eventTimeToLive .* PT1M to P1D/],
    [subscriptionPath, queue({ eventTimeToLive: "PT90S" }), /whole minutes/],
    [subscriptionPath, queue({ eventTimeToLive: "P2D" }), /P1D, the retention of the topic/],
    [subscriptionPath, queue({ destination: {} }), /no member "destination"/],
    [
      subscriptionPath,
      { properties: { deliveryConfiguration: { deliveryMode: "Pull" } } },
      /Queue or Push/,
    ],
    [subscriptionPath, push(undefined), /destination/],
    [subscriptionPath, push(storage), /WebHook or EventHub/],
    [
      subscriptionPath,
      { properties: { eventDeliverySchema: "EventGridSchema" } },
      /eventDeliverySchema must be CloudEventSchemaV1_0/,
    ],
    [subscriptionPath, filters({ subjectBeginsWith: "a" }), /no member "subjectBeginsWith"/],
    [subscriptionPath, filters({ filters: [{ key: "a" }] }), /filtersConfiguration\.filters\[0\]/],
    [topicPath, { properties: { eventRetentionInDays: 8 } }, /from 1 to 7/],
    [topicPath, { properties: { publisherType: "Partner" } }, /publisherType must be Custom/],
    [`${namespacePath}/topics/a`, { properties: {} }, /2 to 50/],
    [`${group}${provider}/namespaces/System1`, { location: "eastus" }, /does not begin with/],
  ];
  for (const [path, body, words] of cases) {
    const { status, body: said } = await arm.ask("PUT", path, body);
    assert.equal(status, 400, String(words));
    assert.match(said.error.message, words);
  }
});

test("a mode cannot change, nor a retention below a life (N-46, N-75)", async (t) => {
  const arm = await openArm(t);
  await openTopic(arm);
  await arm.good("PATCH", topicPath, { properties: { eventRetentionInDays: 7 } });
  await arm.good("PUT", subscriptionPath, queue({ eventTimeToLive: "P3D" }));
  const short = await arm.ask("PATCH", topicPath, { properties: { eventRetentionInDays: 2 } });
  assert.equal(short.status, 400);
  assert.match(short.body.error.message, /'billing' has eventTimeToLive P3D/);
  const endpointUrl = "https://hook.test/";
  const push = { destination: { endpointType: "WebHook", properties: { endpointUrl } } };
  const switched = await arm.ask("PUT", subscriptionPath, {
    properties: { deliveryConfiguration: { deliveryMode: "Push", push } },
  });
  assert.equal(switched.status, 400);
  assert.match(switched.body.error.message, /deliveryMode must stay Queue/);
});

test("what has no parent is not found, and what is taken is a conflict (N-75)", async (t) => {
  const arm = await openArm(t);
  assert.equal((await arm.ask("PUT", topicPath, { properties: {} })).status, 404);
  await arm.good("PUT", namespacePath, { location: "eastus" });
  assert.equal((await arm.ask("PUT", subscriptionPath, queue())).status, 404);
  await arm.good("PUT", ordersPath, { location: "westus2" });
  const taken = await arm.ask("PUT", `${group}${provider}/namespaces/orders`, {
    location: "eastus",
  });
  assert.equal(taken.status, 409);
});

test("a removal takes what lies below, and is polled like others (N-73)", async (t) => {
  const arm = await openArm(t);
  await openTopic(arm);
  await arm.good("PUT", subscriptionPath, queue());
  const gone = await arm.good("DELETE", namespacePath);
  assert.equal(gone.status, 202);
  assert.match(String(gone.headers.location), /operationResults/);
  assert.equal((await arm.follow(gone)).body.status, "Succeeded");
  for (const path of [namespacePath, topicPath, subscriptionPath]) {
    assert.equal((await arm.ask("GET", path)).status, 404, path);
  }
  assert.equal((await arm.good("DELETE", namespacePath)).status, 204);
  const { topics, subscriptions } = await arm.catalog();
  assert.deepEqual([topics, subscriptions], [[], []]);
});

test("lists of other event subscriptions leave those of namespaces out", async (t) => {
  const arm = await openArm(t);
  await openTopic(arm);
  await arm.good("PUT", subscriptionPath, queue());
  const all = await arm.good("GET", `${group}${provider}/eventSubscriptions`);
  assert.deepEqual(all.body.value, []);
  const own = await arm.good("GET", `${topicPath}/eventSubscriptions`);
  assert.equal(own.body.value.length, 1);
});

test("MQTT is refused by name", async (t) => {
  const arm = await openArm(t);
  await openTopic(arm);
  const { status, body } = await arm.ask("PUT", `${namespacePath}/topicSpaces/a`, {});
  assert.equal(status, 400);
  assert.match(body.error.message, /MQTT/);
});
