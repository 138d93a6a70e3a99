import assert from "node:assert/strict";
import { test } from "node:test";
import { urlIn } from "../../../test/contract/fixture.ts";
import {
  type Arm,
  agree,
  answer,
  group,
  type Json,
  openArm,
  ordersPath,
  provider,
  webhookBody,
} from "../../../test/fixtures/arm.ts";
import { profileNames } from "../../core/delivery/profile.ts";
import { localGroup, plainTopic } from "../../core/topic.ts";

const scoped = `${ordersPath}${provider}/eventSubscriptions/billing`;
const nested = `${ordersPath}/eventSubscriptions/billing`;

async function openOrders(...given: Parameters<typeof openArm>): Promise<Arm> {
  const arm = await openArm(...given);
  await arm.good("PUT", ordersPath, { location: "local" });
  return arm;
}

/** Written, and its endpoint has been asked. */
async function write(arm: Arm, body: Json, path = scoped) {
  return await arm.follow(await arm.good("PUT", path, body));
}

test("a subscription is in force when its endpoint has agreed, and shown without secrets", async (t) => {
  const arm = await openOrders(t);
  const made = await arm.good("PUT", scoped, webhookBody());
  assert.deepEqual([made.status, made.body.properties.provisioningState], [201, "Creating"]);
  const { body: operation } = await arm.follow(made);
  assert.equal(operation.status, "Succeeded");
  const shown = await arm.good("GET", scoped);
  assert.ok(shown.headers.etag);
  assert.deepEqual(shown.body, {
    properties: {
      topic: "/subscriptions/S/resourceGroups/rg1/providers/microsoft.eventgrid/topics/orders",
      provisioningState: "Succeeded",
      destination: {
        endpointType: "WebHook",
        properties: {
          endpointUrl: null,
          endpointBaseUrl: "https://hook.test/in",
          maxEventsPerBatch: 1,
          preferredBatchSizeInKilobytes: 64,
        },
      },
      filter: { subjectBeginsWith: "", subjectEndsWith: "" },
      labels: null,
      eventDeliverySchema: "EventGridSchema",
      retryPolicy: { maxDeliveryAttempts: 30, eventTimeToLiveInMinutes: 1440 },
    },
    systemData: null,
    id: scoped,
    name: "billing",
    type: "Microsoft.EventGrid/eventSubscriptions",
  });
  const full = await arm.good("POST", `${scoped}/getFullUrl`);
  assert.deepEqual(full.body, { endpointUrl: "https://hook.test/in?code=hush" });
  const [record] = (await arm.catalog()).subscriptions;
  assert.deepEqual([record?.isActive, record?.state, record?.origin], [true, "Succeeded", "api"]);
});

test("the two forms are one and the same resource", async (t) => {
  const arm = await openOrders(t);
  await write(arm, webhookBody());
  const { body } = await arm.good("GET", nested.toUpperCase().replace(/S\/RESOURCE/, "s/resource"));
  assert.deepEqual([body.id, body.type], [nested, "Microsoft.EventGrid/topics/eventSubscriptions"]);
  await write(arm, webhookBody({ properties: { labels: ["a"] } }), nested);
  assert.deepEqual((await arm.good("GET", scoped)).body.properties.labels, ["a"]);
  const lists = [`${ordersPath}/eventSubscriptions`, `${ordersPath}${provider}/eventSubscriptions`];
  const ids = [];
  for (const list of lists) {
    const { value } = (await arm.good("GET", list)).body;
    ids.push(...value.map((each: { id: string }) => each.id));
  }
  assert.deepEqual(ids, [nested, scoped]);
  assert.equal((await arm.ask("DELETE", nested)).status, 204);
  assert.equal((await arm.ask("GET", scoped)).status, 404);
  assert.equal((await arm.ask("DELETE", scoped)).status, 204);
});

