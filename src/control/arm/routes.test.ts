import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { group, openArm, ordersPath, provider, webhookBody } from "../../../test/fixtures/arm.ts";
import { Refusal, type RefusalCode } from "../../core/refusal.ts";
import { replyToRefusal } from "./reply.ts";

test("clients find the subscription, its locations and its groups", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", ordersPath, { location: "westus2" });
  const value = async (path: string) => (await arm.good("GET", path)).body.value;
  const names = async (path: string, member: string) =>
    (await value(path)).map((each: Record<string, string>) => each[member]);
  assert.deepEqual(await names("/subscriptions", "subscriptionId"), [
    "00000000-0000-0000-0000-000000000000",
    "S",
  ]);
  const one = (await arm.good("GET", "/subscriptions/S")).body;
  assert.deepEqual([one.id, one.state], ["/subscriptions/S", "Enabled"]);
  assert.deepEqual(await names("/subscriptions/S/locations", "name"), ["local", "westus2"]);
  assert.deepEqual(await names("/subscriptions/S/resourcegroups", "name"), ["rg1"]);
  const local = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups";
  assert.deepEqual(await names(local, "name"), ["posthorn"]);
  const made = await arm.good("PUT", "/subscriptions/S/resourcegroups/new", { location: "local" });
  assert.equal(made.status, 201);
  assert.equal(made.body.id, "/subscriptions/S/resourceGroups/new");
  assert.equal(made.body.properties.provisioningState, "Succeeded");
  assert.equal((await arm.good("GET", "/subscriptions/S/resourceGroups/new")).body.name, "new");
  assert.equal((await arm.good("HEAD", "/subscriptions/S/resourceGroups/new")).status, 204);
});

const rg = (name: string) => `/subscriptions/S/resourceGroups/${name}`;

test("a group keeps its location and tags, and is there when it was made or something is in it", async (t) => {
  const arm = await openArm(t);
  assert.equal((await arm.ask("HEAD", rg("new"))).status, 404);
  assert.equal((await arm.ask("GET", rg("new"))).status, 404);
  const tags = { team: "a" };
  await arm.good("PUT", rg("new"), { location: "West Europe", tags });
  const shown = (await arm.good("GET", rg("NEW"))).body;
  assert.partialDeepStrictEqual(shown, { name: "new", location: "westeurope", tags });
  assert.equal((await arm.good("PUT", rg("new"), { location: "westeurope" })).status, 200);
  assert.equal((await arm.ask("PUT", rg("new"), { location: "local" })).status, 409);
  await arm.good("PATCH", rg("new"), { tags: { team: "b" } });
  assert.deepEqual((await arm.good("GET", rg("new"))).body.tags, { team: "b" });
  await arm.good("PUT", ordersPath, { location: "westus2" });
  assert.equal((await arm.good("GET", group)).body.location, "westus2");
  assert.equal((await arm.good("HEAD", group)).status, 204);
});

test("a group goes with everything in it, and what is elsewhere stays", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", ordersPath, {});
  await arm.good("PUT", `${rg("rg1")}${provider}/domains/shop`, {});
  await arm.good("PUT", `${rg("rg2")}${provider}/topics/other`, {});
  await arm.follow(await arm.good("PUT", `${ordersPath}/eventSubscriptions/es`, webhookBody()));
  assert.equal((await arm.ask("DELETE", rg("RG1"))).status, 200);
  const { topics, subscriptions } = await arm.catalog();
  assert.deepEqual([topics.map(({ name }) => name), subscriptions], [["other"], []]);
  assert.equal((await arm.ask("HEAD", rg("rg1"))).status, 404);
  assert.equal((await arm.ask("DELETE", rg("rg1"))).status, 404);
});

test("resources are listed in short, by group, type, name and tag, in pages", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", ordersPath, { location: "local", tags: { team: "a" } });
  await arm.good("PUT", `${rg("rg1")}${provider}/domains/shop`, { location: "westus2" });
  await arm.good("PUT", `${rg("rg2")}${provider}/topics/other`, {});
  const list = async (path: string) =>
    (await arm.good("GET", path)).body.value.map((each: { name: string }) => each.name);
  const all = "/subscriptions/S/resources";
  assert.deepEqual(await list(all), ["shop", "orders", "other"]);
  assert.deepEqual(await list(`${rg("rg2")}/resources`), ["other"]);
  for (const [filter, names] of [
    ["resourceGroup eq 'RG1'", ["shop", "orders"]],
    ["resourceType eq 'Microsoft.EventGrid/domains'", ["shop"]],
    ["name eq 'orders' and location eq 'local'", ["orders"]],
    ["tagName eq 'team' and tagValue eq 'a'", ["orders"]],
  ] as const) {
    assert.deepEqual(await list(`${all}?$filter=${encodeURIComponent(filter)}`), names, filter);
  }
  const first = await arm.good("GET", `${all}?$top=1&$filter=resourceGroup eq 'rg1'`);
  assert.equal(first.body.value[0].name, "shop");
  const next = new URL(first.body.nextLink);
  assert.deepEqual(await list(`${next.pathname}${next.search}`), ["orders"]);
  const wrong = await arm.ask("GET", `${all}?$filter=substringof('a', name)`);
  assert.equal(wrong.status, 400);
  const [one] = (await arm.good("GET", all)).body.value;
  assert.partialDeepStrictEqual(one, {
    type: "Microsoft.EventGrid/domains",
    sku: { name: "Basic" },
  });
});

