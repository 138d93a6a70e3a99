// The embedded store as one side of a move: its rows, read in pages, or a new file made of rows.
// Its lock keeps brokers out meanwhile.

import { existsSync, renameSync, rmSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { Refusal } from "../../core/refusal.ts";
import { makePrivateFolder } from "../private-files.ts";
import { storeFile } from "../sqlite/backup.ts";
import { openDatabase } from "../sqlite/database.ts";
import { numbersPerOpening } from "../sqlite/engine.ts";
import { whyBroken, writeSeal } from "../sqlite/seal.ts";
import { type MoveCounts, pageRows } from "./counts.ts";

export type SqlValue = string | number | null;
export type SqlRecord = Record<string, SqlValue>;

/** The tables that are moved, with their columns and their keys. */
export const embeddedTables = {
  topics: { columns: ["name", "revision", "record"], key: ["name"] },
  subscriptions: { columns: ["id", "topic", "name", "revision", "record"], key: ["id"] },
  retired: { columns: ["id", "revision", "record"], key: ["id"] },
  removals: { columns: ["subscription", "dropped"], key: ["subscription"] },
  notes: { columns: ["kind", "key", "record"], key: ["kind", "key"] },
  redriven: { columns: ["number", "key", "times"], key: ["number"] },
  events: {
    columns: [
      ...["number", "system_id", "topic", "published_at", "schema", "data_version", "text"],
      ...["envelope", "trace_parent", "trace_state", "hops"],
    ],
    key: ["number"],
  },
  deliveries: {
    columns: [
      ...["event", "subscription", "stage", "due_at", "since", "attempts", "fence"],
      ...["last_at", "last_outcome", "last_status", "last_number", "reason"],
    ],
    key: ["event", "subscription"],
  },
} as const;
export type EmbeddedTable = keyof typeof embeddedTables;

/** Refusals: InvalidSetting, when there is none or it is broken; Unavailable, while it is used. */
export function openEmbedded(folder: string): DatabaseSync {
  const path = `${folder}/${storeFile}`;
  if (!existsSync(path)) throw new Refusal("InvalidSetting", `there is no store ${path}`);
  const why = whyBroken(path);
  if (why !== null) throw new Refusal("InvalidSetting", why);
  return openDatabase({ path });
}

/** In the order of their keys. */
export function* pagesOf(database: DatabaseSync, table: EmbeddedTable): Generator<SqlRecord[]> {
  const { columns, key } = embeddedTables[table];
  const names = key.join(", ");
  let after: SqlValue[] | null = null;
  for (;;) {
    const bound: string = after === null ? "" : `WHERE (${names}) > (${key.map(() => "?")})`;
    const text = `SELECT ${columns.join(", ")} FROM ${table} ${bound} ORDER BY ${names} LIMIT ${pageRows}`;
    const rows = database.prepare(text).all(...(after ?? [])) as SqlRecord[];
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    after = key.map((name) => last[name] ?? null);
  }
}

export function countEmbedded(database: DatabaseSync): MoveCounts {
  const count = (table: EmbeddedTable) =>
    Number(database.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.rows);
  return {
    topics: count("topics"),
    subscriptions: count("subscriptions"),
    retired: count("retired"),
    events: count("events"),
    deliveries: count("deliveries"),
    memos: count("notes"),
    redriven: count("redriven"),
  };
}

export interface Draft {
  add(table: EmbeddedTable, rows: readonly SqlRecord[]): void;
  counts(): MoveCounts;
  /** The store is there, whole, or not at all. */
  finish(): void;
  abandon(): void;
}

/** Refusal: InvalidSetting, when the folder has a store. */
export function draftEmbedded(folder: string): Draft {
  const path = `${folder}/${storeFile}`;
  if (existsSync(path)) {
    throw new Refusal("InvalidSetting", `${folder} has a store already; name another folder`);
  }
  makePrivateFolder(folder);
  const draft = `${path}.part`;
  const remove = () => {
    for (const ending of ["", "-wal", "-shm"]) rmSync(`${draft}${ending}`, { force: true });
  };
  remove();
  const database = openDatabase({ path: draft });
  database.exec("BEGIN");
  return {
    add(table, rows) {
      const { columns } = embeddedTables[table];
      const marks = columns.map(() => "?").join(", ");
      const add = database.prepare(
        `INSERT OR IGNORE INTO ${table} (${columns.join(", ")}) VALUES (${marks})`,
      );
      for (const row of rows) add.run(...columns.map((name) => row[name] ?? null));
    },
    counts: () => countEmbedded(database),
    finish() {
      database.exec(
        "INSERT INTO counts SELECT subscription, stage, count(*) FROM deliveries GROUP BY 1, 2",
      );
      const used = `SELECT max(coalesce((SELECT max(number) FROM events), 0),
        coalesce((SELECT max(fence) FROM deliveries), 0)) AS at`;
      const last = database.prepare(used).get()?.at;
      // Numbers go on above every number that was ever used.
      const openings = Math.floor(Number(last) / numbersPerOpening) + 1;
      database.prepare("UPDATE openings SET count = ?").run(openings);
      database.exec("COMMIT");
      database.close();
      renameSync(draft, path);
      writeSeal(path, "closed");
    },
    abandon() {
      database.close();
      remove();
    },
  };
}
