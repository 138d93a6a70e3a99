// Bad settings and bad days: what cannot work is refused in a sentence without a password, and what
// is away is waited for.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { subscriptionDraft, topicDraft } from "../../../test/contract/fixture.ts";
import { type Postgres, startPostgres } from "../../../test/fixtures/postgres.ts";
import { Refusal } from "../../core/refusal.ts";
import { parseTarget } from "../../core/text/connection-string.ts";
import { realClock } from "../../runtime/clock/real.ts";
import { usualRhythm } from "../cluster/slot-keeper.ts";
import { type OpenOptions, openPostgresStore } from "./open.ts";
import type { PostgresStore } from "./store.ts";

interface Facts {
  readonly facts: string[];
}

async function open(
  t: TestContext,
  url: string,
  over: Partial<OpenOptions> & { readonly password?: string } = {},
): Promise<PostgresStore & Facts> {
  const target = parseTarget(url, over.password ?? null);
  assert.ok(typeof target !== "string");
  const facts: string[] = [];
  const log = { fact: (_: string, name: string) => void facts.push(name) };
  const store = await openPostgresStore({
    ...{ target, log, clock: realClock(), elapsed: () => performance.now(), broker: "b" },
    ...{ connectionsMax: 4, isNotifying: true, isUnsafeFine: false, gatherMs: 0 },
    ...{ rhythm: usualRhythm, waitingCharsMax: 1_000_000 },
    ...over,
  });
  t.after(() => store.close());
  return Object.assign(store, { facts });
}

async function refused(opening: Promise<unknown>, words: RegExp): Promise<void> {
  await assert.rejects(opening, (error) => {
    assert.ok(error instanceof Refusal, String(error));
    assert.equal(error.code, "InvalidSetting");
    assert.match(error.message, words);
    assert.doesNotMatch(error.message, /wrong-secret/);
    return true;
  });
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve));
}

test("a password is asked for and never shown, and a missing database is named", async (t) => {
  const server = await startPostgres(t, { login: "scram" });
  const url = await server.newDatabase();
  await refused(open(t, url, { password: "wrong-secret" }), /refuses the user 'posthorn'/);
  await refused(open(t, url), /refuses the user|store-password/);
  const { password } = server;
  await refused(open(t, server.url("nowhere"), { password }), /There is no database 'nowhere'/);
  assert.equal((await open(t, url, { password })).failure, null);
});

test("a server that may lose what was answered is refused, unless that is accepted", async (t) => {
  const server = await startPostgres(t, { settings: { synchronous_commit: "off" } });
  const url = await server.newDatabase();
  await refused(open(t, url), /synchronous_commit is off: .* --store-unsafe on/);
  const { facts } = await open(t, url, { isUnsafeFine: true });
  assert.ok(facts.includes("database.unsafe"));
});

test("a standby alone takes no writes, and beside its primary the primary is found", async (t) => {
  const server = await startPostgres(t);
  const url = await server.newDatabase();
  const standby = await server.addStandby();
  const database = new URL(url).pathname.slice(1);
  await refused(open(t, standby.url(database)), /takes no writes/);
  const both = `postgres://posthorn@127.0.0.1:${standby.port},127.0.0.1:${server.port}/${database}`;
  const store = await open(t, both);
  await store.putTopic(topicDraft());
});

test("tables of a newer release are refused unless it says that this one may go on", async (t) => {
  const server = await startPostgres(t);
  const url = await server.newDatabase();
  const database = new URL(url).pathname.slice(1);
  await (await open(t, url)).close();
  const set = (sql: string) => server.query(`update posthorn.schema_version set ${sql}`, database);
  await set("version = 900, since = 1");
  assert.equal((await open(t, url)).failure, null);
  await set("since = 900");
  await refused(open(t, url), /newer release of Posthorn .* version 900/);
});

test("brokers that start together make the tables once", async (t) => {
  const server = await startPostgres(t);
  const url = await server.newDatabase();
  const names = ["a", "b", "c"];
  const stores = await Promise.all(names.map((broker) => open(t, url, { broker })));
  await stores[0]?.putTopic(topicDraft());
  for (const store of stores) assert.equal((await store.catalog()).topics.length, 1);
});

test("a database that is away at the start is waited for", async (t) => {
  const server = await startPostgres(t);
  const url = await server.newDatabase();
  await server.stop();
  const awaited = Promise.withResolvers<void>();
  let isOver = false;
  const opening = open(t, url, {
    onAwait: async () => {
      awaited.resolve();
      return async () => {
        isOver = true;
      };
    },
  });
  await awaited.promise;
  await server.start();
  const { facts } = await opening;
  assert.ok(isOver);
  assert.equal(facts.filter((name) => name === "database.awaited").length, 1);
});

test("a database that goes away is said to be, and used again when it is back", async (t) => {
  const server: Postgres = await startPostgres(t);
  const store = await open(t, await server.newDatabase());
  await store.putTopic(topicDraft());
  await server.kill();
  await assert.rejects(store.putSubscription(subscriptionDraft()), (error) => {
    return error instanceof Refusal && error.code === "Unavailable" && error.retryAfterMs === 1_000;
  });
  await until(async () => {
    await store.notes("any").catch(() => {});
    return store.failure !== null;
  });
  await server.start();
  await until(() => store.failure === null);
  await store.putSubscription(subscriptionDraft());
  const seen = store.facts.filter((name) => name.startsWith("database."));
  assert.deepEqual(seen, ["database.away", "database.back"]);
});
