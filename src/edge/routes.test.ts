import assert from "node:assert/strict";
import { test } from "node:test";
import { plainRequest } from "../../test/fixtures/request.ts";
import { parseAzure } from "../core/azure/resources.ts";
import { batchDefaults } from "../core/delivery/batch.ts";
import type { ProfileName } from "../core/delivery/profile.ts";
import type { Level } from "../core/ports.ts";
import { baseUrlOf } from "../core/request.ts";
import { LiveCatalog } from "../core/routing/live-catalog.ts";
import { plainSubscription, type SubscriptionDraft } from "../core/subscription.ts";
import { plainTopic } from "../core/topic.ts";
import { MemoryStore } from "../store/memory.ts";
import { moduleRoutes } from "./routes.ts";
import type { ModuleRules } from "./topic.ts";

type Json = Readonly<Record<string, unknown>>;

const version = { "api-version": "2019-01-01-preview" };
const url = "http://subscriber.test/hook?code=1";
const bus = "Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=n;SharedAccessKey=hush";
const account = "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=aHVzaA==";

const usualRules: ModuleRules = {
  batch: {
    defaults: { maxEvents: 10, preferredBytes: 1_058_576 },
    eventsMax: 50,
    kilobytesMax: 1_033,
  },
  webhookHttpsOnly: false,
  eventGridHttpsOnly: false,
};

interface Options {
  readonly rules?: Partial<ModuleRules>;
  readonly profile?: ProfileName;
}

/** The module's routes on the memory store, without a socket. */
async function openModule({ rules = {}, profile = "azure" }: Options = {}) {
  const store = new MemoryStore();
  const catalog = new LiveCatalog();
  const refresh = async () => {
    catalog.update(null, await store.catalog());
  };
  const facts: { level: Level; name: string; fields: Json }[] = [];
  const told: string[] = [];
  let made = 0;
  const unused = () => assert.fail("no endpoint is asked");
  const routes = moduleRoutes(
    {
      registry: store,
      memos: store,
      catalog: () => catalog,
      refresh,
      clock: { now: () => 0, after: () => () => {} },
      ids: { next: () => `id-${++made}` },
      log: { fact: (level, name, fields) => void facts.push({ level, name, fields }) },
      makeKey: () => `key-${++made}`,
      profile,
      azure: parseAzure({
        serviceBusNamespaces: { shop: { connectionString: bus } },
        storageAccounts: { shop: { connectionString: `${account};EndpointSuffix=a.test` } },
      }),
      batch: batchDefaults,
      baseUrl: baseUrlOf,
      handshakes: {
        prepare: unused,
        begin: unused,
        nextAskAt: unused,
        rerun: unused,
        notifyDeleted: ({ name }) => void told.push(name),
      },
      rules: { ...usualRules, ...rules },
    },
    {
      isModuleKey: (key) => key === "module-key",
      check: async (token) => (token === "admin" ? null : "The token is not good."),
    },
  );
  const ask = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = { "aeg-sas-key": "module-key" },
    query: Record<string, string> = version,
  ) => {
    const [, topic, inside, subscription] = path.split("/").slice(1);
    const form = [
      "/topics",
      topic && "/:topic",
      inside && `/${inside}`,
      subscription && "/:subscription",
    ];
    const route = routes.find((one) => one.method === method && one.path === form.join(""));
    assert.ok(route, `${method} ${path}`);
    const text = typeof body === "string" ? body : body === undefined ? "" : JSON.stringify(body);
    const reply = await route.handle({
      ...plainRequest,
      ...{ method, query, headers: { host: "broker.test:4438", ...headers } },
      params: { ...(topic && { topic }), ...(subscription && { subscription }) },
      body: Buffer.from(text),
    });
    return { status: reply.status, body: reply.body === undefined ? null : JSON.parse(reply.body) };
  };
  const good = async (...asked: Parameters<typeof ask>) => {
    const { status, body } = await ask(...asked);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };
  /** Status, detail code and message of a refusal. */
  const refused = async (...asked: Parameters<typeof ask>): Promise<[number, string, string]> => {
    const { status, body } = await ask(...asked);
    const { code, details } = body.error;
    assert.deepEqual(Object.keys(body.error), ["code", "details"]);
    assert.equal(typeof code, "string");
    return [status, details.code, details.message];
  };
  const catalogNow = async () => await store.catalog();
  return { store, facts, told, refresh, ask, good, refused, catalog: catalogNow };
}

