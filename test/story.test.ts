// One event's story, end to end: the real program on the virtual clock, endpoints that fail on real
// sockets, dead letters in a folder, restarts and crashes.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type {
  DeliveryStory,
  EventSummary,
  Page,
  ResentView,
  Story,
} from "../src/core/api/views.ts";
import {
  boxIn,
  type Json,
  makeFolder,
  openScene,
  order,
  type Scene,
  sendTo,
  startAt,
} from "./fixtures/dead-letter-broker.ts";
import { startProgram } from "./fixtures/program.ts";
import { openReceiver, type Received, type Receiver } from "./fixtures/receiver.ts";

const storageAccounts = (folder: string) => ({ letters: { folder: join(folder, "dead") } });

async function openShop(
  t: TestContext,
  subscriptions: (receiver: Receiver) => Json,
  { folder = makeFolder(t), options = ["--clock-start", startAt] } = {},
) {
  const receiver = await openReceiver(t);
  const scene = await openScene(t, {
    folder,
    storageAccounts: storageAccounts(folder),
    topics: { orders: { subscriptions: subscriptions(receiver) } },
    options,
  });
  return { ...scene, receiver };
}

const tell = ({ ask }: Pick<Scene, "ask">, id: string) =>
  ask<Story>("GET", `/events/${encodeURIComponent(id)}`);

const search = ({ ask }: Pick<Scene, "ask">, query: string) =>
  ask<Page<EventSummary>>("GET", `/events?${query}`);

function only(story: Story): DeliveryStory {
  const [delivery, ...others] = story.deliveryStories;
  assert.ok(delivery !== undefined && others.length === 0);
  return delivery;
}

test("a failing endpoint's story shows every attempt with its decision, and how the event ends", async (t) => {
  const scene = await openShop(t, ({ url }) => ({
    billing: sendTo(`${url}/hook?code=secret`, {
      deadLetterDestination: boxIn("letters"),
      retryPolicy: { maxDeliveryAttempts: 3, eventTimeToLiveInMinutes: 60 },
    }),
  }));
  scene.receiver.answer = () => 503;
  await scene.publish("orders", [order("o/1 ä")]);
  await scene.advance("PT0S");
  const waiting = await tell(scene, "o/1 ä");
  assert.equal(waiting.acceptedAt, startAt);
  assert.equal(waiting.acceptedWith, "key1");
  assert.equal(waiting.schema, "EventGridSchema");
  assert.match(waiting.body ?? "", /"amount":12/, "it is kept while it waits");
  const before = only(waiting);
  assert.equal(before.endpoint, `${scene.receiver.url}/hook`, "the query may hold a secret");
  assert.equal(before.state, "waiting");
  assert.equal(before.attemptsLeft, 2);
  assert.equal(before.expiresAt, "2030-01-01T01:00:00.000Z");
  assert.equal(before.nextDueAt, before.attempts[0]?.nextDueAt);

  await scene.advance("PT30M");
  const story = await tell(scene, waiting.event);
  const delivery = only(story);
  assert.deepEqual(
    { ...delivery, attempts: [], deadLetter: null },
    {
      ...{ topic: "orders", domainTopic: null, subscription: "billing" },
      ...{ endpoint: before.endpoint, state: "deadLettered", attempts: [], nextDueAt: null },
      ...{ held: null, expiresAt: null, attemptsLeft: null },
      reason: "MaxDeliveryAttemptsExceeded",
      endedAt: delivery.attempts.at(-1)?.at,
      deadLetter: null,
      remarks: [],
    },
  );
  const [first, second, third, write] = delivery.attempts;
  assert.ok(first && second && third && write);
  const addition = (words: string) => /random addition ([^;]+)/.exec(words)?.[1];
  assert.deepEqual(
    { ...first, excerpt: null, wire: null },
    {
      ...{ stage: "deliver", number: 1, at: startAt, durationMs: 0, outcome: "Busy", status: 503 },
      ...{ detail: null, excerpt: null, isLate: false, batch: 1, decision: "retry" },
      words:
        "503: at least 30 s; step 1 of the schedule is 10 s; " +
        `random addition ${addition(first.words)}; next attempt ${second.at}; ` +
        "2 attempts and 1 h left",
      nextDueAt: second.at,
      health: "healthy",
      wire: null,
    },
  );
  const { method, headers, body, answer } = first.wire ?? {};
  assert.equal(method, "POST");
  assert.ok(headers?.some(({ name, value }) => name === "aeg-delivery-count" && value === "0"));
  assert.match(body ?? "", /"data":\{"amount":12\}/);
  assert.ok(answer?.some(({ name }) => name === "date"));
  assert.equal(second.health, "healthy, the last attempt failed");
  assert.match(second.words, /^503: at least 30 s; step 2 of the schedule is 30 s; random/);
  assert.match(second.words, /; 1 attempt and 59 min \d+ s left$/);
  assert.match(
    third.words,
    /^MaxDeliveryAttemptsExceeded: 503 on attempt 3 of 3; dead letter to be written 2030/,
  );
  assert.equal(write.stage, "deadLetter");
  assert.equal(write.decision, "delivered");
  assert.equal(Date.parse(write.at) - Date.parse(third.at), 5 * 60_000);
  assert.equal(delivery.deadLetter?.account, "letters");
  assert.equal(delivery.deadLetter?.container, "box");
  assert.match(delivery.deadLetter?.blob ?? "", /^BILLING\/2030\/1\/1\/0\/[0-9a-f-]+\.json$/);
  assert.equal(story.body, waiting.body, "it is kept with its story");
  assert.equal(story.cut, null);
});

