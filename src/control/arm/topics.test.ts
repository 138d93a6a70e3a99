import assert from "node:assert/strict";
import { test } from "node:test";
import {
  group,
  type Json,
  openArm,
  ordersPath,
  provider,
  webhookBody,
} from "../../../test/fixtures/arm.ts";
import { plainTopic } from "../../core/topic.ts";

const put = { location: "local" };

const tenant = { name: "tenant", type: "Static", properties: { value: "a" } };

test("a topic is made, shown as Event Grid shows it, and can be published to at once", async (t) => {
  const arm = await openArm(t);
  const made = await arm.ask("PUT", ordersPath, {
    location: "West US 2",
    tags: { team: "a" },
    sku: { name: "Basic" },
    identity: { type: "None" },
    kind: "Azure",
    properties: { inputSchema: "eventgridschema", publicNetworkAccess: "enabled" },
  });
  assert.equal(made.status, 201);
  assert.equal(made.body.properties.provisioningState, "Creating");
  const operation = await arm.follow(made);
  assert.equal(operation.body.status, "Succeeded");
  const shown = await arm.good("GET", ordersPath);
  assert.deepEqual(shown.body, {
    properties: {
      provisioningState: "Succeeded",
      endpoint: "https://broker.test:4438/topics/orders/api/events",
      inputSchema: "EventGridSchema",
      metricResourceId: "58a895b3-b80b-5de1-8771-9ba1d218fed6",
      publicNetworkAccess: "Enabled",
      disableLocalAuth: false,
      dataResidencyBoundary: "WithinGeopair",
    },
    sku: { name: "Basic" },
    identity: { type: "None", principalId: null, tenantId: null, userAssignedIdentities: null },
    kind: "Azure",
    systemData: null,
    location: "westus2",
    tags: { team: "a" },
    id: ordersPath,
    name: "orders",
    type: "Microsoft.EventGrid/topics",
  });
  const [topic] = (await arm.catalog()).topics;
  assert.equal(topic?.origin, "api");
});

test("what has no effect here is kept and shown as it was written, and PATCH changes it", async (t) => {
  const arm = await openArm(t);
  const eventTypeInfo = { kind: "inline", inlineEventTypes: { placed: { displayName: "P" } } };
  const user = "/subscriptions/s/resourceGroups/rg/providers/x/userAssignedIdentities/me";
  const paths = [ordersPath, ordersPath.replace("topics/orders", "domains/shop")];
  for (const path of paths) {
    await arm.good("PUT", path, {
      ...put,
      sku: { name: "premium" },
      identity: { type: "systemassigned,userassigned", userAssignedIdentities: { [user]: {} } },
      properties: {
        dataResidencyBoundary: "WithinRegion",
        minimumTlsVersionAllowed: "1.2",
        eventTypeInfo,
      },
    });
    const { body } = await arm.good("GET", path);
    assert.deepEqual(body.sku, { name: "Premium" });
    assert.equal(body.identity.type, "SystemAssigned, UserAssigned");
    const guid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
    assert.match(body.identity.principalId, guid);
    assert.match(body.identity.tenantId, guid);
    assert.match(body.identity.userAssignedIdentities[user].clientId, guid);
    assert.partialDeepStrictEqual(body.properties, {
      dataResidencyBoundary: "WithinRegion",
      minimumTlsVersionAllowed: "1.2",
      eventTypeInfo,
    });
    // A client that writes back what it has read changes nothing.
    await arm.good("PUT", path, body);
    assert.deepEqual((await arm.good("GET", path)).body, body);
    const change = { identity: { type: "None" }, properties: { minimumTlsVersionAllowed: "1.1" } };
    await arm.good("PATCH", path, change);
    const changed = (await arm.good("GET", path)).body;
    assert.equal(changed.identity.type, "None");
    assert.equal(changed.properties.minimumTlsVersionAllowed, "1.1");
    assert.deepEqual(changed.sku, { name: "Premium" });
    await arm.good("PUT", path, put);
    const plain = (await arm.good("GET", path)).body;
    assert.deepEqual([plain.sku.name, plain.properties.eventTypeInfo], ["Basic", undefined]);
    for (const [wrong, words] of [
      [{ sku: { name: "Gold" } }, /sku.name must be Basic or Premium/],
      [{ identity: { type: "Mine" } }, /identity.type must be None, SystemAssigned/],
      [
        { properties: { minimumTlsVersionAllowed: "1.9" } },
        /properties.minimumTls.* 1.0, 1.1 or 1/,
      ],
    ] as const) {
      const refused = await arm.ask("PUT", path, { ...put, ...wrong });
      assert.equal(refused.status, 400);
      assert.match(refused.body.error.message, words);
    }
  }
});

