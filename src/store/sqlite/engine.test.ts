// The embedded store against the contract of every store, in memory and on a file, and what only it
// has: its file, schema, indexes and standing claims.

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import {
  Folder,
  openInMemory,
  openOnFile,
  openOnMemoryJournal,
} from "../../../test/contract/embedded.ts";
import {
  openFront,
  queueOf,
  routedTo,
  startAt,
  subscriptionDraft,
  topicDraft,
  want,
} from "../../../test/contract/fixture.ts";
import { storeContract } from "../../../test/contract/store.ts";
import type { Claim, Wake } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Catalog } from "../../core/registry.ts";
import { plainSubscription, termsIn } from "../../core/subscription.ts";
import { SqliteEngine } from "./engine.ts";
import { migrations } from "./schema.ts";
import { prepare } from "./statements.ts";
import { openInline } from "./thread.ts";

storeContract("the embedded store in memory", openInMemory);
storeContract("the embedded store in memory with a journal", openOnMemoryJournal);
storeContract("the embedded store on a file", openOnFile);

test("a file that another engine has open is refused in words", () => {
  const folder = new Folder();
  const engine = new SqliteEngine({ path: folder.file });
  assert.throws(
    () => new SqliteEngine({ path: folder.file }),
    refusal(/in use by another broker/, "Unavailable"),
  );
  engine.close();
  new SqliteEngine({ path: folder.file }).close();
  folder.remove();
});

test("a file of a newer schema is refused in words and left as it is", () => {
  const folder = new Folder();
  new SqliteEngine({ path: folder.file }).close();
  inFile(folder, (database) => database.exec("PRAGMA user_version = 99"));
  assert.throws(
    () => new SqliteEngine({ path: folder.file }),
    refusal(new RegExp(`schema version 99; this release knows up to ${migrations.length}`)),
  );
  assert.equal(inFile(folder, version), 99);
  folder.remove();
});

test("migrations run once", () => {
  const folder = new Folder();
  new SqliteEngine({ path: folder.file }).close();
  assert.equal(inFile(folder, version), migrations.length);
  const made = inFile(folder, schema);
  for (let opening = 2; opening < 5; opening++) new SqliteEngine({ path: folder.file }).close();
  assert.deepEqual(inFile(folder, schema), made);
  assert.equal(
    inFile(folder, (database) => database.prepare("SELECT count FROM openings").get()?.count),
    4,
  );
  folder.remove();
});

for (let known = 0; known < migrations.length; known++) {
  test(`a file of schema version ${known} is brought up to date`, () => {
    const folder = new Folder();
    inFile(folder, (database) => {
      for (const step of migrations.slice(0, known)) database.exec(step);
      database.exec(`PRAGMA user_version = ${known}`);
    });
    new SqliteEngine({ path: folder.file }).close();
    const fresh = new DatabaseSync(":memory:");
    for (const step of migrations) fresh.exec(step);
    assert.deepEqual(inFile(folder, schema), schema(fresh));
    assert.equal(inFile(folder, version), migrations.length);
    fresh.close();
    folder.remove();
  });
}

test("a subscription that an earlier release wrote has the defaults of what that did not know", () => {
  const folder = new Folder();
  const hook = { kind: "webhook", url: "http://endpoint.test/" } as const;
  const { splitOnFailure, signing, flow, pauses, ...early } = plainSubscription;
  const terms = termsIn({ ...plainSubscription, destination: hook });
  const { splitOnFailure: _, signing: __, ...pending } = terms;
  const times = { startedAt: 1, until: 2, allowedRate: null };
  const handshake = { code: "c", ...times, pending, exchanges: [] };
  const record = { ...early, destination: hook, topic: "t", name: "s", origin: "api", handshake };
  new SqliteEngine({ path: folder.file }).close();
  inFile(folder, (database) => {
    database.exec("INSERT INTO topics VALUES ('t', 1, '{\"name\":\"t\"}')");
    const add = database.prepare("INSERT INTO subscriptions VALUES (1, 't', 's', 1, ?)");
    add.run(JSON.stringify(record));
  });
  const engine = new SqliteEngine({ path: folder.file });
  const [answer] = engine.run([{ kind: "catalog" }]).answers;
  engine.close();
  const { subscriptions } = answer?.kind === "done" ? (answer.value as Catalog) : assert.fail();
  assert.deepEqual(subscriptions, [
    {
      ...record,
      ...{ splitOnFailure, signing, flow, pauses },
      handshake: { ...handshake, pending: terms },
      id: 1,
      revision: 1,
    },
  ]);
  folder.remove();
});

