// The journal: its records as bytes, what a crash leaves of it, and what happens when it is torn,
// damaged, cannot be written or is taken away.

import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { Folder } from "../../../test/contract/embedded.ts";
import {
  gone,
  makeEvent,
  namesOf,
  openFront,
  queueOf,
  routedTo,
  startAt,
  subscriptionDraft,
  topicDraft,
  want,
} from "../../../test/contract/fixture.ts";
import { Journal as Books, drain, liveADay } from "../../../test/faults/store-workload.ts";
import type { Settlement } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import { lookAtStore, restoreStore } from "./backup.ts";
import { openDatabase } from "./database.ts";
import { SqliteEngine } from "./engine.ts";
import type { Engine, FrontStore } from "./front.ts";
import { Journal, type JournalFile, journalPath, openMemoryJournal } from "./journal.ts";
import { EntryWriter, type JournalEntry, readEntries } from "./journal-record.ts";
import { recoverStore } from "./recover.ts";
import { writeSeal } from "./seal.ts";
import { openInline } from "./thread.ts";

const whole = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const word = fc.string({ unit: "grapheme" });
const maybe = fc.option(word, { nil: null });
const event = fc.record({
  ...{ systemId: word, topic: word, publishedAt: whole, dataVersion: word, text: word },
  schema: fc.constantFrom("EventGridSchema" as const, "CustomEventSchema" as const),
  ...{ envelope: maybe, hops: fc.nat() },
  trace: fc.option(fc.record({ parent: word, state: maybe }), { nil: null }),
});
const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value));
const settlement: fc.Arbitrary<Settlement> = fc
  .record({ event: whole, subscription: whole, lease: whole, at: whole })
  .chain(({ event, subscription, lease, at }) => {
    const head = { delivery: { event, subscription }, lease };
    const last = { at, number: 3, outcome: "TimedOut", status: null };
    const rest = { stage: "deadLetter" as const, since: at, attempts: 3, last, reason: "over" };
    return fc.constantFrom<Settlement>(
      { kind: "gone", ...head },
      { kind: "back", ...head },
      { kind: "due", ...head, at, ...rest },
    );
  });

test("entries are read as they were written", () => {
  const stage = fc.constantFrom("deliver" as const, "deadLetter" as const);
  const entry: fc.Arbitrary<JournalEntry> = fc.oneof(
    fc.record({
      kind: fc.constant("appended" as const),
      ...{ number: whole, event, now: whole, to: fc.array(whole, { maxLength: 5 }) },
    }),
    fc.record({ kind: fc.constant("settled" as const), settlement, stage }),
  );
  fc.assert(
    fc.property(fc.array(entry), (entries) => {
      const writer = new EntryWriter(24);
      for (const one of entries) {
        if (one.kind === "appended") writer.appended(one.number, one, one.now, one.to);
        else writer.settled(one.settlement, one.stage);
      }
      assert.deepEqual(plain([...readEntries(writer.bytes.subarray(24))]), plain(entries));
    }),
  );
});

test("entries that an earlier release wrote are read", () => {
  const bytes = [
    "AQAAEAAAAPBBAAAAAABIj0AAAAAAAAAAQAAAAAAAAPA/AAAAAAAAHEAEAAAAaWQtMQYAAABvcmRlcnMAAAAAAECPQA8A",
    "AABFdmVudEdyaWRTY2hlbWEDAAAAMS4wCwAAAHsiaWQiOiLDpCJ9/////wQAAAAwMC0x/////wAAAAAAAABAAgAAEAAA",
    "APBBAAAAAAAAHEAAAAAAAAAiQAADbgAAAHsic2V0dGxlbWVudCI6eyJraW5kIjoiYmFjayIsImRlbGl2ZXJ5Ijp7ImV2",
    "ZW50Ijo0Mjk0OTY3Mjk3LCJzdWJzY3JpcHRpb24iOjF9LCJsZWFzZSI6OH0sInN0YWdlIjoiZGVhZExldHRlciJ9",
  ];
  const number = 4_294_967_297;
  const trace = { parent: "00-1", state: null };
  const ids = { systemId: "id-1", topic: "orders", publishedAt: 1000 };
  const content = { schema: "EventGridSchema", dataVersion: "1.0", text: '{"id":"ä"}' };
  const event = { ...ids, ...content, envelope: null, trace, hops: 2 };
  const settled = (kind: string, subscription: number, lease: number) => ({
    kind,
    delivery: { event: number, subscription },
    lease,
  });
  assert.deepEqual(
    [...readEntries(Buffer.from(bytes.join(""), "base64"))],
    [
      { kind: "appended", number, event, now: 1001, to: [1, 7] },
      { kind: "settled", settlement: settled("gone", 7, 9), stage: "deliver" },
      { kind: "settled", settlement: settled("back", 1, 8), stage: "deadLetter" },
    ],
  );
});

