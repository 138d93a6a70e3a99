// Pausing, draining and skipping through our own API, end to end: the real program on the virtual
// clock, with real endpoints, through pauses, drains, skips, attempts on demand, and a crash.

import assert from "node:assert/strict";
import { test } from "node:test";
import { openReceiver, type Received } from "./fixtures/receiver.ts";
import { type Json, openVirtualBroker, startAt } from "./fixtures/virtual-broker.ts";

const webHook = (url: string, more: Json = {}) => ({
  endpointType: "WebHook",
  properties: { endpointUrl: `${url}/hook`, ...more },
});
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `e${index}`);
const idsIn = ({ body }: Received) => (JSON.parse(body) as Json[]).map(({ id }) => String(id));
const billing = "/topics/orders/subscriptions/billing";

test("a paused subscription keeps its backlog over a crash, and goes on when it is resumed", async (t) => {
  const receiver = await openReceiver(t);
  const broker = await openVirtualBroker(t, { billing: { destination: webHook(receiver.url) } });
  const paused = await broker.api("POST", `${billing}/pause`);
  assert.deepEqual(paused.flow, { kind: "paused", since: startAt });
  await broker.publish(...numbered(50));
  await broker.advance("P3D");
  assert.equal(receiver.received.length, 0);
  await broker.restart();
  await broker.publish("late");
  const seen = await broker.api("GET", billing);
  assert.equal(seen.waiting, 51);
  assert.deepEqual(seen.flow, paused.flow);
  const resumed = await broker.api("POST", `${billing}/resume`);
  assert.deepEqual(resumed.flow, { kind: "running" });
  await broker.advance("PT1M");
  const got = receiver.received.length;
  assert.equal(got, 51, "three days old with a life of one, and none is lost (R-6)");
  await broker.program.told("delivery.attempted", 51);
  assert.ok(broker.program.facts.every(({ fact }) => fact !== "delivery.dropped"));
});

test("ARM shows how a subscription runs, and a write through it keeps that", async (t) => {
  const receiver = await openReceiver(t);
  const broker = await openVirtualBroker(t, {});
  const properties = { destination: webHook(receiver.url) };
  await broker.arm("PUT", "/billing", { properties });
  await broker.api("POST", `${billing}/pause`);
  const read = async () => ((await broker.arm("GET", "/billing")).properties as Json).posthorn;
  assert.deepEqual(await read(), { flow: { kind: "paused", since: startAt } });
  await broker.arm("PUT", "/billing", { properties: { ...properties, labels: ["a"] } });
  assert.deepEqual(await read(), { flow: { kind: "paused", since: startAt } });
  await broker.publish("a");
  assert.equal(receiver.received.length, 0);
  await broker.api("POST", `${billing}/resume`);
  assert.equal(await read(), undefined);
  await broker.advance("PT0S");
  assert.equal(receiver.received.length, 1);
});

test("a subscription that a file declares stays paused when the file is read again", async (t) => {
  const receiver = await openReceiver(t);
  const broker = await openVirtualBroker(t, { billing: { destination: webHook(receiver.url) } });
  await broker.api("POST", `${billing}/pause`);
  await broker.restart();
  assert.equal(((await broker.api("GET", billing)).flow as Json).kind, "paused");
});

test("a drain goes at its rate, and then the subscription runs freely by itself", async (t) => {
  const receiver = await openReceiver(t);
  const broker = await openVirtualBroker(t, { billing: { destination: webHook(receiver.url) } });
  await broker.api("POST", `${billing}/pause`);
  await broker.publish(...numbered(20));
  const draining = await broker.api("POST", `${billing}/drain`, { perSecond: 2 });
  assert.deepEqual(draining.flow, { kind: "draining", perSecond: 2 });
  await broker.advance("PT5S");
  assert.equal(receiver.received.length, 11, "one at once, and two a second");
  await broker.advance("PT10S");
  await broker.program.told("subscription.drained");
  assert.equal(receiver.received.length, 20);
  assert.deepEqual((await broker.api("GET", billing)).flow, { kind: "running" });
  await broker.publish(...numbered(20));
  assert.equal(receiver.received.length, 40, "all at once again");
});

test("skipping drops what waits and counts it; what comes later is delivered", async (t) => {
  const receiver = await openReceiver(t);
  const broker = await openVirtualBroker(t, { billing: { destination: webHook(receiver.url) } });
  receiver.answer = () => 503;
  await broker.publish(...numbered(5));
  await broker.api("POST", `${billing}/pause`);
  await broker.publish("x", "y");
  assert.deepEqual(await broker.api("POST", `${billing}/skip`), { skipped: 7 });
  receiver.answer = () => 200;
  await broker.api("POST", `${billing}/resume`);
  const before = receiver.received.length;
  await broker.publish("new");
  await broker.advance("P2D");
  assert.deepEqual(receiver.received.slice(before).map(idsIn), [["new"]]);
  await broker.program.told("deliveries.dropped");
  const fact = broker.program.facts.find(({ fact }) => fact === "deliveries.dropped");
  assert.equal(fact?.count, 7);
  assert.equal(fact?.reason, "Skipped");
  assert.match(
    await broker.metrics(),
    /posthorn_dropped_events_total\{[^}]*reason="Skipped"[^}]*\} 7/,
  );
  assert.deepEqual(await broker.api("POST", `${billing}/skip`), { skipped: 0 });
});

