// How a broker keeps up with its catalog: what one change costs, and when it is in effect.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { RecordNames } from "../src/core/registry.ts";
import { plainSubscription } from "../src/core/subscription.ts";
import { MemoryStore } from "../src/store/memory.ts";
import { openHandshakeBroker } from "./fixtures/handshake-broker.ts";

/** A store that writes down what of its catalog is read. */
class WatchedStore extends MemoryStore {
  readonly reads: (RecordNames | null)[] = [];

  override catalog(only?: RecordNames) {
    this.reads.push(only ?? null);
    return super.catalog(only);
  }
}

const draft = (name: string) => ({
  ...plainSubscription,
  ...{ topic: "orders", name, origin: "api" as const },
  destination: { kind: "webhook" as const, url: "http://127.0.0.1:9/hook" },
});

test("one change reads one record, once, and fifty at once are read together", async (t) => {
  const store = new WatchedStore();
  const { rooms } = await openHandshakeBroker(t, { store });
  assert.deepEqual(store.reads.splice(0), [null, { topics: ["orders"], subscriptions: [] }]);
  const { id } = await store.putSubscription(draft("billing"));
  await rooms.refresh();
  assert.deepEqual(store.reads.splice(0), [{ topics: [], subscriptions: [id] }]);
  await rooms.operator.pause(id);
  assert.deepEqual(store.reads.splice(0), [{ topics: [], subscriptions: [id] }]);
  const names = Array.from({ length: 50 }, (_, index) => `sub-${index}`);
  const written = await Promise.all(
    names.map(async (name) => {
      const { id: own } = await store.putSubscription(draft(name));
      await rooms.refresh();
      assert.equal(rooms.catalog().subscription(own)?.name, name);
      return own;
    }),
  );
  assert.deepEqual(store.reads.splice(0), [{ topics: [], subscriptions: written }]);
  await store.removeTopic("ORDERS");
  await rooms.refresh();
  assert.deepEqual(store.reads.splice(0), [
    { topics: ["orders"], subscriptions: [id, ...written] },
  ]);
  assert.deepEqual([rooms.catalog().topics, rooms.catalog().subscriptions], [[], []]);
});

test("what is answered as written is in effect for the next publish", async (t) => {
  const broker = await openHandshakeBroker(t);
  const { rooms, store } = broker;
  const one = await store.putSubscription(draft("one"));
  await rooms.refresh();
  await broker.publish("first");
  await store.removeSubscription(one.id);
  const two = await store.putSubscription(draft("two"));
  await rooms.refresh();
  await broker.publish("second");
  const waiting = async (subscription: number) =>
    (await store.waiting({ subscription, stage: "deliver" }, { after: 0, limit: 9 })).map(
      ({ event }) => JSON.parse(event.text).id,
    );
  assert.deepEqual([await waiting(one.id), await waiting(two.id)], [[], ["second"]]);
});
