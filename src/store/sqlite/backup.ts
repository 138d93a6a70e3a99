// Restores the embedded store from a copy (copy.ts), and looks whether a store is whole.
//
// Both are for a stopped broker. The previous store is kept beside it. After a crash in the
// middle there is one store or the other under the store's name, never none or a part.

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
import { DatabaseSync } from "node:sqlite";
import type { StoreFacts } from "../../core/diagnosis.ts";
import { Refusal } from "../../core/refusal.ts";
import { makePrivateFile, makePrivateFolder } from "../private-files.ts";
import { isDamage } from "./database.ts";
import { SqliteEngine } from "./engine.ts";
import { hasJournal, journalPath, readJournal } from "./journal.ts";
import { migrations } from "./schema.ts";
import { hasLog, readSeal, readSealedJournal, whyBroken, writeSeal } from "./seal.ts";

export const storeFile = "store.db";

/**
 * Replaces the store of a data folder with a copy. Returns the path of the previous store; null:
 * there was none. Refusal: InvalidSetting, when the copy is not a complete store, or when the
 * folder's store is in use, or when there is one and `replaces` is false.
 */
export function restoreStore(given: {
  readonly from: string;
  readonly folder: string;
  readonly replaces: boolean;
  /** Makes the names of previous stores unique. */
  readonly stamp: string;
}): { readonly former: string | null } {
  const { from, folder, replaces, stamp } = given;
  checkCopy(from);
  const path = join(folder, storeFile);
  makePrivateFolder(folder);
  const isThere = existsSync(path);
  const former = isThere ? `${path}.before-${stamp}` : null;
  if (isThere && !replaces) {
    const words = `${path} exists already; add --replace to replace it and keep the old one beside it`;
    throw new Refusal("InvalidSetting", words);
  }
  if (former !== null) checkUnused(path, former);
  const draft = `${path}.part`;
  rmSync(draft, { force: true });
  makePrivateFile(draft);
  copyFileSync(from, draft);
  sync(draft);
  // The previous store gets a second name, so that there is one under the first at every moment.
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

/** For a store that no broker has open; null: there is none, or it is in use. */
export function lookAtStore(path: string, isDeep = false): StoreFacts | null {
  const broken = whyBroken(path);
  const versionKnown = migrations.length;
  if (broken !== null) return { path, verdict: broken, version: 0, versionKnown };
  if (!existsSync(path)) return null;
  const database = new DatabaseSync(path);
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; ROLLBACK");
    const check = isDeep ? "integrity_check" : "quick_check";
    const found = String(only(database, `PRAGMA ${check}`));
    const version = Number(only(database, "PRAGMA user_version"));
    const torn = found === "ok" ? journalDamage(path, database) : null;
    const verdict = torn === null ? found : `the journal is damaged: ${torn}`;
    return { path, verdict, version, versionKnown };
  } catch (error) {
    const verdict = error instanceof Error ? error.message : String(error);
    return /locked/.test(verdict) ? null : { path, verdict, version: 0, versionKnown };
  } finally {
    database.close();
  }
}

/** Of a store whose file is whole; null: none. */
export function journalDamage(path: string, database: DatabaseSync): string | null {
  const isThere = "SELECT count(*) FROM sqlite_schema WHERE name = 'journal'";
  const epoch = only(database, isThere) === 1 ? only(database, "SELECT epoch FROM journal") : 0;
  return readJournal(path, Number(epoch), readSealedJournal(path)).damage;
}

/** Refusal: InvalidSetting. */
function checkCopy(path: string): void {
  if (!existsSync(path) || !statSync(path).isFile()) {
    throw new Refusal("InvalidSetting", `there is no file ${path}`);
  }
  // Checking a copy must leave no files beside it.
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
 * Also takes what a crash has left in the store's log and in its journal into its file: it must not
 * get into another store. A damaged store keeps both for itself, under names of its own. Refusal:
 * InvalidSetting.
 */
function checkUnused(path: string, former: string): void {
  const damage = whyDamaged(path);
  if (damage === null && readSeal(path) === "journal" && hasJournal(path)) {
    new SqliteEngine({ path }).close();
    writeSeal(path, "closed");
  }
  if (damage !== null && hasLog(path)) renameSync(`${path}-wal`, `${former}-wal`);
  if (damage !== null && hasJournal(path)) renameSync(journalPath(path), journalPath(former));
  rmSync(journalPath(path), { force: true });
}

/** Refusal: InvalidSetting, while a broker uses it. */
function whyDamaged(path: string): string | null {
  const database = new DatabaseSync(path);
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; ROLLBACK");
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    return journalDamage(path, database);
  } catch (error) {
    if (isDamage(error)) return String(error);
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
