import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Asked, parsePath } from "./path.ts";

const group = { subscriptionId: "S", resourceGroup: "rg1" };
const grid = "/subscriptions/S/resourceGroups/rg1/providers/Microsoft.EventGrid";
const topic = { kind: "topic", group, name: "Orders" } as const;
const domain = { kind: "domain", group, name: "shop" } as const;
const domainTopic = { kind: "domainTopic", group, domain: "shop", name: "one" } as const;
const region = { subscriptionId: "S", resourceGroup: null, location: null, topicType: null };
const extension = "providers/Microsoft.EventGrid/eventSubscriptions";

const table: readonly (readonly [string, Asked])[] = [
  ["/subscriptions", { kind: "azureSubscriptions" }],
  ["/subscriptions/S", { kind: "azureSubscription", subscriptionId: "S" }],
  ["/subscriptions/S/locations", { kind: "locations", subscriptionId: "S" }],
  ["/subscriptions/S/resourcegroups", { kind: "groups", subscriptionId: "S" }],
  ["/subscriptions/S/resourceGroups/rg1", { kind: "group", group }],
  ["/subscriptions/S/providers", { kind: "providers", subscriptionId: "S" }],
  [
    "/subscriptions/S/providers/Microsoft.Storage",
    { kind: "provider", subscriptionId: "S", namespace: "Microsoft.Storage" },
  ],
  [
    "/subscriptions/S/providers/microsoft.eventgrid",
    { kind: "provider", subscriptionId: "S", namespace: "Microsoft.EventGrid" },
  ],
  [
    "/subscriptions/S/providers/Microsoft.EventGrid/register",
    { kind: "registration", subscriptionId: "S", namespace: "Microsoft.EventGrid" },
  ],
  ["/providers/Microsoft.EventGrid/operations", { kind: "operations" }],
  ["/providers/Microsoft.EventGrid/topicTypes", { kind: "topicTypes" }],
  ["/providers/Microsoft.EventGrid/topicTypes/a.b", { kind: "topicType", name: "a.b" }],
  [
    "/providers/Microsoft.EventGrid/topicTypes/a.b/eventTypes",
    { kind: "topicTypeEventTypes", name: "a.b" },
  ],
  [`${grid}/topics/Orders`, { kind: "topic", source: topic }],
  [
    `/${grid.toUpperCase()}//TOPICS///Orders/`.replace("RG1", "rg1"),
    { kind: "topic", source: topic },
  ],
  [`${grid}/topics/Orders/listKeys`, { kind: "keys", source: topic }],
  [`${grid}/topics/Orders/regenerateKey`, { kind: "newKey", source: topic }],
  [`${grid}/topics`, { kind: "topics", of: "topic", within: group }],
  [
    "/subscriptions/S/providers/Microsoft.EventGrid/domains",
    { kind: "topics", of: "domain", within: { subscriptionId: "S", resourceGroup: null } },
  ],
  [`${grid}/domains/shop`, { kind: "topic", source: domain }],
  [`${grid}/domains/shop/listKeys`, { kind: "keys", source: domain }],
  [`${grid}/domains/shop/topics`, { kind: "domainTopics", source: domain }],
  [`${grid}/domains/shop/topics/one`, { kind: "domainTopic", source: domainTopic }],
  [
    `${grid}/topics/Orders/eventSubscriptions`,
    { kind: "subscriptionsOf", source: topic, form: "nested" },
  ],
  [`${grid}/topics/Orders/${extension}`, { kind: "subscriptionsOf", source: topic, form: "scope" }],
  [
    `${grid}/topics/Orders/eventSubscriptions/Es`,
    { kind: "subscription", source: topic, form: "nested", name: "Es" },
  ],
  [
    `/${grid}/topics/Orders/${extension}/Es`,
    { kind: "subscription", source: topic, form: "scope", name: "Es" },
  ],
  [
    `${grid}/domains/shop/${extension}/Es/getFullUrl`,
    { kind: "fullUrl", source: domain, form: "scope", name: "Es" },
  ],
  [
    `${grid}/domains/shop/eventSubscriptions/Es/getDeliveryAttributes`,
    { kind: "deliveryAttributes", source: domain, form: "nested", name: "Es" },
  ],
  [
    `${grid}/domains/shop/topics/one/eventSubscriptions/Es/validate`,
    { kind: "validation", source: domainTopic, form: "nested", name: "Es" },
  ],
  [
    `${grid}/domains/shop/topics/one/${extension}/Es/handshake`,
    { kind: "handshake", source: domainTopic, form: "scope", name: "Es" },
  ],
  // A subscription may be called like a part of its own path.
  [
    `${grid}/topics/Orders/eventSubscriptions/eventSubscriptions`,
    { kind: "subscription", source: topic, form: "nested", name: "eventSubscriptions" },
  ],
  [
    `${grid}/topics/Orders/providers/Microsoft.EventGrid/eventTypes`,
    { kind: "eventTypes", source: topic },
  ],
  [
    `${grid}/topics/Orders/providers/Microsoft.EventGrid/extensionTopics/default`,
    { kind: "extensionTopic", source: topic },
  ],
  [
    "/subscriptions/S/providers/Microsoft.EventGrid/eventSubscriptions",
    { kind: "subscriptionsIn", region },
  ],
  [
    `${grid}/locations/west/topicTypes/T/eventSubscriptions`,
    {
      kind: "subscriptionsIn",
      region: { ...group, location: "west", topicType: "T" },
    },
  ],
  [
    "/subscriptions/S/providers/Microsoft.EventGrid/locations/local/operationsStatus/ID",
    { kind: "operation", id: "ID" },
  ],
  [
    `/subscriptions/S/${extension}/Es`,
    {
      kind: "subscription",
      source: { kind: "foreign", id: "/subscriptions/S" },
      form: "scope",
      name: "Es",
    },
  ],
  [
    `/subscriptions/S/resourceGroups/rg1/providers/Microsoft.Storage/storageAccounts/a/${extension}`,
    {
      kind: "subscriptionsOf",
      source: {
        kind: "foreign",
        id: "/subscriptions/S/resourceGroups/rg1/providers/Microsoft.Storage/storageAccounts/a",
      },
      form: "scope",
    },
  ],
];

