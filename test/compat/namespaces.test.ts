// The official client of namespaces, unmodified, against the real program: every operation, in
// plain HTTP and over TLS, with every credential it knows. What the client cannot send is tried
// with plain requests.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { generateSharedAccessSignature } from "@azure/eventgrid";
import {
  AzureKeyCredential,
  type CloudEvent,
  EventGridReceiverClient,
  EventGridSenderClient,
} from "@azure/eventgrid-namespaces";
import { type CompatBroker, key1, key2, openCompatBroker, signIn } from "./broker.ts";

let broker: CompatBroker;

const queue = (over: object = {}) => ({
  deliveryConfiguration: { deliveryMode: "Queue", queue: over },
});

before(async () => {
  const topic = (subscriptions: object) => ({ subscriptions });
  const names = [
    ...["plain", "secure", "settled", "released", "rejected", "renewed", "shared", "tokens"],
    ...["wire", "waits", "gone", "signed", "many"],
  ];
  const topics = Object.fromEntries(names.map((name) => [name, topic({ all: queue() })]));
  const filtersConfiguration = {
    includedEventTypes: ["wanted"],
    filters: [{ operatorType: "StringBeginsWith", key: "subject", values: ["orders/"] }],
  };
  broker = await openCompatBroker({}, [], {
    namespaces: {
      shop: {
        ...{ key1, key2 },
        topics: {
          ...topics,
          filtered: topic({ some: { ...queue(), filtersConfiguration } }),
          few: topic({ all: queue({ maxDeliveryCount: 2 }) }),
          own: { ...topic({ all: queue() }), key1: "b3duIGtleQ==" },
        },
      },
      other: { key1: "b3RoZXI=", topics: { elsewhere: topic({ all: queue() }) } },
    },
  });
});

after(() => broker?.close());

const retryOptions = { maxRetries: 0 };

function optionsFor(base: string) {
  const isPlain = base.startsWith("http:");
  return { allowInsecureConnection: isPlain, retryOptions, tlsOptions: { ca: broker.ca } };
}

function clientsFor(topic: string, base = broker.http, key = key1, subscription = "all") {
  const credential = new AzureKeyCredential(key);
  return {
    sender: new EventGridSenderClient(base, credential, topic, optionsFor(base)),
    receiver: new EventGridReceiverClient(
      ...([base, credential, topic, subscription, optionsFor(base)] as const),
    ),
  };
}

function event(id: string, over: Partial<CloudEvent<unknown>> = {}): CloudEvent<unknown> {
  return { id, type: "wanted", source: "/s", data: { n: 1 }, subject: "orders/1", ...over };
}