test("of a success the request is recorded once a minute, and otherwise made again as it was", async (t) => {
  const deliveryAttributeMappings = [
    { name: "X-Tenant", type: "Static", properties: { value: "blue" } },
    { name: "X-Key-Of", type: "Static", properties: { value: "hush", isSecret: true } },
    { name: "X-Amount", type: "Dynamic", properties: { sourceField: "data.amount" } },
  ];
  const scene = await openShop(t, ({ url }) => ({
    billing: {
      destination: {
        endpointType: "WebHook",
        properties: { endpointUrl: `${url}/hook?code=secret`, deliveryAttributeMappings },
      },
    },
  }));
  scene.receiver.body = "thanks";
  for (const id of ["one", "two"]) {
    await scene.publish("orders", [order(id)]);
    await scene.advance("PT1S");
  }
  const wires = [];
  for (const id of ["one", "two"]) {
    const [attempt] = only(await tell(scene, id)).attempts;
    assert.equal(attempt?.excerpt, "thanks");
    wires.push(attempt.wire);
  }
  const [recorded, again] = wires;
  assert.ok(recorded && again);
  assert.equal(recorded.rebuilt, null);
  assert.ok(recorded.answer.some(({ name }) => name === "date"));
  assert.match(again.rebuilt ?? "", /made again .* as it is now\. Without: trace context\.$/);
  assert.deepEqual(again.answer, []);
  const [, { headers: came, body }] = scene.receiver.received as [unknown, Received];
  assert.equal(again.body, body, "as it came to the endpoint");
  const shown = Object.fromEntries(
    again.headers.map(({ name, value }) => [name.toLowerCase(), value]),
  );
  const { host: _, "content-length": __, connection: ___, traceparent: ____, ...sent } = came;
  assert.deepEqual(shown, { ...sent, "x-key-of": "(hidden)" });
  assert.deepEqual(
    recorded.headers.map(({ name }) => name).filter((name) => name !== "traceparent"),
    again.headers.map(({ name }) => name),
  );
});

