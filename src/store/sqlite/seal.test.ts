// What a start makes of a store that somebody has cut, emptied or damaged, and what is saved of it.

import assert from "node:assert/strict";
import {
  closeSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import {
  openFront,
  routedTo,
  subscriptionDraft,
  topicDraft,
} from "../../../test/contract/fixture.ts";
import { Refusal } from "../../core/refusal.ts";
import { lookAtStore, restoreStore } from "./backup.ts";
import { recoverStore } from "./recover.ts";
import { readSeal, writeSeal } from "./seal.ts";
import { openThread } from "./thread.ts";

const pageBytes = 4_096;

function makeStore(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-seal-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "data", "store.db");
}

function open(path: string) {
  return openThread({ path, onCrash: (error) => assert.fail(error) });
}

/** A store with so many events that wait, closed in good order. */
async function fill(path: string, count: number): Promise<void> {
  const store = openFront(await open(path));
  await store.putTopic(topicDraft());
  const { id } = await store.putSubscription(subscriptionDraft({ name: "billing" }));
  const names = Array.from({ length: count }, (_, index) => `event-${index}`);
  await store.append(routedTo([id], ...names), 0);
  await store.close();
}

async function waiting(path: string): Promise<number> {
  const store = openFront(await open(path));
  const counts = await store.counts();
  await store.close();
  return counts.reduce((sum, { waiting }) => sum + waiting, 0);
}

function refused(words: RegExp) {
  return (error: unknown) =>
    error instanceof Refusal && error.code === "Unavailable" && words.test(error.message);
}

/** As a crash leaves it: the last round is in the log alone. */
function pretendCrash(path: string): void {
  writeSeal(path, "open");
  const before = statSync(path).mtimeMs / 1_000 - 60;
  utimesSync(path, before, before);
}

test("a store that is closed in good order is opened again, whatever was beside it", async (t) => {
  const path = makeStore(t);
  await fill(path, 10);
  assert.equal(readSeal(path), "closed");
  assert.equal(await waiting(path), 10);
});

test("a store from before there were seals is opened and gets one", async (t) => {
  const path = makeStore(t);
  await fill(path, 3);
  rmSync(path.replace(".db", ".seal"));
  assert.equal(await waiting(path), 3);
  assert.equal(readSeal(path), "closed");
});

test("files and folder of a store are for its owner alone, whatever the umask", async (t) => {
  const path = makeStore(t);
  const before = process.umask(0);
  t.after(() => process.umask(before));
  const engine = await open(path);
  const store = openFront(engine);
  await store.putTopic(topicDraft());
  for (const file of [path, `${path}-wal`, path.replace(".db", ".seal")]) {
    assert.equal(statSync(file).mode & 0o777, 0o600, file);
  }
  assert.equal(statSync(join(path, "..")).mode & 0o777, 0o700);
  const copy = join(path, "..", "copy.db");
  await engine.backUp(copy);
  assert.equal(statSync(copy).mode & 0o777, 0o600);
  await store.close();
});

test("an emptied or missing store is refused, and recovering begins a new one", async (t) => {
  const path = makeStore(t);
  await fill(path, 10);
  truncateSync(path, 0);
  await assert.rejects(open(path), refused(/is empty, and it was not .*posthorn recover/));
  rmSync(path);
  await assert.rejects(open(path), refused(/is missing, and it was there/));
  assert.match(lookAtStore(path)?.verdict ?? "", /is missing/);
  assert.match(recoverStore(path, "1").why ?? "", /is missing/);
  assert.equal(await waiting(path), 0);
});

test("a store whose log was taken away is refused; recovering goes on without it", async (t) => {
  const path = makeStore(t);
  await fill(path, 10);
  pretendCrash(path);
  await assert.rejects(open(path), refused(/store\.db-wal, is missing, and it may have held/));
  assert.match(recoverStore(path, "1").why ?? "", /-wal, is missing/);
  assert.equal(await waiting(path), 10);
});

/** A store in use, as `kill -9` would leave it: so many events wait, each by a round of its own. */
async function leaveKilled(t: TestContext, count: number): Promise<string> {
  const path = makeStore(t);
  const store = openFront(await open(path));
  t.after(() => store.close());
  await store.putTopic(topicDraft());
  const { id } = await store.putSubscription(subscriptionDraft({ name: "billing" }));
  for (let event = 0; event < count; event += 1) {
    await store.append(routedTo([id], `event-${event}`), 0);
  }
  const killed = makeStore(t);
  cpSync(dirname(path), dirname(killed), { recursive: true });
  return killed;
}