test("an event that was stored before there were trace contexts is claimed without one", () => {
  const folder = new Folder();
  inFile(folder, (database) => {
    for (const step of migrations.slice(0, 3)) database.exec(step);
    database.exec("INSERT INTO topics VALUES ('t', 1, '{\"name\":\"t\"}')");
    const record = JSON.stringify(subscriptionDraft({ topic: "t", name: "s" }));
    database.prepare("INSERT INTO subscriptions VALUES (1, 't', 's', 1, ?)").run(record);
    database.exec("INSERT INTO events VALUES (5, 'e', 't', 10, 'EventGridSchema', '', '{}', NULL)");
    const columns = "event, subscription, stage, due_at, since, attempts, fence";
    database.exec(`INSERT INTO deliveries (${columns}) VALUES (5, 1, 0, 10, 10, 0, 0)`);
    database.exec("PRAGMA user_version = 3");
  });
  const engine = new SqliteEngine({ path: folder.file });
  const queue = { subscription: 1, stage: "deliver" } as const;
  const [answer] = engine.run([{ kind: "claim", queue, want: want({ now: 20 }) }]).answers;
  engine.close();
  const { deliveries } = answer?.kind === "done" ? (answer.value as Claim) : assert.fail();
  assert.deepEqual(
    deliveries.map(({ event }) => [event.systemId, event.trace]),
    [["e", null]],
  );
  folder.remove();
});

test("a send of which an older store kept no number counts as so many as were made", () => {
  const folder = new Folder();
  inFile(folder, (database) => {
    for (const step of migrations.slice(0, 2)) database.exec(step);
    const add = database.prepare(
      "INSERT INTO deliveries VALUES (?, 1, ?, 0, 0, ?, 0, ?, 'Busy', 503, NULL)",
    );
    add.run(1, 0, 3, 10);
    add.run(2, 1, 0, 10);
    add.run(3, 0, 0, null);
    database.exec("PRAGMA user_version = 2");
  });
  new SqliteEngine({ path: folder.file }).close();
  const numbers = inFile(folder, (database) =>
    database.prepare("SELECT last_number FROM deliveries ORDER BY event").all(),
  );
  assert.deepEqual(
    numbers.map((row) => row.last_number),
    [3, 1, null],
  );
  folder.remove();
});

test("no statement scans deliveries or events, and only one sorts", () => {
  const database = new DatabaseSync(":memory:");
  for (const step of migrations) database.exec(step);
  const sorting: string[] = [];
  for (const [name, statement] of Object.entries(prepare(database))) {
    const plan = database
      .prepare(`EXPLAIN QUERY PLAN ${statement.sourceSQL}`)
      .all()
      .map(({ detail }) => String(detail));
    for (const detail of plan) {
      assert.doesNotMatch(detail, /SCAN (deliveries|events|[de])\b/, `${name}: ${detail}`);
      assert.doesNotMatch(detail, /AUTOMATIC/, `${name}: ${detail}`);
      if (detail.includes("TEMP B-TREE")) sorting.push(name);
    }
  }
  assert.deepEqual(sorting, ["waitingFew"]);
  database.close();
});

test("pages are the same however many wait", async () => {
  const { store, id, other } = await openStore();
  const names = Array.from({ length: 10_050 }, (_, index) => `e${index}`);
  const page = async (after: number) => await store.waiting(queueOf(id), { after, limit: 1000 });
  for (let from = 0; from < names.length; from += 5025) {
    await store.append(routedTo([other], "between"), startAt);
    // Later ones are due earlier, so that the order of events is not the order of the queue.
    const some = names.slice(from, from + 5025);
    await store.append(routedTo([id], ...some), startAt - from);
  }
  const seen: string[] = [];
  for (let after = 0; ; ) {
    const some = await page(after);
    if (some.length === 0) break;
    seen.push(...some.map(({ event }) => event.systemId));
    after = some.at(-1)?.id.event as number;
  }
  assert.deepEqual(seen, names);
  await store.close();
});

