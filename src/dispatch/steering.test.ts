// Operators' actions, seen from the endpoints: pauses, drains, halved batches, closed and opened
// endpoints, and hastened attempts.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  answerLater,
  hours,
  minutes,
  openTestDispatchers,
  seconds,
  start,
  type TestDispatchers,
} from "../../test/fixtures/dispatchers.ts";
import { type FlowState, goOn, pause } from "../core/delivery/flow.ts";
import type { Subscription } from "../core/subscription.ts";

const numbered = (count: number, name = "e") =>
  Array.from({ length: count }, (_, index) => `${name}${index}`);
const times = (scene: TestDispatchers) => scene.seen.map(({ atMs }) => atMs);
const oneAttempt = { maxDeliveryAttempts: 1, eventTimeToLiveMs: null };

/** As an operator does it: a write of the record, of which the roster is notified. */
async function steer(
  scene: TestDispatchers,
  subscription: Subscription,
  change: (flowState: FlowState, now: number) => FlowState,
): Promise<Subscription> {
  const { id: _id, revision: _revision, ...draft } = subscription;
  const changed = change(draft, scene.clock.now());
  const { flow, pauses } = changed;
  const written = await scene.store.putSubscription({ ...draft, flow, pauses });
  await scene.sync();
  await scene.advance(0);
  return written;
}

const run = (flowState: FlowState, now: number) => goOn(flowState, { kind: "running" }, now);

test("a paused subscription gets nothing, loses nothing, and goes on where it was", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  const other = await scene.subscribe({ destination: { kind: "webhook", url: "http://b.test/" } });
  const paused = await steer(scene, sub, pause);
  await scene.publish(numbered(20), [sub, other]);
  await scene.advance(3 * hours);
  assert.ok(scene.seen.every(({ url }) => url === "http://b.test/"));
  assert.equal(scene.seen.length, 20, "the other subscription is not held up");
  assert.equal(await scene.waiting(), 20);
  await steer(scene, paused, run);
  assert.equal(scene.seen.length, 40);
  assert.equal(await scene.waiting(), 0);
});

test("a pause longer than an event's life does not cost it its life (R-6)", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  scene.behave(() => 503);
  await scene.publish(["a"], [sub]);
  await scene.advance(23 * hours);
  const before = scene.seen.length;
  const paused = await steer(scene, sub, pause);
  await scene.advance(1000 * hours);
  assert.equal(scene.seen.length, before, "nothing is sent meanwhile");
  scene.behave(() => 200);
  await steer(scene, paused, run);
  assert.equal(scene.seen.length, before + 1);
  assert.deepEqual(scene.factsNamed("delivery.dropped"), []);
});

test("after a pause the rest of an event's life is as long as it was (R-6)", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  scene.behave(() => 500);
  await scene.publish(["a"], [sub]);
  await scene.advance(1 * hours);
  const paused = await steer(scene, sub, pause);
  await scene.advance(100 * hours);
  await steer(scene, paused, run);
  await scene.advance(40 * hours);
  const [dropped] = scene.factsNamed("delivery.dropped");
  assert.match(String(dropped?.fields.words), /4 d 4 h of pauses not counted/);
  const lastMs = (scene.seen.at(-1)?.atMs ?? 0) - 100 * hours;
  assert.ok(lastMs > 10 * hours && lastMs < 24 * hours, `${lastMs} ms`);
});

test("a pause lets what is under way end, late answers included (R-4)", async () => {
  const scene = await openTestDispatchers({ sendsMax: 2 });
  const sub = await scene.subscribe();
  const later = answerLater();
  scene.behave(() => later.answer);
  await scene.publish(numbered(10), [sub]);
  assert.equal(scene.seen.length, 2);
  const paused = await steer(scene, sub, pause);
  await scene.advance(40 * seconds);
  later.give(200);
  await scene.advance(0);
  assert.equal(await scene.waiting(), 8, "two came late, and count");
  assert.equal(scene.seen.length, 2, "the others were given back");
  scene.behave(() => 200);
  await steer(scene, paused, run);
  assert.equal(await scene.waiting(), 0);
});