test("writing a topic again replaces what it has, and keeps keys and input schema", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", ordersPath, {
    ...put,
    tags: { a: "1" },
    properties: { inputSchema: "CloudEventSchemaV1_0", disableLocalAuth: true, port: 9001 },
  });
  const keys = (await arm.good("POST", `${ordersPath}/listKeys`)).body;
  const again = await arm.good("PUT", ordersPath.replace("orders", "ORDERS"), put);
  assert.equal(again.status, 201);
  assert.equal(again.body.properties.provisioningState, "Updating");
  assert.equal(again.body.name, "orders");
  const { properties, tags } = (await arm.good("GET", ordersPath)).body;
  assert.equal(tags, null);
  assert.equal(properties.disableLocalAuth, false);
  assert.equal(properties.inputSchema, "CloudEventSchemaV1_0");
  assert.deepEqual(properties.posthorn, { port: 9001 });
  assert.deepEqual((await arm.good("POST", `${ordersPath}/listKeys`)).body, keys);
});

test("what a client reads it can write back, and nothing changes", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", ordersPath, {
    ...put,
    properties: {
      inputSchema: "CustomEventSchema",
      inputSchemaMapping: {
        inputSchemaMappingType: "json",
        properties: {
          id: {},
          topic: { sourceField: null },
          eventType: { sourceField: "kind" },
          subject: { defaultValue: "none" },
          dataVersion: { sourceField: "v", defaultValue: "1" },
        },
      },
      inboundIpRules: [{ ipMask: "10.0.0.0/8", action: "allow" }, { ipMask: "::1" }],
      publicNetworkAccess: "Disabled",
      profile: "azure-2020",
    },
  });
  const { body } = await arm.good("GET", ordersPath);
  assert.deepEqual(body.properties.inputSchemaMapping, {
    inputSchemaMappingType: "Json",
    properties: {
      id: { sourceField: null },
      topic: { sourceField: null },
      eventTime: { sourceField: null },
      eventType: { sourceField: "kind", defaultValue: null },
      subject: { sourceField: null, defaultValue: "none" },
      dataVersion: { sourceField: "v", defaultValue: "1" },
    },
  });
  await arm.good("PUT", ordersPath, body);
  assert.deepEqual((await arm.good("GET", ordersPath)).body, body);
});

test("our own members of a topic travel under posthorn, and stay unless they are said", async (t) => {
  const arm = await openArm(t);
  const own = async () => (await arm.good("GET", ordersPath)).body.properties.posthorn;
  await arm.good("PUT", ordersPath, {
    properties: { posthorn: { profile: "ga-2018", port: 8080 } },
  });
  assert.deepEqual(await own(), { port: 8080, profile: "ga-2018" });
  await arm.good("PUT", ordersPath, put);
  assert.deepEqual(await own(), { port: 8080, profile: "ga-2018" });
  await arm.good("PATCH", ordersPath, { properties: { posthorn: { profile: "azure-latest" } } });
  assert.deepEqual(await own(), { port: 8080, profile: "azure-latest" });
  await arm.good("PATCH", ordersPath, { properties: { posthorn: { port: null } } });
  assert.deepEqual(await own(), { profile: "azure-latest" });
  await arm.good("PUT", ordersPath, { properties: { posthorn: null } });
  assert.equal(await own(), undefined);
  for (const [posthorn, words] of [
    [{ profile: "new" }, /^properties\.posthorn\.profile must be preview-2017/],
    [{ profiles: "azure" }, /no member "profiles" in properties\.posthorn; did you mean profile\?/],
    [7, /^properties\.posthorn must be an object/],
  ] as const) {
    const { status, body } = await arm.ask("PUT", ordersPath, { properties: { posthorn } });
    assert.equal(status, 400);
    assert.match(body.error.message, words);
  }
  const both = { profile: "azure", posthorn: { profile: "azure" } };
  const { body } = await arm.ask("PUT", ordersPath, { properties: both });
  assert.match(body.error.message, /^properties\.profile must be left out where/);
});

