import assert from "node:assert/strict";
import { test } from "node:test";
import { policyOf } from "../delivery/policy.ts";
import { profiles } from "../delivery/profile.ts";
import { Refusal } from "../refusal.ts";
import { type Destination, endpointOf, plainSubscription } from "../subscription.ts";
import { parseResourceId, renderResourceId } from "./resource-id.ts";
import { type AzureSections, noAzure, parseAzure, resolveResource, urlOf } from "./resources.ts";

const group = "/subscriptions/s-1/resourceGroups/rg/providers";
const pattern = "Microsoft.ServiceBus/namespaces/*/queues/*";
const id = `${group}/Microsoft.ServiceBus/namespaces/Shop/queues/orders`;
const access = "SharedAccessKeyName=k;SharedAccessKey=c2VjcmV0PQ==";
const connectionString = `Endpoint=sb://shop.servicebus.windows.net/;${access}`;

test("an id is read in any letter case, and written in Azure's", () => {
  const read = parseResourceId(id.toLowerCase(), pattern);
  assert.deepEqual(read?.names, ["shop", "orders"]);
  assert.deepEqual(read?.group, { subscriptionId: "s-1", resourceGroup: "rg" });
  const names = ["Shop", "orders"] as const;
  const named = { group: { subscriptionId: "s-1", resourceGroup: "rg" }, names } as const;
  assert.equal(renderResourceId(named, pattern), id);
  for (const other of [`${id}/more`, id.replace("queues", "topics"), "orders", "", null, 5]) {
    assert.equal(parseResourceId(other, pattern), null);
  }
});

test("a namespace is found by its id or by its name, and loses the entity of its string", () => {
  const azure = parseAzure({
    serviceBusNamespaces: { Shop: { connectionString: `${connectionString};EntityPath=x` } },
    eventHubNamespaces: {
      [`${group}/Microsoft.EventHub/namespaces/shop`]: {
        connectionString: `Endpoint=sb://localhost:5690;${access};UseDevelopmentEmulator=true;`,
      },
    },
  });
  const found = resolveResource(azure, "serviceBusNamespaces", { resourceId: id, pattern });
  assert.equal(found?.entity, "orders");
  assert.deepEqual(found?.declared, {
    ...{ key: "Shop", name: "Shop", group: null, kind: "key", connectionString },
    ...{ host: "shop.servicebus.windows.net", keyName: "k", accessKey: "c2VjcmV0PQ==" },
    isPlain: false,
  });
  const [hubs] = azure.eventHubNamespaces;
  assert.ok(hubs?.kind === "key");
  assert.deepEqual([hubs.host, hubs.isPlain], ["localhost:5690", true]);
  const elsewhere = id.replace("/rg/", "/other/").replace("ServiceBus", "EventHub");
  const hub = { resourceId: elsewhere.replace("queues", "eventhubs") };
  const hubPattern = "Microsoft.EventHub/namespaces/*/eventhubs/*";
  const wanted = { ...hub, pattern: hubPattern } as const;
  assert.equal(resolveResource(azure, "eventHubNamespaces", wanted), null);
});

test("any broker that speaks AMQP may stand in for a Service Bus namespace", () => {
  const parse = (bus: object) =>
    parseAzure({ serviceBusNamespaces: { bus } }).serviceBusNamespaces[0];
  const amqp = "amqp://me:p%40ss@rabbit.test";
  const whole = { amqp, queueAddress: "/queue/{name}" };
  const {
    key: _,
    name: __,
    group: ___,
    ...found
  } = parse(whole) ?? { key: "", name: "", group: "" };
  assert.deepEqual(found, {
    ...{ kind: "amqp", host: "rabbit.test", port: 5672, isTls: false },
    ...{ user: "me", password: "p@ss", queueAddress: "/queue/{name}", topicAddress: "{name}" },
  });
  assert.partialDeepStrictEqual(parse({ amqp: "amqps://[::1]" }), {
    ...{ host: "::1", port: 5671, isTls: true, user: null, password: null },
  });
  assert.partialDeepStrictEqual(parse({ amqp: "amqp://a:80/" }), { host: "a", port: 80 });
  for (const [wrong, words] of [
    [{ amqp: "rabbit.test:5672" }, /bus\.amqp must be amqp:\/\/user:password@host:port/],
    [{ amqp: "amqp://a/vhost" }, /bus\.amqp must be/],
    [{ amqp: 5672 }, /bus\.amqp must be/],
    [{ amqp, queueAddress: "/queue/orders" }, /queueAddress must be an address with \{name\}/],
    [{ amqp, connectionString: "x" }, /connectionString must be left out/],
    [{ managedIdentity: true, queueAddress: "{name}" }, /queueAddress must be left out/],
  ] as const) {
    assert.throws(() => parse(wrong), words);
  }
});

