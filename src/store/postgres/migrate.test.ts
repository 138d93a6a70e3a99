import assert from "node:assert/strict";
import { test } from "node:test";
import type { Database } from "./database.ts";
import { migrate } from "./migrate.ts";

/** A database that says this of its tables and of itself; what is run in it is noted. */
function databaseOf({ version = 0, since = 0, server = 150_000 }) {
  const ran: string[] = [];
  const session = {
    async query({ text }: { readonly text: string }) {
      if (text.includes("to_regclass")) return [[true]];
      if (text.startsWith("select version")) return [[version, since, String(server)]];
      ran.push(text.trim());
      return [];
    },
  };
  const database = {
    ...session,
    transaction: (work: (s: typeof session) => unknown) => work(session),
  };
  return { ran, database: database as unknown as Database };
}

test("a server that is too old is refused in words, and nothing is made in it", async () => {
  const { ran, database } = databaseOf({ server: 120_022 });
  await assert.rejects(migrate(database, "posthorn"), {
    code: "InvalidSetting",
    message: "The database is PostgreSQL 12; Posthorn needs 13 or newer.",
  });
  assert.deepEqual(ran, []);
});

test("tables of the release before are brought up to date, and what they allow is kept", async () => {
  const { ran, database } = databaseOf({ version: 2, since: 1 });
  await migrate(database, "posthorn");
  assert.ok(ran.some((text) => text.startsWith("create table figures")));
  assert.ok(!ran.some((text) => text.startsWith("create table deliveries")));
  assert.equal(ran.at(-1), "update schema_version set version = $1, since = $2");
});

test("tables of a newer release are left as they are, or refused where it says so", async () => {
  const fine = databaseOf({ version: 900, since: 1 });
  await migrate(fine.database, "posthorn");
  assert.deepEqual(fine.ran, []);
  const { database } = databaseOf({ version: 900, since: 900 });
  await assert.rejects(migrate(database, "posthorn"), /newer release of Posthorn/);
});
