// Pull delivery end to end: the real program on the virtual clock, from the publish to the end of
// every lock and life, over restarts, with dead letters and stories.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  type Got,
  type NamespaceBroker,
  openNamespaceBroker,
} from "./fixtures/namespace-broker.ts";
import { openReceiver } from "./fixtures/receiver.ts";

const queue = (over: object = {}, more: object = {}) => ({
  deliveryConfiguration: { deliveryMode: "Queue", queue: over },
  ...more,
});

const account = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/box";
const deadLetterDestination = {
  endpointType: "StorageBlob",
  properties: { resourceId: account, blobContainerName: "letters" },
};

/** Every test has a topic of its own; they share the clock, which only moves forward. */
const topics = {
  lapses: { all: queue({ receiveLockDurationInSeconds: 90 }) },
  waits: { all: queue() },
  restarts: { all: queue() },
  renews: { all: queue({ receiveLockDurationInSeconds: 300 }) },
  letters: {
    all: queue({ maxDeliveryCount: 2, eventTimeToLive: "PT1H", deadLetterDestination }),
  },
  drops: { all: queue({ eventTimeToLive: "PT1M" }) },
  late: {},
  kept: { all: queue({ receiveLockDurationInSeconds: 300 }) },
  paused: { all: queue({ eventTimeToLive: "PT1M" }) },
  stories: { all: queue() },
  hands: { all: queue({ maxDeliveryCount: 3 }) },
};

let broker: NamespaceBroker;
const ends: (() => unknown)[] = [];

before(async () => {
  broker = await openNamespaceBroker(
    { after: (end) => void ends.push(end) },
    Object.fromEntries(
      Object.entries(topics).map(([name, subscriptions]) => [name, { subscriptions }]),
    ),
    {
      sections: (folder) => ({
        storageAccounts: { box: { folder: join(folder, "dead") } },
        topics: { orders: { key1: "own" } },
      }),
    },
  );
});

after(async () => {
  for (const end of ends) await end();
});

const idsOf = (got: readonly Got[]) => got.map(({ id, count }) => `${id} ${count}`);

const failures = ({ body }: { body: { failedLockTokens: { error: { code: string } }[] } }) =>
  body.failedLockTokens.map(({ error }) => error.code);

test("a lock lapses, the event comes again, and the old token is lost (N-33 to N-35)", async () => {
  await broker.publish("lapses", "a");
  const [first] = await broker.receive("lapses", "all");
  assert.ok(first);
  const { queue: shown, armId } = await broker.api("/topics/shop%2Flapses/subscriptions/all");
  assert.match(armId, /\/namespaces\/shop\/topics\/lapses\/eventSubscriptions\/all$/);
  assert.deepEqual(shown, { lockMs: 90_000, locked: 1, available: 0, receivers: 0 });
  await broker.advance("PT89S");
  await broker.publish("lapses", "b");
  assert.deepEqual(idsOf(await broker.receive("lapses", "all")), ["b 1"]);
  await broker.advance("PT1S");
  const late = await broker.settle("lapses", "all", "acknowledge", first.token);
  assert.deepEqual(failures(late), ["TokenLost"]);
  const [second] = await broker.receive("lapses", "all");
  assert.deepEqual(idsOf([second as Got]), ["a 2"]);
  const still = await broker.settle("lapses", "all", "release", first.token);
  assert.deepEqual(failures(still), ["TokenLost"]);
});

test("a request that waits gets what a lock or a delay gives back (N-23, N-37)", async () => {
  await broker.publish("waits", "a");
  const [first] = await broker.receive("waits", "all");
  await broker.settle("waits", "all", "release?releaseDelayInSeconds=10", first?.token ?? "");
  const waiting = broker.receive("waits", "all");
  await waitsFor(broker, 1);
  await broker.advance("PT9S");
  await broker.advance("PT1S");
  assert.deepEqual(idsOf(await waiting), ["a 2"]);
  const again = broker.receive("waits", "all");
  await waitsFor(broker, 1);
  await broker.advance("PT60S");
  assert.deepEqual(idsOf(await again), ["a 3"]);
  const nothing = broker.post("/topics/waits/eventsubscriptions/all:receive?maxWaitTime=10");
  await waitsFor(broker, 1);
  await broker.advance("PT10S");
  assert.deepEqual((await nothing).body, { value: [] });
});

/** So many requests wait at queues. */
async function waitsFor(broker: NamespaceBroker, count: number): Promise<void> {
  for (;;) {
    const lines = (await broker.metrics()).matchAll(/^posthorn_waiting_receivers\{.*\} (\d+)$/gm);
    if (lines.reduce((sum, [, found]) => sum + Number(found), 0) === count) return;
  }
}