const webHook = (more: Json = {}, inside: Json = {}) => ({
  properties: {
    destination: { endpointType: "WebHook", properties: { endpointUrl: url, ...inside } },
    ...more,
  },
});

const to = (endpointType: string, properties: Json, more: Json = {}) => ({
  properties: { destination: { endpointType, properties }, ...more },
});

test("a topic is made, shown, listed and removed in the module's shapes", async () => {
  const module = await openModule();
  assert.deepEqual(await module.good("GET", "/topics"), []);
  const asShown = (name: string, inputSchema: string) => ({
    id: `/iotHubs/local/devices/local/modules/posthorn/topics/${name}`,
    name,
    type: "Microsoft.EventGrid/topics",
    properties: {
      endpoint: `http://broker.test:4438/topics/${name}/events?api-version=2019-01-01-preview`,
      inputSchema,
    },
  });
  const first = { name: "first", properties: { inputSchema: "EventGridSchema" } };
  assert.deepEqual(
    await module.good("PUT", "/topics/first", first),
    asShown("first", "EventGridSchema"),
  );
  assert.deepEqual(await module.good("PUT", "/topics/bare"), asShown("bare", "EventGridSchema"));
  const clouds = { Name: "Clouds", PROPERTIES: { inputschema: "cloudeventschemav1_0" } };
  const cloudsShown = asShown("clouds", "CloudEventSchemaV1_0");
  assert.deepEqual(await module.good("PUT", "/topics/clouds", clouds), cloudsShown);
  assert.deepEqual(await module.good("GET", "/topics/CLOUDS"), cloudsShown);
  const names = (await module.good("GET", "/topics")).map(({ name }: Json) => name);
  assert.deepEqual(names.toSorted(), ["bare", "clouds", "first"]);
  // What was read can be written back.
  assert.deepEqual(await module.good("PUT", "/topics/clouds", cloudsShown), cloudsShown);
  await module.good("PUT", "/topics/first/eventSubscriptions/hook", webHook());
  assert.deepEqual(await module.ask("DELETE", "/topics/first"), { status: 200, body: null });
  assert.equal((await module.catalog()).subscriptions.length, 0);
  assert.deepEqual(await module.refused("GET", "/topics/first"), [
    ...([404, "NotFound", 'There is no topic "first".'] as const),
  ]);
});

test("a topic made by the module's API behaves like the module, one of another API as before", async () => {
  for (const profile of ["azure", "ga-2018", "iot-edge"] as const) {
    const module = await openModule({ profile });
    const keys = { key1: "a", key2: "b", origin: "api" } as const;
    await module.store.putTopic({ ...plainTopic, ...keys, name: "old", profile: "azure-2020" });
    await module.refresh();
    for (const name of ["old", "new"]) await module.good("PUT", `/topics/${name}`, { name });
    const { topics } = await module.catalog();
    const profiles = topics.map((topic) => [topic.name, topic.profile, topic.key1]).toSorted();
    assert.deepEqual(profiles, [
      ["new", "iot-edge", "key-1"],
      ["old", "azure-2020", "a"],
    ]);
  }
});

