// The handshake as an endpoint and a caller live through it: real requests on both sides, on a
// clock that waits for them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { triesMax } from "../src/control/stale-write.ts";
import type { SubscriptionDraft } from "../src/core/subscription.ts";
import { MemoryStore } from "../src/store/memory.ts";
import {
  echo,
  hold,
  minutes,
  openPair,
  seconds,
  silent,
  stateOf,
} from "./fixtures/handshake-broker.ts";

test("an endpoint that says the code back gets events from then on, and none from before", async (t) => {
  const { reaction, say, asked } = hold();
  const { broker, endpoint } = await openPair(t, { reaction });
  const { verdict, subscription } = await broker.create({ url: endpoint.url });
  const code = await asked;
  assert.equal(code, subscription.handshake?.code);
  assert.deepEqual(await stateOf(broker), ["Creating", false]);
  await broker.publish("before");
  say({ status: 200, body: JSON.stringify({ validationResponse: code }) });
  assert.deepEqual(await verdict, { state: "Succeeded" });
  assert.deepEqual(await stateOf(broker), ["Succeeded", true]);
  await broker.publish("after");
  await broker.advance(0);
  assert.deepEqual(endpoint.ids(), ["after"]);
  const record = await broker.record();
  assert.deepEqual(
    record?.handshake?.exchanges.map(({ request, verdict }) => [request, verdict]),
    [[`POST ${endpoint.url}`, "The endpoint said the code back."]],
  );
});

test("a person may agree within ten minutes, by the URL in the validation event", async (t) => {
  const { broker, endpoint } = await openPair(t, { reaction: silent });
  const { verdict } = await broker.create({ url: endpoint.url });
  assert.deepEqual(await verdict, { state: "AwaitingManualAction" });
  assert.deepEqual(await stateOf(broker), ["AwaitingManualAction", false]);
  await broker.publish("early");
  await broker.advance(10 * minutes - 1);
  const [asked] = endpoint.asked;
  assert.ok(asked);
  const head = await fetch(asked.url, { method: "HEAD" });
  assert.equal(head.status, 200);
  assert.deepEqual(await stateOf(broker), ["AwaitingManualAction", false], "only looked at");
  const answer = await fetch(asked.url);
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), /successfully validated/);
  assert.deepEqual(await stateOf(broker), ["Succeeded", true]);
  await broker.publish("late");
  await broker.advance(0);
  assert.deepEqual(endpoint.ids(), ["late"]);
  assert.equal((await fetch(asked.url)).status, 200, "to agree twice is no error");
  assert.equal(endpoint.asked.length, 1);
});

test("after ten minutes it has failed, and nobody can agree any more", async (t) => {
  const { broker, endpoint } = await openPair(t, { reaction: silent });
  await (await broker.create({ url: endpoint.url })).verdict;
  await broker.advance(10 * minutes);
  assert.deepEqual(await stateOf(broker), ["Failed", false]);
  const answer = await fetch(endpoint.asked[0]?.url ?? "");
  assert.equal(answer.status, 410);
  assert.deepEqual(await stateOf(broker), ["Failed", false]);
  const record = await broker.record();
  assert.equal(
    record?.handshake?.exchanges.at(-1)?.verdict,
    "The validation URL was not called within 10 min.",
  );
  await broker.publish("never");
  endpoint.react(echo);
  await (await broker.create({ url: endpoint.url, name: "other" })).verdict;
  await broker.publish("later");
  await broker.advance(0);
  assert.deepEqual(endpoint.ids(), ["later"]);
});

test("an endpoint may call the URL before it answers, and then need not say the code", async (t) => {
  const { broker, endpoint } = await openPair(t, {
    async reaction({ url }) {
      const { status } = await fetch(url);
      return { status };
    },
  });
  const { verdict } = await broker.create({ url: endpoint.url });
  assert.deepEqual(await verdict, { state: "Succeeded" });
  assert.deepEqual(await stateOf(broker), ["Succeeded", true]);
  await broker.publish("one");
  await broker.advance(0);
  assert.deepEqual(endpoint.ids(), ["one"]);
});

