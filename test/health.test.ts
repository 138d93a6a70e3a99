// Unhealthy endpoints with their settings, seen and closed through our own API: the real program on
// the virtual clock with real endpoints.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { EndpointView, ProblemView, SubscriptionView } from "../src/core/api/views.ts";
import { openReceiver } from "./fixtures/receiver.ts";
import {
  type Json,
  openVirtualBroker,
  startAt,
  type VirtualBroker,
} from "./fixtures/virtual-broker.ts";

const webHook = (url: string) => ({
  destination: { endpointType: "WebHook", properties: { endpointUrl: `${url}/hook?code=secret` } },
});
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `e${index}`);

async function firstEndpoint(broker: VirtualBroker): Promise<EndpointView> {
  const [first] = (await broker.api("GET", "/endpoints")).value as EndpointView[];
  assert.ok(first);
  return first;
}

test("the thresholds and waits of unhealthy endpoints are settings (H-1, H-2)", async (t) => {
  const receiver = await openReceiver(t);
  receiver.answer = () => 500;
  const broker = await openVirtualBroker(t, { billing: webHook(receiver.url) }, [
    ...["--health-failures", "3", "--health-first-wait", "PT7S", "--health-wait-growth", "3"],
    ...["--health-wait-max", "PT20S", "--health-recover-at-once", "2"],
  ]);
  await broker.publish("a", "b", "c");
  const sick = await firstEndpoint(broker);
  assert.equal(sick.health.kind, "unhealthy");
  assert.equal(sick.health.until, "2030-01-01T00:00:07.000Z");
  assert.equal(sick.endpoint, `${receiver.url}/hook`, "without its query, which is a secret");
  assert.equal(sick.waiting, 3);
  assert.equal(sick.health.failures, 3);
  const [billing] = (await broker.api("GET", "/subscriptions")).value as SubscriptionView[];
  assert.ok((billing?.nextDueAt ?? "") >= (sick.health.until ?? ""), "not before it is tested");
  assert.match(sick.rules, /3 failures in a row; probed after 7 s.*3 times.*20 s/);
  await broker.advance("PT2M");
  await broker.program.told("endpoint.changed", 5);
  const waits = broker.program.facts
    .filter(({ fact, to }) => fact === "endpoint.changed" && to === "unhealthy")
    .map(({ waitMs }) => waitMs);
  assert.deepEqual(waits.slice(0, 4), [7_000, 20_000, 20_000, 20_000]);
  const later = await firstEndpoint(broker);
  assert.ok(later.health.failures > 3, "failures go on to be counted");
  const { now } = await broker.advance("PT0S");
  assert.ok(later.health.until === null || later.health.until > String(now));
  receiver.answer = () => 200;
  await broker.advance("PT5M");
  const well = await firstEndpoint(broker);
  assert.equal(well.health.words, "healthy");
  const { history } = well;
  assert.deepEqual([history[0]?.to, history[0]?.because], ["healthy", "2 sends at once succeed"]);
  assert.equal(history.at(-1)?.because, "3 failures in a row; nothing is sent for 7 s");
});

test("settings that contradict each other are refused before the start", async (t) => {
  const contradiction = ["--health-first-wait", "PT1H", "--health-wait-max", "PT1M"];
  await assert.rejects(
    openVirtualBroker(t, {}, contradiction),
    /health-wait-max must be at least as long as health-first-wait/,
  );
});

test("a closed endpoint gets nothing, over a crash too, until it is opened", async (t) => {
  const receiver = await openReceiver(t);
  const broker = await openVirtualBroker(t, {
    billing: webHook(receiver.url),
    shipping: webHook(receiver.url),
  });
  const endpoint = `${receiver.url}/hook`;
  const closed = await broker.api("POST", "/endpoints/close", { endpoint, because: "moving" });
  assert.deepEqual(closed.health, {
    ...{ kind: "closed", failures: 0, until: null },
    words: `closed by an operator since ${startAt}: moving`,
  });
  await broker.publish(...numbered(3));
  await broker.advance("PT1H");
  await broker.restart();
  await broker.advance("PT1H");
  assert.equal(receiver.received.length, 0);
  const seen = await firstEndpoint(broker);
  assert.equal(seen.health.words, `closed by an operator since ${startAt}: moving`);
  assert.equal(seen.waiting, 6);
  assert.equal(seen.subscriptions.length, 2);
  const refused = await broker.api(
    "POST",
    "/topics/orders/subscriptions/billing/hasten",
    undefined,
    409,
  );
  assert.match(String((refused.error as Json).message), /is closed/);
  const opened = await broker.api("POST", "/endpoints/open", { endpoint });
  assert.equal((opened.health as Json).kind, "healthy");
  await broker.advance("PT0S");
  assert.equal(receiver.received.length, 6);
  await broker.program.told("endpoint.opened");
});

