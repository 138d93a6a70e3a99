// Every kind of destination end to end: the real program on the virtual clock, real queues in
// Azurite, and stand-ins that speak the protocols of the others to Azure's own clients.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import { startBus } from "./fixtures/amqp.ts";
import { startAzurite } from "./fixtures/azurite.ts";
import {
  boxIn,
  type Json,
  makeFolder,
  openScene,
  order,
  sendTo,
  startAt,
} from "./fixtures/dead-letter-broker.ts";
import { resourceIds } from "./fixtures/destination.ts";
import { openReceiver } from "./fixtures/receiver.ts";
import { freePort, serve } from "./fixtures/webhook.ts";

const to = (endpointType: string, properties: Json, more: Json = {}) => ({
  destination: { endpointType, properties },
  ...more,
});

/** Deliveries that succeed are facts, too. */
const verbose = ["--log-level", "debug", "--clock-start", startAt];

const devstore = resourceIds.queue("devstoreaccount1");

/** A program that writes down which packages of Azure's it has imported. */
function watched(folder: string) {
  const file = join(folder, "imports");
  const hook = pathToFileURL(join(import.meta.dirname, "fixtures/log-imports.ts")).href;
  return {
    env: { NODE_OPTIONS: `--import ${hook}`, IMPORTS_FILE: file },
    imported: () =>
      existsSync(file) ? [...new Set(readFileSync(file, "utf8").trim().split("\n"))].sort() : [],
  };
}

test("Azure's clients are loaded when a subscription uses them, and not before", async (t) => {
  const bus = await startBus(t);
  const receiver = await openReceiver(t);
  const folder = makeFolder(t);
  const { env, imported } = watched(folder);
  const used = { connectionString: bus.connectionString };
  const { publish, factsNamed } = await openScene(t, {
    ...{
      folder,
      env,
      storageAccounts: { shop: { connectionString: "UseDevelopmentStorage=true" } },
    },
    sections: { serviceBusNamespaces: { bus: used }, eventHubNamespaces: { hubs: used } },
    topics: {
      plain: { subscriptions: { hook: sendTo(receiver.url) } },
      orders: {
        subscriptions: {
          queue: to("ServiceBusQueue", { resourceId: resourceIds.busQueue("bus", "orders") }),
        },
      },
    },
    options: verbose,
  });
  await publish("plain", order("a"));
  await factsNamed("delivery.attempted", 1);
  assert.deepEqual(imported(), [], "neither declared namespaces nor webhooks load anything");
  await publish("orders", order("b"));
  await bus.reached(1);
  const packages = imported();
  assert.ok(packages.includes("@azure/service-bus"));
  for (const other of ["event-hubs", "storage-queue", "storage-blob", "identity"]) {
    assert.ok(!packages.includes(`@azure/${other}`), other);
  }
});

test("an event arrives in a real queue in every schema, and in the encoding asked for", async (t) => {
  const azurite = await startAzurite(t, { parts: ["queue"] });
  await azurite.makeQueue("orders");
  await azurite.makeQueue("clouds");
  await azurite.makeQueue("customs");
  const { connectionString } = azurite;
  const into = (queueName: string, more: Json = {}) =>
    to("StorageQueue", { resourceId: devstore, queueName, ...more });
  const { publish, factsNamed } = await openScene(t, {
    options: verbose,
    storageAccounts: { devstoreaccount1: { connectionString } },
    topics: {
      orders: {
        subscriptions: {
          grid: into("orders", { queueMessageTimeToLiveInSeconds: -1 }),
          cloud: { ...into("clouds"), eventDeliverySchema: "CloudEventSchemaV1_0" },
        },
      },
      customs: {
        inputSchema: "CustomEventSchema",
        inputSchemaMapping: {
          inputSchemaMappingType: "Json",
          properties: {
            eventType: { sourceField: "kind" },
            subject: { defaultValue: "none" },
            dataVersion: { defaultValue: "1" },
          },
        },
        subscriptions: { own: into("customs") },
      },
    },
  });
  await publish("orders", order("a", { data: { name: "Käte" } }));
  await publish("customs", '[{ "kind": "made", "n": 1.0 }]');
  await factsNamed("delivery.attempted", 3);
  const textOf = async (queue: string) => {
    const [item] = await azurite.queued(queue);
    assert.ok(item);
    return { item, text: Buffer.from(item.messageText, "base64").toString() };
  };
  const grid = await textOf("orders");
  const event = JSON.parse(grid.text);
  assert.equal(event.id, "a");
  assert.deepEqual(event.data, { name: "Käte" });
  assert.match(event.topic, /\/topics\/orders$/);
  assert.equal(grid.item.expiresOn.getUTCFullYear(), 9999, "it never expires");
  assert.equal((await textOf("customs")).text, '{ "kind": "made", "n": 1.0 }');
  const cloud = await textOf("clouds");
  assert.equal(JSON.parse(cloud.text).specversion, "1.0");
  const days = (cloud.item.expiresOn.getTime() - cloud.item.insertedOn.getTime()) / 86_400_000;
  assert.equal(Math.round(days), 7);
});