test("an attempt may be asked for now, for one event or for all, and never past a pause", async (t) => {
  const receiver = await openReceiver(t);
  const broker = await openVirtualBroker(t, { billing: { destination: webHook(receiver.url) } });
  receiver.answer = () => 503;
  await broker.publish("a", "b", "c");
  await broker.advance("PT40S");
  const before = receiver.received.length;
  receiver.answer = () => 200;
  const event = receiver.received.find((request) => idsIn(request)[0] === "b")?.headers[
    "aeg-output-event-id"
  ];
  assert.deepEqual(await broker.api("POST", `${billing}/hasten`, { event }), { hastened: 1 });
  await broker.advance("PT0S");
  assert.deepEqual(receiver.received.slice(before).map(idsIn), [["b"]]);
  await broker.api("POST", `${billing}/pause`);
  const refused = await broker.api("POST", `${billing}/hasten`, {}, 409);
  assert.match(String((refused.error as Json).message), /paused since 2030-01-01/);
  await broker.api("POST", `${billing}/resume`);
  assert.deepEqual(await broker.api("POST", `${billing}/hasten`, {}), { hastened: 2 });
  await broker.advance("PT0S");
  assert.equal(receiver.received.length, before + 3);
  const gone = await broker.api("POST", `${billing}/hasten`, { event }, 404);
  assert.match(String((gone.error as Json).message), /does not wait/);
});

test("what cannot be done is refused in words", async (t) => {
  const broker = await openVirtualBroker(t, {
    billing: { destination: webHook("http://127.0.0.1:9") },
  });
  const said = async (path: string, body: unknown, status: number) =>
    String(((await broker.api("POST", path, body, status)).error as Json).message);
  assert.match(await said(`${billing}/drain`, {}, 400), /perSecond must be a number of events/);
  assert.match(await said(`${billing}/drain`, { perSecond: 0 }, 400), /from 0.01 to 10000/);
  assert.match(await said(`${billing}/drain`, { perSecond: "5" }, 400), /perSecond/);
  assert.match(await said(`${billing}/pause`, { since: 1 }, 400), /no member "since"/);
  assert.match(await said(`${billing}/hasten`, { event: 5 }, 400), /event must be the id/);
  assert.match(await said("/topics/orders/subscriptions/nobody/pause", {}, 404), /nobody/);
  const put = await fetch(`${broker.program.url}/api/v1${billing}/pause`, { method: "POST" });
  assert.equal(put.status, 401, "it is for admins alone");
});

test("with splitOnFailure one bad event does not take its batch with it", async (t) => {
  const receiver = await openReceiver(t);
  const destination = webHook(receiver.url, { maxEventsPerBatch: 100 });
  const broker = await openVirtualBroker(t, {
    billing: { destination, posthorn: { splitOnFailure: true } },
  });
  receiver.answer = (request) => (idsIn(request).includes("e13") ? 400 : 200);
  await broker.api("POST", `${billing}/pause`);
  await broker.publish(...numbered(64));
  await broker.api("POST", `${billing}/resume`);
  await broker.advance("PT0S");
  await broker.program.told("delivery.dropped");
  const metrics = await broker.metrics();
  assert.match(metrics, /posthorn_delivered_events_total\{[^}]*\} 63/);
  assert.match(metrics, /posthorn_halved_batches_total\{[^}]*\} 6/);
  const dropped = broker.program.facts.find(({ fact }) => fact === "delivery.dropped");
  assert.equal(dropped?.reason, "UndeliverableDueToHttpBadRequest");
  assert.deepEqual(
    receiver.received.map((request) => idsIn(request).length).toSorted((a, b) => b - a),
    [64, 32, 32, 16, 16, 8, 8, 4, 4, 2, 2, 1, 1],
  );
});

test("splitOnFailure travels through ARM: kept by a PUT without it, cleared by null", async (t) => {
  const broker = await openVirtualBroker(t, {});
  const destination = webHook("http://127.0.0.1:9", { maxEventsPerBatch: 10 });
  const put = async (more: Json) => {
    await broker.arm("PUT", "/billing", { properties: { destination, ...more } });
    return ((await broker.arm("GET", "/billing")).properties as Json).posthorn;
  };
  assert.equal(await put({}), undefined);
  assert.deepEqual(await put({ posthorn: { splitOnFailure: true } }), { splitOnFailure: true });
  assert.deepEqual(await put({ labels: ["a"] }), { splitOnFailure: true });
  assert.equal(await put({ posthorn: null }), undefined);
});