test("a profile that a subscription has outgrown is a conflict in words (P-5 to P-12)", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", ordersPath, put);
  const billing = `${ordersPath}/eventSubscriptions/billing`;
  const become = (profile: string | null) => ({ properties: { posthorn: { profile } } });
  const table: [Json, string, string][] = [
    [
      { properties: { retryPolicy: { maxDeliveryAttempts: 3 } } },
      "ga-2018",
      "retryPolicy.maxDeliveryAttempts, and the profile ga-2018 does not support a number of attempts",
    ],
    [
      { destination: { maxEventsPerBatch: 5 } },
      "preview-2017",
      "destination.properties.maxEventsPerBatch, and the profile preview-2017 does not support batches",
    ],
    [
      { destination: { deliveryAttributeMappings: [tenant] } },
      "azure-2020",
      "destination.properties.deliveryAttributeMappings, and the profile azure-2020 does not support",
    ],
  ];
  for (const [over, profile, words] of table) {
    await arm.follow(await arm.good("PUT", billing, webhookBody(over)));
    for (const method of ["PUT", "PATCH"]) {
      const { status, body } = await arm.ask(method, ordersPath, become(profile));
      assert.deepEqual([status, body.error.code], [409, "Conflict"]);
      const begin = `properties.posthorn.profile cannot become ${profile}`;
      const has = `${begin}: the event subscription 'billing' has ${words}`;
      assert.ok(body.error.message.startsWith(has), body.error.message);
    }
    await arm.good("PATCH", ordersPath, become("azure-latest"));
    await arm.good("PATCH", ordersPath, become(null));
  }
  await arm.follow(await arm.good("PUT", billing, webhookBody()));
  await arm.good("PATCH", ordersPath, become("preview-2017"));
});

test("PATCH changes what it names and nothing else", async (t) => {
  const arm = await openArm(t);
  assert.equal((await arm.ask("PATCH", ordersPath, { tags: {} })).status, 404);
  await arm.good("PUT", ordersPath, { ...put, tags: { a: "1" } });
  const patched = await arm.good("PATCH", ordersPath, {
    sku: { name: "Basic" },
    properties: { disableLocalAuth: true, inboundIpRules: [{ ipMask: "1.2.3.4" }] },
  });
  assert.equal(patched.status, 201);
  assert.equal(patched.body.properties.provisioningState, "Updating");
  assert.equal((await arm.follow(patched)).body.status, "Succeeded");
  const { body } = await arm.good("GET", ordersPath);
  assert.deepEqual(body.tags, { a: "1" });
  assert.equal(body.properties.disableLocalAuth, true);
  await arm.good("PATCH", ordersPath, { tags: { b: "2" } });
  const after = (await arm.good("GET", ordersPath)).body;
  assert.deepEqual(after.tags, { b: "2" });
  assert.deepEqual(after.properties, body.properties);
  const fixed = await arm.ask("PATCH", ordersPath, {
    properties: { inputSchema: "CloudEventSchemaV1_0" },
  });
  assert.equal(fixed.status, 400);
  assert.equal(fixed.body.error.target, "properties.inputSchema");
});

test("who looks in the wrong group is told the right one", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", ordersPath, put);
  const path = ordersPath.replace("/rg1/", "/posthorn/");
  const { status, body } = await arm.ask("GET", path);
  assert.equal(status, 404);
  assert.match(body.error.message, /'posthorn' was not found\. There is .*\/rg1\/.*orders\.$/);
  const made = await arm.ask("PUT", `${path}/eventSubscriptions/billing`, webhookBody());
  assert.match(made.body.error.message, /There is .*\/rg1\/.*orders\.$/);
  const other = await arm.ask("GET", path.replace("orders", "returns"));
  assert.match(other.body.error.message, /'posthorn' was not found\.$/);
});

test("a topic is removed with its subscriptions, and removing it again is no error", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", ordersPath, put);
  const made = await arm.good("PUT", `${ordersPath}/eventSubscriptions/billing`, webhookBody());
  await arm.follow(made);
  assert.deepEqual(await arm.ask("DELETE", ordersPath), { status: 204, headers: {}, body: null });
  assert.equal((await arm.ask("DELETE", ordersPath)).status, 204);
  const missing = await arm.ask("GET", ordersPath);
  assert.equal(missing.status, 404);
  assert.deepEqual(missing.body.error.code, "ResourceNotFound");
  assert.match(missing.body.error.message, /'Microsoft.EventGrid\/topics\/orders' under .* 'rg1'/);
  assert.deepEqual(await arm.catalog(), { topics: [], subscriptions: [] });
  await arm.clock.nextDueAt();
  assert.equal(arm.asked.length, 2, "the endpoint is asked once, and told of the end");
});

