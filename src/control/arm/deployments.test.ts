import assert from "node:assert/strict";
import { test } from "node:test";
import { type Arm, group, type Json, openArm, provider } from "../../../test/fixtures/arm.ts";
import { deltaOf } from "./deployments.ts";

const path = `${group}/providers/Microsoft.Resources/deployments/main`;

/** As Bicep compiles a topic, a domain and their subscriptions. */
const template = {
  $schema: "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
  contentVersion: "1.0.0.0",
  parameters: {
    name: { type: "string", defaultValue: "orders" },
    hook: { type: "securestring" },
    attempts: { type: "int", defaultValue: 5 },
  },
  resources: [
    {
      type: "Microsoft.EventGrid/eventSubscriptions",
      apiVersion: "2022-06-15",
      scope: "[format('Microsoft.EventGrid/topics/{0}', parameters('name'))]",
      name: "billing",
      dependsOn: ["[resourceId('Microsoft.EventGrid/topics', parameters('name'))]"],
      properties: {
        destination: {
          endpointType: "WebHook",
          properties: { endpointUrl: "[parameters('hook')]" },
        },
        retryPolicy: { maxDeliveryAttempts: "[parameters('attempts')]" },
      },
    },
    {
      type: "Microsoft.EventGrid/topics",
      apiVersion: "2022-06-15",
      name: "[parameters('name')]",
      location: "[resourceGroup().location]",
      identity: { type: "SystemAssigned" },
    },
    {
      type: "Microsoft.EventGrid/domains",
      apiVersion: "2022-06-15",
      name: "shop",
      location: "[resourceGroup().location]",
      resources: [{ type: "topics", apiVersion: "2022-06-15", name: "europe" }],
    },
  ],
  outputs: {
    endpoint: {
      type: "string",
      value: "[reference(resourceId('Microsoft.EventGrid/topics', parameters('name'))).endpoint]",
    },
    key: {
      type: "string",
      value:
        "[listKeys(resourceId('Microsoft.EventGrid/topics', parameters('name')), '2022-06-15').key1]",
    },
  },
};

const parameters = { hook: { value: "https://hook.test/?code=hush" } };
const bodyOf = (properties: Json = {}) => ({
  properties: { template, parameters, mode: "Incremental", ...properties },
});

async function openGroup(t: Parameters<typeof openArm>[0]): Promise<Arm> {
  const arm = await openArm(t);
  await arm.good("PUT", group, { location: "westus2" });
  return arm;
}

async function deploy(arm: Arm, body: Json, at = path) {
  const begun = await arm.good("PUT", at, body);
  assert.equal(begun.body.properties.provisioningState, "Running");
  return (await arm.follow(begun)).body;
}

test("a template is validated, compared, deployed and shown with its outputs", async (t) => {
  const arm = await openGroup(t);
  const validated = await arm.good("POST", `${path}/validate`, bodyOf());
  assert.equal(validated.body.properties.provisioningState, "Succeeded");
  assert.equal(validated.body.properties.validatedResources.length, 4);
  const before = (await arm.good("POST", `${path}/whatIf`, bodyOf())).body.properties.changes;
  assert.ok(before.every((each: Json) => each.changeType === "Create"));
  assert.deepEqual((await arm.catalog()).topics, [], "nothing was written so far");
  assert.deepEqual(await deploy(arm, bodyOf()), { status: "Succeeded" });
  const { body } = await arm.good("GET", path);
  assert.equal(body.properties.provisioningState, "Succeeded");
  const { topics, subscriptions } = await arm.catalog();
  const orders = topics.find(({ name }) => name === "orders");
  assert.deepEqual(body.properties.outputs, {
    endpoint: { type: "string", value: "https://broker.test:4438/topics/orders/api/events" },
    key: { type: "string", value: orders?.key1 },
  });
  assert.equal(orders?.place.location, "westus2");
  assert.equal(orders?.azure?.identity?.type, "SystemAssigned");
  assert.deepEqual(topics.find(({ name }) => name === "shop")?.domain?.topics, ["europe"]);
  assert.equal(subscriptions[0]?.retryPolicy.maxDeliveryAttempts, 5);
  assert.ok(!JSON.stringify(body).includes("hush"), "secrets are not shown");
  const listed = (await arm.good("GET", path.replace("/main", ""))).body.value;
  assert.deepEqual(listed, [body]);
  const operations = (await arm.good("GET", `${path}/operations`)).body.value;
  assert.equal(operations.length, 4);
  assert.equal((await arm.ask("HEAD", path)).status, 204);
  assert.equal((await arm.ask("DELETE", path)).status, 204);
  assert.equal((await arm.ask("HEAD", path)).status, 404);
});

