// Receivers who leave at an awkward moment: while the store is being asked for them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { openInMemory } from "../../test/contract/embedded.ts";
import { makeEvent, startAt, subscriptionDraft, topicDraft } from "../../test/contract/fixture.ts";
import { SimClock } from "../../test/sim/clock.ts";
import type { WholeStore } from "../core/ports.ts";
import type { Received } from "../core/pull/pull-store.ts";
import { PullReceivers } from "./receivers.ts";

async function openSlowStore() {
  const { store } = await openInMemory();
  const topic = await store.putTopic(
    topicDraft({ name: "shop/orders", kind: "namespaceTopic", profile: "namespace" }),
  );
  const subscription = await store.putSubscription(
    subscriptionDraft({
      ...{ topic: "shop/orders", name: "all", destination: { kind: "pull", lockMs: 60_000 } },
    }),
  );
  const event = makeEvent("a", { publishedAt: startAt, schema: "CloudEventSchemaV1_0" });
  await store.append([{ event, to: [subscription.id] }], startAt);
  const clock = new SimClock(startAt, () => {});
  const gate = Promise.withResolvers<void>();
  /** How often what is due is locked by somebody else. */
  const busy = { times: 0 };
  const slow: WholeStore = Object.assign(Object.create(store), {
    onWake: () => {},
    settle: store.settle.bind(store),
    receive: async (...asked: Parameters<WholeStore["receive"]>): Promise<Received> => {
      await gate.promise;
      if (busy.times > 0) {
        busy.times -= 1;
        return { deliveries: [], nextDueAt: startAt };
      }
      return await store.receive(...asked);
    },
  });
  const deps = { store: slow, clock, meter: { count: () => {} }, log: { fact: () => {} } };
  const receivers = new PullReceivers({ deps, defaults: {} });
  const order = { max: 1, waitMs: 10_000, by: "r" };
  const { resolve: answer } = gate;
  return { receivers, clock, order, queue: { topic, subscription }, answer, busy };
}

test("whose wait ends while the store is asked gets what the store locks for it", async () => {
  const { receivers, clock, order, queue, answer } = await openSlowStore();
  const asked = receivers.receive(queue, order);
  await clock.run(startAt + 20_000);
  answer();
  assert.deepEqual(
    (await asked).map(({ event }) => event.systemId),
    ["a"],
  );
  const next = receivers.receive(queue, order);
  await clock.run(startAt + 40_000);
  assert.deepEqual(await next, []);
});

test("what is locked for one who has gone meanwhile is as it was (N-44)", async () => {
  const { receivers, clock, order, queue, answer } = await openSlowStore();
  let hangUp = () => {};
  const gone = receivers.receive(queue, { ...order, onGone: (listener) => (hangUp = listener) });
  hangUp();
  assert.deepEqual(await gone, []);
  answer();
  const next = receivers.receive(queue, order);
  await clock.run(startAt + 5_000);
  const [delivery] = await next;
  assert.deepEqual([delivery?.attempts, delivery?.last], [1, null]);
});

test("what another broker is handing out is asked for again (N-23)", async () => {
  const { receivers, clock, order, queue, answer, busy } = await openSlowStore();
  busy.times = 2;
  answer();
  const waiting = receivers.receive(queue, order);
  await clock.run(startAt + 1_000);
  assert.equal(busy.times, 0);
  assert.equal((await waiting).length, 1);
});

test("a broker that stops waits for the answer of the store", async () => {
  const { receivers, order, queue, answer } = await openSlowStore();
  const asked = receivers.receive(queue, order);
  receivers.close();
  answer();
  assert.equal((await asked).length, 1);
});

test("one who need not wait gets what is available, or nothing at once", async () => {
  const { receivers, clock, order, queue, answer } = await openSlowStore();
  answer();
  const first = receivers.receive(queue, { ...order, waitMs: 0 });
  await clock.run(startAt);
  assert.equal((await first).length, 1);
  const second = receivers.receive(queue, { ...order, waitMs: 0 });
  await clock.run(startAt);
  assert.deepEqual(await second, []);
});