test("a bus may be reached as a managed identity, at its own host or through another", () => {
  const azure = parseAzure({
    serviceBusNamespaces: { shop: { managedIdentity: true } },
    eventHubNamespaces: {
      shop: { managedIdentity: { clientId: "c" }, host: "hubs.test", endpoint: "https://gate:5" },
    },
  });
  const named = { key: "shop", name: "shop", group: null, kind: "identity" };
  assert.deepEqual(azure.serviceBusNamespaces, [
    { ...named, clientId: null, host: "shop.servicebus.windows.net", endpoint: null },
  ]);
  assert.deepEqual(azure.eventHubNamespaces, [
    { ...named, clientId: "c", host: "hubs.test", endpoint: "https://gate:5/" },
  ]);
});

test("sections that make no sense are refused in words that hide their keys", () => {
  const table: readonly (readonly [AzureSections, RegExp])[] = [
    [{ serviceBusNamespaces: [] }, /^serviceBusNamespaces must be an object with a member for/],
    [{ relayNamespaces: { "a/b": {} } }, /^a name in relayNamespaces must be .* Relay namespace/],
    [{ eventHubNamespaces: { shop: {} } }, /shop must have a connectionString or a managedIdent/],
    [{ relayNamespaces: { shop: {} } }, /shop\.connectionString must be .*Endpoint=sb:/],
    [
      { relayNamespaces: { shop: { managedIdentity: true } } },
      /there is no member "managedIdentity"/,
    ],
    [
      { serviceBusNamespaces: { shop: { connectionString, managedIdentity: true } } },
      /and has connectionString and managedIdentity$/,
    ],
    [
      { serviceBusNamespaces: { shop: { connectionString, host: "h" } } },
      /shop\.host must be left out: it goes with managedIdentity alone$/,
    ],
    [{ serviceBusNamespaces: { shop: { managedIdentity: true, host: "a:5" } } }, /name of a host/],
    [
      { eventHubNamespaces: { shop: { managedIdentity: true, endpoint: "http://h" } } },
      /shop\.endpoint must be an https URL/,
    ],
    [
      { eventHubNamespaces: { shop: { connectionString: "SharedAccessKey=c2VjcmV0PQ==" } } },
      /eventHubNamespaces\.shop\.connectionString must be .*, and is a text of 28 characters$/,
    ],
    [{ relayNamespaces: { shop: { conection: "" } } }, /known are connectionString$/],
    [
      { serviceBusNamespaces: { a1: { connectionString }, A1: { connectionString } } },
      /must name each Service Bus namespace once, and has "a1" twice$/,
    ],
    [{ functionApps: { app: { url: "https://app.test/api" } } }, /URL without a path, and is/],
    [{ functionApps: { app: { url: "ftp://app.test" } } }, /URL without a path/],
    [
      { functionApps: { app: { key: "a b" } } },
      /the app's system key for Event Grid, and is a text/,
    ],
  ];
  for (const [sections, words] of table) {
    assert.throws(
      () => parseAzure(sections),
      (error: unknown) => {
        assert.ok(error instanceof Refusal && error.code === "InvalidSetting");
        assert.match(error.message, words);
        assert.doesNotMatch(error.message, /c2VjcmV0/);
        return true;
      },
    );
  }
});

const functionOf = (app: string): Destination => ({
  kind: "azureFunction",
  resourceId: `${group}/Microsoft.Web/sites/${app}/functions/onOrder`,
});

test("a function is posted to where its app listens; other resources have no URL", () => {
  const azure = parseAzure({
    functionApps: { shop: { key: "k&y" }, local: { url: "http://h:7071" } },
  });
  const at = "/runtime/webhooks/EventGrid?functionName=onOrder";
  assert.equal(urlOf(functionOf("SHOP"), azure), `https://shop.azurewebsites.net${at}&code=k%26y`);
  assert.equal(urlOf(functionOf("local"), azure), `http://h:7071${at}`);
  assert.equal(urlOf(functionOf("shop"), noAzure), null);
  assert.equal(urlOf({ kind: "serviceBusQueue", resourceId: id }, azure), null);
  assert.equal(urlOf({ kind: "webhook", url: "http://h/?q" }, noAzure), "http://h/?q");
});

test("what shares a fate is the resource, or the queue within its account (H-1)", () => {
  assert.equal(endpointOf({ kind: "serviceBusQueue", resourceId: id }), id);
  const resourceId = `${group}/Microsoft.Storage/storageAccounts/shop`;
  const queue = { kind: "storageQueue", resourceId, queueName: "orders", ttlSeconds: 1 } as const;
  assert.equal(endpointOf(queue), `${resourceId}/queueServices/default/queues/orders`);
});

test("every destination but a webhook is a cloud resource to the law (R-3, P-7, P-8)", () => {
  const kinds: readonly Destination[] = [
    functionOf("shop"),
    { kind: "serviceBusTopic", resourceId: id },
    { kind: "eventHub", resourceId: id },
    { kind: "hybridConnection", resourceId: id },
    { kind: "storageQueue", resourceId: id, queueName: "orders", ttlSeconds: null },
  ];
  for (const destination of kinds) {
    const policy = policyOf({ ...plainSubscription, destination }, profiles.azure);
    assert.equal(policy.destinationKind, "resource", destination.kind);
  }
});
