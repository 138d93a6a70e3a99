// What people see of a cluster is the cluster's: the story of an event is the same at every broker,
// whoever sent it, and who watches one broker sees what happens at the others.

import assert from "node:assert/strict";
import { test } from "node:test";
import { startPostgres } from "../fixtures/postgres.ts";
import { adminKey, openCluster, pause } from "./brokers.ts";

interface Story {
  readonly event: { readonly id: string };
  readonly deliveries: readonly { readonly state: string; readonly subscription: string }[];
}

test("a story is the same at every broker, and so is the live view", async (t) => {
  const postgres = await startPostgres(t);
  const url = await postgres.newDatabase();
  const cluster = await openCluster(t, { url, brokers: 2 });
  const abort = new AbortController();
  t.after(() => abort.abort());
  const watching = await Promise.all(cluster.urls().map((each) => watch(each, abort.signal)));

  cluster.publish(2, 20);
  // An event is published at one broker; what both have shown came to one of them from the other.
  const isShared = () =>
    [...cluster.ledger.accepted].some((each) => watching.every((seen) => seen().includes(each)));
  while (cluster.ledger.accepted.size < 40 || !isShared()) await pause(20);
  await cluster.stop();
  await cluster.untilArrived();
  const id = [...cluster.ledger.accepted].find((each) => Number(each.split("-")[1]) > 0) as string;
  // Notes are written about once a second.
  const read = async (index: number): Promise<Story> => {
    for (;;) {
      const story = await cluster.ask<Story>(index, `/api/v1/events/${id}`);
      const isTold = story.deliveries?.some(({ state }) => state === "delivered");
      if (isTold === true) return story;
      await pause(100);
    }
  };
  assert.deepEqual(await read(0), await read(1));
});

/** All that came so far. */
async function watch(url: string, signal: AbortSignal): Promise<() => string> {
  const answer = await fetch(`${url}/api/v1/live?kinds=published`, {
    headers: { authorization: `Bearer ${adminKey}` },
    signal,
  });
  assert.equal(answer.status, 200);
  let text = "";
  const read = async () => {
    for await (const chunk of answer.body ?? []) text += Buffer.from(chunk).toString();
  };
  read().catch(() => {});
  return () => text;
}