test("a queue that is gone is waited for, and one event too large for it is given up (P-7, P-8)", async (t) => {
  const azurite = await startAzurite(t, { parts: ["queue"] });
  const { connectionString } = azurite;
  const folder = makeFolder(t);
  const account = { connectionString, queueEncoding: "text" };
  const { publish, advance, factsNamed } = await openScene(t, {
    ...{ folder, storageAccounts: { devstoreaccount1: account, letters: { folder } } },
    topics: {
      orders: {
        subscriptions: {
          queue: {
            ...to("StorageQueue", { resourceId: devstore, queueName: "orders" }),
            deadLetterDestination: boxIn("letters"),
          },
        },
      },
    },
  });
  await publish("orders", order("a"));
  await advance("PT4M59S");
  const [first] = await factsNamed("delivery.attempted", 1);
  assert.deepEqual(
    [first?.status, first?.detail, first?.outcome],
    [404, "QueueNotFound", "NotFound"],
  );
  assert.match(String(first?.words), /^404: at least 5 min/);
  await azurite.makeQueue("orders");
  const told = await advance("PT1M");
  assert.equal(told.delivered, 1);
  const [item] = await azurite.queued("orders");
  assert.equal(JSON.parse(item?.messageText ?? "{}").id, "a", "as it is, without Base64");
  await publish("orders", order("big", { data: "x".repeat(70_000) }));
  const after = await advance("PT5M");
  assert.equal(after.deadLettered, 1);
  const [letter] = await factsNamed("delivery.deadLettered", 1);
  assert.equal(letter?.reason, "UndeliverableDueToHttpRequestEntityTooLarge");
});

test("a wrong key is refused at once, and a store that is away is tried again (P-7)", async (t) => {
  const azurite = await startAzurite(t, { parts: ["queue"] });
  await azurite.makeQueue("orders");
  const wrong = azurite.connectionString.replace(/AccountKey=[^;]*/, "AccountKey=d3Jvbmc=");
  const away = wrong.replace(
    /QueueEndpoint=[^;]*/,
    `QueueEndpoint=http://127.0.0.1:${await freePort()}/x`,
  );
  const into = (account: string) =>
    to("StorageQueue", { resourceId: resourceIds.queue(account), queueName: "orders" });
  const { publish, advance, factsNamed } = await openScene(t, {
    storageAccounts: {
      devstoreaccount1: { connectionString: wrong },
      away: { connectionString: away },
    },
    topics: {
      orders: { subscriptions: { wrong: into("devstoreaccount1") } },
      others: { subscriptions: { away: into("away") } },
    },
  });
  await publish("orders", order("a"));
  await publish("others", order("b"));
  await advance("PT15S");
  const [dropped] = await factsNamed("delivery.dropped", 1);
  assert.equal(dropped?.reason, "UndeliverableDueToHttpForbidden");
  const attempts = await factsNamed("delivery.attempted", 3);
  const unreachable = attempts.filter(({ subscription }) => subscription === "away");
  assert.ok(unreachable.length >= 2);
  assert.equal(unreachable[0]?.outcome, "SocketError");
  assert.ok(!JSON.stringify(attempts).includes("d3Jvbmc="));
});

test("queues, topics and hubs get events with their properties, and are retried by the law (C-1, P-8)", async (t) => {
  const bus = await startBus(t);
  const namespace = { connectionString: bus.connectionString };
  const deliveryAttributeMappings = [
    { name: "PartitionKey", type: "Dynamic", properties: { sourceField: "subject" } },
    { name: "x-static", type: "Static", properties: { value: "v", isSecret: true } },
  ];
  const into = (endpointType: string, resourceId: string) =>
    to(endpointType, { resourceId, deliveryAttributeMappings });
  const { publish, advance, factsNamed } = await openScene(t, {
    storageAccounts: {},
    sections: { serviceBusNamespaces: { bus: namespace }, eventHubNamespaces: { hubs: namespace } },
    topics: {
      orders: {
        subscriptions: {
          queue: into("servicebusqueue", resourceIds.busQueue("bus", "queue")),
          topic: into("ServiceBusTopic", resourceIds.busTopic("bus", "topic")),
          hub: into("eventHub", resourceIds.eventHub("hubs", "hub")),
        },
      },
    },
  });
  bus.missing.add("queue");
  bus.behave({ condition: "com.microsoft:server-busy", description: "Later." });
  await publish("orders", order("a"));
  await advance("PT29S");
  const attempts = await factsNamed("delivery.attempted", 3);
  const seen = attempts.map(({ subscription, status, outcome }) => [subscription, status, outcome]);
  assert.deepEqual(seen.sort(), [
    ["hub", 503, "Busy"],
    ["queue", 404, "NotFound"],
    ["topic", 503, "Busy"],
  ]);
  bus.behave("accept");
  bus.missing.clear();
  assert.equal((await advance("PT5S")).delivered, 2);
  assert.equal((await advance("PT5M")).delivered, 1);
  const arrived = bus.transfers.slice(2);
  assert.deepEqual(arrived.map(({ entity }) => entity).sort(), ["hub", "queue", "topic"]);
  for (const { entity, messages } of arrived) {
    const [message] = messages;
    assert.equal(JSON.parse(message?.body ?? "{}").id, "a");
    assert.equal(message?.annotations["x-opt-partition-key"], "orders/1", entity);
    assert.equal(message?.application["x-static"], "v");
    assert.equal(message?.application["aeg-subscription-name"], entity.toUpperCase());
    assert.equal(message?.application["aeg-delivery-count"], "1");
  }
});

