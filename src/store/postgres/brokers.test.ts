// Several brokers on one database: what one writes the others see, one owner claims, and what a
// broker does after it has lost its row does not count.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Consumer } from "../../../test/contract/consumer.ts";
import {
  due,
  gone,
  namesOf,
  queueOf,
  refusal,
  routedTo,
  startAt,
  subscriptionDraft,
  topicDraft,
  want,
} from "../../../test/contract/fixture.ts";
import { openPostgres, postgresHarness, serveAll } from "../../../test/contract/postgres.ts";
import { everySlot } from "../../core/cluster/slot.ts";
import { routingMark } from "../../core/routing/routing-mark.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import type { PostgresStore } from "./store.ts";

const open = postgresHarness();

/** A store that owns everything, and a second one that owns nothing yet. */
async function pair(t: { after(act: () => unknown): void }, over: { isNotifying?: boolean } = {}) {
  const { store: a, url, query } = await open(over);
  const b = await openPostgres(url, over);
  t.after(async () => {
    await b.close();
    await a.close();
  });
  await a.putTopic(topicDraft());
  const { id } = await a.putSubscription(subscriptionDraft());
  await b.catchUp();
  return { a, b, id, url, query };
}

async function markAt(store: PostgresStore) {
  const { topics, subscriptions } = await store.catalog();
  return { topic: "orders", mark: routingMark(topics[0]?.revision ?? 0, subscriptions) };
}

const mine = ({ ownership }: PostgresStore) => everySlot.filter((slot) => ownership.isMine(slot));

