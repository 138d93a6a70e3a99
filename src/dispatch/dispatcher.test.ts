// Dispatch seen from the endpoints: when requests come, how many, with which content, and what is
// left in the store.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  answerLater,
  hours,
  minutes,
  openTestDispatchers,
  type Seen,
  seconds,
  start,
} from "../../test/fixtures/dispatchers.ts";

const times = (seen: readonly Seen[]) => seen.map(({ atMs }) => atMs);
const numbered = (count: number, name = "e") =>
  Array.from({ length: count }, (_, index) => `${name}${index}`);

test("the first attempt is made at once, and a success ends the delivery (D-3, D-5)", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  await scene.publish(["a"], [sub]);
  assert.deepEqual(scene.seen, [
    { atMs: 0, url: "http://endpoint.test/hook", ids: ["a"], count: 0 },
  ]);
  assert.equal(await scene.waiting(), 0);
});

test("each matching subscription gets its own delivery, one event per request (D-2, D-4)", async () => {
  const scene = await openTestDispatchers();
  const one = await scene.subscribe({ destination: { kind: "webhook", url: "http://one.test/" } });
  const two = await scene.subscribe({ destination: { kind: "webhook", url: "http://two.test/" } });
  await scene.publish(["a", "b"], [one, two]);
  const got = scene.seen.map(({ url, ids }) => `${url} ${ids}`).sort();
  assert.deepEqual(got, [
    "http://one.test/ a",
    "http://one.test/ b",
    "http://two.test/ a",
    "http://two.test/ b",
  ]);
});

test("a failing endpoint sees every step of the schedule, then the event is dropped (R-1, R-6)", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  scene.behave(() => 500);
  await scene.publish(["a"], [sub]);
  await scene.advance(40 * hours);
  const at = [0, 10, 40, 100, 400, 1000, 2800, 6400, 17_200, 38_800, 82_000];
  assert.deepEqual(
    times(scene.seen),
    at.map((second) => second * seconds),
  );
  assert.deepEqual(
    scene.seen.map(({ count }) => count),
    at.map((_, index) => index),
  );
  const [dropped] = scene.factsNamed("delivery.dropped");
  assert.equal(dropped?.fields.reason, "TimeToLiveExceeded");
  assert.equal(await scene.waiting(), 0);
});

test("every wait has its random addition (R-2)", async () => {
  const scene = await openTestDispatchers({ chance: 0.5 });
  const sub = await scene.subscribe();
  scene.behave(() => 500);
  await scene.publish(["a"], [sub]);
  await scene.advance(2 * minutes);
  assert.deepEqual(times(scene.seen), [0, 10_500, 42_000, 105_000]);
});

test("attempts end at their limit (R-5)", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe({
    retryPolicy: { maxDeliveryAttempts: 3, eventTimeToLiveMs: null },
  });
  scene.behave(() => 500);
  await scene.publish(["a"], [sub]);
  await scene.advance(24 * hours);
  assert.deepEqual(times(scene.seen), [0, 10_000, 40_000]);
  assert.equal(
    scene.factsNamed("delivery.dropped")[0]?.fields.reason,
    "MaxDeliveryAttemptsExceeded",
  );
});

test("no answer within the wait is a failure, and the wait counts (P-2, R-1)", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  scene.behave(({ count }) => (count === 0 ? answerLater().answer : 200));
  await scene.publish(["a"], [sub]);
  await scene.advance(39 * seconds);
  assert.equal(scene.seen.length, 1);
  await scene.advance(1 * seconds);
  assert.deepEqual(times(scene.seen), [0, 40_000]);
  assert.equal(await scene.waiting(), 0);
});

test("a late success takes the event out of the retry queue (R-4)", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  const late = answerLater();
  scene.behave(() => late.answer);
  await scene.publish(["a"], [sub]);
  await scene.advance(35 * seconds);
  late.give(200);
  await scene.advance(1 * hours);
  assert.deepEqual(times(scene.seen), [0]);
  assert.equal(await scene.waiting(), 0);
});

