import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf } from "../../core/azure/arm-id.ts";
import { toListed, toResource } from "./az-shape.ts";
import { readDocument } from "./document.ts";
import { planFor } from "./plan.ts";
import { isSameResource } from "./same-as.ts";

const group = "/subscriptions/S/resourceGroups/rg1";
const orders = `${group}/providers/Microsoft.EventGrid/topics/orders`;
const billing = `${orders}/providers/Microsoft.EventGrid/eventSubscriptions/billing`;

/** As `az eventgrid topic list -o json` prints it. */
const listedTopic = {
  dataResidencyBoundary: "WithinGeopair",
  disableLocalAuth: false,
  endpoint: "https://orders.westeurope-1.eventgrid.azure.net/api/events",
  extendedLocation: null,
  id: orders,
  identity: { principalId: null, tenantId: null, type: "None", userAssignedIdentities: null },
  inboundIpRules: [{ action: "Allow", ipMask: "10.0.0.0/8" }],
  inputSchema: "CustomEventSchema",
  inputSchemaMapping: {
    dataVersion: { defaultValue: "1.0", sourceField: null },
    eventTime: { sourceField: null },
    eventType: { defaultValue: null, sourceField: "kind" },
    id: { sourceField: null },
    inputSchemaMappingType: "Json",
    subject: { defaultValue: "none", sourceField: null },
    topic: { sourceField: null },
  },
  kind: "Azure",
  location: "westeurope",
  metricResourceId: "11111111-2222-3333-4444-555555555555",
  name: "orders",
  privateEndpointConnections: null,
  provisioningState: "Succeeded",
  publicNetworkAccess: "Enabled",
  resourceGroup: "rg1",
  sku: { name: "Basic" },
  systemData: null,
  tags: { team: "a" },
  type: "Microsoft.EventGrid/topics",
};

/** As `az eventgrid event-subscription list -o json` prints it. */
const listedSubscription = {
  deadLetterDestination: {
    blobContainerName: "dead",
    endpointType: "StorageBlob",
    resourceId: `${group}/providers/Microsoft.Storage/storageAccounts/acct`,
  },
  deadLetterWithResourceIdentity: null,
  deliveryWithResourceIdentity: null,
  destination: {
    azureActiveDirectoryApplicationIdOrUri: null,
    azureActiveDirectoryTenantId: null,
    deliveryAttributeMappings: [
      { isSecret: true, name: "x-token", type: "Static", value: "Hidden" },
      { name: "x-key", sourceField: "data.key", type: "Dynamic" },
    ],
    endpointBaseUrl: "https://example.test/hook",
    endpointType: "WebHook",
    endpointUrl: null,
    maxEventsPerBatch: 1,
    preferredBatchSizeInKilobytes: 64,
  },
  eventDeliverySchema: "EventGridSchema",
  expirationTimeUtc: null,
  filter: {
    advancedFilters: [{ key: "data.n", operatorType: "NumberIn", values: [1, 2] }],
    enableAdvancedFilteringOnArrays: null,
    includedEventTypes: null,
    isSubjectCaseSensitive: false,
    subjectBeginsWith: "",
    subjectEndsWith: ".jpg",
  },
  id: billing,
  labels: null,
  name: "billing",
  provisioningState: "Succeeded",
  resourceGroup: "rg1",
  retryPolicy: { eventTimeToLiveInMinutes: 1440, maxDeliveryAttempts: 30 },
  systemData: null,
  topic: orders.replace("Microsoft.EventGrid", "microsoft.eventgrid"),
  type: "Microsoft.EventGrid/eventSubscriptions",
};