test("dead letters are written while a subscription is paused (L-3)", async () => {
  const scene = await openTestDispatchers();
  const deadLetter = { kind: "blob", resourceId: "/x", container: "box" } as const;
  const sub = await scene.subscribe({ deadLetter });
  scene.behave(() => 400);
  await scene.publish(["a"], [sub]);
  await steer(scene, sub, pause);
  await scene.advance(6 * minutes);
  assert.deepEqual(
    scene.deadLetters.map(({ ids }) => ids),
    [["a"]],
  );
});

test("a drain sends no more events a second than it is told", async () => {
  const drained: number[] = [];
  const scene = await openTestDispatchers({ onDrained: (id) => drained.push(id) });
  const sub = await scene.subscribe();
  const paused = await steer(scene, sub, pause);
  await scene.publish(numbered(12), [sub]);
  await steer(scene, paused, (flowState, now) =>
    goOn(flowState, { kind: "draining", perSecond: 4 }, now),
  );
  await scene.advance(1 * minutes);
  assert.deepEqual(
    times(scene),
    numbered(12).map((_, index) => index * 250),
  );
  assert.ok(drained.length > 0 && drained.every((id) => id === sub.id));
});

test("a drain counts the events of batches, and goes on through failures", async () => {
  const drained: number[] = [];
  const scene = await openTestDispatchers({ onDrained: (id) => drained.push(id) });
  const batch = { maxEvents: 50, preferredBytes: 1024 * 1024 };
  const sub = await scene.subscribe({ batch });
  const paused = await steer(scene, sub, pause);
  await scene.publish(numbered(25), [sub]);
  scene.behave(({ atMs }) => (atMs === 0 ? 500 : 200));
  await steer(scene, paused, (flowState, now) =>
    goOn(flowState, { kind: "draining", perSecond: 10 }, now),
  );
  await scene.advance(9 * seconds);
  assert.deepEqual(
    scene.seen.map(({ atMs, ids }) => [atMs, ids.length]),
    [
      [0, 10],
      [1_000, 10],
      [2_000, 5],
    ],
  );
  await scene.advance(10 * seconds);
  assert.equal(await scene.waiting(), 0, "the ten that failed have come again");
});

test("a slow drain keeps nothing in hand beyond its lease", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  const paused = await steer(scene, sub, pause);
  await scene.publish(numbered(3), [sub]);
  await steer(scene, paused, (flowState, now) =>
    goOn(flowState, { kind: "draining", perSecond: 0.01 }, now),
  );
  await scene.advance(10 * minutes);
  assert.deepEqual(times(scene), [0, 100 * seconds, 200 * seconds]);
});

test("a batch is halved until the event that spoils it is alone, and only that is given up", async () => {
  const scene = await openTestDispatchers();
  const batch = { maxEvents: 16, preferredBytes: 1024 * 1024 };
  const sub = await scene.subscribe({ batch, splitOnFailure: true });
  scene.behave(({ ids }) => (ids.includes("e5") ? 400 : 200));
  await scene.publish(numbered(16), [sub]);
  assert.deepEqual(
    scene.seen.map(({ ids, count }) => [ids.length, count]),
    [16, 8, 8, 4, 4, 2, 2, 1, 1].map((size) => [size, 0]),
  );
  const [dropped] = scene.factsNamed("delivery.dropped");
  assert.equal(dropped?.fields.event, "e5");
  assert.equal(dropped?.fields.reason, "UndeliverableDueToHttpBadRequest");
  assert.equal(scene.factsNamed("delivery.dropped").length, 1);
  assert.equal(scene.factsNamed("batch.halved").length, 4);
  assert.equal(await scene.waiting(), 0);
  assert.ok(
    times(scene).every((at) => at === 0),
    "the halves go out at once",
  );
});

test("without splitOnFailure the whole batch is given up (B-3, R-3)", async () => {
  const scene = await openTestDispatchers();
  const batch = { maxEvents: 16, preferredBytes: 1024 * 1024 };
  const sub = await scene.subscribe({ batch });
  scene.behave(({ ids }) => (ids.includes("e5") ? 400 : 200));
  await scene.publish(numbered(16), [sub]);
  assert.equal(scene.seen.length, 1);
  assert.equal(scene.factsNamed("delivery.dropped").length, 16);
});

