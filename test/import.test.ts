// `posthorn import` and `posthorn export` as an operator uses them: the real commands against the
// real program, over the wire.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { test } from "node:test";
import { type Ran, runCommandLine } from "./fixtures/command-line.ts";
import { group, hookTo, linesOf, openScene, provider, quiet } from "./fixtures/import-scene.ts";
import { freePort } from "./fixtures/scope.ts";

const bus = "Endpoint=sb://localhost;SharedAccessKeyName=k;SharedAccessKey=s";

/** What the file of a broker has to say for the subscriptions below. */
const azure = {
  storageAccounts: { shop: { connectionString: "UseDevelopmentStorage=true" } },
  serviceBusNamespaces: { bus: { connectionString: bus } },
  eventHubNamespaces: { hubs: { connectionString: bus } },
  relayNamespaces: { relay: { connectionString: bus } },
  functionApps: { app: { url: "http://127.0.0.1:9", key: "hush-key" } },
};

const token = { name: "x-token", type: "Static", properties: { value: "hush", isSecret: true } };

const resources: readonly (readonly [name: string, type: string, path: string, more?: object])[] = [
  ["queue", "StorageQueue", "Microsoft.Storage/storageAccounts/shop", { queueName: "orders" }],
  ["bus-queue", "ServiceBusQueue", "Microsoft.ServiceBus/namespaces/bus/queues/q"],
  ["bus-topic", "ServiceBusTopic", "Microsoft.ServiceBus/namespaces/bus/topics/t"],
  ["hub", "EventHub", "Microsoft.EventHub/namespaces/hubs/eventhubs/h"],
  ["listener", "HybridConnection", "Microsoft.Relay/namespaces/relay/hybridConnections/c"],
  ["code", "AzureFunction", "Microsoft.Web/sites/app/functions/f", { maxEventsPerBatch: 5 }],
];

test("destinations of Azure's go through, with identities and secret headers", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-azure-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const config = join(folder, "azure.json");
  writeFileSync(config, JSON.stringify(azure));
  const [first, second] = await Promise.all([
    openScene(t, [...quiet, "--config", config]),
    openScene(t, [...quiet, "--config", config]),
  ]);
  const destinationOf = ([name, endpointType, path, more = {}]: (typeof resources)[number]) => ({
    endpointType,
    properties: {
      resourceId: `${group}/providers/${path}`,
      ...more,
      ...(name !== "queue" && { deliveryAttributeMappings: [token] }),
    },
  });
  const subscription = (name: string, properties: object) => ({
    type: "Microsoft.EventGrid/topics/eventSubscriptions",
    name: `orders/${name}`,
    properties,
  });
  const hub = resources.find(([name]) => name === "hub");
  assert.ok(hub);
  const identity = { type: "SystemAssigned" };
  const deliveryWithResourceIdentity = { identity, destination: destinationOf(hub) };
  const template = {
    resources: [
      { type: "Microsoft.EventGrid/topics", name: "orders", properties: {} },
      ...resources.map((one) => subscription(one[0], { destination: destinationOf(one) })),
      subscription("identified", { deliveryWithResourceIdentity }),
    ],
  };
  const imported = await first.run(["import", first.write("all.json", template)]);
  assert.deepEqual([imported.code, imported.err], [0, ""], imported.out);
  assert.equal(linesOf(imported).length, resources.length + 2);
  const again = await first.run(["import", join(first.folder, "all.json")]);
  assert.ok(
    linesOf(again).every((line) => line.startsWith("unchanged")),
    again.out,
  );
  for (const format of ["arm", "az"]) {
    const exported = await first.run(["export", "--with-secrets", "--format", format]);
    assert.doesNotMatch(exported.out, /hush-key/);
    const taken = await second.run(["import", "-"], exported.out);
    assert.deepEqual([taken.code, taken.err], [0, ""], taken.out);
    const there = await second.run(["export", "--with-secrets", "--format", format]);
    assert.equal(there.out.replaceAll(second.http, first.http), exported.out);
  }
});

/** As `az eventgrid topic list` and `az eventgrid event-subscription list` print them. */
const azTopics = [
  {
    id: `${group}${provider}/topics/orders`,
    inputSchema: "EventGridSchema",
    inputSchemaMapping: null,
    location: "westeurope",
    name: "orders",
    provisioningState: "Succeeded",
    resourceGroup: "rg1",
    sku: { name: "Basic" },
    tags: null,
    type: "Microsoft.EventGrid/topics",
  },
];

