// The end of a subscription, deleted or expired: its endpoint is notified, and gets nothing any
// more.

import assert from "node:assert/strict";
import { test } from "node:test";
import { minutes, openPair, seconds } from "./fixtures/handshake-broker.ts";

test("an endpoint is notified once when its subscription is gone, and asked no more", async (t) => {
  const { broker, endpoint } = await openPair(t);
  const { subscription, verdict } = await broker.create({ url: endpoint.url });
  await verdict;
  const record = await broker.record();
  assert.ok(record);
  await broker.store.removeSubscription(subscription.id);
  broker.rooms.handshakes.notifyDeleted(record);
  await broker.advance(1 * minutes);
  const told = endpoint.asked.at(-1);
  assert.equal(told?.kind, "deletion");
  assert.equal(endpoint.asked.length, 2);
  const [event] = JSON.parse(told?.arrived.body ?? "");
  assert.equal(event.eventType, "Microsoft.EventGrid.SubscriptionDeletedEvent");
  assert.match(
    event.data.eventSubscriptionId,
    /\/topics\/orders\/providers\/Microsoft\.EventGrid\/eventSubscriptions\/billing$/,
  );
  const fact = broker.facts.find(({ name }) => name === "subscription.toldDeleted");
  assert.equal(fact?.fields.status, 200);
});

test("an endpoint is told the whole id also when the topic is gone, too", async (t) => {
  const { broker, endpoint } = await openPair(t);
  const [topic] = broker.rooms.catalog().topics;
  assert.ok(topic);
  const place = { ...topic.place, resourceGroup: "shop" };
  const moved = await broker.store.putTopic({ ...topic, place });
  await (await broker.create({ url: endpoint.url })).verdict;
  const record = await broker.record();
  assert.ok(record);
  await broker.store.removeTopic("orders");
  await broker.rooms.refresh();
  broker.rooms.handshakes.notifyDeleted(record, moved);
  await broker.advance(0);
  const [event] = JSON.parse(endpoint.asked.at(-1)?.arrived.body ?? "");
  assert.match(
    event.topic,
    /\/resourceGroups\/shop\/providers\/Microsoft\.EventGrid\/topics\/orders$/,
  );
});

test("a subscription removed before it was valid is neither asked again nor told", async (t) => {
  const { broker, endpoint } = await openPair(t, { reaction: () => ({ status: 503 }) });
  const { subscription, verdict } = await broker.create({ url: endpoint.url });
  await endpoint.reached(1);
  await broker.store.removeSubscription(subscription.id);
  broker.rooms.handshakes.notifyDeleted(subscription);
  assert.equal((await verdict).state, "Failed");
  await broker.advance(10 * minutes);
  assert.equal(endpoint.asked.length, 1);
});

test("a subscription that is gone without a word is not asked again", async (t) => {
  const { broker, endpoint } = await openPair(t, { reaction: () => ({ status: 503 }) });
  const { subscription, verdict } = await broker.create({ url: endpoint.url });
  await broker.advance(1 * seconds);
  await broker.store.removeSubscription(subscription.id);
  await broker.advance(10 * minutes);
  assert.equal((await verdict).state, "Failed");
  assert.equal(endpoint.asked.length, 1);
  assert.equal(await broker.record(), undefined);
});

test("a subscription gets nothing from the moment it expires, and is deleted, and its endpoint is notified", async (t) => {
  const { broker, endpoint } = await openPair(t);
  const expiresAt = broker.clock.now() + 1 * minutes;
  await (await broker.create({ url: endpoint.url, expiresAt })).verdict;
  await (await broker.create({ url: endpoint.url, name: "other" })).verdict;
  await broker.publish("one");
  await broker.advance(1 * minutes - 1);
  await broker.publish("two");
  await broker.advance(1);
  assert.equal(await broker.record(), undefined);
  await broker.publish("three");
  await broker.advance(1 * minutes);
  assert.deepEqual(endpoint.ids(), ["one", "one", "two", "two", "three"]);
  assert.deepEqual(
    broker.facts.filter(({ name }) => name === "subscription.expired").map(({ fields }) => fields),
    [{ topic: "orders", subscription: "billing", expiresAt: new Date(expiresAt).toISOString() }],
  );
  assert.equal(endpoint.asked.filter(({ kind }) => kind === "deletion").length, 1);
});

test("what expired while the broker was away gets nothing when it is back", async (t) => {
  const { broker, endpoint, restart } = await openPair(t);
  const expiresAt = broker.clock.now() + 1 * minutes;
  await (await broker.create({ url: endpoint.url, expiresAt })).verdict;
  await (await broker.create({ url: endpoint.url, name: "other" })).verdict;
  const next = await restart(expiresAt);
  await next.publish("one");
  await next.advance(0);
  assert.deepEqual(endpoint.ids(), ["one"]);
  assert.equal(await next.record(), undefined);
});

test("an expiry that the store refuses is tried again, and nothing is sent meanwhile", async (t) => {
  const { broker, endpoint } = await openPair(t);
  const remove = broker.store.removeSubscription.bind(broker.store);
  let failures = 2;
  broker.store.removeSubscription = (id) =>
    failures-- > 0 ? Promise.reject(new Error("the disk is gone")) : remove(id);
  const expiresAt = broker.clock.now() + 1 * minutes;
  await (await broker.create({ url: endpoint.url, expiresAt })).verdict;
  await broker.advance(1 * minutes);
  await broker.publish("one");
  assert.ok(await broker.record());
  await broker.advance(2 * seconds);
  assert.equal(await broker.record(), undefined);
  await (await broker.create({ url: endpoint.url, name: "other" })).verdict;
  await broker.publish("two");
  await broker.advance(0);
  assert.deepEqual(endpoint.ids(), ["two"]);
});
