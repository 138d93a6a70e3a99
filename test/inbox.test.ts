// Test inboxes from outside: the real program sends to itself, with real handshakes and retries.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { InboxRequestView, InboxView, Story } from "../src/core/api/views.ts";
import { startProgram } from "./fixtures/program.ts";
import { type Json, openVirtualBroker, type VirtualBroker } from "./fixtures/virtual-broker.ts";

const withHandshake = ["--handshake", "on"];

async function subscribe(broker: VirtualBroker, url: string): Promise<void> {
  const destination = { endpointType: "WebHook", properties: { endpointUrl: url } };
  await broker.arm("PUT", "/inner", { properties: { destination } });
  await broker.advance("PT0S");
}

async function seen(broker: VirtualBroker, name = "test") {
  return (await broker.api("GET", `/inboxes/${name}`)) as unknown as {
    readonly inbox: InboxView;
    readonly requests: readonly InboxRequestView[];
  };
}

const short = ({ kind, status, eventIds }: InboxRequestView) => [kind, status, ...eventIds];

test("an inbox shakes hands, shows what comes, and answers as it is told", async (t) => {
  const broker = await openVirtualBroker(t, {}, withHandshake);
  const made = (await broker.api("POST", "/inboxes", { name: "test" })) as unknown as InboxView;
  assert.deepEqual(await broker.api("POST", "/inboxes", { name: "TEST" }), made, "once");
  await subscribe(broker, made.url);
  await broker.publish("a");
  await broker.api("POST", "/inboxes/test/answer", { mode: "flapping" });
  await broker.publish("b");
  await broker.advance("PT1M");
  const { inbox, requests } = await seen(broker);
  assert.deepEqual(requests.toReversed().map(short), [
    ["handshake", 200],
    ["events", 200, "a"],
    ["events", 200, "b"],
  ]);
  assert.deepEqual(inbox.subscriptions, [{ topic: "orders", domainTopic: null, name: "inner" }]);
  await broker.publish("c");
  await broker.advance("PT1M");
  assert.deepEqual((await seen(broker)).requests.slice(0, 2).map(short), [
    ["events", 200, "c"],
    ["events", 500, "c"],
  ]);
  const headers = new Map(requests[0]?.headers.map(({ name, value }) => [name, value]));
  assert.equal(headers.get("aeg-event-type"), "Notification");
  assert.match(requests[0]?.body ?? "", /"id":"b"/);
});

test("a slow inbox is waited for, and one that refuses is told in the story", async (t) => {
  // The clock waits for endpoints, and this one for the clock.
  const broker = await openVirtualBroker(t, {}, [...withHandshake, "--clock-patience", "PT5S"]);
  const { url } = (await broker.api("POST", "/inboxes", { name: "test" })) as unknown as InboxView;
  await subscribe(broker, url);
  await broker.api("POST", "/inboxes/test/answer", { mode: "slow", delayMs: 2_000 });
  await broker.publish("a");
  await broker.advance("PT3S");
  const slow = (await broker.api("GET", "/events/a")) as unknown as Story;
  assert.equal(slow.deliveryStories[0]?.attempts[0]?.durationMs, 2_000);
  await broker.api("POST", "/inboxes/test/answer", { mode: "tooLarge" });
  await broker.publish("b");
  await broker.advance("PT1S");
  const refused = (await broker.api("GET", "/events/b")) as unknown as Story;
  const [attempt] = refused.deliveryStories[0]?.attempts ?? [];
  assert.deepEqual([attempt?.status, attempt?.excerpt?.slice(0, 15)], [413, "This test inbox"]);
});

test("an inbox survives a restart, is for those with the key alone, and can be removed", async (t) => {
  const broker = await openVirtualBroker(t, {}, withHandshake);
  await broker.api("POST", "/inboxes", { name: "test" });
  await broker.api("POST", "/inboxes/test/answer", { mode: "fail" });
  await broker.restart();
  const { inbox } = await seen(broker);
  assert.deepEqual(inbox.answer, { mode: "fail", delayMs: 0 });
  const post = async (url: string) => (await fetch(url, { method: "POST", body: "[{}]" })).status;
  assert.equal(await post(inbox.url), 500);
  assert.equal(await post(inbox.url.replace(/key=.*/, "key=wrong")), 401);
  assert.equal(await post(inbox.url.replace(/\?.*/, "")), 401);
  assert.equal((await seen(broker)).requests.length, 1, "strangers leave no trace");
  await broker.api("POST", "/inboxes/test/clear");
  assert.equal((await seen(broker)).requests.length, 0);
  const gone = await fetch(`${broker.program.url}/api/v1/inboxes/test`, {
    method: "DELETE",
    headers: { authorization: "Bearer virtual-admin" },
  });
  assert.equal(gone.status, 200);
  assert.equal(await post(inbox.url), 404);
  await broker.api("POST", "/inboxes", { name: "a b" }, 400);
});

