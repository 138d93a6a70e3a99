// Makes the tables and brings them up to date, one broker at a time: the others wait for its row. A
// database that a newer release has changed so that this one could not use it is refused.

import { Refusal } from "../../core/refusal.ts";
import { codeOf } from "./connection.ts";
import type { Database, Session } from "./database.ts";
import { steps } from "./schema.ts";

export const postgresVersionMin = 130_000;

/** Refusal: InvalidSetting, when this release cannot use the database. */
export async function migrate(database: Database, schema: string): Promise<void> {
  await prepare(database, schema);
  await database.transaction(async (session) => {
    const [row] = await session.query({
      text: "select version, since, current_setting('server_version_num') from schema_version for update",
    });
    const [version, since, server] = row as [number, number, string];
    checkServer(Number(server));
    if (since > steps.length) {
      throw refuse(
        `The database was made by a newer release of Posthorn (its tables are of version ${version}, ` +
          `and this release knows ${steps.length}). Use that release, or another database.`,
      );
    }
    if (version >= steps.length) return;
    for (const step of steps.slice(version)) await run(session, step.text);
    const last = steps.at(-1)?.since ?? 1;
    await session.query({ text: "update schema_version set version = $1, since = $2" }, [
      ...[steps.length, Math.max(since, last)],
    ]);
  });
}

/** Of several that begin at once, all but one may fail here, and find it done the next time. */
async function prepare(database: Database, schema: string): Promise<void> {
  for (let tried = 1; ; tried++) {
    try {
      const [found] = await database.query({ text: "select to_regclass($1) is not null" }, [
        `${schema}.schema_version`,
      ]);
      if (found?.[0] === true) return;
      await database.transaction(async (session) => {
        await run(session, `create schema if not exists ${schema}`);
        await run(
          session,
          `create table if not exists schema_version (
             one boolean primary key default true check (one),
             version int4 not null, since int4 not null)`,
        );
        await run(session, "insert into schema_version values (true, 0, 0) on conflict do nothing");
      });
      return;
    } catch (error) {
      const isRace = ["23505", "42P07", "42P06", "XX000"].includes(codeOf(error));
      if (codeOf(error) === "42501") {
        throw refuse(
          "The database's user may not create tables. Let it: grant create on database … to …",
        );
      }
      if (!isRace || tried === 5) throw error;
    }
  }
}

function checkServer(version: number): void {
  if (version >= postgresVersionMin) return;
  const major = Math.floor(version / 10_000);
  throw refuse(`The database is PostgreSQL ${major}; Posthorn needs 13 or newer.`);
}

/** Statements one after the other; none of them has a semicolon inside. */
async function run(session: Session, text: string): Promise<void> {
  const plain = text.replace(/^\s*--.*$/gm, "");
  for (const statement of plain.split(";")) {
    if (statement.trim() !== "") await session.query({ text: statement });
  }
}

function refuse(words: string): Refusal {
  return new Refusal("InvalidSetting", words, { target: "store" });
}