test("halving uses up no attempts of innocent events (R-5)", async () => {
  const scene = await openTestDispatchers();
  const batch = { maxEvents: 16, preferredBytes: 1024 * 1024 };
  const terms = { batch, splitOnFailure: true, retryPolicy: oneAttempt };
  const sub = await scene.subscribe(terms);
  scene.behave(({ ids }) => (ids.includes("e5") ? 413 : 200));
  await scene.publish(numbered(16), [sub]);
  const dropped = scene.factsNamed("delivery.dropped").map(({ fields }) => fields);
  assert.deepEqual(
    dropped.map(({ event, reason }) => [event, reason]),
    [["e5", "MaxDeliveryAttemptsExceeded"]],
  );
});

test("batches that are halved do not make their endpoint unhealthy (H-1)", async () => {
  const scene = await openTestDispatchers({ sendsMax: 1 });
  const batch = { maxEvents: 64, preferredBytes: 1024 * 1024 };
  const sub = await scene.subscribe({ batch, splitOnFailure: true });
  const poison = new Set(["e3", "e20", "e40"]);
  scene.behave(({ ids }) => (ids.some((id) => poison.has(id)) ? 400 : 200));
  await scene.publish(numbered(64), [sub]);
  assert.deepEqual(scene.factsNamed("endpoint.changed"), []);
  const dropped = scene.factsNamed("delivery.dropped").map(({ fields }) => fields.event);
  assert.deepEqual(new Set(dropped), poison);
  assert.equal(await scene.waiting(), 0);
});

test("a half that fails for another reason is retried by the schedule, as a half (R-1)", async () => {
  const scene = await openTestDispatchers();
  const batch = { maxEvents: 8, preferredBytes: 1024 * 1024 };
  const sub = await scene.subscribe({ batch, splitOnFailure: true });
  scene.behave(({ ids, atMs }) => {
    if (ids.length === 8) return 400;
    return atMs === 0 ? 503 : 200;
  });
  await scene.publish(numbered(8), [sub]);
  await scene.advance(1 * minutes);
  assert.deepEqual(
    scene.seen.map(({ ids, count, atMs }) => [ids.length, count, atMs]),
    [
      [8, 0, 0],
      [4, 0, 0],
      [4, 0, 0],
      [4, 1, 30_000],
      [4, 1, 30_000],
    ],
  );
  assert.equal(await scene.waiting(), 0);
});

test("a pause in the middle of halving keeps the halves, and nothing is sent", async () => {
  const scene = await openTestDispatchers();
  const batch = { maxEvents: 8, preferredBytes: 1024 * 1024 };
  const sub = await scene.subscribe({ batch, splitOnFailure: true });
  const later = answerLater();
  scene.behave(({ ids }) => (ids.length === 8 ? later.answer : ids.includes("e0") ? 400 : 200));
  await scene.publish(numbered(8), [sub]);
  const paused = await steer(scene, sub, pause);
  later.give(400);
  await scene.advance(1 * hours);
  assert.equal(scene.seen.length, 1);
  assert.equal(await scene.waiting(), 8);
  await steer(scene, paused, run);
  assert.equal(await scene.waiting(), 0);
  assert.deepEqual(
    scene.factsNamed("delivery.dropped").map(({ fields }) => fields.event),
    ["e0"],
  );
});

test("whatever spoils batches is given up, all else delivered, each once", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 60 }),
      fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
      fc.constantFrom(2, 3, 7, 16, 50),
      async (count, isPoison, maxEvents) => {
        const scene = await openTestDispatchers();
        const batch = { maxEvents, preferredBytes: 1024 * 1024 };
        const sub = await scene.subscribe({ batch, splitOnFailure: true });
        const ids = numbered(count);
        const poison = new Set(ids.filter((_, index) => isPoison[index]));
        const delivered: string[] = [];
        scene.behave((seen) => {
          if (seen.ids.some((id) => poison.has(id))) return 400;
          delivered.push(...seen.ids);
          return 200;
        });
        await scene.publish(ids, [sub]);
        // A bad event alone counts as a failure of the endpoint, which may become unhealthy (H-1).
        await scene.advance(30 * hours);
        const dropped = scene.factsNamed("delivery.dropped").map(({ fields }) => fields.event);
        assert.deepEqual(new Set(dropped), poison);
        assert.equal(dropped.length, poison.size);
        assert.deepEqual(delivered.toSorted(), ids.filter((id) => !poison.has(id)).toSorted());
        assert.equal(await scene.waiting(), 0);
      },
    ),
    { numRuns: 30 },
  );
});