const shownSubscription = {
  id: billing,
  properties: {
    destination: {
      endpointType: "WebHook",
      properties: {
        endpointUrl: null,
        endpointBaseUrl: "https://example.test/hook",
        maxEventsPerBatch: 1,
        preferredBatchSizeInKilobytes: 64,
        deliveryAttributeMappings: [
          { name: "x-token", type: "Static", properties: { value: "Hidden", isSecret: true } },
          { name: "x-key", type: "Dynamic", properties: { sourceField: "data.key" } },
        ],
      },
    },
    filter: {
      subjectBeginsWith: "",
      subjectEndsWith: ".jpg",
      advancedFilters: [{ operatorType: "NumberIn", key: "data.n", values: [1, 2] }],
    },
    labels: null,
    eventDeliverySchema: "EventGridSchema",
    retryPolicy: { maxDeliveryAttempts: 30, eventTimeToLiveInMinutes: 1440 },
    deadLetterDestination: null,
  },
};

const secrets = {
  signing: [{ secret: "whsec_one", expiresAt: null }],
  endpointUrl: "https://example.test/hook?code=1",
  deliveryAttributeMappings: [
    { name: "x-token", type: "Static", properties: { value: "hush", isSecret: true } },
    { name: "x-key", type: "Dynamic", properties: { sourceField: "data.key" } },
  ],
};

test("a topic as the Azure CLI lists it becomes the resource it was", () => {
  assert.deepEqual(toResource(listedTopic), {
    location: "westeurope",
    tags: { team: "a" },
    properties: {
      disableLocalAuth: false,
      inboundIpRules: [{ action: "Allow", ipMask: "10.0.0.0/8" }],
      inputSchema: "CustomEventSchema",
      inputSchemaMapping: {
        inputSchemaMappingType: "Json",
        properties: {
          dataVersion: { defaultValue: "1.0", sourceField: null },
          eventTime: { sourceField: null },
          eventType: { defaultValue: null, sourceField: "kind" },
          id: { sourceField: null },
          subject: { defaultValue: "none", sourceField: null },
          topic: { sourceField: null },
        },
      },
      publicNetworkAccess: "Enabled",
    },
  });
});

test("a subscription as the Azure CLI lists it becomes the resource it was", () => {
  const { properties } = toResource(listedSubscription);
  assert.deepEqual(properties, {
    deadLetterDestination: {
      endpointType: "StorageBlob",
      properties: {
        blobContainerName: "dead",
        resourceId: `${group}/providers/Microsoft.Storage/storageAccounts/acct`,
      },
    },
    destination: {
      endpointType: "WebHook",
      properties: {
        deliveryAttributeMappings: secrets.deliveryAttributeMappings.with(0, {
          name: "x-token",
          type: "Static",
          properties: { value: "Hidden", isSecret: true },
        }),
        endpointBaseUrl: "https://example.test/hook",
        maxEventsPerBatch: 1,
        preferredBatchSizeInKilobytes: 64,
      },
    },
    eventDeliverySchema: "EventGridSchema",
    filter: {
      advancedFilters: [{ key: "data.n", operatorType: "NumberIn", values: [1, 2] }],
      isSubjectCaseSensitive: false,
      subjectBeginsWith: "",
      subjectEndsWith: ".jpg",
    },
    retryPolicy: { eventTimeToLiveInMinutes: 1440, maxDeliveryAttempts: 30 },
  });
});

test("lists are taken as the CLI, the REST API and a single show print them", () => {
  const input = {
    file: "topics.json",
    place: { subscriptionId: "x", resourceGroup: "x", location: "x" },
    parameters: new Map(),
  };
  const additions = {
    endpoints: new Map(),
    attributes: new Map(),
    omitted: [],
    usesBaseUrls: false,
  };
  const withoutId = { ...listedSubscription, id: null };
  for (const document of [[listedTopic, withoutId], { value: [listedTopic, withoutId] }]) {
    const { wanted } = planFor(readDocument(document, input), additions);
    assert.deepEqual(
      wanted.map(({ label }) => label),
      ["orders", "orders/billing"],
    );
    assert.deepEqual(
      wanted.map(({ needs }) => needs.map(({ option }) => option)),
      [[], ["--endpoint orders/billing=URL", "--attribute orders/billing:x-token=VALUE"]],
    );
  }
  const { wanted } = planFor(readDocument(listedSubscription, input), {
    ...additions,
    usesBaseUrls: true,
    attributes: new Map([["billing:X-Token", "hush"]]),
  });
  assert.deepEqual(wanted[0]?.needs, []);
  const text = JSON.stringify(wanted[0]?.body);
  assert.match(text, /"endpointUrl":"https:\/\/example.test\/hook"/);
  assert.match(text, /"value":"hush"/);
});

