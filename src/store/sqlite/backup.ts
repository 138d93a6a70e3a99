// A copy of the embedded store while it is in use, and putting one in the place of a store.
//
// The copy is made by SQLite itself, a few pages at a time. It brings pages that change meanwhile
// up to date: when it is done it is the store as of that moment, whole. It appears under its name
// only then. Rounds are run between two steps and never during one: SQLite refuses a step while a
// transaction is open, and Node reports a first step that was refused as "not an error".
//
// Restoring is for a broker that is not running. What was there before is kept beside it. A crash
// in the middle leaves the one store or the other under the store's name, never none or a part.

import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import type { StoreFacts } from "../../core/diagnosis.ts";
import { Refusal } from "../../core/refusal.ts";
import { makePrivateFile, makePrivateFolder } from "../private-files.ts";
import { isDamage } from "./database.ts";
import { migrations } from "./schema.ts";
import { hasLog, whyBroken, writeSeal } from "./seal.ts";

/** Two megabytes at a time: rounds wait for no more than that. */
const pagesPerStep = 512;

export const storeFile = "store.db";

/**
 * `betweenSteps` is the only time until the copy is made at which the database may be written to;
 * when it throws, there is no copy.
 */
export async function copyStore(
  database: DatabaseSync,
  path: string,
  betweenSteps: () => void,
): Promise<void> {
  const draft = `${path}.part`;
  rmSync(draft, { force: true });
  makePrivateFile(draft);
  try {
    await backup(database, draft, { rate: pagesPerStep, progress: betweenSteps });
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Puts a copy in the place of the store of a data folder. Answers with where the former store is
 * now; null: there was none. Refusal: InvalidSetting, when the copy is no whole store, or when the
 * folder's store is in use, or when it is there and `replaces` is false.
 */
export function restoreStore(given: {
  readonly from: string;
  readonly folder: string;
  readonly replaces: boolean;
  /** Told apart from former ones by this. */
  readonly stamp: string;
}): { readonly former: string | null } {
  const { from, folder, replaces, stamp } = given;
  checkCopy(from);
  const path = join(folder, storeFile);
  makePrivateFolder(folder);
  const isThere = existsSync(path);
  const former = isThere ? `${path}.before-${stamp}` : null;
  if (isThere && !replaces) {
    const words = `${path} is there already; add --replace to keep it beside the restored one`;
    throw new Refusal("InvalidSetting", words);
  }
  if (former !== null) checkUnused(path, former);
  const draft = `${path}.part`;
  rmSync(draft, { force: true });
  makePrivateFile(draft);
  copyFileSync(from, draft);
  sync(draft);
  // The former store gets a second name, so that there is one under the first at every moment.
  if (former !== null) linkSync(path, former);
  renameSync(draft, path);
  sync(folder);
  writeSeal(path, "closed");
  return { former };
}

/** After this it survives a power cut. */
function sync(path: string): void {
  const file = openSync(path, "r");
  fsyncSync(file);
  closeSync(file);
}

/**
 * Of a store that no broker has open; null: there is none, or it is in use. `isDeep`: every page
 * and every index is compared, which takes as long as reading the file.
 */
export function lookAtStore(path: string, isDeep = false): StoreFacts | null {
  const broken = whyBroken(path);
  const versionKnown = migrations.length;
  if (broken !== null) return { path, verdict: broken, version: 0, versionKnown };
  if (!existsSync(path)) return null;
  const database = new DatabaseSync(path);
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; ROLLBACK");
    const check = isDeep ? "integrity_check" : "quick_check";
    const verdict = String(only(database, `PRAGMA ${check}`));
    const version = Number(only(database, "PRAGMA user_version"));
    return { path, verdict, version, versionKnown };
  } catch (error) {
    const verdict = error instanceof Error ? error.message : String(error);
    return /locked/.test(verdict) ? null : { path, verdict, version: 0, versionKnown };
  } finally {
    database.close();
  }
}

/** Refusal: InvalidSetting. */
function checkCopy(path: string): void {
  if (!existsSync(path) || !statSync(path).isFile()) {
    throw new Refusal("InvalidSetting", `there is no file ${path}`);
  }
  // Looking at a copy must leave nothing beside it.
  const database = new DatabaseSync(`file:${encodeURI(path)}?immutable=1`, { readOnly: true });
  try {
    const verdict = only(database, "PRAGMA integrity_check");
    const version = Number(only(database, "PRAGMA user_version"));
    const isStore = only(database, "SELECT count(*) FROM sqlite_schema WHERE name = 'deliveries'");
    if (verdict !== "ok" || isStore !== 1) throw refuseCopy(path);
    if (version > migrations.length) {
      const words = `${path} was written by a newer release; this one knows up to schema version`;
      throw new Refusal("InvalidSetting", `${words} ${migrations.length}, and it is ${version}`);
    }
  } catch (error) {
    throw error instanceof Refusal ? error : refuseCopy(path, error);
  } finally {
    database.close();
  }
}

function refuseCopy(path: string, cause?: unknown): Refusal {
  const words = `${path} is not a whole copy of a store`;
  return new Refusal("InvalidSetting", words, cause === undefined ? {} : { cause });
}

/**
 * Also takes what a crash has left in the store's log into its file: it must not be read into
 * another store. A damaged store keeps its log for itself, under a name of its own. Refusal:
 * InvalidSetting.
 */
function checkUnused(path: string, former: string): void {
  const database = new DatabaseSync(path);
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; ROLLBACK");
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (error) {
    if (isDamage(error)) {
      if (hasLog(path)) renameSync(`${path}-wal`, `${former}-wal`);
      return;
    }
    if (!(error instanceof Error && /locked/.test(error.message))) throw error;
    throw new Refusal("InvalidSetting", `${path} is in use; stop the broker first`, {
      cause: error,
    });
  } finally {
    database.close();
  }
}

function only(database: DatabaseSync, sql: string): unknown {
  return Object.values(database.prepare(sql).get() ?? {})[0];
}