test("a closed endpoint gets nothing until it is opened, whatever its profile", async () => {
  for (const profile of ["azure", "ga-2018"] as const) {
    const scene = await openTestDispatchers({ profile });
    const sub = await scene.subscribe();
    scene.roster.closeEndpoint("http://endpoint.test/hook", { at: start, because: "moving" });
    await scene.publish(numbered(3), [sub]);
    await scene.advance(1 * hours);
    assert.equal(scene.seen.length, 0);
    const [state] = scene.roster.endpoints();
    assert.deepEqual(state?.closure, { at: start, because: "moving" });
    scene.roster.openEndpoint("http://endpoint.test/hook", "opened", { at: start, because: "" });
    await scene.advance(0);
    assert.equal(scene.seen.length, 3);
    const changes = scene.factsNamed("endpoint.changed").map(({ fields }) => fields.because);
    assert.deepEqual(changes, ["closed by an operator: moving", "opened by an operator"]);
  }
});

test("an endpoint that was closed before anyone sent there is closed when someone does", async () => {
  const scene = await openTestDispatchers();
  scene.roster.closeEndpoint("http://endpoint.test/hook", { at: start, because: "" });
  const sub = await scene.subscribe();
  await scene.publish(["a"], [sub]);
  assert.equal(scene.seen.length, 0);
  scene.roster.openEndpoint("http://endpoint.test/hook", "reset", { at: start, because: "" });
  await scene.advance(0);
  assert.equal(scene.seen.length, 1);
});

test("opening an unhealthy endpoint makes it healthy at once", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  scene.behave(() => 500);
  await scene.publish(numbered(12), [sub]);
  assert.equal(scene.roster.endpoints()[0]?.health.kind, "unhealthy");
  scene.behave(() => 200);
  scene.roster.openEndpoint("http://endpoint.test/hook", "opened", { at: start, because: "" });
  await scene.advance(0);
  assert.equal(scene.roster.endpoints()[0]?.health.kind, "healthy");
  const before = scene.seen.length;
  await scene.advance(10 * seconds);
  assert.ok(scene.seen.length > before, "retries are made when they are due");
  assert.equal(await scene.waiting(), 0);
});

test("what someone hastens at an unhealthy endpoint is the send that tests it (H-2)", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  scene.behave(() => 500);
  await scene.publish(numbered(12), [sub]);
  const before = scene.seen.length;
  scene.behave(() => 200);
  await scene.advance(1 * seconds);
  const queue = { subscription: sub.id, stage: "deliver" } as const;
  const waiting = await scene.store.waiting(queue, { after: 0, limit: 20 });
  const chosen = waiting.find(({ event }) => event.systemId === "e7");
  const now = scene.clock.now();
  await scene.store.hasten(queue, { event: chosen?.id.event ?? 0, now });
  assert.ok(scene.roster.hasten(sub.id, now));
  await scene.advance(0);
  assert.deepEqual(scene.seen.slice(before, before + 1), [
    { atMs: 1_000, url: "http://endpoint.test/hook", ids: ["e7"], count: 1 },
  ]);
});

test("at an unhealthy endpoint, what has expired is found by its age without pauses (H-3, R-6)", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  scene.behave(() => 500);
  await scene.publish(numbered(12), [sub]);
  await scene.advance(1 * hours);
  const paused = await steer(scene, sub, pause);
  await scene.advance(30 * hours);
  await steer(scene, paused, run);
  await scene.advance(20 * hours);
  assert.deepEqual(scene.factsNamed("delivery.dropped"), [], "21 hours old, and not 51");
  await scene.advance(20 * hours);
  assert.equal(scene.factsNamed("delivery.dropped").length, 12);
});

test("a test brought forward for a subscription that has nothing is made by another", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  scene.behave(() => 500);
  await scene.publish(numbered(12), [sub]);
  await scene.advance(20 * seconds);
  assert.equal(scene.roster.endpoints()[0]?.health.kind, "unhealthy");
  const idle = await scene.subscribe();
  const before = scene.seen.length;
  assert.ok(scene.roster.hasten(idle.id, null));
  await scene.advance(0);
  assert.equal(scene.seen.length, before + 1);
});