test("what is listed and taken back is the same", () => {
  const shown = {
    ...shownSubscription,
    name: "billing",
    type: "Microsoft.EventGrid/eventSubscriptions",
  };
  const listed = toListed(shown);
  assert.equal(listed.resourceGroup, "rg1");
  assert.deepEqual(toResource(listed).properties, toResource(shown).properties);
});

test("an event subscription of a namespace is listed without a dead-letter member of its own", () => {
  const id = `${group}/providers/Microsoft.EventGrid/namespaces/n/topics/t/eventSubscriptions/e`;
  assert.equal("deadLetterDestination" in toListed({ id, properties: {} }), false);
  assert.equal(toListed({ id: billing, properties: {} }).deadLetterDestination, null);
});

test("ids say what they name, in any letter case", () => {
  const table: [string, string | null][] = [
    [orders, "topic orders"],
    [orders.toUpperCase(), "topic ORDERS"],
    [`${group}/providers/Microsoft.EventGrid/domains/shop`, "domain shop"],
    [`${group}/providers/Microsoft.EventGrid/domains/shop/topics/eur`, "domainTopic shop/eur"],
    [billing, "subscription orders/billing"],
    [`${orders}/eventSubscriptions/billing`, "subscription orders/billing"],
    [
      `${group}/providers/Microsoft.EventGrid/domains/shop/topics/eur/eventSubscriptions/a`,
      "subscription shop/eur/a",
    ],
    [
      `${group}/providers/A.B/c/d/providers/Microsoft.EventGrid/eventSubscriptions/e`,
      "subscription d/e",
    ],
    [`${group}/providers/Microsoft.EventGrid/namespaces/n`, "namespace n"],
    [`${group}/providers/Microsoft.EventGrid/namespaces/n/topics/t`, "namespaceTopic n/t"],
    [
      `${group}/providers/Microsoft.EventGrid/namespaces/n/topics/t/eventSubscriptions/e`,
      "subscription n/t/e",
    ],
    [`${group}/providers/Microsoft.EventGrid/namespaces/n/topicSpaces/t`, null],
    [`${group}/providers/Microsoft.Storage/storageAccounts/s`, null],
  ];
  for (const [id, expected] of table) {
    const address = addressOf(id);
    assert.equal(address && `${address.kind} ${address.label}`, expected);
  }
});