test("tags are a resource of their own, of topics, domains and groups", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", ordersPath, { location: "local", tags: { a: "1" } });
  for (const scope of [ordersPath, group]) {
    const path = `${scope}/providers/Microsoft.Resources/tags/default`;
    const tags = async () => (await arm.good("GET", path)).body.properties.tags;
    await arm.good("PUT", path, { properties: { tags: { a: "1", b: "2" } } });
    await arm.good("PATCH", path, { operation: "Merge", properties: { tags: { c: "3" } } });
    assert.deepEqual(await tags(), { a: "1", b: "2", c: "3" });
    await arm.good("PATCH", path, { operation: "Delete", properties: { tags: { a: "1" } } });
    assert.deepEqual((await arm.good("GET", scope)).body.tags, { b: "2", c: "3" });
    const names = (await arm.good("GET", "/subscriptions/S/tagNames")).body.value;
    assert.ok(names.some((each: { tagName: string }) => each.tagName === "c"));
    assert.equal((await arm.ask("DELETE", path)).status, 200);
    assert.deepEqual(await tags(), {});
    assert.equal((await arm.ask("PATCH", path, { operation: "Add" })).status, 400);
  }
  const none = "/providers/Microsoft.Resources/tags/default";
  assert.equal((await arm.ask("GET", `${rg("none")}${none}`)).status, 404);
});

test("what Azure has and we do not is refused by its name, with a link, and listed as empty", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", ordersPath, {});
  const kinds = [
    [`${group}${provider}/systemTopics`, "system topics"],
    [`/subscriptions/S${provider}/partnerTopics`, "partner topics"],
    [`${ordersPath}/privateEndpointConnections`, "private endpoints"],
    ["/subscriptions/S/providers/Microsoft.Authorization/locks", "locks"],
    ["/subscriptions/S/providers/Microsoft.Authorization/roleAssignments", "roles"],
  ] as const;
  for (const [path, what] of kinds) {
    assert.deepEqual((await arm.good("GET", path)).body, { value: [] });
    for (const [method, expected] of [
      ["GET", 404],
      ["PUT", 400],
      ["PATCH", 400],
    ] as const) {
      const { status, body } = await arm.ask(method, `${path}/one`, {});
      assert.equal(status, expected, `${method} ${path}`);
      assert.ok(body.error.message.startsWith(`Posthorn has no ${what}; what there is: https://`));
    }
    assert.equal((await arm.ask("DELETE", `${path}/one`)).status, 204);
  }
  const long = `${group}/providers/Microsoft.Insights/${"x".repeat(80)}/metrics`;
  assert.match((await arm.ask("GET", long)).body.error.message, /\/metrics" in this broker\.$/);
});

test("the provider tells what it has, and registering it changes nothing", async (t) => {
  const arm = await openArm(t);
  const { body } = await arm.good("GET", `/subscriptions/S${provider}`);
  assert.deepEqual([body.namespace, body.registrationState], ["Microsoft.EventGrid", "Registered"]);
  const topics = body.resourceTypes.find(
    (each: { resourceType: string }) => each.resourceType === "topics",
  );
  assert.ok(topics.apiVersions.includes("2022-06-15"));
  const registered = await arm.good("POST", `/subscriptions/S${provider}/register`);
  assert.deepEqual(registered.body, body);
  assert.equal((await arm.good("GET", "/subscriptions/S/providers")).body.value.length, 1);
  const other = await arm.ask("GET", "/subscriptions/S/providers/Microsoft.Storage");
  assert.equal(other.status, 404);
});

