// Harnesses for the PostgreSQL store: one server for all cases of a file, and a database for each.
// A crash is all its connections cut off.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { realClock } from "../../src/runtime/clock/real.ts";
import { usualRhythm } from "../../src/store/cluster/slot-keeper.ts";
import type { PostgresOptions } from "../../src/store/postgres/options.ts";
import { PostgresStore } from "../../src/store/postgres/store.ts";
import { parseTarget } from "../../src/store/postgres/target.ts";
import { type Postgres, startPostgres } from "../fixtures/postgres.ts";

let opened = 0;

export async function openPostgres(
  url: string,
  over: Partial<PostgresOptions> = {},
): Promise<PostgresStore> {
  const target = parseTarget(url, null);
  if (typeof target === "string") throw new Error(target);
  const broker = `broker-${++opened}`;
  const store = await PostgresStore.open({
    ...{ target, broker, clock: realClock(), elapsed: () => performance.now() },
    ...{ log: { fact: () => {} }, connectionsMax: 6, isNotifying: true, gatherMs: 0 },
    ...{ rhythm: usualRhythm, waitingCharsMax: 64 * 1024 * 1024 },
    ...over,
  });
  return store;
}

/** It takes whatever is free, and gives away at once. */
export async function serveAll(store: PostgresStore): Promise<void> {
  const served = Promise.withResolvers<void>();
  store.ownership.listen({
    gained: () => served.resolve(),
    release: () => Promise.resolve(),
    lost: () => {},
    loads: () => new Map(),
  });
  await served.promise;
}

/** One server for the tests of a file; each call opens a store on a database of its own. */
export function postgresHarness() {
  const enders: (() => unknown)[] = [];
  let server: Postgres | null = null;
  before(async () => {
    server = await startPostgres({ after: (act) => enders.push(act) });
  });
  after(async () => {
    for (const end of enders.toReversed()) await end();
  });
  return async (over: Partial<PostgresOptions> = {}) => {
    assert.ok(server);
    const { newDatabase, query } = server;
    const url = await newDatabase();
    const all: PostgresStore[] = [];
    const open = async () => {
      const store = await openPostgres(url, over);
      all.push(store);
      await serveAll(store);
      return store;
    };
    const store = await open();
    const name = new URL(url).pathname.slice(1);
    return {
      store,
      url,
      /** What psql prints for this. */
      query: (sql: string) => query(sql, name),
      async reopen() {
        await all.at(-1)?.abandon();
        // Nobody waits for a lease to end.
        await query("delete from posthorn.brokers", name);
        return await open();
      },
      async bodies() {
        const sql =
          "select (select count(*) from posthorn.events) + count(*) from posthorn.deliveries where body is not null";
        return Number(await query(sql, name));
      },
      async close() {
        for (const each of all) await each.close();
      },
    };
  };
}
