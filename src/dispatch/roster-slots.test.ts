// What a roster serves when other brokers own the rest.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answerLater, minutes, openTestDispatchers } from "../../test/fixtures/dispatchers.ts";
import type { Ownership } from "../core/cluster/ownership.ts";
import { homeSlot, type Slot, slotOf } from "../core/cluster/slot.ts";
import { MemoryStore } from "../store/memory.ts";

const here = { kind: "webhook", url: "http://endpoint.test/here" } as const;
const there = { kind: "webhook", url: "http://endpoint.test/there" } as const;

async function openScene() {
  const mine = new Set<Slot>([slotOf(here)]);
  const handed: unknown[] = [];
  const ownership: Ownership = {
    broker: "me",
    isMine: (slot) => mine.has(slot),
    listen: () => {},
    handOver: async (id, slot) => void handed.push([id, slot]),
    leave: async () => {},
  };
  const store = Object.assign(new MemoryStore(), { ownership });
  const scene = await openTestDispatchers({ store, sendsMax: 1 });
  const sent = () => scene.seen.map(({ url, ids }) => `${url.split("/").at(-1)} ${ids}`);
  return { ...scene, mine, handed, sent };
}

test("only what belongs to own slots is sent, and the rest when its slot is gained", async () => {
  const { subscribe, publish, sent, mine, roster, advance } = await openScene();
  const own = await subscribe({ destination: here });
  const other = await subscribe({ destination: there });
  await publish(["a"], [own, other]);
  assert.deepEqual(sent(), ["here a"]);
  mine.add(slotOf(there));
  roster.gained([slotOf(there)], new Map());
  await advance(0);
  assert.deepEqual(sent(), ["here a", "there a"]);
});

test("a broker that was frozen sends nothing with an ended lease, before it is told", async () => {
  const { subscribe, publish, sent, mine, behave, advance } = await openScene();
  const own = await subscribe({ destination: here });
  const first = answerLater();
  behave(() => first.answer);
  await publish(["a", "b"], [own]);
  assert.deepEqual(sent(), ["here a"]);
  mine.clear();
  first.give(200);
  await advance(5 * minutes);
  assert.deepEqual(sent(), ["here a"]);
});

test("a slot that is lost has its sends aborted", async () => {
  const { subscribe, publish, sent, mine, behave, advance, roster, store } = await openScene();
  const own = await subscribe({ destination: here });
  behave(() => answerLater().answer);
  await publish(["a", "b"], [own]);
  mine.clear();
  roster.lost([slotOf(here)]);
  await advance(0);
  assert.deepEqual(sent(), ["here a"]);
  // Both can be claimed by whoever has the slot now, and the one that was aborted lost nothing.
  const want = { max: 9, charsMax: 9_999, now: Number.MAX_SAFE_INTEGER, leaseMs: 1 };
  const { deliveries } = await store.claim({ subscription: own.id, stage: "deliver" }, want);
  assert.deepEqual(
    deliveries.map(({ event, attempts }) => [event.systemId, attempts]),
    [
      ["a", 0],
      ["b", 0],
    ],
  );
});

test("a slot is released when nothing of it is in flight, and begins nothing meanwhile", async () => {
  const { subscribe, publish, sent, mine, behave, advance, roster } = await openScene();
  const own = await subscribe({ destination: here });
  const first = answerLater();
  behave(() => first.answer);
  await publish(["a", "b"], [own]);
  mine.clear();
  let isReleased = false;
  void roster.release([slotOf(here)]).then(() => {
    isReleased = true;
  });
  await advance(1_000);
  assert.equal(isReleased, false);
  first.give(200);
  await advance(0);
  assert.equal(isReleased, true);
  assert.deepEqual(sent(), ["here a"]);
});

test("an endpoint's health goes with its slot", async () => {
  const { subscribe, publish, mine, behave, advance, roster, store } = await openScene();
  const own = await subscribe({ destination: here });
  behave(() => 500);
  await publish(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"], [own]);
  await advance(5 * minutes);
  const health = () => roster.endpoints()[0]?.health.kind;
  assert.equal(health(), "unhealthy");
  mine.clear();
  await roster.release([slotOf(here)]);
  assert.equal(roster.endpoints().length, 0);
  assert.equal((await store.notes("endpoint.health")).length, 1);
  mine.add(slotOf(here));
  roster.gained([slotOf(here)], new Map());
  await advance(0);
  assert.equal(health(), "unhealthy");
});

test("a new destination of another slot gets nothing before the old one's sends end", async () => {
  const { subscribe, publish, sent, behave, advance, handed, mine, roster } = await openScene();
  const own = await subscribe({ name: "moved", destination: here });
  const first = answerLater();
  behave(() => first.answer);
  await publish(["a", "b"], [own]);
  const changed = { ...own, destination: there, slot: slotOf(here) };
  mine.add(slotOf(there));
  roster.put(changed, { profile: null });
  await advance(1_000);
  assert.deepEqual(handed, []);
  first.give(200);
  await advance(0);
  assert.deepEqual(handed, [[own.id, slotOf(there)]]);
  assert.deepEqual(sent(), ["here a"]);
  roster.put({ ...changed, slot: slotOf(there) }, { profile: null });
  await advance(0);
  assert.deepEqual(sent(), ["here a", "there b"]);
});

test("a queue that clients fetch from leaves the slot that all of them once shared", async () => {
  const { subscribe, advance, handed, mine, roster } = await openScene();
  const destination = { kind: "pull", lockMs: 60_000 } as const;
  const queue = await subscribe({ name: "billing", destination });
  const shared = slotOf(destination);
  mine.add(shared);
  roster.put({ ...queue, slot: shared }, { profile: "namespace" });
  await advance(0);
  assert.deepEqual(handed, [[queue.id, homeSlot(queue)]]);
});
