// The database of a torture run with several brokers, and what is done to it: a throw-away
// PostgreSQL of the machine's own binaries is killed, cut off, stalled and filled; of one that
// belongs to somebody only connections are ended, and everything is in a schema of its own.

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseTarget, type Target } from "../../src/core/text/connection-string.ts";
import { realClock } from "../../src/runtime/clock/real.ts";
import { Connection } from "../../src/store/postgres/connection.ts";
import { findPostgres, type Postgres, startPostgres } from "../fixtures/postgres.ts";
import { type PostgresProxy, startPostgresProxy } from "../fixtures/postgres-proxy.ts";
import type { Scope } from "../fixtures/scope.ts";
import { type Act, type Acts, untilDelivers } from "./acts.ts";
import { pause } from "./publishers.ts";

export interface Database {
  /** For the brokers. */
  readonly url: string;
  readonly acts: Acts;
}

/** Of a disk in memory that can be filled. */
const diskMegabytes = 1_024;
const ownSchema = "posthorn_torture";

/** A sentence: why there is none. */
export async function openDatabase(t: Scope, store: string): Promise<Database | string> {
  return store === "postgres" ? await openThrowAway(t) : await openSomebodys(t, store);
}

async function openThrowAway(t: Scope): Promise<Database | string> {
  if (findPostgres() === null) {
    return (
      "PostgreSQL is not installed here: apt install postgresql or dnf install postgresql-server; " +
      "or name a folder of its binaries in POSTHORN_TEST_POSTGRES, or a database in --store."
    );
  }
  // Only root has a disk that is full for nobody else.
  const small = await startPostgres(t, { diskMegabytes }).catch(() => null);
  const postgres = small ?? (await startPostgres(t));
  const proxy = await startPostgresProxy(t, postgres.port);
  const direct = await postgres.newDatabase();
  const url = proxy.through(direct);
  const acts = {
    ...actsOn(postgres, proxy),
    ...actsOnWords(postgres, new URL(direct).pathname.slice(1)),
    ...(small !== null && actsOnDisk(small)),
  };
  return { url, acts };
}

/** 503 is right while the database is away, and until every broker has seen it again. */
function away(times: number, act: (whole: (min: number, max: number) => number) => Promise<void>) {
  return {
    times,
    explains: [503],
    async run({ fleet, dice }) {
      await act((min, max) => dice.whole(min, max));
      await fleet.untilReady();
    },
  } satisfies Act;
}

function actsOn(postgres: Postgres, proxy: PostgresProxy): Acts {
  return {
    "database killed": away(2, async (whole) => {
      await postgres.kill();
      await pause(whole(100, 3_000));
      await postgres.start();
    }),
    "database restarted": away(1, async (whole) => {
      await postgres.stop("fast");
      await pause(whole(100, 1_000));
      await postgres.start();
    }),
    "connections cut": away(2, async (whole) => {
      proxy.cut();
      await pause(whole(1, 3_000));
      proxy.flow();
    }),
    "connections stalled": away(1, async (whole) => {
      proxy.stall();
      // A lease of a broker is six seconds.
      await pause(whole(500, 9_000));
      proxy.flow();
    }),
    "answers to commits lost": away(2, (whole) => proxy.loseAnswers(whole(1, 5))),
  };
}

/** Letters and notices to brokers that no broker wrote. */
const junk: readonly string[] = [
  ...["", "{", "null", "[]", "{}", '{"kind":"question"}', '{"kind":"answer","id":{}}'],
  ...['{"kind":"question","id":"x","from":"nobody","verb":"toString","order":null}'],
  ...[
    '{"kind":"refusal","id":"x","code":"toString","words":"no"}',
    "w1:NaN",
    "w1:x;;",
    "w9:9",
    "m",
  ],
  ...["c", "s", "w", "x".repeat(7_000)],
];

function actsOnWords(postgres: Postgres, database: string): Acts {
  return {
    "junk between brokers": {
      times: 2,
      explains: [],
      async run(stage) {
        const { dice } = stage;
        for (let count = dice.whole(1, 20); count > 0; count -= 1) {
          const text = `'${dice.pick(junk)}'`;
          await postgres.query(
            `insert into posthorn.mail (to_broker, text) select id, ${text} from posthorn.brokers;` +
              `select pg_notify('posthorn', ${text}), pg_notify('posthorn', 'm' || id),` +
              `pg_notify('posthorn ' || id, ${text}) from posthorn.brokers`,
            database,
          );
        }
        await untilDelivers(stage, "with junk between brokers");
      },
    },
  };
}

function actsOnDisk(postgres: Postgres): Acts {
  return {
    "database without room": away(1, async (whole) => {
      const ballast = join(postgres.folder, "ballast");
      try {
        writeFileSync(ballast, Buffer.alloc(diskMegabytes * 1_048_576));
      } catch {
        // That was the aim.
      }
      await pause(whole(500, 4_000));
      rmSync(ballast);
      // A server whose log had no room has ended itself; whoever runs it starts it again.
      await postgres.stop("immediate");
      await postgres.start();
    }),
  };
}

async function openSomebodys(t: Scope, store: string): Promise<Database | string> {
  const url = /[?&]schema=/.test(store)
    ? store
    : `${store}${store.includes("?") ? "&" : "?"}schema=${ownSchema}`;
  const password = process.env.POSTHORN_STORE_PASSWORD ?? process.env.PGPASSWORD ?? null;
  const target = parseTarget(url, password);
  if (typeof target === "string") return target;
  try {
    const holder = await ask(target, holders);
    const [schema] = holder[0] ?? [];
    if (schema !== undefined) {
      return (
        `The database ${target.database} holds a store of Posthorn, in the schema ${schema}. ` +
        "Name one that holds none: what a run makes is removed at its end."
      );
    }
  } catch (error) {
    return `The database cannot be asked: ${(error as Error).message}`;
  }
  t.after(() => ask(target, `drop schema if exists ${target.schema} cascade`));
  const cut = away(2, async () => void (await ask(target, endConnections)));
  return { url, acts: { "connections ended": cut } };
}

const holders = `
  select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relname = 'schema_version' and exists (
    select from pg_class d where d.relnamespace = n.oid and d.relname = 'deliveries')`;
/** Of brokers, by this user: there are no others in this database. */
const endConnections = `
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and usename = current_user
    and application_name like 'posthorn%' and pid <> pg_backend_pid()`;

// biome-ignore lint/suspicious/noExplicitAny: columns are what their statement says.
async function ask(target: Target, text: string): Promise<readonly any[][]> {
  const name = "torture";
  const connection = await Connection.open({ target, clock: realClock(), name, onEnd: () => {} });
  try {
    return await connection.query({ text });
  } finally {
    await connection.close();
  }
}