test("a subscription follows its inbox to another port, with what waits", async (t) => {
  const broker = await openVirtualBroker(t, {}, withHandshake);
  const { url } = (await broker.api("POST", "/inboxes", { name: "test" })) as unknown as InboxView;
  await subscribe(broker, url);
  await broker.api("POST", "/inboxes/test/answer", { mode: "fail" });
  await broker.publish("a");
  await broker.api("POST", "/inboxes/test/answer", { mode: "accept" });
  const before = broker.program.url;
  await broker.restart();
  assert.notEqual(broker.program.url, before);
  const { inbox } = await seen(broker);
  assert.ok(inbox.url.startsWith(broker.program.url));
  assert.deepEqual(inbox.subscriptions.length, 1);
  await broker.publish("b");
  await broker.advance("PT1M");
  const came = (await seen(broker)).requests.map(({ eventIds }) => eventIds[0]);
  assert.deepEqual(came.toSorted(), ["a", "b"], "and no handshake: it is the same inbox");
});

test("inboxes work where the broker speaks HTTPS alone", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-inbox-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const program = await startProgram([
    ...["--http", "off", "--https", "127.0.0.1:0", "--data", folder],
    ...["--admin-key", "inbox-admin", "--log-level", "debug"],
  ]);
  t.after(() => program.end("SIGKILL"));
  const { https } = program.facts.find(({ fact }) => fact === "broker.started") as {
    https: string;
  };
  const made = await postOver(`${https}/api/v1/show-me`, join(folder, "ca.pem"));
  assert.equal(made.statusCode, 200);
  const isDelivered = ({ fact, status }: Json) => fact === "delivery.attempted" && status === 200;
  await program.until(() => program.facts.some(isDelivered));
});

async function postOver(url: string, caFile: string): Promise<IncomingMessage> {
  const headers = { authorization: "Bearer inbox-admin" };
  const asked = request(url, { method: "POST", headers, ca: readFileSync(caFile) }).end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  answer.resume();
  return answer;
}

test("the egress policy lets inboxes through, and nothing else of the broker", async (t) => {
  const broker = await openVirtualBroker(t, {}, [...withHandshake, "--egress-block", "loopback"]);
  const { url } = (await broker.api("POST", "/inboxes", { name: "test" })) as unknown as InboxView;
  await subscribe(broker, url);
  await broker.publish("a");
  assert.deepEqual((await seen(broker)).requests.map(short)[0], ["events", 200, "a"]);
  await subscribe(broker, `${broker.program.url}/healthz`);
  await broker.advance("PT1M");
  const shown = await broker.api("GET", "/topics/orders/subscriptions/inner/handshake");
  assert.match(JSON.stringify(shown), /blocked by the egress policy/);
});

test("a first run is one call, and may be repeated", async (t) => {
  const broker = await openVirtualBroker(t, {}, withHandshake);
  const first = await broker.api("POST", "/show-me");
  await broker.advance("PT1S");
  const story = (await broker.api("GET", `/events/${first.event}`)) as unknown as Story;
  assert.equal(story.deliveryStories[0]?.state, "delivered");
  assert.equal(first.story, `/api/v1/events/${first.event}`);
  const second = await broker.api("POST", "/show-me");
  assert.notEqual(second.event, first.event);
  await broker.advance("PT1S");
  const { requests } = await seen(broker, "show-me");
  const kinds = requests.toReversed().map(({ kind }) => kind);
  assert.deepEqual(kinds, ["handshake", "events", "events"]);
  await broker.restart();
  await broker.api("POST", "/show-me");
  await broker.advance("PT1S");
  const after = await seen(broker, "show-me");
  assert.equal(after.requests[0]?.kind, "events", "at its new address, too");
});