test("the story of an event that matched nothing names the clause of each subscription", async (t) => {
  const scene = await openShop(t, ({ url }) => ({
    red: sendTo(url, {
      filter: {
        advancedFilters: [{ operatorType: "StringIn", key: "data.color", values: ["red"] }],
      },
    }),
    large: sendTo(url, {
      filter: {
        subjectBeginsWith: "orders/",
        advancedFilters: [{ operatorType: "NumberGreaterThan", key: "data.amount", value: 99 }],
      },
    }),
    other: sendTo(url, { filter: { includedEventTypes: ["order.paid"] } }),
  }));
  await scene.publish("orders", [order("a", { data: { amount: 12, color: "green" } })]);
  const story = await tell(scene, "a");
  assert.deepEqual(story.deliveryStories, []);
  assert.deepEqual(story.unmatched, [
    { subscription: "red", clause: "data.color StringIn red", because: 'data.color is "green"' },
    {
      subscription: "large",
      clause: "data.amount NumberGreaterThan 99",
      because: "data.amount is the number 12",
    },
    {
      subscription: "other",
      clause: "includedEventTypes order.paid",
      because: 'eventType is "order.placed"',
    },
  ]);
  assert.match(story.body ?? "", /green/);
  const found = await search(scene, "state=delivered");
  assert.deepEqual(found, { value: [], next: null, searchedTo: null });
});

test("stories are there after a restart, and go on", async (t) => {
  const folder = makeFolder(t);
  const receiver = await openReceiver(t);
  receiver.answer = () => 500;
  const script = {
    ...{ folder, storageAccounts: storageAccounts(folder) },
    topics: { orders: { subscriptions: { billing: sendTo(receiver.url) } } },
  };
  const first = await openScene(t, script);
  await first.publish("orders", [order("a")]);
  await first.advance("PT0S");
  assert.equal(await first.program.end("SIGTERM"), 0);
  receiver.answer = () => 200;
  const later = { ...script, options: ["--clock-start", "2030-01-01T00:01:00.000Z"] };
  const second = await openScene(t, later);
  await second.advance("PT0S");
  const delivery = only(await tell(second, "a"));
  assert.deepEqual(
    delivery.attempts.map(({ number, status, at }) => [number, status, at]),
    [
      [1, 500, startAt],
      [2, 200, "2030-01-01T00:01:00.000Z"],
    ],
  );
  assert.equal(delivery.state, "delivered");
});

test("after a kill the story of what waits is sane, and what ended just then says so", async (t) => {
  const folder = makeFolder(t);
  const receiver = await openReceiver(t);
  receiver.answer = ({ body }) => (body.includes('"id":"good"') ? 200 : 500);
  const script = {
    ...{ folder, storageAccounts: storageAccounts(folder) },
    topics: { orders: { subscriptions: { billing: sendTo(receiver.url) } } },
  };
  const first = await openScene(t, script);
  await first.publish("orders", [order("a")]);
  await first.advance("PT0S");
  await first.publish("orders", [order("b")]);
  await first.publish("orders", [order("good")]);
  await first.program.end("SIGKILL");
  const second = await openScene(t, script);
  await second.advance("PT0S");
  for (const id of ["a", "b"]) {
    const delivery = only(await tell(second, id));
    assert.equal(delivery.state, "waiting", id);
    assert.equal(delivery.attempts.length, 1, id);
    assert.equal(delivery.attempts[0]?.status, 500, id);
    assert.notEqual(delivery.nextDueAt, null, id);
  }
  const { value } = await search(second, "id=good");
  for (const { deliveries } of value) {
    assert.match(deliveries[0]?.state ?? "", /^(delivered|unknown)$/);
  }
});

