// Which dispatchers there are, and how they keep to an endpoint's rate.

import assert from "node:assert/strict";
import { test } from "node:test";
import { minutes, openTestDispatchers, seconds } from "../../test/fixtures/dispatchers.ts";
import { filterForAll } from "../core/routing/filter.ts";
import type { Handshake } from "../core/subscription.ts";
import { MemoryStore } from "../store/memory.ts";

const shaken = (allowedRate: number | null): Handshake => ({
  ...{ code: "A", startedAt: 0, until: 0, pending: null, exchanges: [] },
  allowedRate,
});

/** A store that counts claims: a replaced dispatcher claims again. */
class CountedStore extends MemoryStore {
  claims = 0;

  override claim(...want: Parameters<MemoryStore["claim"]>) {
    this.claims += 1;
    return super.claim(...want);
  }
}

test("a subscription that is not active is not served until it is", async () => {
  const scene = await openTestDispatchers();
  const subscription = await scene.subscribe({ isActive: false, state: "Creating" });
  await scene.publish(["a"], [subscription]);
  await scene.advance(1 * minutes);
  assert.equal(scene.seen.length, 0);
  await scene.subscribe({ name: subscription.name });
  await scene.advance(0);
  assert.equal(scene.seen.length, 1);
});

test("only a change that a dispatcher can see replaces it", async () => {
  const store = new CountedStore();
  const scene = await openTestDispatchers({ store });
  const given = { name: "billing", batch: { maxEvents: 2, preferredBytes: 1024 } };
  const { id: _id, revision: _revision, ...draft } = await scene.subscribe(given);
  await scene.advance(0);
  const before = store.claims;
  await scene.subscribe({ ...draft, state: "Updating", handshake: shaken(null) });
  await scene.subscribe({ ...draft, handshake: shaken(10) });
  await scene.subscribe({ ...draft, filter: { ...filterForAll, subjectBeginsWith: "a" } });
  await scene.subscribe({ ...draft, labels: ["a"], expiresAt: scene.clock.now() + 1 });
  await scene.advance(0);
  assert.equal(store.claims, before);
  await scene.subscribe({ ...draft, batch: { maxEvents: 3, preferredBytes: 1024 } });
  await scene.advance(0);
  assert.equal(store.claims, before + 2, "both stages anew");
});

test("sends are spaced by the allowed rate, also while earlier ones are unanswered", async () => {
  const scene = await openTestDispatchers();
  scene.behave(
    () =>
      new Promise((answer) => {
        scene.clock.after(25 * seconds, () => answer(200));
      }),
  );
  const subscription = await scene.subscribe({ handshake: shaken(6) });
  await scene.publish(["a", "b", "c", "d"], [subscription]);
  await scene.advance(2 * minutes);
  assert.deepEqual(
    scene.seen.map(({ atMs, ids }) => [ids, atMs]),
    [
      [["a"], 0],
      [["b"], 10_000],
      [["c"], 20_000],
      [["d"], 30_000],
    ],
  );
  assert.equal(await scene.waiting(), 0);
});

test("a slow rate uses up no attempt and loses no lease, however long the queue", async () => {
  const scene = await openTestDispatchers();
  const subscription = await scene.subscribe({ handshake: shaken(1) });
  const ids = Array.from({ length: 20 }, (_, index) => `e-${index}`);
  await scene.publish(ids, [subscription]);
  await scene.advance(20 * minutes);
  assert.deepEqual(
    scene.seen.map(({ atMs, ids: [id], count }) => [id, atMs, count]),
    ids.map((id, index) => [id, index * minutes, 0]),
  );
  assert.equal(await scene.waiting(), 0);
});

test("a batch is one request", async () => {
  const scene = await openTestDispatchers();
  const batch = { maxEvents: 3, preferredBytes: 1_048_576 };
  const subscription = await scene.subscribe({ handshake: shaken(60), batch });
  await scene.publish(["a", "b", "c", "d", "e", "f", "g"], [subscription]);
  await scene.advance(1 * minutes);
  assert.equal(scene.seen.flatMap(({ ids }) => ids).length, 7);
  assert.ok(scene.seen.length <= 4, `${scene.seen.length} requests`);
  const gaps = scene.seen.slice(1).map(({ atMs }, index) => atMs - (scene.seen[index]?.atMs ?? 0));
  assert.ok(
    gaps.every((gap) => gap >= 1_000),
    String(gaps),
  );
});

test("subscriptions to one endpoint share its pace, the slowest that it has set", async () => {
  const scene = await openTestDispatchers();
  const one = await scene.subscribe({ handshake: shaken(60) });
  const two = await scene.subscribe({ handshake: shaken(30) });
  const other = await scene.subscribe({
    destination: { kind: "webhook", url: "http://other.test/" },
  });
  await scene.publish(["a", "b"], [one, two, other]);
  await scene.advance(1 * minutes);
  const at = (host: string) =>
    scene.seen.filter(({ url }) => url.includes(host)).map(({ atMs }) => atMs);
  assert.deepEqual(at("endpoint.test"), [0, 2_000, 4_000, 6_000]);
  assert.deepEqual(at("other.test"), [0, 0]);
});

test("a rate that is lifted holds nothing back any more", async () => {
  const scene = await openTestDispatchers();
  const subscription = await scene.subscribe({ handshake: shaken(1) });
  await scene.publish(["a", "b", "c", "d"], [subscription]);
  await scene.subscribe({ name: subscription.name, handshake: shaken(null) });
  await scene.advance(1 * minutes);
  assert.equal(scene.seen.length, 4);
});

test("a high rate is kept to the millisecond", async () => {
  const scene = await openTestDispatchers({ sendsMax: 64 });
  const subscription = await scene.subscribe({ handshake: shaken(120_000) });
  const ids = Array.from({ length: 40 }, (_, index) => `e-${index}`);
  await scene.publish(ids, [subscription]);
  await scene.advance(1 * seconds);
  assert.deepEqual(
    scene.seen.map(({ atMs }) => atMs),
    ids.map((_, index) => Math.floor(index / 2)),
  );
});
