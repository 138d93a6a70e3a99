// The official management client drives the real program over TLS: every operation it has for
// topics, domains and event subscriptions, against a real endpoint that shakes hands. The last test
// looks whether any operation was left out.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  type DeliveryAttributeMappingUnion,
  EventGridManagementClient,
  type EventSubscription,
  type EventSubscriptionDestinationUnion,
  type JsonInputSchemaMapping,
} from "@azure/arm-eventgrid";
import { AzureKeyCredential, type TokenCredential } from "@azure/core-auth";
import { EventGridPublisherClient } from "@azure/eventgrid";
import { ClientSecretCredential, DefaultAzureCredential } from "@azure/identity";
import { type Arrived, serve } from "../fixtures/webhook.ts";
import { type CompatBroker, openCompatBroker, signIn } from "./broker.ts";

const subscriptionId = "11111111-2222-3333-4444-555555555555";
const rg = "rg1";
const place = `/subscriptions/${subscriptionId}/resourceGroups/${rg}/providers/Microsoft.EventGrid`;
const scopeOf = (source: string) => `${place}/${source}`;

let broker: CompatBroker;
let endpoint: Awaited<ReturnType<typeof serve>>;
let client: EventGridManagementClient;
/** What the endpoint answers when it is asked; null: as it should. */
let statusOfHook: number | null = null;
const called = new Set<string>();
const ends: (() => unknown)[] = [];

before(async () => {
  endpoint = await serve({ after: (end) => void ends.push(end) }, (response, arrived) => {
    const code = validationCodeIn(arrived);
    const origin = arrived.method === "OPTIONS" ? { "webhook-allowed-origin": "*" } : {};
    response.writeHead(statusOfHook ?? 200, origin);
    const isAgreed = code !== null && statusOfHook === null;
    response.end(isAgreed ? JSON.stringify({ validationResponse: code }) : "");
  });
  const options = ["--handshake", "on", "--handshake-persist", "PT0S"];
  const url = new URL(endpoint.url).origin;
  const bus = "Endpoint=sb://localhost;SharedAccessKeyName=k;SharedAccessKey=s";
  broker = await openCompatBroker({}, options, {
    storageAccounts: { shopqueues: { connectionString: "UseDevelopmentStorage=true" } },
    serviceBusNamespaces: { bus: { connectionString: bus } },
    eventHubNamespaces: { hubs: { connectionString: bus } },
    relayNamespaces: { relay: { connectionString: bus } },
    functionApps: { app: { url, key: "hush" } },
  });
  const token = await signIn(broker);
  const credential: TokenCredential = {
    getToken: async () => ({ token, expiresOnTimestamp: Date.now() + 3_600_000 }),
  };
  // Which of the operations were asked for, by the name the client gives them.
  client = recording(
    new EventGridManagementClient(credential, subscriptionId, {
      endpoint: broker.https,
      tlsOptions: { ca: broker.ca },
    }),
  );
});

after(async () => {
  await broker?.close();
  for (const end of ends) await end();
});

function validationCodeIn({ headers, body }: Arrived): string | null {
  if (headers["aeg-event-type"] !== "SubscriptionValidation") return null;
  return JSON.parse(body)[0].data.validationCode;
}

function recording(real: EventGridManagementClient): EventGridManagementClient {
  const watch = (group: object, name: string) =>
    new Proxy(group, {
      get(target, key) {
        called.add(`${name}.${String(key)}`);
        const value = Reflect.get(target, key);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  return new Proxy(real, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      return typeof value === "object" && value !== null ? watch(value, String(key)) : value;
    },
  });
}

async function namesOf(list: AsyncIterable<{ readonly name?: string }>): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of list) names.push(name ?? "");
  return names.toSorted();
}

