// The contract of a store that keeps what it accepted: after a crash everything is there but the
// leases.

import assert from "node:assert/strict";
import {
  back,
  countsOf,
  due,
  gone,
  leaseMs,
  makeEvent,
  namesOf,
  queueOf,
  routedTo,
  startAt,
  subscriptionDraft,
  topicDraft,
  want,
} from "./fixture.ts";
import type { Cases } from "./store.ts";

const forgets = "it keeps nothing when it ends";

export const durabilityCases: Cases = (on) => {
  on("everything accepted is there after a crash (D-1, P-13)", async (scene) => {
    if (scene.harness.reopen === undefined) return scene.skip(forgets);
    const [a, b] = scene.ids;
    const names = Array.from({ length: 50 }, (_, index) => `e${index}`);
    await Promise.all(names.map((name) => scene.store.append(routedTo([a, b], name), startAt)));
    const catalog = await scene.store.catalog();
    const page = await scene.store.waiting(queueOf(a), { after: 0, limit: 100 });
    const store = await scene.harness.reopen();
    assert.deepEqual(await store.catalog(), catalog);
    assert.deepEqual(await store.waiting(queueOf(a), { after: 0, limit: 100 }), page);
    const claim = await store.claim(queueOf(b), want());
    assert.deepEqual(namesOf(claim.deliveries).toSorted(), names.toSorted());
  });

  on("dead letters of a removed subscription outlive a crash (L-1)", async (scene) => {
    if (scene.harness.reopen === undefined) return scene.skip(forgets);
    const [id] = scene.ids;
    await scene.store.append(routedTo([id], "letter", "waits"), startAt);
    const { deliveries } = await scene.store.claim(queueOf(id), want({ max: 1 }));
    await scene.store.settle(
      deliveries.map((one) => due(one, { stage: "deadLetter", at: startAt })),
    );
    await scene.store.removeSubscription(id);
    const { retired } = await scene.store.catalog();
    const store = await scene.harness.reopen();
    assert.equal(retired?.length, 1);
    assert.deepEqual((await store.catalog()).retired, retired);
    assert.deepEqual((await store.claim(queueOf(id), want())).deliveries, []);
    const letters = await store.claim(queueOf(id, "deadLetter"), want());
    assert.deepEqual(namesOf(letters.deliveries), ["letter"]);
    await store.settle(letters.deliveries.map(gone));
    assert.equal((await store.catalog()).retired, undefined);
  });

  on("an event of a custom schema is there after a crash with its envelope", async (scene) => {
    if (scene.harness.reopen === undefined) return scene.skip(forgets);
    const [id] = scene.ids;
    const schema = "CustomEventSchema";
    const envelope = `{"id":"made","subject":"äß 🐎 \\u0000"}`;
    const event = makeEvent("custom", { schema, text: '{"mine":1.0}', envelope });
    await scene.store.append([{ event, to: [id] }], startAt);
    await scene.store.append(routedTo([id], "plain"), startAt);
    const store = await scene.harness.reopen();
    const { deliveries } = await store.claim(queueOf(id), want());
    assert.deepEqual(
      deliveries.map((one) => one.event),
      [event, makeEvent("plain")],
    );
  });

  on("an event's trace context outlives a crash, and so does that it has none", async (scene) => {
    if (scene.harness.reopen === undefined) return scene.skip(forgets);
    const [id] = scene.ids;
    const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const traces = [{ parent, state: "a=1,b=2" }, { parent, state: null }, null];
    const events = traces.map((trace, index) => makeEvent(`e${index}`, { trace }));
    for (const event of events) await scene.store.append([{ event, to: [id] }], startAt);
    const store = await scene.harness.reopen();
    const { deliveries } = await store.claim(queueOf(id), want());
    assert.deepEqual(
      deliveries.map(({ event }) => event.trace),
      traces,
    );
  });

  on("attempts, stages and reasons outlive a crash, leases do not", async (scene) => {
    if (scene.harness.reopen === undefined) return scene.skip(forgets);
    const [id] = scene.ids;
    await scene.store.append(routedTo([id], "retried", "given up", "done", "leased"), startAt);
    const { deliveries } = await scene.store.claim(queueOf(id), want());
    const [retried, givenUp, done, leased] = deliveries;
    assert.ok(retried && givenUp && done && leased);
    const reason = "TimeToLiveExceeded";
    await scene.store.settle([
      due(retried, { attempts: 4 }),
      due(givenUp, { at: startAt + 5, stage: "deadLetter", attempts: 0, reason }),
      gone(done),
    ]);
    const store = await scene.harness.reopen();
    const alive = await store.claim(queueOf(id), want({ now: startAt + 10_000 }));
    assert.deepEqual(
      alive.deliveries.map((one) => [one.event.systemId, one.attempts, one.last?.status]),
      [
        ["leased", 0, undefined],
        ["retried", 4, 503],
      ],
    );
    assert.equal(alive.nextDueAt, startAt + 10_000 + leaseMs);
    const dead = await store.claim(queueOf(id, "deadLetter"), want({ now: startAt + 5 }));
    assert.deepEqual(
      dead.deliveries.map((one) => [one.event.systemId, one.reason, one.dueAt]),
      [["given up", reason, startAt + 5]],
    );
    assert.deepEqual(await countsOf(store), [
      { subscription: id, stage: "deliver", waiting: 2 },
      { subscription: id, stage: "deadLetter", waiting: 1 },
    ]);
  });

  on("a lease from before a crash is fenced off", async (scene) => {
    if (scene.harness.reopen === undefined) return scene.skip(forgets);
    const [id] = scene.ids;
    await scene.store.append(routedTo([id], "one", "two"), startAt);
    const [one, two] = (await scene.store.claim(queueOf(id), want())).deliveries;
    assert.ok(one && two);
    const store = await scene.harness.reopen();
    const again = await store.claim(queueOf(id), want({ max: 1 }));
    assert.deepEqual(await store.settle([gone(one), back(one), gone(two)]), [false, false, false]);
    assert.deepEqual(await store.settle(again.deliveries.map(gone)), [true]);
  });

  on("numbers and ids are never used again", async (scene) => {
    if (scene.harness.reopen === undefined) return scene.skip(forgets);
    const [id, , last] = scene.ids;
    await scene.store.append(routedTo([id], "one"), startAt);
    const [before] = (await scene.store.claim(queueOf(id), want())).deliveries;
    assert.ok(before);
    await scene.store.settle([gone(before)]);
    await scene.store.removeSubscription(last);
    const revision = (await scene.store.catalog()).topics[0]?.revision as number;
    const store = await scene.harness.reopen();
    await store.append(routedTo([id], "two"), startAt);
    const [after] = (await store.claim(queueOf(id), want())).deliveries;
    assert.ok(after && after.id.event > before.id.event && after.lease > before.lease);
    assert.ok((await store.putSubscription(subscriptionDraft({ name: "new" }))).id > last);
    assert.ok((await store.putTopic(topicDraft(), revision)).revision > revision);
  });

  on("what was being dropped at a crash is dropped and counted after it", async (scene) => {
    if (scene.harness.reopen === undefined) return scene.skip(forgets);
    const [id, other] = scene.ids;
    const names = Array.from({ length: 700 }, (_, index) => `e${index}`);
    await scene.store.append(routedTo([id], ...names), startAt);
    let told = 0;
    scene.store.onDropped((_, count) => {
      told += count;
    });
    await scene.store.removeSubscription(id);
    const store = await scene.harness.reopen();
    const dropped = new Promise<number>((resolve) => {
      if (told > 0) resolve(told);
      store.onDropped((subscription, count) => {
        assert.equal(subscription, id);
        resolve(count);
      });
    });
    await store.append(routedTo([other], "after"), startAt);
    assert.deepEqual(await countsOf(store), [
      { subscription: other, stage: "deliver", waiting: 1 },
    ]);
    assert.equal(await dropped, 700);
  });
};