test("calling the URL and saying the code together is one success", async (t) => {
  const { broker, endpoint } = await openPair(t, {
    async reaction(asked) {
      await fetch(asked.url);
      return echo(asked);
    },
  });
  assert.deepEqual(await (await broker.create({ url: endpoint.url })).verdict, {
    state: "Succeeded",
  });
  await broker.advance(20 * minutes);
  assert.deepEqual(await stateOf(broker), ["Succeeded", true]);
  assert.equal(endpoint.asked.length, 1);
});

test("a URL with another code, another subscription or none agrees to nothing", async (t) => {
  const { broker, endpoint } = await openPair(t, { reaction: silent });
  await (await broker.create({ url: endpoint.url })).verdict;
  const good = new URL(endpoint.asked[0]?.url ?? "");
  for (const [name, value] of [
    ["id", "00000000-0000-0000-0000-000000000000"],
    ["id", ""],
    ["token", "999"],
    ["token", "x"],
  ] as const) {
    const bad = new URL(good);
    bad.searchParams.set(name, value);
    assert.equal((await fetch(bad)).status, 404, `${name}=${value}`);
  }
  assert.equal((await fetch(good.origin + good.pathname)).status, 404);
  assert.deepEqual(await stateOf(broker), ["AwaitingManualAction", false]);
  assert.equal((await fetch(good)).status, 200);
});

test("an endpoint that comes up a little later is asked again until it agrees", async (t) => {
  let count = 0;
  const { broker, endpoint } = await openPair(t, {
    reaction: (asked) => (++count < 4 ? { status: 503 } : echo(asked)),
  });
  const { verdict } = await broker.create({ url: endpoint.url });
  await broker.advance(35 * seconds);
  assert.deepEqual(await verdict, { state: "Succeeded" });
  assert.deepEqual(
    endpoint.asked.map(({ atMs }) => atMs),
    [0, 5 * seconds, 15 * seconds, 35 * seconds],
  );
  assert.equal(new Set(endpoint.asked.map(({ code }) => code)).size, 1);
  const record = await broker.record();
  assert.deepEqual(
    record?.handshake?.exchanges.map(({ answer }) => answer.slice(0, 3)),
    ["503", "503", "503", "200"],
  );
});

test("an endpoint that fails for two minutes has failed, and may be asked again", async (t) => {
  const { broker, endpoint } = await openPair(t, {
    reaction: () => ({ status: 500, body: "no hook" }),
  });
  const { verdict, subscription } = await broker.create({ url: `${endpoint.url}?code=secret` });
  await broker.advance(2 * minutes);
  assert.deepEqual(await verdict, {
    state: "Failed",
    why: "Http POST request failed with response code 500.",
  });
  assert.deepEqual(await stateOf(broker), ["Failed", false]);
  assert.equal(endpoint.asked.at(-1)?.atMs, 2 * minutes);
  const exchanges = (await broker.record())?.handshake?.exchanges ?? [];
  assert.equal(exchanges.length, 6);
  assert.equal(exchanges[0]?.request, `POST ${endpoint.url}`, "without the query");
  assert.equal(exchanges[0]?.answer, "500 no hook");
  endpoint.react(echo);
  const again = await broker.rooms.handshakes.rerun(subscription.id, { baseUrl: broker.url });
  assert.deepEqual(again, { state: "Succeeded" });
  assert.deepEqual(await stateOf(broker), ["Succeeded", true]);
  assert.notEqual(endpoint.asked.at(-1)?.code, endpoint.asked[0]?.code);
});