test("credentials of Azure's identity library sign in under any tenant", async (t) => {
  const tenant = "b1e6c5b0-6f1a-4d52-9a7c-0d3f3f5a2c11";
  const options = {
    authorityHost: broker.https,
    disableInstanceDiscovery: true,
    tlsOptions: { ca: broker.ca },
    retryOptions: { maxRetries: 0 },
  };
  const given = { AZURE_TENANT_ID: tenant, AZURE_CLIENT_ID: "app", AZURE_CLIENT_SECRET: "" };
  t.after(() => {
    for (const name of Object.keys(given)) delete process.env[name];
  });
  Object.assign(process.env, given, { AZURE_CLIENT_SECRET: broker.adminKey });
  for (const credential of [
    new ClientSecretCredential(tenant, "app", broker.adminKey, options),
    new DefaultAzureCredential(options),
  ]) {
    const signedIn = new EventGridManagementClient(credential, subscriptionId, {
      endpoint: broker.https,
      tlsOptions: { ca: broker.ca },
    });
    assert.ok(Array.isArray(await namesOf(signedIn.topics.listBySubscription())));
  }
  const wrong = new ClientSecretCredential(tenant, "app", "wrong", options);
  await assert.rejects(wrong.getToken("https://x/.default"), /not the admin key/);
});

async function refusal(asked: Promise<unknown>) {
  try {
    await asked;
  } catch (error) {
    const { statusCode, code, message } = error as {
      readonly statusCode?: number;
      readonly code?: string;
      readonly message: string;
    };
    return { statusCode, code, message };
  }
  return assert.fail("it was not refused");
}

const webhook = (query = "?code=hush"): EventSubscription => ({
  destination: { endpointType: "WebHook", endpointUrl: `${endpoint.url}${query}` },
});

test("topics are made, changed, listed and removed, and their keys renewed", async () => {
  const made = await client.topics.beginCreateOrUpdateAndWait(rg, "orders", {
    location: "local",
    tags: { team: "a" },
    inputSchema: "EventGridSchema",
    inboundIpRules: [{ ipMask: "127.0.0.0/8", action: "Allow" }],
  });
  assert.equal(made.provisioningState, "Succeeded");
  assert.equal(made.id, scopeOf("topics/orders"));
  assert.equal(made.endpoint, `${broker.https}/topics/orders/api/events`);
  const custom = await client.topics.beginCreateOrUpdateAndWait(rg, "custom", {
    location: "local",
    inputSchema: "CustomEventSchema",
    inputSchemaMapping: {
      inputSchemaMappingType: "Json",
      id: { sourceField: "n" },
      eventType: { sourceField: "kind", defaultValue: "none" },
      subject: { defaultValue: "none" },
      dataVersion: { defaultValue: "1.0" },
    },
  });
  const { inputSchemaMapping } = custom;
  assert.equal(inputSchemaMapping?.inputSchemaMappingType, "Json");
  const { eventType } = inputSchemaMapping as JsonInputSchemaMapping;
  assert.deepEqual(eventType, { sourceField: "kind", defaultValue: "none" });

  const got = await client.topics.get(rg, "orders");
  assert.deepEqual(got.tags, { team: "a" });
  assert.deepEqual(got.inboundIpRules, [{ ipMask: "127.0.0.0/8", action: "Allow" }]);
  const update = { tags: { team: "b" }, disableLocalAuth: true };
  await client.topics.beginUpdateAndWait(rg, "orders", update);
  const after = await client.topics.get(rg, "orders");
  assert.deepEqual([after.tags, after.disableLocalAuth], [{ team: "b" }, true]);
  await client.topics.beginUpdateAndWait(rg, "orders", { disableLocalAuth: false });

  const keys = await client.topics.listSharedAccessKeys(rg, "orders");
  const renewed = await client.topics.beginRegenerateKeyAndWait(rg, "orders", { keyName: "key1" });
  assert.notEqual(renewed.key1, keys.key1);
  assert.equal(renewed.key2, keys.key2);

  const both = ["custom", "orders"];
  assert.deepEqual(await namesOf(client.topics.listByResourceGroup(rg)), both);
  assert.deepEqual(await namesOf(client.topics.listBySubscription({ top: 1 })), both);
  const filter = "name eq 'orders'";
  assert.deepEqual(await namesOf(client.topics.listBySubscription({ filter })), ["orders"]);
  const types = client.topics.listEventTypes(rg, "Microsoft.EventGrid", "topics", "orders");
  assert.deepEqual(await namesOf(types), []);
  await client.topics.beginDeleteAndWait(rg, "custom");
  const missing = await refusal(client.topics.get(rg, "custom"));
  assert.deepEqual([missing.statusCode, missing.code], [404, "ResourceNotFound"]);
  await client.topics.beginDeleteAndWait(rg, "custom");
});