test("on the real clock, too, a kill leaves nothing that waits without its story", async (t) => {
  const folder = makeFolder(t);
  const receiver = await openReceiver(t);
  receiver.answer = () => 500;
  const config = join(folder, "config.json");
  const topics = { orders: { key1: "k", subscriptions: { billing: sendTo(receiver.url) } } };
  writeFileSync(config, JSON.stringify({ topics }));
  const start = async () => {
    const options = ["--config", config, "--data", join(folder, "data"), "--auth", "off"];
    const program = await startProgram(options);
    t.after(() => program.end("SIGKILL"));
    return program;
  };
  const first = await start();
  const placed = Array.from({ length: 300 }, (_, index) => order(`o${index}`));
  for (let from = 0; from < placed.length; from += 100) {
    const answer = await fetch(`${first.url}/topics/orders/api/events`, {
      method: "POST",
      body: JSON.stringify(placed.slice(from, from + 100)),
    });
    assert.equal(answer.status, 200);
  }
  await first.end("SIGKILL");
  const second = await start();
  const get = async <T>(path: string) =>
    (await (await fetch(`${second.url}/api/v1${path}`)).json()) as T;
  let found: readonly EventSummary[] = [];
  while (found.length < placed.length) {
    found = (await get<Page<EventSummary>>("/events?limit=500")).value;
  }
  assert.equal(new Set(found.map(({ id }) => id)).size, 300);
  for (const { event } of found.slice(0, 20)) {
    const delivery = only(await get<Story>(`/events/${event}`));
    assert.equal(delivery.state, "waiting");
    assert.notEqual(delivery.nextDueAt, null);
  }
});

test("events are found by what is known of them, page by page", async (t) => {
  const scene = await openShop(t, ({ url }) => ({ billing: sendTo(url) }));
  const placed = Array.from({ length: 30 }, (_, index) =>
    order(`o${index}`, { subject: `/shop/${index % 3}/item` }),
  );
  await scene.publish("orders", placed);
  await scene.advance("PT1M");
  await scene.publish("orders", [order("late", { eventType: "order.paid" })]);
  await scene.advance("PT1S");
  const first = await search(scene, "subject=/shop/1/*&limit=6&state=delivered");
  assert.equal(first.value.length, 6);
  assert.ok(first.next);
  const second = await search(scene, `subject=/shop/1/*&limit=6&after=${first.next}`);
  assert.equal(second.next, null);
  const ids = [...first.value, ...second.value].map(({ id }) => id);
  assert.equal(new Set(ids).size, 10);
  const recent = await search(scene, "from=2030-01-01T00:00:30Z&type=order.*");
  assert.deepEqual(
    recent.value.map(({ id, deliveries }) => [id, deliveries]),
    [["late", [{ subscription: "billing", state: "delivered" }]]],
  );
});

test("questions that make no sense are refused in words", async (t) => {
  const scene = await openShop(t, ({ url }) => ({ billing: sendTo(url) }));
  const cases: readonly (readonly [string, number, RegExp])[] = [
    ["/events/nobody", 404, /There is no event "nobody", or nothing is kept of it any more/],
    ["/events?after=nonsense", 400, /after must be what an answer gave as next/],
    ["/events?state=lost", 400, /^state must be waiting, .* and is "lost"/],
    ["/events?limit=0", 400, /limit must be a whole number from 1 to 500/],
    ["/events?from=yesterday", 400, /from must be an ISO 8601 instant/],
    ["/events?subjct=x", 400, /there is no query parameter "subjct"; did you mean subject\?/],
    [`/events?subject=${"x".repeat(2_000)}`, 400, /subject must be a text of 1 to 1024 characters/],
  ];
  for (const [path, status, words] of cases) {
    const { error } = await scene.ask<{ error: { message: string } }>(
      "GET",
      path,
      undefined,
      status,
    );
    assert.match(error.message, words);
  }
});

test("with stories off nothing is kept, and everything else goes on", async (t) => {
  const options = ["--clock-start", startAt, "--story", "off"];
  const scene = await openShop(t, ({ url }) => ({ billing: sendTo(url) }), { options });
  await scene.publish("orders", [order("a")]);
  await scene.advance("PT0S");
  assert.equal(scene.receiver.received.length, 1);
  const { error } = await scene.ask<{ error: { message: string } }>(
    ...(["GET", "/events/a", undefined, 409] as const),
  );
  assert.match(error.message, /No stories are kept/);
});