test("an endpoint that says no is asked for fifteen seconds", async (t) => {
  const { broker, endpoint } = await openPair(t, { reaction: () => ({ status: 404, body: "" }) });
  const { verdict } = await broker.create({ url: endpoint.url });
  await broker.advance(2 * minutes);
  assert.equal((await verdict).state, "Failed");
  assert.deepEqual(
    endpoint.asked.map(({ atMs }) => atMs),
    [0, 5 * seconds, 15 * seconds],
  );
});

test("what is not there cannot be asked again", async (t) => {
  const { broker } = await openPair(t);
  await assert.rejects(broker.rooms.handshakes.rerun(77, { baseUrl: broker.url }), {
    code: "NotFound",
  });
});

/** A store in which someone else is always a moment faster, so many times. */
class ContestedStore extends MemoryStore {
  collisions = 0;
  writes = 0;

  override async putSubscription(draft: SubscriptionDraft, revision?: number) {
    if (revision !== undefined) {
      this.writes += 1;
      const { subscriptions } = await this.catalog();
      const there = subscriptions.find(({ name }) => name === draft.name);
      if (there !== undefined && this.collisions-- > 0) await super.putSubscription(there);
    }
    return await super.putSubscription(draft, revision);
  }
}

test("asking again gives up when others write all the time", async (t) => {
  const store = new ContestedStore();
  const { broker, endpoint } = await openPair(t, { openStore: () => store });
  const { subscription, verdict } = await broker.create({ url: endpoint.url });
  await verdict;
  const called = { baseUrl: broker.url };
  store.collisions = triesMax - 1;
  assert.equal((await broker.rooms.handshakes.rerun(subscription.id, called)).state, "Succeeded");
  const before = await broker.record();
  store.writes = 0;
  store.collisions = Number.POSITIVE_INFINITY;
  await assert.rejects(broker.rooms.handshakes.rerun(subscription.id, called), {
    code: "Conflict",
  });
  assert.equal(store.writes, triesMax);
  assert.equal((await broker.record())?.handshake?.code, before?.handshake?.code);
});

test("an answer that others keep us from writing is written a little later", async (t) => {
  const store = new ContestedStore();
  const { broker, endpoint } = await openPair(t, { openStore: () => store });
  store.collisions = 2 * triesMax + 1;
  const { verdict } = await broker.create({ url: endpoint.url });
  await broker.advance(3 * seconds);
  assert.equal((await verdict).state, "Succeeded");
  assert.equal(endpoint.asked.length, 1, "it is not asked again for that");
  const unwritten = broker.facts.filter(({ name }) => name === "handshake.unwritten");
  assert.equal(unwritten.length, 2);
  assert.equal(store.writes, 2 * triesMax + 2);
});

test("a person whose call others keep us from writing may call again", async (t) => {
  const store = new ContestedStore();
  const { broker, endpoint } = await openPair(t, { openStore: () => store, reaction: silent });
  const { verdict } = await broker.create({ url: endpoint.url });
  assert.equal((await verdict).state, "AwaitingManualAction");
  const url = endpoint.asked[0]?.url ?? "";
  store.collisions = triesMax;
  assert.equal((await fetch(url)).status, 409);
  assert.deepEqual(await stateOf(broker), ["AwaitingManualAction", false]);
  assert.equal((await fetch(url)).status, 200);
  assert.deepEqual(await stateOf(broker), ["Succeeded", true]);
});

test("an endpoint that does not answer is given up on and asked again", async (t) => {
  const { broker, endpoint } = await openPair(t, {
    patienceMs: 5_000,
    reaction: () => new Promise(() => {}),
  });
  const { verdict } = await broker.create({ url: endpoint.url });
  await endpoint.reached(1);
  await broker.advance(30 * seconds);
  endpoint.react(echo);
  await broker.advance(5 * seconds);
  assert.deepEqual(await verdict, { state: "Succeeded" });
  assert.deepEqual(
    endpoint.asked.map(({ atMs }) => atMs),
    [0, 35 * seconds],
  );
});

const cloudEvents = { deliverySchema: "CloudEventSchemaV1_0" } as const;

