// The contract of pull queues: what is handed out is counted and locked, a lock is a lease like any
// other and outlives the process, and what is to end is found.

import assert from "node:assert/strict";
import type { Delivery } from "../../src/core/delivery/delivery.ts";
import type { Settlement } from "../../src/core/ports.ts";
import type { Ending, Receive } from "../../src/core/pull/pull-store.ts";
import { due, gone, makeEvent, namesOf, routedTo, startAt } from "./fixture.ts";
import type { Cases } from "./store.ts";

const lockMs = 60_000;
const lifeMs = 86_400_000;
const lastReason = "MaxDeliveryAttemptsExceeded";

function want(over: Partial<Receive> = {}): Receive {
  const now = over.now ?? startAt;
  const expiredSince = now - lifeMs;
  const usual = { max: 10, charsMax: 1_000_000, now, lockMs, attemptsMax: 3 };
  return { ...usual, lastReason, expiredSince, ...over };
}

function ending(over: Partial<Ending> = {}): Ending {
  const now = over.now ?? startAt;
  return { max: 100, now, leaseMs: 30_000, expiredSince: now - lifeMs, ...over };
}

function locked(settlement: Settlement, lockedAt: number): Settlement {
  return { ...settlement, lockedAt };
}

/** Available again at once, as a release makes it. */
function released(delivery: Delivery, at = startAt): Settlement {
  const { attempts, last } = delivery;
  return due(delivery, { at, attempts, last, reason: null });
}

