import assert from "node:assert/strict";
import { test } from "node:test";
import type { Members } from "../../core/text/wording.ts";
import { parseDocument, readDocument, readParameters } from "./document.ts";
import { type Additions, planFor } from "./plan.ts";

const place = { subscriptionId: "S", resourceGroup: "rg1", location: "local" };
const base = "/subscriptions/S/resourceGroups/rg1/providers/Microsoft.EventGrid";
const extension = "providers/Microsoft.EventGrid/eventSubscriptions";

const plain: Additions = {
  endpoints: new Map(),
  attributes: new Map(),
  omitted: [],
  usesBaseUrls: false,
};

function plan(
  document: unknown,
  { parameters = [], ...additions }: Partial<Additions> & { parameters?: string[] } = {},
) {
  const given = readParameters(parameters, () => assert.fail("no file is read"));
  const found = readDocument(document, { file: "main.json", place, parameters: given });
  return planFor(found, { ...plain, ...additions });
}

function ids(document: unknown, parameters: string[] = []): string[] {
  return plan(document, { parameters }).wanted.map(({ id }) => id);
}

const hook = {
  destination: { endpointType: "WebHook", properties: { endpointUrl: "https://h/x" } },
};

test("subscriptions are found in each form in which templates write them", () => {
  const forms: [string, object, string][] = [
    [
      "as a child of its topic",
      { type: "Microsoft.EventGrid/topics/eventSubscriptions", name: "orders/bill" },
      `${base}/topics/orders/eventSubscriptions/bill`,
    ],
    [
      "as an extension by name",
      {
        type: "Microsoft.EventGrid/topics/providers/eventSubscriptions",
        name: "[concat('orders', '/Microsoft.EventGrid/', 'bill')]",
      },
      `${base}/topics/orders/${extension}/bill`,
    ],
    [
      "as an extension with a scope, as Bicep writes it",
      {
        type: "Microsoft.EventGrid/eventSubscriptions",
        scope: "[format('Microsoft.EventGrid/topics/{0}', 'orders')]",
        name: "bill",
      },
      `${base}/topics/orders/${extension}/bill`,
    ],
    [
      "with a whole id as its scope",
      {
        type: "Microsoft.EventGrid/eventSubscriptions",
        scope: "[resourceId('rg2', 'Microsoft.EventGrid/topics', 'orders')]",
        name: "bill",
      },
      `${base.replace("rg1", "rg2")}/topics/orders/${extension}/bill`,
    ],
    [
      "of a topic of a domain",
      {
        type: "Microsoft.EventGrid/domains/topics/providers/eventSubscriptions",
        name: "shop/eur/Microsoft.EventGrid/bill",
      },
      `${base}/domains/shop/topics/eur/${extension}/bill`,
    ],
    [
      "of a domain",
      { type: "Microsoft.EventGrid/domains/eventSubscriptions", name: "shop/bill" },
      `${base}/domains/shop/eventSubscriptions/bill`,
    ],
  ];
  for (const [form, resource, id] of forms) {
    assert.deepEqual(ids({ resources: [{ ...resource, properties: hook }] }), [id], form);
  }
});

test("children are written within their parents, in lists or by symbolic names", () => {
  const child = {
    type: "providers/eventSubscriptions",
    name: "Microsoft.EventGrid/bill",
    properties: hook,
  };
  const topic = { type: "Microsoft.EventGrid/topics", name: "orders", properties: {} };
  const found = [`${base}/topics/orders`, `${base}/topics/orders/${extension}/bill`];
  assert.deepEqual(ids({ resources: [{ ...topic, resources: [child] }] }), found);
  assert.deepEqual(ids({ resources: { a: { ...topic, resources: { b: child } } } }), found);
});

test("resources come in an order in which each finds what it needs", () => {
  const resources = [
    {
      type: "Microsoft.EventGrid/topics/eventSubscriptions",
      name: "orders/bill",
      properties: hook,
    },
    { type: "Microsoft.EventGrid/domains/topics", name: "shop/eur" },
    { type: "Microsoft.EventGrid/domains", name: "shop", properties: {} },
    { type: "Microsoft.EventGrid/topics", name: "orders", properties: {} },
  ];
  const kinds = plan({ resources }).wanted.map(({ kind, label }) => `${kind} ${label}`);
  const order = ["topic orders", "domain shop", "domainTopic shop/eur", "subscription orders/bill"];
  assert.deepEqual(kinds, order);
});

