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
import { edgeSql, planSearch, type SqlRow, type StoryStatements, searchSql } from "./statements.ts";

export interface Page {
  readonly found: readonly Listed[];
  readonly next: string | null;
}

export interface LookDeps {
  readonly database: DatabaseSync;
  readonly statements: StoryStatements;
  readonly ids: Ids;
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
    const { ids, statements } = this.#deps;
    const row = ids.ofEvent(id) ?? ids.named(id)[0];
    if (row === undefined) return null;
    const number = row.number as number;
    const later = statements.parts.all(number).map((part) => writtenIn(part.story as string));
    const kept = statements.text.get(number);
    const members = (kept?.members ?? null) as string | null;
    return assemble({
      listed: listedOf(row),
      written: [writtenIn(row.story as string), ...later],
      text: (kept?.text ?? null) as string | null,
      roll: members === null ? null : (JSON.parse(members) as Member[]),
    });
  }

  search(query: EventQuery): Page {
    const after = earlier(query.after === undefined ? end : readCursor(query.after), query.to);
    return query.id === undefined
      ? this.#walk(query, after)
      : this.#pick(this.#deps.ids.named(query.id), query, after);
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
    const found: Listed[] = [];
    let last = after;
    const sql = searchSql(plan, edge !== undefined);
    for (const row of this.#prepared(sql).iterate(values) as Iterable<SqlRow>) {
      const listed = listedOf(row);
      if (!isWanted(listed)) continue;
      if (found.length === query.limit) return { found, next: writeCursor(last) };
      found.push(listed);
      last = cursorOf(row);
    }
    return { found, next: edge === undefined ? null : writeCursor(cursorOf(edge as SqlRow)) };
  }

  #pick(named: readonly SqlRow[], query: EventQuery, after: Cursor): Page {
    const isWanted = isFound(query);
    const isBehind = ({ at, place }: Cursor) =>
      at < after.at || (at === after.at && place < after.place);
    const rows = named.filter((row) => isBehind(cursorOf(row)) && isWanted(listedOf(row)));
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

function cursorOf(row: SqlRow): Cursor {
  return { at: row.accepted_at as number, place: row.number as number };
}

function writtenIn(text: string): Written {
  return JSON.parse(text) as Written;
}
