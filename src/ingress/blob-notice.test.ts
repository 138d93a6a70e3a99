// Notices of dead letters, with a scripted sink and the real store.

import assert from "node:assert/strict";
import { test } from "node:test";
import { noReplyOf, parcelOf } from "../../test/contract/sink.ts";
import { storageArmId } from "../core/azure/storage.ts";
import type { Outcome } from "../core/delivery/outcome.ts";
import type { Routed } from "../core/ports.ts";
import { Refusal } from "../core/refusal.ts";
import { Directory } from "../core/routing/route.ts";
import { type DeadLetterDestination, plainSubscription } from "../core/subscription.ts";
import { plainTopic } from "../core/topic.ts";
import { MemoryStore } from "../store/memory.ts";
import { withNotices } from "./blob-notice.ts";

const destination: DeadLetterDestination = {
  kind: "blob",
  resourceId: storageArmId({
    group: { subscriptionId: "s", resourceGroup: "rg" },
    account: "LETTERS",
  }),
  container: "box",
};
const path = "WAREHOUSE/2021/7/1/12/guid.json";
const written = { container: "box", path, url: "http://x/", etag: '"1"', bytes: 2 };
const taken: Outcome = { kind: "answered", status: 201, written };
const limits = { waitMs: 1, lateMs: 2, signal: new AbortController().signal };

class FullStore extends MemoryStore {
  override append(_routed: readonly Routed[]): Promise<number[]> {
    return Promise.reject(new Refusal("Unavailable", "The disk is full."));
  }
}

async function openPost(
  outcome: Outcome,
  { store = new MemoryStore(), kind = "storage" as "storage" | "topic" } = {},
) {
  const names = { key1: "a", key2: "b", origin: "file" } as const;
  await store.putTopic({ ...plainTopic, ...names, name: "orders" });
  await store.putTopic({ ...plainTopic, ...names, name: "letters", kind });
  const { id } = await store.putSubscription({
    ...{ ...plainSubscription, topic: "letters", name: "watch", origin: "file" },
    destination: { kind: "webhook", url: "http://127.0.0.1:9/" },
  });
  const directory = new Directory(await store.catalog());
  const facts: [string, unknown][] = [];
  const counts: string[] = [];
  const sink = withNotices(
    { send: () => Promise.resolve(outcome) },
    {
      ...{ directory, store, clock: { now: () => 5, after: () => () => {} } },
      ids: { next: () => "n-1" },
      log: { fact: (_, name, fields) => facts.push([name, fields]) },
      meter: { count: (name) => counts.push(name) },
    },
  );
  const subjects = async () =>
    (await store.waiting({ subscription: id, stage: "deliver" }, { after: 0, limit: 9 })).map(
      ({ event }) => JSON.parse(event.text).subject as string,
    );
  return {
    send: () => sink.send(parcelOf(["{}"]), destination, limits),
    sink,
    subjects,
    facts,
    counts,
  };
}

const told = [`/blobServices/default/containers/box/blobs/${path}`];

test("each blob that was written is an event of its account before it is told (L-5)", async () => {
  const { send, subjects, counts } = await openPost(taken);
  assert.equal(await send(), taken);
  assert.deepEqual(await subjects(), told);
  assert.ok(counts.includes("posthorn_published_events_total"));
});

test("a blob that was written late is told as well, and what was not written is not", async () => {
  const late = await openPost({ kind: "noReply", why: "timeout", late: Promise.resolve(taken) });
  const { late: answer } = noReplyOf(await late.send());
  assert.equal(await answer, taken);
  assert.deepEqual(await late.subjects(), told);
  for (const outcome of [
    { kind: "answered", status: 404 },
    { kind: "noReply", why: "connection" },
    { kind: "noReply", why: "timeout", late: Promise.resolve(null) },
  ] as const satisfies readonly Outcome[]) {
    const { send, subjects } = await openPost(outcome);
    const { late: never } = { late: null, ...(await send()) };
    await never;
    assert.deepEqual(await subjects(), []);
  }
});

test("dead letters of notices are not told of, so that they cannot loop (L-5)", async () => {
  const { sink, subjects } = await openPost(taken);
  const parcel = parcelOf(["{}"]);
  const ofNotices = { ...parcel, subscription: { ...parcel.subscription, topic: "Letters" } };
  assert.equal(await sink.send(ofNotices, destination, limits), taken);
  assert.deepEqual(await subjects(), []);
  await sink.send(parcel, destination, limits);
  assert.deepEqual(await subjects(), told, "of other dead letters they are");
});

test("a topic that only has the account's name is left alone", async () => {
  const { send, subjects } = await openPost(taken, { kind: "topic" });
  assert.equal(await send(), taken);
  assert.deepEqual(await subjects(), []);
});

test("a notice for which there is no room is a fact, and the blob counts as written", async () => {
  const { send, facts, counts } = await openPost(taken, { store: new FullStore() });
  assert.equal(await send(), taken);
  assert.deepEqual(facts, [
    [
      "notice.lost",
      { topic: "letters", container: "box", blob: path, error: "Refusal: The disk is full." },
    ],
  ]);
  assert.deepEqual(counts, ["posthorn_lost_notices_total"]);
});