test("a key is renewed alone, and the other one stays", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", ordersPath, put);
  const before = (await arm.good("POST", `${ordersPath}/listKeys`)).body;
  assert.deepEqual(Object.keys(before), ["key1", "key2"]);
  const renewed = await arm.good("POST", `${ordersPath}/regenerateKey`, { keyName: "Key2" });
  assert.equal(renewed.status, 200);
  assert.equal(renewed.body.key1, before.key1);
  assert.notEqual(renewed.body.key2, before.key2);
  assert.deepEqual((await arm.good("POST", `${ordersPath}/listKeys`)).body, renewed.body);
  for (const body of [{}, { keyName: "key3" }, { keyName: 1 }]) {
    assert.equal((await arm.ask("POST", `${ordersPath}/regenerateKey`, body)).status, 400);
  }
  assert.equal((await arm.ask("POST", `${ordersPath}x/regenerateKey`, {})).status, 400);
  assert.equal((await arm.ask("POST", `${ordersPath}x/listKeys`)).status, 404);
});

test("keys may be brought along, and are never shown with the topic", async (t) => {
  const arm = await openArm(t);
  const listKeys = async () => (await arm.good("POST", `${ordersPath}/listKeys`)).body;
  const made = await arm.good("PUT", ordersPath, { ...put, properties: { key1: "old-key" } });
  const { key1, key2 } = await listKeys();
  assert.equal(key1, "old-key");
  assert.match(key2, /^key-/);
  const { body } = await arm.good("GET", ordersPath);
  assert.ok(!`${JSON.stringify([made.body, body])}`.includes("old-key"));
  await arm.good("PUT", ordersPath, { ...put, properties: { key2: "second-key" } });
  assert.deepEqual(await listKeys(), { key1: "old-key", key2: "second-key" });
  const refused = await arm.ask("PUT", ordersPath, { ...put, properties: { key1: "a b" } });
  assert.equal(refused.status, 400);
  assert.equal(refused.body.error.target, "properties.key1");
  assert.ok(!refused.body.error.message.includes("a b"));
  const patched = await arm.ask("PATCH", ordersPath, { properties: { key1: "x" } });
  assert.equal(patched.status, 400);
  assert.deepEqual(await listKeys(), { key1: "old-key", key2: "second-key" });
});

test("topics are listed by group and by subscription, filtered and in pages", async (t) => {
  const arm = await openArm(t);
  for (const name of ["one", "two", "three"]) {
    await arm.good("PUT", `${group}${provider}/topics/${name}`, put);
  }
  await arm.good("PUT", `/subscriptions/S/resourceGroups/rg2${provider}/topics/four`, put);
  await arm.good("PUT", `/subscriptions/T/resourceGroups/rg1${provider}/topics/five`, put);
  await arm.good("PUT", `${group}${provider}/domains/six`, put);
  const list = async (path: string) => {
    const { body } = await arm.good("GET", path);
    return [body.value.map((each: { name: string }) => each.name), body.nextLink];
  };
  const all = ["one", "three", "two"];
  assert.deepEqual(await list(`${group}${provider}/topics`), [all, undefined]);
  assert.deepEqual(await list(`${group.toUpperCase()}${provider}/topics`), [all, undefined]);
  const everywhere = `/subscriptions/s${provider}/topics`;
  assert.deepEqual(await list(everywhere), [["four", ...all], undefined]);
  const filtered = `${everywhere}?$filter=${encodeURIComponent("contains(name,'o')")}&$top=2`;
  const [first, nextLink] = await list(filtered);
  assert.deepEqual(first, ["four", "one"]);
  assert.match(nextLink, /^https:\/\/broker\.test:4438\/subscriptions\/s\/providers/);
  assert.deepEqual(await list(nextLink), [["two"], undefined]);
  assert.deepEqual(await list(`/subscriptions/other${provider}/topics`), [[], undefined]);
  const bad = await arm.ask("GET", `${everywhere}?$filter=x`);
  assert.deepEqual([bad.status, bad.body.error.target], [400, "$filter"]);
});

