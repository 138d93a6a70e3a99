// The commands of az, as a script for az has them, against a real broker.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openCommandLine } from "../fixtures/command-line.ts";
import { openReceiver } from "../fixtures/receiver.ts";

const subscription = "/subscriptions/00000000-0000-0000-0000-000000000000";
const group = `${subscription}/resourceGroups/rg1`;
const provider = `${group}/providers/Microsoft.EventGrid`;
const letters = `${group}/providers/Microsoft.Storage/storageAccounts/letters`;
const quiet = ["--store", "memory", "--handshake", "off"];

test("topics are made, shown, changed and removed as by az, in the same shapes (M-1)", async (t) => {
  const cli = await openCommandLine(t, quiet);
  const topic = {
    dataResidencyBoundary: "WithinGeopair",
    disableLocalAuth: false,
    endpoint: `${cli.broker.url}/topics/orders/api/events`,
    id: `${provider}/topics/orders`,
    identity: { principalId: null, tenantId: null, type: "None", userAssignedIdentities: null },
    inboundIpRules: null,
    inputSchema: "EventGridSchema",
    inputSchemaMapping: null,
    kind: "Azure",
    location: "local",
    metricResourceId: "c688d641-3c69-5ee9-84f3-eb81b276cc1d",
    name: "orders",
    privateEndpointConnections: null,
    provisioningState: "Succeeded",
    publicNetworkAccess: "Enabled",
    resourceGroup: "rg1",
    sku: { name: "Basic" },
    systemData: null,
    tags: { a: "b", c: "d" },
    type: "Microsoft.EventGrid/topics",
  };
  const made = await cli.run("eventgrid topic create -g rg1 -n orders -l local --tags a=b c=d");
  assert.equal(made.out, `${JSON.stringify(topic, null, 2)}\n`, "byte by byte what az printed");
  assert.deepEqual(await cli.json("topic show -g rg1 -n orders"), topic);
  assert.deepEqual(await cli.json(`topic show --ids ${provider}/topics/orders`), topic);
  assert.deepEqual(await cli.json("topic list -g rg1"), [topic]);
  assert.deepEqual(await cli.json("topic list -g other"), []);
  assert.deepEqual(await cli.json("topic update -g rg1 -n orders --tags x=y"), {
    ...topic,
    tags: { x: "y" },
  });
  const before = (await cli.json("topic key list -g rg1 -n orders")) as Record<string, string>;
  const after = (await cli.json("topic key regenerate -g rg1 -n orders --key-name key2")) as Record<
    string,
    string
  >;
  assert.equal(after.key1, before.key1);
  assert.notEqual(after.key2, before.key2);
  assert.deepEqual(await cli.run("topic delete -g rg1 -n orders"), { code: 0, out: "", err: "" });
  const gone = await cli.run("topic show -g rg1 -n orders");
  assert.equal(gone.code, 3);
  assert.match(gone.err, /^posthorn: \(ResourceNotFound\) The Resource .*topics\/orders.*\n$/);
});

test("what the broker refuses is one line and code 1", async (t) => {
  const cli = await openCommandLine(t, quiet);
  const wrong = await cli.run("topic create -n one --inbound-ip-rules nowhere Allow");
  assert.equal(wrong.code, 1);
  assert.match(wrong.err, /^posthorn: \(\w+\) [^\n]*inboundIpRules[^\n]*\n$/);
  assert.equal(wrong.out, "");
  await cli.json("topic create -n one");
  const bad = await cli.run(
    "topic event-subscription create --topic-name one -n all --endpoint http://a --event-ttl 2000",
  );
  assert.equal(bad.code, 1);
  assert.match(bad.err, /eventTimeToLiveInMinutes must be a whole number from 1 to 1440/);
  const stranger = await cli.run("topic list --key wrong");
  assert.equal(stranger.code, 1);
  assert.match(stranger.err, /does not take this admin key\n$/);
});

