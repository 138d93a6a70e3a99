import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import {
  due,
  gone,
  makeEvent,
  openFront,
  queueOf,
  routedTo,
  startAt,
  subscriptionDraft,
  topicDraft,
  want,
} from "../../../test/contract/fixture.ts";
import { type Postgres, startPostgres } from "../../../test/fixtures/postgres.ts";
import { homeSlot } from "../../core/cluster/slot.ts";
import { Refusal } from "../../core/refusal.ts";
import { parseTarget, type Target } from "../../core/text/connection-string.ts";
import { Database } from "../postgres/database.ts";
import { storeFile } from "../sqlite/backup.ts";
import { SqliteEngine } from "../sqlite/engine.ts";
import { openInline } from "../sqlite/thread.ts";
import { type EmbeddedTable, embeddedTables } from "./embedded-side.ts";
import { moveToCluster, moveToFolder, type Place } from "./move.ts";

const clock = {
  now: () => Date.now(),
  after(ms: number, act: () => void) {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
};

async function openPlaces(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-move-"));
  const postgres = await startPostgres(t);
  const target = parseTarget(await postgres.newDatabase(), null) as Target;
  const log = { fact: () => {} };
  const database = new Database({ target, clock, log, connectionsMax: 2, name: "move" });
  t.after(async () => {
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const place = (name: string): Place => ({
    ...{ folder: join(folder, name), database, schema: target.schema },
  });
  return { postgres, place };
}

/** A store with some of everything. */
async function fill({ folder }: Place): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const store = openFront(openInline(new SqliteEngine({ path: join(folder, storeFile) })));
  await store.putTopic(topicDraft({ name: "Orders" }));
  await store.putTopic(topicDraft({ name: "empty" }));
  const one = await store.putSubscription(subscriptionDraft());
  const other = await store.putSubscription(
    subscriptionDraft({ name: "other", domainTopic: "inner" }),
  );
  const old = await store.putSubscription(subscriptionDraft({ name: "old" }));
  const both = [one.id, other.id];
  await store.append(routedTo(both, "a", "b", "c"), startAt);
  const trace = { parent: "00-1-2-01", state: "x=y" };
  const odd = makeEvent("d", { trace, hops: 3, envelope: '{"id":"d"}', text: '{"ü":"\\u0000"}' });
  await store.append([{ event: odd, to: [one.id] }], startAt);
  await store.append(routedTo([old.id], "e"), startAt);
  const { deliveries } = await store.claim(queueOf(one.id), want());
  const [first, second, third] = deliveries;
  assert.ok(first && second && third);
  await store.settle([
    gone(first),
    due(second, { attempts: 4 }),
    due(third, { stage: "deadLetter" }),
  ]);
  const retired = await store.claim(queueOf(old.id), want());
  await store.settle(retired.deliveries.map((each) => due(each, { stage: "deadLetter" })));
  await store.removeSubscription(old.id);
  await store.putMemo("closure", "http://127.0.0.1:9/hook", { by: "me" });
  await store.noteRedriven([{ key: "letter", times: 2 }]);
  await store.close();
}

/** Every row of every table that is moved. */
function dump({ folder }: Place): object {
  const database = new DatabaseSync(join(folder, storeFile));
  const all = Object.entries(embeddedTables).map(([table, { columns, key }]) => {
    const text = `SELECT ${columns.join(", ")} FROM ${table} ORDER BY ${key.join(", ")}`;
    return [
      table,
      database
        .prepare(text)
        .all()
        .map((row) => ({ ...row })),
    ];
  });
  database.close();
  return Object.fromEntries(all) as Record<EmbeddedTable, object[]>;
}

async function inUse(postgres: Postgres, url: string): Promise<void> {
  await postgres.query(
    `insert into posthorn.brokers (id, seen_at, alive_until, loads, about)
     values ('b1', now(), now() + interval '1 hour', '[]', '{}')`,
    url,
  );
}

test("everything is moved there and back, and is the same", async (t) => {
  const { place } = await openPlaces(t);
  const [here, back] = [place("here"), place("back")];
  await fill(here);
  const counts = { topics: 2, subscriptions: 2, retired: 1, events: 5, memos: 1, redriven: 1 };
  assert.deepEqual(await moveToCluster(here), { ...counts, deliveries: 7 });
  assert.deepEqual(await moveToFolder(back), { ...counts, deliveries: 7 });
  assert.deepEqual(dump(back), dump(here));

  const store = openFront(openInline(new SqliteEngine({ path: join(back.folder, storeFile) })));
  const { subscriptions } = await store.catalog();
  const [one] = subscriptions;
  assert.ok(one);
  const { deliveries } = await store.claim(queueOf(one.id), want({ now: startAt + 60_000 }));
  assert.deepEqual(deliveries.map(({ event, attempts }) => [event.systemId, attempts]).toSorted(), [
    ["b", 4],
    ["d", 0],
  ]);
  const [number] = (await store.append(routedTo([one.id], "new"), startAt)) as number[];
  assert.ok((number ?? 0) > Math.max(...deliveries.map(({ id }) => id.event)), "a new number");
  await store.close();
});

test("a lock of a receiver is moved along, and pull queues are at home in slots of their own", async (t) => {
  const { place } = await openPlaces(t);
  const [here, back] = [place("here"), place("back")];
  mkdirSync(here.folder, { recursive: true });
  const openHere = ({ folder }: Place) =>
    openFront(openInline(new SqliteEngine({ path: join(folder, storeFile) })));
  const store = openHere(here);
  await store.putTopic(topicDraft());
  const destination = { kind: "pull", lockMs: 60_000 } as const;
  const names = ["one", "two", "three", "four"];
  const ids: number[] = [];
  for (const name of names) {
    ids.push((await store.putSubscription(subscriptionDraft({ name, destination }))).id);
  }
  const [id] = ids as [number];
  await store.append(routedTo([id], "a", "b"), startAt);
  const asked = { max: 1, charsMax: 1_000, now: startAt, lockMs: 60_000, attemptsMax: 3 };
  const more = { lastReason: "why", expiredSince: startAt - 1_000 };
  const [locked] = (await store.receive(id, { ...asked, ...more })).deliveries;
  assert.ok(locked);
  await store.close();
  await moveToCluster(here);
  const rows = await here.database.query({
    text: "select slot, record from posthorn.subscriptions",
  });
  const slots = rows.map(([slot, record]) => [slot, homeSlot(JSON.parse(record))]);
  for (const [slot, home] of slots) assert.equal(slot, home);
  await moveToFolder(back);
  const moved = openHere(back);
  const acknowledged = { ...gone(locked), lockedAt: startAt + 1 };
  assert.deepEqual(await moved.settle([acknowledged]), [true]);
  await moved.close();
});

test("a side that is in use, or has a store already, is refused in words", async (t) => {
  const { postgres, place } = await openPlaces(t);
  const here = place("here");
  await assert.rejects(moveToCluster(here), refusedWith(/there is no store/));
  await fill(here);

  const engine = new SqliteEngine({ path: join(here.folder, storeFile) });
  await assert.rejects(moveToCluster(here), refusedWith(/in use by another broker/));
  engine.close();

  await moveToCluster(here);
  await assert.rejects(moveToCluster(here), refusedWith(/has a store already \(2 topics/));
  await assert.rejects(moveToFolder(here), refusedWith(/has a store already/));

  await inUse(postgres, "test_0");
  await assert.rejects(moveToFolder(place("back")), refusedWith(/in use by b1: stop every broker/));
  await assert.rejects(moveToCluster(here), refusedWith(/in use by b1/));
});

test("many rows are moved in pages", async (t) => {
  const { place } = await openPlaces(t);
  const [here, back] = [place("here"), place("back")];
  await fill(here);
  const path = join(here.folder, storeFile);
  const store = openFront(openInline(new SqliteEngine({ path })));
  const ids = (await store.catalog()).subscriptions.map(({ id }) => id);
  for (let page = 0; page < 5; page++) {
    const names = Array.from({ length: 500 }, (_, index) => `many-${page}-${index}`);
    await store.append(routedTo(ids, ...names), startAt);
  }
  await store.close();
  assert.equal((await moveToCluster(here)).deliveries, 7 + 5_000);
  await moveToFolder(back);
  assert.deepEqual(dump(back), dump(here));
});

function refusedWith(words: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof Refusal && words.test(error.message);
}
