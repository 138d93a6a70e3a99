import assert from "node:assert/strict";
import { test } from "node:test";
import { plainRetention } from "../../test/contract/chronicle.ts";
import {
  makeEvent,
  routedTo,
  startAt,
  subscriptionDraft,
  topicDraft,
} from "../../test/contract/fixture.ts";
import { accepted } from "../../test/fixtures/story-notes.ts";
import { Members } from "../core/routing/members.ts";
import { MemoryStore } from "../store/memory.ts";
import { MemoryChronicle } from "../store/story/memory.ts";
import { recoverStories } from "./recover-stories.ts";

async function openScene() {
  const store = new MemoryStore();
  await store.putTopic(topicDraft());
  const subscription = await store.putSubscription(subscriptionDraft());
  const catalog = await store.catalog();
  const clock = { now: () => startAt };
  const retention = plainRetention;
  const chronicle = new MemoryChronicle({ clock, retention, onCut: () => {} });
  const facts: [string, unknown][] = [];
  const log = { fact: (_: string, name: string, fields: unknown) => facts.push([name, fields]) };
  const run = (
    lastStored: number,
    { signal = new AbortController().signal, isAfterCrash = true } = {},
  ) =>
    recoverStories({
      ...{ chronicle, ledger: store, catalog: () => catalog, clock, lastStored, signal },
      isAfterCrash,
      log: { fact: (level, name, fields) => void log.fact(level, name, fields) },
    });
  return { store, subscription, chronicle, facts, run };
}

test("after a crash what waits and was not noted is recalled, page by page", async () => {
  const { store, subscription, chronicle, facts, run } = await openScene();
  const names = Array.from({ length: 1_100 }, (_, index) => `e${index}`);
  const [first = 0] = await store.append(routedTo([subscription.id], ...names), startAt);
  const event = makeEvent("e0");
  const to = [subscription.id];
  const roll = new Members([subscription]);
  chronicle.note(accepted("e0", { event, number: first, to, roll }));
  await run(first);
  const { found } = await chronicle.search({ limit: 2_000 });
  assert.equal(found.length, 1_100);
  assert.deepEqual(facts, [["story.recollected", { recalled: 1_099, lost: 0 }]]);
  assert.equal((await chronicle.find("e0"))?.acceptedWith, "key1");
  assert.equal((await chronicle.find("e1099"))?.acceptedWith, "unknown");
});

test("what is held to be waiting and is not, is noted as lost", async () => {
  const { subscription, chronicle, facts, run } = await openScene();
  const roll = new Members([subscription]);
  for (let number = 1; number <= 3; number++) {
    chronicle.note(accepted(`e${number}`, { number, to: [subscription.id], roll }));
  }
  await run(3);
  const { found } = await chronicle.search({ limit: 10, state: "unknown" });
  assert.equal(found.length, 3);
  assert.deepEqual(facts, [["story.recollected", { recalled: 0, lost: 3 }]]);
  await run(3);
  assert.equal(facts.length, 1, "there is nothing left to say");
});

test("after a clean stop only what came while no stories were kept is recalled", async () => {
  const { store, subscription, chronicle, run } = await openScene();
  const roll = new Members([subscription]);
  const ended = { number: 1, to: [subscription.id], roll };
  chronicle.note(accepted("known", { ...ended, event: makeEvent("known") }));
  const [first = 0] = await store.append(routedTo([subscription.id], "one", "two"), startAt);
  await run(first, { isAfterCrash: false });
  const { found } = await chronicle.search({ limit: 10 });
  assert.deepEqual(
    found.map(({ event, fates }) => [event, fates[0]?.state]),
    [
      ["two", "waiting"],
      ["known", "waiting"],
    ],
  );
});

test("a store that cannot be read is left alone, and that is told", async () => {
  const { store, subscription, facts, run } = await openScene();
  await store.append(routedTo([subscription.id], "one"), startAt);
  store.waiting = () => Promise.reject(new Error("disk I/O error"));
  await run(0);
  assert.deepEqual(facts, [["story.unrecollected", { error: "Error: disk I/O error" }]]);
  await run(0, { signal: AbortSignal.abort() });
  assert.equal(facts.length, 1, "a broker that stops says nothing");
});