test("topic types, operations, event types and extension topics are told", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", ordersPath, {});
  const types = (await arm.good("GET", `${provider}/topicTypes`)).body.value;
  assert.deepEqual(
    types.map((each: { name: string }) => each.name),
    ["Microsoft.EventGrid.Topics", "Microsoft.EventGrid.Domains"],
  );
  const path = `${provider}/topicTypes/microsoft.eventgrid.topics`;
  assert.deepEqual((await arm.good("GET", path)).body, types[0]);
  assert.deepEqual((await arm.good("GET", `${path}/eventTypes`)).body, { value: [] });
  assert.equal((await arm.ask("GET", `${provider}/topicTypes/other`)).status, 404);
  const operations = (await arm.good("GET", `${provider}/operations`)).body.value;
  assert.ok(operations.some((each: { name: string }) => /topics\/write$/.test(each.name)));
  const eventTypes = await arm.good("GET", `${ordersPath}${provider}/eventTypes`);
  assert.deepEqual(eventTypes.body, { value: [] });
  const extension = `${ordersPath}${provider}/extensionTopics/default`;
  const { id, name } = (await arm.good("GET", extension)).body;
  assert.deepEqual([id, name], [extension, "default"]);
  assert.equal((await arm.ask("GET", extension.replace("orders", "other"))).status, 404);
  assert.equal((await arm.ask("GET", `${group}${provider}/extensionTopics/default`)).status, 404);
});

test("what is not there is a 404, and a method that is not there a 405 with those that are", async (t) => {
  const arm = await openArm(t);
  for (const path of [
    "/subscriptions/S/nothing",
    `${group}${provider}/namespaces/a`,
    `${group}${provider}/systemTopics/a/eventSubscriptions/b`,
  ]) {
    const { status, body } = await arm.ask("GET", path);
    assert.deepEqual([status, body.error.code], [404, "ResourceNotFound"], path);
  }
  const posted = await arm.ask("POST", ordersPath);
  assert.deepEqual([posted.status, posted.headers.allow], [405, "GET, PUT, PATCH, DELETE"]);
  assert.equal(posted.body.error.code, "MethodNotAllowed");
  assert.equal((await arm.ask("GET", `${ordersPath}/listKeys`)).status, 405);
});

test("any version that looks like one will do, and none will do, too", async (t) => {
  const arm = await openArm(t);
  for (const version of ["2018-01-01", "2025-07-15-preview"]) {
    await arm.good("GET", `/subscriptions?api-version=${version}`);
  }
  for (const version of ["latest", "2022-06", "", "2022-06-15%0D%0Ax: y"]) {
    const { status, body } = await arm.ask("GET", `/subscriptions?api-version=${version}`);
    assert.deepEqual([status, body.error.code], [400, "InvalidApiVersionParameter"], version);
  }
});

test("a body that two readers could understand differently is refused", async (t) => {
  const arm = await openArm(t);
  const table: readonly (readonly [string | Uint8Array, RegExp])[] = [
    ["{", /not valid JSON/],
    ["nothing", /not valid JSON/],
    ['{"location":"a","location":"b"}', /has the member "location" twice/],
    ['{"tags":{"a":"1","b":[{"c":1}],"\\u0061":"2"}}', /has the member "a" twice/],
    [`${'{"tags":'.repeat(40)}1${"}".repeat(40)}`, /nested deeper than 32/],
    ["[".repeat(500_000), /nested deeper than 32/],
  ];
  for (const [text, words] of table) {
    const { status, body } = await arm.ask("PUT", ordersPath, text);
    assert.deepEqual([status, body.error.code], [400, "InvalidRequestContent"]);
    assert.match(body.error.message, words);
  }
  await arm.good("PUT", ordersPath, '\uFEFF{"tags":{"a":"{\\"b\\":1}","b":"a"}} ');
  const large = await arm.ask("PUT", ordersPath, JSON.stringify({ tags: "x".repeat(2_000_000) }));
  assert.deepEqual([large.status, large.body.error.code], [413, "RequestEntityTooLarge"]);
});

/** Bodies that are right but for one place, where anything may stand. */
function almost(body: unknown): fc.Arbitrary<unknown> {
  const odd = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(
      "__proto__",
      "",
      "\u0000",
      "\r\nx: y",
      1e300,
      -1,
      [],
      {},
      null,
      "é".repeat(999),
    ),
  );
  if (typeof body !== "object" || body === null) return odd;
  const entries = Object.entries(body);
  if (entries.length === 0) return odd;
  const inside = fc
    .constantFrom(...entries)
    .chain(([name, value]) =>
      almost(value).map((changed) =>
        Array.isArray(body) ? [changed] : { ...body, [name]: changed },
      ),
    );
  const more = fc
    .tuple(fc.string(), fc.jsonValue())
    .map(([name, value]) => (Array.isArray(body) ? [...body, value] : { ...body, [name]: value }));
  return fc.oneof({ weight: 6, arbitrary: inside }, { weight: 1, arbitrary: more }, odd);
}