test("a standing claim is leased what is appended next, and is told of the rest", async () => {
  const { store, id, other } = await openStore();
  const wakes: Wake[] = [];
  store.onWake((wake) => wakes.push(wake));
  await store.claim(queueOf(id), want({ max: 3 }));
  await Promise.all([
    store.claim(queueOf(other), want({ max: 1 })),
    store.append(routedTo([other], "x"), startAt + 1),
    store.counts(),
    store.append([...routedTo([other], "y"), ...routedTo([id, other], "a")], startAt + 2),
    store.append(routedTo([id], "b", "c", "d"), startAt + 3),
  ]);
  const brought = wakes.map(({ queue, dueAt, deliveries }) => ({
    subscription: queue.subscription,
    dueAt,
    deliveries: deliveries.map((one) => [one.event.systemId, one.dueAt, one.leasedUntil]),
  }));
  const until = startAt + 60_000;
  assert.deepEqual(
    brought.toSorted((a, b) => a.subscription - b.subscription),
    [
      {
        subscription: id,
        dueAt: startAt + 2,
        deliveries: [
          ["a", startAt + 2, until + 2],
          ["b", startAt + 3, until + 3],
          ["c", startAt + 3, until + 3],
        ],
      },
      { subscription: id, dueAt: startAt + 3, deliveries: [] },
      { subscription: other, dueAt: startAt + 1, deliveries: [["x", startAt + 1, until + 1]] },
      { subscription: other, dueAt: startAt + 2, deliveries: [] },
    ],
  );
  const pushed = wakes.flatMap(({ deliveries }) => deliveries);
  const [stored] = await store.waiting(queueOf(id), { after: 0, limit: 1 });
  const [a] = pushed.filter((one) => one.id.subscription === id);
  assert.deepEqual(a, { ...stored, lease: a?.lease, leasedUntil: a?.leasedUntil });
  await store.close();
});

test("a store that is never idle drops what a removed subscription left", async () => {
  const { store, id, other } = await openStore();
  await store.append(routedTo([id], ...Array.from({ length: 900 }, (_, n) => `e${n}`)), startAt);
  let count: number | null = null;
  store.onDropped((_, dropped) => {
    count = dropped;
  });
  let appends = 0;
  const over = Promise.withResolvers<void>();
  store.onWake(() => {
    // Claimed before the round has ended, as a dispatcher does: something always waits.
    if (count !== null || appends > 100) over.resolve();
    else void store.append(routedTo([other], `busy-${appends++}`), startAt);
  });
  await store.removeSubscription(id);
  await store.append(routedTo([other], "first"), startAt);
  await over.promise;
  assert.equal(count, 900);
  await store.close();
});

test("an append for the same subscription twice is a bug, and not the disk's", () => {
  const engine = new SqliteEngine({ path: ":memory:" });
  engine.run([{ kind: "putTopic", draft: topicDraft(), revision: undefined }]);
  engine.run([{ kind: "putSubscription", draft: subscriptionDraft(), revision: undefined }]);
  const routed = routedTo([1, 1], "one");
  const append = { kind: "append", routed, now: startAt, by: undefined } as const;
  assert.throws(() => engine.run([append]), /UNIQUE/);
  const [answer] = engine.run([{ kind: "counts" }]).answers;
  assert.deepEqual(answer, { kind: "done", value: [] });
  engine.close();
});

async function openStore() {
  const store = openFront(openInline(new SqliteEngine({ path: ":memory:" })));
  await store.putTopic(topicDraft());
  const { id } = await store.putSubscription(subscriptionDraft());
  const { id: other } = await store.putSubscription(subscriptionDraft({ name: "other" }));
  return { store, id, other };
}

function inFile<T>(folder: Folder, look: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(folder.file);
  try {
    return look(database);
  } finally {
    database.close();
  }
}

function version(database: DatabaseSync): unknown {
  return database.prepare("PRAGMA user_version").get()?.user_version;
}

function schema(database: DatabaseSync): unknown[] {
  return database.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").all();
}

function refusal(words: RegExp, code = "InvalidSetting"): (error: unknown) => boolean {
  return (error) => error instanceof Refusal && error.code === code && words.test(error.message);
}
