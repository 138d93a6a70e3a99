// Who is nudged by an endpoint, and when: those that wait, in order, and nobody else.

import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../runtime/clock/virtual.ts";
import { Endpoint } from "./endpoint.ts";
import { SendBudget } from "./send-budget.ts";

const now = Date.UTC(2030, 0, 1);
const times = { now, sentAt: now };

/** Dispatchers that send one event whenever they are nudged and there is room. */
function open(sendsMax: number) {
  const clock = new VirtualClock({ startAt: now, patienceMs: 1_000 });
  const endpoint = new Endpoint({
    ...{ name: "http://a.test/", sendsMax, delayedDelivery: true },
    ...{ clock, log: { fact: () => {} } },
  });
  const nudged: string[] = [];
  const waits = (name: string) => {
    endpoint.wait(() => {
      nudged.push(name);
      if (endpoint.room(now) > 0) endpoint.begin(now);
    });
  };
  return { endpoint, nudged, waits };
}

test("a send that ends nudges the one that has waited longest, and no other", () => {
  const { endpoint, nudged, waits } = open(2);
  endpoint.begin(now);
  endpoint.begin(now);
  for (const name of ["a", "b", "c"]) waits(name);
  endpoint.end("succeeded", times);
  assert.deepEqual(nudged, ["a"]);
  waits("a");
  endpoint.end("failed", times);
  endpoint.end("succeeded", times);
  assert.deepEqual(nudged, ["a", "b", "c"]);
});

test("one that has never answered gets no more than would make it unhealthy (H-1)", () => {
  const { endpoint } = open(64);
  assert.equal(endpoint.room(now), 10);
  endpoint.begin(now);
  assert.equal(endpoint.room(now), 9);
  endpoint.end("failed", times);
  assert.equal(endpoint.room(now), 10);
  endpoint.begin(now);
  endpoint.end("succeeded", times);
  assert.equal(endpoint.room(now), 64);
  for (let sends = 0; sends < 10; sends += 1) endpoint.begin(now);
  for (let sends = 0; sends < 10; sends += 1) endpoint.end("failed", times);
  endpoint.opened("opened", { at: now, because: "a test" });
  assert.equal(endpoint.room(now), 10);
});

test("whoever does not use the room lets the next one have it", () => {
  const { endpoint, nudged, waits } = open(1);
  endpoint.begin(now);
  endpoint.wait(() => nudged.push("idle"));
  for (const name of ["a", "b"]) waits(name);
  endpoint.end("succeeded", times);
  assert.deepEqual(nudged, ["idle", "a"]);
});

test("one that waits again while it is nudged is not nudged without end", () => {
  const { endpoint } = open(1);
  let count = 0;
  const again = () => {
    count += 1;
    endpoint.wait(again);
  };
  endpoint.wait(again);
  endpoint.begin(now);
  endpoint.end("succeeded", times);
  assert.equal(count, 1);
});

test("a change of its health nudges all that wait (H-1), and whoever has left nobody", () => {
  const { endpoint, nudged, waits } = open(1);
  const gone = () => nudged.push("gone");
  endpoint.wait(gone);
  for (const name of ["a", "b"]) waits(name);
  endpoint.leave(gone);
  for (let failures = 0; failures < 9; failures += 1) {
    endpoint.begin(now);
    endpoint.begin(now);
    endpoint.end("failed", times);
  }
  assert.deepEqual(nudged, []);
  endpoint.begin(now);
  endpoint.end("failed", times);
  assert.deepEqual(nudged, ["a", "b"]);
});

test("endpoints share what may be under way together, and none is forgotten", () => {
  const clock = new VirtualClock({ startAt: now, patienceMs: 1_000 });
  const budget = new SendBudget(8);
  const openAt = (name: string) =>
    new Endpoint({
      ...{ name, sendsMax: 64, delayedDelivery: true, budget },
      ...{ clock, log: { fact: () => {} } },
    });
  const hanging = openAt("http://hanging.test/");
  while (hanging.room(now) > 0) hanging.begin(now);
  const others = ["a", "b", "c"].map((name) => openAt(`http://${name}.test/`));
  const sent: number[] = [];
  const send = (index: number) => {
    const endpoint = others[index] as Endpoint;
    if (endpoint.room(now) > 0) {
      sent.push(index);
      endpoint.begin(now);
    } else endpoint.wait(() => send(index));
  };
  for (const index of others.keys()) send(index);
  assert.deepEqual(sent, [], "six are open to all, and taken");
  hanging.wait(() => assert.fail("others have waited longer"));
  hanging.end("failed", times);
  assert.deepEqual(sent, [0]);
  others[0]?.end("succeeded", times);
  assert.deepEqual(sent, [0, 1]);
  for (const _ of [1, 2, 3]) send(0);
  assert.deepEqual(sent, [0, 1, 0, 0], "two are kept for those that answer");
});

test("who may not have a place that is free is not asked whether it wants it", () => {
  const budget = new SendBudget(8);
  const nudged: string[] = [];
  const waits = (name: string, answers: boolean) =>
    budget.wait(() => {
      nudged.push(name);
      budget.begin();
    }, answers);
  for (let sends = 0; sends < 8; sends += 1) budget.begin();
  waits("hangs", false);
  waits("answers", true);
  budget.end();
  assert.deepEqual(nudged, ["answers"], "the last two are kept for those that answer");
  for (let sends = 0; sends < 2; sends += 1) budget.end();
  assert.deepEqual(nudged, ["answers"]);
  budget.end();
  assert.deepEqual(nudged, ["answers", "hangs"]);
});