/** A store in memory that can crash, and whose journal can be looked at and changed. */
class Crashable {
  readonly database = openDatabase({ path: ":memory:" });
  readonly journal: JournalFile;
  readonly #bytesMax: number;

  constructor(journal = openMemoryJournal(), bytesMax = 1_000_000) {
    this.journal = journal;
    this.#bytesMax = bytesMax;
  }

  /** What an earlier one has not committed is undone, as by a crash. */
  open(isSalvage = false): SqliteEngine {
    const options = { path: ":memory:", journal: this.journal, journalBytesMax: this.#bytesMax };
    return new SqliteEngine({ ...options, isSalvage }, this.database);
  }
}

async function furnish(store: FrontStore): Promise<number> {
  await store.putTopic(topicDraft());
  return (await store.putSubscription(subscriptionDraft())).id;
}

async function waitingIn(store: FrontStore, id: number): Promise<string[]> {
  return namesOf(await store.waiting(queueOf(id), { after: 0, limit: 100 }));
}

/** Three rounds in the journal, each of one event, and where each record ends. */
async function threeRounds() {
  const written: { readonly at: number; readonly bytes: Buffer }[] = [];
  const memory = openMemoryJournal();
  const journal: JournalFile = {
    ...memory,
    write(bytes, at) {
      written.push({ at, bytes: Buffer.from(bytes) });
      memory.write(bytes, at);
    },
  };
  const disk = new Crashable(journal);
  const store = openFront(openInline(disk.open()));
  const id = await furnish(store);
  written.length = 0;
  for (const name of ["one", "two", "three"]) await store.append(routedTo([id], name), startAt);
  assert.equal(written.length, 3);
  return { id, disk, written: written as [Written, Written, Written] };
}

interface Written {
  readonly at: number;
  readonly bytes: Buffer;
}

/** A crash, with these bytes in the journal. */
async function reopen(
  disk: Crashable,
  change: (bytes: Buffer) => Buffer,
  isSalvage = false,
): Promise<{ readonly names: (id: number) => Promise<string[]> }> {
  const bytes = change(Buffer.from(disk.journal.read()));
  const copy = new Crashable({ ...openMemoryJournal(), read: () => bytes });
  disk.database.exec("ROLLBACK");
  copy.database.close();
  const engine = new SqliteEngine(
    { path: ":memory:", journal: copy.journal, isSalvage },
    copyOf(disk),
  );
  const store = openFront(openInline(engine));
  return { names: (id) => waitingIn(store, id) };
}

function copyOf({ database }: Crashable) {
  const copy = openDatabase({ path: ":memory:" });
  for (const table of ["topics", "subscriptions", "journal", "openings"]) {
    copy.exec(`DELETE FROM ${table}`);
    for (const row of database.prepare(`SELECT * FROM ${table}`).all()) {
      const names = Object.keys(row);
      const marks = names.map(() => "?").join(", ");
      copy.prepare(`INSERT INTO ${table} (${names}) VALUES (${marks})`).run(...Object.values(row));
    }
  }
  return copy;
}

test("a record whose write failed is not read, although all of it may be there", () => {
  const file = openMemoryJournal();
  let isFailing = false;
  const journal = new Journal(
    {
      ...file,
      write(bytes, at) {
        file.write(bytes, at);
        if (!isFailing) return;
        isFailing = false;
        throw new Error("the sync failed");
      },
    },
    0,
  );
  journal.entries.clear();
  journal.write();
  isFailing = true;
  assert.throws(() => journal.write(), /the sync failed/);
  assert.equal(journal.read().records.length, 1);
  journal.write();
  assert.deepEqual([journal.read().records.length, journal.read().damage], [2, null]);
});

test("wherever the last record is torn, its round has not happened and the others have", async () => {
  const { id, disk, written } = await threeRounds();
  const [, , last] = written;
  disk.database.exec("COMMIT; BEGIN");
  for (let kept = 0; kept < last.bytes.length; kept += 3) {
    const { names } = await reopen(disk, (bytes) => {
      bytes.fill(0xee, last.at + kept);
      return bytes;
    });
    assert.deepEqual(await names(id), ["one", "two"], `${kept} bytes of it`);
    disk.database.exec("BEGIN");
  }
});

test("whichever bit of an earlier record is flipped, the store is not opened", async () => {
  const { id, disk, written } = await threeRounds();
  const [, middle] = written;
  disk.database.exec("COMMIT; BEGIN");
  for (let bit = 0; bit < middle.bytes.length * 8; bit += 37) {
    const flip = (bytes: Buffer) => {
      const at = middle.at + (bit >> 3);
      bytes[at] = (bytes[at] as number) ^ (1 << (bit & 7));
      return bytes;
    };
    await assert.rejects(
      reopen(disk, flip),
      (error) =>
        error instanceof Refusal &&
        error.code === "Unavailable" &&
        /journal .* is damaged: .*posthorn recover/.test(error.message),
      `bit ${bit}`,
    );
    disk.database.exec("BEGIN");
    const { names } = await reopen(disk, flip, true);
    assert.deepEqual(await names(id), ["one", "three"], `bit ${bit}`);
    disk.database.exec("BEGIN");
  }
});

test("a crash at any write of the journal loses nothing that was accepted", async () => {
  for (const share of [0, 0.5, 1]) {
    for (let n = 1; await crashAtWrite(n, share); n += 1) assert.ok(n < 500, "it never ends");
  }
});

/** Writes so much of the n-th record, and crashes. Returns whether there was one. */
async function crashAtWrite(n: number, share: number): Promise<boolean> {
  const memory = openMemoryJournal();
  // The first marks the file, without which there is no store.
  let writes = -1;
  let isDead = false;
  const journal: JournalFile = {
    ...memory,
    write(bytes, at) {
      writes += 1;
      if (writes !== n) return memory.write(bytes, at);
      memory.write(bytes.subarray(0, Math.floor(bytes.length * share)), at);
      isDead = true;
      throw new Error("crash");
    },
  };
  const disk = new Crashable(journal, 2_000);
  const books = new Books();
  let engine: SqliteEngine | null = null;
  const alive: Engine = {
    async run(ops) {
      if (isDead) {
        isDead = false;
        engine = null;
      }
      engine ??= disk.open();
      return engine.run(ops);
    },
    close: async () => {},
  };
  const store = openFront(alive);
  await liveADay(store, books);
  await drain(store, books);
  books.check("anywhere");
  disk.database.close();
  return writes >= n;
}

for (const failuresMax of [1, 25]) {
  const howOften = failuresMax === 1 ? "once" : `${failuresMax} times running`;
  test(`a journal that fails ${howOften} at any write loses nothing, and keeps nothing refused`, async () => {
    for (let n = 1; ; n += 1) {
      assert.ok(n < 500, "it never ends");
      const memory = openMemoryJournal();
      // The first marks the file, without which there is no store.
      let writes = -1;
      const journal: JournalFile = {
        ...memory,
        write(bytes, at) {
          writes += 1;
          if (writes < n || writes >= n + failuresMax) return memory.write(bytes, at);
          memory.write(bytes.subarray(0, bytes.length >> 1), at);
          throw Object.assign(new Error("no space left on device"), {
            ...{ code: "ENOSPC", errno: -28, syscall: "write" },
          });
        },
      };
      const disk = new Crashable(journal, 2_000);
      const store = openFront(openInline(disk.open()));
      const books = new Books();
      await liveADay(store, books);
      await drain(store, books);
      books.check("nowhere");
      await store.close();
      if (writes < n) return;
    }
  });
}

test("what is delivered at once leaves no row, and the journal does not grow", async (t) => {
  const { path, engine, store, id } = await openFile(t, 20_000);
  const text = "x".repeat(1_000);
  const queue = queueOf(id);
  await store.claim(queue, want({ max: 10 }));
  const pushed = new Set<number>();
  store.onWake(({ deliveries }) => {
    for (const delivery of deliveries) {
      pushed.add(delivery.id.event);
      void store.settle([gone(delivery)]);
    }
  });
  for (let count = 0; count < 200; count += 1) {
    await store.append([{ event: makeEvent(`e${count}`, { text }), to: [id] }], startAt);
    await store.claim(queue, want({ max: 10 }));
  }
  assert.equal(pushed.size, 200);
  assert.deepEqual(await store.counts(), []);
  assert.ok(statSync(journalPath(path)).size < 30_000);
  engine.close();
});

async function openFile(t: TestContext, journalBytesMax?: number) {
  const folder = new Folder();
  t.after(() => folder.remove());
  const path = join(folder.path, "0", "store.db");
  const options = { path, ...(journalBytesMax !== undefined && { journalBytesMax }) };
  const engine = new SqliteEngine(options);
  const store = openFront(openInline(engine));
  return { path, engine, store, id: await furnish(store) };
}

/** A store as a crash leaves it, with two events in its journal alone. */
async function leaveCrashed(t: TestContext) {
  const { path, id, ...first } = await openFile(t);
  first.engine.close();
  const engine = new SqliteEngine({ path });
  const store = openFront(openInline(engine));
  for (const name of ["one", "two"]) await store.append(routedTo([id], name), startAt);
  const journal = readFileSync(journalPath(path));
  const [file, log] = [readFileSync(path), readFileSync(`${path}-wal`)];
  engine.close();
  writeFileSync(journalPath(path), journal);
  writeFileSync(path, file);
  writeFileSync(`${path}-wal`, log);
  writeSeal(path, "journal");
  return { path, id };
}

async function reopened<T>(path: string, act: (store: FrontStore) => Promise<T>): Promise<T> {
  const store = openFront(openInline(new SqliteEngine({ path })));
  try {
    return await act(store);
  } finally {
    await store.close();
  }
}

test("a journal that was taken away is missed, and recovering goes on without it", async (t) => {
  const { path } = await leaveCrashed(t);
  rmSync(journalPath(path));
  assert.match(lookAtStore(path)?.verdict ?? "", /journal of the store, .* is missing/);
  assert.match(recoverStore(path, "1").why ?? "", /journal of the store, .* is missing/);
  assert.deepEqual(await reopened(path, (store) => store.counts()), []);
});

test("a damaged journal is found by the doctor, and recovering keeps the rest of it", async (t) => {
  const { path, id } = await leaveCrashed(t);
  const bytes = readFileSync(journalPath(path));
  const at = bytes.indexOf("one");
  bytes[at] = (bytes[at] as number) ^ 1;
  writeFileSync(journalPath(path), bytes);
  assert.match(lookAtStore(path, true)?.verdict ?? "", /^the journal is damaged: /);
  const { why, former, torn } = recoverStore(path, "1");
  assert.match(why ?? "", /^the journal is damaged: /);
  assert.ok(former !== null && existsSync(former));
  assert.deepEqual(torn, ["journal"]);
  assert.deepEqual(await reopened(path, (store) => waitingIn(store, id)), ["two"]);
  assert.equal(lookAtStore(path, true)?.verdict, "ok");
});

test("a store that lost its log is recovered with what its journal has", async (t) => {
  const { path, id } = await leaveCrashed(t);
  // Committed, but in the log alone.
  const log = await reopened(path, async (store) => {
    await store.putMemo("kind", "key", {});
    await store.append(routedTo([id], "three"), startAt);
    return [path, journalPath(path)].map((file) => ({ file, bytes: readFileSync(file) }));
  });
  for (const { file, bytes } of log) writeFileSync(file, bytes);
  rmSync(`${path}-wal`, { force: true });
  writeSeal(path, "journal");
  recoverStore(path, "1");
  assert.deepEqual(await reopened(path, (store) => waitingIn(store, id)), ["three"]);
});

test("what a crash left in a journal stays with its store when another replaces it", async (t) => {
  const { path, id } = await leaveCrashed(t);
  const elsewhere = await openFile(t);
  await elsewhere.store.append(routedTo([elsewhere.id], "other"), startAt);
  const copy = join(path, "..", "copy.db");
  await elsewhere.engine.backUp(copy, () => {});
  elsewhere.engine.close();
  const folder = join(path, "..");
  const { former } = restoreStore({ from: copy, folder, replaces: true, stamp: "1" });
  assert.deepEqual(await reopened(path, (store) => waitingIn(store, elsewhere.id)), ["other"]);
  const names = await reopened(former as string, (store) => waitingIn(store, id));
  assert.deepEqual(names, ["one", "two"]);
});