test("domains and their topics are made, listed and removed", async (t) => {
  const cli = await openCommandLine(t, quiet);
  const domain = (await cli.json(
    "domain create -n shop --query autoCreateTopicWithFirstSubscription",
  )) as unknown;
  assert.equal(domain, true);
  const topic = (await cli.json("domain topic create --domain-name shop -n europe")) as {
    name: string;
  };
  assert.equal(topic.name, "europe");
  const names = "domain topic list --domain-name shop --query [].name";
  assert.deepEqual(await cli.json(names), ["europe"]);
  const create =
    "domain topic event-subscription create --domain-name shop --domain-topic-name europe";
  const made = (await cli.json(
    `${create} -n all --endpoint http://127.0.0.1:9/ --query topic`,
  )) as string;
  assert.match(made, /\/domains\/shop\/topics\/europe$/);
  const list = "domain topic event-subscription list --domain-name shop --domain-topic-name europe";
  assert.deepEqual(await cli.json(`${list} --query [].name`), ["all"]);
  assert.equal((await cli.run("domain topic delete --domain-name shop -n europe")).code, 0);
  assert.deepEqual(await cli.json(names), []);
  const types = (await cli.json("topic-type list --query [].name")) as string[];
  assert.ok(types.includes("Microsoft.EventGrid.Domains"));
});

test("a subscription is made with every option, shown with its secrets, and changed", async (t) => {
  const cli = await openCommandLine(t, quiet, {
    storageAccounts: { [letters]: { folder: "./letters-of-a-test" } },
  });
  await cli.json("topic create -g rg1 -n orders");
  const named = ["--name", "es1", "--source-resource-id", `${provider}/topics/orders`];
  const made = (await cli.json([
    ...["event-subscription", "create", ...named],
    ...["--endpoint", "http://127.0.0.1:9/hook?code=abc", "--max-events-per-batch", "10"],
    ...["--event-ttl", "60", "--advanced-filter", "data.amount", "NumberInRange", "1,2", "3,4"],
    ...["--advanced-filter", "data.b", "BoolEquals", "true", "--labels", "a", "b"],
    ...["--delivery-attribute-mapping", "X-S", "static", "val", "true"],
    ...["--delivery-attribute-mapping", "X-D", "dynamic", "data.foo"],
    ...["--deadletter-endpoint", `${letters}/blobServices/default/containers/dead`],
    ...["--expiration-date", "2030-01-01", "--split-on-failure"],
  ])) as Record<string, unknown>;
  const filter = {
    advancedFilters: [
      {
        key: "data.amount",
        operatorType: "NumberInRange",
        values: [
          [1, 2],
          [3, 4],
        ],
      },
      { key: "data.b", operatorType: "BoolEquals", value: true },
    ],
    enableAdvancedFilteringOnArrays: null,
    includedEventTypes: null,
    isSubjectCaseSensitive: null,
    subjectBeginsWith: "",
    subjectEndsWith: "",
  };
  const destination = {
    azureActiveDirectoryApplicationIdOrUri: null,
    azureActiveDirectoryTenantId: null,
    deliveryAttributeMappings: [
      { isSecret: true, name: "X-S", type: "Static", value: "Hidden" },
      { name: "X-D", sourceField: "data.foo", type: "Dynamic" },
    ],
    endpointBaseUrl: "http://127.0.0.1:9/hook",
    endpointType: "WebHook",
    endpointUrl: null,
    maxEventsPerBatch: 10,
    preferredBatchSizeInKilobytes: 64,
  };
  assert.deepEqual(made, {
    deadLetterDestination: {
      blobContainerName: "dead",
      endpointType: "StorageBlob",
      resourceId: letters,
    },
    deadLetterWithResourceIdentity: null,
    deliveryWithResourceIdentity: null,
    destination,
    eventDeliverySchema: "EventGridSchema",
    expirationTimeUtc: "2030-01-01T00:00:00+00:00",
    filter,
    id: `${provider}/topics/orders/providers/Microsoft.EventGrid/eventSubscriptions/es1`,
    labels: ["a", "b"],
    name: "es1",
    posthorn: { splitOnFailure: true },
    provisioningState: "Succeeded",
    resourceGroup: "rg1",
    retryPolicy: { eventTimeToLiveInMinutes: 60, maxDeliveryAttempts: 30 },
    systemData: null,
    topic: `${group}/providers/microsoft.eventgrid/topics/orders`,
    type: "Microsoft.EventGrid/eventSubscriptions",
  });
  const show = ["event-subscription", "show", ...named, "--include-full-endpoint-url"];
  const secrets = (await cli.json([...show, "--include-attrib-secret"])) as typeof made;
  assert.deepEqual(secrets.destination, {
    ...destination,
    deliveryAttributeMappings: {
      value: [
        { isSecret: true, name: "X-S", type: "Static", value: "val" },
        { name: "X-D", sourceField: "data.foo", type: "Dynamic" },
      ],
    },
    endpointUrl: "http://127.0.0.1:9/hook?code=abc",
  });
  const update = ["event-subscription", "update", ...named];
  const changed = await cli.json([
    ...update,
    "--subject-ends-with",
    ".jpg",
    "--max-events-per-batch",
    "5",
  ]);
  assert.deepEqual(changed, {
    ...made,
    destination: { ...destination, maxEventsPerBatch: 5 },
    filter: { ...filter, subjectEndsWith: ".jpg" },
  });
  const set = "retryPolicy.maxDeliveryAttempts=7";
  const amended = (await cli.json([...update, "--set", set])) as typeof made;
  assert.deepEqual(amended.retryPolicy, { eventTimeToLiveInMinutes: 60, maxDeliveryAttempts: 7 });
  const whole = (await cli.json([...show, "--query", "destination.endpointUrl"])) as unknown;
  assert.equal(whole, "http://127.0.0.1:9/hook?code=abc", "the hidden part of the URL is kept");
  const nothing = await cli.run(update);
  assert.equal(nothing.code, 2);
  assert.match(nothing.err, /^posthorn: what to change must be given/);
});

