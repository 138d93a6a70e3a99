import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import {
  makeEvent,
  openFront,
  routedTo,
  subscriptionDraft,
  topicDraft,
} from "../../../test/contract/fixture.ts";
import { Refusal } from "../../core/refusal.ts";
import { restoreStore } from "./backup.ts";
import { openThread } from "./thread.ts";

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-backup-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function openStore(folder: string) {
  const onCrash = (error: Error) => assert.fail(error);
  const thread = await openThread({ path: join(folder, "store.db"), onCrash });
  return { thread, store: openFront(thread) };
}

function refused(words: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof Refusal);
    assert.equal(error.code, "InvalidSetting");
    assert.match(error.message, words);
    return true;
  };
}

/** Appends ten events at a time until the promise settles, however it does. */
async function appendUntil(
  promise: Promise<unknown>,
  append: (names: string[]) => Promise<unknown>,
) {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  promise.then(over, over);
  for (let from = 0; !isOver; from += 10) {
    await append(Array.from({ length: 10 }, (_, index) => `during-${from + index}`));
  }
  await promise;
}

test("a copy made under load has everything that was accepted before it was begun", async (t) => {
  const folder = makeFolder(t);
  const { thread, store } = await openStore(folder);
  await store.putTopic(topicDraft());
  const { id } = await store.putSubscription(subscriptionDraft({ name: "billing" }));
  const append = (names: string[]) => store.append(routedTo([id], ...names), 0);
  await append(Array.from({ length: 2_000 }, (_, index) => `before-${index}`));
  const copy = join(folder, "copy.db");
  const made = thread.backUp(copy);
  await assert.rejects(thread.backUp(join(folder, "other.db")), Refusal);
  await appendUntil(made, append);
  await store.close();

  const elsewhere = join(folder, "elsewhere");
  const { former } = restoreStore({ from: copy, folder: elsewhere, replaces: false, stamp: "1" });
  assert.equal(former, null);
  const again = await openStore(elsewhere);
  const [count] = await again.store.counts();
  assert.ok(count !== undefined && count.waiting >= 2_000);
  assert.equal(count.waiting % 10, 0, "no round is half in it");
  await again.store.close();
});

test("no copy fails because a round is being written when it is begun", async (t) => {
  const folder = makeFolder(t);
  const { thread, store } = await openStore(folder);
  await store.putTopic(topicDraft());
  const { id } = await store.putSubscription(subscriptionDraft({ name: "billing" }));
  const copies = async () => {
    for (let count = 0; count < 200; count += 1) await thread.backUp(join(folder, "copy.db"));
  };
  await appendUntil(copies(), (names) => store.append(routedTo([id], ...names), 0));
  await store.close();
});

test("a store that is closed ends the copy being made of it, and leaves no part of it", async (t) => {
  const folder = makeFolder(t);
  const { thread, store } = await openStore(folder);
  await store.putTopic(topicDraft());
  const { id } = await store.putSubscription(subscriptionDraft({ name: "billing" }));
  const text = JSON.stringify("x".repeat(20_000_000));
  await store.append([{ event: makeEvent("large", { text }), to: [id] }], 0);
  const copied = assert.rejects(thread.backUp(join(folder, "copy.db")), /being closed/);
  await thread.close();
  await copied;
  assert.deepEqual(readdirSync(folder).toSorted(), ["store.db", "store.journal", "store.seal"]);
});

test("a store that is there is replaced only when told so, and kept", async (t) => {
  const folder = makeFolder(t);
  const first = await openStore(folder);
  await first.store.putTopic(topicDraft());
  const copy = join(folder, "copy.db");
  await first.thread.backUp(copy);
  const order = { from: copy, folder, replaces: true, stamp: "1" };
  assert.throws(() => restoreStore(order), refused(/store\.db is in use; stop the broker first/));
  await first.store.close();

  assert.throws(
    () => restoreStore({ ...order, replaces: false }),
    refused(/exists already; add --replace/),
  );
  const { former } = restoreStore(order);
  assert.equal(former, join(folder, "store.db.before-1"));
  assert.ok(existsSync(former));
  const second = await openStore(folder);
  assert.equal((await second.store.catalog()).topics.length, 1);
  await second.store.close();
});

test("what is no whole copy of a store is refused, and nothing is touched", (t) => {
  const folder = makeFolder(t);
  const from = join(folder, "copy.db");
  const restore = () =>
    restoreStore({ from, folder: join(folder, "d"), replaces: true, stamp: "" });
  assert.throws(restore, refused(/^there is no file /));
  writeFileSync(from, "not a database, but long enough to look like one".repeat(100));
  assert.throws(restore, refused(/is not a whole copy of a store$/));
  rmSync(from);
  const other = new DatabaseSync(from);
  other.exec("CREATE TABLE something (else_ TEXT)");
  other.close();
  assert.throws(restore, refused(/is not a whole copy of a store$/));
  rmSync(from);
  const newer = new DatabaseSync(from);
  newer.exec("CREATE TABLE deliveries (event); PRAGMA user_version = 99");
  newer.close();
  assert.throws(restore, refused(/was written by a newer release.* and it is 99$/));
  assert.deepEqual(readdirSync(folder), ["copy.db"]);
});

test("a disk that will not take a copy leaves the store as it was", async (t) => {
  const folder = makeFolder(t);
  const { thread, store } = await openStore(folder);
  await assert.rejects(
    thread.backUp(join(folder, "nowhere", "copy.db")),
    /no such file or directory/,
  );
  await store.putTopic(topicDraft());
  await thread.backUp(join(folder, "copy.db"));
  await store.close();
});