const everything = {
  destination: {
    maxEventsPerBatch: 10,
    preferredBatchSizeInKilobytes: 128,
    deliveryAttributeMappings: [
      { name: "X-S", type: "Static", properties: { value: "v", isSecret: true } },
      { name: "X-P", type: "Static", properties: { value: "plain" } },
      { name: "X-D", type: "Dynamic", properties: { sourceField: "data.foo" } },
    ],
  },
  properties: {
    filter: {
      subjectBeginsWith: "a",
      subjectEndsWith: "z",
      includedEventTypes: ["T.A"],
      isSubjectCaseSensitive: true,
      enableAdvancedFilteringOnArrays: true,
      advancedFilters: [
        { operatorType: "NumberIn", key: "data.n", values: [1, 2] },
        { operatorType: "NumberInRange", key: "data.r", values: [[1, 2]] },
        { operatorType: "BoolEquals", key: "data.b", value: true },
        { operatorType: "IsNullOrUndefined", key: "data.q" },
      ],
    },
    labels: ["l1"],
    expirationTimeUtc: "2031-01-01T00:00:00.000Z",
    eventDeliverySchema: "CloudEventSchemaV1_0",
    retryPolicy: { maxDeliveryAttempts: 5, eventTimeToLiveInMinutes: 10 },
    deadLetterDestination: {
      endpointType: "StorageBlob",
      properties: {
        resourceId: `${group}/providers/Microsoft.Storage/storageAccounts/letters`,
        blobContainerName: "box",
      },
    },
  },
};

test("what a client reads it can write back: nothing changes, secrets included", async (t) => {
  const arm = await openOrders(t);
  await write(arm, webhookBody(everything));
  const { body } = await arm.good("GET", scoped);
  const { deliveryAttributeMappings: shown, ...destination } =
    body.properties.destination.properties;
  assert.deepEqual(destination, {
    endpointUrl: null,
    endpointBaseUrl: "https://hook.test/in",
    maxEventsPerBatch: 10,
    preferredBatchSizeInKilobytes: 128,
  });
  assert.deepEqual(
    shown.map((each: { properties: { value?: string } }) => each.properties.value),
    ["Hidden", "plain", undefined],
  );
  const { destination: _, ...rest } = body.properties;
  const { topic: _topic, provisioningState: _state, ...terms } = rest;
  assert.deepEqual(terms, everything.properties);

  const stored = (await arm.catalog()).subscriptions[0];
  await write(arm, body);
  const { topic: _a, provisioningState: _b, ...flat } = body.properties;
  await arm.follow(await arm.good("PATCH", scoped, flat));
  await arm.follow(await arm.good("PATCH", scoped, { properties: body.properties }));
  assert.deepEqual((await arm.good("GET", scoped)).body, body);
  const after = (await arm.catalog()).subscriptions[0];
  assert.deepEqual(after?.destination, stored?.destination);
  assert.deepEqual(after?.headers, stored?.headers);
  assert.deepEqual(
    (await arm.good("POST", `${scoped}/getDeliveryAttributes`)).body.value[0].properties,
    { value: "v", isSecret: true },
  );
});

test("a secret header is kept for null, Hidden and nothing, and replaced by a text", async (t) => {
  const arm = await openOrders(t);
  const secret = (properties: Json) =>
    webhookBody({
      destination: { deliveryAttributeMappings: [{ name: "x-s", type: "Static", properties }] },
    });
  const value = async () =>
    (await arm.good("POST", `${scoped}/getDeliveryAttributes`)).body.value[0].properties.value;
  const missing = await arm.ask("PUT", scoped, secret({ value: null, isSecret: true }));
  assert.match(missing.body.error.target, /deliveryAttributeMappings\[0\]\.properties\.value$/);
  await write(arm, secret({ value: "one", isSecret: true }));
  for (const properties of [{ value: null }, { value: "Hidden" }, {}]) {
    await write(arm, secret({ ...properties, isSecret: true }));
    assert.equal(await value(), "one");
  }
  await write(arm, secret({ value: "two", isSecret: true }));
  assert.equal(await value(), "two");
});