test("a late success after the event was sent again changes nothing (R-4)", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  const late = answerLater();
  const second = answerLater();
  scene.behave(({ count }) => (count === 0 ? late.answer : second.answer));
  await scene.publish(["a"], [sub]);
  await scene.advance(45 * seconds);
  assert.equal(scene.seen.length, 2);
  late.give(200);
  await scene.advance(0);
  assert.equal(await scene.waiting(), 1);
  second.give(200);
  await scene.advance(0);
  assert.equal(await scene.waiting(), 0);
});

test("ten failures in a row make an endpoint wait, new deliveries too (H-1, H-3)", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  scene.behave(() => 500);
  await scene.publish(numbered(10), [sub]);
  assert.equal(scene.seen.length, 10);
  await scene.publish(["new"], [sub]);
  await scene.advance(29 * seconds);
  assert.equal(scene.seen.length, 10);
  await scene.advance(1 * seconds);
  assert.equal(scene.seen.length, 11, "one probe, when the wait is over");
  assert.equal(await scene.waiting(), 11);
});

test("one probe at a time; a success lets what waits go, a few at a time first (H-2)", async () => {
  const scene = await openTestDispatchers({ sendsMax: 64 });
  const sub = await scene.subscribe();
  scene.behave(() => 500);
  await scene.publish(numbered(10), [sub]);
  await scene.publish(numbered(40, "new"), [sub]);
  let underWay = 0;
  let most = 0;
  const answers: (() => void)[] = [];
  scene.behave(async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise<void>((resolve) => answers.push(resolve));
    underWay -= 1;
    return 200;
  });
  await scene.clock.advance({ to: "next" });
  const mosts: number[] = [];
  const before = scene.seen.length;
  while (answers.length > 0) {
    mosts.push(most);
    most = 0;
    for (const answer of answers.splice(0)) answer();
    await scene.advance(0);
    if (answers.length === 0) await scene.advance(20 * seconds);
  }
  assert.equal(before, 11);
  assert.deepEqual(mosts.slice(0, 5), [1, 1, 2, 4, 8]);
  assert.equal(await scene.waiting(), 0);
});

test("the wait of an unhealthy endpoint grows while probes fail, up to hours (H-2)", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  scene.behave(() => 500);
  await scene.publish(numbered(10), [sub]);
  await scene.advance(10 * hours);
  const probes = times(scene.seen).slice(10);
  const waits = probes.map((at, index) => at - (probes[index - 1] ?? 0));
  assert.deepEqual(
    waits.map((ms) => ms / seconds),
    [30, 60, 120, 240, 480, 960, 1920, 3840, 7200, 7200, 7200],
  );
});

test("what expires behind an unhealthy endpoint is given up at the endpoint's next turn (H-3, R-6)", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe({
    retryPolicy: { maxDeliveryAttempts: null, eventTimeToLiveMs: 5 * minutes },
  });
  scene.behave(() => 500);
  await scene.publish(numbered(10), [sub]);
  await scene.publish(numbered(1200, "new"), [sub]);
  await scene.advance(20 * minutes);
  assert.equal(await scene.waiting(), 0);
  assert.equal(scene.factsNamed("delivery.dropped").length, 1210);
  const probes = scene.seen.slice(10);
  assert.ok(
    probes.every(({ atMs }) => atMs < 5 * minutes),
    "nothing is sent after its life",
  );
});

