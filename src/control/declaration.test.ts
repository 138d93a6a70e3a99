import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { urlIn } from "../../test/contract/fixture.ts";
import { parseAzure } from "../core/azure/resources.ts";
import { batchDefaults } from "../core/delivery/batch.ts";
import { type ProfileName, profileNames } from "../core/delivery/profile.ts";
import { Refusal } from "../core/refusal.ts";
import { filterForAll } from "../core/routing/filter.ts";
import { plainSubscription } from "../core/subscription.ts";
import { plainTopic, topicArmId } from "../core/topic.ts";
import { MemoryStore } from "../store/memory.ts";
import { applyDeclaration, type Declaration, parseDeclaration } from "./declaration.ts";

const url = "http://127.0.0.1:9000/hook";

interface Wish {
  readonly topic?: Record<string, unknown>;
  readonly subscription?: Record<string, unknown>;
  readonly properties?: Record<string, unknown>;
}

/** One topic with one subscription; a test sets what it is about. */
function wished({ topic = {}, subscription = {}, properties = {} }: Wish = {}) {
  const destination = { endpointType: "WebHook", properties: { endpointUrl: url, ...properties } };
  const billing = { destination, ...subscription };
  return { orders: { key1: "local-key", subscriptions: { billing }, ...topic } };
}

function parse(
  topics: unknown,
  {
    auth = true,
    profile = "azure" as ProfileName,
    makeKey = keys(),
    domains = null as unknown,
    namespaces = null as unknown,
    storageAccounts = {} as unknown,
  } = {},
): Declaration {
  const azure = parseAzure({ storageAccounts });
  const rules = { auth, profile, azure, batch: batchDefaults, makeKey };
  return parseDeclaration({ topics, domains, namespaces, storageAccounts }, rules);
}

function keys(): () => string {
  let made = 0;
  return () => `made-up-${++made}`;
}

function refused(value: unknown, rules: Parameters<typeof parse>[1] = {}): string {
  try {
    parse(value, rules);
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    assert.equal(error.code, "InvalidSetting");
    return error.message;
  }
  assert.fail(`it was accepted: ${JSON.stringify(value)}`);
}

/** A registry that tells what was written to it. */
function openRegistry() {
  const store = new MemoryStore();
  const facts: string[] = [];
  let writes = 0;
  store.onChange(() => writes++);
  const log = {
    fact: (_: string, name: string, fields: Readonly<Record<string, unknown>>) => {
      const { topic, subscription, change, why } = fields;
      facts.push([name, topic, subscription, change, why].filter(Boolean).join(" "));
    },
  };
  const apply = async (value: unknown, rules: Parameters<typeof parse>[1] = {}) => {
    const before = writes;
    await applyDeclaration(store, parse(value, rules), log);
    return writes - before;
  };
  return { store, facts, apply };
}

test("a topic and its subscription are read in Event Grid's own property names", () => {
  const { topics, subscriptions } = parse(
    wished({
      topic: { key2: "second", profile: "azure-2020" },
      properties: { maxEventsPerBatch: 10, preferredBatchSizeInKilobytes: 64 },
      subscription: {
        filter: {
          includedEventTypes: ["a", "b"],
          subjectBeginsWith: "/x",
          subjectEndsWith: ".jpg",
          isSubjectCaseSensitive: true,
          advancedFilters: [{ operatorType: "stringIn", key: "data.color", values: ["red"] }],
        },
        retryPolicy: { maxDeliveryAttempts: 3, eventTimeToLiveInMinutes: 60 },
      },
    }),
  );
  assert.deepEqual(topics, [
    {
      ...plainTopic,
      name: "orders",
      key1: "local-key",
      key2: "second",
      profile: "azure-2020",
      origin: "file",
      isMadeUp: { key1: false, key2: false },
    },
  ]);
  assert.deepEqual(subscriptions, [
    {
      ...plainSubscription,
      topic: "orders",
      name: "billing",
      origin: "file",
      destination: { kind: "webhook", url },
      batch: { maxEvents: 10, preferredBytes: 65_536 },
      filter: {
        includedEventTypes: ["a", "b"],
        subjectBeginsWith: "/x",
        subjectEndsWith: ".jpg",
        isSubjectCaseSensitive: true,
        advanced: [{ operatorType: "StringIn", key: "data.color", values: ["red"] }],
        onArrays: false,
      },
      retryPolicy: { maxDeliveryAttempts: 3, eventTimeToLiveMs: 3_600_000 },
      deadLetter: null,
    },
  ]);
});