test("an etag lets a write go on only from what was read", async (t) => {
  const arm = await openArm(t);
  const absent = await arm.ask("PUT", ordersPath, put, { "if-match": "*" });
  assert.deepEqual([absent.status, absent.body.error.code], [412, "PreconditionFailed"]);
  const made = await arm.good("PUT", ordersPath, put, { "if-none-match": "*" });
  assert.equal((await arm.ask("PUT", ordersPath, put, { "if-none-match": "*" })).status, 412);
  const { etag = "" } = made.headers;
  assert.equal((await arm.good("GET", ordersPath)).headers.etag, etag);
  const next = await arm.good("PATCH", ordersPath, { tags: { a: "1" } }, { "if-match": etag });
  assert.notEqual(next.headers.etag, etag);
  for (const [method, body] of [
    ["PUT", put],
    ["PATCH", { tags: {} }],
    ["DELETE", undefined],
  ] as const) {
    assert.equal((await arm.ask(method, ordersPath, body, { "if-match": etag })).status, 412);
  }
  const anyOf = `"none", W/${next.headers.etag}`;
  assert.equal((await arm.ask("DELETE", ordersPath, undefined, { "if-match": anyOf })).status, 204);
});

test("two who create a name at once make one topic", async (t) => {
  const arm = await openArm(t);
  const both = await Promise.all([
    arm.ask("PUT", ordersPath, { ...put, tags: { by: "one" } }),
    arm.ask("PUT", ordersPath, { ...put, tags: { by: "two" } }),
  ]);
  assert.deepEqual(
    both.map(({ status }) => status),
    [201, 201],
  );
  const { topics } = await arm.catalog();
  assert.equal(topics.length, 1);
  assert.equal(topics[0]?.key1, "key-1");
});

test("a name belongs to one topic or domain of the broker", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", ordersPath, put);
  for (const path of [
    `/subscriptions/S/resourceGroups/other${provider}/topics/Orders`,
    `/subscriptions/other/resourceGroups/rg1${provider}/topics/orders`,
    `${group}${provider}/domains/orders`,
  ]) {
    const taken = await arm.ask("PUT", path, put);
    assert.deepEqual([taken.status, taken.body.error.code], [409, "Conflict"], path);
    assert.match(taken.body.error.message, /is taken by \/subscriptions\/S\/resourceGroups\/rg1/);
    assert.equal((await arm.ask("GET", path)).status, 404);
    assert.equal((await arm.ask("DELETE", path)).status, 204);
  }
  assert.equal((await arm.catalog()).topics.length, 1);
});

test("bad members of a topic are refused by name, and nothing is written", async (t) => {
  const arm = await openArm(t);
  const properties = (given: object) => ({ ...put, properties: given });
  const mapping = (given: object) => ({
    inputSchema: "CustomEventSchema",
    inputSchemaMapping: { inputSchemaMappingType: "Json", properties: given },
  });
  const whole = { eventType: { sourceField: "a" }, subject: { sourceField: "b" } };
  const at = "properties.inputSchemaMapping";
  const table: readonly (readonly [unknown, string | undefined, RegExp])[] = [
    [[], "the request", /must be an object, and is an array/],
    [{ locaton: "local" }, "locaton", /did you mean location\?/],
    [{ location: 3 }, "location", /must be a location such as/],
    [{ location: "a/b" }, "location", /must be a location such as/],
    [{ ...put, tags: [] }, "tags", /must be an object/],
    [{ ...put, tags: { a: 1 } }, "tags.a", /must be a text of at most 256/],
    ['{"tags":{"__proto__":"x"}}', "a name in tags", /not __proto__/],
    [{ ...put, properties: 1 }, "properties", /must be an object/],
    ['{"properties":{"__proto__":{}}}', "properties.__proto__", /there is no member/],
    [properties({ inputSchema: "Own" }), "properties.inputSchema", /EventGridSchema, CloudEv/],
    [properties({ inputSchema: ["x"] }), "properties.inputSchema", /EventGridSchema, CloudEv/],
    [properties({ disableLocalAuth: "yes" }), "properties.disableLocalAuth", /true or false/],
    [
      properties({ publicNetworkAccess: "SecuredByPerimeter" }),
      "properties.publicNetworkAccess",
      /Enabled or Disabled/,
    ],
    [properties({ inboundIpRules: {} }), "properties.inboundIpRules", /a list of at most 128/],
    [
      properties({ inboundIpRules: [{ ipMask: "1.2.3.4/33" }] }),
      "properties.inboundIpRules[0].ipMask",
      /must be an IP address/,
    ],
    [
      properties({ inboundIpRules: [{ ipMask: "::1", action: "Deny" }] }),
      "properties.inboundIpRules[0].action",
      /must be Allow/,
    ],
    [properties({ port: 70_000 }), "properties.port", /from 1 to 65535/],
    [properties({ profile: "new" }), "properties.profile", /must be preview-2017/],
    [properties({ autoCreateTopicWithFirstSubscription: true }), undefined, /there is no member/],
    [properties(mapping({ ...whole })), `${at}.properties.dataVersion`, /must have a sourceField/],
    [properties({ inputSchema: "CustomEventSchema" }), `${at}.properties.eventType`, /must have/],
    [
      properties({ ...mapping(whole), inputSchema: "EventGridSchema" }),
      at,
      /must be left out: events of EventGridSchema/,
    ],
    [
      properties({
        ...mapping({ subject: { defaultValue: "a" } }),
        inputSchema: "CloudEventSchemaV1_0",
      }),
      `${at}.properties.subject.defaultValue`,
      /must be left out/,
    ],
    [
      properties(mapping({ ...whole, id: { defaultValue: "1" } })),
      `${at}.properties.id.defaultValue`,
      /there is no member/,
    ],
    [properties(mapping({ other: {} })), `${at}.properties.other`, /there is no member/],
    [
      properties({
        inputSchema: "CustomEventSchema",
        inputSchemaMapping: { inputSchemaMappingType: "Xml", properties: {} },
      }),
      `${at}.inputSchemaMappingType`,
      /must be Json/,
    ],
  ];
  for (const [body, target, words] of table) {
    const refused = await arm.ask("PUT", ordersPath, body);
    const { error } = refused.body;
    assert.deepEqual([refused.status, error.code], [400, "InvalidRequest"], JSON.stringify(body));
    if (target !== undefined) assert.equal(error.target, target);
    assert.match(error.message, words);
  }
  assert.deepEqual((await arm.catalog()).topics, []);
});