test("a secret given in another spelling, or of a type that is none, is not shown", async (t) => {
  const arm = await openGroup(t);
  const odd = { ...template.parameters, odd: { type: { toString: 1 } }, own: { $ref: "#/x" } };
  const given = { HOOK: parameters.hook, odd: { value: "hush" }, own: { value: "hush" } };
  const properties = { template: { ...template, parameters: odd }, parameters: given };
  assert.deepEqual(await deploy(arm, bodyOf(properties)), { status: "Succeeded" });
  const { body } = await arm.good("GET", path);
  assert.deepEqual(Object.keys(body.properties.parameters), ["HOOK", "odd", "own"]);
  assert.ok(!JSON.stringify(body).includes("hush"));
});

test("values of any type where a template has a text are refused, and are no fault of ours", async (t) => {
  const arm = await openGroup(t);
  const object = 'json(\'{"toString":1,"valueOf":1}\')';
  const topic = (more: Json) => ({ type: "Microsoft.EventGrid/topics", name: "orders", ...more });
  const nested = (properties: Json) => ({
    ...{ type: "Microsoft.Resources/deployments", name: "inner" },
    properties: { template: { resources: [] }, ...properties },
  });
  const value = (text: string) => ({ resources: [topic({ properties: { x: `[${text}]` } })] });
  const table: readonly (readonly [Json, status: number])[] = [
    [{ resources: [topic({ properties: { [`[${object}]`]: 1 } })] }, 400],
    [{ resources: [{ type: "Microsoft.Web/sites", name: { toString: 1 } }] }, 400],
    [{ resources: [nested({ expressionEvaluationOptions: { scope: { toString: 1 } } })] }, 201],
    [{ resources: [], outputs: { out: { type: { toString: 1 }, value: 1 } } }, 200],
    [value(`int(${object})`), 400],
    [value(`reference(${object})`), 400],
    [value(`reference('x', 'y', ${object})`), 400],
    [value("uriComponent(json('\"\\ud800\"'))"), 400],
    [
      value(
        "replace(padLeft('', 10000, 'a'), 'a', replace(padLeft('', 900, 'a'), 'a', padLeft('', 1000, 'a')))",
      ),
      400,
    ],
    [
      {
        parameters: { name: { type: "string", allowedValues: [{ toString: 1 }] } },
        ...value("parameters('name')"),
      },
      400,
    ],
  ];
  for (const [given, wanted] of table) {
    const names = { parameters: {}, ...given };
    const passed = "name" in names.parameters ? { name: { value: "x" } } : {};
    const body = bodyOf({ template: names, parameters: passed });
    const { status, body: told } = await arm.ask("PUT", path, body);
    assert.equal(status, wanted, JSON.stringify([given, told]));
    if (status < 300) await arm.clock.advance({ byMs: 600_000 });
  }
});

test("a template is taken as the Azure CLI sends it, comments and all", async (t) => {
  const arm = await openGroup(t);
  const inside = JSON.stringify(template).replace("{", '{ /* a "comment" */ // another: one\n');
  const text = `{"properties": {"mode": "Incremental", "parameters": ${JSON.stringify(parameters)}`;
  const begun = await arm.good("PUT", path, `${text}, template:${inside}}}`);
  assert.equal((await arm.follow(begun)).body.status, "Succeeded");
  assert.equal((await arm.catalog()).topics.length, 2);
});

test("deployed again, what is as wanted is left alone and no endpoint is asked", async (t) => {
  const arm = await openGroup(t);
  await deploy(arm, bodyOf());
  const asked = arm.asked.length;
  const changes = (await arm.good("POST", `${path}/whatIf`, bodyOf())).body.properties.changes;
  const types = (list: readonly Json[]) =>
    Object.fromEntries(
      list.map(({ resourceId, changeType }) => [String(resourceId).split("/").at(-1), changeType]),
    );
  assert.partialDeepStrictEqual(types(changes), {
    orders: "NoChange",
    shop: "NoChange",
    billing: "NoChange",
    europe: "NoChange",
  });
  await deploy(arm, bodyOf());
  assert.equal(arm.asked.length, asked);
  const more = bodyOf({ parameters: { ...parameters, attempts: { value: 7 } } });
  const modified = (await arm.good("POST", `${path}/whatIf`, more)).body.properties.changes;
  const billing = modified.find((each: Json) => /billing$/.test(String(each.resourceId)));
  assert.equal(billing.changeType, "Modify");
  assert.deepEqual(billing.delta, [
    {
      path: "properties.retryPolicy.maxDeliveryAttempts",
      propertyChangeType: "Modify",
      before: 5,
      after: 7,
    },
  ]);
});

test("mode Complete removes what is in the group and not in the template", async (t) => {
  const arm = await openGroup(t);
  await arm.good("PUT", `${group}${provider}/topics/old`, {});
  await deploy(arm, bodyOf());
  assert.ok((await arm.catalog()).topics.some(({ name }) => name === "old"));
  await deploy(arm, bodyOf({ mode: "Complete" }));
  assert.ok(!(await arm.catalog()).topics.some(({ name }) => name === "old"));
  assert.equal((await arm.catalog()).subscriptions.length, 1);
});