test("domains and their topics are made, changed, listed and removed", async () => {
  const made = await client.domains.beginCreateOrUpdateAndWait(rg, "shop", {
    location: "local",
    inputSchema: "CloudEventSchemaV1_0",
    autoDeleteTopicWithLastSubscription: false,
  });
  assert.deepEqual(
    [made.type, made.provisioningState],
    ["Microsoft.EventGrid/domains", "Succeeded"],
  );
  await client.domains.beginUpdateAndWait(rg, "shop", { tags: { a: "1" } });
  const got = await client.domains.get(rg, "shop");
  assert.deepEqual(got.tags, { a: "1" });
  assert.equal(got.autoCreateTopicWithFirstSubscription, true);
  assert.equal(got.autoDeleteTopicWithLastSubscription, false);
  const keys = await client.domains.listSharedAccessKeys(rg, "shop");
  const renewed = await client.domains.regenerateKey(rg, "shop", { keyName: "key2" });
  assert.equal(renewed.key1, keys.key1);
  assert.notEqual(renewed.key2, keys.key2);
  assert.deepEqual(await namesOf(client.domains.listByResourceGroup(rg)), ["shop"]);
  assert.deepEqual(await namesOf(client.domains.listBySubscription()), ["shop"]);

  for (const name of ["tenant-1", "tenant-2"]) {
    const topic = await client.domainTopics.beginCreateOrUpdateAndWait(rg, "shop", name);
    assert.equal(topic.provisioningState, "Succeeded");
  }
  const topic = await client.domainTopics.get(rg, "shop", "tenant-1");
  assert.equal(topic.type, "Microsoft.EventGrid/domains/topics");
  const listed = client.domainTopics.listByDomain(rg, "shop", { top: 1 });
  assert.deepEqual(await namesOf(listed), ["tenant-1", "tenant-2"]);
  await client.domainTopics.beginDeleteAndWait(rg, "shop", "tenant-2");
  assert.deepEqual(await namesOf(client.domainTopics.listByDomain(rg, "shop")), ["tenant-1"]);

  await client.domains.beginCreateOrUpdateAndWait(rg, "second", { location: "local" });
  await client.domains.beginDeleteAndWait(rg, "second");
  assert.equal((await refusal(client.domains.get(rg, "second"))).statusCode, 404);
});

test("an event subscription is made, changed and written back as it was read", async () => {
  const scope = scopeOf("topics/orders");
  const made = await client.eventSubscriptions.beginCreateOrUpdateAndWait(scope, "billing", {
    destination: {
      endpointType: "WebHook",
      endpointUrl: `${endpoint.url}?code=hush`,
      maxEventsPerBatch: 10,
      preferredBatchSizeInKilobytes: 128,
      deliveryAttributeMappings: [
        { type: "Static", name: "X-S", value: "secret", isSecret: true },
        { type: "Dynamic", name: "X-D", sourceField: "data.foo" },
      ],
    },
    filter: {
      subjectBeginsWith: "a",
      includedEventTypes: ["T.A"],
      isSubjectCaseSensitive: true,
      advancedFilters: [
        { operatorType: "NumberIn", key: "data.n", values: [1, 2] },
        { operatorType: "NumberInRange", key: "data.n", values: [[1, 2]] },
        { operatorType: "BoolEquals", key: "data.b", value: true },
        { operatorType: "IsNotNull", key: "data.foo" },
      ],
    },
    labels: ["l1"],
    expirationTimeUtc: new Date("2100-01-01T00:00:00Z"),
    retryPolicy: { maxDeliveryAttempts: 5, eventTimeToLiveInMinutes: 10 },
  });
  assert.equal(made.provisioningState, "Succeeded");
  assert.ok(made.destination?.endpointType === "WebHook");
  assert.ok("endpointBaseUrl" in made.destination);
  assert.equal(made.destination.endpointBaseUrl, endpoint.url);
  assert.equal(made.filter?.advancedFilters?.length, 4);

  const full = await client.eventSubscriptions.getFullUrl(scope, "billing");
  assert.equal(full.endpointUrl, `${endpoint.url}?code=hush`);
  const attributes = await client.eventSubscriptions.getDeliveryAttributes(scope, "billing");
  assert.deepEqual(attributes.value?.[0], {
    type: "Static",
    name: "X-S",
    value: "secret",
    isSecret: true,
  });
  const updated = await client.eventSubscriptions.beginUpdateAndWait(scope, "billing", {
    labels: ["l2"],
    filter: { subjectBeginsWith: "a" },
  });
  assert.deepEqual([updated.labels, updated.provisioningState], [["l2"], "Succeeded"]);
  const got = await client.eventSubscriptions.get(scope, "billing");
  assert.equal(got.retryPolicy?.maxDeliveryAttempts, 5);
  assert.equal(got.expirationTimeUtc?.getTime(), Date.UTC(2100, 0, 1));

  // What was read is written back, and the secrets stay.
  await client.eventSubscriptions.beginCreateOrUpdateAndWait(scope, "billing", got);
  const kept = await client.eventSubscriptions.getDeliveryAttributes(scope, "billing");
  assert.deepEqual(kept.value, attributes.value);
  const same = await client.eventSubscriptions.getFullUrl(scope, "billing");
  assert.equal(same.endpointUrl, full.endpointUrl);
});