test("URLs that differ in their queries alone have health and room of their own (H-4)", async () => {
  const scene = await openTestDispatchers({ sendsMax: 2 });
  const at = (query: string) => ({
    destination: { kind: "webhook", url: `http://functions.test/api?f=${query}` } as const,
  });
  const down = await scene.subscribe(at("down"));
  const mute = await scene.subscribe(at("mute"));
  const well = await scene.subscribe(at("well"));
  scene.behave(({ url }) =>
    url.includes("down") ? 500 : url.includes("mute") ? answerLater().answer : 200,
  );
  await scene.publish(numbered(30), [down, mute, well]);
  await scene.advance(1 * seconds);
  assert.equal(scene.seen.filter(({ url }) => url.endsWith("well")).length, 30);
  const shown = scene.roster.endpoints().map(({ name, health }) => `${name} ${health.kind}`);
  assert.deepEqual(shown.sort(), [
    "http://functions.test/api healthy",
    "http://functions.test/api healthy",
    "http://functions.test/api unhealthy",
  ]);
});

test("an endpoint known to be down stays so over a restart: one probe, and no more (H-1, H-2)", async () => {
  const scene = await openTestDispatchers();
  const subs = [await scene.subscribe(), await scene.subscribe(), await scene.subscribe()];
  scene.behave(() => 503);
  await scene.publish(numbered(100), subs);
  await scene.advance(10 * minutes);
  const [before] = scene.roster.endpoints();
  assert.ok(before?.health.kind === "unhealthy");
  await scene.roster.close(AbortSignal.abort());
  await scene.advance(1 * minutes);
  const back = await openTestDispatchers({ store: scene.store, clock: scene.clock });
  back.behave(() => 503);
  await back.sync();
  await back.advance(0);
  assert.deepEqual(back.roster.endpoints()[0]?.health, before.health);
  const leftMs = before.health.until - back.clock.now();
  await back.advance(leftMs - 1);
  assert.equal(back.seen.length, 0);
  await back.advance(1);
  assert.equal(back.seen.length, 1);
  back.behave(() => 200);
  await back.advance(2 * hours);
  assert.equal(await back.waiting(), 0);
  assert.deepEqual(await back.store.notes("endpoint.health"), []);
});

test("one unhealthy or silent endpoint delays no other (H-4)", async () => {
  const scene = await openTestDispatchers();
  const sick = await scene.subscribe({
    destination: { kind: "webhook", url: "http://sick.test/" },
  });
  const mute = await scene.subscribe({
    destination: { kind: "webhook", url: "http://mute.test/" },
  });
  const well = await scene.subscribe({
    destination: { kind: "webhook", url: "http://well.test/" },
  });
  scene.behave(({ url }) =>
    url.includes("sick") ? 500 : url.includes("mute") ? answerLater().answer : 200,
  );
  await scene.publish(numbered(100), [sick, mute, well]);
  const atWell = scene.seen.filter(({ url }) => url.includes("well"));
  assert.equal(atWell.length, 100);
  assert.ok(atWell.every(({ atMs }) => atMs === 0));
});

test("health belongs to the endpoint, not to the subscription (H-1)", async () => {
  const scene = await openTestDispatchers();
  const hook = (path: string) => ({ kind: "webhook", url: `http://same.test/${path}` }) as const;
  const one = await scene.subscribe({ destination: hook("x?code=1") });
  const two = await scene.subscribe({ destination: hook("x?code=1") });
  const other = await scene.subscribe({ destination: hook("y") });
  scene.behave(({ url }) => (url.includes("/x") ? 500 : 200));
  await scene.publish(numbered(10), [one]);
  await scene.publish(["b"], [two, other]);
  assert.deepEqual(
    scene.seen.slice(10).map(({ url }) => url),
    ["http://same.test/y"],
  );
});

test("a profile without delayed delivery goes on at a failing endpoint (P-10)", async () => {
  const scene = await openTestDispatchers({ profile: "ga-2018" });
  const sub = await scene.subscribe();
  scene.behave(() => 500);
  await scene.publish(numbered(20), [sub]);
  await scene.advance(10 * seconds);
  assert.equal(scene.seen.length, 40);
});