test("what the broker lacks is named before anything is written, and what the file knows is there", async (t) => {
  const arm = await openGroup(t);
  const more = (...resources: Json[]) =>
    bodyOf({ template: { ...template, resources: [...template.resources, ...resources] } });
  const queues = { type: "Microsoft.Storage/storageAccounts", apiVersion: "1", name: "queues" };
  const bus = {
    type: "Microsoft.ServiceBus/namespaces/queues",
    apiVersion: "1",
    name: "bus/orders",
  };
  const lacking = [
    { type: "Microsoft.EventGrid/systemTopics", apiVersion: "1", name: "sys" },
    { type: "Microsoft.KeyVault/vaults", apiVersion: "1", name: "vault" },
  ];
  for (const [method, at] of [
    ["PUT", path],
    ["POST", `${path}/validate`],
  ] as const) {
    const { status, body } = await arm.ask(method, at, more(queues, bus, ...lacking));
    assert.equal(status, 400);
    assert.match(
      body.error.message,
      /has what this broker does not: Microsoft\.EventGrid\/systemTopics\/sys, Microsoft\.KeyVault\/vaults vault\./,
    );
  }
  assert.deepEqual((await arm.catalog()).topics, []);
  assert.deepEqual(await deploy(arm, more(queues, bus)), { status: "Succeeded" });
});

test("a bad template is refused with its place; an endpoint that refuses fails the deployment", async (t) => {
  const arm = await openGroup(t);
  const table: readonly (readonly [Json, RegExp])[] = [
    [{ template: null }, /properties\.template must be a template/],
    [{ template: undefined, templateLink: { uri: "https://x" } }, /links are not followed/],
    [{ mode: "Half" }, /mode must be Incremental or Complete/],
    [{ mode: { toString: 1 } }, /mode must be Incremental or Complete, and is an object/],
    [{ parameters: { ...parameters, other: { value: 1 } } }, /no parameter "other" in template/],
    [{ parameters: {} }, /the parameter hook has no value/],
    [{ parameters: { ...parameters, attempts: { value: 99 } } }, /maxDeliveryAttempts must be/],
  ];
  for (const [properties, words] of table) {
    const { status, body } = await arm.ask("PUT", path, bodyOf(properties));
    assert.equal(status, 400, String(words));
    assert.match(body.error.message, words);
  }
  const elsewhere = path.replace(/resourceGroups\/[^/]+/, "resourceGroups/none");
  assert.equal((await arm.ask("PUT", elsewhere, bodyOf())).status, 404);
  assert.deepEqual((await arm.catalog()).topics, []);
  arm.react(() => ({ kind: "answered", status: 404, headers: {}, body: "" }));
  const begun = await arm.good("PUT", path, bodyOf());
  await arm.clock.advance({ byMs: 600_000 });
  const ended = (await arm.follow(begun)).body;
  assert.equal(ended.status, "Failed");
  assert.equal(ended.error.code, "DeploymentFailed");
  assert.match(ended.error.details[0].target, /eventSubscriptions\/billing$/);
  assert.equal((await arm.good("GET", path)).body.properties.provisioningState, "Failed");
});

test("a difference is told by its path", () => {
  assert.deepEqual(deltaOf({ a: 1, b: { c: [1] }, d: 1 }, { a: 1, b: { c: [2] }, e: 2 }, ""), [
    { path: "b.c", propertyChangeType: "Modify", before: [1], after: [2] },
    { path: "d", propertyChangeType: "Delete", before: 1 },
    { path: "e", propertyChangeType: "Create", after: 2 },
  ]);
});

test("a namespace with its topic and queue is deployed in the order of what it needs", async (t) => {
  const arm = await openGroup(t);
  const of = "Microsoft.EventGrid/namespaces";
  const resources = [
    {
      ...{ type: `${of}/topics/eventSubscriptions`, name: "market/orders/billing" },
      apiVersion: "2025-02-15",
      properties: { deliveryConfiguration: { deliveryMode: "Queue", queue: {} } },
    },
    { type: `${of}/topics`, apiVersion: "2025-02-15", name: "market/orders", properties: {} },
    { type: of, apiVersion: "2025-02-15", name: "market", location: "westus2", properties: {} },
  ];
  const body = {
    properties: {
      template: { ...template, parameters: {}, outputs: {}, resources },
      mode: "Incremental",
    },
  };
  assert.deepEqual(await deploy(arm, body), { status: "Succeeded" });
  const { topics, subscriptions } = await arm.catalog();
  const names = topics.map(({ name }) => name).toSorted();
  assert.deepEqual(
    [names, subscriptions[0]?.destination.kind],
    [["market", "market/orders"], "pull"],
  );
});