test("PATCH keeps what it leaves out: headers, URL and all the rest", async (t) => {
  const arm = await openOrders(t);
  assert.equal((await arm.ask("PATCH", scoped, { labels: [] })).status, 404);
  await write(arm, webhookBody(everything));
  const patch = async (body: Json) => {
    const patched = await arm.good("PATCH", scoped, body);
    assert.deepEqual(
      [patched.status, patched.body.properties.provisioningState],
      [201, "Updating"],
    );
    await arm.follow(patched);
    return (await arm.catalog()).subscriptions[0];
  };
  const before = await patch({ labels: ["l2"], filter: { subjectBeginsWith: "b" } });
  assert.deepEqual(before?.labels, ["l2"]);
  assert.deepEqual(before?.filter.advanced, [], "a filter is replaced as a whole");
  assert.equal(before?.headers.length, 3);
  assert.equal(before?.retryPolicy.maxDeliveryAttempts, 5);
  const moved = await patch({
    destination: { endpointType: "webhook", properties: { endpointUrl: "https://other.test/" } },
  });
  assert.equal(urlIn(moved), "https://other.test/");
  assert.equal(moved?.headers.length, 3, "az leaves them out and means no change");
  assert.equal(moved?.deadLetter?.container, "box");
  assert.equal((await patch({ deadLetterDestination: null }))?.deadLetter, null);
  const cleared = await patch({ expirationTimeUtc: null, labels: null });
  assert.deepEqual([cleared?.expiresAt, cleared?.labels], [null, []]);
  const bare = await patch({
    destination: { endpointType: "WebHook", properties: { deliveryAttributeMappings: [] } },
  });
  assert.deepEqual([bare?.headers, urlIn(bare)], [[], "https://other.test/"]);
});

test("PUT replaces everything it can read", async (t) => {
  const arm = await openOrders(t);
  await write(arm, webhookBody(everything));
  await write(arm, { properties: { destination: { endpointType: "WebHook", properties: {} } } });
  const record = (await arm.catalog()).subscriptions[0];
  assert.equal(urlIn(record), "https://hook.test/in?code=hush");
  assert.deepEqual([record?.headers, record?.labels, record?.batch], [[], [], null]);
  assert.equal(record?.deadLetter, null);
  assert.equal(record?.deliverySchema, "EventGridSchema");
});

test("the new terms wait for the endpoint, and the old ones go on", async (t) => {
  const arm = await openOrders(t);
  await write(arm, webhookBody());
  arm.react(answer(503));
  const change = webhookBody({ destination: { endpointUrl: "https://new.test/" } });
  const put = await arm.good("PUT", scoped, change);
  assert.equal(put.body.properties.destination.properties.endpointBaseUrl, "https://new.test/");
  const waiting = await arm.follow(put);
  assert.deepEqual([waiting.body.status, waiting.headers["retry-after"]], ["InProgress", "1"]);
  const between = (await arm.catalog()).subscriptions[0];
  assert.deepEqual([between?.isActive, between?.state], [true, "Updating"]);
  assert.equal(urlIn(between), "https://hook.test/in?code=hush");
  assert.equal((await arm.good("GET", scoped)).body.properties.provisioningState, "Updating");
  arm.react(agree);
  await arm.clock.advance({ to: "next" });
  assert.equal((await arm.follow(put)).body.status, "Succeeded");
  assert.equal(urlIn((await arm.catalog()).subscriptions[0]), "https://new.test/");
});

test("a failed update fails its operation and leaves the old terms in force", async (t) => {
  const arm = await openOrders(t);
  await write(arm, webhookBody());
  arm.react(answer(404));
  const put = await arm.good(
    "PUT",
    scoped,
    webhookBody({ destination: { endpointUrl: "https://no.test/?code=hush" } }),
  );
  await arm.clock.advance({ byMs: 600_000 });
  const { body } = await arm.follow(put);
  assert.equal(body.status, "Failed");
  assert.equal(body.error.code, "Url validation");
  assert.match(body.error.message, /handshake failed for https:\/\/no\.test\/\. .*404/);
  assert.doesNotMatch(body.error.message, /hush/);
  const shown = (await arm.good("GET", scoped)).body.properties;
  assert.equal(shown.provisioningState, "Succeeded");
  assert.equal(shown.destination.properties.endpointBaseUrl, "https://hook.test/in");
});

