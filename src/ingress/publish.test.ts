import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import {
  eventText,
  key,
  openedAt,
  openPublishRoutes,
  type PublishRoutes,
} from "../../test/fixtures/publish-routes.ts";
import type { InputSchema } from "../core/event.ts";
import type { Instant, Routed } from "../core/ports.ts";
import { Refusal, type RefusalCode } from "../core/refusal.ts";
import type { Reply, RequestHead } from "../core/request.ts";
import { filterForAll } from "../core/routing/filter.ts";
import { noMapping } from "../core/schema/mapping.ts";
import type { StoryNote } from "../core/story/note.ts";
import { longInstant } from "../core/text/time.ts";
import { localGroup, topicArmId } from "../core/topic.ts";
import type { SpanDraft, Tracer } from "../core/tracing/span.ts";
import { MemoryStore } from "../store/memory.ts";

async function refused(asked: Promise<Reply>, code: RefusalCode, words: RegExp): Promise<Refusal> {
  const error = await asked.then(
    () => assert.fail("the request was accepted"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Refusal, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, words);
  return error;
}

const factsOf = (ingress: PublishRoutes) =>
  ingress.facts.map(({ level, name, fields }) => [level, name, fields]);

/** The real store, delaying every append until the test lets it go on. */
class HeldStore extends MemoryStore {
  readonly appended: (readonly Routed[])[] = [];
  readonly gate = Promise.withResolvers<void>();

  override async append(routed: readonly Routed[], now: Instant): Promise<number[]> {
    this.appended.push(routed);
    await this.gate.promise;
    return await super.append(routed, now);
  }
}

test("a publish is answered with an empty 200, only after its events are kept (D-1)", async () => {
  const store = new HeldStore();
  const ingress = await openPublishRoutes({ store });
  const subscription = await ingress.subscribe();
  const order: string[] = [];
  const asked = ingress.publish(eventText()).finally(() => order.push("answered"));
  // Far more turns than an answer that waits for nothing would take.
  for (let turn = 0; turn < 100; turn++) await null;
  assert.equal(store.appended.length, 1);
  order.push("kept");
  store.gate.resolve();
  assert.deepEqual(await asked, { status: 200 });
  assert.deepEqual(order, ["kept", "answered"]);
  assert.equal((await ingress.waiting(subscription)).length, 1);
});

test("all events of a request are kept in one append, each for every match (D-2)", async () => {
  const store = new HeldStore();
  store.gate.resolve();
  const ingress = await openPublishRoutes({ store });
  const all = await ingress.subscribe();
  const filter = { ...filterForAll, includedEventTypes: ["deleted"] };
  const some = await ingress.subscribe({ name: "deleted-only", filter });
  await ingress.publish(`[${eventText()},${eventText({ id: "2", eventType: "deleted" })}]`);
  assert.deepEqual(
    store.appended.map((routed) => routed.map(({ to }) => to)),
    [[[all.id], [some.id, all.id]]],
  );
  const kept = await ingress.waiting(all);
  assert.deepEqual(
    kept.map(({ systemId, topic, publishedAt }) => [systemId, topic, publishedAt]),
    [
      ["id-1", "orders", openedAt],
      ["id-2", "orders", openedAt],
    ],
  );
});

test("nobody but we can publish what a storage account tells", async () => {
  const ingress = await openPublishRoutes({ topic: { kind: "storage" } });
  await refused(ingress.publish(eventText()), "NotFound", /There is no topic "orders"/);
  const path = "/topics/:topic/api/events";
  const asked = ingress.ask("OPTIONS", path, { params: { topic: "orders" } });
  await refused(asked, "NotFound", /There is no topic "orders"/);
});

test("one bad event refuses the whole request", async () => {
  const ingress = await openPublishRoutes();
  const subscription = await ingress.subscribe();
  const body = `[${eventText()},${eventText({ subject: undefined })}]`;
  await refused(
    ingress.publish(body),
    "InputJsonInvalid",
    /Event at index 1: 'subject' is missing/,
  );
  await ingress.publish(eventText({ id: "good" }));
  const kept = await ingress.waiting(subscription);
  assert.deepEqual(
    kept.map(({ text }) => JSON.parse(text).id),
    ["good"],
  );
});

test("events that match nobody are accepted, counted and not kept", async () => {
  const store = new HeldStore();
  const ingress = await openPublishRoutes({ store });
  await ingress.subscribe({ filter: { ...filterForAll, subjectBeginsWith: "elsewhere" } });
  assert.deepEqual(await ingress.publish(`[${eventText()},${eventText()}]`), { status: 200 });
  assert.deepEqual(await ingress.publish("[]"), { status: 200 });
  assert.deepEqual(store.appended, []);
  assert.deepEqual(Object.fromEntries(ingress.counts), {
    'posthorn_published_events_total{topic="orders"}': 2,
    'posthorn_unmatched_events_total{topic="orders"}': 2,
  });
});

test("a publish is one fact and is counted by topic", async () => {
  const ingress = await openPublishRoutes();
  const filter = { ...filterForAll, includedEventTypes: ["recordInserted"] };
  await ingress.subscribe({ filter });
  await ingress.subscribe({ filter, name: "another" });
  const body = `[${eventText()},${eventText()},${eventText({ eventType: "x" })}]`;
  await ingress.publish(body, { params: { topic: "ORDERS" } });
  const fields = { topic: "orders", count: 3, bytes: body.length, deliveries: 4 };
  assert.deepEqual(factsOf(ingress), [["debug", "event.published", fields]]);
  assert.deepEqual(Object.fromEntries(ingress.counts), {
    'posthorn_published_events_total{topic="orders"}': 3,
    'eventgrid_matched_event_count_total{topic="orders",event_subscription_name="everything"}': 2,
    'eventgrid_matched_event_count_total{topic="orders",event_subscription_name="another"}': 2,
    'posthorn_matched_deliveries_total{topic="orders"}': 4,
    'posthorn_unmatched_events_total{topic="orders"}': 1,
  });
});

test("the topic may be named by the host, whatever follows its first label", async () => {
  const ingress = await openPublishRoutes();
  const subscription = await ingress.subscribe();
  const hosts = ["orders.westeurope-1.eventgrid.azure.net", "Orders.localhost:5888", "orders"];
  for (const host of hosts) {
    const headers = { host, "aeg-sas-key": key };
    const body = Buffer.from(eventText());
    assert.equal((await ingress.ask("POST", "/api/events", { headers, body })).status, 200);
  }
  assert.equal((await ingress.waiting(subscription)).length, hosts.length);
  for (const host of ["127.0.0.1:5888", "[::1]:5888", "", undefined]) {
    const headers = { host, "aeg-sas-key": key };
    await refused(
      ingress.ask("POST", "/api/events", { headers }),
      "NotFound",
      /^There is no topic /,
    );
  }
});

test("an unknown topic is not found, and is not made a label of a counter", async () => {
  const ingress = await openPublishRoutes();
  const asked = ingress.publish(eventText(), { params: { topic: "nowhere" } });
  await refused(asked, "NotFound", /^There is no topic "nowhere"\.$/);
  const fields = { topic: "unknown", code: "NotFound", reason: 'There is no topic "nowhere".' };
  assert.deepEqual(factsOf(ingress), [["info", "publish.refused", fields]]);
  assert.deepEqual(Object.fromEntries(ingress.counts), {
    'posthorn_publish_refused_total{topic="unknown",code="NotFound"}': 1,
  });
});

test("without a key nothing is read or kept, unless keys are switched off", async () => {
  const ingress = await openPublishRoutes();
  const subscription = await ingress.subscribe();
  await refused(
    ingress.publish("not JSON", { headers: {} }),
    "Unauthorized",
    /^Request must contain/,
  );
  assert.deepEqual(Object.fromEntries(ingress.counts), {
    'posthorn_publish_refused_total{topic="orders",code="Unauthorized"}': 1,
  });
  assert.deepEqual(await ingress.waiting(subscription), []);
  const open = await openPublishRoutes({ auth: false });
  assert.equal((await open.publish(eventText(), { headers: {} })).status, 200);
});

test("bytes that are not UTF-8 are refused, and a byte order mark is passed over", async () => {
  const ingress = await openPublishRoutes();
  const subscription = await ingress.subscribe();
  const broken = Buffer.from(eventText({ data: "é" }), "latin1");
  await refused(ingress.publish(broken), "InputJsonInvalid", /^The body is not valid UTF-8\.$/);
  await ingress.publish(`\ufeff${eventText({ data: "é😀" })}`);
  // A view into a larger buffer, as a socket may give it.
  const bytes = Buffer.from(`xx${eventText({ data: "second" })}xx`);
  await ingress.publish(new Uint8Array(bytes.buffer, bytes.byteOffset + 2, bytes.length - 4));
  const kept = await ingress.waiting(subscription);
  assert.deepEqual(
    kept.map(({ text }) => JSON.parse(text).data),
    ["é😀", "second"],
  );
});

test("a request above 1 MB is too large", async () => {
  const ingress = await openPublishRoutes();
  const body = Buffer.alloc(1_048_577, " ");
  await refused(
    ingress.publish(body),
    "PayloadTooLarge",
    /^The request is too large: at most 1048576/,
  );
});

test("a binary CloudEvent above 1 MB is too large", async () => {
  const ingress = await openPublishRoutes({ topic: { inputSchema: "CloudEventSchemaV1_0" } });
  const attributes = { "ce-specversion": "1.0", "ce-id": "1", "ce-source": "/", "ce-type": "t" };
  const headers = { "aeg-sas-key": key, "content-type": "image/png", ...attributes };
  await ingress.publish(Buffer.alloc(1_048_576), { headers });
  const asked = ingress.publish(Buffer.alloc(1_048_577), { headers });
  await refused(asked, "PayloadTooLarge", /^The request is too large: at most 1048576/);
});

test("what a full store refuses is not counted as published", async () => {
  class FullStore extends MemoryStore {
    override async append(): Promise<number[]> {
      throw new Refusal("TooManyRequests", "The queue is full.", { retryAfterMs: 250 });
    }
  }
  const ingress = await openPublishRoutes({ store: new FullStore() });
  await ingress.subscribe();
  const refusal = await refused(
    ingress.publish(eventText()),
    "TooManyRequests",
    /^The queue is full/,
  );
  assert.equal(refusal.retryAfterMs, 250);
  assert.deepEqual(Object.fromEntries(ingress.counts), {
    'posthorn_publish_refused_total{topic="orders",code="TooManyRequests"}': 1,
  });
});

test("a broker that is stopping refuses new publishes and says when to come back", async () => {
  let isOpen = true;
  const ingress = await openPublishRoutes({ isOpen: () => isOpen });
  await ingress.publish(eventText());
  isOpen = false;
  const refusal = await refused(
    ingress.publish(eventText()),
    "Unavailable",
    /^The broker is stopping/,
  );
  assert.equal(refusal.retryAfterMs, 5_000);
});

test("OPTIONS says what may be posted, without a key", async () => {
  const names = {
    EventGridSchema: "EventGridEvent",
    CloudEventSchemaV1_0: "CloudEventV10",
    CustomEventSchema: "CustomEvent",
  } as const;
  for (const [inputSchema, name] of Object.entries(names) as [InputSchema, string][]) {
    const ingress = await openPublishRoutes({ topic: { inputSchema } });
    const params = { topic: "orders" };
    assert.deepEqual(await ingress.ask("OPTIONS", "/topics/:topic/api/events", { params }), {
      status: 200,
      headers: { allow: "POST, OPTIONS", "aeg-input-event-schema": name },
    });
  }
  const ingress = await openPublishRoutes();
  await refused(ingress.ask("OPTIONS", "/api/events", {}), "NotFound", /^There is no topic/);
});

test("every answer on the publish routes names the API version", async () => {
  const { routes } = await openPublishRoutes();
  for (const { headers } of routes) {
    assert.deepEqual(headers, { "api-supported-versions": "2018-01-01" });
  }
});

const cloudEvent = '{"specversion":"1.0","id":"1","source":"/shop","type":"t","data":{"one":1.0}}';

test("an Event Grid topic takes any content type, as curl sends it", async () => {
  const ingress = await openPublishRoutes();
  const subscription = await ingress.subscribe();
  const types = ["application/x-www-form-urlencoded", "text/plain", "", undefined];
  for (const type of types) {
    const headers = { "aeg-sas-key": key, "content-type": type };
    assert.equal((await ingress.publish(eventText(), { headers })).status, 200);
  }
  assert.equal((await ingress.waiting(subscription)).length, types.length);
});

test("a CloudEvents topic takes single, batched and binary events", async () => {
  const ingress = await openPublishRoutes({ topic: { inputSchema: "CloudEventSchemaV1_0" } });
  const subscription = await ingress.subscribe({ deliverySchema: "CloudEventSchemaV1_0" });
  const publish = (type: string, body: string, more: Record<string, string> = {}) =>
    ingress.publish(body, { headers: { "aeg-sas-key": key, "content-type": type, ...more } });
  await publish("application/cloudevents+json; charset=utf-8", cloudEvent);
  await publish("application/json", cloudEvent);
  await publish("application/cloudevents-batch+json; charset=utf-8", `[${cloudEvent}]`);
  const attributes = {
    "ce-specversion": "1.0",
    "ce-id": "1",
    "ce-source": "/shop",
    "ce-type": "t",
  };
  await publish("application/json", '{"one":1.0}', attributes);
  await publish("text/plain", "one", attributes);
  const kept = await ingress.waiting(subscription);
  assert.deepEqual(
    kept.map(({ text }) => text),
    [
      cloudEvent,
      cloudEvent,
      cloudEvent,
      '{"specversion":"1.0","id":"1","source":"/shop","type":"t",' +
        '"datacontenttype":"application/json","data":{"one":1.0}}',
      '{"specversion":"1.0","id":"1","source":"/shop","type":"t",' +
        '"datacontenttype":"text/plain","data_base64":"b25l"}',
    ],
  );
});

test("a CloudEvents topic refuses what is not one, in the service's words", async () => {
  const ingress = await openPublishRoutes({ topic: { inputSchema: "CloudEventSchemaV1_0" } });
  const headers = { "aeg-sas-key": key };
  await refused(
    ingress.publish(cloudEvent, { headers }),
    "InvalidContentType",
    /^The Content-Type/,
  );
  const json = { ...headers, "content-type": "application/json" };
  const words = /requires 'specversion' property to be set\./;
  await refused(ingress.publish(eventText(), { headers: json }), "InputJsonInvalid", words);
  const binary = { ...json, "ce-id": "1" };
  const asked = ingress.publish("{}", { headers: binary });
  await refused(asked, "InvalidCloudEventHeader", /requires 'ce-specversion' header/);
  const broken = ingress.publish(Buffer.of(0x22, 0xff, 0x22), {
    headers: { ...json, "ce-specversion": "1.0", "ce-id": "1", "ce-source": "/", "ce-type": "t" },
  });
  await refused(broken, "InputJsonInvalid", /^The body is not valid UTF-8\.$/);
});

test("a custom topic maps what it is given", async () => {
  const mapping = {
    ...noMapping,
    id: { sourceField: "number" },
    eventType: { sourceField: "kind", defaultValue: null },
    subject: { sourceField: null, defaultValue: "DefaultSubject" },
    dataVersion: { sourceField: null, defaultValue: "1.0" },
  };
  const ingress = await openPublishRoutes({ topic: { inputSchema: "CustomEventSchema", mapping } });
  const filter = { ...filterForAll, includedEventTypes: ["Created"] };
  const subscription = await ingress.subscribe({ filter });
  await ingress.publish('[{"kind":"Created","number":1.0},{"kind":"Deleted","number":2}]');
  const [kept, ...others] = await ingress.waiting(subscription);
  assert.deepEqual(others, []);
  assert.equal(kept?.text, '{"kind":"Created","number":1.0}');
  assert.deepEqual(JSON.parse(kept?.envelope ?? ""), {
    id: "1.0",
    topic: topicArmId({ kind: "topic", name: "orders", place: localGroup }),
    subject: "DefaultSubject",
    eventType: "Created",
    eventTime: longInstant(openedAt),
    dataVersion: "1.0",
    metadataVersion: "1",
  });
  await refused(
    ingress.publish("{}"),
    "InputJsonInvalid",
    /'kind', the source field of 'eventType'/,
  );
});

test("events of a domain carry the ARM id of the topic they name", async () => {
  const ingress = await openPublishRoutes({ topic: { kind: "domain" } });
  const subscription = await ingress.subscribe();
  await ingress.publish(eventText({ topic: "foo" }));
  const ofFoo = await ingress.subscribe({ name: "foo-only", domainTopic: "foo" });
  const ofBar = await ingress.subscribe({ name: "bar-only", domainTopic: "bar" });
  await ingress.publish(eventText({ topic: "foo" }));
  const kept = await ingress.waiting(subscription);
  for (const { text } of kept) {
    assert.match(JSON.parse(text).topic, /\/domains\/orders\/topics\/foo$/);
  }
  assert.equal(kept.length, 2);
  assert.equal((await ingress.waiting(ofFoo)).length, 1);
  assert.equal((await ingress.waiting(ofBar)).length, 0);
  await refused(ingress.publish(eventText()), "InputJsonInvalid", /requires 'topic' property/);
});

test("a body may come as gzip", async () => {
  const ingress = await openPublishRoutes();
  const subscription = await ingress.subscribe();
  for (const encoding of ["gzip", "GZIP", "x-gzip"]) {
    const headers = { "aeg-sas-key": key, "content-encoding": encoding };
    await ingress.publish(gzipSync(eventText()), { headers });
  }
  const headers = { "aeg-sas-key": key, "content-encoding": "identity" };
  await ingress.publish(eventText(), { headers });
  assert.equal((await ingress.waiting(subscription)).length, 4);
  const bytes = Buffer.byteLength(eventText());
  assert.deepEqual(
    ingress.facts.map(({ fields }) => fields.bytes),
    [bytes, bytes, bytes, bytes],
  );
});

test("what a gzip body holds is bounded like any other", async () => {
  const ingress = await openPublishRoutes();
  const subscription = await ingress.subscribe();
  const headers = { "aeg-sas-key": key, "content-encoding": "gzip" };
  const whole = eventText() + " ".repeat(1_048_576 - Buffer.byteLength(eventText()));
  await ingress.publish(gzipSync(whole), { headers });
  assert.equal((await ingress.waiting(subscription)).length, 1);
  const words = /^The request is too large: at most 1048576/;
  await refused(ingress.publish(gzipSync(`${whole} `), { headers }), "PayloadTooLarge", words);
  // A thousandfold: 200 MB in 200 kB.
  const bomb = gzipSync(Buffer.alloc(200_000_000));
  assert.ok(bomb.length < 1_048_576);
  await refused(ingress.publish(bomb, { headers }), "PayloadTooLarge", words);
  // Its second half is not even read.
  const half = bomb.subarray(0, bomb.length / 2);
  await refused(ingress.publish(half, { headers }), "PayloadTooLarge", words);
});

test("a body that is not what its encoding says, or of another encoding, is refused", async () => {
  const ingress = await openPublishRoutes();
  const publish = (encoding: string, body: Uint8Array) =>
    ingress.publish(body, { headers: { "aeg-sas-key": key, "content-encoding": encoding } });
  const packed = gzipSync(eventText());
  for (const body of [Buffer.from(eventText()), packed.subarray(0, -9), Buffer.of()]) {
    await refused(publish("gzip", body), "InputJsonInvalid", /^The body is not valid gzip\.$/);
  }
  for (const encoding of ["deflate", "br", "gzip, gzip", "zstd"]) {
    const words = /^The Content-Encoding must be 'gzip' or 'identity'/;
    await refused(publish(encoding, packed), "InvalidContentEncoding", words);
  }
});

test("nothing is unpacked for who has no key", async () => {
  const ingress = await openPublishRoutes();
  const headers = { "content-encoding": "gzip" };
  await refused(ingress.publish("no gzip", { headers }), "Unauthorized", /^Request must contain/);
});

test("an API version may be left out or be any, as long as it can be one", async () => {
  const ingress = await openPublishRoutes();
  const versions = ["2018-01-01", "2024-06-01", "2025-07-15-preview", undefined];
  for (const version of versions) {
    const query = version === undefined ? {} : { "api-version": version };
    assert.equal((await ingress.publish(eventText(), { query })).status, 200);
  }
  for (const version of ["", "1", "latest", "2018-1-1", "2018-01-01 "]) {
    const asked = ingress.publish(eventText(), { query: { "Api-Version": version } });
    await refused(asked, "InvalidApiVersion", /^'api-version' must be left out or be a date such/);
  }
});

test("a publish to a partner's channel is refused by name", async () => {
  const ingress = await openPublishRoutes();
  const asked = ingress.publish(eventText(), {
    headers: { "aeg-sas-key": key, "aeg-channel-name": "c" },
  });
  await refused(asked, "InvalidSetting", /^'aeg-channel-name' must be left out: Posthorn has no/);
});

test("a trace context sent with a publish is kept with each of its events", async () => {
  const ingress = await openPublishRoutes();
  const subscription = await ingress.subscribe();
  const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const publish = (headers: Readonly<Record<string, string>>, body = eventText()) =>
    ingress.publish(body, { headers: { "aeg-sas-key": key, ...headers } });
  await publish({ traceparent: parent, tracestate: "a=1" }, `[${eventText()},${eventText()}]`);
  await publish({ traceparent: parent });
  await publish({ tracestate: "a=1" });
  await publish({ traceparent: `${parent}, ${parent}`, tracestate: "a=1" });
  await publish({ traceparent: parent, tracestate: "no state" });
  assert.deepEqual(
    (await ingress.waiting(subscription)).map(({ trace }) => trace),
    [
      { parent, state: "a=1" },
      { parent, state: "a=1" },
      { parent, state: null },
      null,
      null,
      { parent, state: null },
    ],
  );
});

test("who may not publish is refused by the head alone, and logged and counted once", async () => {
  const table: [
    topic: Parameters<typeof openPublishRoutes>[0],
    head: Partial<RequestHead>,
    code: RefusalCode,
  ][] = [
    [{}, { params: { topic: "none" } }, "NotFound"],
    [{}, { headers: { "aeg-sas-key": "wrong" } }, "Unauthorized"],
    [{}, { headers: { "aeg-sas-token": "r=x" } }, "Unauthorized"],
    [{}, { headers: { authorization: "Bearer x" } }, "Unauthorized"],
    [{}, { headers: {} }, "Unauthorized"],
    [{ topic: { inboundIpRules: ["10.0.0.0/8"] } }, {}, "Forbidden"],
    [{ topic: { publicNetworkAccess: false } }, {}, "Forbidden"],
    [{ isOpen: () => false }, {}, "Unavailable"],
  ];
  for (const [options, changes, code] of table) {
    const ingress = await openPublishRoutes(options);
    const [route] = ingress.routes;
    const head: RequestHead = {
      method: "POST",
      params: { topic: "orders" },
      query: {},
      headers: { "aeg-sas-key": key },
      remote: "127.0.0.1",
      scheme: "http",
      ...changes,
    };
    await assert.rejects(async () => await route?.judge?.(head), { code });
    assert.equal(ingress.facts.filter(({ name }) => name === "publish.refused").length, 1, code);
    const [count] = [...ingress.counts].filter(([name]) => name.includes("refused"));
    assert.equal(count?.[1], 1, code);
  }
});

test("a topic that goes while the body comes takes no events", async () => {
  const ingress = await openPublishRoutes();
  const [route] = ingress.routes;
  const head = { method: "POST", query: {}, remote: "", scheme: "http" } as const;
  const params = { topic: "orders" };
  const take = await route?.judge?.({ ...head, params, headers: { "aeg-sas-key": key } });
  assert.ok(typeof take === "function");
  await ingress.removeTopic();
  await assert.rejects(async () => await take(Buffer.from(eventText())), { code: "NotFound" });
});

test("where no key is asked for, pages of elsewhere and names of their own get nothing", async () => {
  const table: [headers: Record<string, string>, isFine: boolean][] = [
    [{ host: "localhost:5888" }, true],
    // An official client, led here by the hosts file.
    [{ host: "orders.westeurope-1.eventgrid.azure.net" }, true],
    [{ host: "localhost:5888", origin: "http://localhost:5888" }, true],
    [{ host: "localhost:5888", origin: "http://evil.example" }, false],
    [{ host: "localhost:5888", "sec-fetch-site": "cross-site" }, false],
    [{ host: "evil.example", origin: "http://evil.example" }, false],
    [{ host: "evil.example", "sec-fetch-site": "same-origin" }, false],
  ];
  for (const [headers, isFine] of table) {
    const door = await openPublishRoutes({ auth: false });
    const asked = door.publish(eventText(), { headers });
    if (isFine) assert.deepEqual(await asked, { status: 200 }, JSON.stringify(headers));
    else await refused(asked, "Forbidden", /another origin|does not answer for/);
    // A client with a key may publish from anywhere.
    const guarded = await openPublishRoutes();
    await guarded.publish(eventText(), { headers: { ...headers, "aeg-sas-key": key } });
  }
});

test("each event is noted with its place in the store, or with none", async () => {
  const notes: StoryNote[] = [];
  const ingress = await openPublishRoutes({ chronicle: { note: (note) => notes.push(note) } });
  const filter = { ...filterForAll, subjectBeginsWith: "/wanted" };
  const { id } = await ingress.subscribe({ filter });
  const subjects = ["/wanted/1", "/other", "/wanted/2", "/wanted/3"];
  await ingress.publish(`[${subjects.map((subject) => eventText({ subject }))}]`);
  const told = notes.map((note) => (note.kind === "accepted" ? note : assert.fail(note.kind)));
  const [first] = told;
  assert.ok(first?.number != null);
  assert.deepEqual(
    told.map(({ subject, number, to }) => [subject, number && number - Number(first.number), to]),
    [
      ["/wanted/1", 0, [id]],
      ["/other", null, []],
      ["/wanted/2", 1, [id]],
      ["/wanted/3", 2, [id]],
    ],
  );
});

test("a publish is linked to the traces of its events when they have several", async () => {
  const spans: SpanDraft[] = [];
  const ends: unknown[] = [];
  const trace = { parent: `00-${"9".repeat(32)}-${"9".repeat(16)}-01`, state: null };
  const tracer: Tracer = {
    begin(span) {
      spans.push(span);
      return { trace, end: (_, { error, attributes }) => void ends.push([error, attributes]) };
    },
  };
  const ingress = await openPublishRoutes({
    tracer,
    topic: { inputSchema: "CloudEventSchemaV1_0" },
  });
  const eventOf = (digit: string) => ({
    ...{ specversion: "1.0", id: digit, type: "t", source: "/s" },
    traceparent: `00-${digit.repeat(32)}-${digit.repeat(16)}-01`,
  });
  const headers = {
    "aeg-sas-key": key,
    "content-type": "application/cloudevents-batch+json",
  };
  const parents = async (...digits: string[]) => {
    await ingress.publish(JSON.stringify(digits.map(eventOf)), { headers });
    const { parent, links } = spans.pop() as SpanDraft;
    return [parent, ...links].map((each) => each?.parent.slice(3, 5) ?? null);
  };
  assert.deepEqual(await parents("1", "2"), [null, "11", "22"]);
  assert.deepEqual(await parents("3", "3"), ["33"]);
  await assert.rejects(ingress.publish("no JSON", { headers }));
  assert.equal(spans.pop()?.name, "publish orders", "a refused one is named, too");
  const two = { "messaging.batch.message_count": 2 };
  assert.deepEqual(ends, [
    [null, two],
    [null, two],
    ["InputJsonInvalid", undefined],
  ]);
});

class SharedStore extends MemoryStore {
  readonly isShared = true;
}

test("what another broker has changed meanwhile holds for the next publish", async () => {
  const store = new SharedStore();
  const ingress = await openPublishRoutes({ store });
  const first = await ingress.subscribe();
  const { id: _, revision: __, ...draft } = first;
  const second = await store.putSubscription({ ...draft, name: "second" });
  await ingress.publish(eventText());
  assert.equal((await ingress.waiting(second)).length, 1);
  assert.equal((await ingress.waiting(first)).length, 1);
  await store.removeSubscription(first.id);
  await store.removeSubscription(second.id);
  await ingress.publish(eventText());
  const third = await store.putSubscription({ ...draft, name: "third" });
  await ingress.publish(eventText());
  assert.equal((await ingress.waiting(third)).length, 1, "though nobody wanted the one before");
});

test("a key that another broker has taken back opens no more", async () => {
  const store = new SharedStore();
  const ingress = await openPublishRoutes({ store });
  await ingress.subscribe();
  const [topic] = (await store.catalog()).topics;
  assert.ok(topic);
  const { revision: _, ...draft } = topic;
  await store.putTopic({ ...draft, key1: "bmV3", key2: "bmV3ZXI=" });
  await refused(ingress.publish(eventText()), "Unauthorized", /./);
});

test("a topic that another broker has removed takes no more", async () => {
  const store = new SharedStore();
  const ingress = await openPublishRoutes({ store });
  const subscription = await ingress.subscribe();
  await store.removeTopic(subscription.topic);
  await refused(ingress.publish(eventText()), "NotFound", /There is no topic/);
});

test("a topic that changes with every try is refused for now", async () => {
  class RestlessStore extends SharedStore {
    tries = 0;

    override async append(...given: Parameters<MemoryStore["append"]>) {
      this.tries += 1;
      const { topics } = await this.catalog();
      for (const { revision: _, ...draft } of topics) await this.putTopic(draft);
      return await super.append(...given);
    }
  }
  const store = new RestlessStore();
  const ingress = await openPublishRoutes({ store });
  const refusal = await refused(ingress.publish(eventText()), "Unavailable", /all the time/);
  assert.equal(refusal.retryAfterMs, 1_000);
  assert.equal(store.tries, 5);
});