const resourceOf = (path: string) =>
  `/subscriptions/${subscriptionId}/resourceGroups/${rg}/providers/${path}`;

const deliveryAttributeMappings: DeliveryAttributeMappingUnion[] = [
  { type: "Dynamic", name: "X-D", sourceField: "data.foo" },
];

/** As the client has them, which the Azure CLI uses as well. */
const destinations: readonly EventSubscriptionDestinationUnion[] = [
  {
    endpointType: "StorageQueue",
    resourceId: resourceOf("Microsoft.Storage/storageAccounts/shopqueues"),
    queueName: "orders",
    queueMessageTimeToLiveInSeconds: 300,
  },
  {
    endpointType: "ServiceBusQueue",
    resourceId: resourceOf("Microsoft.ServiceBus/namespaces/bus/queues/orders"),
    deliveryAttributeMappings,
  },
  {
    endpointType: "ServiceBusTopic",
    resourceId: resourceOf("Microsoft.ServiceBus/namespaces/bus/topics/orders"),
    deliveryAttributeMappings,
  },
  {
    endpointType: "EventHub",
    resourceId: resourceOf("Microsoft.EventHub/namespaces/hubs/eventhubs/orders"),
    deliveryAttributeMappings,
  },
  {
    endpointType: "HybridConnection",
    resourceId: resourceOf("Microsoft.Relay/namespaces/relay/hybridConnections/orders"),
    deliveryAttributeMappings,
  },
  {
    endpointType: "AzureFunction",
    resourceId: resourceOf("Microsoft.Web/sites/app/functions/onOrder"),
    maxEventsPerBatch: 5,
    preferredBatchSizeInKilobytes: 32,
    deliveryAttributeMappings,
  },
];

test("every kind of destination is made, shown and written back as it was read", async () => {
  const scope = scopeOf("topics/orders");
  for (const destination of destinations) {
    const name = `to-${destination.endpointType}`;
    const made = await client.eventSubscriptions.beginCreateOrUpdateAndWait(scope, name, {
      destination,
    });
    assert.equal(made.provisioningState, "Succeeded");
    assert.deepEqual(made.destination, destination);
    const got = await client.eventSubscriptions.get(scope, name);
    await client.eventSubscriptions.beginCreateOrUpdateAndWait(scope, name, got);
    // What the Azure CLI does to change a label.
    await client.eventSubscriptions.beginUpdateAndWait(scope, name, {
      ...(got.destination !== undefined && { destination: got.destination }),
      labels: ["changed"],
    });
    const changed = await client.eventSubscriptions.get(scope, name);
    assert.deepEqual([changed.destination, changed.labels], [destination, ["changed"]]);
    await client.eventSubscriptions.beginDeleteAndWait(scope, name);
  }
  const [, , , hub] = destinations;
  assert.ok(hub);
  const identity = { type: "SystemAssigned" };
  const made = await client.eventSubscriptions.beginCreateOrUpdateAndWait(scope, "identified", {
    deliveryWithResourceIdentity: { identity, destination: hub },
  });
  assert.equal(made.destination ?? null, null);
  assert.deepEqual(made.deliveryWithResourceIdentity?.destination, hub);
  assert.equal(made.deliveryWithResourceIdentity?.identity?.type, "SystemAssigned");
  await client.eventSubscriptions.beginDeleteAndWait(scope, "identified");
});