test("a path says what is asked for, in any letter case and with any number of slashes", () => {
  for (const [path, asked] of table) {
    assert.deepEqual(parsePath(path), asked, path);
  }
});

test("what Azure has and we do not is known by its name, and whether all are asked for", () => {
  const lock = "providers/Microsoft.Authorization/locks";
  const table: readonly (readonly [string, string, boolean])[] = [
    [`${grid}/systemTopics`, "system topics", true],
    [`${grid}/systemTopics/a`, "system topics", false],
    [`${grid}/systemTopics/a/eventSubscriptions/b`, "system topics", false],
    ["/subscriptions/S/providers/Microsoft.EventGrid/partnerTopics", "partner topics", true],
    [`${grid}/partnerNamespaces/a/channels`, "partner namespaces and their channels", false],
    ["/providers/Microsoft.EventGrid/verifiedPartners", "verified partners", true],
    [`${grid}/topics/Orders/privateEndpointConnections`, "private endpoints", true],
    [`${grid}/domains/Shop/privateLinkResources/domain`, "private links", false],
    [`/subscriptions/S/${lock}`, "locks", true],
    [`${grid}/topics/Orders/${lock}/x`, "locks", false],
    ["/subscriptions/S/providers/Microsoft.Authorization/roleAssignments", "roles", true],
  ];
  for (const [path, what, isList] of table) {
    assert.deepEqual(parsePath(path), { kind: "missing", what, isList }, path);
  }
});

test("what is neither ours nor known to be missing is unknown", () => {
  for (const path of [
    "",
    "/",
    "/providers/Microsoft.Authorization/nothing",
    `${grid}/topics/Orders/nothing`,
    `${grid}/topics/Orders/eventSubscriptions/Es/nothing`,
    `${grid}/topics/Orders/eventSubscriptions/Es/__proto__`,
    `${grid}/topics/Orders/eventSubscriptions/Es/constructor`,
    `${grid}/topics/Orders/eventSubscriptions/Es/getFullUrl/more`,
    "/providers/Microsoft.EventGrid",
  ]) {
    assert.deepEqual(parsePath(path), { kind: "unknown" }, path);
  }
});

test("no path throws", () => {
  const words = ["subscriptions", "providers", "Microsoft.EventGrid", "topics", "domains"];
  const more = ["eventSubscriptions", "resourceGroups", "locations", "", "__proto__", "é"];
  const paths = fc.array(fc.constantFrom(...words, ...more)).map((parts) => parts.join("/"));
  fc.assert(fc.property(paths, (path) => typeof parsePath(path).kind === "string"));
});