test("a bus that keeps silent is waited for as long as the profile says (P-2, R-4)", async (t) => {
  const bus = await startBus(t);
  bus.behave("hold");
  const { publish, advance, factsNamed } = await openScene(t, {
    storageAccounts: {},
    sections: { serviceBusNamespaces: { bus: { connectionString: bus.connectionString } } },
    topics: {
      orders: {
        subscriptions: {
          queue: to("ServiceBusQueue", { resourceId: resourceIds.busQueue("bus", "orders") }),
        },
      },
    },
    options: [...verbose, "--clock-patience", "PT0.2S"],
  });
  await publish("orders", order("a"));
  await bus.reached(1);
  await advance("PT31S");
  const [attempt] = await factsNamed("delivery.attempted", 1);
  assert.deepEqual([attempt?.outcome, attempt?.why], ["TimedOut", "timeout"]);
  bus.behave("accept");
  bus.release();
  const [, late] = await factsNamed("delivery.attempted", 2);
  assert.equal(late?.outcome, "Delivered");
  assert.equal((await advance("PT5M")).attempts, 0);
  assert.equal(bus.transfers.length, 1, "what came late is not sent again");
});

test("a relay and a function are posted to where the file says, batches to functions alone", async (t) => {
  const relay = await serve(t, (response) => response.writeHead(201).end());
  const host = await openReceiver(t);
  host.answer = () => 202;
  const access = "SharedAccessKeyName=k;SharedAccessKey=s;UseDevelopmentEmulator=true";
  const connectionString = `Endpoint=sb://127.0.0.1:${relay.port};${access}`;
  const { publish, factsNamed } = await openScene(t, {
    options: verbose,
    storageAccounts: {},
    sections: {
      relayNamespaces: { relay: { connectionString } },
      functionApps: { app: { url: host.url, key: "hush" } },
    },
    topics: {
      orders: {
        subscriptions: {
          listener: to("HybridConnection", { resourceId: resourceIds.relay("relay", "orders") }),
          code: to("AzureFunction", {
            resourceId: resourceIds.functionOf("app", "onOrder"),
            maxEventsPerBatch: 10,
          }),
        },
      },
    },
  });
  await publish("orders", [order("a"), order("b")]);
  await factsNamed("delivery.attempted", 4);
  assert.equal(relay.arrived.length, 2);
  assert.match(
    String(relay.arrived[0]?.headers.servicebusauthorization),
    /^SharedAccessSignature /,
  );
  const [request] = host.received;
  assert.equal(request?.path, "/runtime/webhooks/EventGrid?functionName=onOrder&code=hush");
  assert.equal(JSON.parse(request?.body ?? "[]").length, 2);
});

/** A platform's identity endpoint: a token for requests with the right header. */
async function startIdentity(t: TestContext) {
  const header = "only this machine knows";
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const seconds = Math.floor(Date.now() / 1000);
  const claims = {
    ...{
      aud: "https://storage.azure.com",
      iss: "https://sts.windows.net/ab1f708d-50f6-404c-a006-d71b2ac7a606/",
    },
    ...{ iat: seconds - 60, nbf: seconds - 60, exp: seconds + 3600 },
  };
  const token = `${part({ alg: "none", typ: "JWT" })}.${part(claims)}.c2ln`;
  const endpoint = await serve(t, (response, { headers }) => {
    if (headers["x-identity-header"] !== header) return void response.writeHead(401).end();
    const body = { access_token: token, token_type: "Bearer", expires_on: String(seconds + 3600) };
    const resource = "https://storage.azure.com/";
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ ...body, resource }));
  });
  const IDENTITY_ENDPOINT = `http://127.0.0.1:${endpoint.port}/msi/token`;
  return { token, env: { IDENTITY_ENDPOINT, IDENTITY_HEADER: header }, asked: endpoint.arrived };
}

