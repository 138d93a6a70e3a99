import assert from "node:assert/strict";
import { test } from "node:test";
import { plainRequest } from "../../../test/fixtures/request.ts";
import { attempted, busy } from "../../../test/fixtures/story-notes.ts";
import type { LiveEnd, LiveEvent } from "../../core/api/views.ts";
import { Refusal } from "../../core/refusal.ts";
import { attemptOfNote } from "../../core/story/story.ts";
import { Live } from "./live.ts";
import { apiRoutes } from "./serve.ts";

const end: LiveEnd = {
  event: "e1",
  eventId: "own-1",
  subject: "/shop/red",
  type: "Shop.Sold",
  topic: "orders",
  domainTopic: null,
  subscription: "billing",
  state: "dropped",
  reason: "TimeToLiveExceeded",
  at: "2030-01-01T00:00:00.000Z",
};

const ended: LiveEvent = { kind: "ended", ended: end };

async function watch(live: Live, query: Record<string, string> = {}) {
  const told: string[] = [];
  const reader = { follows: true };
  const [route] = apiRoutes(live.handlers);
  const reply = await route?.handle({ ...plainRequest, method: "GET", query });
  const stop = reply?.stream?.({
    write(text) {
      if (reader.follows) told.push(text);
      return reader.follows;
    },
  });
  assert.ok(stop);
  return { told, reader, stop };
}

test("a watcher is told what happens, in the form of server-sent events", async () => {
  const live = new Live();
  const { told, stop } = await watch(live);
  assert.equal(live.isWatched, true);
  live.tell({ kind: "catalog" });
  live.tell(ended);
  assert.deepEqual(told, [
    ":\n\n",
    "event: catalog\ndata: {}\n\n",
    `event: ended\ndata: {"ended":${JSON.stringify(end)}}\n\n`,
  ]);
  stop();
  live.tell({ kind: "catalog" });
  assert.equal(told.length, 3);
  assert.equal(live.isWatched, false);
});

test("a watcher hears of the kinds, the topic and the subscription it asked for", async () => {
  const live = new Live();
  const kinds = await watch(live, { kinds: "catalog,overview" });
  const own = await watch(live, { topic: "ORDERS", subscription: "Billing" });
  const other = await watch(live, { topic: "orders", subscription: "shop" });
  live.tell(ended);
  assert.deepEqual(
    [kinds, own, other].map(({ told }) => told.length - 1),
    [0, 1, 0],
  );
  await assert.rejects(watch(live, { kinds: "atempt" }), (error) => {
    assert.ok(error instanceof Refusal);
    assert.match(
      error.message,
      /^kinds\[0\] must be overview, .* and is "atempt"; did you mean attempt\?$/,
    );
    return true;
  });
});

test("what is more than a watcher can take is left out and counted", async () => {
  const live = new Live();
  const { told, reader } = await watch(live);
  for (let count = 0; count < 250; count++) live.tell(ended);
  assert.equal(told.length, 201);
  live.beat();
  assert.equal(told.at(-1), 'event: missed\ndata: {"count":50}\n\n');
  reader.follows = false;
  live.tell(ended);
  live.beat();
  reader.follows = true;
  live.beat();
  assert.equal(told.at(-1), 'event: missed\ndata: {"count":1}\n\n');
  live.tell(ended);
  assert.match(told.at(-1) ?? "", /^event: ended/);
});

test("what is many is not even made when nobody can take it", async () => {
  const live = new Live();
  let made = 0;
  const make = () => {
    made += 1;
    return [ended];
  };
  live.sendMany(make);
  assert.equal(made, 0);
  const { told } = await watch(live);
  for (let count = 0; count < 250; count++) live.sendMany(make);
  assert.equal(made, 200);
  live.beat();
  assert.equal(told.at(-1), 'event: missed\ndata: {"count":50}\n\n');
});

test("a connection on which nothing happens is kept open", async () => {
  const live = new Live();
  const { told } = await watch(live);
  for (let beats = 0; beats < 15; beats++) live.beat();
  assert.deepEqual(told, [":\n\n", ":\n\n"]);
});

test("there are not more watchers than a broker can serve", async () => {
  const live = new Live();
  for (let count = 0; count < 100; count++) await watch(live);
  await assert.rejects(watch(live), Refusal);
});

test("a search narrows down what is about events, and nothing else", async () => {
  const live = new Live();
  const table: [q: string, isTold: boolean][] = [
    ["type:shop", true],
    ["type:order", false],
    ["own-1", true],
    ["state:dropped red", true],
    ["state:failed", true],
    ["state:failing", false],
    ["subscription:bill", true],
    ["subscription:audit", false],
  ];
  for (const [q, isTold] of table) {
    const { told, stop } = await watch(live, { q });
    const before = told.length;
    live.tell(ended);
    assert.equal(told.length - before, isTold ? 1 : 0, q);
    live.tell({ kind: "catalog" });
    assert.match(told.at(-1) ?? "", /event: catalog/);
    stop();
  }
  const { told } = await watch(live, { q: "state:failing" });
  const failed = attemptOfNote(attempted("a", busy));
  const names = { event: "e", eventId: "i", subject: "s", type: "t", domainTopic: null };
  const attempt = { ...failed, ...names, topic: "orders", subscription: "billing" };
  live.tell({ kind: "attempt", attempt });
  live.tell({ kind: "attempt", attempt: { ...attempt, decision: "delivered" } });
  assert.equal(told.filter((text) => text.includes("event: attempt")).length, 1);
  await assert.rejects(watch(live, { q: "state:lost" }), Refusal);
});
