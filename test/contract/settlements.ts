// The contract of settle: the fence, what each kind of settlement changes, and looking at what
// waits.

import assert from "node:assert/strict";
import type { Delivery } from "../../src/core/delivery/delivery.ts";
import type { Settlement } from "../../src/core/ports.ts";
import type { SubscriptionId } from "../../src/core/subscription.ts";
import { Consumer } from "./consumer.ts";
import {
  back,
  countsOf,
  due,
  gone,
  leaseMs,
  namesOf,
  queueOf,
  routedTo,
  startAt,
  timesOf,
  type WholeStore,
  want,
} from "./fixture.ts";
import type { Cases } from "./store.ts";

export const settlementCases: Cases = (on) => {
  on("an append tells its numbers, by which its deliveries are found", async (scene) => {
    const { store, ids } = scene;
    const [a, b] = ids;
    const numbers = await store.append(routedTo([a], "one", "two"), startAt);
    assert.equal(new Set(numbers).size, 2);
    const look = async () => {
      const names = numbers.flatMap((event) =>
        [a, b].map((subscription) => ({ event, subscription })),
      );
      return (await store.look(names)).map((seen) => seen && [seen.event.systemId, seen.attempts]);
    };
    assert.deepEqual(await look(), [["one", 0], null, ["two", 0], null]);
    const { deliveries } = await store.claim(queueOf(a), want({ max: 1 }));
    const [delivery] = deliveries;
    assert.ok(delivery);
    assert.deepEqual(await look(), [["one", 0], null, ["two", 0], null], "a lease changes nothing");
    await store.settle([due(delivery, { at: startAt + 5, attempts: 1 })]);
    assert.deepEqual(await look(), [["one", 1], null, ["two", 0], null]);
    await store.removeSubscription(a);
    assert.deepEqual(await look(), [null, null, null, null]);
  });

  on("a queue tells its oldest and its earliest, tried or not", async ({ store, ids: [id] }) => {
    const at = async () => {
      const [count] = await timesOf(store);
      return count && [count.oldestAt - startAt, count.nextDueAt - startAt];
    };
    assert.equal(await at(), undefined);
    const first = await appendAndClaim(store, id);
    assert.deepEqual(await at(), [0, 0]);
    await store.settle([due(first, { at: startAt + 70_000 })]);
    assert.deepEqual(await at(), [0, 70_000]);
    const [routed] = routedTo([id], "later");
    assert.ok(routed);
    const publishedAt = startAt + 40_000;
    await store.append([{ ...routed, event: { ...routed.event, publishedAt } }], publishedAt);
    assert.deepEqual(await at(), [0, 40_000]);
    const again = await claimOne(store, id, startAt + 70_000);
    assert.ok(again);
    const { deliveries } = await store.claim(queueOf(id), want({ now: startAt + 70_000 }));
    const all = [again, ...deliveries].find(({ attempts }) => attempts === 1);
    assert.ok(all);
    assert.deepEqual(await store.settle([gone(all)]), [true]);
    assert.deepEqual(await at(), [40_000, 40_000]);
  });

  on("what is settled as gone does not come back", async ({ store, ids: [id] }) => {
    const first = await appendAndClaim(store, id);
    assert.deepEqual(await store.settle([gone(first)]), [true]);
    const after = await store.claim(queueOf(id), want({ now: startAt + 2 * leaseMs }));
    assert.deepEqual(after, { deliveries: [], nextDueAt: null });
    assert.deepEqual(await store.settle([gone(first), back(first), due(first)]), [
      false,
      false,
      false,
    ]);
  });

  on("a settlement that names an old lease is ignored", async ({ store, ids: [id] }) => {
    const first = await appendAndClaim(store, id);
    const second = await claimOne(store, id, startAt + leaseMs);
    const ignored = [gone(first), back(first), due(first, { at: startAt })];
    assert.deepEqual(await store.settle(ignored), [false, false, false]);
    assert.equal(await looks(store, id, startAt + leaseMs), startAt + 2 * leaseMs);
    assert.deepEqual(await store.settle([gone(second)]), [true]);
  });

  on(
    "an old lease is ignored also after the delivery was given up",
    async ({ store, ids: [id] }) => {
      const first = await appendAndClaim(store, id);
      const second = await claimOne(store, id, startAt + leaseMs);
      const givenUp = due(second, { stage: "deadLetter", at: startAt + leaseMs, attempts: 0 });
      assert.deepEqual(await store.settle([givenUp]), [true]);
      const revived = due(first, { stage: "deliver", at: startAt });
      assert.deepEqual(await store.settle([gone(first), revived, back(first)]), [
        false,
        false,
        false,
      ]);
      const later = want({ now: startAt + leaseMs });
      assert.deepEqual((await store.claim(queueOf(id), later)).deliveries, []);
      const dead = await store.claim(queueOf(id, "deadLetter"), later);
      assert.deepEqual(namesOf(dead.deliveries), ["one"]);
      assert.deepEqual(await store.settle([gone(second)]), [false], "claimed in its second stage");
    },
  );

  on("a lease that has ended still counts until the next claim", async ({ store, ids: [id] }) => {
    const first = await appendAndClaim(store, id);
    await looks(store, id, startAt + 10 * leaseMs);
    assert.deepEqual(await store.settle([gone(first)]), [true]);
  });

  on("a late success counts if nobody has claimed since (R-4)", async ({ store, ids: [id] }) => {
    const first = await appendAndClaim(store, id);
    assert.deepEqual(await store.settle([due(first)]), [true]);
    assert.deepEqual(await store.settle([gone(first)]), [true]);
    const after = await store.claim(queueOf(id), want({ now: startAt + leaseMs }));
    assert.deepEqual(after, { deliveries: [], nextDueAt: null });
    assert.deepEqual(await countsOf(store), []);
  });

  on("a late success counts in the second stage, too (R-4)", async ({ store, ids: [id] }) => {
    const first = await appendAndClaim(store, id);
    await store.settle([due(first, { stage: "deadLetter", attempts: 0 })]);
    assert.deepEqual(await store.settle([gone(first)]), [true]);
    assert.deepEqual(await countsOf(store), []);
  });

  on("a late success is ignored if it was claimed since (R-4)", async ({ store, ids: [id] }) => {
    const first = await appendAndClaim(store, id);
    await store.settle([due(first)]);
    const second = await claimOne(store, id, startAt + 10_000);
    assert.deepEqual(await store.settle([gone(first)]), [false]);
    assert.deepEqual(await store.settle([back(second)]), [true]);
    assert.deepEqual(await store.settle([gone(first)]), [false], "given back unused");
    const third = await claimOne(store, id, startAt + 10_000);
    assert.deepEqual(await store.settle([gone(third)]), [true]);
  });

  on("`back` changes nothing but the lease (H-3)", async ({ store, ids: [id] }) => {
    const first = await appendAndClaim(store, id);
    await store.settle([due(first, { reason: "because" })]);
    const second = await claimOne(store, id, startAt + 20_000);
    const before = await store.waiting(queueOf(id), { after: 0, limit: 1 });
    assert.deepEqual(await store.settle([back(second)]), [true]);
    assert.deepEqual(await store.waiting(queueOf(id), { after: 0, limit: 1 }), before);
    assert.deepEqual(await store.settle([back(second)]), [false], "there is no lease any more");
    const third = await claimOne(store, id, startAt + 20_000);
    assert.ok(third.lease > second.lease);
    assert.deepEqual({ ...third, lease: second.lease }, second);
  });

  on("`due` says when, in which stage, since when and why", async ({ store, ids: [id] }) => {
    const first = await appendAndClaim(store, id);
    const last = { at: startAt + 3, number: 7, outcome: "TimedOut", status: null };
    const retry = due(first, { at: startAt + 10, since: startAt + 1, attempts: 7, last });
    await store.settle([retry]);
    assert.equal(await looks(store, id), startAt + 10);
    const second = await claimOne(store, id, startAt + 10);
    const leasedUntil = startAt + 10 + leaseMs;
    const { event, id: delivery } = first;
    assert.deepEqual(second, {
      id: delivery,
      stage: "deliver",
      lease: second.lease,
      leasedUntil,
      dueAt: startAt + 10,
      attempts: 7,
      since: startAt + 1,
      last,
      reason: null,
      event,
    });
    const giveUp: Settlement = {
      ...due(second),
      at: startAt + 20,
      stage: "deadLetter",
      since: startAt + 11,
      attempts: 0,
      last: { at: startAt + 10, number: 8, outcome: "NotFound", status: 404 },
      reason: "MaxDeliveryAttemptsExceeded",
    };
    await store.settle([giveUp]);
    const [third] = await store.waiting(queueOf(id, "deadLetter"), { after: 0, limit: 10 });
    assert.deepEqual(third, {
      id: delivery,
      stage: "deadLetter",
      dueAt: startAt + 20,
      attempts: 0,
      since: startAt + 11,
      last: { at: startAt + 10, number: 8, outcome: "NotFound", status: 404 },
      reason: "MaxDeliveryAttemptsExceeded",
      event,
    });
  });

  on("the answer says for each settlement whether it counted", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "a", "b"), startAt);
    const { deliveries } = await store.claim(queueOf(id), want());
    const [a, b] = deliveries as [Delivery, Delivery];
    const wrongLease = { ...gone(a), lease: b.lease };
    const unknown = { ...gone(a), delivery: { event: b.id.event + 1, subscription: id } };
    const stranger = { ...gone(a), delivery: { event: a.id.event, subscription: id + 1 } };
    assert.deepEqual(
      await store.settle([wrongLease, gone(a), gone(a), unknown, stranger, due(b), gone(b)]),
      [false, true, false, false, false, true, true],
    );
    assert.deepEqual(await store.settle([]), []);
  });

  on("one subscription's settlement leaves the others' alone", async ({ store, ids }) => {
    const [a, b, c] = ids;
    await store.append(routedTo(ids, "one"), startAt);
    await store.settle([gone(await claimOne(store, a)), due(await claimOne(store, b))]);
    assert.deepEqual(await countsOf(store), [
      { subscription: b, stage: "deliver", waiting: 1 },
      { subscription: c, stage: "deliver", waiting: 1 },
    ]);
    assert.deepEqual(await claimOne(store, c).then(({ event }) => event.systemId), "one");
  });

  on("the body goes with the last delivery", async ({ store, ids, harness, skip }) => {
    if (harness.bodies === undefined) return skip("it keeps no bodies that could be counted");
    await store.append(routedTo(ids, "one", "two"), startAt);
    await store.append(routedTo([], "for nobody"), startAt);
    assert.equal(await harness.bodies(), 2);
    for (const [index, id] of ids.entries()) {
      const { deliveries } = await store.claim(queueOf(id), want({ max: 1 }));
      assert.deepEqual(namesOf(deliveries), ["one"]);
      assert.equal(await harness.bodies(), 2);
      await store.settle(deliveries.map(gone));
      assert.equal(await harness.bodies(), index < 2 ? 2 : 1);
    }
  });

  on("`due` and `back` wake their queue with the time it is due", async ({ store, ids: [id] }) => {
    const alive = new Consumer(store, queueOf(id));
    const dead = new Consumer(store, queueOf(id, "deadLetter"));
    const first = await appendAndClaim(store, id);
    await store.settle([due(first, { at: startAt + 7 })]);
    await alive.woken((wake) => wake.dueAt === startAt + 7);
    const second = await claimOne(store, id, startAt + 8);
    const woken = alive.wakes.length;
    await store.settle([back(second)]);
    await alive.woken((wake) => wake.dueAt === startAt + 7 && alive.wakes.indexOf(wake) >= woken);
    const third = await claimOne(store, id, startAt + 8);
    await store.settle([due(third, { at: startAt + 9, stage: "deadLetter" })]);
    await dead.woken((wake) => wake.dueAt === startAt + 9);
    assert.equal(alive.wakes.length, woken + 1);
  });

  on(
    "what waits is shown in the order of events, by pages",
    async ({ store, ids: [id, other] }) => {
      await store.append(routedTo([id], "a", "b"), startAt + 9);
      await store.append([...routedTo([other], "x"), ...routedTo([id], "c", "d")], startAt);
      const [c] = (await store.claim(queueOf(id), want({ max: 1 }))).deliveries;
      assert.ok(c);
      const page = async (after: number, limit: number) =>
        await store.waiting(queueOf(id), { after, limit });
      const first = await page(0, 3);
      assert.deepEqual(namesOf(first), ["a", "b", "c"], "leased or not, due or not");
      assert.ok(first.every((one) => !("lease" in one) && !("leasedUntil" in one)));
      assert.deepEqual(namesOf(await page(first[2]?.id.event as number, 3)), ["d"]);
      await store.settle([due(c, { stage: "deadLetter" })]);
      assert.deepEqual(namesOf(await page(0, 10)), ["a", "b", "d"]);
      assert.deepEqual(
        namesOf(await store.waiting(queueOf(id, "deadLetter"), { after: 0, limit: 10 })),
        ["c"],
      );
      assert.deepEqual(await countsOf(store), [
        { subscription: id, stage: "deliver", waiting: 3 },
        { subscription: id, stage: "deadLetter", waiting: 1 },
        { subscription: other, stage: "deliver", waiting: 1 },
      ]);
    },
  );

  on("a page is at most a thousand", async ({ store, ids: [id] }) => {
    const names = Array.from({ length: 1001 }, (_, index) => `e${index}`);
    await store.append(routedTo([id], ...names), startAt);
    const page = await store.waiting(queueOf(id), { after: 0, limit: 5000 });
    assert.deepEqual(namesOf(page), names.slice(0, 1000));
  });
};

async function appendAndClaim(store: WholeStore, id: SubscriptionId): Promise<Delivery> {
  await store.append(routedTo([id], "one"), startAt);
  return await claimOne(store, id);
}

/** With room for one only, so that no claim stays standing. */
async function claimOne(
  store: WholeStore,
  id: SubscriptionId,
  now: number = startAt,
): Promise<Delivery> {
  const { deliveries } = await store.claim(queueOf(id), want({ max: 1, now }));
  const [delivery] = deliveries;
  assert.ok(delivery, "there should be something to claim");
  return delivery;
}

async function looks(store: WholeStore, id: SubscriptionId, now: number = startAt) {
  return (await store.claim(queueOf(id), want({ max: 0, now }))).nextDueAt;
}
