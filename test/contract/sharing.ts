// The contract of a store that two hold at the same time: leases and fences keep them apart,
// wakes reach both.

import assert from "node:assert/strict";
import { Consumer } from "./consumer.ts";
import { due, gone, leaseMs, namesOf, queueOf, routedTo, startAt, want } from "./fixture.ts";
import type { Cases } from "./store.ts";

const alone = "it can be held by one only";

export const sharingCases: Cases = (on) => {
  on("two holders are never leased the same delivery at once", async (scene) => {
    if (scene.harness.second === undefined) return scene.skip(alone);
    const { store, ids } = scene;
    const stores = [store, await scene.harness.second()];
    const names = Array.from({ length: 60 }, (_, index) => `e${index}`);
    await store.append(routedTo([ids[0]], ...names), startAt);
    const claims = Array.from({ length: 12 }, (_, index) =>
      stores[index % 2]?.claim(queueOf(ids[0]), want({ max: 7 })),
    );
    const taken = (await Promise.all(claims)).flatMap((claim) => claim?.deliveries ?? []);
    assert.deepEqual(namesOf(taken).toSorted(), names.toSorted());
    assert.equal(new Set(taken.map(({ lease }) => lease)).size, 60);
  });

  on("what one holder lets expire the other takes, and the fence holds", async (scene) => {
    if (scene.harness.second === undefined) return scene.skip(alone);
    const { store } = scene;
    const [id] = scene.ids;
    const other = await scene.harness.second();
    await store.append(routedTo([id], "one"), startAt);
    const [mine] = (await store.claim(queueOf(id), want())).deliveries;
    assert.deepEqual((await other.claim(queueOf(id), want())).deliveries, []);
    const later = want({ now: startAt + leaseMs });
    const [theirs] = (await other.claim(queueOf(id), later)).deliveries;
    assert.ok(mine && theirs && theirs.lease > mine.lease);
    assert.deepEqual(await store.settle([gone(mine)]), [false]);
    assert.deepEqual(await other.settle([due(theirs)]), [true]);
    assert.deepEqual(await store.settle([gone({ ...theirs })]), [true], "nobody claimed since");
  });

  on("a wake reaches the other holder", async (scene) => {
    if (scene.harness.second === undefined) return scene.skip(alone);
    const [id] = scene.ids;
    const consumer = new Consumer(await scene.harness.second(), queueOf(id));
    await scene.store.append(routedTo([id], "one"), startAt);
    await consumer.woken((wake) => wake.dueAt === startAt);
    assert.deepEqual(namesOf((await consumer.take(want())).deliveries), ["one"]);
  });
};
