// Every SQL statement of the stories, by name, and how the file is opened. Each lookup uses an
// index; only a search may scan, up to a limit.

import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type { DeliveryState } from "../../core/api/views.ts";
import { Refusal } from "../../core/refusal.ts";
import { type EventQuery, statesOf } from "../../core/story/chronicle.ts";
import { foldCase } from "../../core/text/compare.ts";
import { makePrivateFile } from "../private-files.ts";
import { migrate, pragma } from "../sqlite/database.ts";
import { storyMigrations } from "./schema.ts";

export type SqlRow = Record<string, SQLInputValue>;

const head = `number, event, id, topic, domain_topic, subject, type, accepted_at, store_number,
  rank, states`;

export function prepareStories(database: DatabaseSync) {
  const sql = (text: string) => database.prepare(text);
  return {
    // Numbers assigned so far.
    lastEntry: sql(
      `SELECT max(coalesce((SELECT max(number) FROM entries), 0),
         coalesce((SELECT max(number) FROM sheets), 0)) AS number`,
    ),
    lastRoll: sql("SELECT coalesce(max(number), 0) AS number FROM rolls"),
    lastBlock: sql("SELECT coalesce(max(number), 0) AS number FROM blocks"),
    lastStored: sql(
      `SELECT coalesce((SELECT stored_through FROM closings), max(store_number), 0) AS number
       FROM (SELECT store_number FROM entries ORDER BY number DESC LIMIT ?)`,
    ),
    putStored: sql("UPDATE closings SET stored_through = ?"),

    // Writing.
    addEntry: sql("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
    addId: sql("INSERT OR IGNORE INTO ids VALUES (?, ?, ?)"),
    putHead: sql(
      `UPDATE entries SET id = ?, topic = ?, domain_topic = ?, subject = ?, type = ?,
         accepted_at = ?, store_number = ? WHERE number = ?`,
    ),
    putStates: sql("UPDATE entries SET states = ?, rank = ? WHERE number = ?"),
    addPart: sql(
      `INSERT INTO parts SELECT :entry, coalesce(max(part), 0) + 1, :story
       FROM parts WHERE entry = :entry`,
    ),
    addText: sql("INSERT OR REPLACE INTO texts VALUES (?, ?, CAST(? AS TEXT))"),
    addRoll: sql("INSERT INTO rolls VALUES (?, 0, ?)"),
    countTexts: sql("UPDATE rolls SET texts = texts + ? WHERE number = ? RETURNING texts"),
    addSheet: sql("INSERT INTO sheets VALUES (?, ?, ?, ?, '[]', ?, ?, ?, ?, ?, ?)"),
    putGone: sql("UPDATE sheets SET gone = ? WHERE number = ?"),
    removeRoll: sql("DELETE FROM rolls WHERE number = ?"),
    addBlock: sql("INSERT INTO blocks VALUES (?, ?)"),
    blocks: sql("SELECT blocks FROM rolls WHERE number = ?"),
    blockUses: sql(
      `SELECT value AS block, count(*) AS rolls FROM rolls, json_each(rolls.blocks) GROUP BY value`,
    ),
    removeBlock: sql("DELETE FROM blocks WHERE number = ?"),

    // Reading.
    firstAt: sql(
      `SELECT number FROM entries INDEXED BY entries_time
       WHERE accepted_at = ? ORDER BY number LIMIT 1`,
    ),
    lastAt: sql(
      `SELECT number FROM entries INDEXED BY entries_time
       WHERE accepted_at = ? ORDER BY number DESC LIMIT 1`,
    ),
    entry: sql(`SELECT ${head}, story FROM entries WHERE number = ?`),
    // Both in one query would look at every entry.
    bins: sql(
      `SELECT (SELECT min(number) FROM entries) AS first,
         (SELECT max(number) FROM entries) AS last`,
    ),
    inBin: sql("SELECT entry FROM ids WHERE bin = ? AND hash = ?"),
    parts: sql("SELECT story FROM parts WHERE entry = ? ORDER BY part"),
    text: sql("SELECT roll, text FROM texts WHERE entry = ?"),
    members: sql(
      `SELECT members FROM rolls, json_each(rolls.blocks) AS part
       JOIN blocks ON blocks.number = part.value WHERE rolls.number = ? ORDER BY part.key`,
    ),

    // Sheets.
    sheetIds: sql("SELECT number, ids FROM sheets ORDER BY number DESC"),
    sheetIdsAt: sql(
      `SELECT number, ids FROM sheets INDEXED BY sheets_time
       WHERE last_at BETWEEN ? AND ? AND first_at <= ?`,
    ),
    sheetHeads: sql("SELECT number, gone, heads FROM sheets WHERE number = ?"),
    sheetsBefore: sql(
      `SELECT number, last_at, gone, heads FROM sheets INDEXED BY sheets_time
       WHERE first_at <= ? AND (last_at, number) < (?, ?) ORDER BY last_at DESC, number DESC`,
    ),
    sheetStory: sql("SELECT seats, stories, texts FROM sheets WHERE number = ?"),
    oldestSheet: sql(
      `SELECT number, last_at, size, rolls FROM sheets INDEXED BY sheets_time
       ORDER BY last_at, number LIMIT 1`,
    ),
    removeSheet: sql("DELETE FROM sheets WHERE number = ?"),

    // Removing and clearing.
    after: sql(
      `SELECT number, event, id, accepted_at, rank FROM entries INDEXED BY entries_time
       WHERE (accepted_at, number) > (?, ?) ORDER BY accepted_at, number LIMIT ?`,
    ),
    unsettledAfter: sql(
      `SELECT ${head} FROM entries INDEXED BY entries_unsettled
       WHERE rank > 0 AND (accepted_at, number) > (?, ?) ORDER BY accepted_at, number LIMIT ?`,
    ),
    oldestGivenUp: sql(
      `SELECT number, event, id FROM entries INDEXED BY entries_given_up
       WHERE rank = 1 ORDER BY accepted_at, number LIMIT ?`,
    ),
    removeId: sql("DELETE FROM ids WHERE bin = ? AND hash = ? AND entry = ?"),
    removeEntry: sql("DELETE FROM entries WHERE number = ?"),
    removeParts: sql("DELETE FROM parts WHERE entry = ?"),
    removeText: sql("DELETE FROM texts WHERE entry = ? RETURNING roll"),
  };
}

export type StoryStatements = ReturnType<typeof prepareStories>;

/**
 * A search as SQL, but for ids, which are not searched for. The result still has to be checked: it
 * may contain too much.
 */
export interface SearchPlan {
  readonly index: "entries_time" | "entries_unsettled";
  /** Conditions besides the position in the order, each with its values. */
  readonly where: readonly string[];
  readonly values: Readonly<Record<string, SQLInputValue>>;
}

export function planSearch(query: EventQuery, letterOf: (state: DeliveryState) => string) {
  const where: string[] = [];
  const values: Record<string, SQLInputValue> = {};
  const add = (condition: string, name: string, value: SQLInputValue) => {
    where.push(condition);
    values[name] = value;
  };
  const { topic, type, subject, subscription, from, to } = query;
  const states = statesOf(query);
  if (from !== undefined) add("accepted_at >= :from", "from", from);
  if (to !== undefined) add("accepted_at <= :to", "to", to);
  if (topic !== undefined && isAscii(topic)) {
    add("topic LIKE :topic ESCAPE '!'", "topic", likeOf(topic));
  }
  if (type !== undefined && isAscii(type)) {
    add("type LIKE :type ESCAPE '!'", "type", likeOf(type));
  }
  if (subject !== undefined && isAscii(subject)) {
    const pattern = subject.includes("*") ? likeOf(subject) : `%${likeOf(subject)}%`;
    add("subject LIKE :subject ESCAPE '!'", "subject", pattern);
  }
  for (const [place, word] of (query.words ?? []).entries()) {
    if (!isAscii(word)) continue;
    const columns = ["id", "event", "subject", "type", "topic", "states"];
    const any = columns.map((column) => `${column} LIKE :word${place} ESCAPE '!'`);
    add(`(${any.join(" OR ")})`, `word${place}`, `%${likeOf(word)}%`);
  }
  if (query.idPart !== undefined && isAscii(query.idPart)) {
    const either = "(id LIKE :idPart ESCAPE '!' OR event LIKE :idPart ESCAPE '!')";
    add(either, "idPart", `%${likeOf(query.idPart)}%`);
  }
  if (subscription !== undefined && !subscription.includes("*")) {
    add("instr(upper(states), :subscription) > 0", "subscription", `:${foldCase(subscription)}|`);
  }
  for (const [place, state] of (states?.length === 1 ? states : []).entries()) {
    add(`instr(states, :state${place}) > 0`, `state${place}`, `:${letterOf(state)}:`);
  }
  const isSettled = states?.every((state) => state !== "delivered" && state !== "unknown") !== true;
  const index = isSettled ? "entries_time" : "entries_unsettled";
  if (!isSettled) where.push("rank > 0");
  return { index, where, values } satisfies SearchPlan;
}

/** SQLite only ignores the letter case of ASCII. */
function isAscii(text: string): boolean {
  return !/[^ -~]/.test(text);
}

function likeOf(pattern: string): string {
  return pattern.replace(/[!%_]/g, "!$&").replaceAll("*", "%");
}

/** `edge`: the position beyond which nothing is read. */
export function searchSql({ index, where }: SearchPlan, hasEdge: boolean): string {
  const all = [
    "(accepted_at, number) < (:at, :number)",
    ...(hasEdge ? ["(accepted_at, number) >= (:edgeAt, :edgeNumber)"] : []),
    ...where,
  ];
  return `SELECT ${head} FROM entries INDEXED BY ${index}
    WHERE ${all.join(" AND ")} ORDER BY accepted_at DESC, number DESC`;
}

/** The position this far behind the given one, by the index alone. */
export function edgeSql({ index }: SearchPlan): string {
  return `SELECT accepted_at, number FROM entries INDEXED BY ${index}
    WHERE ${index === "entries_time" ? "" : "rank > 0 AND"} (accepted_at, number) < (?, ?)
    ORDER BY accepted_at DESC, number DESC LIMIT 1 OFFSET ?`;
}

/** A second connection to a file that is open, for reading alone. */
export function openStoriesToRead(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true });
  database.exec("PRAGMA cache_size = -16384");
  database.exec("PRAGMA temp_store = MEMORY");
  return database;
}