test("an endpoint that does not agree leaves a subscription that gets nothing", async (t) => {
  const arm = await openOrders(t);
  arm.react(answer(404));
  const made = await arm.good("PUT", scoped, webhookBody());
  await arm.clock.advance({ byMs: 600_000 });
  assert.equal((await arm.follow(made)).body.error.code, "Url validation");
  const [record] = (await arm.catalog()).subscriptions;
  assert.deepEqual([record?.isActive, record?.state], [false, "Failed"]);
  const { body } = await arm.good("GET", `${scoped}/handshake`);
  assert.equal(body.provisioningState, "Failed");
  assert.equal(body.handshake.exchanges[0].request, "POST https://hook.test/in");
  assert.ok(body.handshake.exchanges.length > 1);
  assert.doesNotMatch(JSON.stringify(body), /hush/);

  arm.react(agree);
  const again = await arm.good("POST", `${scoped}/validate`);
  assert.equal(again.status, 202);
  assert.equal((await arm.follow(again)).body.status, "Succeeded");
  assert.equal((await arm.good("GET", scoped)).body.properties.provisioningState, "Succeeded");
});

test("one that waits for a person has ended for pollers, and says so itself", async (t) => {
  const arm = await openOrders(t);
  arm.react(answer(200));
  const { body } = await write(arm, webhookBody());
  assert.equal(body.status, "Succeeded");
  const shown = (await arm.good("GET", scoped)).body.properties;
  assert.equal(shown.provisioningState, "AwaitingManualAction");
});

test("an operation that is not remembered is told by its subscription", async (t) => {
  const arm = await openOrders(t);
  arm.react(answer(404));
  const made = await arm.good("PUT", scoped, webhookBody());
  const address = (made.headers["azure-asyncoperation"] ?? "").replace(/ID-\d+/, "FORGOTTEN");
  assert.equal((await arm.good("GET", address)).body.status, "InProgress");
  await arm.clock.advance({ byMs: 600_000 });
  assert.equal((await arm.good("GET", address)).body.error.code, "Url validation");
  await arm.good("DELETE", scoped);
  const gone = (await arm.good("GET", address)).body;
  assert.deepEqual([gone.status, gone.name], ["Succeeded", "forgotten"]);
  const nameless = address.replace(/&resource=.*/, "");
  assert.equal((await arm.ask("GET", nameless)).status, 404);
});

test("an etag lets a write go on only from what was read", async (t) => {
  const arm = await openOrders(t);
  await write(arm, webhookBody());
  const { etag = "" } = (await arm.good("GET", scoped)).headers;
  const stale = { "if-match": '"0"' };
  for (const [method, body] of [
    ["PUT", webhookBody()],
    ["PATCH", { labels: [] }],
    ["DELETE", undefined],
  ] as const) {
    const refused = await arm.ask(method, scoped, body, stale);
    assert.deepEqual([refused.status, refused.body.error.code], [412, "PreconditionFailed"]);
  }
  assert.equal((await arm.ask("PUT", scoped, webhookBody(), { "if-none-match": "*" })).status, 412);
  assert.equal(
    (await arm.ask("PATCH", scoped, { labels: ["a"] }, { "if-match": etag })).status,
    201,
  );
});