test("a managed identity opens queues and dead-letter blobs, with tokens and without keys (L-2)", async (t) => {
  const azurite = await startAzurite(t, { parts: ["blob", "queue"], isGuarded: true });
  await azurite.makeQueue("orders");
  await azurite.makeContainer("box");
  const identity = await startIdentity(t);
  const receiver = await openReceiver(t);
  receiver.answer = () => 400;
  const deadLetterWithResourceIdentity = {
    identity: { type: "SystemAssigned" },
    deadLetterDestination: boxIn("devstoreaccount1"),
  };
  const { destination } = to("StorageQueue", { resourceId: devstore, queueName: "orders" });
  const { publish, advance, factsNamed } = await openScene(t, {
    env: identity.env,
    storageAccounts: {
      devstoreaccount1: {
        managedIdentity: { clientId: "c0ffee00-0000-0000-0000-000000000000" },
        blobEndpoint: azurite.endpoints.blob,
        queueEndpoint: azurite.endpoints.queue,
      },
    },
    topics: {
      orders: {
        subscriptions: {
          queue: {
            deliveryWithResourceIdentity: { identity: { type: "SystemAssigned" }, destination },
          },
          hook: sendTo(receiver.url, { deadLetterWithResourceIdentity }),
        },
      },
    },
    options: [...verbose, "--tls-ca", join(import.meta.dirname, "fixtures/tls/cert.pem")],
  });
  await publish("orders", order("a"));
  const told = await advance("PT6M");
  assert.equal(told.deadLettered, 1);
  await factsNamed("delivery.attempted", 3);
  assert.equal((await azurite.queued("orders")).length, 1);
  assert.equal((await azurite.blobs("box")).size, 1);
  const [asked] = identity.asked;
  assert.match(asked?.path ?? "", /resource=https%3A%2F%2Fstorage\.azure\.com/);
  assert.match(asked?.path ?? "", /client_id=c0ffee00/);
});

test("a managed identity opens Service Bus and Event Hubs, over TLS and without keys", async (t) => {
  const identity = await startIdentity(t);
  const bus = await startBus(t, { bearer: identity.token });
  const namespace = { managedIdentity: true, endpoint: bus.endpoint };
  const { publish, factsNamed } = await openScene(t, {
    env: identity.env,
    storageAccounts: {},
    sections: { serviceBusNamespaces: { bus: namespace }, eventHubNamespaces: { hubs: namespace } },
    topics: {
      orders: {
        subscriptions: {
          queue: to("ServiceBusQueue", { resourceId: resourceIds.busQueue("bus", "queue") }),
          hub: to("EventHub", { resourceId: resourceIds.eventHub("hubs", "hub") }),
        },
      },
    },
    options: [...verbose, "--tls-ca", join(import.meta.dirname, "fixtures/tls/cert.pem")],
  });
  await publish("orders", order("a"));
  const attempts = await factsNamed("delivery.attempted", 2);
  for (const { outcome, detail } of attempts) assert.equal(outcome, "Delivered", String(detail));
  assert.deepEqual(bus.transfers.map(({ entity }) => entity).sort(), ["hub", "queue"]);
});

test("an identity that nobody vouches for is a 401, and tried again after five minutes (P-8)", async (t) => {
  const azurite = await startAzurite(t, { parts: ["queue"], isGuarded: true });
  const identity = await startIdentity(t);
  const bus = await startBus(t, { bearer: identity.token });
  const namespace = { managedIdentity: true, endpoint: bus.endpoint };
  const { publish, advance, factsNamed } = await openScene(t, {
    env: { ...identity.env, IDENTITY_HEADER: "a guess" },
    storageAccounts: {
      devstoreaccount1: { managedIdentity: true, queueEndpoint: azurite.endpoints.queue },
    },
    sections: { serviceBusNamespaces: { bus: namespace }, eventHubNamespaces: { hubs: namespace } },
    topics: {
      orders: {
        subscriptions: {
          queue: to("StorageQueue", { resourceId: devstore, queueName: "orders" }),
          bus: to("ServiceBusQueue", { resourceId: resourceIds.busQueue("bus", "queue") }),
          hub: to("EventHub", { resourceId: resourceIds.eventHub("hubs", "hub") }),
        },
      },
    },
    options: ["--tls-ca", join(import.meta.dirname, "fixtures/tls/cert.pem")],
  });
  await publish("orders", order("a"));
  await advance("PT4M");
  const attempts = await factsNamed("delivery.attempted", 3);
  assert.equal(attempts.length, 3);
  for (const { subscription, status, outcome, detail, words } of attempts) {
    const why = `${subscription}: ${detail}`;
    assert.deepEqual([status, outcome], [401, "Unauthorized"], why);
    assert.match(String(words), /^401: at least 5 min/);
  }
});