test("sends to one endpoint stay within their bound, over all its subscriptions", async () => {
  const scene = await openTestDispatchers({ sendsMax: 3 });
  const one = await scene.subscribe();
  const two = await scene.subscribe();
  const answers: (() => void)[] = [];
  let underWay = 0;
  let most = 0;
  scene.behave(async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise<void>((resolve) => answers.push(resolve));
    underWay -= 1;
    return 200;
  });
  await scene.publish(numbered(20), [one, two]);
  while (answers.length > 0) {
    answers.shift()?.();
    await scene.advance(0);
  }
  assert.equal(most, 3);
  assert.equal(scene.seen.length, 40);
});

test("a batch holds what is there, within its limits, and its answer counts for all (B-1, B-2, B-3)", async () => {
  const scene = await openTestDispatchers({ sendsMax: 1 });
  const sub = await scene.subscribe({ batch: { maxEvents: 4, preferredBytes: 65_536 } });
  scene.behave(({ count }) => (count === 0 ? 503 : 200));
  await scene.publish(numbered(6), [sub]);
  assert.deepEqual(
    scene.seen.map(({ ids }) => ids.length),
    [4, 2],
  );
  await scene.advance(30 * seconds);
  assert.deepEqual(
    scene.seen.slice(2).map(({ ids }) => ids.length),
    [4, 2],
    "what failed together is due together",
  );
  assert.equal(await scene.waiting(), 0);
});

test("a subscription that changes is served by its new terms, also for what waits", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  scene.behave(({ url }) => (url.includes("new") ? 200 : 503));
  await scene.publish(["a"], [sub]);
  const { id: _, revision: __, ...draft } = sub;
  await scene.store.putSubscription({
    ...draft,
    destination: { kind: "webhook", url: "http://new.test/" },
  });
  await scene.sync();
  await scene.advance(30 * seconds);
  assert.deepEqual(
    scene.seen.map(({ url, atMs }) => `${atMs} ${url}`),
    ["0 http://endpoint.test/hook", "30000 http://new.test/"],
  );
});

test("a removed subscription gets nothing more", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  scene.behave(() => 503);
  await scene.publish(["a"], [sub]);
  await scene.store.removeSubscription(sub.id);
  await scene.sync();
  await scene.advance(1 * hours);
  assert.equal(scene.seen.length, 1);
  assert.equal(await scene.waiting(), 0);
});

test("closing lets a send under way end, and settles it", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  const later = answerLater();
  scene.behave(() => later.answer);
  await scene.publish(["a"], [sub]);
  const closed = scene.roster.close(new AbortController().signal);
  later.give(200);
  await closed;
  assert.equal(await scene.waiting(), 0);
});

test("closing in haste breaks a send off and keeps its event, which has used no attempt", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  scene.behave(() => answerLater().answer);
  await scene.publish(["a"], [sub]);
  await scene.roster.close(AbortSignal.abort());
  const [kept] = await scene.store.waiting(
    { subscription: sub.id, stage: "deliver" },
    { after: 0, limit: 10 },
  );
  assert.equal(kept?.attempts, 0);
  assert.equal(kept?.dueAt, scene.clock.now());
});

test("what we give up on goes to the dead letters five minutes later, together (L-1, L-3)", async () => {
  const scene = await openTestDispatchers();
  const deadLetter = { kind: "blob", resourceId: "/r", container: "box" } as const;
  const sub = await scene.subscribe({ deadLetter });
  scene.behave(() => 400);
  await scene.publish(["a", "b"], [sub]);
  await scene.advance(5 * minutes - 1);
  assert.equal(scene.deadLetters.length, 0);
  await scene.advance(1);
  assert.deepEqual(scene.deadLetters, [
    { atMs: 5 * minutes, url: "box", ids: ["a", "b"], count: 0 },
  ]);
  assert.equal(scene.seen.length, 2, "a 400 is never retried (R-3)");
  assert.equal(await scene.waiting(), 0);
});