test("a subscription is as wanted whether defaults are given or not, and else is not", () => {
  const url = "https://EXAMPLE.test/hook?code=1";
  const hook = (properties: object) => ({ endpointType: "webhook", properties });
  const { deliveryAttributeMappings } = secrets;
  const filter = shownSubscription.properties.filter;
  const alike = (properties: object) =>
    isSameResource({ kind: "subscription", body: { properties } }, shownSubscription, {
      secrets,
      inputSchema: "EventGridSchema",
    });
  const same = { destination: hook({ endpointUrl: url, deliveryAttributeMappings }), filter };
  const hidden = shownSubscription.properties.destination.properties.deliveryAttributeMappings;
  assert.ok(alike(same));
  assert.ok(alike(shownSubscription.properties));
  assert.ok(alike({ ...same, destination: hook({ deliveryAttributeMappings: hidden }) }));
  assert.ok(alike({ ...same, labels: [], retryPolicy: {}, deadLetterDestination: null }));
  assert.ok(alike({ ...same, filter: { ...filter, isSubjectCaseSensitive: false } }));
  assert.ok(alike({ ...same, eventDeliverySchema: "eventgridschema" }));
  const posthorn = { signing: { secrets: [{ secret: "Hidden", expiresAt: null }] } };
  const signed = {
    ...shownSubscription,
    properties: { ...shownSubscription.properties, posthorn },
  };
  const signedAlike = (own: unknown) =>
    isSameResource(
      { kind: "subscription", body: { properties: { ...same, posthorn: own } } },
      signed,
      {
        secrets,
        inputSchema: "EventGridSchema",
      },
    );
  for (const secret of ["whsec_one", "Hidden"]) {
    assert.equal(signedAlike({ signing: { secrets: [{ secret }] } }), true, secret);
  }
  assert.ok(signedAlike({ signing: {} }));
  assert.ok(!signedAlike(null));
  assert.ok(!signedAlike({ signing: { secrets: [{ secret: "whsec_two" }] } }));
  assert.ok(!signedAlike({ splitOnFailure: true, signing: {} }));
  for (const other of [
    { ...same, destination: hook({ endpointUrl: `${url}2`, deliveryAttributeMappings }) },
    { ...same, destination: hook({ endpointUrl: url }) },
    { ...same, filter: {} },
    { ...same, labels: ["a"] },
    { ...same, retryPolicy: { maxDeliveryAttempts: 5 } },
    { ...same, expirationTimeUtc: "2040-01-01" },
    { ...same, eventDeliverySchema: "CloudEventSchemaV1_0" },
    { ...same, filter: { ...filter, subjectBeginsWith: "a" } },
    { ...same, deadLetterDestination: { endpointType: "StorageBlob" } },
  ]) {
    assert.ok(!alike(other), JSON.stringify(other));
  }
});

test("dead letters go to one and the same container however it is written", () => {
  const account = `${group}/providers/Microsoft.Storage/storageAccounts/acct`;
  const store = (endpointType: string, properties: object) => ({
    properties: { deadLetterDestination: { endpointType, properties } },
  });
  const shown = store("StorageBlob", { resourceId: account, blobContainerName: "dead" });
  const context = { secrets: null, inputSchema: "EventGridSchema" };
  const alike = (body: object) =>
    isSameResource({ kind: "subscription", body: { ...body } }, shown, context);
  assert.ok(alike(shown));
  const whole = `${account.toUpperCase()}/blobServices/default/containers/dead`;
  assert.ok(alike(store("storageBlob", { resourceId: whole })));
  assert.ok(!alike(store("StorageBlob", { resourceId: account, blobContainerName: "other" })));
  assert.ok(!alike({ properties: {} }));
});

test("a topic is as wanted when every member that is given is so", () => {
  const shown = {
    location: "westeurope",
    tags: null,
    properties: { inputSchema: "CloudEventSchemaV1_0", publicNetworkAccess: "Enabled", key1: "k" },
  };
  const alike = (body: object) =>
    isSameResource({ kind: "topic", body: { ...body } }, shown, {
      secrets: null,
      inputSchema: null,
    });
  assert.ok(alike({ properties: {} }));
  assert.ok(alike({ location: "West Europe", properties: { publicNetworkAccess: "enabled" } }));
  assert.ok(alike({ properties: { inputSchema: "cloudeventschemav1_0", key1: "k" } }));
  for (const other of [
    { location: "eastus", properties: {} },
    { tags: { a: "1" }, properties: {} },
    { properties: { inputSchema: "EventGridSchema" } },
    { properties: { disableLocalAuth: true } },
    { properties: { inboundIpRules: [{ ipMask: "10.0.0.1" }] } },
    { properties: { key1: "other" } },
  ]) {
    assert.ok(!alike(other), JSON.stringify(other));
  }
});