test("locks, counts, delays and tokens outlive a crash (N-45)", async () => {
  await broker.publish("restarts", "locked", "delayed", "done", "free");
  const [locked, delayed, done] = await broker.receive("restarts", "all", 3);
  assert.ok(locked && delayed && done);
  await broker.settle("restarts", "all", "release?releaseDelayInSeconds=10", delayed.token);
  await broker.settle("restarts", "all", "acknowledge", done.token);
  await broker.restart();
  assert.deepEqual(idsOf(await broker.receive("restarts", "all")), ["free 1"]);
  const renewed = await broker.settle("restarts", "all", "renewLock", locked.token);
  assert.deepEqual(renewed.body.succeededLockTokens, [locked.token]);
  await broker.advance("PT10S");
  assert.deepEqual(idsOf(await broker.receive("restarts", "all")), ["delayed 2"]);
  const acknowledged = await broker.settle("restarts", "all", "acknowledge", locked.token);
  assert.deepEqual(acknowledged.body.succeededLockTokens, [locked.token]);
});

test("a lock is renewed for an hour, and no longer (N-40)", async () => {
  await broker.publish("renews", "a");
  const [{ token }] = (await broker.receive("renews", "all")) as [Got];
  for (let minutes = 4; minutes <= 60; minutes += 4) {
    await broker.advance("PT4M");
    const { body } = await broker.settle("renews", "all", "renewLock", token);
    assert.deepEqual(body.succeededLockTokens, [token], `${minutes}`);
  }
  await broker.advance("PT1S");
  assert.deepEqual(failures(await broker.settle("renews", "all", "renewLock", token)), [
    "TokenLost",
  ]);
  // The lock of the last renewal lives on.
  await broker.advance("PT4M");
  const { body } = await broker.settle("renews", "all", "acknowledge", token);
  assert.deepEqual(body.succeededLockTokens, [token]);
});

function lettersIn(folder: string): { path: string; records: Letter[] }[] {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({
      path: path.slice(folder.length + 1),
      records: JSON.parse(readFileSync(path, "utf8")),
    }));
}

interface Letter {
  readonly deadLetterProperties: Readonly<Record<string, unknown>>;
  readonly event: { readonly id: string };
}