export const pullCases: Cases = (on) => {
  on("what is received is counted, and locked for the time asked", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "a", "b", "c"), startAt);
    const first = await store.receive(id, want({ max: 2 }));
    assert.deepEqual(namesOf(first.deliveries), ["a", "b"]);
    assert.equal(first.nextDueAt, startAt);
    const [a] = first.deliveries;
    assert.ok(a);
    assert.ok(a.lease > 0);
    assert.equal(a.attempts, 1);
    assert.equal(a.leasedUntil, startAt + lockMs);
    assert.equal(a.stage, "deliver");
    assert.deepEqual([a.last, a.dueAt], [null, startAt]);
    const [seen] = await store.look([a.id]);
    const last = { at: startAt, number: 1, outcome: "Received", status: null };
    assert.deepEqual([seen?.last, seen?.dueAt], [last, startAt + lockMs]);
    const second = await store.receive(id, want());
    assert.deepEqual(namesOf(second.deliveries), ["c"]);
    const third = await store.receive(id, want({ now: startAt + lockMs - 1 }));
    assert.deepEqual(third.deliveries, []);
    assert.equal(third.nextDueAt, startAt + lockMs);
    assert.deepEqual(await store.locked([id], startAt), [3]);
    assert.deepEqual(await store.locked([id], startAt + lockMs), [0]);
  });

  on("an event comes back byte for byte as it was", async ({ store, ids: [id] }) => {
    const text = `{"data":"äß漢字 🐎 \\u0000 ${"x".repeat(100_000)}"}`;
    const event = makeEvent("whole", { schema: "CloudEventSchemaV1_0", text });
    await store.append([{ event, to: [id] }], startAt);
    const { deliveries } = await store.receive(id, want());
    assert.deepEqual(deliveries[0]?.event, event);
  });

  on("a lock that ends makes it available, and its token counts no more", async (scene) => {
    const { store, ids } = scene;
    const [id] = ids;
    await store.append(routedTo([id], "a"), startAt);
    const [first] = (await store.receive(id, want())).deliveries as [Delivery];
    const end = startAt + lockMs;
    assert.deepEqual(await store.settle([locked(gone(first), end)]), [false]);
    const [second] = (await store.receive(id, want({ now: end }))).deliveries as [Delivery];
    assert.equal(second.attempts, 2);
    assert.deepEqual([second.last?.outcome, second.dueAt], ["Received", end]);
    assert.ok(second.lease > first.lease);
    assert.deepEqual(await store.settle([locked(gone(first), end)]), [false]);
    assert.deepEqual(await store.settle([locked(gone(second), end)]), [true]);
    assert.deepEqual(await store.settle([locked(gone(second), end)]), [false]);
    const later = await store.receive(id, want({ now: end + 10 * lockMs }));
    assert.deepEqual(later, { deliveries: [], nextDueAt: null });
  });

  on("a renewed lock ends later, under the same lease", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "a"), startAt);
    const [held] = (await store.receive(id, want())).deliveries as [Delivery];
    const { attempts, last, reason } = held;
    const until = startAt + lockMs + 50_000;
    const renewed = due(held, { at: until, attempts, last, reason });
    assert.deepEqual(await store.settle([locked(renewed, startAt + 50_000)]), [true]);
    const late = startAt + lockMs + 1;
    assert.deepEqual((await store.receive(id, want({ now: late }))).deliveries, []);
    assert.deepEqual(await store.settle([locked(gone(held), late)]), [true]);
  });

  on("what is released goes where its time puts it", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "a"), startAt);
    await store.append(routedTo([id], "b"), startAt + 5);
    const [a] = (await store.receive(id, want({ max: 1, now: startAt + 5 }))).deliveries;
    assert.ok(a);
    await store.settle([locked(released(a), startAt + 5)]);
    const { deliveries } = await store.receive(id, want({ now: startAt + 5 }));
    assert.deepEqual(namesOf(deliveries), ["a", "b"]);
    assert.deepEqual(
      deliveries.map(({ attempts }) => attempts),
      [2, 1],
    );
  });

  on("a delay keeps it back until it is over", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "a"), startAt);
    const [a] = (await store.receive(id, want())).deliveries as [Delivery];
    await store.settle([locked(released(a, startAt + 10_000), startAt)]);
    const early = await store.receive(id, want({ now: startAt + 9_999 }));
    assert.deepEqual(early, { deliveries: [], nextDueAt: startAt + 10_000 });
    const late = await store.receive(id, want({ now: startAt + 10_000 }));
    assert.deepEqual(namesOf(late.deliveries), ["a"]);
  });

  on("the last time is noted, and then it is to end and not to be had", async (scene) => {
    const { store, ids } = scene;
    const [id] = ids;
    await store.append(routedTo([id], "a", "b"), startAt);
    const [a] = (await store.receive(id, want({ max: 1, attemptsMax: 1 }))).deliveries;
    assert.equal(a?.reason, lastReason);
    const during = await store.takeEnded(id, ending());
    assert.deepEqual(during, { deliveries: [], nextDueAt: startAt + lockMs, oldestAt: startAt });
    const end = startAt + lockMs;
    const { deliveries } = await store.receive(id, want({ now: end, attemptsMax: 1 }));
    assert.deepEqual(namesOf(deliveries), ["b"]);
    const ended = await store.takeEnded(id, ending({ now: end }));
    assert.deepEqual(namesOf(ended.deliveries), ["a"]);
    assert.equal(ended.deliveries[0]?.attempts, 1);
    assert.deepEqual((await store.takeEnded(id, ending({ now: end }))).deliveries, []);
    assert.deepEqual(await store.settle(ended.deliveries.map(gone)), [true]);
  });

  on("a lower limit ends what was handed out as often already", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "a"), startAt);
    const [a] = (await store.receive(id, want())).deliveries as [Delivery];
    await store.settle([locked(released(a), startAt)]);
    assert.deepEqual((await store.receive(id, want({ attemptsMax: 1 }))).deliveries, []);
    assert.deepEqual(namesOf((await store.takeEnded(id, ending())).deliveries), ["a"]);
  });

  on("what a lower limit ends keeps nobody from the rest", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "a", "b", "c"), startAt);
    const { deliveries } = await store.receive(id, want());
    await store.settle(deliveries.map((delivery) => locked(released(delivery), startAt)));
    await store.append(routedTo([id], "d"), startAt + 1);
    const now = startAt + 1;
    const left = await store.receive(id, want({ now, max: 1, attemptsMax: 1 }));
    assert.deepEqual(namesOf(left.deliveries), ["d"]);
    const ended = await store.takeEnded(id, ending({ now }));
    assert.deepEqual(namesOf(ended.deliveries).toSorted(), ["a", "b", "c"]);
  });

  on("what has expired is not handed out, and ends unless it is locked", async (scene) => {
    const { store, ids } = scene;
    const [id] = ids;
    const old = (name: string, at: number) => ({
      event: makeEvent(name, { publishedAt: at }),
      to: [id],
    });
    await store.append([old("locked", startAt)], startAt);
    const now = startAt + lifeMs;
    const short = { now: now - 10_000, expiredSince: startAt - 1 };
    assert.equal((await store.receive(id, want(short))).deliveries.length, 1);
    await store.append([old("old", startAt - 1)], startAt - 1);
    await store.append([old("young", startAt + 1)], startAt + 1);
    const ended = await store.takeEnded(id, ending({ now }));
    assert.deepEqual(namesOf(ended.deliveries), ["old"]);
    await store.settle(ended.deliveries.map(gone));
    assert.deepEqual(await store.takeEnded(id, ending({ now })), {
      deliveries: [],
      nextDueAt: now - 10_000 + lockMs,
      oldestAt: startAt + 1,
    });
    const { deliveries } = await store.receive(id, want({ now }));
    assert.deepEqual(namesOf(deliveries), ["young"]);
    const lapsed = now + lockMs;
    const later = await store.takeEnded(id, ending({ now: lapsed }));
    assert.deepEqual(namesOf(later.deliveries).toSorted(), ["locked", "young"]);
  });

  on("text is limited, but never to nothing", async ({ store, ids: [id] }) => {
    const big = (name: string) => ({
      event: makeEvent(name, { text: `{"id":"${"x".repeat(1000)}"}` }),
      to: [id],
    });
    await store.append([big("a"), big("b"), big("c")], startAt);
    assert.deepEqual(namesOf((await store.receive(id, want({ charsMax: 10 }))).deliveries), ["a"]);
    const { deliveries } = await store.receive(id, want({ charsMax: 2500 }));
    assert.deepEqual(namesOf(deliveries), ["b", "c"]);
  });

  on("two receivers never get the same", async ({ store, harness, ids: [id] }) => {
    const names = Array.from({ length: 60 }, (_, index) => `e${index}`);
    await store.append(routedTo([id], ...names), startAt);
    const other = ((await harness.second?.()) ?? store) as typeof store;
    const takes = await Promise.all(
      [store, other, store, other, store, other].map((each) => each.receive(id, want({ max: 10 }))),
    );
    const got = takes.flatMap(({ deliveries }) => namesOf(deliveries));
    assert.deepEqual(got.toSorted(), names.toSorted());
  });

  on("a publish and a release wake the queue", async ({ store, ids: [id] }) => {
    const wakes: number[] = [];
    store.onWake(({ queue, dueAt }) => {
      if (queue.subscription === id && queue.stage === "deliver") wakes.push(dueAt);
    });
    await store.append(routedTo([id], "a"), startAt);
    const [a] = (await store.receive(id, want())).deliveries as [Delivery];
    await store.settle([locked(released(a), startAt)]);
    assert.deepEqual(wakes, [startAt, startAt + lockMs, startAt]);
  });

  on("locks, counts and delays outlive a crash", async ({ store, harness, ids: [id], skip }) => {
    if (harness.reopen === undefined) return skip("this store keeps nothing over a restart");
    await store.append(routedTo([id], "locked", "delayed", "gone", "free"), startAt);
    const { deliveries } = await store.receive(id, want({ max: 3 }));
    const [held, delayed, done] = deliveries as [Delivery, Delivery, Delivery];
    await store.settle([
      locked(released(delayed, startAt + 10_000), startAt),
      locked(gone(done), startAt),
    ]);
    const again = await harness.reopen();
    assert.deepEqual(namesOf((await again.receive(id, want())).deliveries), ["free"]);
    const late = await again.receive(id, want({ now: startAt + 10_000 }));
    assert.deepEqual(namesOf(late.deliveries), ["delayed"]);
    assert.equal(late.deliveries[0]?.attempts, 2);
    assert.deepEqual(await again.settle([locked(gone(held), startAt + 10_000)]), [true]);
  });

  on("a removed subscription hands out nothing", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "a", "b"), startAt);
    const [a] = (await store.receive(id, want({ max: 1 }))).deliveries as [Delivery];
    await store.removeSubscription(id);
    assert.deepEqual((await store.receive(id, want())).deliveries, []);
    assert.deepEqual((await store.takeEnded(id, ending())).deliveries, []);
    assert.deepEqual(await store.settle([locked(gone(a), startAt)]), [false]);
  });
};
