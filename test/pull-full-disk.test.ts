// Receivers of a broker whose disk has no room: what it cannot write down it does not hand out or
// take for done, and when there is room again nothing is lost and nothing acknowledged comes back.

import assert from "node:assert/strict";
import { test } from "node:test";
import { limitFiles, whyNoFileLimit } from "./fixtures/file-limit.ts";
import { openNamespaceBroker } from "./fixtures/namespace-broker.ts";

test("a disk that fills while events are received loses none of them (N-34, N-38)", {
  skip: whyNoFileLimit(),
}, async (t) => {
  const subscriptions = { all: { deliveryConfiguration: { deliveryMode: "Queue" } } };
  const broker = await openNamespaceBroker(t, { orders: { subscriptions } });
  const limit = (bytes: string) => limitFiles(broker.program.child.pid, bytes);
  const published: string[] = [];
  const publish = async (id: string) => {
    const event = { id, specversion: "1.0", source: "/s", type: "t", data: "x".repeat(2_000) };
    const path = "/topics/orders:publish";
    const answer = await broker.post(path, JSON.stringify(event), "application/cloudevents+json");
    if (answer.status === 200) published.push(id);
    return answer;
  };
  for (let number = 0; number < 20; number += 1) await publish(`e${number}`);
  const locked = await broker.receive("orders", "all", 5);
  assert.equal(locked.length, 5);

  limit("16384");
  let refused = await publish("f0");
  for (let number = 1; refused.status === 200 && number < 200; number += 1) {
    refused = await publish(`f${number}`);
  }
  assert.equal(refused.status, 503, JSON.stringify(refused.body));
  /** What was told as done, and what was handed out, while the disk was full. */
  const done = new Set<string>();
  const handed = new Map(locked.map(({ id, token }) => [id, token]));
  for (let round = 0; round < 12; round += 1) {
    const path = "/topics/orders/eventsubscriptions/all:receive?maxEvents=1";
    const got = await broker.post(path);
    assert.ok([200, 503].includes(got.status), JSON.stringify(got));
    for (const { event, brokerProperties } of got.body.value ?? []) {
      assert.ok(!handed.has(event.id), `${event.id} was handed out twice`);
      handed.set(event.id, brokerProperties.lockToken);
    }
    const [id, token] = [...handed][round] ?? [];
    if (id === undefined || token === undefined) continue;
    const answer = await broker.settle("orders", "all", "acknowledge", token);
    assert.ok([200, 503].includes(answer.status), JSON.stringify(answer));
    if (answer.status === 200 && answer.body.succeededLockTokens.length === 1) done.add(id);
  }

  limit("unlimited");
  await broker.restart();
  // Every lock has lapsed.
  await broker.advance("PT2M");
  const rest = await broker.receive("orders", "all", 100);
  const ids = rest.map(({ id }) => id).toSorted();
  // One whose acknowledgement was refused may have been written all the same.
  const back = new Set(ids);
  assert.equal(back.size, ids.length);
  for (const id of done) assert.ok(!back.has(id), `${id} came back`);
  const kept = published.filter((id) => !done.has(id)).toSorted();
  assert.deepEqual(ids, kept);
  t.diagnostic(`${handed.size} handed out and ${done.size} acknowledged around a full disk`);
});