test("conditions and loops decide what is there", () => {
  const document = {
    parameters: {
      names: { type: "array", defaultValue: ["one", "two"] },
      isProduction: { type: "bool", defaultValue: false },
    },
    resources: [
      {
        type: "Microsoft.EventGrid/topics",
        name: "[concat('t-', parameters('names')[copyIndex()])]",
        copy: { name: "all", count: "[length(parameters('names'))]" },
        properties: {
          copy: [
            {
              name: "inboundIpRules",
              count: 2,
              input: {
                ipMask:
                  "[format('10.0.{0}.{1}', copyIndex('all'), copyIndex('inboundIpRules', 1))]",
              },
            },
          ],
        },
      },
      {
        type: "Microsoft.EventGrid/topics",
        name: "prod",
        condition: "[parameters('isProduction')]",
        properties: {},
      },
      { type: "Microsoft.EventGrid/topics", name: "there", existing: true },
    ],
  };
  const { wanted } = plan(document);
  assert.deepEqual(
    wanted.map(({ label, body }) => [label, body.properties]),
    [
      ["t-one", { inboundIpRules: [{ ipMask: "10.0.0.1" }, { ipMask: "10.0.0.2" }] }],
      ["t-two", { inboundIpRules: [{ ipMask: "10.0.1.1" }, { ipMask: "10.0.1.2" }] }],
    ],
  );
  const production = ids(document, ["isProduction=true", 'names=["a"]']);
  assert.deepEqual(production, [`${base}/topics/t-a`, `${base}/topics/prod`]);
});

/** What Bicep makes of a module. */
const nested = {
  parameters: { topic: { type: "string" } },
  resources: [
    {
      type: "Microsoft.Resources/deployments",
      name: "module",
      resourceGroup: "rg2",
      properties: {
        expressionEvaluationOptions: { scope: "inner" },
        parameters: {
          name: { value: "[parameters('topic')]" },
          unused: { value: "[reference('x')]" },
        },
        template: {
          parameters: { name: { type: "string" }, unused: { type: "string" } },
          variables: { full: "[concat(parameters('name'), '-', resourceGroup().name)]" },
          resources: [
            { type: "Microsoft.EventGrid/topics", name: "[variables('full')]", properties: {} },
          ],
        },
      },
    },
  ],
};

test("nested deployments have their own parameters and their own group", () => {
  const rg2 = base.replace("rg1", "rg2");
  assert.deepEqual(ids(nested, ["topic=orders"]), [`${rg2}/topics/orders-rg2`]);
  const outer = structuredClone(nested) as { resources: Members[]; parameters: Members };
  const [module] = outer.resources as [{ properties: Record<string, unknown> }];
  delete module.properties.expressionEvaluationOptions;
  module.properties.template = {
    resources: [
      {
        type: "Microsoft.EventGrid/topics",
        name: "[concat(parameters('topic'), '-', resourceGroup().name)]",
        properties: {},
      },
    ],
  };
  assert.deepEqual(ids(outer, ["topic=orders"]), [`${rg2}/topics/orders-rg1`]);
});

test("what is not Event Grid's is passed over, whatever its expressions", () => {
  const { wanted, passedOver } = plan({
    resources: [
      {
        type: "Microsoft.Storage/storageAccounts",
        name: "[guid('x')]",
        properties: "[reference('y')]",
      },
      { type: "Microsoft.EventGrid/systemTopics", name: "blobs", properties: {} },
    ],
  });
  assert.deepEqual(wanted, []);
  assert.deepEqual(
    passedOver.map(({ word, what, why }) => `${word} ${what}: ${why}`),
    [
      "skipped Microsoft.Storage/storageAccounts [guid('x')]: not a resource of Event Grid",
      `failed ${base}/systemTopics/blobs: Posthorn has nothing of this kind`,
    ],
  );
});

test("--endpoint takes the place of a destination, and leaves batches and headers", () => {
  const document = {
    resources: [
      {
        type: "Microsoft.EventGrid/topics/eventSubscriptions",
        name: "orders/bill",
        properties: {
          deliveryWithResourceIdentity: {
            destination: {
              endpointType: "AzureFunction",
              properties: { resourceId: "[reference('fn').id]", maxEventsPerBatch: 5 },
            },
          },
          deadLetterDestination: { endpointType: "StorageBlob" },
        },
      },
    ],
  };
  const options = {
    endpoints: new Map([["bill", "http://localhost:7071/x"]]),
    omitted: ["deadLetterDestination"],
  };
  assert.deepEqual(plan(document, options).wanted[0]?.body, {
    properties: {
      destination: {
        endpointType: "WebHook",
        properties: { endpointUrl: "http://localhost:7071/x", maxEventsPerBatch: 5 },
      },
    },
  });
});

