// `posthorn import` and `posthorn export` as an operator uses them: the real commands against the
// real program, over the wire.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json, text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { startProgram } from "./fixtures/program.ts";

const program = join(import.meta.dirname, "../bin/posthorn.js");
const group = "/subscriptions/S/resourceGroups/rg1";
const provider = "/providers/Microsoft.EventGrid";

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface Scene {
  readonly folder: string;
  readonly http: string;
  readonly https: unknown;
  write(name: string, content: unknown): string;
  /** Runs a command with this broker as its server, found by its data folder. */
  run(args: readonly string[], input?: string): Promise<Ran>;
}

async function openScene(t: TestContext, args: readonly string[] = []): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-import-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const data = join(folder, "data");
  const broker = await startProgram(["--data", data, "--store", "memory", ...args]);
  t.after(() => broker.end("SIGKILL"));
  return {
    folder,
    http: broker.url,
    https: broker.facts.find(({ fact }) => fact === "broker.started")?.https,
    write(name, content) {
      const path = join(folder, name);
      writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
      return path;
    },
    run: (given, input) =>
      run([...given, "--data", data], { POSTHORN_SERVER: broker.url }, input ?? ""),
  };
}

async function run(args: readonly string[], env: object, input = ""): Promise<Ran> {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env.PATH, ...env },
  });
  child.stdin.end(input);
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit"),
  ]);
  return { out, err, code: code as number };
}

const quiet = ["--https", "off", "--handshake", "off"];

const everyHeader = [
  {
    name: "x-plain",
    type: "Static",
    properties: { value: "[not an expression]", isSecret: false },
  },
  { name: "x-token", type: "Static", properties: { value: "hush-token", isSecret: true } },
  { name: "x-key", type: "Dynamic", properties: { sourceField: "data.key" } },
];

const signingSecrets = ["1", "2", "3"].map(
  (fill) => `whsec_${Buffer.alloc(24, `hush-${fill}`).toString("base64")}`,
);

/** With something of everything; in the group that import chooses by itself, and in another. */
const everything = {
  $schema: "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
  contentVersion: "1.0.0.0",
  resources: [
    {
      type: "Microsoft.EventGrid/topics",
      name: "orders",
      location: "westeurope",
      tags: { team: "a", odd: "[[x]" },
      properties: { key1: "orders-key-1", inboundIpRules: [{ ipMask: "127.0.0.0/8" }] },
    },
    {
      type: "Microsoft.EventGrid/eventSubscriptions",
      scope: "Microsoft.EventGrid/topics/orders",
      name: "billing",
      properties: {
        destination: {
          endpointType: "WebHook",
          properties: {
            endpointUrl: "https://example.test/hook?code=hush-url",
            maxEventsPerBatch: 10,
            preferredBatchSizeInKilobytes: 128,
            deliveryAttributeMappings: everyHeader.with(0, {
              ...everyHeader[0],
              properties: { value: "[[not an expression]", isSecret: false },
            } as (typeof everyHeader)[number]),
          },
        },
        filter: {
          includedEventTypes: ["Order.Placed"],
          subjectBeginsWith: "/orders/",
          isSubjectCaseSensitive: true,
          enableAdvancedFilteringOnArrays: true,
          advancedFilters: [
            { operatorType: "NumberInRange", key: "data.n", values: [[1, 2]] },
            { operatorType: "IsNotNull", key: "data.m" },
          ],
        },
        labels: ["one", "two"],
        expirationTimeUtc: "2099-01-01T00:00:00Z",
        eventDeliverySchema: "CloudEventSchemaV1_0",
        retryPolicy: { maxDeliveryAttempts: 5, eventTimeToLiveInMinutes: 60 },
        posthorn: {
          splitOnFailure: true,
          signing: {
            secrets: [
              { secret: signingSecrets[0] },
              { secret: signingSecrets[1], expiresAt: "2099-01-01T00:00:00.000Z" },
            ],
          },
        },
      },
    },
    { type: "Microsoft.EventGrid/domains", name: "shop", properties: {} },
    { type: "Microsoft.EventGrid/domains/topics", name: "shop/europe" },
    {
      type: "Microsoft.EventGrid/domains/topics/eventSubscriptions",
      name: "shop/asia/audit",
      properties: {
        ...hookTo("https://example.test/audit"),
        posthorn: { signing: { secrets: [{ secret: signingSecrets[2] }] } },
      },
    },
    {
      type: "Microsoft.Resources/deployments",
      name: "elsewhere",
      subscriptionId: "S",
      resourceGroup: "rg1",
      properties: {
        template: {
          resources: [
            {
              type: "Microsoft.EventGrid/topics",
              name: "custom",
              properties: {
                inputSchema: "CustomEventSchema",
                inputSchemaMapping: {
                  inputSchemaMappingType: "Json",
                  properties: {
                    eventType: { sourceField: "kind" },
                    subject: { sourceField: "about", defaultValue: "none" },
                    dataVersion: { defaultValue: "1" },
                  },
                },
                disableLocalAuth: true,
                publicNetworkAccess: "Disabled",
                profile: "azure-2020",
              },
            },
            {
              type: "Microsoft.EventGrid/topics/eventSubscriptions",
              name: "custom/billing",
              properties: hookTo("https://example.test/custom?code=hush-too"),
            },
          ],
        },
      },
    },
  ],
};

