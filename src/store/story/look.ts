// Reading stories: a whole one, or many as a list. A search goes through an index from the latest
// back, lets SQLite leave out what cannot match, and checks the rest by the rules
// (core/story/chronicle.ts).

import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
  type Cursor,
  type Entry,
  type EventQuery,
  isFound,
  type Listed,
  type Member,
  readCursor,
  writeCursor,
} from "../../core/story/chronicle.ts";
import { assemble, type Written } from "./assemble.ts";
import { letters, listedOf } from "./fates.ts";
import type { Ids } from "./ids.ts";
import type { Sheets } from "./sheets.ts";
import { edgeSql, planSearch, type SqlRow, type StoryStatements, searchSql } from "./statements.ts";

export interface Page {
  readonly found: readonly Listed[];
  readonly next: string | null;
}

export interface LookDeps {
  readonly database: DatabaseSync;
  readonly statements: StoryStatements;
  readonly ids: Ids;
  readonly sheets: Sheets;
  readonly lookedThroughMax: number;
}

const end: Cursor = { at: Number.MAX_SAFE_INTEGER, place: 0 };

export class Look {
  readonly #deps: LookDeps;
  /** By their text. There are only a few kinds of searches. */
  readonly #searches = new Map<string, StatementSync>();

  constructor(deps: LookDeps) {
    this.#deps = deps;
  }

  find(id: string): Entry | null {
    const { statements } = this.#deps;
    const named = this.#named(id);
    const row = named.find(({ event }) => event === id) ?? named[0];
    if (row === undefined) return null;
    if (row.sheet !== undefined) return this.#findInSheet(row);
    const number = row.number as number;
    const later = statements.parts.all(number).map((part) => writtenIn(part.story as string));
    const kept = statements.text.get(number);
    return assemble({
      listed: listedOf(row),
      written: [writtenIn(row.story as string), ...later],
      text: (kept?.text ?? null) as string | null,
      roll: this.#membersOf(kept?.roll as number | undefined),
    });
  }

  #findInSheet(row: SqlRow): Entry | null {
    const { sheets } = this.#deps;
    const kept = sheets.whole(row);
    if (kept === null) return null;
    return assemble({
      listed: listedOf(row),
      written: [{ seats: kept.seats, notes: [] }, kept.story],
      text: kept.text,
      roll: this.#membersOf(kept.roll),
    });
  }

  /** Null: it is not known, or all of it matched. */
  #membersOf(roll: number | null = null): Member[] | null {
    const blocks = roll === null ? [] : this.#deps.statements.members.all(roll);
    if (blocks.length === 0) return null;
    return blocks.flatMap(({ members }) => JSON.parse(members as string) as Member[]);
  }

  /** The latest first. */
  #named(id: string): SqlRow[] {
    const { ids, sheets } = this.#deps;
    return [...ids.named(id), ...sheets.named(id)].sort(latestFirst);
  }

  search(query: EventQuery): Page {
    const after = earlier(query.after === undefined ? end : readCursor(query.after), query.to);
    return query.id === undefined
      ? this.#walk(query, after)
      : this.#pick(this.#named(query.id), query, after);
  }

  #walk(query: EventQuery, after: Cursor): Page {
    const plan = planSearch(query, (state) => letters[state]);
    const isWanted = isFound(query);
    const { lookedThroughMax } = this.#deps;
    const behind = this.#prepared(edgeSql(plan)).get(after.at, after.place, lookedThroughMax);
    // Beyond the beginning of the range there is nothing to go on with.
    const isInRange = behind !== undefined && (behind.accepted_at as number) >= (query.from ?? 0);
    const edge = isInRange ? behind : undefined;
    const bounds = edge && { edgeAt: edge.accepted_at ?? 0, edgeNumber: edge.number ?? 0 };
    const values = { ...plan.values, ...bounds, at: after.at, number: after.place };
    const sql = searchSql(plan, edge !== undefined);
    const entries = this.#prepared(sql).iterate(values) as Iterable<SqlRow>;
    // What is in sheets is settled.
    const isInSheets = plan.index === "entries_time";
    const sheets = isInSheets ? this.#deps.sheets.before(after) : [];
    const until = edge === undefined ? { at: query.from ?? 0, place: 0 } : cursorOf(edge as SqlRow);
    const found: Listed[] = [];
    let last = after;
    let looked = 0;
    for (const row of inTurn(entries, sheets)) {
      const cursor = cursorOf(row);
      if (row.sheet !== undefined && isBehind(cursor, until)) break;
      if (row.sheet !== undefined) looked += 1;
      if (looked > lookedThroughMax) return { found, next: writeCursor(last) };
      const listed = listedOf(row);
      const isOne = isWanted(listed);
      if (isOne && found.length === query.limit) return { found, next: writeCursor(last) };
      if (isOne) found.push(listed);
      last = cursor;
    }
    return { found, next: edge === undefined ? null : writeCursor(cursorOf(edge as SqlRow)) };
  }

  #pick(named: readonly SqlRow[], query: EventQuery, after: Cursor): Page {
    const isWanted = isFound(query);
    const rows = named.filter((row) => isBehind(cursorOf(row), after) && isWanted(listedOf(row)));
    const page = rows.slice(0, query.limit);
    const last = page.at(-1);
    const isLast = last === undefined || page.length === rows.length;
    return { found: page.map(listedOf), next: isLast ? null : writeCursor(cursorOf(last)) };
  }

  #prepared(sql: string): StatementSync {
    const known = this.#searches.get(sql);
    if (known !== undefined) return known;
    const made = this.#deps.database.prepare(sql);
    this.#searches.set(sql, made);
    return made;
  }
}

/** The end of the range is sought by the index: what came after it is not looked through. */
function earlier(after: Cursor, to: number | undefined): Cursor {
  return to === undefined || to >= after.at ? after : { at: to + 1, place: 0 };
}

function isBehind({ at, place }: Cursor, other: Cursor): boolean {
  return at < other.at || (at === other.at && place < other.place);
}

function latestFirst(one: SqlRow, other: SqlRow): number {
  return isBehind(cursorOf(one), cursorOf(other)) ? 1 : -1;
}

/** Two lists, each with the latest first, as one. */
function* inTurn(ones: Iterable<SqlRow>, others: Iterable<SqlRow>): Generator<SqlRow> {
  const theOthers = others[Symbol.iterator]();
  try {
    let other = theOthers.next();
    for (const one of ones) {
      while (other.done !== true && latestFirst(one, other.value) > 0) {
        yield other.value;
        other = theOthers.next();
      }
      yield one;
    }
    while (other.done !== true) {
      yield other.value;
      other = theOthers.next();
    }
  } finally {
    theOthers.return?.();
  }
}

function cursorOf(row: SqlRow): Cursor {
  return { at: row.accepted_at as number, place: row.number as number };
}

function writtenIn(text: string): Written {
  return JSON.parse(text) as Written;
}