test("a URL that only Azure can tell is refused with the option that helps", () => {
  const destination = {
    endpointType: "WebHook",
    properties: { endpointUrl: "[listKeys('fn', '2022').default]" },
  };
  const type = "Microsoft.EventGrid/topics/eventSubscriptions";
  const resources = [{ type, name: "orders/bill", properties: { destination } }];
  const where = "resources[0].properties.destination.properties.endpointUrl";
  assert.throws(() => plan({ resources }), {
    code: "InvalidSetting",
    message:
      `main.json: ${where} is [listKeys('fn', '2022').default], which cannot be resolved: ` +
      "listKeys() is known to Azure alone; --endpoint orders/bill=URL would take its place",
  });
});

test("bad templates are refused in one line that says where", () => {
  const topics = "Microsoft.EventGrid/topics";
  const table: [object, RegExp][] = [
    [{ resources: [1] }, /^main.json: resources\[0\] must be an object, and is the number 1$/],
    [{ resources: [{}] }, /^main.json: resources\[0\].type must be a type/],
    [{ resources: [{ type: topics }] }, /resources\[0\].name must be a name/],
    [{ resources: [{ type: topics, name: "a/b" }] }, /as many names as it has types/],
    [{ resources: [{ type: topics, name: "a", properties: 5 }] }, /properties must be an object/],
    [
      { resources: [{ type: topics, name: "a", copy: { name: "x", count: 801 }, properties: {} }] },
      /copy.count must be a whole number from 0 to 800/,
    ],
    [
      {
        resources: [{ type: "Microsoft.Resources/deployments", properties: { templateLink: {} } }],
      },
      /links are not followed/,
    ],
    [{}, /^main.json must be an ARM template, or a list/],
    [[{ name: "x" }], /^main.json\[0\] must be a topic/],
  ];
  for (const [document, words] of table) {
    assert.throws(() => plan(document), { code: "InvalidSetting", message: words });
  }
});

test("parameters come as texts, from files, and as the type that is asked for", () => {
  const files: Record<string, string> = {
    "p.json": '// mine\n{"$schema":"x","contentVersion":"1","parameters":{"a":{"value":[1]}}}',
    "vault.json": '{"parameters":{"a":{"reference":{}}}}',
  };
  const read = (...given: string[]) => [...readParameters(given, (path) => files[path] ?? "")];
  assert.deepEqual(read("@p.json", "b=x=y"), [
    ["a", { kind: "value", value: [1] }],
    ["b", { kind: "text", text: "x=y" }],
  ]);
  assert.throws(
    () => read("vault.json"),
    /vault.json: parameters.a must be an object with a value/,
  );
  const document = (type: string) => ({
    parameters: { p: { type, allowedValues: type === "string" ? ["aaa", "bbb"] : undefined } },
    resources: [
      { type: "Microsoft.EventGrid/topics", name: "[string(parameters('p'))]", properties: {} },
    ],
  });
  assert.deepEqual(ids(document("int"), ["p=123"]), [`${base}/topics/123`]);
  assert.throws(() => ids(document("int"), ["p=x"]), /parameter p must be a whole number/);
  assert.throws(() => ids(document("bool"), ["p=1"]), /parameter p must be true or false/);
  assert.throws(() => ids(document("string"), ["p=ccc"]), /must be one of aaa, bbb/);
});

test("files may have comments, and what is no JSON is refused", () => {
  assert.deepEqual(parseDocument('\uFEFF{"a":"//x" /* b */, // c\n"d":"/*"}', "f"), {
    a: "//x",
    d: "/*",
  });
  assert.throws(() => parseDocument("{", "f.json"), /^Refusal: f.json is not JSON$/);
  assert.throws(() => parseDocument("param x string", "m.bicep"), /az bicep build/);
  assert.throws(() => parseDocument("[".repeat(200), "f.json"), /nested deeper than 100/);
});

test("names on the command line mean one subscription, or are refused", () => {
  const sub = (name: string) => ({
    type: "Microsoft.EventGrid/topics/eventSubscriptions",
    name,
    properties: hook,
  });
  const document = { resources: [sub("orders/bill"), sub("returns/bill"), sub("orders/audit")] };
  const given = (name: string) => () =>
    plan(document, { endpoints: new Map([[name, "http://localhost/"]]) });
  assert.throws(
    given("orders/bil"),
    /no event subscription "orders\/bil"; did you mean orders\/bill/,
  );
  assert.throws(
    given("bill"),
    /must name one event subscription, and there are orders\/bill, returns/,
  );
  const urls = given("Returns/Bill")().wanted.map(({ body }) => JSON.stringify(body));
  assert.deepEqual(
    urls.map((text) => text.includes("localhost")),
    [false, true, false],
  );
});