function hookTo(endpointUrl: string) {
  return { destination: { endpointType: "WebHook", properties: { endpointUrl } } };
}

const everyLine = [
  "topic orders",
  "topic custom",
  "domain shop",
  "domain topic shop/europe",
  "subscription orders/billing",
  "subscription shop/asia/audit",
  "subscription custom/billing",
];

function linesOf({ out }: Ran): string[] {
  return out.trimEnd().split("\n");
}

test("what one broker exports, an empty one imports and exports again, keys and secrets included", async (t) => {
  const [first, second, third] = await Promise.all([
    openScene(t, quiet),
    openScene(t, quiet),
    openScene(t, quiet),
  ]);
  const imported = await first.run(["import", first.write("all.json", everything)]);
  assert.deepEqual(
    linesOf(imported),
    everyLine.map((line) => `created    ${line}`),
  );
  assert.deepEqual([imported.code, imported.err], [0, ""]);
  for (const [scene, format] of [
    [second, "arm"],
    [third, "az"],
  ] as const) {
    const exported = await first.run(["export", "--with-secrets", "--format", format]);
    assert.equal(exported.code, 0, exported.err);
    for (const secret of [
      "orders-key-1",
      "hush-url",
      "hush-token",
      "hush-too",
      ...signingSecrets,
    ]) {
      assert.ok(exported.out.includes(secret), `${format}: ${secret}`);
    }
    const taken = await scene.run(["import", "-"], exported.out);
    assert.deepEqual([taken.code, taken.err], [0, ""], taken.out);
    // Addresses of the brokers are the one thing that differs.
    const again = await scene.run(["export", "--with-secrets", "--format", format]);
    assert.equal(again.out.replaceAll(scene.http, first.http), exported.out);
    const twice = await scene.run(["import", "-"], exported.out);
    assert.equal(twice.code, 0);
    assert.ok(
      linesOf(twice).every((line) => line.startsWith("unchanged")),
      twice.out,
    );
  }
});

test("subscriptions of the module, pauses and what only Azure gives a meaning survive the round trip", async (t) => {
  const open = [...quiet, "--auth", "off"];
  const [first, second, third] = await Promise.all([
    openScene(t, open),
    openScene(t, open),
    openScene(t, open),
  ]);
  const send = async (scene: Scene, method: string, path: string, body: object = {}) => {
    const init = { method, body: JSON.stringify(body) };
    const answer = await fetch(`${scene.http}${path}`, init);
    assert.ok(answer.ok, `${method} ${path}: ${await answer.text()}`);
  };
  const local = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn";
  await send(first, "PUT", `${local}/providers/Microsoft.EventGrid/domains/shop`, {
    sku: { name: "Premium" },
    identity: { type: "SystemAssigned, UserAssigned", userAssignedIdentities: { "/a/b": {} } },
    properties: { dataResidencyBoundary: "WithinRegion", minimumTlsVersionAllowed: "1.2" },
  });
  const version = "?api-version=2019-01-01-preview";
  await send(first, "PUT", `/topics/edge${version}`, { properties: {} });
  const subscriptions = "/topics/edge/eventSubscriptions";
  for (const name of ["batched", "paused", "drained"]) {
    const properties = { endpointUrl: "http://127.0.0.1:9/?a=b", maxEventsPerBatch: 3 };
    const destination = { endpointType: "WebHook", properties };
    await send(first, "PUT", `${subscriptions}/${name}${version}`, { properties: { destination } });
  }
  const own = "/api/v1/topics/edge/subscriptions";
  await send(first, "POST", `${own}/paused/pause`);
  await send(first, "POST", `${own}/drained/pause`);
  await send(first, "POST", `${own}/drained/drain`, { perSecond: 0.5 });
  const shown = await fetch(`${first.http}${local}/providers/Microsoft.EventGrid${subscriptions}`);
  const { value } = (await shown.json()) as { value: { properties: { destination: Ran } }[] };
  assert.match(JSON.stringify(value), /"preferredBatchSizeInKilobytes":1024/);
  for (const [scene, format] of [
    [second, "arm"],
    [third, "az"],
  ] as const) {
    const exported = await first.run(["export", "--with-secrets", "--format", format]);
    assert.match(exported.out, /"preferredBatchSizeInBytes": 1058576/);
    const taken = await scene.run(["import", "-"], exported.out);
    assert.deepEqual([taken.code, taken.err], [0, ""], taken.out);
    const again = await scene.run(["export", "--with-secrets", "--format", format]);
    assert.equal(again.out.replaceAll(scene.http, first.http), exported.out);
    const twice = await scene.run(["import", "-"], exported.out);
    assert.ok(
      linesOf(twice).every((line) => line.startsWith("unchanged")),
      twice.out,
    );
    await send(scene, "POST", `${own}/paused/resume`);
    const paused = await scene.run(["import", "-"], exported.out);
    assert.ok(linesOf(paused).includes("updated    subscription edge/paused"), paused.out);
    const third = await scene.run(["export", "--with-secrets", "--format", format]);
    assert.equal(third.out.replaceAll(scene.http, first.http), exported.out);
  }
});

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

