// The contract of steering: what an operator drops or hastens, a step at a time, while others claim
// and settle; and the memos of operators.

import assert from "node:assert/strict";
import { redriveLimits } from "../../src/core/deadletter/redrive.ts";
import type { Queue } from "../../src/core/delivery/delivery.ts";
import type { SkipStep } from "../../src/core/steering.ts";
import {
  back,
  countsOf,
  due,
  gone,
  namesOf,
  queueOf,
  routedTo,
  startAt,
  type WholeStore,
  want,
} from "./fixture.ts";
import type { Cases } from "./store.ts";

/** More than one step takes, whatever the store. */
const many = Array.from({ length: 1_200 }, (_, index) => `e${index}`);

export const steeringCases: Cases = (on) => {
  on("a skip drops what waits, due or not, and nothing of others", async (scene) => {
    const { store } = scene;
    const [id, other] = scene.ids;
    await store.append(routedTo([id, other], ...many), startAt);
    const claim = await store.claim(queueOf(id), want({ max: 3 }));
    const [a, b, c] = claim.deliveries;
    assert.ok(a && b && c);
    const later = { at: startAt + 3_600_000 };
    await store.settle([due(a, later), due(b, { ...later, stage: "deadLetter" }), back(c)]);
    assert.equal(await skipAll(store, queueOf(id)), many.length - 1);
    assert.deepEqual(await countsOf(store), [
      { subscription: id, stage: "deadLetter", waiting: 1 },
      { subscription: other, stage: "deliver", waiting: many.length },
    ]);
    assert.equal(await skipAll(store, queueOf(id)), 0, "there is nothing left to skip");
    if (scene.harness.bodies !== undefined) {
      assert.equal(await scene.harness.bodies(), many.length, "the others still need the events");
      await skipAll(store, queueOf(other));
      assert.equal(await scene.harness.bodies(), 1);
    }
  });

  on("what is skipped while it is leased cannot be settled any more", async ({ store, ids }) => {
    const [id] = ids;
    await store.append(routedTo([id], "a", "b", "c"), startAt);
    const { deliveries } = await store.claim(queueOf(id), want({ max: 3 }));
    const [a, b, c] = deliveries;
    assert.ok(a && b && c);
    assert.equal(await skipAll(store, queueOf(id)), 3);
    const answers = await store.settle([gone(a), due(b), back(c)]);
    assert.deepEqual(answers, [false, false, false]);
    assert.deepEqual(await countsOf(store), []);
    await store.append(routedTo([id], "d"), startAt + 1);
    const next = await store.claim(queueOf(id), want({ now: startAt + 1 }));
    assert.deepEqual(namesOf(next.deliveries), ["d"]);
  });

  on("what comes after a skip has begun is kept", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], ...many), startAt);
    let { dropped, next } = await store.skip(queueOf(id), null);
    await store.append(routedTo([id], "new"), startAt);
    while (next !== null) {
      const step = await store.skip(queueOf(id), next);
      dropped += step.dropped;
      next = step.next;
    }
    assert.equal(dropped, many.length);
    const { deliveries } = await store.claim(queueOf(id), want());
    assert.deepEqual(namesOf(deliveries), ["new"]);
  });

  on("what is settled while a skip is under way is skipped, too", async (scene) => {
    const { store } = scene;
    const [id] = scene.ids;
    await store.append(routedTo([id], ...many), startAt);
    const { deliveries } = await store.claim(queueOf(id), want({ max: many.length }));
    const last = deliveries.at(-1);
    assert.ok(last);
    const first = await store.skip(queueOf(id), null);
    if (first.next === null) return scene.skip("it skips all at once");
    // It moves ahead of all others, to where the skip has been already.
    await store.settle([due(last, { at: startAt - 1 })]);
    let dropped = first.dropped;
    let next: SkipStep | null = first.next;
    while (next !== null) {
      const step = await store.skip(queueOf(id), next);
      dropped += step.dropped;
      next = step.next;
    }
    assert.equal(dropped, many.length);
    assert.deepEqual(await countsOf(store), []);
  });

  on("a skip that a crash interrupts is simply repeated", async (scene) => {
    if (scene.harness.reopen === undefined) return scene.skip("it keeps nothing when it ends");
    const [id] = scene.ids;
    await scene.store.append(routedTo([id], ...many), startAt);
    const first = await scene.store.skip(queueOf(id), null);
    assert.ok(first.dropped > 0 && first.dropped < many.length);
    const store = await scene.harness.reopen();
    assert.equal(await skipAll(store, queueOf(id)), many.length - first.dropped);
    assert.deepEqual(await countsOf(store), []);
  });

  on("what is hastened is due now, and only what was due later", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "a", "b", "c"), startAt);
    const { deliveries } = await store.claim(queueOf(id), want({ max: 2 }));
    const [a, b] = deliveries;
    assert.ok(a && b);
    await store.settle([due(a, { at: startAt + 60_000 }), due(b, { at: startAt + 5_000 })]);
    const now = startAt + 1_000;
    assert.equal(await hastenAll(store, queueOf(id), now), 2);
    const claim = await store.claim(queueOf(id), want({ now }));
    assert.deepEqual(
      claim.deliveries.map(({ event, dueAt, attempts }) => [event.systemId, dueAt, attempts]),
      [
        ["c", startAt, 0],
        ["a", now, 1],
        ["b", now, 1],
      ],
    );
    assert.equal(await hastenAll(store, queueOf(id), now), 0);
  });

  on("many are hastened in steps", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], ...many), startAt + 60_000);
    assert.equal(await hastenAll(store, queueOf(id), startAt), many.length);
    const { deliveries } = await store.claim(queueOf(id), want({ max: 5_000 }));
    assert.equal(deliveries.length, many.length);
  });

  on("one that is hastened comes before all others", async ({ store, ids: [id, other] }) => {
    await store.append(routedTo([id, other], "a", "b", "c"), startAt);
    const waiting = await store.waiting(queueOf(id), { after: 0, limit: 10 });
    const event = waiting.at(-1)?.id.event as number;
    const now = startAt + 10;
    assert.deepEqual(await store.hasten(queueOf(id), { event, now }), {
      hastened: 1,
      isOver: true,
    });
    const claim = await store.claim(queueOf(id), want({ now }));
    assert.deepEqual(namesOf(claim.deliveries), ["c", "a", "b"]);
    const others = await store.claim(queueOf(other), want({ now }));
    assert.deepEqual(namesOf(others.deliveries), ["a", "b", "c"]);
  });

  on("what is not waiting there is not hastened", async ({ store, ids: [id, other] }) => {
    await store.append(routedTo([id], "a"), startAt);
    const [a] = await store.waiting(queueOf(id), { after: 0, limit: 1 });
    const which = { event: a?.id.event ?? 0, now: startAt };
    assert.equal((await store.hasten(queueOf(other), which)).hastened, 0);
    assert.equal((await store.hasten(queueOf(id, "deadLetter"), which)).hastened, 0);
    assert.equal((await store.hasten(queueOf(id), { ...which, event: 0 })).hastened, 0);
    assert.equal((await store.hasten(queueOf(999), { ...which, event: null })).hastened, 0);
  });

  on("a standing claim gets what is hastened, or is told of it", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "a"), startAt + 60_000);
    await store.claim(queueOf(id), want());
    const woken = Promise.withResolvers<number>();
    store.onWake(({ dueAt }) => woken.resolve(dueAt));
    await hastenAll(store, queueOf(id), startAt);
    assert.equal(await woken.promise, startAt);
  });

  on("an event is found by its id while it waits anywhere", async ({ store, ids: [id] }) => {
    await store.append(routedTo([id], "a", "b"), startAt);
    const [, b] = await store.waiting(queueOf(id), { after: 0, limit: 2 });
    assert.deepEqual(await store.find("b", 0), { event: b?.id.event, next: null });
    assert.deepEqual(await store.find("c", 0), { event: null, next: null });
  });

  on("a note is there as it was put, until it is taken away", async ({ store }) => {
    assert.deepEqual(await store.notes("closed"), []);
    await store.putMemo("closed", "b", { at: 1, because: "ä" });
    await store.putMemo("closed", "a", { at: 2 });
    await store.putMemo("other", "a", { at: 3 });
    await store.putMemo("closed", "b", { at: 4 });
    assert.deepEqual(await store.notes("closed"), [
      { key: "a", record: { at: 2 } },
      { key: "b", record: { at: 4 } },
    ]);
    await store.putMemo("closed", "a", null);
    await store.putMemo("closed", "never", null);
    assert.deepEqual(await store.notes("closed"), [{ key: "b", record: { at: 4 } }]);
  });

  on("a note that is to be kept is put once, and is the same for all", async ({ store }) => {
    const both = [
      store.keepMemo("secret", "a", { at: 1 }),
      store.keepMemo("secret", "a", { at: 2 }),
    ];
    const [first, second] = await Promise.all(both);
    assert.deepEqual(second, first);
    assert.deepEqual(await store.notes("secret"), [{ key: "a", record: first }]);
    assert.deepEqual(await store.keepMemo("secret", "b", { at: 3 }), { at: 3 });
  });

  on("how often an event was sent again is counted, whoever else counts", async ({ store }) => {
    assert.deepEqual(await store.redriven(["a", "b"]), [0, 0]);
    await store.noteRedriven([
      { key: "a", times: 1 },
      { key: "b", times: 3 },
      { key: "a", times: 2 },
    ]);
    await store.noteRedriven([{ key: "b", times: 1 }]);
    assert.deepEqual(await store.redriven(["b", "a", "c"]), [4, 2, 0]);
  });

  on("how often an event was sent again outlives a crash", async (scene) => {
    if (scene.harness.reopen === undefined) return scene.skip("it keeps nothing when it ends");
    await scene.store.noteRedriven([{ key: "a", times: 2 }]);
    const store = await scene.harness.reopen();
    assert.deepEqual(await store.redriven(["a"]), [2]);
  });

  on("of many events the counts noted longest ago are forgotten", async ({ store }) => {
    const { rememberedMax } = redriveLimits;
    const note = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => ({ key: `k${from + index}`, times: 1 }));
    await store.noteRedriven(note(0, 10));
    await store.noteRedriven(note(0, 1));
    await store.noteRedriven(note(10, rememberedMax - 1));
    assert.deepEqual(await store.redriven(["k0", "k1", "k9", "k10"]), [2, 0, 0, 1]);
  });

  on("notes outlive a crash", async (scene) => {
    if (scene.harness.reopen === undefined) return scene.skip("it keeps nothing when it ends");
    await scene.store.putMemo("closed", "a", { at: 2 });
    const store = await scene.harness.reopen();
    assert.deepEqual(await store.notes("closed"), [{ key: "a", record: { at: 2 } }]);
  });
};

async function skipAll(store: WholeStore, queue: Queue): Promise<number> {
  let { dropped, next } = await store.skip(queue, null);
  while (next !== null) {
    const step = await store.skip(queue, next);
    dropped += step.dropped;
    next = step.next;
  }
  return dropped;
}

async function hastenAll(store: WholeStore, queue: Queue, now: number): Promise<number> {
  for (let hastened = 0; ; ) {
    const step = await store.hasten(queue, { event: null, now });
    hastened += step.hastened;
    if (step.isOver) return hastened;
  }
}