test("what is left out, null or empty takes the default", () => {
  const nulls = {
    filter: { includedEventTypes: [], subjectBeginsWith: null, isSubjectCaseSensitive: null },
    retryPolicy: { maxDeliveryAttempts: null },
    deadLetterDestination: null,
  };
  for (const subscription of [{}, nulls]) {
    const [parsed] = parse(wished({ subscription })).subscriptions;
    assert.deepEqual(parsed?.filter, filterForAll);
    assert.deepEqual(parsed?.retryPolicy, { maxDeliveryAttempts: null, eventTimeToLiveMs: null });
    assert.equal(parsed?.batch, null);
  }
  assert.deepEqual(parse({}), { topics: [], subscriptions: [] });
});

test("one batch setting takes the other's default (B-4, B-5)", () => {
  const batchOf = (properties: Record<string, unknown>) =>
    parse(wished({ properties })).subscriptions[0]?.batch;
  assert.equal(batchOf({ maxEventsPerBatch: 10 })?.preferredBytes, 65_536);
  assert.equal(batchOf({ preferredBatchSizeInKilobytes: 8 })?.preferredBytes, 8_192);
});

test("bad members are refused by their path, with what is allowed (R-5, B-1)", () => {
  const at = "topics.orders.subscriptions.billing";
  const sub = (subscription: Record<string, unknown>) => wished({ subscription });
  const table: [unknown, RegExp | string][] = [
    [[], "topics must be an object with a member for each, and is an array of 0"],
    [{ orders: null }, "topics.orders must be an object, and is null"],
    [{ o: {} }, 'a name in topics must be 2 to 50 letters, digits and hyphens, and is "o"'],
    [{ "a topic": {} }, /a name in topics must be/],
    [{ orders: { kye1: "x" } }, 'there is no member "kye1" in topics.orders; did you mean key1?'],
    [wished({ topic: { profile: "azure-2019" } }), /^topics\.orders\.profile must be preview-2017/],
    [wished({ topic: { profile: 7 } }), /^topics\.orders\.profile must be/],
    [wished({ topic: { subscriptions: [] } }), /^topics\.orders\.subscriptions must be an object/],
    [wished({ topic: { subscriptions: { a: {} } } }), /2 to 64 letters, digits and hyphens/],
    [sub({ destination: undefined }), `${at}.destination must be an object, and is missing`],
    [sub({ destination: { endpointType: "EventHob" } }), /endpointType must be WebHook/],
    [sub({ expirationTimeUtc: "x" }), /expirationTimeUtc must be an ISO 8601 instant/],
    [sub({ labels: "a" }), /labels must be a list of at most 100 texts/],
    [sub({ eventDeliverySchema: "CustomInputSchema" }), /because the topic takes EventGridSchema/],
    [wished({ topic: { inputSchema: "Own" } }), /inputSchema must be EventGridSchema, CloudEvent/],
    [wished({ topic: { inputSchema: "CustomEventSchema" } }), /eventType must have a sourceField/],
    [wished({ topic: { port: 0 } }), /port must be a whole number from 1 to 65535/],
    [wished({ topic: { autoCreateTopicWithFirstSubscription: true } }), /there is no member/],
    [sub({ filter: { advancedFilter: [] } }), /"advancedFilter" in .*billing\.filter; did you/],
    [
      sub({
        filter: { advancedFilters: [{ operatorType: "NumberIn", key: "data.n", values: 1 }] },
      }),
      `${at}.filter.advancedFilters[0].values must be a list of 1 to 25 numbers, ` +
        "and is the number 1",
    ],
    [sub({ filter: { includedEventTypes: "a" } }), /includedEventTypes must be a list/],
    [sub({ filter: { includedEventTypes: ["a", ""] } }), /includedEventTypes\[1\] must be/],
    [sub({ filter: { isSubjectCaseSensitive: "yes" } }), /must be true or false/],
    [sub({ filter: { subjectEndsWith: 3 } }), /subjectEndsWith must be a text/],
    [sub({ retryPolicy: { maxDeliveryAttempts: 31 } }), /whole number from 1 to 30.* number 31/],
    [sub({ retryPolicy: { maxDeliveryAttempts: "3" } }), /whole number from 1 to 30/],
    [sub({ retryPolicy: { eventTimeToLiveInMinutes: 0 } }), /whole number from 1 to 1440/],
    [sub({ retryPolicy: { eventTimeToLive: 5 } }), /did you mean eventTimeToLiveInMinutes/],
    [wished({ properties: { maxEventsPerBatch: 5001 } }), /whole number from 1 to 5000/],
    [wished({ properties: { preferredBatchSizeInKilobytes: 1.5 } }), /from 1 to 1024/],
  ];
  for (const [value, words] of table) {
    if (typeof words === "string") assert.equal(refused(value), words);
    else assert.match(refused(value), words);
  }
});