test("a subscription is written as the module's documentation has it (E-3)", async () => {
  const module = await openModule();
  await module.good("PUT", "/topics/t1");
  const documented =
    '{"properties":{"destination":{"endpointType":"WebHook","properties":' +
    '{"endpointUrl":"http://subscriber.test/","eventDeliverySchema":"eventgridschema"}},' +
    '"retryPolicy":{"eventExpiryInMinutes":30,"maxDeliveryAttempts":3}}}';
  const shown = await module.good("PUT", "/topics/t1/eventSubscriptions/s1", documented);
  assert.deepEqual(shown, {
    id: "/iotHubs/local/devices/local/modules/posthorn/topics/t1/eventSubscriptions/s1",
    name: "s1",
    type: "Microsoft.EventGrid/eventSubscriptions",
    properties: {
      topicName: "t1",
      topic: "t1",
      eventDeliverySchema: "EventGridSchema",
      destination: {
        endpointType: "WebHook",
        properties: { endpointUrl: "http://subscriber.test/" },
      },
      retryPolicy: { eventExpiryInMinutes: 30, maxDeliveryAttempts: 3 },
    },
  });
  assert.deepEqual(await module.good("GET", "/topics/t1/eventSubscriptions/S1"), shown);
  assert.deepEqual(await module.good("GET", "/topics/t1/eventSubscriptions"), [shown]);
  assert.deepEqual(await module.good("PUT", "/topics/t1/eventSubscriptions/s1", shown), shown);
  const [stored] = (await module.catalog()).subscriptions;
  assert.deepEqual(
    [stored?.isActive, stored?.state, stored?.handshake, stored?.retryPolicy],
    [true, "Succeeded", null, { maxDeliveryAttempts: 3, eventTimeToLiveMs: 1_800_000 }],
    "in force at once, for the module asks no endpoint",
  );
  await module.good("DELETE", "/topics/t1/eventSubscriptions/s1");
  const [status, , words] = await module.refused("GET", "/topics/t1/eventSubscriptions/s1");
  assert.deepEqual(
    [status, words],
    [404, `There is no event subscription "s1" of the topic 't1'.`],
  );
});

test("every member of a subscription is taken in any letter case, and shown again", async () => {
  const module = await openModule();
  await module.good("PUT", "/topics/t1");
  const shown = await module.good("PUT", "/topics/t1/eventSubscriptions/s1", {
    Id: null,
    Name: "s1",
    Properties: {
      Topic: "T1",
      EventDeliverySchema: "EventGridSchema",
      RetryPolicy: { EventExpiryInMinutes: 120, MaxDeliveryAttempts: 50 },
      PersistencePolicy: { IsPersisted: "true" },
      Destination: {
        EndpointType: "webhook",
        Properties: {
          EndpointUrl: url,
          MaxEventsPerBatch: 10,
          PreferredBatchSizeInKilobytes: 1033,
        },
      },
      Filter: {
        SubjectBeginsWith: "",
        SubjectEndsWith: ".jpg",
        IsSubjectCaseSensitive: false,
        IncludedEventTypes: ["a"],
        AdvancedFilters: [{ OperatorType: "BoolEquals", Key: "data.b", Value: true }],
      },
    },
  });
  assert.deepEqual(shown.properties, {
    topicName: "t1",
    topic: "t1",
    eventDeliverySchema: "EventGridSchema",
    destination: {
      endpointType: "WebHook",
      properties: { endpointUrl: url, maxEventsPerBatch: 10, preferredBatchSizeInKilobytes: 1033 },
    },
    retryPolicy: { eventExpiryInMinutes: 120, maxDeliveryAttempts: 50 },
    persistencePolicy: { isPersisted: true },
    filter: {
      subjectBeginsWith: "",
      subjectEndsWith: ".jpg",
      includedEventTypes: ["a"],
      advancedFilters: [{ operatorType: "BoolEquals", key: "data.b", value: true }],
    },
  });
  const twice = '{"Name":"s1","name":"s1","properties":{}}';
  const [, code, words] = await module.refused("PUT", "/topics/t1/eventSubscriptions/s1", twice);
  assert.deepEqual(
    [code, words],
    [...["InputJsonInvalid", 'The body has the member "name" twice, in letters of other case.']],
  );
});