test("what a removed subscription had waiting is told as dropped", async (t) => {
  const scene = await openShop(t, ({ url }) => ({ billing: sendTo(url) }), {
    options: ["--clock-start", startAt, "--store", "memory"],
  });
  scene.receiver.answer = () => 500;
  await scene.publish("orders", [order("a")]);
  await scene.advance("PT0S");
  const { armId } = await scene.ask<{ armId: string }>(
    ...(["GET", "/topics/orders/subscriptions/billing"] as const),
  );
  const answer = await fetch(`${scene.program.url}${armId}?api-version=2022-06-15`, {
    method: "DELETE",
    headers: { authorization: "Bearer scene-admin-key" },
  });
  assert.ok(answer.ok, await answer.text());
  await scene.advance("PT0S");
  const delivery = only(await tell(scene, "a"));
  assert.deepEqual([delivery.state, delivery.reason], ["dropped", "SubscriptionDeleted"]);
});

test("a kept event is sent again, delivered or not, to who matches now or to who is named", async (t) => {
  const big = {
    filter: {
      advancedFilters: [{ operatorType: "NumberGreaterThan", key: "data.amount", value: 100 }],
    },
  };
  const scene = await openShop(t, ({ url }) => ({
    billing: sendTo(`${url}/billing`),
    audit: sendTo(`${url}/audit`, big),
  }));
  await scene.publish("orders", [order("o-1")]);
  await scene.advance("PT0S");
  const before = await tell(scene, "o-1");
  assert.deepEqual(before.deliveries, [{ subscription: "billing", state: "delivered" }]);

  const again = await scene.ask<ResentView>("POST", `/events/${before.event}/resend`, {});
  assert.deepEqual([again.id, again.subscriptions], ["o-1", ["billing"]]);
  await scene.advance("PT0S");
  const story = await tell(scene, again.event);
  assert.equal(story.acceptedWith, "resend");
  assert.deepEqual(story.deliveries, [{ subscription: "billing", state: "delivered" }]);
  assert.deepEqual(
    story.unmatched.map(({ subscription }) => subscription),
    ["audit"],
  );
  assert.equal(story.body, before.body, "the publisher's event is sent as it was");

  const named = await scene.ask<ResentView>("POST", "/events/o-1/resend", {
    subscriptions: ["AUDIT"],
  });
  await scene.advance("PT0S");
  assert.deepEqual(named.subscriptions, ["audit"], "whatever its filter");
  assert.deepEqual((await tell(scene, named.event)).deliveries, [
    { subscription: "audit", state: "delivered" },
  ]);
  assert.deepEqual(
    scene.receiver.received.map(({ path }) => path),
    ["/billing", "/billing", "/audit"],
  );
  await scene.ask("POST", "/events/o-1/resend", { subscriptions: ["nobody"] }, 404);
  await scene.ask("POST", "/events/nothing/resend", {}, 404);
});

test("an event that was delivered to all is sent again only if its text is kept", async (t) => {
  const subscriptions = ({ url }: Receiver) => ({ billing: sendTo(`${url}/billing`) });
  const options = ["--clock-start", startAt, "--story-texts", "unmatched"];
  const lean = await openShop(t, subscriptions, { options });
  await lean.publish("orders", [order("o-1")]);
  await lean.advance("PT0S");
  const refused = await lean.ask<{ error: { message: string } }>(
    "POST",
    "/events/o-1/resend",
    {},
    409,
  );
  assert.match(refused.error.message, /only its story is kept.*--story-texts all/);
});

test("an event that still waits can be sent again, and a restart keeps what can be", async (t) => {
  const folder = makeFolder(t);
  const first = await openShop(t, ({ url }) => ({ billing: sendTo(`${url}/billing`) }), { folder });
  await first.publish("orders", [order("o-1")]);
  await first.advance("PT0S");
  await first.program.end("SIGTERM");
  const again = await openShop(t, ({ url }) => ({ billing: sendTo(`${url}/billing`) }), { folder });
  again.receiver.answer = () => 503;
  const one = await again.ask<ResentView>("POST", "/events/o-1/resend", {});
  await again.advance("PT0S");
  const two = await again.ask<ResentView>("POST", `/events/${one.event}/resend`, {});
  await again.advance("PT0S");
  assert.deepEqual((await tell(again, two.event)).deliveries, [
    { subscription: "billing", state: "waiting" },
  ]);
});