const wholeTopic = {
  location: "local",
  tags: { a: "b" },
  properties: {
    inputSchema: "CustomEventSchema",
    inputSchemaMapping: {
      inputSchemaMappingType: "Json",
      properties: {
        eventType: { sourceField: "a" },
        subject: { defaultValue: "b" },
        dataVersion: { sourceField: "c", defaultValue: "d" },
      },
    },
    inboundIpRules: [{ ipMask: "10.0.0.0/8", action: "Allow" }],
    publicNetworkAccess: "Enabled",
    disableLocalAuth: false,
    port: 9001,
  },
};

const wholeSubscription = webhookBody({
  destination: {
    maxEventsPerBatch: 2,
    deliveryAttributeMappings: [
      { name: "a", type: "Static", properties: { value: "v", isSecret: true } },
      { name: "b", type: "Dynamic", properties: { sourceField: "data.x" } },
    ],
  },
  properties: {
    filter: { advancedFilters: [{ operatorType: "NumberInRange", key: "a", values: [[1, 2]] }] },
    labels: ["a"],
    expirationTimeUtc: "2031-01-01T00:00:00Z",
    eventDeliverySchema: "EventGridSchema",
    retryPolicy: { maxDeliveryAttempts: 3 },
  },
});

test("whatever stands in a body is taken or refused, and what is taken can be read", async (t) => {
  const arm = await openArm(t);
  const path = `${ordersPath}/eventSubscriptions/billing`;
  await fc.assert(
    fc.asyncProperty(almost(wholeTopic), almost(wholeSubscription), async (topic, given) => {
      for (const method of ["PUT", "PATCH"]) {
        const written = await arm.ask(method, ordersPath, topic);
        assert.ok([201, 400, 404, 409].includes(written.status), String(written.status));
      }
      await arm.ask("PUT", ordersPath, { location: "local" });
      for (const method of ["PUT", "PATCH"]) {
        const written = await arm.ask(method, path, given);
        assert.ok([201, 400, 404].includes(written.status), String(written.status));
        if (written.status === 400) assert.ok(written.body.error.message.length > 10);
      }
      const { status, body } = await arm.ask("GET", path);
      if (status === 200) assert.equal((await arm.ask("PUT", path, body)).status, 201);
      await arm.good("DELETE", ordersPath);
    }),
    { numRuns: 300 },
  );
});

test("the address of an operation is the one by which the client called", async (t) => {
  const arm = await openArm(t);
  const made = await arm.good("PUT", `${ordersPath}?api-version=2025-02-15`, {});
  const address = made.headers["azure-asyncoperation"] ?? "";
  const place = "https://broker.test:4438/subscriptions/S/providers/Microsoft.EventGrid";
  assert.ok(address.startsWith(`${place}/locations/local/operationsStatus/`), address);
  assert.match(address, /[?&]api-version=2025-02-15(&|$)/);
  await arm.good("PUT", `${ordersPath}/eventSubscriptions/billing`, webhookBody());
  const facts = arm.facts.map(({ name }) => name);
  assert.ok(facts.includes("topic.changed") && facts.includes("subscription.changed"));
});

test("each refusal has a status and a code of Azure Resource Manager", () => {
  const table: readonly (readonly [RefusalCode, number, string])[] = [
    ["InputJsonInvalid", 400, "InvalidRequestContent"],
    ["InvalidSetting", 400, "InvalidRequest"],
    ["InvalidApiVersion", 400, "InvalidApiVersionParameter"],
    ["Unauthorized", 401, "AuthenticationFailed"],
    ["Forbidden", 403, "AuthorizationFailed"],
    ["NotFound", 404, "ResourceNotFound"],
    ["MethodNotAllowed", 405, "MethodNotAllowed"],
    ["Conflict", 409, "Conflict"],
    ["PreconditionFailed", 412, "PreconditionFailed"],
    ["PayloadTooLarge", 413, "RequestEntityTooLarge"],
    ["InvalidContentType", 415, "UnsupportedMediaType"],
    ["TooManyRequests", 429, "TooManyRequests"],
    ["Unavailable", 503, "ServiceUnavailable"],
  ];
  for (const [code, status, name] of table) {
    const reply = replyToRefusal(new Refusal(code, "why", { target: "a.b" }));
    assert.equal(reply.status, status);
    assert.deepEqual(JSON.parse(reply.body ?? ""), {
      error: {
        code: name,
        message: "why",
        target: "a.b",
        details: [],
      },
    });
    const mayRetry = status === 429 || status === 503;
    assert.equal(reply.headers?.["retry-after"], mayRetry ? "1" : undefined);
  }
});
