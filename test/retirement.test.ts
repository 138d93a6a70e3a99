// The end of a subscription, by someone's hand or by its own term: its endpoint is told, and gets
// nothing any more.

import assert from "node:assert/strict";
import { test } from "node:test";
import { minutes, openPair, seconds } from "./fixtures/handshake-broker.ts";

test("an endpoint is told once when its subscription is gone, and asked no more", async (t) => {
  const { desk, endpoint } = await openPair(t);
  const { subscription, verdict } = await desk.create({ url: endpoint.url });
  await verdict;
  const record = await desk.record();
  assert.ok(record);
  await desk.store.removeSubscription(subscription.id);
  desk.house.desk.tellDeleted(record);
  await desk.advance(1 * minutes);
  const told = endpoint.asked.at(-1);
  assert.equal(told?.kind, "deletion");
  assert.equal(endpoint.asked.length, 2);
  const [event] = JSON.parse(told?.arrived.body ?? "");
  assert.equal(event.eventType, "Microsoft.EventGrid.SubscriptionDeletedEvent");
  assert.match(
    event.data.eventSubscriptionId,
    /\/topics\/orders\/providers\/Microsoft\.EventGrid\/eventSubscriptions\/billing$/,
  );
  const fact = desk.facts.find(({ name }) => name === "subscription.toldDeleted");
  assert.equal(fact?.fields.status, 200);
});

test("an endpoint is told the whole id also when the topic is gone, too", async (t) => {
  const { desk, endpoint } = await openPair(t);
  const [topic] = desk.house.catalog().topics;
  assert.ok(topic);
  const place = { ...topic.place, resourceGroup: "shop" };
  const moved = await desk.store.putTopic({ ...topic, place });
  await (await desk.create({ url: endpoint.url })).verdict;
  const record = await desk.record();
  assert.ok(record);
  await desk.store.removeTopic("orders");
  await desk.house.refresh();
  desk.house.desk.tellDeleted(record, moved);
  await desk.advance(0);
  const [event] = JSON.parse(endpoint.asked.at(-1)?.arrived.body ?? "");
  assert.match(
    event.topic,
    /\/resourceGroups\/shop\/providers\/Microsoft\.EventGrid\/topics\/orders$/,
  );
});

test("a subscription removed before it was valid is neither asked again nor told", async (t) => {
  const { desk, endpoint } = await openPair(t, { reaction: () => ({ status: 503 }) });
  const { subscription, verdict } = await desk.create({ url: endpoint.url });
  await endpoint.reached(1);
  await desk.store.removeSubscription(subscription.id);
  desk.house.desk.tellDeleted(subscription);
  assert.equal((await verdict).state, "Failed");
  await desk.advance(10 * minutes);
  assert.equal(endpoint.asked.length, 1);
});

test("a subscription that is gone without a word ends its handshake by itself", async (t) => {
  const { desk, endpoint } = await openPair(t, { reaction: () => ({ status: 503 }) });
  const { subscription, verdict } = await desk.create({ url: endpoint.url });
  await desk.advance(1 * seconds);
  await desk.store.removeSubscription(subscription.id);
  await desk.advance(10 * minutes);
  assert.equal((await verdict).state, "Failed");
  assert.equal(endpoint.asked.length, 2);
  assert.equal(await desk.record(), undefined);
});

test("a subscription gets nothing from the moment it expires, and is removed and told", async (t) => {
  const { desk, endpoint } = await openPair(t);
  const expiresAt = desk.clock.now() + 1 * minutes;
  await (await desk.create({ url: endpoint.url, expiresAt })).verdict;
  await (await desk.create({ url: endpoint.url, name: "other" })).verdict;
  await desk.publish("one");
  await desk.advance(1 * minutes - 1);
  await desk.publish("two");
  await desk.advance(1);
  assert.equal(await desk.record(), undefined);
  await desk.publish("three");
  await desk.advance(1 * minutes);
  assert.deepEqual(endpoint.ids(), ["one", "one", "two", "two", "three"]);
  assert.deepEqual(
    desk.facts.filter(({ name }) => name === "subscription.expired").map(({ fields }) => fields),
    [{ topic: "orders", subscription: "billing", expiresAt: new Date(expiresAt).toISOString() }],
  );
  assert.equal(endpoint.asked.filter(({ kind }) => kind === "deletion").length, 1);
});

test("what expired while the broker was away gets nothing when it is back", async (t) => {
  const { desk, endpoint, restart } = await openPair(t);
  const expiresAt = desk.clock.now() + 1 * minutes;
  await (await desk.create({ url: endpoint.url, expiresAt })).verdict;
  await (await desk.create({ url: endpoint.url, name: "other" })).verdict;
  const next = await restart(expiresAt);
  await next.publish("one");
  await next.advance(0);
  assert.deepEqual(endpoint.ids(), ["one"]);
  assert.equal(await next.record(), undefined);
});

test("an expiry that the store refuses is tried again, and nothing is sent meanwhile", async (t) => {
  const { desk, endpoint } = await openPair(t);
  const remove = desk.store.removeSubscription.bind(desk.store);
  let failures = 2;
  desk.store.removeSubscription = (id) =>
    failures-- > 0 ? Promise.reject(new Error("the disk is gone")) : remove(id);
  const expiresAt = desk.clock.now() + 1 * minutes;
  await (await desk.create({ url: endpoint.url, expiresAt })).verdict;
  await desk.advance(1 * minutes);
  await desk.publish("one");
  assert.ok(await desk.record());
  await desk.advance(2 * seconds);
  assert.equal(await desk.record(), undefined);
  await (await desk.create({ url: endpoint.url, name: "other" })).verdict;
  await desk.publish("two");
  await desk.advance(0);
  assert.deepEqual(endpoint.ids(), ["two"]);
});