test("a CloudEvents endpoint agrees by its header, for our origin or for all", async (t) => {
  const { broker, endpoint } = await openPair(t);
  for (const [index, origin] of ["eventgrid.azure.net", "*"].entries()) {
    endpoint.react(() => ({ status: 200, headers: { "WebHook-Allowed-Origin": origin } }));
    const name = `sub-${index}`;
    const { verdict } = await broker.create({ url: endpoint.url, name, ...cloudEvents });
    assert.deepEqual(await verdict, { state: "Succeeded" });
  }
  const [asked] = endpoint.asked;
  assert.equal(asked?.kind, "options");
  assert.equal(asked?.arrived.headers["webhook-request-origin"], "eventgrid.azure.net");
  assert.equal(asked?.arrived.headers["webhook-request-rate"], "600000");
  assert.match(
    asked?.url ?? "",
    /^http:\/\/127\.0\.0\.1:\d+\/eventsubscriptions\/sub-0\/validate\?/,
  );
});

test("a CloudEvents endpoint that withholds its header may call back later, and set a rate", async (t) => {
  const { broker, endpoint } = await openPair(t, { reaction: silent });
  const { verdict } = await broker.create({ url: endpoint.url, ...cloudEvents });
  assert.deepEqual(await verdict, { state: "AwaitingManualAction" });
  await broker.advance(3 * minutes);
  const headers = { "WebHook-Allowed-Rate": "90" };
  const answer = await fetch(endpoint.asked[0]?.url ?? "", { method: "POST", headers });
  assert.equal(answer.status, 200);
  assert.deepEqual(await stateOf(broker), ["Succeeded", true]);
  assert.equal((await broker.record())?.handshake?.allowedRate, 90);
});

test("a CloudEvents endpoint that does not know OPTIONS has failed after two minutes", async (t) => {
  const { broker, endpoint } = await openPair(t, { reaction: () => ({ status: 405 }) });
  const { verdict } = await broker.create({ url: endpoint.url, ...cloudEvents });
  await broker.advance(2 * minutes);
  assert.deepEqual(await verdict, {
    state: "Failed",
    why: "Http OPTIONS request failed with response code 405.",
  });
});

test("no more requests a minute are sent than the endpoint allowed", async (t) => {
  const headers = { "WebHook-Allowed-Origin": "*", "WebHook-Allowed-Rate": "30" };
  const { broker, endpoint } = await openPair(t, { reaction: () => ({ status: 200, headers }) });
  await (await broker.create({ url: endpoint.url, ...cloudEvents })).verdict;
  await broker.publish("a", "b", "c", "d", "e");
  await broker.advance(1 * minutes);
  assert.deepEqual(endpoint.events, [
    { id: "a", atMs: 0 },
    { id: "b", atMs: 2_000 },
    { id: "c", atMs: 4_000 },
    { id: "d", atMs: 6_000 },
    { id: "e", atMs: 8_000 },
  ]);
  await broker.publish("f");
  await broker.advance(0);
  assert.deepEqual(endpoint.events.at(-1), { id: "f", atMs: 60_000 });
});

test("every question and every verdict is a fact in the log, without code or query", async (t) => {
  const { broker, endpoint } = await openPair(t);
  const { verdict } = await broker.create({ url: `${endpoint.url}?code=secret` });
  await verdict;
  const facts = broker.facts.filter(({ name }) => name.startsWith("handshake."));
  assert.deepEqual(
    facts.map(({ name }) => name),
    ["handshake.attempted", "handshake.decided"],
  );
  assert.deepEqual(facts[0]?.fields, {
    topic: "orders",
    subscription: "billing",
    request: `POST ${endpoint.url}`,
    attempt: 1,
    status: 200,
    verdict: "The endpoint said the code back.",
    decision: "succeed",
  });
  const told = JSON.stringify(broker.facts);
  assert.ok(!told.includes(endpoint.asked[0]?.code ?? "?"));
  assert.ok(!told.includes("secret"));
});
