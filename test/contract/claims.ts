// The contract of append and claim: what goes in comes out, in order, within limits, and leased
// to one at a time.

import assert from "node:assert/strict";
import type { RoutedBy } from "../../src/core/ports.ts";
import { routingMark } from "../../src/core/routing/routing-mark.ts";
import { Consumer } from "./consumer.ts";
import {
  back,
  due,
  gone,
  leaseMs,
  makeEvent,
  namesOf,
  queueOf,
  refusal,
  routedTo,
  startAt,
  subscriptionDraft,
  topicDraft,
  want,
} from "./fixture.ts";
import type { Cases } from "./store.ts";

export const claimCases: Cases = (on) => {
  on("what is appended is claimed byte for byte as it was", async ({ store, ids: [id] }) => {
    const event = makeEvent("all-letters", {
      publishedAt: startAt - 7,
      dataVersion: "v1 'quoted' \"twice\" \\ ü",
      envelope: '{"subject":"äß 漢字 🐎"}',
      trace: { parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", state: "a=1" },
      text: `{"data":"äß漢字 🐎 \\u0000 \\ud800 \\n \\" ' \u007f ${"x".repeat(300_000)}"}`,
    });
    await store.append([{ event, to: [id] }], startAt);
    const { deliveries } = await store.claim(queueOf(id), want());
    const [delivery] = deliveries;
    assert.ok(delivery);
    assert.ok(delivery.lease > 0);
    assert.deepEqual(deliveries, [
      {
        id: { event: delivery.id.event, subscription: id },
        stage: "deliver",
        lease: delivery.lease,
        leasedUntil: startAt + leaseMs,
        dueAt: startAt,
        attempts: 0,
        since: startAt - 7,
        last: null,
        reason: null,
        event,
      },
    ]);
  });

  on(
    "the events of one append are seen all at once or not at all",
    async ({ store, ids: [id] }) => {
      const names = Array.from({ length: 40 }, (_, index) => `e${index}`);
      const looks: Promise<readonly unknown[]>[] = [];
      const look = () => looks.push(store.waiting(queueOf(id), { after: 0, limit: 100 }));
      look();
      const append = store.append(routedTo([id], ...names), startAt);
      look();
      await append;
      look();
      const seen = (await Promise.all(looks)).map((page) => page.length);
      assert.equal(seen.at(-1), 40);
      assert.deepEqual(
        seen.filter((count) => count !== 0 && count !== 40),
        [],
      );
    },
  );

  on("an event for three subscriptions is three deliveries", async ({ store, ids }) => {
    await store.append(routedTo(ids, "one"), startAt);
    const events = new Set<number>();
    for (const id of ids) {
      const { deliveries } = await store.claim(queueOf(id), want());
      assert.deepEqual(namesOf(deliveries), ["one"]);
      assert.equal(deliveries[0]?.id.subscription, id);
      events.add(deliveries[0]?.id.event as number);
    }
    assert.equal(events.size, 1);
  });

  on("nobody gets what was not routed to them", async ({ store, ids: [a, b] }) => {
    await store.append([...routedTo([a], "for a"), ...routedTo([b], "for b")], startAt);
    await store.append(routedTo([], "for nobody"), startAt);
    assert.deepEqual(namesOf((await store.claim(queueOf(a), want())).deliveries), ["for a"]);
    assert.deepEqual(namesOf((await store.claim(queueOf(b), want())).deliveries), ["for b"]);
  });

  on("every event has a number of its own, which the append tells", async ({ store, ids }) => {
    const [id, other] = ids;
    const routed = [...routedTo([id], "a"), ...routedTo([], "for nobody"), ...routedTo([id], "b")];
    const first = await store.append(routed, startAt);
    const second = await store.append(routedTo([id, other], "c"), startAt);
    const numbers = [...first, ...second];
    assert.equal(new Set(numbers).size, 4);
    const [a, , b, c] = numbers;
    const { deliveries } = await store.claim(queueOf(id), want());
    assert.deepEqual(
      deliveries.map((one) => one.id.event),
      [a, b, c],
    );
    assert.deepEqual(await store.append([], startAt), []);
  });

  on("what was routed by old terms is refused, and nothing of it is kept", async (scene) => {
    const { store, ids } = scene;
    const [id] = ids;
    const by = async () => {
      const { topics, subscriptions } = await store.catalog();
      return { topic: "orders", mark: routingMark(topics[0]?.revision ?? 0, subscriptions) };
    };
    const append = async (name: string, terms: RoutedBy) =>
      await store.append(routedTo([id], name), startAt, terms);
    const told = new Set<number>();
    store.onChange((changed) => {
      for (const one of changed?.subscriptions ?? ids) told.add(one);
    });
    const changes = [
      () => store.putSubscription(subscriptionDraft({ name: "billing" })),
      () => store.putSubscription(subscriptionDraft({ name: "new" })),
      () => store.putTopic(topicDraft({ key1: "other" })),
      () => store.removeSubscription(ids[2]),
    ];
    for (const [index, change] of changes.entries()) {
      const terms = await by();
      await append(`before ${index}`, terms);
      await change();
      await assert.rejects(append("stale", terms), refusal("PreconditionFailed"));
      const none = store.append([], startAt, terms);
      await assert.rejects(none, refusal("PreconditionFailed"), "also when nobody wants it");
    }
    assert.ok(told.has(ids[2]));
    assert.deepEqual(await store.append([], startAt, await by()), []);
    assert.equal((await append("after", { ...(await by()), topic: "ORDERS" })).length, 1);
    const claimed = namesOf((await store.claim(queueOf(id), want())).deliveries);
    assert.deepEqual(claimed, ["before 0", "before 1", "before 2", "before 3", "after"]);
    const gone = await by();
    await store.removeTopic("orders");
    await assert.rejects(append("stale", gone), refusal("PreconditionFailed"));
  });

  on("the earliest due comes first, and of equals the earlier event", async ({ store, ids }) => {
    const [id] = ids;
    await store.append(routedTo([id], "third"), startAt + 2);
    await store.append(routedTo([id], "first", "second"), startAt);
    await store.append(routedTo([id], "fourth"), startAt + 2);
    const taken = [];
    for (let left = 4; left > 0; left--) {
      const claim = await store.claim(queueOf(id), want({ max: 1, now: startAt + 2 }));
      taken.push(...namesOf(claim.deliveries));
    }
    assert.deepEqual(taken, ["first", "second", "third", "fourth"]);
  });

  on("what is not due yet is not claimed", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "later"), startAt + 1);
    const early = await store.claim(queueOf(id), want());
    assert.deepEqual(early, { deliveries: [], nextDueAt: startAt + 1 });
    const then = await store.claim(queueOf(id), want({ now: startAt + 1 }));
    assert.deepEqual(namesOf(then.deliveries), ["later"]);
  });

  on("a claim takes at most max and at most charsMax, but always one", async ({ store, ids }) => {
    const [id] = ids;
    const sized = (systemId: string, chars: number) => ({
      event: makeEvent(systemId, { text: "x".repeat(chars) }),
      to: [id],
    });
    await store.append([sized("a", 10), sized("b", 10), sized("c", 10), sized("d", 500)], startAt);
    const claim = async (max: number, charsMax: number) =>
      namesOf((await store.claim(queueOf(id), want({ max, charsMax }))).deliveries);
    assert.deepEqual(await claim(1, 1000), ["a"]);
    assert.deepEqual(await claim(10, 29), ["b", "c"]);
    assert.deepEqual(await claim(10, 29), ["d"]);
  });

  on("max and charsMax hold for what wakes bring, too", async ({ store, ids: [id] }) => {
    const consumer = new Consumer(store, queueOf(id));
    const sized = (name: string) => ({
      event: makeEvent(name, { text: "x".repeat(40) }),
      to: [id],
    });
    const append = (...names: string[]) => store.append(names.map(sized), startAt);
    await append("a");
    const first = await consumer.take(want({ max: 3 }));
    await append("b", "c", "d", "e");
    first.deliveries.push(...consumer.pushed());
    assert.ok(first.deliveries.length <= 3, "max");
    const second = await consumer.take(want({ max: 10, charsMax: 1000 }));
    assert.equal(first.deliveries.length + second.deliveries.length, 5);

    await consumer.take(want({ max: 0 }));
    await append("f");
    const third = await consumer.take(want({ max: 10, charsMax: 100 }));
    await append("g", "h");
    third.deliveries.push(...consumer.pushed());
    assert.ok(third.deliveries.length <= 2, "charsMax");
    const fourth = await consumer.take(want());
    const all = [first, second, third, fourth].flatMap(({ deliveries }) => namesOf(deliveries));
    assert.deepEqual(all.toSorted(), ["a", "b", "c", "d", "e", "f", "g", "h"]);
  });

  on("claims and wakes together bring every delivery once", async ({ store, ids: [id] }) => {
    const consumer = new Consumer(store, queueOf(id));
    const taken = [];
    const names = Array.from({ length: 30 }, (_, index) => `e${index}`);
    for (const [index, name] of names.entries()) {
      const append = store.append(routedTo([id], name), startAt + index);
      const claim = consumer.take(want({ max: 1 + (index % 3), now: startAt + index }));
      taken.push(...(await claim).deliveries);
      await append;
    }
    taken.push(...(await consumer.take(want({ now: startAt + 30 }))).deliveries);
    assert.deepEqual(namesOf(taken).toSorted(), names.toSorted());
    assert.deepEqual(
      await store.settle(taken.map(gone)),
      taken.map(() => true),
    );
  });

  on("nextDueAt is null when nothing waits", async ({ store, ids: [id] }) => {
    const consumer = new Consumer(store, queueOf(id));
    assert.equal((await consumer.take(want())).nextDueAt, null);
    await store.append(routedTo([id], "one"), startAt);
    const { deliveries } = await consumer.take(want());
    await store.settle(deliveries.map(gone));
    assert.equal((await store.claim(queueOf(id), want())).nextDueAt, null);
  });

  on("nextDueAt is the next due time or the first end of a lease", async ({ store, ids: [id] }) => {
    const look = async (now = startAt) =>
      (await store.claim(queueOf(id), want({ max: 0, now }))).nextDueAt;
    await store.append(routedTo([id], "a"), startAt);
    const first = await store.claim(queueOf(id), want({ max: 1 }));
    assert.equal(first.nextDueAt, startAt + leaseMs, "the lease just given");
    await store.append(routedTo([id], "b"), startAt + 5000);
    assert.equal(await look(), startAt + 5000, "something due before the lease ends");
    const second = await store.claim(
      queueOf(id),
      want({ max: 1, now: startAt + 5000, leaseMs: 1000 }),
    );
    assert.equal(second.nextDueAt, startAt + 6000, "the shorter of two leases");
    await store.settle(second.deliveries.map(gone));
    assert.equal(await look(), startAt + leaseMs, "the other lease");
    await store.settle(first.deliveries.map((one) => due(one, { at: startAt + 90_000 })));
    assert.equal(await look(), startAt + 90_000, "nothing leased, something in the future");
  });

  on("nextDueAt is not later than now while more is due", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "a", "b", "c"), startAt);
    const now = startAt + 10;
    const claim = await store.claim(queueOf(id), want({ max: 2, now }));
    assert.ok(claim.nextDueAt !== null && claim.nextDueAt <= now, "more than max");
    const rest = await store.claim(queueOf(id), want({ max: 2, now }));
    assert.equal(rest.nextDueAt, now + leaseMs);
    const look = await store.claim(queueOf(id), want({ max: 0, now: now + leaseMs }));
    assert.ok(look.nextDueAt !== null && look.nextDueAt <= now + leaseMs, "leases that have ended");
  });

  on("a claim of none only looks", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "one"), startAt);
    const look = await store.claim(queueOf(id), want({ max: 0 }));
    assert.deepEqual(look, { deliveries: [], nextDueAt: startAt });
    const claim = await store.claim(queueOf(id), want());
    assert.deepEqual(namesOf(claim.deliveries), ["one"]);
  });

  on("a leased delivery is claimed again only when its lease has ended", async ({ store, ids }) => {
    const [id] = ids;
    await store.append(routedTo([id], "one"), startAt);
    const claim = async (now: number) => (await store.claim(queueOf(id), want({ now }))).deliveries;
    const [first] = await claim(startAt);
    assert.deepEqual(await claim(startAt + leaseMs - 1), []);
    const [second] = await claim(startAt + leaseMs);
    assert.ok(first && second);
    assert.ok(second.lease > first.lease);
    assert.equal(second.attempts, 0, "a lease that ends is no attempt (H-3)");
    assert.deepEqual(await claim(startAt + leaseMs), []);
  });

  on("what is freed in front of leased ones is found", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "a", "b", "c", "d"), startAt);
    const { deliveries } = await store.claim(queueOf(id), want({ max: 3 }));
    const [, b] = deliveries;
    assert.ok(b);
    await store.settle([back(b)]);
    const again = await store.claim(queueOf(id), want());
    assert.deepEqual(namesOf(again.deliveries), ["b", "d"]);
  });

  on("the two stages of a subscription are separate queues", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "given up", "new"), startAt);
    const { deliveries } = await store.claim(queueOf(id), want({ max: 1 }));
    await store.settle(deliveries.map((one) => due(one, { at: startAt, stage: "deadLetter" })));
    const dead = await store.claim(queueOf(id, "deadLetter"), want());
    assert.deepEqual(namesOf(dead.deliveries), ["given up"]);
    assert.equal(dead.deliveries[0]?.stage, "deadLetter");
    const alive = await store.claim(queueOf(id), want());
    assert.deepEqual(namesOf(alive.deliveries), ["new"]);
    assert.equal(alive.nextDueAt, startAt + leaseMs);
  });

  on("sinceBefore finds what is old and due, tried or not (H-3)", async ({ store, ids: [id] }) => {
    const age = (systemId: string, publishedAt: number) => ({
      event: makeEvent(systemId, { publishedAt }),
      to: [id],
    });
    const old = startAt - 3_600_000;
    await store.append([age("old, tried", old), age("old, not due again", old)], old);
    const tried = await store.claim(queueOf(id), want({ max: 2, now: old }));
    const [first, second] = tried.deliveries;
    assert.ok(first && second);
    await store.settle([due(first, { at: startAt }), due(second, { at: startAt + 1 })]);
    await store.append([age("old, untried", old), age("on the edge", old + 1)], old + 1);
    await store.append([age("young", old + 2), age("young but early", startAt)], old);
    await store.append([age("old, appended late", old)], startAt);
    const sinceBefore = old + 1;
    const found = [];
    for (let left = 4; left > 0; left--) {
      const claim = await store.claim(queueOf(id), want({ sinceBefore, max: 1 }));
      found.push(...namesOf(claim.deliveries));
    }
    assert.deepEqual(found.toSorted(), [
      "old, appended late",
      "old, tried",
      "old, untried",
      "on the edge",
    ]);
    const none = await store.claim(queueOf(id), want({ sinceBefore }));
    assert.deepEqual(none.deliveries, []);
    assert.ok(none.nextDueAt !== null && none.nextDueAt <= startAt, "the young are due as well");
    const young = await store.claim(queueOf(id), want());
    assert.deepEqual(namesOf(young.deliveries).toSorted(), ["young", "young but early"]);
    const last = await store.claim(queueOf(id), want({ sinceBefore, now: startAt + 1 }));
    assert.deepEqual(namesOf(last.deliveries), ["old, not due again"]);
  });

  on("an append wakes its queues with the time it is due", async ({ store, ids: [a, b] }) => {
    const consumer = new Consumer(store, queueOf(a));
    const other = new Consumer(store, queueOf(b));
    await store.append(routedTo([a], "one"), startAt + 5);
    assert.equal((await consumer.woken(() => true)).dueAt, startAt + 5);
    await store.append(routedTo([b], "two"), startAt + 6);
    await other.woken(() => true);
    assert.equal(other.wakes.length, 1);
  });
};