/** Waits until it is so. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve));
}

test("a publish routed before another broker's change is refused, and the change told", async (t) => {
  const { a, b, id } = await pair(t);
  const by = await markAt(b);
  await b.append(routedTo([id], "one"), startAt, by);
  const told: number[] = [];
  b.onChange((changed) => void told.push(...(changed?.subscriptions ?? [])));
  const other = await a.putSubscription(subscriptionDraft({ name: "billing" }));
  await assert.rejects(b.append(routedTo([id], "two"), startAt, by), refusal("PreconditionFailed"));
  assert.ok(told.includes(other.id));
  await b.append(routedTo([id, other.id], "three"), startAt, await markAt(b));
  const { deliveries } = await a.claim(queueOf(id), want());
  assert.deepEqual(namesOf(deliveries).toSorted(), ["one", "three"]);
});

test("what one broker writes the others hear of by themselves", async (t) => {
  const { a, b } = await pair(t);
  const told = Promise.withResolvers<number>();
  b.onChange((changed) => told.resolve(changed?.subscriptions[0] ?? 0));
  const { id } = await a.putSubscription(subscriptionDraft({ name: "billing" }));
  assert.equal(await told.promise, id);
});

test("an event appended at one broker wakes the owner at another", async (t) => {
  const { a, b, id } = await pair(t);
  const consumer = new Consumer(a, queueOf(id));
  await a.claim(queueOf(id), want());
  await b.append(routedTo([id], "one"), startAt);
  await consumer.woken((wake) => wake.dueAt === startAt);
  assert.deepEqual(namesOf((await consumer.take(want())).deliveries), ["one"]);
  assert.deepEqual(await b.claim(queueOf(id), want()), { deliveries: [], nextDueAt: null });
});

test("without notices the owner finds it by looking", async (t) => {
  const { a, b, id } = await pair(t, { isNotifying: false });
  const consumer = new Consumer(a, queueOf(id));
  await a.claim(queueOf(id), want());
  await b.append(routedTo([id], "one"), startAt);
  await consumer.woken((wake) => wake.dueAt === startAt);
});

test("of two that remove a subscription one did, and one reports what was dropped", async (t) => {
  const { a, b, id } = await pair(t);
  const drops: [string, number][] = [];
  a.onDropped((_, count) => drops.push(["a", count]));
  b.onDropped((_, count) => drops.push(["b", count]));
  await a.append(routedTo([id], "one", "two"), startAt);
  const answers = await Promise.all([a.removeSubscription(id), b.removeSubscription(id)]);
  assert.deepEqual(answers.toSorted(), [false, true]);
  await until(() => drops.length > 0);
  assert.deepEqual(
    drops.map(([, count]) => count),
    [2],
  );
});

test("slots are shared, moved at once when a broker leaves, and its leases go with them", async (t) => {
  const { a, b, id } = await pair(t);
  await a.append(routedTo([id], "one"), startAt);
  await serveAll(b);
  await until(() => mine(b).length === 128 && mine(a).length === 128);
  const owner = (await a.claim(queueOf(id), want({ max: 0 }))).nextDueAt === null ? b : a;
  const other = owner === a ? b : a;
  const [first] = (await owner.claim(queueOf(id), want())).deliveries;
  assert.ok(first);
  await owner.close();
  await until(() => mine(other).length === 256);
  const [again] = (await other.claim(queueOf(id), want())).deliveries;
  assert.ok(again);
  assert.notEqual(again.lease, first.lease);
  assert.deepEqual(await other.settle([gone(first)]), [false]);
  assert.deepEqual(await other.settle([gone(again)]), [true]);
});

test("what is settled after its slot has moved to another living broker does not count", async (t) => {
  const { store: a, url } = await open();
  await a.putTopic(topicDraft());
  const ids: SubscriptionId[] = [];
  for (const path of Array.from({ length: 12 }).keys()) {
    const destination = { kind: "webhook", url: `http://127.0.0.1:9/${path}` } as const;
    ids.push((await a.putSubscription(subscriptionDraft({ name: `s${path}`, destination }))).id);
  }
  await a.append(routedTo(ids, "one"), startAt);
  const claimAll = async (store: PostgresStore) => {
    const claims = await Promise.all(ids.map((id) => store.claim(queueOf(id), want())));
    return claims.flatMap(({ deliveries }) => deliveries);
  };
  const before = await claimAll(a);
  assert.equal(before.length, 12);
  const b = await openPostgres(url);
  t.after(async () => {
    await b.close();
    await a.close();
  });
  await serveAll(b);
  await until(() => mine(b).length === 128 && mine(a).length === 128);
  const moved = await claimAll(b);
  assert.ok(moved.length > 0, "some have moved");
  const movedIds = moved.map(({ id }) => id.subscription);
  const late = before.filter(({ id }) => movedIds.includes(id.subscription));
  assert.deepEqual(
    await a.settle(late.map((one) => due(one))),
    late.map(() => false),
    "at home",
  );
  const [first, ...others] = moved;
  assert.ok(first);
  assert.deepEqual(await b.settle([gone(first)]), [true], "by the new owner");
  // They come back, and neither what was leased here before nor what others settled is in the way.
  await b.close();
  await until(() => mine(a).length === 256);
  assert.deepEqual(
    await a.settle(late.map(gone)),
    late.map(() => false),
    "of the time before",
  );
  const again = (await claimAll(a)).map(({ id }) => id.subscription);
  assert.deepEqual(again.toSorted(), others.map(({ id }) => id.subscription).toSorted());
});

test("a broker that has lost its row settles nothing, and begins anew", async (t) => {
  const { a, id, query } = await pair(t);
  await a.append(routedTo([id], "one", "two"), startAt);
  const { deliveries } = await a.claim(queueOf(id), want());
  const [one, two] = deliveries;
  assert.ok(one && two);
  assert.deepEqual(await a.settle([gone(one)]), [true]);
  await query("delete from posthorn.brokers");
  assert.deepEqual(await a.settle([due(two)]), [false]);
  const name = a.ownership.broker;
  const isBack = `select count(*) from posthorn.brokers where id = '${name}'`;
  await until(async () => (await query(isBack)) === "1");
  assert.deepEqual(await a.settle([gone(two)]), [false], "of the epoch before");
  let claimed = await a.claim(queueOf(id), want());
  while (claimed.deliveries.length === 0) claimed = await a.claim(queueOf(id), want());
  assert.deepEqual(await a.settle(claimed.deliveries.map(gone)), [true]);
});

test("a receiver at any broker is woken by a publish and by a release", async (t) => {
  const { a, b } = await pair(t);
  const destination = { kind: "pull", lockMs: 60_000 } as const;
  const draft = subscriptionDraft({ name: "pulled", destination });
  const { id } = await a.putSubscription(draft);
  await b.catchUp();
  const [here, there] = [new Consumer(a, queueOf(id)), new Consumer(b, queueOf(id))];
  await a.append(routedTo([id], "one"), startAt);
  await here.woken((wake) => wake.dueAt === startAt);
  await there.woken((wake) => wake.dueAt === startAt);
  const asked = { max: 1, charsMax: 1_000, now: startAt, lockMs: 60_000, attemptsMax: 3 };
  const more = { lastReason: "why", expiredSince: startAt - 1_000 };
  const [delivery] = (await b.receive(id, { ...asked, ...more })).deliveries;
  assert.ok(delivery);
  const released = { ...due(delivery, { at: startAt + 7 }), lockedAt: startAt };
  assert.deepEqual(await b.settle([released]), [true]);
  await here.woken((wake) => wake.dueAt === startAt + 7);
});

test("words between brokers come in their order", async (t) => {
  const { a, b } = await pair(t);
  const heard: string[] = [];
  b.peers.onPost((text) => heard.push(text));
  await a.peers.post(b.ownership.broker, "one");
  await a.peers.post(b.ownership.broker, "two");
  await until(() => heard.length === 2);
  assert.deepEqual(heard, ["one", "two"]);
});

test("a redrive counted at two brokers counts twice", async (t) => {
  const { a, b } = await pair(t);
  await Promise.all([a, b].map((store) => store.noteRedriven([{ key: "k", times: 1 }])));
  assert.deepEqual(await a.redriven(["k"]), [2]);
});