test("a journal that was cut or overwritten is refused; recovering goes on with the rest", async (t) => {
  const [cut, junk, whole] = await Promise.all([1, 2, 3].map(() => leaveKilled(t, 20)));
  assert.ok(cut !== undefined && junk !== undefined && whole !== undefined);
  assert.equal(await waiting(whole), 20);
  const { length } = readFileSync(cut.replace(".db", ".journal"));
  truncateSync(cut.replace(".db", ".journal"), length / 2);
  writeFileSync(junk.replace(".db", ".journal"), Buffer.alloc(length, "junk"));
  for (const path of [cut, junk]) {
    await assert.rejects(open(path), refused(/journal .* damaged: it has \d+ of 20 records/));
    assert.match(lookAtStore(path)?.verdict ?? "", /journal is damaged/);
    assert.match(recoverStore(path, "1").why ?? "", /journal is damaged/);
  }
  assert.equal(await waiting(junk), 0);
  const left = await waiting(cut);
  assert.ok(left > 0 && left < 20, `${left}`);
});

test("a store whose log was cut is refused; recovering goes on with what is left", async (t) => {
  const path = makeStore(t);
  const store = openFront(await open(path));
  await store.putTopic(topicDraft());
  const { id } = await store.putSubscription(subscriptionDraft({ name: "billing" }));
  await store.append(routedTo([id], "one"), 0);
  await store.putSubscription(subscriptionDraft({ name: "shipping" }));
  await store.append(routedTo([id], "two"), 0);
  // As a crash leaves it.
  const crashed = makeStore(t);
  cpSync(dirname(path), dirname(crashed), { recursive: true });
  await store.close();
  const whole = readFileSync(`${crashed}-wal`);
  for (const bytes of [32, Math.floor(whole.length / 2)]) {
    truncateSync(`${crashed}-wal`, bytes);
    await assert.rejects(open(crashed), refused(/store\.db is damaged: what comes before it is/));
    assert.match(lookAtStore(crashed, true)?.verdict ?? "", /what comes before it is/);
    writeFileSync(`${crashed}-wal`, whole);
  }
  truncateSync(`${crashed}-wal`, 32);
  assert.match(recoverStore(crashed, "1").why ?? "", /what comes before it is missing/);
  assert.equal(await waiting(crashed), 0);
  assert.ok(existsSync(`${crashed.replace(".db", ".journal")}.damaged-1`));
});

test("recovering an emptied store begins a new one, whatever its journal has", async (t) => {
  const path = makeStore(t);
  await fill(path, 10);
  const store = openFront(await open(path));
  const crashed = makeStore(t);
  cpSync(dirname(path), dirname(crashed), { recursive: true });
  await store.close();
  truncateSync(crashed, 0);
  assert.match(recoverStore(crashed, "1").why ?? "", /is empty/);
  assert.equal(await waiting(crashed), 0);
});

test("a store whose log somebody has taken into the file is opened", async (t) => {
  const path = makeStore(t);
  await fill(path, 10);
  writeSeal(path, "open");
  // As SQLite's own shell, or a thread that ends with its process, leaves it.
  const database = new DatabaseSync(path);
  database.exec("UPDATE openings SET count = count + 1");
  database.close();
  assert.equal(await waiting(path), 10);
});

test("a store that was cut short is refused with its size", async (t) => {
  const path = makeStore(t);
  await fill(path, 200);
  truncateSync(path, statSync(path).size - pageBytes);
  await assert.rejects(open(path), refused(/is cut short: it has \d+ of \d+ bytes/));
});

test("a store that was cut short is refused, unless its log has what is missing", async (t) => {
  const path = makeStore(t);
  await fill(path, 200);
  const whole = readFileSync(path);
  const database = new DatabaseSync(path);
  database.exec("PRAGMA wal_autocheckpoint = 0; UPDATE openings SET count = count + 1");
  const small = readFileSync(`${path}-wal`);
  database.exec("UPDATE events SET text = text || ' '; UPDATE deliveries SET attempts = 1");
  const large = readFileSync(`${path}-wal`);
  database.close();
  const put = (log: Buffer, bytes: number) => {
    writeFileSync(path, whole.subarray(0, bytes));
    writeFileSync(`${path}-wal`, log);
    writeSeal(path, "open");
  };
  put(small, whole.length / 2);
  await assert.rejects(open(path), refused(/is cut short: it has \d+ of \d+ bytes/));
  put(large, whole.length);
  assert.equal(await waiting(path), 200, "all of it, with a log");
  // The last page of all is one of those that were written again.
  const bytes = lastUnwritten(large, whole.length);
  assert.ok(bytes < whole.length);
  put(large, bytes);
  assert.equal(await waiting(path), 200);
});