const account = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Storage/storageAccounts/";
const blobIn = (resourceId: string, blobContainerName: string | null = "box") => ({
  endpointType: "StorageBlob",
  properties: { resourceId, blobContainerName },
});

const letters = { storageAccounts: { letters: { folder: "./dead" } } };

test("a storage account is a topic of its own, with subscriptions (L-5)", () => {
  const key = `${account}Shop1`;
  const destination = { endpointType: "WebHook", properties: { endpointUrl: url } };
  const storageAccounts = {
    [key]: { folder: "./dead", subscriptions: { watch: { destination } } },
    ...letters.storageAccounts,
  };
  const { topics, subscriptions } = parse({}, { storageAccounts });
  assert.deepEqual(
    topics.map(({ kind, name, origin }) => [kind, name, origin]),
    [
      ["storage", "Shop1", "file"],
      ["storage", "letters", "file"],
    ],
  );
  const [shop, named] = topics;
  assert.equal(shop && topicArmId(shop), key);
  assert.match(named ? topicArmId(named) : "", /\/posthorn\/providers\/Microsoft\.Storage\//);
  const [watch] = subscriptions;
  assert.deepEqual([watch?.topic, watch?.name, watch?.domainTopic], ["Shop1", "watch", null]);
  const wrong = { letters: { folder: "./dead", subscriptions: { watch: {} } } };
  assert.match(
    refused({}, { storageAccounts: wrong }),
    /^storageAccounts\.letters\.subscriptions\.watch\.destination must be an object/,
  );
  assert.match(
    refused({ Letters: { key1: "k" } }, letters),
    /^topics, domains, namespaces and storage accounts must have names that differ .* "Letters" and "letters"$/,
  );
});

test("dead letters go to a container of an account that we know, in either form (L-2)", () => {
  const box = { kind: "blob", resourceId: `${account}letters`, container: "box" };
  const inFull = `${account}letters/blobServices/default/containers/box`;
  for (const deadLetterDestination of [
    blobIn(`${account}letters`),
    blobIn(inFull, null),
    blobIn(inFull),
    { ...blobIn(`${account}letters`), endpointType: "storageblob" },
    blobIn(inFull.replace("resourceGroups", "resourcegroups").replace("blobS", "BLOBs")),
  ]) {
    const { subscriptions } = parse(wished({ subscription: { deadLetterDestination } }), letters);
    assert.deepEqual(subscriptions[0]?.deadLetter, box);
  }
});

test("dead letters that could go nowhere are refused in words (L-2, P-11)", () => {
  const at = "topics.orders.subscriptions.billing.deadLetterDestination";
  const table: [unknown, RegExp][] = [
    [{}, /\.endpointType must be StorageBlob, and is missing/],
    [{ ...blobIn(account), endpointType: "StorageQueue" }, /must be StorageBlob, and is "StorageQ/],
    [{ endpointType: "StorageBlob" }, /\.properties must be an object/],
    [blobIn("letters"), /\.resourceId must be \/subscriptions\/<id>\/.*, and is "letters"$/],
    [blobIn(`${account}letters`, null), /\.blobContainerName must be 3 to 63 lower-case letters/],
    [blobIn(`${account}letters`, "../box"), /\.blobContainerName must be 3 to 63 lower-case/],
    [
      blobIn(`${account}letters/blobServices/default/containers/other`),
      /\.blobContainerName must be left out or other, as in resourceId, and is "box"$/,
    ],
    [
      blobIn(`${account}strange`),
      /\.resourceId names the storage account 'strange', which this broker does not know: add it to storageAccounts in its file, which has letters$/,
    ],
    [
      { endpointType: "StorageBlob", properties: { resourceId: account, blobContainer: "box" } },
      /did you mean blobContainerName\?$/,
    ],
  ];
  for (const [deadLetterDestination, words] of table) {
    const told = refused(wished({ subscription: { deadLetterDestination } }), letters);
    assert.ok(told.includes(at), told);
    assert.match(told, words);
  }
  const known = wished({ subscription: { deadLetterDestination: blobIn(`${account}letters`) } });
  for (const profile of ["preview-2017", "ga-2018", "iot-edge"] as const) {
    assert.match(
      refused(known, { ...letters, profile }),
      new RegExp(`the profile ${profile} does not support dead`),
    );
  }
});

test("only plain http and https URLs are taken, and a refused one is never shown", () => {
  for (const endpointUrl of [
    "127.0.0.1:9000/hush",
    "/hush",
    "ftp://example.test/hush",
    "http://user:hush@example.test/",
    "http://hush@example.test/",
    "http://example.test/hush#here",
    `http://example.test/hush${"x".repeat(2048)}`,
    "",
    null,
    7,
  ]) {
    const words = refused(wished({ properties: { endpointUrl } }));
    assert.match(words, /endpointUrl must be an absolute http or https URL/);
    assert.ok(!words.includes("hush"), words);
  }
  const [taken] = parse(
    wished({ properties: { endpointUrl: "HTTPS://Example.test" } }),
  ).subscriptions;
  assert.deepEqual(taken?.destination, { kind: "webhook", url: "HTTPS://Example.test" });
});

test("names that differ only in letter case are refused", () => {
  const one = { key1: "local-key" };
  assert.match(refused({ orders: one, Orders: one }), /has "orders" and "Orders"/);
  const { billing } = wished().orders.subscriptions as { billing: unknown };
  assert.match(
    refused(wished({ topic: { subscriptions: { billing, BILLING: billing } } })),
    /has "billing" and "BILLING"/,
  );
});

test("a first key is required while authentication is on, and never shown", () => {
  const topic = (key1: unknown) => wished({ topic: { key1 } });
  assert.match(refused(topic(undefined)), /^topics\.orders\.key1 must be .*because auth is on/);
  for (const key1 of ["", "hush hush", "höh", "x".repeat(257), 7]) {
    const words = refused(topic(key1), { auth: false });
    assert.match(words, /^topics\.orders\.key1 must be 1 to 256 visible ASCII/);
    assert.ok(!words.includes("hush"));
  }
  const [made] = parse(topic(undefined), { auth: false }).topics;
  assert.deepEqual([made?.key1, made?.key2], ["made-up-1", "made-up-2"]);
});

test("what a profile does not know is refused, naming the profile (P-5, P-6, P-9, P-11, P-12)", () => {
  const attempts = { subscription: { retryPolicy: { maxDeliveryAttempts: 10 } } };
  const life = { subscription: { retryPolicy: { eventTimeToLiveInMinutes: 60 } } };
  const events = { properties: { maxEventsPerBatch: 10 } };
  const size = { properties: { preferredBatchSizeInKilobytes: 64 } };
  const mapping = { name: "a", type: "Static", properties: { value: "v" } };
  const headers = { properties: { deliveryAttributeMappings: [mapping] } };
  const deadLetter = { subscription: { deadLetterDestination: blobIn(`${account}letters`) } };
  const table: [readonly ProfileName[], Wish, string][] = [
    [["preview-2017", "ga-2018"], attempts, "retryPolicy.maxDeliveryAttempts"],
    [["preview-2017", "ga-2018"], life, "retryPolicy.eventTimeToLiveInMinutes"],
    [["preview-2017", "ga-2018"], events, "destination.properties.maxEventsPerBatch"],
    [["preview-2017", "ga-2018"], size, "destination.properties.preferredBatchSizeInKilobytes"],
    [["preview-2017", "ga-2018", "iot-edge"], deadLetter, "deadLetterDestination"],
    [
      ["preview-2017", "ga-2018", "azure-2020", "iot-edge"],
      headers,
      "destination.properties.deliveryAttributeMappings",
    ],
  ];
  for (const [without, wish, member] of table) {
    for (const profile of profileNames) {
      if (!without.includes(profile)) {
        parse(wished(wish), { ...letters, profile });
        continue;
      }
      const words = refused(wished(wish), { ...letters, profile });
      const field = `topics.orders.subscriptions.billing.${member}`;
      assert.ok(
        words.startsWith(`${field} must be left out: the profile ${profile} does not support`),
      );
      const own = refused(wished({ ...wish, topic: { profile } }), letters);
      assert.equal(own, words, "the same when the topic chooses the profile");
    }
  }
});

test("what clients write where nobody chose anything is no surprise, and taken (P-5, P-6, P-9)", () => {
  for (const profile of ["preview-2017", "ga-2018"] as const) {
    const [taken] = parse(
      wished({
        subscription: { retryPolicy: { maxDeliveryAttempts: 30, eventTimeToLiveInMinutes: 1440 } },
        properties: { maxEventsPerBatch: 1, preferredBatchSizeInKilobytes: 64 },
      }),
      { profile },
    ).subscriptions;
    assert.equal(taken?.batch, null);
    assert.deepEqual(taken?.retryPolicy, { maxDeliveryAttempts: null, eventTimeToLiveMs: null });
  }
  const own = { subscription: { retryPolicy: { eventTimeToLiveInMinutes: 120 } } };
  assert.match(
    refused(wished(own), { profile: "ga-2018" }),
    /the profile ga-2018 does not support/,
  );
  parse(wished(own), { profile: "preview-2017" });
});

test("the example in docs/configuration.md and examples/first.json can be declared", () => {
  const root = join(import.meta.dirname, "..", "..");
  const page = readFileSync(join(root, "docs", "configuration.md"), "utf8");
  const block = /```json\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  for (const text of [block, readFileSync(join(root, "examples", "first.json"), "utf8")]) {
    const file = JSON.parse(text) as { topics: unknown; storageAccounts?: unknown };
    const { topics, subscriptions } = parse(file.topics, file);
    assert.equal(topics[0]?.name, "orders");
    assert.deepEqual(subscriptions[0]?.destination, { kind: "webhook", url });
  }
});

test("applying a declaration makes what it says, and applying it again writes nothing", async () => {
  const { store, facts, apply } = openRegistry();
  const value = wished({
    subscription: {
      filter: { includedEventTypes: ["a"] },
      retryPolicy: { maxDeliveryAttempts: 3 },
    },
    properties: { maxEventsPerBatch: 10 },
  });
  assert.equal(await apply(value), 2);
  const { topics, subscriptions } = await store.catalog();
  assert.equal(topics[0]?.key2, "made-up-1");
  assert.equal(subscriptions[0]?.retryPolicy.maxDeliveryAttempts, 3);
  assert.deepEqual(facts.splice(0), [
    "topic.changed orders created",
    "subscription.changed orders billing created",
  ]);
  assert.equal(await apply(value), 0);
  const inOtherCase = { ORDERS: value.orders };
  assert.equal(await apply(inOtherCase), 0, "names are the same in any letter case");
  assert.deepEqual(facts, []);
});

test("a made-up key is kept when the file is applied again, and gives way to a given one", async () => {
  const { store, apply } = openRegistry();
  const keysNow = async () => {
    const { topics } = await store.catalog();
    return [topics[0]?.key1, topics[0]?.key2];
  };
  const makeKey = keys();
  const withoutKeys = wished({ topic: { key1: undefined } });
  await apply(withoutKeys, { auth: false, makeKey });
  assert.deepEqual(await keysNow(), ["made-up-1", "made-up-2"]);
  assert.equal(await apply(withoutKeys, { auth: false, makeKey }), 0);
  assert.equal(await apply(wished({ topic: { key1: "mine" } }), { makeKey }), 1);
  assert.deepEqual(await keysNow(), ["mine", "made-up-2"]);
  assert.equal(
    await apply(wished({ topic: { key1: "mine", key2: "also mine".replace(" ", "-") } })),
    1,
  );
  assert.deepEqual(await keysNow(), ["mine", "also-mine"]);
});

test("what changed in the file is written, and a subscription keeps its identity", async () => {
  const { store, facts, apply } = openRegistry();
  await apply(wished());
  const before = (await store.catalog()).subscriptions[0];
  facts.length = 0;
  const filter = { includedEventTypes: ["a"] };
  assert.equal(await apply(wished({ subscription: { filter } })), 1);
  assert.equal(
    await apply(wished({ subscription: { filter: { includedEventTypes: ["a", "b"] } } })),
    1,
  );
  assert.equal(await apply(wished({ subscription: { filter } })), 1, "a shorter list differs, too");
  assert.equal(await apply(wished({ properties: { endpointUrl: `${url}2` } })), 1);
  const after = (await store.catalog()).subscriptions[0];
  assert.equal(after?.id, before?.id);
  assert.equal(urlIn(after), `${url}2`);
  assert.deepEqual(new Set(facts), new Set(["subscription.changed orders billing updated"]));
});

test("what the file no longer declares is removed", async () => {
  const { store, facts, apply } = openRegistry();
  const { billing } = wished().orders.subscriptions as { billing: unknown };
  await apply({
    ...wished({ topic: { subscriptions: { billing, audit: billing } } }),
    returns: { key1: "local-key", subscriptions: { billing } },
  });
  facts.length = 0;
  await apply(wished());
  const { topics, subscriptions } = await store.catalog();
  assert.deepEqual([topics.length, subscriptions.length], [1, 1]);
  assert.deepEqual(facts, [
    "subscription.changed orders audit removed",
    "subscription.changed returns billing removed",
    "topic.changed returns removed",
  ]);
});

test("what was made over HTTP is never touched, and the log says what was left", async () => {
  const { store, facts, apply } = openRegistry();
  const [declared] = parse(wished()).subscriptions;
  assert.ok(declared);
  const made = { ...plainTopic, key1: "theirs", key2: "theirs", origin: "api" } as const;
  await store.putTopic({ name: "orders", ...made });
  await store.putSubscription({ ...declared, origin: "api", deadLetter: null });
  await apply({ ...wished({ properties: { endpointUrl: `${url}2` } }), returns: { key1: "ours" } });
  await store.putSubscription({ ...declared, topic: "returns", name: "theirs", origin: "api" });
  await apply({});
  const { topics, subscriptions } = await store.catalog();
  assert.deepEqual(
    topics.map(({ name, key1 }) => [name, key1]),
    [
      ["orders", "theirs"],
      ["returns", "ours"],
    ],
  );
  assert.deepEqual(
    subscriptions.map(({ topic, name, destination }) => [topic, name, urlIn({ destination })]),
    [
      ["orders", "billing", url],
      ["returns", "theirs", url],
    ],
  );
  assert.deepEqual(facts, [
    "declaration.left orders it was made over HTTP",
    "topic.changed returns created",
    "declaration.left orders billing it was made over HTTP",
    "declaration.left returns it has subscriptions that were made over HTTP",
  ]);
});

const shop = {
  shop: {
    key1: "local-key",
    inputSchema: "CloudEventSchemaV1_0",
    autoDeleteTopicWithLastSubscription: false,
    subscriptions: wished().orders.subscriptions,
    topics: { "tenant-1": { subscriptions: wished().orders.subscriptions }, "tenant-2": {} },
  },
};

test("a domain is declared with its topics and the subscriptions of both", () => {
  const { topics, subscriptions } = parse(null, { domains: shop });
  assert.deepEqual(
    topics.map(({ kind, name, inputSchema, domain }) => ({ kind, name, inputSchema, domain })),
    [
      {
        kind: "domain",
        name: "shop",
        inputSchema: "CloudEventSchemaV1_0",
        domain: {
          autoCreateTopics: true,
          autoDeleteTopics: false,
          topics: ["tenant-1", "tenant-2"],
        },
      },
    ],
  );
  assert.deepEqual(
    subscriptions.map(({ topic, domainTopic, name, deliverySchema }) => [
      ...[topic, domainTopic, name, deliverySchema],
    ]),
    [
      ["shop", null, "billing", "CloudEventSchemaV1_0"],
      ["shop", "tenant-1", "billing", "CloudEventSchemaV1_0"],
    ],
  );
  assert.match(
    refused(null, { domains: { shop: { ...shop.shop, topics: { a: {} } } } }),
    /a name in domains\.shop\.topics must be 3 to 128 letters, digits/,
  );
});

test("a topic and a domain of one name are refused", () => {
  const words = refused({ SHOP: { key1: "local-key" } }, { domains: shop });
  assert.match(
    words,
    /topics, domains, namespaces and storage accounts must have names .* and have "SHOP" and "shop"/,
  );
});

test("a declared domain keeps the topics that were made over HTTP", async () => {
  const { store, apply } = openRegistry();
  assert.equal(await apply({}, { domains: shop }), 3);
  assert.equal(await apply({}, { domains: shop }), 0);
  const [domain] = (await store.catalog()).topics;
  assert.ok(domain?.domain);
  const { revision: _, ...draft } = domain;
  const topics = [...domain.domain.topics, "made-later"];
  await store.putTopic({ ...draft, domain: { ...domain.domain, topics } });
  assert.equal(await apply({}, { domains: shop }), 0);
});

test("a subscription is read with headers, labels, schema and expiration", () => {
  const [parsed] = parse(
    wished({
      properties: {
        deliveryAttributeMappings: [
          { name: "x-tenant", type: "Static", properties: { value: "contoso" } },
          { name: "x-key", type: "dynamic", properties: { sourceField: "data.key1" } },
        ],
      },
      subscription: {
        labels: ["a"],
        eventDeliverySchema: "cloudeventschemav1_0",
        expirationTimeUtc: "2020-01-01T00:00:00",
      },
    }),
  ).subscriptions;
  assert.deepEqual(parsed?.headers, [
    { name: "x-tenant", kind: "static", value: "contoso", isSecret: false },
    { name: "x-key", kind: "dynamic", sourceField: "data.key1" },
  ]);
  assert.deepEqual(parsed?.labels, ["a"]);
  assert.equal(parsed?.deliverySchema, "CloudEventSchemaV1_0");
  // One that has passed is no mistake in a file that is read again.
  assert.equal(parsed?.expiresAt, Date.UTC(2020, 0, 1));
});

test("as many subscriptions as a file may have are written in groups, and once", async () => {
  const { store, facts, apply } = openRegistry();
  const { destination } = wished().orders.subscriptions.billing;
  const names = Array.from({ length: 1_201 }, (_, index) => `many-${index}`);
  const declare = (some: readonly string[]) => {
    const subscriptions = Object.fromEntries(some.map((name) => [name, { destination }]));
    return wished({ topic: { subscriptions } });
  };
  await apply(declare(names));
  const stored = (await store.catalog()).subscriptions.map(({ name }) => name);
  assert.deepEqual(stored, names);
  assert.equal(facts.length, 1 + names.length);
  assert.equal(await apply(declare(names)), 0);
  assert.equal(await apply(declare(names.slice(0, 1))), 1_200);
  assert.equal((await store.catalog()).subscriptions.length, 1);
});

test("when a write fails the others of its group are made, and no later ones", async () => {
  const { store, apply } = openRegistry();
  const put = store.putSubscription.bind(store);
  store.putSubscription = (draft, revision) =>
    draft.name === "many-7" ? Promise.reject(new Error("the disk is full")) : put(draft, revision);
  const { destination } = wished().orders.subscriptions.billing;
  const names = Array.from({ length: 600 }, (_, index) => `many-${index}`);
  const subscriptions = Object.fromEntries(names.map((name) => [name, { destination }]));
  await assert.rejects(apply(wished({ topic: { subscriptions } })), /the disk is full/);
  assert.equal((await store.catalog()).subscriptions.length, 499);
});