test("bad names are refused with the rule", async (t) => {
  const arm = await openArm(t);
  const path = (name: string) => `${group}${provider}/topics/${encodeURIComponent(name)}`;
  for (const name of ["a", "x".repeat(51), "a_b", "a b", "é".repeat(5), "a.b.c"]) {
    const refused = await arm.ask("PUT", path(name), put);
    assert.equal(refused.status, 400, name);
    assert.match(refused.body.error.message, /topicName must be 2 to 50 letters/);
  }
  for (const name of ["microsoft-a", "EventGridX", "SYSTEM"]) {
    const refused = await arm.ask("PUT", path(name), put);
    assert.match(refused.body.error.message, /does not begin with Microsoft, EventGrid or System/);
  }
  for (const place of [
    "/subscriptions/S/resourceGroups/a%3Fb",
    "/subscriptions/a%20b/resourceGroups/r",
  ]) {
    assert.equal((await arm.ask("PUT", `${place}${provider}/topics/fine`, put)).status, 400);
  }
});

test("a topic does not move, and its schema changes only while nobody would be cut off", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", ordersPath, put);
  const moved = await arm.ask("PUT", ordersPath, { location: "elsewhere" });
  assert.deepEqual([moved.status, moved.body.error.target], [409, "location"]);
  await arm.good("PUT", `${ordersPath}/eventSubscriptions/billing`, webhookBody());
  const cloud = { ...put, properties: { inputSchema: "CloudEventSchemaV1_0" } };
  const refused = await arm.ask("PUT", ordersPath, cloud);
  assert.deepEqual([refused.status, refused.body.error.target], [409, "properties.inputSchema"]);
  await arm.good("DELETE", `${ordersPath}/eventSubscriptions/billing`);
  await arm.good("PUT", ordersPath, cloud);
});

test("a port belongs to one topic", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", ordersPath, { ...put, properties: { port: 9001 } });
  await arm.good("PUT", ordersPath, { ...put, properties: { port: 9001 } });
  const other = `${group}${provider}/topics/returns`;
  const refused = await arm.ask("PUT", other, { ...put, properties: { port: 9001 } });
  assert.deepEqual([refused.status, refused.body.error.target], [409, "properties.port"]);
  await arm.good("PUT", ordersPath, { ...put, properties: { port: null } });
  await arm.good("PUT", other, { ...put, properties: { port: 9001 } });
});

test("what a file declared and a client changes is the client's from then on", async (t) => {
  const arm = await openArm(t);
  const declared = { ...plainTopic, name: "orders", key1: "a", key2: "b", origin: "file" } as const;
  await arm.store.putTopic(declared);
  const local = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn";
  const path = `${local}${provider}/topics/orders`;
  assert.equal((await arm.good("GET", path)).body.location, "local");
  await arm.good("PATCH", path, { tags: { mine: "yes" } });
  const [topic] = (await arm.catalog()).topics;
  assert.deepEqual([topic?.origin, topic?.key1], ["api", "a"]);
});
