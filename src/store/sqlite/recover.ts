// Saves what can be read of a damaged store, for a stopped broker. Rows are read in the order of
// their keys from both ends of each table until the damage stops them; they go into a new file,
// which takes the store's name when it is whole. The damaged one is kept beside it.
//
// What is saved is consistent: a delivery without its event is left out, because there is nothing
// to send, and so is an event without deliveries. Numbers continue above every number ever used.

import { copyFileSync, existsSync, linkSync, renameSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { Refusal } from "../../core/refusal.ts";
import { journalDamage } from "./backup.ts";
import { isDiskError, openDatabase } from "./database.ts";
import { numbersPerOpening, SqliteEngine } from "./engine.ts";
import { hasJournal, journalPath } from "./journal.ts";
import { hasLog, isEmpty, readSeal, removeSeal, whyBroken, writeSeal } from "./seal.ts";

export interface Recovery {
  /** What was found; null: the store is fine. */
  readonly why: string | null;
  /** Where the damaged store is now; null: the store was not replaced. */
  readonly former: string | null;
  /** Rows saved from each table. */
  readonly saved: Readonly<Record<string, number>>;
  /** Tables of which something could not be read. */
  readonly torn: readonly string[];
  /** Deliveries whose event could not be read. */
  readonly lost: number;
}

type Row = Readonly<Record<string, unknown>>;

/** Each table with its key. Counts that can be computed again are not read. */
const tables: Readonly<Record<string, readonly string[]>> = {
  openings: ["rowid"],
  topics: ["name"],
  subscriptions: ["id"],
  removals: ["subscription"],
  retired: ["id"],
  events: ["number"],
  deliveries: ["event", "subscription"],
  journal: ["rowid"],
  notes: ["kind", "key"],
  redriven: ["number"],
};

const rowsPerStep = 500;
const journalWords = "the journal is damaged: ";

/** `stamp` names the old store. Refusal: InvalidSetting, while a broker uses the store. */
export function recoverStore(path: string, stamp: string): Recovery {
  const nothing = { former: null, saved: {}, torn: [], lost: 0 };
  const missing = whyBroken(path);
  if (!existsSync(path) && readSeal(path) === null) {
    throw new Refusal("InvalidSetting", `there is no store ${path}`);
  }
  const found = existsSync(path) ? verdictOf(path) : "ok";
  if (found === "ok" || isEmpty(path)) {
    // What is missing is lost; the rest is complete. If there is nothing, a new store begins.
    if (isEmpty(path)) {
      if (hasJournal(path)) renameSync(journalPath(path), `${journalPath(path)}.damaged-${stamp}`);
      removeSeal(path);
    } else takeJournalIn(path);
    return { ...nothing, why: missing };
  }
  if (found.startsWith(journalWords)) {
    const former = `${journalPath(path)}.damaged-${stamp}`;
    copyFileSync(journalPath(path), former);
    takeJournalIn(path);
    return { ...nothing, why: found, former, torn: ["journal"] };
  }
  const draft = `${path}.part`;
  for (const ending of ["", "-wal", "-shm"]) rmSync(`${draft}${ending}`, { force: true });
  const from = openReadable(path);
  const into = openDatabase({ path: draft });
  let rest: Omit<Recovery, "why" | "former">;
  try {
    rest = saveRows(from, into);
  } finally {
    from.close();
    into.close();
  }
  const former = `${path}.damaged-${stamp}`;
  // The damaged store gets a second name, so that there is one under the first at every moment. Its
  // log must not be read into the new one.
  linkSync(path, former);
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${former}-wal`);
  renameSync(draft, path);
  takeJournalIn(path);
  return { ...rest, why: found, former };
}

/** As much of it as can be read; then the store is closed in good order. */
function takeJournalIn(path: string): void {
  if (hasJournal(path)) new SqliteEngine({ path, isSalvage: true }).close();
  writeSeal(path, "closed");
}

/** `ok`, or SQLite's first finding. Refusal: InvalidSetting, while a broker uses the store. */
function verdictOf(path: string): string {
  const database = new DatabaseSync(path);
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; ROLLBACK");
    const row = database.prepare("PRAGMA integrity_check(1)").get() ?? {};
    const verdict = String(Object.values(row)[0]);
    const torn = verdict === "ok" ? journalDamage(path, database) : null;
    return torn === null ? verdict : `${journalWords}${torn}`;
  } catch (error) {
    if (!isDiskError(error)) throw error;
    if (!/locked/.test(error.message)) return error.message;
    throw new Refusal("InvalidSetting", `${path} is in use; stop the broker first`);
  } finally {
    database.close();
  }
}

/** An unreadable log must not prevent the file from being read. */
function openReadable(path: string): DatabaseSync {
  if (hasLog(path)) {
    const database = new DatabaseSync(path);
    try {
      database.exec("PRAGMA locking_mode = EXCLUSIVE; SELECT count(*) FROM sqlite_schema");
      return database;
    } catch {
      database.close();
    }
  }
  return new DatabaseSync(`file:${encodeURI(path)}?immutable=1`, { readOnly: true });
}

function saveRows(from: DatabaseSync, into: DatabaseSync) {
  const saved: Record<string, number> = {};
  const torn: string[] = [];
  into.exec("BEGIN; DELETE FROM openings; DELETE FROM journal");
  for (const [table, key] of Object.entries(tables)) {
    saved[table] = 0;
    const isWhole = readRows(from, { table, key }, (row) => {
      const names = Object.keys(row).filter((name) => name !== "rowid");
      const marks = names.map(() => "?").join(", ");
      const sql = `INSERT OR IGNORE INTO ${table} (${names.join(", ")}) VALUES (${marks})`;
      const values = names.map((name) => row[name] as string | number | null);
      saved[table] = (saved[table] ?? 0) + Number(into.prepare(sql).run(...values).changes);
    });
    if (!isWhole) torn.push(table);
  }
  const orphans = "DELETE FROM deliveries WHERE event NOT IN (SELECT number FROM events)";
  const lost = Number(into.prepare(orphans).run().changes);
  into.exec("DELETE FROM events WHERE number NOT IN (SELECT event FROM deliveries)");
  into.exec(
    `INSERT INTO counts SELECT subscription, stage, count(*) FROM deliveries GROUP BY 1, 2`,
  );
  renumber(into);
  into.exec("INSERT INTO journal SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM journal)");
  into.exec("COMMIT");
  return { saved, torn, lost };
}

/** Above every number of an event or a lease, also when the counter itself is lost. */
function renumber(into: DatabaseSync): void {
  const counted = into.prepare("SELECT max(count) AS at FROM openings").get()?.at ?? 0;
  const used = into
    .prepare(
      `SELECT max(coalesce((SELECT max(number) FROM events), 0),
                  coalesce((SELECT max(fence) FROM deliveries), 0)) AS at`,
    )
    .get()?.at;
  const count = Math.max(Number(counted), Math.floor(Number(used) / numbersPerOpening)) + 1;
  into.exec("DELETE FROM openings");
  into.prepare("INSERT INTO openings VALUES (?)").run(count);
}

/** Whether all of the table could be read. */
function readRows(
  from: DatabaseSync,
  { table, key }: { readonly table: string; readonly key: readonly string[] },
  take: (row: Row) => void,
): boolean {
  const names = key.join(", ");
  const columns = key.includes("rowid") ? "rowid, *" : "*";
  const walk = (isUp: boolean): boolean => {
    let after: readonly unknown[] | null = null;
    let limit = rowsPerStep;
    for (;;) {
      const bound: string =
        after === null ? "" : `WHERE (${names}) ${isUp ? ">" : "<"} (${after.map(() => "?")})`;
      const order = key.map((name) => `${name} ${isUp ? "ASC" : "DESC"}`).join(", ");
      const sql: string = `SELECT ${columns} FROM ${table} ${bound} ORDER BY ${order} LIMIT ${limit}`;
      let rows: readonly Row[];
      try {
        rows = from.prepare(sql).all(...((after ?? []) as (string | number)[])) as Row[];
      } catch (error) {
        if (!isDiskError(error) && !/no such table/.test(String(error))) throw error;
        // One by one up to the damage.
        if (limit === 1) return false;
        limit = 1;
        continue;
      }
      for (const row of rows) take(row);
      const last = rows.at(-1);
      if (last === undefined || rows.length < limit) return true;
      after = key.map((name) => last[name]);
    }
  };
  if (walk(true)) return true;
  walk(false);
  return false;
}