test("an event published with a key arrives with the headers asked for", async () => {
  const { key1 } = await client.topics.listSharedAccessKeys(rg, "orders");
  const { endpoint: url } = await client.topics.get(rg, "orders");
  const publisher = new EventGridPublisherClient(
    url ?? "",
    "EventGrid",
    new AzureKeyCredential(key1 ?? ""),
    { tlsOptions: { ca: broker.ca } },
  );
  const before = endpoint.arrived.length;
  await publisher.send([
    { eventType: "T.A", subject: "a/1", dataVersion: "1.0", data: { foo: "bar" } },
  ]);
  await endpoint.reached(before + 1);
  const arrived = endpoint.arrived.at(-1);
  assert.equal(arrived?.headers["x-s"], "secret");
  assert.equal(arrived?.headers["x-d"], "bar");
  const [event] = JSON.parse(arrived?.body ?? "[]");
  assert.equal(event.topic, scopeOf("topics/orders"));
});

test("an event subscription may belong to a topic, a domain or a domain topic", async () => {
  const groups = {
    topic: {
      ops: client.topicEventSubscriptions,
      names: ["orders"] as const,
      scope: scopeOf("topics/orders"),
      schema: "EventGridSchema",
    },
    domain: {
      ops: client.domainEventSubscriptions,
      names: ["shop"] as const,
      scope: scopeOf("domains/shop"),
      schema: "CloudEventSchemaV1_0",
    },
    domainTopic: {
      ops: client.domainTopicEventSubscriptions,
      names: ["shop", "tenant-1"] as const,
      scope: scopeOf("domains/shop/topics/tenant-1"),
      schema: "CloudEventSchemaV1_0",
    },
  };
  for (const { ops, names, scope, schema } of Object.values(groups)) {
    // The three have the same operations, and differ in how many names come first.
    const call = ops as unknown as Record<
      string,
      (...args: unknown[]) => Promise<EventSubscription>
    >;
    const ask = (method: string, ...rest: unknown[]) =>
      (call[method] as (typeof call)[string])(rg, ...names, ...rest);
    const made = await ask("beginCreateOrUpdateAndWait", "nested", webhook());
    assert.equal(made.id, `${scope}/eventSubscriptions/nested`);
    assert.equal(made.eventDeliverySchema, schema);
    const updated = await ask("beginUpdateAndWait", "nested", { labels: ["a"] });
    assert.deepEqual(updated.labels, ["a"]);
    const got = await ask("get", "nested");
    assert.equal(got.provisioningState, "Succeeded");
    const full = (await ask("getFullUrl", "nested")) as { readonly endpointUrl?: string };
    assert.equal(full.endpointUrl, `${endpoint.url}?code=hush`);
    const attributes = (await ask("getDeliveryAttributes", "nested")) as {
      readonly value?: unknown;
    };
    assert.deepEqual(attributes.value, []);
    const list = (call.list as (...args: unknown[]) => unknown)(rg, ...names);
    const listed = await namesOf(list as AsyncIterable<{ name?: string }>);
    assert.ok(listed.includes("nested"));
    const byScope = await client.eventSubscriptions.get(scope, "nested");
    assert.equal(byScope.type, "Microsoft.EventGrid/eventSubscriptions");
    if (names.length === 1) await ask("beginDeleteAndWait", "nested");
  }
});