test("lists of subscriptions come by source, by place and by type, as tables and columns", async (t) => {
  const cli = await openCommandLine(t, quiet);
  await cli.json("topic create -n orders");
  for (const name of ["aa", "bb"]) {
    await cli.json(
      `event-subscription create -n ${name} --source-resource-id orders --endpoint http://127.0.0.1:9/`,
    );
  }
  const all = "event-subscription list --query [].name";
  assert.deepEqual(await cli.json(`${all} --source-resource-id orders`), ["aa", "bb"]);
  assert.deepEqual(await cli.json(`${all} --location local`), ["aa", "bb"]);
  assert.deepEqual(await cli.json(`${all} --location local -g posthorn`), ["aa", "bb"]);
  assert.deepEqual(
    await cli.json(`${all} --location local --topic-type-name Microsoft.EventGrid.Topics`),
    ["aa", "bb"],
  );
  assert.deepEqual(await cli.json(all), ["aa", "bb"], "where nothing is said, all there are");
  const filter = ["--odata-query", "name eq 'bb'"];
  assert.deepEqual(await cli.json([...all.split(" "), "--location", "local", ...filter]), ["bb"]);
  const table = await cli.run("topic event-subscription list --topic-name orders -o table");
  assert.match(table.out, /^Name +Topic +State +Type +Endpoint\n-+/);
  const wide = await cli.run("topic event-subscription list --topic-name orders -o wide");
  assert.match(
    wide.out,
    /^EventDeliverySchema +Name +ProvisioningState +ResourceGroup +Topic\n-+/,
    "what az shows",
  );
  const columns = await cli.run([
    "event-subscription",
    "list",
    "--source-resource-id",
    "orders",
    "--query",
    "[].[name, labels]",
    "-o",
    "tsv",
  ]);
  assert.equal(columns.out, "aa\tNone\nbb\tNone\n");
  assert.equal(
    (await cli.run("event-subscription delete -n aa --source-resource-id orders")).code,
    0,
  );
  assert.equal(
    (await cli.run("topic event-subscription delete -n bb --topic-name orders -y")).code,
    0,
  );
  assert.deepEqual(await cli.json(`${all} --location local`), []);
});

test("a webhook that does not agree ends its create with code 1 and the reason", async (t) => {
  const receiver = await openReceiver(t);
  const cli = await openCommandLine(t, ["--store", "memory", "--handshake-persist", "PT0S"]);
  await cli.json("topic create -n orders");
  const create = `event-subscription create -n aa --source-resource-id orders --endpoint ${receiver.url}`;
  receiver.answer = () => 500;
  const { code, err } = await cli.run(create);
  assert.equal(code, 1);
  assert.match(err, /^posthorn: [^\n]*500[^\n]*\n$/);
});

test("a profile and a port of its own are ours, and shown beside what az knows", async (t) => {
  const cli = await openCommandLine(t, quiet);
  const made = (await cli.json("topic create -n orders --profile ga-2018")) as {
    posthorn: object;
  };
  assert.deepEqual(made.posthorn, { profile: "ga-2018" });
});

test("a broker leaves its address in its data folder for as long as it runs", async (t) => {
  const cli = await openCommandLine(t, quiet);
  const file = join(cli.folder, "data", "address");
  assert.equal(readFileSync(file, "utf8"), `${cli.broker.url}\n`);
  assert.equal(await cli.broker.end("SIGTERM"), 0);
  assert.equal(existsSync(file), false);
});