test("rejected, forgotten and expired: each becomes a dead letter (N-36, N-39, N-42, N-50 to N-52)", async () => {
  const folder = join(broker.folder, "dead");
  await broker.publish("letters", "rejected", "forgotten", "expired");
  const first = await broker.receive("letters", "all", 2);
  await broker.settle("letters", "all", "reject", first[0]?.token ?? "");
  await broker.advance("PT60S");
  const second = await broker.receive("letters", "all", 1);
  assert.deepEqual(idsOf(second), ["expired 1"]);
  assert.deepEqual(idsOf(await broker.receive("letters", "all", 1)), ["forgotten 2"]);
  // Nobody asks from here on: the queue is idle.
  await broker.advance("PT6M");
  await broker.advance("PT1H");
  const letters = lettersIn(folder);
  for (const { path } of letters)
    assert.match(path, /letters\/shop\/letters\/all\/2030\/1\/1\/\d+\//);
  const told = new Map(
    letters.flatMap(({ records }) =>
      records.map(({ event, deadLetterProperties }) => [event.id, deadLetterProperties]),
    ),
  );
  assert.deepEqual([...told.keys()].toSorted(), ["expired", "forgotten", "rejected"]);
  const about = (id: string) => {
    const { deadletterreason, deliveryattempts, deliveryresult } = told.get(id) ?? {};
    return [deadletterreason, deliveryattempts, deliveryresult];
  };
  const unanswered = "Event was not acknowledged nor rejected.";
  assert.deepEqual(about("rejected"), ["Event was rejected.", 1, "Rejected"]);
  assert.deepEqual(about("forgotten"), ["Maximum delivery attempts was exceeded.", 2, unanswered]);
  assert.deepEqual(about("expired"), ["Event time to live has expired.", 1, unanswered]);
  // They are listed and read back like all others.
  const { value } = await broker.api("/dead-letters?account=box&container=letters");
  assert.equal(value.length, 3);
});

test("without a destination they are dropped, also what nobody ever received (N-39, N-42)", async () => {
  await broker.publish("drops", "never", "locked");
  await broker.advance("PT30S");
  const [never, locked] = await broker.receive("drops", "all");
  await broker.settle("drops", "all", "release", never?.token ?? "");
  await broker.advance("PT30S");
  const dropped = () =>
    broker.program.facts.filter(
      ({ fact, topic }) => fact === "delivery.dropped" && topic === "shop/drops",
    );
  await broker.program.until(() => dropped().length > 0);
  // What expired while it was locked may still be acknowledged.
  const { body } = await broker.settle("drops", "all", "acknowledge", locked?.token ?? "");
  assert.equal(body.succeededLockTokens.length, 1);
  assert.deepEqual(
    dropped().map(({ reason, attempts }) => [reason, attempts]),
    [["TimeToLiveExceeded", 1]],
  );
});

test("a deleted subscription ends whoever waits, and a new one is empty (N-46)", async () => {
  const path = "/namespaces/shop/topics/late/eventSubscriptions/late";
  await broker.arm("PUT", path, { properties: queue() });
  await broker.publish("late", "a");
  const [{ token }] = (await broker.receive("late", "late")) as [Got];
  const waiting = broker.post("/topics/late/eventsubscriptions/late:receive");
  await waitsFor(broker, 1);
  await broker.arm("DELETE", path);
  assert.equal((await waiting).status, 404);
  assert.equal((await broker.settle("late", "late", "acknowledge", token)).status, 404);
  await broker.arm("PUT", path, { properties: queue() });
  const old = await broker.settle("late", "late", "acknowledge", token);
  assert.deepEqual(failures(old), ["BadToken"]);
  await broker.publish("late", "b");
  assert.deepEqual(idsOf(await broker.receive("late", "late")), ["b 1"]);
});

test("a request that waits gets what a longer retention keeps (N-41, N-46)", async () => {
  await broker.publish("kept", "a");
  await broker.advance("PT23H58M");
  assert.deepEqual(idsOf(await broker.receive("kept", "all")), ["a 1"]);
  await broker.advance("PT4M");
  const waiting = broker.receive("kept", "all");
  await waitsFor(broker, 1);
  const changed = { properties: { eventRetentionInDays: 2 } };
  assert.equal((await broker.arm("PATCH", "/namespaces/shop/topics/kept", changed)).status, 202);
  await broker.advance("PT1M");
  assert.deepEqual(idsOf(await waiting), ["a 2"]);
});

test("a paused subscription hands out nothing, and goes on where it was", async () => {
  await broker.publish("paused", "a");
  const flow = async (verb: string) => {
    const { flow } = await broker.api(`/topics/shop%2Fpaused/subscriptions/all/${verb}`, {});
    assert.equal(flow.kind, verb === "pause" ? "paused" : "running");
  };
  await flow("pause");
  const byHand = await broker.api("/topics/shop%2Fpaused/subscriptions/all/receive", {});
  assert.deepEqual(byHand.value, []);
  const waiting = broker.receive("paused", "all");
  await waitsFor(broker, 1);
  await broker.advance("PT50S");
  await flow("resume");
  assert.deepEqual(idsOf(await waiting), ["a 1"]);
});

test("the story tells who received it, what lapsed, and how it ended", async () => {
  await broker.publish("stories", "tale");
  await broker.receive("stories", "all");
  await broker.advance("PT60S");
  const [{ token }] = (await broker.receive("stories", "all")) as [Got];
  await broker.settle("stories", "all", "acknowledge", token);
  const story = await broker.api("/events/tale");
  const [delivery] = story.deliveries;
  assert.equal(delivery.state, "delivered");
  const words = JSON.stringify(story);
  assert.match(words, /received by 127\.0\.0\.1 \(delivery 1 of 10\), locked until 2030/);
  assert.match(words, /the lock of delivery 1 lapsed/);
  assert.match(words, /received by 127\.0\.0\.1 \(delivery 2 of 10\)/);
  assert.match(words, /Acknowledged/);
});

test("operators receive and settle by hand, with real locks", async () => {
  const path = "/topics/shop%2Fhands/subscriptions/all";
  const receive = async (body: object = {}) => (await broker.api(`${path}/receive`, body)).value;
  const settle = async (order: string, tokens: readonly string[], more: object = {}) => {
    const { value } = await broker.api(`${path}/locks`, { order, lockTokens: tokens, ...more });
    return value.map(({ result }: { result: string }) => result);
  };
  assert.deepEqual(await receive(), []);
  await broker.publish("hands", "mine", "theirs");
  const [mine] = await receive();
  const { event, deliveryCount, lockToken, lockedUntil, publishedAt } = mine;
  assert.deepEqual([event.id, event.source, deliveryCount], ["mine", "/s", 1]);
  assert.equal(Date.parse(lockedUntil) - Date.parse(publishedAt), 60_000);
  // One lock, whoever asks for it.
  const [theirs] = (await broker.receive("hands", "all")) as [Got];
  assert.equal(theirs.id, "theirs");
  assert.deepEqual(await settle("acknowledge", [theirs.token, "nonsense"]), ["succeeded", "bad"]);
  await broker.advance("PT30S");
  const renewed = await broker.api(`${path}/locks`, {
    order: "renewLock",
    lockTokens: [lockToken],
  });
  assert.equal(Date.parse(renewed.value[0].lockedUntil) - Date.parse(lockedUntil), 30_000);
  assert.deepEqual(await settle("release", [lockToken], { delaySeconds: 10 }), ["succeeded"]);
  assert.deepEqual(await receive({ max: 100 }), []);
  await broker.advance("PT10S");
  const [again] = await receive({ waitSeconds: 20 });
  assert.deepEqual([again.event.id, again.deliveryCount], ["mine", 2]);
  assert.deepEqual(await settle("acknowledge", [lockToken]), ["lost"]);
  assert.deepEqual(await settle("reject", [again.lockToken]), ["succeeded"]);
  const words = JSON.stringify(await broker.api(`/events/${mine.systemId}`));
  assert.match(words, /received by an operator at 127\.0\.0\.1 \(delivery 2 of 3\)/);
  assert.match(words, /a receiver rejected it; dropped.* by an operator at/);
  const wrong = await broker.api(`${path}/locks`, {
    ...{ order: "reject", lockTokens: ["t"], delaySeconds: 10 },
  });
  assert.match(wrong.error.message, /delaySeconds is only for the order release/);
  const delay = await broker.api(`${path}/locks`, {
    ...{ order: "release", lockTokens: ["t"], delaySeconds: 7 },
  });
  assert.match(delay.error.message, /delaySeconds must be 0, 10, 60, 600 or 3600, and is/);
});

test("push from a namespace has its own schedule, and its own end (N-58 to N-61)", async (t) => {
  const receiver = await openReceiver(t);
  receiver.answer = () => 500;
  const push = (path: string, over: object = {}) => ({
    deliveryConfiguration: {
      deliveryMode: "Push",
      push: {
        destination: {
          endpointType: "WebHook",
          properties: { endpointUrl: `${receiver.url}/${path}` },
        },
        ...over,
      },
    },
  });
  const broker = await openNamespaceBroker(t, {
    orders: { subscriptions: { hook: push("hook", { maxDeliveryCount: 7 }) } },
    final: { subscriptions: { hook: push("final") } },
  });
  const startedAt = Date.parse("2030-01-01T00:00:00.000Z");
  await broker.publish("orders", "a");
  await broker.advance("PT30M");
  await broker.program.told("delivery.dropped", 1);
  const attempts = broker.program.facts.filter(({ fact }) => fact === "delivery.attempted");
  const seconds = attempts.map(({ time }) => (Date.parse(String(time)) - startedAt) / 1000);
  // Each wait with its random addition of less than a tenth.
  const waits = seconds.slice(1).map((at, index) => at - (seconds[index] as number));
  const law = [0, 10, 30, 60, 300, 300];
  assert.equal(waits.length, law.length);
  for (const [index, wait] of waits.entries()) {
    const least = law[index] as number;
    assert.ok(wait >= least && wait <= least * 1.1, `wait ${index + 1} was ${wait}`);
  }
  const { headers, body } = receiver.received[0] as (typeof receiver.received)[number];
  assert.equal(headers["content-type"], "application/cloudevents+json; charset=utf-8");
  assert.equal(JSON.parse(String(body)).id, "a");
  receiver.answer = () => 414;
  await broker.publish("final", "b");
  await broker.advance("PT0S");
  await broker.program.told("delivery.dropped", 2);
  assert.equal(receiver.received.filter(({ path }) => path === "/final").length, 1);
  const fetched = await broker.post("/topics/final/eventsubscriptions/hook:receive");
  assert.equal(fetched.status, 400);
  const byHand = await broker.api("/topics/shop%2Ffinal/subscriptions/hook/receive", {});
  assert.match(byHand.error.message, /has the delivery mode Push/);
});

test("namespaces and custom topics do not get in each other's way", async () => {
  const send = async (path: string, headers: Record<string, string>, body: string) =>
    (await fetch(`${broker.program.url}${path}`, { method: "POST", headers, body })).status;
  const event = JSON.stringify([
    {
      id: "1",
      subject: "s",
      eventType: "t",
      eventTime: "2030-01-01T00:00:00Z",
      data: {},
      dataVersion: "1",
    },
  ]);
  assert.equal(await send("/topics/orders/api/events", { "aeg-sas-key": "own" }, event), 200);
  // A namespace and its topics take nothing there.
  for (const path of ["/topics/shop/api/events", "/topics/shop%2Fstories/api/events"]) {
    assert.equal(await send(path, { "aeg-sas-key": "c2hvcCBrZXk=" }, event), 404, path);
  }
  await broker.publish("stories", "apart");
  assert.deepEqual(idsOf(await broker.receive("stories", "all")), ["apart 1"]);
});