/** Then it is copied into the file. */
const logBytesMax = 16 * 1_048_576;

/** Refusal: InvalidSetting. */
export function openStories(path: string): DatabaseSync {
  if (path !== ":memory:") makePrivateFile(path);
  const database = new DatabaseSync(path);
  try {
    // Both can only be set before the first table is created; older files have smaller pages.
    database.exec("PRAGMA page_size = 16384");
    database.exec("PRAGMA auto_vacuum = INCREMENTAL");
    database.exec("PRAGMA journal_mode = WAL");
    // A crash of the machine may lose the latest notes, and never the file.
    database.exec("PRAGMA synchronous = NORMAL");
    database.exec("PRAGMA cache_size = -8192");
    const logPagesMax = Math.round(logBytesMax / pragma(database, "page_size"));
    database.exec(`PRAGMA wal_autocheckpoint = ${logPagesMax}`);
    database.exec("PRAGMA temp_store = MEMORY");
    migrate(database, storyMigrations, "The stories are");
    return database;
  } catch (error) {
    database.close();
    if (error instanceof Refusal) throw error;
    const why = error instanceof Error ? error.message : String(error);
    const reason = `The stories in ${path} cannot be opened (${why}); move the file away to start with empty stories.`;
    throw new Refusal("InvalidSetting", reason, { cause: error });
  }
}