test("the schema of a topic cannot change while somebody is subscribed to it", async () => {
  const module = await openModule();
  await module.good("PUT", "/topics/t1");
  await module.good("PUT", "/topics/t1/eventSubscriptions/s1", webHook({}, {}));
  const custom = { properties: { inputSchema: "CustomEventSchema" } };
  const [status, , told] = await module.refused("PUT", "/topics/t1", custom);
  assert.equal(status, 409);
  assert.match(told, /inputSchema cannot become CustomEventSchema while .* 's1' is there/);
  await module.good("PUT", "/topics/t1", { properties: { inputSchema: "EventGridSchema" } });
  await module.good("DELETE", "/topics/t1/eventSubscriptions/s1");
  await module.good("PUT", "/topics/t1", custom);
  assert.equal((await module.catalog()).topics[0]?.inputSchema, "CustomEventSchema");
});

test("batching takes the module's limits and defaults (B-1, B-4)", async () => {
  const module = await openModule({
    rules: {
      batch: {
        defaults: { maxEvents: 7, preferredBytes: 2_048 },
        ...{ eventsMax: 20, kilobytesMax: 100 },
      },
    },
  });
  await module.good("PUT", "/topics/t1");
  const batchOf = async (inside: Json) => {
    await module.good("PUT", "/topics/t1/eventSubscriptions/s1", webHook({}, inside));
    return (await module.catalog()).subscriptions[0]?.batch;
  };
  assert.equal(await batchOf({}), null);
  assert.deepEqual(await batchOf({ maxEventsPerBatch: 20 }), {
    maxEvents: 20,
    preferredBytes: 2048,
  });
  assert.deepEqual(await batchOf({ preferredBatchSizeInKilobytes: 100 }), {
    maxEvents: 7,
    preferredBytes: 102_400,
  });
  for (const [inside, words] of [
    [{ maxEventsPerBatch: 21 }, /maxEventsPerBatch must be a whole number from 1 to 20/],
    [{ preferredBatchSizeInKilobytes: 101 }, /InKilobytes must be a whole number from 1 to 100/],
  ] as const) {
    const put = webHook({}, inside);
    const [status, code, told] = await module.refused(
      "PUT",
      "/topics/t1/eventSubscriptions/s1",
      put,
    );
    assert.deepEqual([status, code], [400, "InvalidDestination"]);
    assert.match(told, words);
  }
});

