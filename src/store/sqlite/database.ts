// The embedded store's file: how it is opened, migrated and measured, and which of its errors are
// disk errors. The stories have a file of their own (story/statements.ts).

import { DatabaseSync } from "node:sqlite";
import { Refusal } from "../../core/refusal.ts";
import { makePrivateFile } from "../private-files.ts";
import { migrations } from "./schema.ts";

export interface SqliteOptions {
  /** A file, or `:memory:`. */
  readonly path: string;
  /** The file grows to at most this many pages of 4 KiB; beyond that the disk counts as full. */
  readonly pagesMax?: number;
}

export function openDatabase(options: SqliteOptions): DatabaseSync {
  const { path } = options;
  if (path !== ":memory:") makePrivateFile(path);
  const database = new DatabaseSync(path);
  try {
    // Can only be set before the first table is created.
    database.exec("PRAGMA auto_vacuum = INCREMENTAL");
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    database.exec("PRAGMA journal_mode = WAL");
    database.exec("PRAGMA synchronous = FULL");
    database.exec("PRAGMA cache_size = -16384");
    database.exec("PRAGMA wal_autocheckpoint = 4000");
    database.exec("PRAGMA temp_store = MEMORY");
    migrate(database, migrations, "The store is");
    if (options.pagesMax !== undefined) {
      database.exec(`PRAGMA max_page_count = ${options.pagesMax}`);
    }
    return database;
  } catch (error) {
    database.close();
    throw refuseUnopened(path, error);
  }
}

/**
 * What an error on opening is to whoever asked: a refusal if the disk or the file is to blame. Not
 * an invalid setting: the other broker may be about to stop, and trying again helps.
 */
export function refuseUnopened(path: string, error: unknown): unknown {
  if (!isDiskError(error)) return error;
  return new Refusal("Unavailable", whyNotOpened(path, error), { cause: error });
}

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const damageCodes: readonly number[] = [11, 26];

export function isDamage(error: unknown): boolean {
  return isDiskError(error) && damageCodes.includes(codeOf(error));
}

function whyNotOpened(path: string, error: Error): string {
  if (/locked/.test(error.message)) {
    return `The store ${path} is in use by another broker: stop it, or choose another folder with --data.`;
  }
  const { message } = error;
  if (!isDamage(error)) return `The store ${path} cannot be opened: ${message}.`;
  return (
    `The store ${path} is damaged: ${message}. posthorn doctor --deep shows what is wrong, ` +
    "posthorn restore FILE --replace puts a backup in its place, posthorn recover saves what can be read."
  );
}

export function migrate(database: DatabaseSync, steps: readonly string[], who: string): void {
  const version = pragma(database, "user_version");
  if (version > steps.length) {
    const known = `this release knows up to ${steps.length}`;
    throw new Refusal("InvalidSetting", `${who} of schema version ${version}; ${known}.`);
  }
  for (const [index, sql] of steps.entries()) {
    if (index < version) continue;
    database.exec(`BEGIN IMMEDIATE; ${sql}; PRAGMA user_version = ${index + 1}; COMMIT`);
  }
}

export function pragma(database: DatabaseSync, name: string): number {
  return Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0] as number;
}

/** SQLITE_ERROR, CONSTRAINT, MISMATCH, MISUSE and RANGE: the statement was wrong. */
const bugCodes: readonly number[] = [1, 19, 20, 21, 25];

/** SQLite's own errors are disk errors, except for a few; anything else is a bug of ours. */
export function isDiskError(error: unknown): error is Error {
  if (!(error instanceof Error) || !("code" in error) || !("errcode" in error)) return false;
  return error.code === "ERR_SQLITE_ERROR" && !bugCodes.includes(codeOf(error));
}

/** Without what SQLite adds for details. */
function codeOf(error: Error): number {
  return ((error as { errcode?: number }).errcode ?? 0) & 0xff;
}
