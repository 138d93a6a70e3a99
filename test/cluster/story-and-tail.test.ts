// What people see of a cluster is the cluster's: the story of an event is the same at every broker,
// whoever sent it, and who watches one broker sees what happens at the others.

import assert from "node:assert/strict";
import { test } from "node:test";
import { startPostgres } from "../fixtures/postgres.ts";
import { adminKey, openCluster, pause } from "./brokers.ts";
import { endpointNames } from "./endpoints.ts";

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
  // Notes are written about once a second, and the endpoint that never accepts is tried twice.
  const isOver = ({ state }: Story["deliveries"][number]) => /^(delivered|dropped)$/.test(state);
  const read = async (index: number): Promise<Story> => {
    for (;;) {
      const story = await cluster.ask<Story>(index, `/api/v1/events/${id}`);
      const ends = story.deliveries?.filter(isOver) ?? [];
      if (ends.length === endpointNames.length) return story;
      await pause(100);
    }
  };
  assert.deepEqual(await read(0), await read(1));
});

interface Chart {
  readonly series: readonly {
    readonly name: string;
    readonly totals: { readonly published: number };
  }[];
}

test("charts are the same at every broker, and a broker that is gone keeps its past", async (t) => {
  const postgres = await startPostgres(t);
  const url = await postgres.newDatabase();
  const cluster = await openCluster(t, { url, brokers: 2 });
  cluster.publish(2, 10);
  while (cluster.ledger.accepted.size < 40) await pause(20);
  await cluster.stop();
  await cluster.untilArrived();
  const published = async (index: number) => {
    const { series } = await cluster.ask<Chart>(index, "/api/v1/figures?minutes=60&points=4");
    return series[0]?.totals.published;
  };
  // Each broker writes what it has counted a few times a minute.
  const both = async () => [await published(0), await published(1)];
  const all = cluster.ledger.accepted.size;
  while ((await both()).some((count) => count !== all)) await pause(100);
  await cluster.end(1, "SIGKILL");
  await cluster.start(1);
  while ((await published(1)) !== all) await pause(100);
  assert.deepEqual(await both(), [all, all]);
  // Each also has figures of its own, the one that is gone, too.
  const query = "/api/v1/figures?kind=member&minutes=60&points=4";
  const { series: members } = await cluster.ask<Chart>(1, query);
  const counts = members.map(({ totals }) => totals.published);
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    all,
  );
  assert.equal(counts.filter((count) => count > 0).length, 2, "publishers go round");
  const { value: alive } = await cluster.ask<{ value: { id: string }[] }>(1, "/api/v1/brokers");
  const names = members.map(({ name }) => name);
  assert.ok(names.length === 3 && alive.every(({ id }) => names.includes(id)));
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