test("what the module does not know, or not so, is refused in words", async () => {
  const module = await openModule();
  await module.good("PUT", "/topics/t1");
  await module.good("PUT", "/topics/own", { properties: { inputSchema: "CustomEventSchema" } });
  const advanced = (operatorType: string) => ({
    filter: { advancedFilters: [{ operatorType, key: "data.a", values: ["a"] }] },
  });
  const table: [unknown, RegExp][] = [
    [{}, /^properties\.destination must be an object/],
    [to("EdgeHub", { outputName: "o" }), /EdgeHub is not available: IoT Edge hub is not supported/],
    [to("Carrier", {}), /endpointType must be WebHook, EventGrid, EventHub, .*and is "Carrier"$/],
    [
      webHook({}, { endpointUrl: "subscriber" }),
      /endpointUrl must be an absolute http or https URL/,
    ],
    [webHook({}, { endpointUri: url }), /did you mean endpointUrl\?$/],
    [
      webHook({ topicName: "t2" }),
      /^properties\.topicName must be t1, as in the path, and is "t2"$/,
    ],
    [webHook({ eventDeliverySchema: "CloudEventSchemaV1_0" }), /must be EventGridSchema, because/],
    [webHook({}, { eventDeliverySchema: "CustomEventSchema" }), /must be EventGridSchema, because/],
    [webHook({ retryPolicy: { maxDeliveryAttempts: 0 } }), /maxDeliveryAttempts must be a whole/],
    [
      webHook({ retryPolicy: { eventExpiryInMinutes: 0.5 } }),
      /eventExpiryInMinutes must be a whole/,
    ],
    [webHook({ retryPolicy: { eventTimeToLiveInMinutes: 5 } }), /no member "eventTimeToLiveInMin/],
    [webHook({ persistencePolicy: "maybe" }), /persistencePolicy must be true or false/],
    [webHook({ persistencePolicy: [{ toString: 1 }] }), /persistencePolicy must be true or false/],
    [webHook({ persistencePolicy: { isPersisted: 1 } }), /isPersisted must be true or false/],
    [webHook({ deadLetterDestination: {} }), /no member "deadLetterDestination" in properties/],
    [webHook(advanced("StringNotContains")), /operatorType must be NumberIn, .*StringContains/],
    [
      webHook({ filter: { enableAdvancedFilteringOnArrays: true } }),
      /no member "enableAdvancedFilteringOnArrays"/,
    ],
    [{ ...webHook(), name: "s2" }, /^name must be s1, as in the path, and is "s2"$/],
    ["[]", /^the request must be an object/],
    ["{", /^The body is not valid JSON\.$/],
  ];
  for (const [body, words] of table) {
    const [status, , told] = await module.refused("PUT", "/topics/t1/eventSubscriptions/s1", body);
    assert.equal(status, 400, told);
    assert.match(told, words);
    assert.ok(!told.includes("code=1"));
  }
  await module.good(
    ...(["PUT", "/topics/own/eventSubscriptions/s1"] as const),
    webHook({}, { eventDeliverySchema: "customeventschema" }),
  );
  assert.match((await module.refused("PUT", "/topics/t", {}))[2], /2 to 50 letters/);
  const wrongSchema = { properties: { inputSchema: "Avro" } };
  assert.match((await module.refused("PUT", "/topics/t9", wrongSchema))[2], /inputSchema must be/);
  const names = (await module.catalog()).topics.map(({ name }) => name);
  assert.deepEqual(names.toSorted(), ["own", "t1"], "nothing was made of what was refused");
});

test("persistence is chosen once, remembered and shown (P-13)", async () => {
  for (const [given, isPersisted] of [
    ["true", true],
    [true, true],
    [{ isPersisted: "True" }, true],
    [{ isPersisted: false }, false],
  ] as const) {
    const module = await openModule();
    await module.good("PUT", "/topics/t1");
    const path = "/topics/t1/eventSubscriptions/s1";
    const { properties } = await module.good("PUT", path, webHook({ persistencePolicy: given }));
    assert.deepEqual(properties.persistencePolicy, { isPersisted });
    assert.deepEqual((await module.good("PUT", path, webHook())).properties, properties);
    const other = webHook({ persistencePolicy: { isPersisted: !isPersisted } });
    const [status, code, words] = await module.refused("PUT", path, other);
    assert.deepEqual([status, code], [409, "Conflict"]);
    assert.match(words, /is chosen once, when the subscription is made, and was (true|false)/);
  }
});

test("events can be forwarded to a topic of Event Grid, whose key is never shown", async () => {
  const module = await openModule();
  await module.good("PUT", "/topics/t1");
  const path = "/topics/t1/eventSubscriptions/s1";
  const endpointUrl =
    "https://orders.westus2-1.eventgrid.azure.net/api/events?api-version=2018-01-01";
  const given = { endpointUrl, sasKey: "hush", topicName: "cloud-topic", maxEventsPerBatch: 5 };
  const shown = await module.good("PUT", path, to("EventGrid", given));
  assert.deepEqual(shown.properties.destination, {
    endpointType: "EventGrid",
    properties: {
      ...{ endpointUrl, topicName: "cloud-topic" },
      ...{ maxEventsPerBatch: 5, preferredBatchSizeInKilobytes: 1033 },
    },
  });
  // Written back as it was read, it keeps its key; another URL needs one.
  await module.good("PUT", path, shown);
  const stored = async () => (await module.catalog()).subscriptions[0]?.destination;
  assert.deepEqual(await stored(), {
    kind: "webhook",
    url: endpointUrl,
    forward: { sasKey: "hush", topicName: "cloud-topic" },
  });
  const table: [Json, RegExp][] = [
    [{ endpointUrl: `${endpointUrl}&a=b` }, /sasKey must be the topic's key.*and is null/],
    [{ endpointUrl: url, sasKey: "a" }, /must be the URL of a topic, with \/api\/events/],
    [{ ...given, topicName: 7 }, /topicName must be a text or null/],
  ];
  for (const [properties, words] of table) {
    const [, code, told] = await module.refused("PUT", path, to("EventGrid", properties));
    assert.equal(code, "InvalidDestination");
    assert.match(told, words);
  }
  const strict = await openModule({ rules: { eventGridHttpsOnly: true, webhookHttpsOnly: true } });
  await strict.good("PUT", "/topics/t1");
  const plain = { ...given, endpointUrl: endpointUrl.replace("https", "http") };
  for (const put of [to("EventGrid", plain), webHook()]) {
    assert.match((await strict.refused("PUT", path, put))[2], /must be an absolute https URL/);
  }
});

test("queues, topics and hubs are those that the file knows, by their connection string", async () => {
  const module = await openModule();
  await module.good("PUT", "/topics/t1");
  const path = "/topics/t1/eventSubscriptions/s1";
  const group = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn";
  const stored = async () => (await module.catalog()).subscriptions[0]?.destination;
  const queue = to("ServiceBusQueue", { connectionString: `${bus};EntityPath=orders` });
  const shown = await module.good("PUT", path, queue);
  assert.deepEqual(shown.properties.destination, {
    endpointType: "ServiceBusQueue",
    properties: {},
  });
  const resourceId = `${group}/providers/Microsoft.ServiceBus/namespaces/shop/queues/orders`;
  assert.deepEqual(await stored(), { kind: "serviceBusQueue", resourceId });
  await module.good("PUT", path, shown);
  assert.deepEqual(await stored(), { kind: "serviceBusQueue", resourceId });

  await module.good(
    "PUT",
    path,
    to("StorageQueue", { queueName: "inbox", connectionString: account }),
  );
  const inStorage = await stored();
  assert.deepEqual(
    [inStorage?.kind, inStorage?.kind === "storageQueue" && inStorage.queueName],
    [...["storageQueue", "inbox"]],
  );
  const elsewhere = bus.replace("shop", "other");
  const table: [unknown, RegExp][] = [
    [
      to("EventHub", { connectionString: `${bus};EntityPath=hub` }),
      /names the Event Hubs namespace 'shop.*', which this broker does not know: add it to eventHub/,
    ],
    [
      to("ServiceBusTopic", { connectionString: `${elsewhere};EntityPath=t` }),
      /names the Service Bus namespace 'other.*', which this broker does not know/,
    ],
    [to("ServiceBusQueue", { connectionString: bus }), /must be a connection string of an entity/],
    [
      to("StorageQueue", { queueName: "inbox", connectionString: "AccountName=other" }),
      /names the storage account 'other', which this broker does not know/,
    ],
    [
      to("StorageQueue", { queueName: "IN", connectionString: account }),
      /queueName must be 3 to 63/,
    ],
  ];
  for (const [body, words] of table) {
    const [, code, told] = await module.refused("PUT", path, body);
    assert.equal(code, "InvalidDestination");
    assert.match(told, words);
    assert.ok(!told.includes("hush"));
  }
});

test("what the module does not know of a subscription stays as it is", async () => {
  const module = await openModule();
  const keys = { key1: "a", key2: "b", origin: "api" } as const;
  await module.store.putTopic({ ...plainTopic, ...keys, name: "t1" });
  const header = { name: "a", kind: "static", value: "v", isSecret: false } as const;
  const rich: SubscriptionDraft = {
    ...plainSubscription,
    topic: "t1",
    name: "s1",
    destination: { kind: "webhook", url },
    headers: [header],
    labels: ["l"],
    flow: { kind: "paused", since: 5 },
    origin: "file",
  };
  await module.store.putSubscription(rich);
  await module.refresh();
  const put = webHook({ retryPolicy: { maxDeliveryAttempts: 4 } });
  await module.good("PUT", "/topics/t1/eventSubscriptions/s1", put);
  const [stored] = (await module.catalog()).subscriptions;
  assert.deepEqual(
    [stored?.headers, stored?.labels, stored?.flow, stored?.origin],
    [...[[header], ["l"], { kind: "paused", since: 5 }, "api"]],
  );
  assert.equal(stored?.retryPolicy.maxDeliveryAttempts, 4);
});

test("a topic whose profile gives no choice refuses one, naming the profile (P-5, P-6)", async () => {
  const module = await openModule();
  const keys = { key1: "a", key2: "b", origin: "api" } as const;
  await module.store.putTopic({ ...plainTopic, ...keys, name: "t1", profile: "ga-2018" });
  await module.refresh();
  const put = webHook({ retryPolicy: { eventExpiryInMinutes: 4 } });
  const [, , words] = await module.refused("PUT", "/topics/t1/eventSubscriptions/s1", put);
  assert.match(
    words,
    /^properties\.retryPolicy\.eventExpiryInMinutes must be left out: the profile ga/,
  );
});

test("the module's keys and the admin's open its API, and nothing else does", async () => {
  const module = await openModule();
  const asking = (headers: Record<string, string>, query: Record<string, string> = version) =>
    module.ask("GET", "/topics", undefined, headers, query);
  assert.equal((await asking({ "aeg-sas-key": "module-key" })).status, 200);
  assert.equal((await asking({}, { ...version, "aeg-sas-key": "module-key" })).status, 200);
  assert.equal((await asking({ authorization: "Bearer admin" })).status, 200);
  const wrong = await asking({ "aeg-sas-key": "other" });
  assert.deepEqual([wrong.status, wrong.body.error.code], [401, "Unauthorized"]);
  assert.match(wrong.body.error.details.message, /not one of inbound__clientAuth__sasKeys/);
  const none = await asking({});
  assert.deepEqual([none.status, none.body.error.details.code], [401, "UnAuthorized"]);
  assert.equal((await asking({ authorization: "Bearer other" })).status, 401);
  const old = await asking({ "aeg-sas-key": "module-key" }, { "api-version": "2018-01-01" });
  assert.deepEqual([old.status, old.body.error.details.code], [400, "InvalidApiVersion"]);
});

test("the module's keys do not read the query of a URL that was written elsewhere", async () => {
  const module = await openModule();
  await module.good("PUT", "/topics/t1");
  const put = async (name: string) =>
    await module.good("PUT", `/topics/t1/eventSubscriptions/${name}`, webHook());
  await put("ours");
  await put("taken-over");
  const elsewhere: SubscriptionDraft = {
    ...plainSubscription,
    topic: "t1",
    name: "theirs",
    destination: { kind: "webhook", url },
    origin: "api",
  };
  await module.store.putSubscription(elsewhere);
  await module.store.putSubscription({ ...elsewhere, name: "taken-over" });
  await module.refresh();
  const urls = async (headers?: Record<string, string>) => {
    const path = "/topics/t1/eventSubscriptions";
    const listed = (await module.good("GET", path, undefined, headers)) as { name: string }[];
    return await Promise.all(
      listed.map(async ({ name }) => {
        const one = await module.good("GET", `${path}/${name}`, undefined, headers);
        const shown = listed.find((each) => each.name === name);
        assert.deepEqual(shown, one);
        return [name, one.properties.destination.properties.endpointUrl];
      }),
    );
  };
  const bare = "http://subscriber.test/hook";
  assert.deepEqual(
    new Map((await urls()) as [string, string][]),
    new Map([
      ["ours", url],
      ["taken-over", bare],
      ["theirs", bare],
    ]),
  );
  const admin = await urls({ authorization: "Bearer admin" });
  assert.deepEqual(new Set(admin.map(([, shown]) => shown)), new Set([url]));
});