test("a broker that is killed knows which endpoints are down when it is back (H-1)", async (t) => {
  const receiver = await openReceiver(t);
  receiver.answer = () => 503;
  const broker = await openVirtualBroker(t, { billing: webHook(receiver.url) });
  await broker.publish(...numbered(200));
  await broker.advance("PT1M");
  const { health } = await firstEndpoint(broker);
  assert.equal(health.kind, "unhealthy");
  await broker.restart();
  const before = receiver.received.length;
  await broker.advance("PT0S");
  // How many failures there were is not kept, only that they were too many.
  const restored = (await firstEndpoint(broker)).health;
  assert.deepEqual({ ...restored, failures: 0 }, { ...health, failures: 0 });
  assert.equal(restored.failures, 10);
  assert.equal(receiver.received.length, before, "nothing is sent to it");
  await broker.advance("PT5M");
  const probes = receiver.received.length - before;
  assert.ok(probes >= 1 && probes <= 4, `${probes} probes`);
});

test("opening an unhealthy endpoint sends at once; resetting it forgets what was", async (t) => {
  const receiver = await openReceiver(t);
  receiver.answer = () => 500;
  const broker = await openVirtualBroker(t, { billing: webHook(receiver.url) });
  const endpoint = `${receiver.url}/hook`;
  await broker.publish(...numbered(12));
  assert.equal((await firstEndpoint(broker)).health.kind, "unhealthy");
  await broker.advance("PT15S");
  const before = receiver.received.length;
  receiver.answer = () => 200;
  const opened = await broker.api("POST", "/endpoints/open", { endpoint, because: "mended" });
  assert.equal((opened.history as Json[])[0]?.because, "opened by an operator: mended");
  await broker.advance("PT0S");
  assert.equal(receiver.received.length, before + 12);
  const reset = await broker.api("POST", "/endpoints/reset", { endpoint });
  assert.deepEqual(
    (reset.history as Json[]).map(({ because }) => because),
    ["reset by an operator"],
  );
});

test("what someone tries now at an unhealthy endpoint is its test (H-2)", async (t) => {
  const receiver = await openReceiver(t);
  receiver.answer = () => 500;
  const broker = await openVirtualBroker(t, { billing: webHook(receiver.url) });
  await broker.publish(...numbered(12));
  const before = receiver.received.length;
  const hasten = "/topics/orders/subscriptions/billing/hasten";
  await broker.api("POST", hasten, {});
  await broker.advance("PT0S");
  assert.equal(receiver.received.length, before + 1, "one send, and no more");
  receiver.answer = () => 200;
  await broker.api("POST", hasten, {});
  await broker.advance("PT1S");
  assert.equal(receiver.received.length, before + 13, "it succeeded, and the others follow");
});

test("an endpoint nobody knows is refused by its name", async (t) => {
  const broker = await openVirtualBroker(t, { billing: webHook("http://127.0.0.1:9") });
  const unknown = { endpoint: "http://nowhere.test/" };
  const missing = await broker.api("POST", "/endpoints/close", unknown, 404);
  assert.match(String((missing.error as Json).message), /nowhere\.test/);
  await broker.api("POST", "/endpoints/open", {}, 400);
  const long = { endpoint: "http://127.0.0.1:9/hook", because: "x".repeat(501) };
  await broker.api("POST", "/endpoints/close", long, 400);
});

test("what is wrong is told with what the endpoint said, also after a restart", async (t) => {
  const receiver = await openReceiver(t);
  receiver.answer = () => 503;
  receiver.body = "Down for repairs\nuntil nine";
  const broker = await openVirtualBroker(t, { billing: webHook(receiver.url) }, [
    ...["--health-failures", "3", "--health-first-wait", "PT7M"],
  ]);
  await broker.publish("a", "b", "c");
  const problems = async () => (await broker.api("GET", "/problems")).value as ProblemView[];
  const told = async () => {
    const [problem] = await problems();
    const { kind, title, answer, since, failures, waiting, nextTryAt, count } = problem ?? {};
    return { kind, title, answer, since, failures, waiting, nextTryAt, count };
  };
  const expected = {
    ...{ kind: "unhealthy", title: "Answers 503", answer: "Down for repairs", since: startAt },
    ...{ failures: 3, waiting: 3, nextTryAt: "2030-01-01T00:07:00.000Z", count: 1 },
  };
  assert.deepEqual(await told(), expected);
  const { said } = await firstEndpoint(broker);
  assert.deepEqual(said, { since: startAt, status: 503, answer: "Down for repairs" });
  await broker.program.told("endpoint.changed", 1);
  await broker.restart();
  assert.deepEqual(await told(), expected);
  receiver.answer = () => 200;
  await broker.advance("PT1H");
  assert.deepEqual(await problems(), []);
  assert.equal((await firstEndpoint(broker)).said, null);
});
