// Which dispatchers are on duty, and how they keep the pace that an endpoint has set.

import assert from "node:assert/strict";
import { test } from "node:test";
import { minutes, openWard, seconds } from "../../test/fixtures/dispatchers.ts";
import { filterForAll } from "../core/routing/filter.ts";
import type { Handshake } from "../core/subscription.ts";
import { MemoryStore } from "../store/memory.ts";

const shaken = (allowedRate: number | null): Handshake => ({
  ...{ code: "A", startedAt: 0, until: 0, pending: null, exchanges: [] },
  allowedRate,
});

/** A store that counts the claims made: a dispatcher that is replaced claims anew. */
class CountedStore extends MemoryStore {
  claims = 0;

  override claim(...want: Parameters<MemoryStore["claim"]>) {
    this.claims += 1;
    return super.claim(...want);
  }
}

test("a subscription that is not active is not served until it is", async () => {
  const ward = await openWard();
  const subscription = await ward.subscribe({ isActive: false, state: "Creating" });
  await ward.publish(["a"], [subscription]);
  await ward.advance(1 * minutes);
  assert.equal(ward.seen.length, 0);
  await ward.subscribe({ name: subscription.name });
  await ward.advance(0);
  assert.equal(ward.seen.length, 1);
});

test("only a change that a dispatcher can see replaces it", async () => {
  const store = new CountedStore();
  const ward = await openWard({ store });
  const given = { name: "billing", batch: { maxEvents: 2, preferredBytes: 1024 } };
  const { id: _id, revision: _revision, ...draft } = await ward.subscribe(given);
  await ward.advance(0);
  const before = store.claims;
  await ward.subscribe({ ...draft, state: "Updating", handshake: shaken(null) });
  await ward.subscribe({ ...draft, handshake: shaken(10) });
  await ward.subscribe({ ...draft, filter: { ...filterForAll, subjectBeginsWith: "a" } });
  await ward.subscribe({ ...draft, labels: ["a"], expiresAt: ward.clock.now() + 1 });
  await ward.advance(0);
  assert.equal(store.claims, before);
  await ward.subscribe({ ...draft, batch: { maxEvents: 3, preferredBytes: 1024 } });
  await ward.advance(0);
  assert.equal(store.claims, before + 2, "both stages anew");
});

test("sends are spaced by the allowed rate, also while earlier ones are unanswered", async () => {
  const ward = await openWard();
  ward.behave(
    () =>
      new Promise((answer) => {
        ward.clock.after(25 * seconds, () => answer(200));
      }),
  );
  const subscription = await ward.subscribe({ handshake: shaken(6) });
  await ward.publish(["a", "b", "c", "d"], [subscription]);
  await ward.advance(2 * minutes);
  assert.deepEqual(
    ward.seen.map(({ atMs, ids }) => [ids, atMs]),
    [
      [["a"], 0],
      [["b"], 10_000],
      [["c"], 20_000],
      [["d"], 30_000],
    ],
  );
  assert.equal(await ward.waiting(), 0);
});

test("a slow rate uses up no attempt and loses no lease, however long the queue", async () => {
  const ward = await openWard();
  const subscription = await ward.subscribe({ handshake: shaken(1) });
  const ids = Array.from({ length: 20 }, (_, index) => `e-${index}`);
  await ward.publish(ids, [subscription]);
  await ward.advance(20 * minutes);
  assert.deepEqual(
    ward.seen.map(({ atMs, ids: [id], count }) => [id, atMs, count]),
    ids.map((id, index) => [id, index * minutes, 0]),
  );
  assert.equal(await ward.waiting(), 0);
});

test("a batch is one request", async () => {
  const ward = await openWard();
  const batch = { maxEvents: 3, preferredBytes: 1_048_576 };
  const subscription = await ward.subscribe({ handshake: shaken(60), batch });
  await ward.publish(["a", "b", "c", "d", "e", "f", "g"], [subscription]);
  await ward.advance(1 * minutes);
  assert.equal(ward.seen.flatMap(({ ids }) => ids).length, 7);
  assert.ok(ward.seen.length <= 4, `${ward.seen.length} requests`);
  const gaps = ward.seen.slice(1).map(({ atMs }, index) => atMs - (ward.seen[index]?.atMs ?? 0));
  assert.ok(
    gaps.every((gap) => gap >= 1_000),
    String(gaps),
  );
});

test("subscriptions to one endpoint share its pace, the slowest that it has set", async () => {
  const ward = await openWard();
  const one = await ward.subscribe({ handshake: shaken(60) });
  const two = await ward.subscribe({ handshake: shaken(30) });
  const other = await ward.subscribe({
    destination: { kind: "webhook", url: "http://other.test/" },
  });
  await ward.publish(["a", "b"], [one, two, other]);
  await ward.advance(1 * minutes);
  const at = (host: string) =>
    ward.seen.filter(({ url }) => url.includes(host)).map(({ atMs }) => atMs);
  assert.deepEqual(at("endpoint.test"), [0, 2_000, 4_000, 6_000]);
  assert.deepEqual(at("other.test"), [0, 0]);
});

test("a rate that is lifted holds nothing back any more", async () => {
  const ward = await openWard();
  const subscription = await ward.subscribe({ handshake: shaken(1) });
  await ward.publish(["a", "b", "c", "d"], [subscription]);
  await ward.subscribe({ name: subscription.name, handshake: shaken(null) });
  await ward.advance(1 * minutes);
  assert.equal(ward.seen.length, 4);
});

test("a high rate is kept to the millisecond", async () => {
  const ward = await openWard({ sendsMax: 64 });
  const subscription = await ward.subscribe({ handshake: shaken(120_000) });
  const ids = Array.from({ length: 40 }, (_, index) => `e-${index}`);
  await ward.publish(ids, [subscription]);
  await ward.advance(1 * seconds);
  assert.deepEqual(
    ward.seen.map(({ atMs }) => atMs),
    ids.map((_, index) => Math.floor(index / 2)),
  );
});