test("bad members are refused by name, and nothing is written", async (t) => {
  const arm = await openOrders(t);
  const at = "properties.destination.properties";
  const sub = (properties: Json) => webhookBody({ properties });
  const hook = (destination: Json) => webhookBody({ destination });
  const headers = (...deliveryAttributeMappings: unknown[]) => hook({ deliveryAttributeMappings });
  const header = (name: string, value: unknown = "v") => ({
    name,
    type: "Static",
    properties: { value },
  });
  const attributes = `${at}.deliveryAttributeMappings`;
  const table: readonly (readonly [unknown, string, RegExp])[] = [
    [{}, "properties.destination", /must be an object, and is missing/],
    [{ propertys: {} }, "propertys", /did you mean properties\?/],
    [sub({ destinations: {} }), "properties.destinations", /did you mean destination\?/],
    [sub({ destination: null }), "properties.destination", /must be an object/],
    [
      sub({ destination: { endpointType: "EventHob", properties: {} } }),
      "properties.destination.endpointType",
      /must be WebHook, AzureFunction, .* or HybridConnection, and is "EventHob"/,
    ],
    [hook({ endpointUrl: "ftp://a" }), `${at}.endpointUrl`, /absolute http or https URL/],
    [hook({ endpointUrl: null }), `${at}.endpointUrl`, /absolute http or https URL/],
    [hook({ maxEventsPerBatch: 0 }), `${at}.maxEventsPerBatch`, /from 1 to 5000/],
    [
      JSON.stringify(hook({ maxEventsPerBatch: 7 })).replace("7", "1e999"),
      `${at}.maxEventsPerBatch`,
      /from 1 to 5000.* is the number Infinity/,
    ],
    [hook({ preferredBatchSizeInKilobytes: 2000 }), `${at}.preferredBatchSizeInKilobytes`, /1024/],
    [hook({ minimumTlsVersionAllowed: "1.3" }), `${at}.minimumTlsVersionAllowed`, /1\.2/],
    [
      hook({ azureActiveDirectoryTenantId: "t" }),
      `${at}.azureActiveDirectoryTenantId`,
      /is not available yet/,
    ],
    [headers("x"), `${attributes}[0]`, /must be an object/],
    [headers(...Array(11).fill(header("a"))), attributes, /a list of at most 10 headers/],
    [headers(header("a"), header("A")), `${attributes}[1].name`, /a name of its own/],
    [headers(header("a b")), `${attributes}[0].name`, /a header's name/],
    [headers(header("a\r\nb")), `${attributes}[0].name`, /a header's name/],
    [headers(header("aeg-mine")), `${attributes}[0].name`, /not the broker's own/],
    [headers(header("Content-Length")), `${attributes}[0].name`, /not the broker's own/],
    [headers(header("a", "x\r\ny: z")), `${attributes}[0].properties.value`, /printable ASCII/],
    [headers(header("a", "x".repeat(4097))), `${attributes}[0].properties.value`, /at most 4096/],
    [headers({ name: "a", type: "Other" }), `${attributes}[0].type`, /Static or Dynamic/],
    [
      headers({ name: "a", type: "Dynamic", properties: { sourceField: "" } }),
      `${attributes}[0].properties.sourceField`,
      /a path such as data\.key1/,
    ],
    [
      sub({ deadLetterDestination: {} }),
      "properties.deadLetterDestination.endpointType",
      /must be StorageBlob/,
    ],
    [
      sub({ deadLetterWithResourceIdentity: {} }),
      "properties.deadLetterWithResourceIdentity.identity",
      /must be an object, and is missing/,
    ],
    [
      sub({ deliveryWithResourceIdentity: {} }),
      "properties.deliveryWithResourceIdentity",
      /must be left out where destination is given, or the other way round/,
    ],
    [sub({ labels: [1] }), "properties.labels[0]", /a text of at most 256/],
    [sub({ expirationTimeUtc: "soon" }), "properties.expirationTimeUtc", /an ISO 8601 instant/],
    [sub({ expirationTimeUtc: 5 }), "properties.expirationTimeUtc", /an ISO 8601 instant/],
    [
      sub({ expirationTimeUtc: "2030-01-01T00:00:00Z" }),
      "properties.expirationTimeUtc",
      /^Invalid expiration time: .* must be in the future/,
    ],
    [
      sub({ eventDeliverySchema: "CustomInputSchema" }),
      "properties.eventDeliverySchema",
      /EventGridSchema or CloudEventSchemaV1_0, because the topic takes EventGridSchema/,
    ],
    [
      sub({ retryPolicy: { maxDeliveryAttempts: 31 } }),
      "properties.retryPolicy.maxDeliveryAttempts",
      /from 1 to 30/,
    ],
    [
      sub({ filter: { advancedFilters: [{ operatorType: "StringIn", key: "a", values: [1] }] } }),
      "properties.filter.advancedFilters[0].values[0]",
      /a text/,
    ],
  ];
  for (const [body, target, words] of table) {
    const { status, body: refused } = await arm.ask("PUT", scoped, body);
    assert.deepEqual([status, refused.error?.code], [400, "InvalidRequest"], JSON.stringify(body));
    assert.equal(refused.error.target, target);
    assert.match(refused.error.message, words);
    assert.doesNotMatch(refused.error.message, /hush/);
  }
  assert.deepEqual((await arm.catalog()).subscriptions, []);
  assert.deepEqual(arm.asked, []);
});

test("another base URL than the stored one is refused, because only a whole URL can change it", async (t) => {
  const arm = await openOrders(t);
  await write(arm, webhookBody());
  const refused = await arm.ask(
    "PUT",
    scoped,
    webhookBody({ destination: { endpointUrl: null, endpointBaseUrl: "https://evil.test/" } }),
  );
  assert.equal(refused.body.error.target, "properties.destination.properties.endpointBaseUrl");
});

test("a time without a zone is UTC, and one that has passed can be written back", async (t) => {
  const arm = await openOrders(t);
  await write(arm, webhookBody({ properties: { expirationTimeUtc: "2030-01-01T00:00:10" } }));
  const { body } = await arm.good("GET", scoped);
  assert.equal(body.properties.expirationTimeUtc, "2030-01-01T00:00:10.000Z");
  await arm.clock.advance({ byMs: 60_000 });
  assert.equal((await write(arm, body)).body.status, "Succeeded");
});

test("a subscription needs a topic of this broker and a proper name", async (t) => {
  const arm = await openOrders(t);
  const missing = await arm.ask("PUT", scoped.replace("orders", "returns"), webhookBody());
  assert.deepEqual([missing.status, missing.body.error.code], [404, "ResourceNotFound"]);
  for (const scope of [
    "/subscriptions/S",
    "/subscriptions/S/resourceGroups/rg1",
    "/subscriptions/S/resourceGroups/rg1/providers/Microsoft.Storage/storageAccounts/a",
  ]) {
    const path = `${scope}${provider}/eventSubscriptions/billing`;
    const refused = await arm.ask("PUT", path, webhookBody());
    assert.deepEqual([refused.status, refused.body.error.target], [400, "scope"]);
    assert.equal((await arm.ask("GET", path)).status, 404);
    assert.equal((await arm.ask("DELETE", path)).status, 204);
  }
  for (const name of ["a", "x".repeat(65), "a_b", "a.b"]) {
    const refused = await arm.ask("PUT", `${ordersPath}/eventSubscriptions/${name}`, webhookBody());
    assert.equal(refused.status, 400, name);
    assert.match(refused.body.error.message, /eventSubscriptionName must be 2 to 64 letters/);
  }
});

test("a storage account of this broker can be subscribed to by its resource id (L-5)", async (t) => {
  const arm = await openArm(t);
  const place = { ...localGroup, subscriptionId: "S", resourceGroup: "rg1" };
  const keys = { key1: "one", key2: "two", origin: "file" } as const;
  await arm.store.putTopic({ ...plainTopic, ...keys, kind: "storage", name: "letters", place });
  const id = `${group}/providers/Microsoft.Storage/storageAccounts/letters`;
  const path = `${id}${provider}/eventSubscriptions/watch`;
  await write(
    arm,
    webhookBody(),
    path.toUpperCase().replace("/S/", "/s/").replace("WATCH", "watch"),
  );
  const { body } = await arm.good("GET", path);
  assert.equal(body.id, path);
  assert.equal(body.properties.topic, id);
  assert.equal(body.type, "Microsoft.EventGrid/eventSubscriptions");
  assert.equal(body.properties.provisioningState, "Succeeded");
  const type = "topicTypes/Microsoft.Storage.StorageAccounts";
  for (const list of [`${id}${provider}`, `${group}${provider}`, `${group}${provider}/${type}`]) {
    const { value } = (await arm.good("GET", `${list}/eventSubscriptions`)).body;
    assert.deepEqual(value, [body], list);
  }
  assert.deepEqual((await arm.good("GET", `${group}${provider}/topics`)).body.value, []);
  assert.equal((await arm.ask("GET", `${group}${provider}/topics/letters`)).status, 404);
  assert.equal((await arm.ask("DELETE", path)).status, 204);
  assert.equal((await arm.catalog()).subscriptions.length, 0);
});

test("a storage account known by its name alone is a source in every group", async (t) => {
  const arm = await openArm(t);
  const keys = { key1: "one", key2: "two", origin: "file" } as const;
  await arm.store.putTopic({ ...plainTopic, ...keys, kind: "storage", name: "letters" });
  const inGroup = (name: string) =>
    `/subscriptions/S/resourceGroups/${name}/providers/Microsoft.Storage/storageAccounts/letters`;
  const path = `${inGroup("mine")}${provider}/eventSubscriptions/watch`;
  await write(arm, webhookBody(), path);
  const { body } = await arm.good("GET", path);
  assert.equal(body.id, path);
  assert.equal(body.properties.topic, inGroup("mine"));
  const listed = await arm.good("GET", `${inGroup("mine")}${provider}/eventSubscriptions`);
  assert.deepEqual(listed.body.value, [body]);
  const other = path.replace("/mine/", "/other/");
  assert.equal((await arm.good("GET", other)).body.id, other);
  assert.equal((await arm.ask("DELETE", other)).status, 204);
  assert.equal((await arm.ask("GET", path)).status, 404);
});

test("what the module's API was told of persistence stays when ARM writes the subscription", async (t) => {
  const arm = await openOrders(t);
  const path = `${ordersPath}/eventSubscriptions/billing`;
  await write(arm, webhookBody(), path);
  const [made] = (await arm.catalog()).subscriptions;
  assert.ok(made);
  const { id: _, revision, ...draft } = made;
  await arm.store.putSubscription({ ...draft, isPersisted: false }, revision);
  await write(arm, webhookBody({ properties: { labels: ["a"] } }), path);
  const [again] = (await arm.catalog()).subscriptions;
  assert.deepEqual([again?.isPersisted, again?.labels], [false, ["a"]]);
});

test("endpoint URLs and names of headers are kept letter by letter", async (t) => {
  const arm = await openOrders(t);
  const endpointUrl = "HTTPS://Hook.Test:443/a/../B%7e?Code=x";
  const mappings = [{ name: "X-Tenant", type: "Static", properties: { value: "a" } }];
  const properties = { endpointUrl, deliveryAttributeMappings: mappings };
  const path = `${ordersPath}/eventSubscriptions/billing`;
  const destination = { endpointType: "WebHook", properties };
  await write(arm, { properties: { destination } }, path);
  const shown = (await arm.good("GET", path)).body.properties.destination.properties;
  assert.equal(shown.endpointBaseUrl, "HTTPS://Hook.Test:443/a/../B%7e");
  assert.equal(shown.deliveryAttributeMappings[0].name, "X-Tenant");
  const full = await arm.good("POST", `${path}/getFullUrl`);
  assert.equal(full.body.endpointUrl, endpointUrl);
});

test("subscriptions are listed by topic, group, subscription, location and topic type", async (t) => {
  const arm = await openOrders(t);
  const rg1 = "/subscriptions/S/resourceGroups/rg1";
  const rg2 = "/subscriptions/S/resourceGroups/rg2";
  await arm.good("PUT", `${rg2}${provider}/domains/shop`, { location: "West Europe" });
  for (const path of [
    `${ordersPath}/eventSubscriptions/billing`,
    `${ordersPath}/eventSubscriptions/audit`,
    `${rg2}${provider}/domains/shop/eventSubscriptions/audit`,
    `${rg2}${provider}/domains/shop/topics/one/eventSubscriptions/audit`,
  ]) {
    await arm.good("PUT", path, webhookBody());
  }
  const list = async (path: string) => {
    const { value } = (await arm.good("GET", path)).body;
    return value.map((each: { id: string }) =>
      each.id.replace(/^.*?EventGrid\//, "").replace("/providers/Microsoft.EventGrid", ""),
    );
  };
  const orders = [
    "topics/orders/eventSubscriptions/audit",
    "topics/orders/eventSubscriptions/billing",
  ];
  const shop = [
    "domains/shop/eventSubscriptions/audit",
    "domains/shop/topics/one/eventSubscriptions/audit",
  ];
  const tail = `${provider}/eventSubscriptions`;
  const by = (place: string) => `${provider}/${place}/eventSubscriptions`;
  const table: readonly (readonly [string, readonly string[]])[] = [
    [`${ordersPath}${tail}`, orders],
    [
      `${ordersPath}${tail}?$filter=${encodeURIComponent("Contains(name, 'BILL')")}&$top=10`,
      orders.slice(1),
    ],
    [`/subscriptions/S${tail}`, [...orders, ...shop]],
    [`${rg1}${tail}`, orders],
    [`${rg2}${tail}`, shop],
    [`/subscriptions/S${by("locations/westeurope")}`, shop],
    [`/subscriptions/S${by("locations/local")}`, orders],
    [`${rg1}${by("locations/westeurope")}`, []],
    [`/subscriptions/S${by("topicTypes/Microsoft.EventGrid.Topics")}`, orders],
    [`${rg2}${by("topicTypes/Microsoft.EventGrid.Domains")}`, shop],
    [`/subscriptions/S${by("locations/local/topicTypes/Microsoft.EventGrid.Topics")}`, orders],
    [`${rg1}${by("locations/local/topicTypes/Microsoft.EventGrid.Domains")}`, []],
    [`${rg1}/providers/Microsoft.Storage/storageAccounts/a${tail}`, []],
  ];
  for (const [path, found] of table)
    assert.deepEqual((await list(path)).toSorted(), found.toSorted(), path);
  assert.equal((await arm.ask("GET", `${ordersPath}s${tail}`)).status, 404);
});

test("what a profile does not know is refused, naming the profile (P-5, P-6, P-9, P-11, P-12)", async (t) => {
  const arm = await openArm(t);
  const mapping = { name: "a", type: "Static", properties: { value: "v" } };
  const resourceId =
    "/subscriptions/s/resourceGroups/r/providers/Microsoft.Storage/storageAccounts";
  const deadLetterDestination = {
    endpointType: "StorageBlob",
    properties: { resourceId: `${resourceId}/letters`, blobContainerName: "box" },
  };
  const old = ["preview-2017", "ga-2018"];
  const properties = (retryPolicy: Json) => ({ properties: { retryPolicy } });
  const headers = { destination: { deliveryAttributeMappings: [mapping] } };
  const table: [readonly string[], object, string][] = [
    [old, properties({ maxDeliveryAttempts: 3 }), "retryPolicy.maxDeliveryAttempts"],
    [old, properties({ eventTimeToLiveInMinutes: 3 }), "retryPolicy.eventTimeToLiveInMinutes"],
    [old, { destination: { maxEventsPerBatch: 10 } }, "destination.properties.maxEventsPerBatch"],
    [[...old, "iot-edge"], { properties: { deadLetterDestination } }, "deadLetterDestination"],
    [
      [...old, "azure-2020", "iot-edge"],
      headers,
      "destination.properties.deliveryAttributeMappings",
    ],
  ];
  for (const [without, more, member] of table) {
    for (const profile of without) {
      await arm.good("PUT", ordersPath, { properties: { posthorn: { profile } } });
      const { status, body } = await arm.ask("PUT", scoped, webhookBody(more));
      const words = `must be left out: the profile ${profile} does not support`;
      assert.equal(status, 400);
      assert.ok(body.error.message.startsWith(`properties.${member} ${words}`));
      assert.equal(body.error.target, `properties.${member}`);
    }
  }
});

test("a setting that a profile does not know is refused with an identity around it, too (P-11)", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", ordersPath, { properties: { posthorn: { profile: "iot-edge" } } });
  await write(arm, webhookBody());
  const resourceId =
    "/subscriptions/s/resourceGroups/r/providers/Microsoft.Storage/storageAccounts";
  const { status, body } = await arm.ask("PATCH", scoped, {
    deadLetterWithResourceIdentity: {
      identity: { type: "SystemAssigned" },
      deadLetterDestination: {
        endpointType: "StorageBlob",
        properties: { resourceId: `${resourceId}/letters`, blobContainerName: "box" },
      },
    },
  });
  assert.equal(status, 400);
  assert.match(body.error.message, /the profile iot-edge does not support dead letters$/);
});

test("what Azure's clients write unasked is taken under every profile (P-5, P-6, P-9)", async (t) => {
  for (const profile of profileNames) {
    const arm = await openArm(t);
    await arm.good("PUT", ordersPath, { properties: { posthorn: { profile } } });
    const retryPolicy = { maxDeliveryAttempts: 30, eventTimeToLiveInMinutes: 1440 };
    const destination = { maxEventsPerBatch: 1, preferredBatchSizeInKilobytes: 64 };
    await write(arm, webhookBody({ properties: { retryPolicy }, destination }));
    // What was read may be written back.
    await write(arm, (await arm.good("GET", scoped)).body);
  }
});