const azSubscriptions = ["billing", "audit"].map((name) => ({
  deadLetterDestination: null,
  destination: {
    endpointBaseUrl: `https://example.test/${name}`,
    endpointType: "WebHook",
    endpointUrl: null,
    maxEventsPerBatch: 1,
    preferredBatchSizeInKilobytes: 64,
  },
  eventDeliverySchema: "EventGridSchema",
  filter: { includedEventTypes: null, subjectBeginsWith: "", subjectEndsWith: ".jpg" },
  id: `${group}${provider}/topics/orders${provider}/eventSubscriptions/${name}`,
  labels: null,
  name,
  retryPolicy: { eventTimeToLiveInMinutes: 1440, maxDeliveryAttempts: 30 },
  topic: `${group}/providers/microsoft.eventgrid/topics/orders`,
  type: "Microsoft.EventGrid/eventSubscriptions",
}));

test("lists of the Azure CLI are applied once their hidden URLs are given", async (t) => {
  const scene = await openScene(t, quiet);
  const files = [
    scene.write("topics.json", azTopics),
    scene.write("subscriptions.json", azSubscriptions),
  ];
  const command = ["import", ...files, "--endpoint", "audit=https://example.test/audit?code=1"];
  const dry = await scene.run([...command, "--dry-run"]);
  const hint = "the file lacks secrets; add --endpoint orders/billing=URL";
  const planned = [
    "to create  topic orders",
    `failed     subscription orders/billing: ${hint}`,
    "to create  subscription orders/audit",
  ];
  assert.deepEqual(linesOf(dry), planned);
  const { resources } = JSON.parse((await scene.run(["export"])).out) as { resources: object[] };
  assert.deepEqual(resources, [], "nothing was done");
  const once = await scene.run(command);
  assert.deepEqual(
    linesOf(once),
    planned.map((line) => line.replace("to create", "created  ")),
  );
  assert.deepEqual([dry.code, once.code], [1, 1]);
  const whole = await scene.run([...command, "--use-base-urls"]);
  assert.deepEqual(linesOf(whole), [
    "unchanged  topic orders",
    "created    subscription orders/billing",
    "unchanged  subscription orders/audit",
  ]);
  // What the broker has, the file need not tell.
  const later = azSubscriptions.map((one) => ({ ...one, labels: [one.name] }));
  const changed = await scene.run(["import", scene.write("later.json", later)]);
  assert.deepEqual(linesOf(changed), [
    "updated    subscription orders/billing",
    "updated    subscription orders/audit",
  ]);
  assert.equal(changed.code, 0);
  const { out } = await scene.run(["export", "--with-secrets"]);
  assert.match(out, /audit\?code=1/);
  assert.match(out, /"labels": \[\s*"audit"/);
});

test("endpoints are asked, and each line says how that went", async (t) => {
  const server = createServer(async (request, response) => {
    const [event] = (await json(request)) as [{ data: { validationCode: string } }];
    const validationResponse = request.url === "/yes" ? event.data.validationCode : undefined;
    response.statusCode = request.url === "/no" ? 500 : 200;
    response.end(JSON.stringify({ validationResponse }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => void server.close());
  t.after(() => server.closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const scene = await openScene(t, ["--https", "off", "--handshake-persist", "PT0.01S"]);
  const names = ["yes", "no", "later"];
  const resources = [
    { type: "Microsoft.EventGrid/topics", name: "orders", properties: {} },
    ...names.map((name) => ({
      type: "Microsoft.EventGrid/topics/eventSubscriptions",
      name: `orders/${name}`,
      properties: hookTo(`${url}/${name}`),
    })),
    {
      type: "Microsoft.EventGrid/topics/eventSubscriptions",
      name: "orders/hub",
      properties: { destination: { endpointType: "EventHub", properties: { resourceId: "/x" } } },
    },
    { type: "Microsoft.Web/sites", name: "app" },
  ];
  const file = scene.write("main.json", { resources });
  const ran = await scene.run(["import", file]);
  const [topic, yes, no, later, hub, site] = linesOf(ran);
  assert.equal(topic, "created    topic orders");
  assert.equal(yes, "created    subscription orders/yes");
  assert.match(no ?? "", /^failed {5}subscription orders\/no: Webhook validation handshake failed/);
  assert.equal(later, "created    subscription orders/later: it is AwaitingManualAction");
  assert.match(hub ?? "", /^failed {5}subscription orders\/hub: .*resourceId must be /);
  assert.equal(site, "skipped    Microsoft.Web/sites app: not a resource of Event Grid");
  assert.equal(ran.code, 1);
  // One that has failed is asked again, one that waits is left alone.
  const again = linesOf(await scene.run(["import", file]));
  assert.equal(again[1], "unchanged  subscription orders/yes");
  assert.match(again[2] ?? "", /^failed/);
  assert.equal(again[3], "unchanged  subscription orders/later: it is AwaitingManualAction");
});

test("bad input is one line and code 2, and nothing is asked of the broker", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-import-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = (name: string, content: string) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const template = file("main.json", JSON.stringify({ parameters: {}, resources: [] }));
  const table: [string[], RegExp][] = [
    [["import"], /FILE must be given: a file, or - for standard input/],
    [["import", join(folder, "gone.json")], /gone.json cannot be read \(ENOENT\)/],
    [["import", file("bad.json", "{")], /bad.json is not JSON/],
    [["import", file("odd.json", "5")], /odd.json must be an ARM template, or a list/],
    [["import", file("main.bicep", "x")], /az bicep build/],
    [["import", template, "--dryrun"], /no option "--dryrun"; did you mean --dry-run\?/],
    [["import", template, "--endpoint"], /--endpoint must be followed by SUBSCRIPTION=URL/],
    [["import", template, "--endpoint", "x"], /--endpoint must be pairs as in SUBSCRIPTION=URL/],
    [["import", template, "--endpoint", "x=y"], /no event subscription "x"/],
    [["import", template, "--parameters", "x=y"], /no parameter "x"/],
    [["import", template, "--server", "nowhere"], /server must be a URL/],
    [["export", "--format", "yaml"], /--format must be arm or az, and is "yaml"/],
    [["export", "somewhere.json"], /"somewhere.json" has no place here/],
  ];
  const env = { POSTHORN_SERVER: "http://127.0.0.1:9", POSTHORN_ADMIN_KEY: "x" };
  const ran = await Promise.all(table.map(([args]) => runCommandLine(args, { env })));
  for (const [index, [args, words]] of table.entries()) {
    const { code, out, err } = ran[index] as Ran;
    assert.deepEqual([code, out], [2, ""], args.join(" "));
    assert.match(err, /^posthorn: [^\n]*\n$/);
    assert.match(err, words);
  }
});

test("a broker that is not there, or does not know us, is one line and code 1", async (t) => {
  const { http, folder } = await openScene(t, quiet);
  const gone = `http://127.0.0.1:${await freePort()}`;
  const table: [string[], RegExp][] = [
    [["--server", gone], new RegExp(`the broker at ${gone} cannot be reached \\(ECONNREFUSED\\)`)],
    [["--server", http, "--data", folder], /asks for its admin key: give --key, POSTHORN_KEY/],
    [["--server", http, "--key", "wrong"], /does not take this admin key/],
  ];
  for (const [args, words] of table) {
    const { code, out, err } = await runCommandLine(["export", ...args]);
    assert.deepEqual([code, out], [1, ""]);
    assert.match(err, /^posthorn: [^\n]*\n$/);
    assert.match(err, words);
  }
});

test("over https the authority in the data folder is trusted, and no other unknown one", async (t) => {
  const scene = await openScene(t, ["--https", "127.0.0.1:0"]);
  const https = String(scene.https);
  const { code, err } = await scene.run(["export", "--server", https]);
  assert.deepEqual([code, err], [0, ""]);
  const stranger = await runCommandLine(["export", "--server", https, "--data", scene.folder]);
  assert.equal(stranger.code, 1);
  assert.match(
    stranger.err,
    /is not trusted \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\); give its CA with --ca/,
  );
});

test("the commands tell their options", async () => {
  const [imports, exports] = await Promise.all([
    runCommandLine(["import", "--help"]),
    runCommandLine(["export", "-h"]),
  ]);
  assert.match(imports.out, /posthorn import FILE… \[options\][\s\S]*--endpoint SUBSCRIPTION=URL/);
  assert.match(exports.out, /posthorn export \[options\][\s\S]*--with-secrets/);
  assert.deepEqual([imports.code, exports.code], [0, 0]);
});