test("a dead-letter store that stays away for four hours loses the event, in words (L-4)", async () => {
  const scene = await openTestDispatchers();
  const deadLetter = { kind: "blob", resourceId: "/r", container: "box" } as const;
  const sub = await scene.subscribe({ deadLetter });
  scene.behave(() => 413);
  scene.behaveAtDeadLetters(() => 503);
  await scene.publish(["a"], [sub]);
  await scene.advance(3.9 * hours);
  assert.equal(await scene.waiting(), 1);
  await scene.advance(0.3 * hours);
  assert.equal(await scene.waiting(), 0);
  const [dropped] = scene.factsNamed("delivery.dropped");
  assert.equal(dropped?.fields.reason, "DeadLetterStoreUnavailable");
  assert.equal(dropped?.fields.attempts, scene.deadLetters.length, "the last one included (M-2)");
});

test("a dead letter outlives hours without the broker, and is written when it is back (L-4)", async () => {
  const scene = await openTestDispatchers();
  const deadLetter = { kind: "blob", resourceId: "/r", container: "box" } as const;
  const sub = await scene.subscribe({ deadLetter });
  scene.behave(() => 400);
  scene.behaveAtDeadLetters(() => 503);
  await scene.publish(["a"], [sub]);
  await scene.advance(5 * minutes);
  assert.equal(scene.deadLetters.length, 1);
  await scene.roster.close(AbortSignal.abort());
  await scene.advance(5 * hours);
  const back = await openTestDispatchers({ store: scene.store, clock: scene.clock });
  await back.sync();
  await back.advance(0);
  assert.deepEqual(
    back.deadLetters.map(({ ids }) => ids),
    [["a"]],
  );
  assert.equal(await back.waiting(), 0);
  assert.deepEqual(back.factsNamed("delivery.dropped"), []);
});

test("dead letters of a deleted subscription are still written, and its other events dropped (L-1)", async () => {
  const scene = await openTestDispatchers();
  const deadLetter = { kind: "blob", resourceId: "/r", container: "box" } as const;
  const sub = await scene.subscribe({ deadLetter });
  scene.behave(({ ids: [id] }) => (id === "waits" ? 500 : 400));
  await scene.publish(["a", "b", "waits"], [sub]);
  await scene.advance(1 * minutes);
  await scene.store.removeSubscription(sub.id);
  await scene.sync();
  await scene.roster.close(AbortSignal.abort());
  const back = await openTestDispatchers({ store: scene.store, clock: scene.clock });
  back.behaveAtDeadLetters(({ count }) => (count === 0 ? 503 : 201));
  await back.sync();
  const before = scene.seen.length;
  await back.advance(5 * minutes);
  assert.deepEqual(
    back.deadLetters.map(({ ids, count }) => [...ids, count]),
    [
      ["a", "b", 0],
      ["a", "b", 1],
    ],
  );
  assert.equal(scene.seen.length + back.seen.length, before, "nothing more to the subscriber");
  assert.equal(await back.waiting(), 0);
  assert.equal((await back.store.catalog()).retired, undefined);
});

test("what was given up within a second is written in a blob or two (L-3)", async () => {
  const scene = await openTestDispatchers();
  const deadLetter = { kind: "blob", resourceId: "/r", container: "box" } as const;
  const sub = await scene.subscribe({ deadLetter });
  // The endpoint accepts every other one, or it would soon be unhealthy.
  scene.behave(({ ids: [id] }) => (id?.startsWith("good") ? 200 : 400));
  for (const id of numbered(200)) {
    await scene.publish([id, `good ${id}`], [sub]);
    await scene.advance(5);
  }
  await scene.advance(6 * minutes);
  assert.equal(scene.deadLetters.flatMap(({ ids }) => ids).length, 200);
  assert.ok(scene.deadLetters.length <= 2, `${scene.deadLetters.length} blobs`);
});

test("a drop counts the attempt that was just made (M-2)", async () => {
  const scene = await openTestDispatchers();
  const retryPolicy = { maxDeliveryAttempts: 3, eventTimeToLiveMs: null };
  const sub = await scene.subscribe({ retryPolicy });
  scene.behave(() => 500);
  await scene.publish(["a"], [sub]);
  await scene.advance(1 * hours);
  assert.deepEqual(
    scene.factsNamed("delivery.dropped").map(({ fields }) => fields.attempts),
    [3],
  );
});