test("an export hides secrets behind parameters, and import asks for each of them", async (t) => {
  const [first, second] = await Promise.all([openScene(t, quiet), openScene(t, quiet)]);
  await first.run(["import", first.write("all.json", everything)]);
  const exported = await first.run(["export"]);
  assert.doesNotMatch(exported.out, /hush|orders-key|whsec_/);
  const file = second.write("exported.json", exported.out);
  const refused = await second.run(["import", file]);
  assert.deepEqual([refused.code, refused.out], [2, ""]);
  assert.match(refused.err, /^posthorn: .*\[parameters\('orders_billing_endpointUrl'\)\].*\n$/);
  const parameters = second.write("parameters.json", {
    parameters: {
      orders_billing_endpointUrl: { value: "https://example.test/hook?code=hush-url" },
      orders_billing_x_token: { value: "hush-token" },
      orders_billing_signing_1: { value: signingSecrets[0] },
      orders_billing_signing_2: { value: signingSecrets[1] },
      shop_asia_audit_signing_1: { value: signingSecrets[2] },
    },
  });
  const taken = await second.run([
    ...["import", file, "--parameters", parameters],
    ...["--parameters", "custom_billing_endpointUrl=https://example.test/custom?code=hush-too"],
  ]);
  assert.equal(taken.code, 0, taken.err + taken.out);
  // With the topic of the domain that came with its first subscription.
  assert.equal(linesOf(taken).length, everyLine.length + 1);
  assert.equal((await second.run(["export"])).out, exported.out);
  const oneGroup = await first.run(["export", "--resource-group", "rg1"]);
  const { resources } = JSON.parse(oneGroup.out) as { resources: { name: string }[] };
  assert.deepEqual(
    resources.map(({ name }) => name),
    ["custom", "billing"],
  );
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
  const ran = await Promise.all(table.map(([args]) => run(args, env)));
  for (const [index, [args, words]] of table.entries()) {
    const { code, out, err } = ran[index] as Ran;
    assert.deepEqual([code, out], [2, ""], args.join(" "));
    assert.match(err, /^posthorn: [^\n]*\n$/);
    assert.match(err, words);
  }
});

test("a broker that is not there, or does not know us, is one line and code 1", async (t) => {
  const { http, folder } = await openScene(t, quiet);
  const idle = createServer().listen(0, "127.0.0.1");
  await once(idle, "listening");
  const { port } = idle.address() as AddressInfo;
  await new Promise((resolve) => idle.close(resolve));
  const gone = `http://127.0.0.1:${port}`;
  const table: [string[], RegExp][] = [
    [["--server", gone], new RegExp(`the broker at ${gone} cannot be reached \\(ECONNREFUSED\\)`)],
    [["--server", http, "--data", folder], /asks for its admin key: give --key, POSTHORN_KEY/],
    [["--server", http, "--key", "wrong"], /does not take this admin key/],
  ];
  for (const [args, words] of table) {
    const { code, out, err } = await run(["export", ...args], {});
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
  const stranger = await run(["export", "--server", https, "--data", scene.folder], {});
  assert.equal(stranger.code, 1);
  assert.match(
    stranger.err,
    /is not trusted \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\); give its CA with --ca/,
  );
});

test("the commands tell their options", async () => {
  const [imports, exports] = await Promise.all([
    run(["import", "--help"], {}),
    run(["export", "-h"], {}),
  ]);
  assert.match(imports.out, /posthorn import FILE… \[options\][\s\S]*--endpoint SUBSCRIPTION=URL/);
  assert.match(exports.out, /posthorn export \[options\][\s\S]*--with-secrets/);
  assert.deepEqual([imports.code, exports.code], [0, 0]);
});