/** A request as the client makes it, without the client. */
async function post(path: string, init: RequestInit & { key?: string } = {}) {
  const { key = key1, headers, ...rest } = init;
  const url = `${broker.http}${path}${path.includes("?") ? "&" : "?"}api-version=2024-06-01`;
  const answer = await fetch(url, {
    method: "POST",
    ...rest,
    headers: { authorization: `SharedAccessKey ${key}`, ...headers },
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: text && JSON.parse(text) };
}

/** What the client tells its user of a refusal. */
async function refusalOf(asking: Promise<unknown>) {
  return (await asking.then(
    () => assert.fail("it was accepted"),
    (reason: unknown) => reason,
  )) as { statusCode: number; code: string; message: string };
}

const short = { maxWaitTime: 10, maxEvents: 10 };

test("publish and receive, in plain HTTP and over TLS (N-2, N-6, N-10, N-25)", async () => {
  for (const [topic, base] of [
    ["plain", broker.http],
    ["secure", broker.https],
  ] as const) {
    const { sender, receiver } = clientsFor(topic, base);
    const time = new Date("2030-01-02T03:04:05.678Z");
    await sender.sendEvents(event("one", { time, dataSchema: "urn:s" }));
    await sender.sendEvents([event("two"), event("three", { data: "text" })]);
    await sender.sendEvents([]);
    const { details } = await receiver.receiveEvents(short);
    assert.deepEqual(
      details.map(({ event: { id } }) => id),
      ["one", "two", "three"],
    );
    const [first] = details;
    assert.ok(first);
    assert.equal(first.brokerProperties.deliveryCount, 1);
    assert.ok(first.brokerProperties.lockToken.length <= 100);
    assert.deepEqual(first.event.time, time);
    assert.deepEqual(first.event.data, { n: 1 });
    assert.equal(first.event.subject, "orders/1");
    assert.equal(first.event.dataSchema, "urn:s");
    const tokens = details.map(({ brokerProperties }) => brokerProperties.lockToken);
    const { succeededLockTokens, failedLockTokens } = await receiver.acknowledgeEvents(tokens);
    assert.deepEqual(succeededLockTokens, tokens);
    assert.deepEqual(failedLockTokens, []);
  }
});

test("one event at a time unless more are asked for, and never the same twice", async () => {
  const { sender, receiver } = clientsFor("shared");
  await sender.sendEvents(Array.from({ length: 20 }, (_, index) => event(`e${index}`)));
  const one = await receiver.receiveEvents();
  assert.equal(one.details.length, 1);
  const rest = await Promise.all(
    Array.from({ length: 5 }, () => receiver.receiveEvents({ maxEvents: 4, maxWaitTime: 10 })),
  );
  const ids = [one, ...rest].flatMap(({ details }) => details.map(({ event: { id } }) => id));
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(ids.length, 20);
});

async function receiveOne(receiver: EventGridReceiverClient) {
  const { details } = await receiver.receiveEvents({ maxEvents: 1, maxWaitTime: 60 });
  assert.ok(details[0]);
  const { brokerProperties, event: got } = details[0];
  return { token: brokerProperties.lockToken, count: brokerProperties.deliveryCount, id: got.id };
}

test("an acknowledged event is gone, and its token with it (N-29, N-30, N-38)", async () => {
  const { sender, receiver } = clientsFor("settled");
  await sender.sendEvents(event("a"));
  const { token } = await receiveOne(receiver);
  await receiver.acknowledgeEvents([token]);
  const again = await receiver.acknowledgeEvents([token, "nonsense"]);
  assert.deepEqual(again.succeededLockTokens, []);
  assert.deepEqual(
    again.failedLockTokens.map(({ lockToken, error }) => [lockToken, error.code]),
    [
      [token, "TokenLost"],
      ["nonsense", "BadToken"],
    ],
  );
});

test("a released event comes again at once, counted, with a new token (N-35, N-37)", async () => {
  const { sender, receiver } = clientsFor("released");
  await sender.sendEvents(event("a"));
  const first = await receiveOne(receiver);
  const { succeededLockTokens } = await receiver.releaseEvents([first.token]);
  assert.deepEqual(succeededLockTokens, [first.token]);
  const second = await receiveOne(receiver);
  assert.deepEqual([second.id, second.count], ["a", 2]);
  assert.notEqual(second.token, first.token);
  const delayed = await receiver.releaseEvents([second.token], { releaseDelay: "10" });
  assert.deepEqual(delayed.succeededLockTokens, [second.token]);
  const refusal = await refusalOf(receiver.releaseEvents([second.token], { releaseDelay: "7" }));
  assert.equal(refusal.statusCode, 400);
  assert.match(refusal.message, /releaseDelayInSeconds must be 0, 10, 60, 600 or 3600/);
});

test("a rejected event does not come again (N-39)", async () => {
  const { sender, receiver } = clientsFor("rejected");
  await sender.sendEvents([event("bad"), event("good")]);
  const { token } = await receiveOne(receiver);
  const { succeededLockTokens } = await receiver.rejectEvents([token]);
  assert.deepEqual(succeededLockTokens, [token]);
  assert.equal((await receiveOne(receiver)).id, "good");
});

test("a renewed lock keeps its token and its count (N-40)", async () => {
  const { sender, receiver } = clientsFor("renewed");
  await sender.sendEvents(event("a"));
  const { token } = await receiveOne(receiver);
  const { succeededLockTokens } = await receiver.renewEventLocks([token]);
  assert.deepEqual(succeededLockTokens, [token]);
  const acknowledged = await receiver.acknowledgeEvents([token]);
  assert.deepEqual(acknowledged.succeededLockTokens, [token]);
});

test("handed out as often as allowed, it is gone with the last release (N-36)", async () => {
  const { sender, receiver } = clientsFor("few");
  await sender.sendEvents(event("a"));
  const first = await receiveOne(receiver);
  await receiver.releaseEvents([first.token]);
  const second = await receiveOne(receiver);
  assert.equal(second.count, 2);
  const { succeededLockTokens } = await receiver.releaseEvents([second.token]);
  assert.deepEqual(succeededLockTokens, [second.token]);
  await sender.sendEvents(event("b"));
  assert.equal((await receiveOne(receiver)).id, "b");
});

test("a request waits for the next event, and many wait in line (N-23, N-44)", async () => {
  const { sender, receiver } = clientsFor("waits");
  const waiting = Array.from({ length: 5 }, () => receiveOne(receiver));
  for (const id of ["a", "b", "c", "d", "e"]) await sender.sendEvents(event(id));
  const got = await Promise.all(waiting);
  assert.deepEqual(got.map(({ id }) => id).toSorted(), ["a", "b", "c", "d", "e"]);
});

/** Resolves when so many requests wait for events, by what the broker says. */
async function receiversWait(count: number): Promise<void> {
  for (let found = -1; found !== count; ) {
    const page = await (await fetch(`${broker.http}/metrics`)).text();
    const lines = page.matchAll(/^posthorn_waiting_receivers\{.*\} (\d+)$/gm);
    found = lines.reduce((sum, [, each]) => sum + Number(each), 0);
  }
}

test("a client that hangs up while it waits loses nothing (N-44)", async () => {
  const { sender, receiver } = clientsFor("gone");
  const hangUp = new AbortController();
  const waiting = receiver.receiveEvents({ maxWaitTime: 60, abortSignal: hangUp.signal });
  const waited = refusalOf(waiting);
  await receiversWait(1);
  hangUp.abort();
  await waited;
  await receiversWait(0);
  await sender.sendEvents(event("a"));
  assert.equal((await receiveOne(receiver)).count, 1);
});

test("only what the filters want is there (N-76 to N-78)", async () => {
  const { sender, receiver } = clientsFor("filtered", broker.http, key1, "some");
  await sender.sendEvents([
    event("wrong type", { type: "other" }),
    event("wrong subject", { subject: "returns/1" }),
    event("right", { subject: "Orders/9" }),
  ]);
  const { details } = await receiver.receiveEvents(short);
  assert.deepEqual(
    details.map(({ event: { id } }) => id),
    ["right"],
  );
});

test("keys of the namespace open all of it, and a topic's its own (N-9, N-19)", async () => {
  await clientsFor("own", broker.http, key2).sender.sendEvents(event("a"));
  const own = clientsFor("own", broker.http, "b3duIGtleQ==");
  assert.equal((await receiveOne(own.receiver)).id, "a");
  const foreign = clientsFor("plain", broker.http, "b3duIGtleQ==");
  const refusal = await refusalOf(foreign.sender.sendEvents(event("a")));
  assert.deepEqual([refusal.statusCode, refusal.code], [401, "Unauthorized"]);
});

test("a bearer token opens it, over TLS only for the client's sake (N-7, Q-2)", async () => {
  const token = await signIn(broker);
  const credential = {
    getToken: async () => ({ token, expiresOnTimestamp: Date.now() + 3_600_000 }),
  };
  const options = optionsFor(broker.https);
  const base = broker.https;
  await new EventGridSenderClient(base, credential, "many", options).sendEvents(event("a"));
  const receiver = new EventGridReceiverClient(base, credential, "many", "all", options);
  assert.equal((await receiveOne(receiver)).id, "a");
});

test("a signature opens what lies below its resource (N-8)", async () => {
  const inAnHour = new Date(Date.now() + 3_600_000);
  const signed = (path: string) =>
    generateSharedAccessSignature(`${broker.http}${path}`, new AzureKeyCredential(key1), inAnHour);
  const send = async (sas: string, path: string) => {
    const headers = {
      authorization: `SharedAccessSignature ${sas}`,
      "content-type": "application/cloudevents+json",
    };
    const body = JSON.stringify({ id: "1", source: "/s", type: "t", specversion: "1.0" });
    return (await post(path, { headers, body })).status;
  };
  const publish = "/topics/signed:publish";
  const receive = "/topics/signed/eventsubscriptions/all:receive?maxWaitTime=10";
  assert.equal(await send(await signed(""), publish), 200);
  assert.equal(await send(await signed("/topics/signed"), publish), 200);
  assert.equal(await send(await signed("/topics/sign"), publish), 401);
  assert.equal(await send(await signed("/topics/signed/eventsubscriptions/all"), publish), 401);
  assert.equal(await send(await signed("/topics/signed/eventsubscriptions/all"), receive), 200);
  assert.equal(await send(await signed("/topics/signed/eventsubscriptions/al"), receive), 401);
});

test("a namespace is found by path, by host name, or as the only one (N-3)", async () => {
  const body = JSON.stringify({ id: "1", source: "/s", type: "t", specversion: "1.0" });
  const headers = { "content-type": "application/cloudevents+json" };
  const at = async (path: string, key: string, host?: string) => {
    const more = host === undefined ? {} : { host };
    return (await post(path, { key, body, headers: { ...headers, ...more } })).status;
  };
  assert.equal(await at("/topics/elsewhere:publish", "b3RoZXI="), 200);
  assert.equal(await at("/namespaces/other/topics/elsewhere:publish", "b3RoZXI="), 200);
  assert.equal(await at("/NAMESPACES/Other/Topics/Elsewhere:Publish", "b3RoZXI="), 200);
  assert.equal(await at("/namespaces/shop/topics/elsewhere:publish", key1), 404);
  assert.equal(await at("/namespaces/none/topics/elsewhere:publish", key1), 404);
});

test("binary events, extensions and what the client drops (N-10, N-12, N-26, Q-7)", async () => {
  const ce = { "ce-specversion": "1.0", "ce-id": "b1", "ce-source": "/s", "ce-type": "t" };
  const binary = await post("/topics/wire:publish", {
    headers: { ...ce, "ce-foo": "bar", "content-type": "application/json" },
    body: '{"a":1}',
  });
  assert.deepEqual([binary.status, binary.body], [200, {}]);
  await post("/topics/wire:publish", {
    headers: { ...ce, "ce-id": "b2", "content-type": "application/octet-stream" },
    body: Buffer.from([0, 1, 2]),
  });
  const { body } = await post("/topics/wire/eventsubscriptions/all:receive?maxEvents=10");
  const events = body.value.map((each: { event: object }) => each.event);
  assert.deepEqual(events, [
    {
      ...{ specversion: "1.0", id: "b1", source: "/s", type: "t", foo: "bar" },
      ...{ datacontenttype: "application/json", data: { a: 1 } },
    },
    {
      ...{ specversion: "1.0", id: "b2", source: "/s", type: "t" },
      ...{ datacontenttype: "application/octet-stream", data_base64: "AAEC" },
    },
  ]);
});

test("refusals have the body that clients need (N-5, N-16 to N-18, N-22, N-28, N-31)", async () => {
  const receive = "/topics/tokens/eventsubscriptions/all:receive";
  const settle = "/topics/tokens/eventsubscriptions/all:acknowledge";
  const cases: [number, string, RequestInit?][] = [
    [400, `${receive}?maxEvents=101`],
    [400, `${receive}?maxEvents=0`],
    [400, `${receive}?maxWaitTime=9`],
    [400, `${receive}?maxWaitTime=121`],
    [404, "/topics/tokens/eventsubscriptions/none:receive"],
    [404, "/topics/none/eventsubscriptions/all:receive"],
    [404, "/topics/none:publish"],
    [404, "/topics/tokens:burn"],
    [400, settle, { body: "{}" }],
    [400, settle, { body: "" }],
    [400, settle, { body: '{"lockTokens":[1]}' }],
    [
      400,
      "/topics/tokens:publish",
      { body: "{}", headers: { "content-type": "application/json" } },
    ],
    [415, "/topics/tokens:publish", { body: "x", headers: { "content-type": "text/plain" } }],
  ];
  for (const [status, path, init] of cases) {
    const answer = await post(path, init);
    assert.equal(answer.status, status, path);
    const { code, message } = answer.body.error;
    assert.equal(answer.headers.get("x-ms-error-code"), code, path);
    assert.ok(message.length > 10, path);
  }
  const unversioned = await fetch(`${broker.http}${receive}`, { method: "POST" });
  assert.equal(unversioned.status, 400);
  const empty = await post(settle, { body: '{"lockTokens":[]}' });
  assert.deepEqual(empty.body, { succeededLockTokens: [], failedLockTokens: [] });
});