test("event subscriptions are listed in every way there is", async () => {
  const { eventSubscriptions: all } = client;
  const topicType = "Microsoft.EventGrid.Topics";
  const domainType = "Microsoft.EventGrid.Domains";
  const filter = "contains(name, 'ILL') and name ne 'other'";
  const byResource = (options = {}) =>
    all.listByResource(rg, "Microsoft.EventGrid", "topics", "orders", options);
  const both = ["billing", "nested"];
  assert.deepEqual(await namesOf(byResource({ filter, top: 10 })), ["billing"]);
  assert.deepEqual(await namesOf(all.listByDomainTopic(rg, "shop", "tenant-1")), ["nested"]);
  assert.deepEqual(await namesOf(all.listGlobalBySubscription({ top: 1 })), both);
  assert.deepEqual(await namesOf(all.listGlobalByResourceGroup(rg)), both);
  assert.deepEqual(await namesOf(all.listRegionalBySubscription("local")), both);
  assert.deepEqual(await namesOf(all.listRegionalByResourceGroup(rg, "local")), both);
  assert.deepEqual(await namesOf(all.listRegionalByResourceGroup(rg, "westus2")), []);
  const topics = ["billing"];
  assert.deepEqual(await namesOf(all.listGlobalBySubscriptionForTopicType(topicType)), topics);
  assert.deepEqual(await namesOf(all.listGlobalByResourceGroupForTopicType(rg, domainType)), [
    "nested",
  ]);
  assert.deepEqual(
    await namesOf(all.listRegionalBySubscriptionForTopicType("local", topicType)),
    topics,
  );
  assert.deepEqual(
    await namesOf(all.listRegionalByResourceGroupForTopicType(rg, "local", topicType)),
    topics,
  );
});

test("the provider shows its operations, topic types and extension topics", async () => {
  assert.ok((await namesOf(client.operations.list())).includes("Microsoft.EventGrid/topics/write"));
  const types = ["Microsoft.EventGrid.Domains", "Microsoft.EventGrid.Topics"];
  assert.deepEqual(await namesOf(client.topicTypes.list()), types);
  const type = await client.topicTypes.get("Microsoft.EventGrid.Topics");
  assert.equal(type.provider, "Microsoft.EventGrid");
  assert.deepEqual(
    await namesOf(client.topicTypes.listEventTypes("Microsoft.EventGrid.Topics")),
    [],
  );
  const extension = await client.extensionTopics.get(scopeOf("topics/orders"));
  assert.equal(extension.name, "default");
});

test("a refusal names the field, and a failed handshake the endpoint", async () => {
  const scope = scopeOf("topics/orders");
  const { eventSubscriptions: all } = client;
  const bad = await refusal(
    all.beginCreateOrUpdateAndWait(scope, "bad", {
      ...webhook(),
      retryPolicy: { maxDeliveryAttempts: 99 },
    }),
  );
  assert.deepEqual([bad.statusCode, bad.code], [400, "InvalidRequest"]);
  assert.match(bad.message, /properties\.retryPolicy\.maxDeliveryAttempts/);
  statusOfHook = 404;
  const failed = await refusal(all.beginCreateOrUpdateAndWait(scope, "bad", webhook()));
  statusOfHook = null;
  assert.match(failed.message, /Url validation/);
  assert.match(failed.message, new RegExp(`failed for ${endpoint.url}\\.`));
  assert.equal((await all.get(scope, "bad")).provisioningState, "Failed");
  await all.beginDeleteAndWait(scope, "bad");
});

test("subscriptions are removed, and gone in every form", async () => {
  const scope = scopeOf("topics/orders");
  await client.eventSubscriptions.beginDeleteAndWait(scope, "billing");
  assert.equal((await refusal(client.eventSubscriptions.get(scope, "billing"))).statusCode, 404);
  await client.domainTopicEventSubscriptions.beginDeleteAndWait(rg, "shop", "tenant-1", "nested");
  const left = await namesOf(client.eventSubscriptions.listGlobalBySubscription());
  assert.deepEqual(left, []);
});

test("no operation of these groups was left out", () => {
  for (const group of [
    "topics",
    "domains",
    "domainTopics",
    "eventSubscriptions",
    "topicEventSubscriptions",
    "domainEventSubscriptions",
    "domainTopicEventSubscriptions",
    "operations",
    "topicTypes",
    "extensionTopics",
  ] as const) {
    const operations = Object.getOwnPropertyNames(Object.getPrototypeOf(client[group])).filter(
      // Those with a beginning underscore or pages are the client's own; a poller is in `AndWait`.
      (name) => !/^_|Paging|constructor/.test(name),
    );
    assert.ok(operations.length > 0, group);
    for (const name of operations) {
      const isCalled = called.has(`${group}.${name}`) || called.has(`${group}.${name}AndWait`);
      assert.ok(isCalled, `${group}.${name}`);
    }
  }
});
