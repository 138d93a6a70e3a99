// The contract of removing a subscription: what waits for it is dropped and counted, and nothing
// of it is seen again, except its dead letters, until they are gone.

import assert from "node:assert/strict";
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
  subscriptionDraft,
  type WholeStore,
  want,
} from "./fixture.ts";
import type { Cases } from "./store.ts";

export const removalCases: Cases = (on) => {
  on("a removed subscription's deliveries are dropped and counted once", async (scene) => {
    const { store, harness } = scene;
    const [id, other] = scene.ids;
    const drops = new Drops(store);
    const names = Array.from({ length: 450 }, (_, index) => `e${index}`);
    await store.append(routedTo([id], ...names), startAt);
    await store.append(routedTo([id, other], "shared"), startAt);
    const { deliveries } = await store.claim(queueOf(id), want({ max: 2 }));
    await store.settle(deliveries.map((one) => due(one, { stage: "deadLetter" })));
    await store.removeSubscription(id);
    assert.equal(await drops.of(id), 449, "all but two, which are dead letters");
    await store.removeSubscription(id);
    await store.append(routedTo([other], "after"), startAt);
    assert.deepEqual(drops.all, [[id, 449]]);
    if (harness.bodies !== undefined) assert.equal(await harness.bodies(), 4);
    const rest = await store.claim(queueOf(other), want());
    assert.deepEqual(namesOf(rest.deliveries), ["shared", "after"]);
  });

  on("a removed subscription is never claimed, shown or counted", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "one"), startAt);
    const drops = new Drops(store);
    await store.removeSubscription(id);
    const claim = await store.claim(queueOf(id), want());
    assert.deepEqual(claim, { deliveries: [], nextDueAt: null });
    assert.deepEqual(await store.waiting(queueOf(id), { after: 0, limit: 10 }), []);
    assert.deepEqual(await countsOf(store), []);
    assert.equal(await drops.of(id), 1);
    assert.deepEqual(await countsOf(store), []);
  });

  on(
    "dead letters of a removed subscription can be written, and its record is kept so long (L-1)",
    async (scene) => {
      const { store, ids, harness } = scene;
      const [id] = ids;
      await store.append(routedTo([id], "a", "b", "late", "waits"), startAt);
      const { deliveries } = await store.claim(queueOf(id), want({ max: 3 }));
      const [a, b, late] = deliveries;
      assert.ok(a && b && late);
      await store.settle([a, b].map((one) => due(one, { stage: "deadLetter", at: startAt })));
      const before = (await store.catalog()).subscriptions.find((one) => one.id === id);
      const drops = new Drops(store);
      await store.removeSubscription(id);
      assert.equal(await drops.of(id), 2);
      const nothing = await store.settle([due(late, { stage: "deadLetter", at: startAt })]);
      assert.deepEqual(nothing, [false], "what was not given up before");
      const catalog = await store.catalog();
      assert.deepEqual(catalog.retired, [before]);
      assert.ok(!catalog.subscriptions.some((one) => one.id === id));
      const named = await store.catalog({ topics: [], subscriptions: [id] });
      assert.deepEqual(named, { topics: [], subscriptions: [], retired: [before] });
      assert.deepEqual(await countsOf(store), [
        { subscription: id, stage: "deadLetter", waiting: 2 },
      ]);
      await store.append(routedTo([id], "new"), startAt);
      assert.deepEqual((await store.claim(queueOf(id), want())).deliveries, []);
      const letters = await store.claim(queueOf(id, "deadLetter"), want());
      assert.deepEqual(namesOf(letters.deliveries), ["a", "b"]);
      const [one, two] = letters.deliveries;
      assert.ok(one && two);
      assert.deepEqual(await store.settle([gone(one)]), [true]);
      assert.equal((await store.catalog()).retired?.length, 1);
      assert.deepEqual(await store.settle([gone(two)]), [true]);
      assert.equal((await store.catalog()).retired, undefined);
      assert.deepEqual(await countsOf(store), []);
      if (harness.bodies !== undefined) assert.equal(await harness.bodies(), 0);
    },
  );

  on("an append leaves out subscriptions that are gone", async ({ store, ids: [id, other] }) => {
    await store.removeSubscription(id);
    await store.append(routedTo([id, other], "one"), startAt);
    await store.append(routedTo([id], "two"), startAt);
    assert.deepEqual(await countsOf(store), [
      { subscription: other, stage: "deliver", waiting: 1 },
    ]);
  });

  on("a settlement for a removed subscription is ignored", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "a", "b", "c"), startAt);
    const { deliveries } = await store.claim(queueOf(id), want());
    const [a, b, c] = deliveries;
    assert.ok(a && b && c);
    await store.removeSubscription(id);
    assert.deepEqual(await store.settle([gone(a), back(b), due(c)]), [false, false, false]);
  });

  on("removing a topic takes its subscriptions and their deliveries along", async (scene) => {
    const { store, ids } = scene;
    const drops = new Drops(store);
    await store.append(routedTo(ids, "one", "two"), startAt);
    await store.removeTopic("ORDERS");
    const counts = await Promise.all(ids.map((id) => drops.of(id)));
    assert.deepEqual(counts, [2, 2, 2]);
    assert.deepEqual(await store.catalog(), { topics: [], subscriptions: [] });
    assert.deepEqual(await countsOf(store), []);
  });

  on("a subscription made anew gets nothing of its namesake's", async ({ store, ids: [id] }) => {
    const drops = new Drops(store);
    await store.append(routedTo([id], "old"), startAt);
    await store.removeSubscription(id);
    const anew = await store.putSubscription(subscriptionDraft());
    assert.ok(anew.id > id);
    await store.append(routedTo([id, anew.id], "new"), startAt);
    const claim = await store.claim(queueOf(anew.id), want());
    assert.deepEqual(namesOf(claim.deliveries), ["new"]);
    assert.equal(await drops.of(id), 1);
  });

  on("leases of a removed subscription hold nobody up", async ({ store, ids: [id, other] }) => {
    await store.append(routedTo([id, other], "one"), startAt);
    await store.claim(queueOf(id), want());
    const drops = new Drops(store);
    await store.removeSubscription(id);
    await drops.of(id);
    const consumer = new Consumer(store, queueOf(other));
    const { deliveries, nextDueAt } = await consumer.take(want());
    assert.deepEqual(namesOf(deliveries), ["one"]);
    assert.equal(nextDueAt, startAt + leaseMs);
  });
};

/** Waits for the facts that onDropped tells. */
class Drops {
  readonly all: [SubscriptionId, number][] = [];
  readonly #waiting = new Set<() => void>();

  constructor(store: WholeStore) {
    store.onDropped((subscription, count) => {
      this.all.push([subscription, count]);
      for (const look of this.#waiting) look();
    });
  }

  of(subscription: SubscriptionId): Promise<number> {
    return new Promise((resolve) => {
      const look = () => {
        const found = this.all.find(([id]) => id === subscription);
        if (found !== undefined) resolve(found[1]);
      };
      this.#waiting.add(look);
      look();
    });
  }
}