test("an endpoint that says when to come again is left alone until then, for that event", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  scene.behave(({ ids, count }) =>
    ids[0] === "a" && count === 0
      ? { kind: "answered", status: 429, retryAfterMs: 2 * minutes }
      : 200,
  );
  await scene.publish(["a", "b"], [sub]);
  await scene.advance(1 * hours);
  assert.deepEqual(
    scene.seen.map(({ ids, atMs }) => [ids[0], atMs]),
    [
      ["a", 0],
      ["b", 0],
      ["a", 2 * minutes],
    ],
  );
});

test("what was written as a dead letter is a fact that says where it is", async () => {
  const scene = await openTestDispatchers();
  const deadLetter = { kind: "blob", resourceId: "/r", container: "box" } as const;
  const sub = await scene.subscribe({ deadLetter });
  const written = { container: "box", path: "SUB/1.json", url: "u", etag: "e", bytes: 2 };
  scene.behave(() => 400);
  scene.behaveAtDeadLetters(({ count }) =>
    count === 0
      ? { kind: "answered", status: 404, detail: "ContainerNotFound" }
      : { kind: "answered", status: 201, written },
  );
  await scene.publish(["a", "b"], [sub]);
  await scene.advance(5 * minutes);
  const [, , failed] = scene.factsNamed("delivery.attempted");
  assert.equal(failed?.fields.stage, "deadLetter");
  assert.equal(failed?.fields.detail, "ContainerNotFound");
  assert.equal(scene.factsNamed("delivery.deadLettered").length, 0);
  await scene.advance(1 * minutes);
  const reason = "UndeliverableDueToHttpBadRequest";
  assert.deepEqual(
    scene.factsNamed("delivery.deadLettered").map(({ fields }) => fields),
    ["a", "b"].map((event) => ({
      ...{ topic: sub.topic, subscription: sub.name, event, reason },
      ...{ container: "box", blob: "SUB/1.json" },
    })),
  );
  assert.equal(scene.factsNamed("delivery.dropped").length, 0);
});

test("a dead letter tells of the sends to the subscriber, not of those to its store (L-6)", async () => {
  const scene = await openTestDispatchers();
  const deadLetter = { kind: "blob", resourceId: "/r", container: "box" } as const;
  const sub = await scene.subscribe({ deadLetter });
  const told: unknown[] = [];
  scene.behave(({ count }) => (count === 0 ? 500 : 413));
  scene.behaveAtDeadLetters(({ count }, { deliveries: [delivery] }) => {
    told.push({ last: delivery?.last, reason: delivery?.reason, attempts: delivery?.attempts });
    return count === 0 ? 503 : 201;
  });
  await scene.publish(["a"], [sub]);
  await scene.advance(1 * hours);
  const last = { at: start + 10_000, number: 2, outcome: "PayloadTooLarge", status: 413 };
  const reason = "UndeliverableDueToHttpRequestEntityTooLarge";
  assert.deepEqual(told, [
    { last, reason, attempts: 0 },
    { last, reason, attempts: 1 },
  ]);
});

test("every attempt is one wide line that says what happens next, in words", async () => {
  const scene = await openTestDispatchers();
  const sub = await scene.subscribe();
  scene.behave(({ count }) => (count === 0 ? 503 : 200));
  await scene.publish(["a"], [sub]);
  await scene.advance(1 * minutes);
  const [failed, delivered] = scene.factsNamed("delivery.attempted");
  assert.equal(
    failed?.fields.words,
    "503: at least 30 s; step 1 of the schedule is 10 s; random addition 0 s; " +
      "next attempt 2030-01-01T00:00:30.000Z; 29 attempts and 1 d left",
  );
  assert.equal(delivered?.fields.decision, "delivered");
});