/** How long a file must be so that its log has all that is missing. */
function lastUnwritten(log: Buffer, bytes: number): number {
  const pages = new Set<number>();
  for (let at = 32; at < log.length; at += 24 + pageBytes) pages.add(log.readUInt32BE(at));
  let left = bytes / pageBytes;
  while (pages.has(left)) left -= 1;
  return left * pageBytes;
}

test("a file that is no store is refused in one line with what to do", async (t) => {
  const path = makeStore(t);
  await fill(path, 1);
  writeFileSync(path, Buffer.alloc(8 * pageBytes, "?"));
  await assert.rejects(open(path), refused(/is damaged: .*doctor --deep.*posthorn recover/));
  assert.match(recoverStore(path, "1").why ?? "", /not a database/);
  assert.equal(await waiting(path), 0);
});

test("a file that is no store is refused in one line, also while its log looks like one", async (t) => {
  const path = makeStore(t);
  await fill(path, 200);
  const database = new DatabaseSync(path);
  database.exec("PRAGMA wal_autocheckpoint = 0; CREATE TABLE more (one); DROP TABLE more");
  const log = readFileSync(`${path}-wal`);
  database.close();
  const size = statSync(path).size;
  writeFileSync(path, Buffer.alloc(size, "this is no database"));
  writeFileSync(`${path}-wal`, log);
  writeSeal(path, "open");
  await assert.rejects(open(path), refused(/is damaged: .*doctor --deep.*posthorn recover/));
});

test("a store that is in use is not recovered, and stays as it is", async (t) => {
  const path = makeStore(t);
  const store = openFront(await open(path));
  assert.throws(
    () => recoverStore(path, "1"),
    (error) => error instanceof Refusal && /is in use; stop the broker first$/.test(error.message),
  );
  await store.putTopic(topicDraft());
  await store.close();
});

test("what can be read of a damaged store is saved, and numbers go on above it", async (t) => {
  const path = makeStore(t);
  const count = 2_000;
  await fill(path, count);
  damage(path, "events");
  assert.notEqual(lookAtStore(path, true)?.verdict, "ok");
  const { why, former, saved, torn, lost } = recoverStore(path, "1");
  assert.notEqual(why, null);
  assert.ok(former !== null && existsSync(former));
  assert.deepEqual(torn, ["events"]);
  assert.equal(saved.topics, 1);
  assert.equal(saved.subscriptions, 1);
  assert.ok(lost > 0 && lost < count / 2, `${lost} of ${count} lost`);
  assert.equal(lookAtStore(path, true)?.verdict, "ok");
  assert.equal(await waiting(path), count - lost);

  const last = latestEvent(path);
  const store = openFront(await open(path));
  await store.append(routedTo([1], "new"), 1);
  await store.close();
  assert.ok(latestEvent(path) > last);
});

function latestEvent(path: string): number {
  const database = new DatabaseSync(path);
  const row = database.prepare("SELECT max(number) AS number FROM events").get();
  database.close();
  return Number(row?.number);
}

test("a backup takes the place of a damaged store", async (t) => {
  const path = makeStore(t);
  await fill(path, 10);
  const backup = join(path, "..", "..", "backup.db");
  writeFileSync(backup, readFileSync(path));
  writeFileSync(path, Buffer.alloc(8 * pageBytes, "?"));
  const folder = join(path, "..");
  const { former } = restoreStore({ from: backup, folder, replaces: true, stamp: "1" });
  assert.ok(former !== null && existsSync(former));
  assert.equal(await waiting(path), 10);
});

/** Overwrites one page in the middle of a table. */
function damage(path: string, table: string): void {
  const database = new DatabaseSync(path);
  const text = database.prepare(`SELECT text FROM ${table} WHERE text LIKE '%event-1000"%'`).get();
  database.close();
  const bytes = readFileSync(path);
  const at = bytes.indexOf(String(text?.text));
  assert.notEqual(at, -1);
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(pageBytes, 0xff), 0, pageBytes, at - (at % pageBytes));
  closeSync(file);
}
