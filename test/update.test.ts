// Handshakes of subscriptions that change, and of brokers that restart or whose disk fails: nothing
// is half in force, and nothing is asked or sent twice for it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { filterForAll } from "../src/core/routing/filter.ts";
import { MemoryStore } from "../src/store/memory.ts";
import { SqliteEngine } from "../src/store/sqlite/engine.ts";
import { openInline } from "../src/store/sqlite/thread.ts";
import { openFront, urlIn } from "./contract/fixture.ts";
import {
  echo,
  hold,
  minutes,
  openPair,
  seconds,
  silent,
  stateOf,
  type WholeStore,
} from "./fixtures/handshake-broker.ts";

/** What is written together must be so in every store. Each is created once, and opened again. */
const stores: readonly (readonly [string, () => () => WholeStore])[] = [
  [
    "in memory",
    () => {
      const store = new MemoryStore();
      return () => store;
    },
  ],
  [
    "embedded",
    () => {
      const engine = openInline(new SqliteEngine({ path: ":memory:" }));
      return () => openFront(engine);
    },
  ],
];

for (const [where, makeStore] of stores) {
  test(`an update takes effect as a whole when it is valid, and every event arrives once (${where})`, async (t) => {
    const { broker, endpoint: old, endpointFor } = await openPair(t, { openStore: makeStore() });
    const { reaction, say, asked } = hold();
    const next = await endpointFor(reaction);
    await (await broker.create({ url: old.url })).verdict;
    await broker.publish("before");
    await broker.advance(0);
    const { verdict } = await broker.update("billing", {
      destination: { kind: "webhook", url: next.url },
      filter: { ...filterForAll, subjectBeginsWith: "myapp" },
    });
    const code = await asked;
    assert.deepEqual(await stateOf(broker), ["Updating", true]);
    await broker.publish("during-1", "during-2");
    await old.reached(4);
    say({ status: 200, body: JSON.stringify({ validationResponse: code }) });
    // Published while the terms change: by the old ones or the new, but once.
    const racing = Array.from({ length: 20 }, (_, index) => `racing-${index}`);
    await Promise.all([verdict, ...racing.map((id) => broker.publish(id))]);
    assert.deepEqual(await stateOf(broker), ["Succeeded", true]);
    await broker.publish("after");
    await broker.advance(1 * minutes);
    assert.deepEqual(old.ids().slice(0, 3), ["before", "during-1", "during-2"]);
    assert.equal(next.ids().at(-1), "after");
    const all = [...old.ids(), ...next.ids()].toSorted();
    assert.deepEqual(all, ["before", "during-1", "during-2", ...racing, "after"].toSorted());
  });
}

test("an update that fails leaves the subscription as it was", async (t) => {
  const { broker, endpoint: old, endpointFor } = await openPair(t);
  const next = await endpointFor(() => ({ status: 500 }));
  await (await broker.create({ url: old.url })).verdict;
  const { verdict } = await broker.update("billing", {
    destination: { kind: "webhook", url: next.url },
  });
  await broker.advance(2 * minutes);
  assert.equal((await verdict).state, "Failed");
  assert.deepEqual(await stateOf(broker), ["Succeeded", true]);
  assert.equal((await fetch(next.asked[0]?.url ?? "")).status, 410, "its URL is of no use");
  await broker.publish("one");
  await broker.advance(0);
  assert.deepEqual([old.ids(), next.ids()], [["one"], []]);
});

test("a newer update ends the asking for an older one, whose code is of no use", async (t) => {
  const { broker, endpoint: old, endpointFor } = await openPair(t);
  const second = await endpointFor(silent);
  const third = await endpointFor();
  await (await broker.create({ url: old.url })).verdict;
  const to = (url: string) => ({ destination: { kind: "webhook" as const, url } });
  const earlier = await broker.update("billing", to(second.url));
  assert.equal((await earlier.verdict).state, "AwaitingManualAction");
  const later = await broker.update("billing", to(third.url));
  assert.deepEqual(await later.verdict, { state: "Succeeded" });
  assert.equal((await fetch(second.asked[0]?.url ?? "")).status, 404);
  assert.equal(urlIn(await broker.record()), third.url);
});

for (const [where, makeStore] of stores) {
  test(`a broker that restarts goes on asking where it was, with the same code (${where})`, async (t) => {
    const { broker, endpoint, restart } = await openPair(t, {
      openStore: makeStore(),
      reaction: () => ({ status: 503 }),
    });
    await broker.create({ url: endpoint.url });
    await broker.advance(10 * seconds);
    assert.equal(endpoint.asked.length, 2);
    endpoint.react(echo);
    const next = await restart(broker.clock.now());
    await next.advance(5 * seconds - 1);
    assert.deepEqual(await stateOf(next), ["Creating", false]);
    await next.advance(1);
    assert.deepEqual(await stateOf(next), ["Succeeded", true]);
    assert.deepEqual(
      endpoint.asked.map(({ atMs }) => atMs),
      [0, 5 * seconds, 15 * seconds],
    );
    assert.equal(new Set(endpoint.asked.map(({ code }) => code)).size, 1);
    await next.publish("one");
    await next.advance(0);
    assert.deepEqual(endpoint.ids(), ["one"]);
  });
}

test("a window for a person survives a restart, and ends when it would have ended", async (t) => {
  const { broker, endpoint, restart } = await openPair(t, { reaction: silent });
  await (await broker.create({ url: endpoint.url })).verdict;
  await (await broker.create({ url: endpoint.url, name: "other" })).verdict;
  const next = await restart(broker.clock.now() + 9 * minutes);
  const called = new URL(endpoint.asked[0]?.url ?? "");
  assert.equal((await fetch(next.url + called.pathname + called.search)).status, 200);
  assert.deepEqual(await stateOf(next), ["Succeeded", true]);
  await next.advance(1 * minutes);
  assert.deepEqual(await stateOf(next, "other"), ["Failed", false]);
  assert.equal(endpoint.asked.length, 2, "nobody is asked again");
});

test("a store that fails for a while delays a verdict and loses none", async (t) => {
  const { broker, endpoint } = await openPair(t);
  const put = broker.store.putSubscription.bind(broker.store);
  const { reaction, say, asked } = hold();
  endpoint.react(reaction);
  const { verdict } = await broker.create({ url: endpoint.url });
  const code = await asked;
  let failures = 3;
  broker.store.putSubscription = (...given) =>
    failures-- > 0 ? Promise.reject(new Error("the disk is gone")) : put(...given);
  say({ status: 200, body: JSON.stringify({ validationResponse: code }) });
  await broker.advance(3 * seconds);
  assert.deepEqual(await verdict, { state: "Succeeded" });
  assert.equal(endpoint.asked.length, 1);
  const unwritten = broker.facts.filter(({ name }) => name === "handshake.unwritten");
  assert.equal(unwritten.length, 3);
});
