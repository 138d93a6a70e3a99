// The figures' engine: plain synchronous code over one small SQLite file. A call is one
// transaction, synced to the disk: there are only a few a minute.
//
// Old rows are removed once an hour. The file is bounded: when it grows beyond that, minutes are
// kept for a shorter time, and the quarters and hours made of them stay.

import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import {
  type FigureQuery,
  type FigureRow,
  isSelected,
  type Scope,
  type Series,
  SeriesFold,
  scopeKey,
} from "../../core/figures/figures.ts";
import { levelFor, levels, shortened, startOf } from "../../core/figures/steps.ts";
import { addPacked, clearSums, emptySums, packSums } from "../../core/figures/sums.ts";
import type { Instant } from "../../core/ports.ts";
import { makePrivateFile } from "../private-files.ts";
import { migrate } from "../sqlite/database.ts";

export interface FigureOptions {
  /** A file, or `:memory:`. */
  readonly path: string;
  /** The most that the file may hold. */
  readonly bytesMax?: number;
}

const bytesMaxUsual = 256 * 1_048_576;
const sweepEveryMs = 3_600_000;

/** Steps are never edited. */
const migrations: readonly string[] = [
  `
  CREATE TABLE scopes (
    number INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    topic TEXT,
    domain_topic TEXT
  );
  -- level: the place in the list of steps (core/figures/steps.ts). packed: core/figures/sums.ts.
  CREATE TABLE figures (
    level INTEGER NOT NULL,
    scope INTEGER NOT NULL,
    at INTEGER NOT NULL,
    packed BLOB NOT NULL,
    PRIMARY KEY (level, scope, at)
  ) WITHOUT ROWID;
  `,
];

function prepare(database: DatabaseSync) {
  const sql = (text: string) => database.prepare(text);
  return {
    addScope: sql("INSERT INTO scopes VALUES (NULL, ?, ?, ?, ?, ?) RETURNING number"),
    scopes: sql("SELECT * FROM scopes ORDER BY key"),
    get: sql("SELECT packed FROM figures WHERE level = ? AND scope = ? AND at = ?"),
    put: sql("INSERT OR REPLACE INTO figures VALUES (?, ?, ?, ?)"),
    range: sql(
      `SELECT at, packed FROM figures WHERE level = ? AND scope = ? AND at >= ? AND at < ?
       ORDER BY at`,
    ),
    oldest: sql("SELECT min(at) AS at FROM figures WHERE level = 0 AND scope = ?"),
    removeOld: sql("DELETE FROM figures WHERE level = ? AND scope = ? AND at < ?"),
    hasAny: sql(
      `SELECT EXISTS (SELECT 1 FROM figures WHERE level = :level AND scope = :scope) AS has`,
    ),
    removeScope: sql("DELETE FROM scopes WHERE number = ?"),
    usedBytes: sql(
      `SELECT (page_count - freelist_count) * page_size AS bytes
       FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
    ),
  };
}

interface Known {
  readonly number: number;
  readonly scope: Scope;
}

export class FigureEngine {
  readonly #database: DatabaseSync;
  readonly #statements: ReturnType<typeof prepare>;
  /** By key, in the order of keys when they were read. */
  #scopes = new Map<string, Known>();
  readonly #bytesMax: number;
  #minutesKeptMs = levels[0].keptMs;
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor({ path, bytesMax = bytesMaxUsual }: FigureOptions) {
    if (path !== ":memory:") makePrivateFile(path);
    this.#database = new DatabaseSync(path);
    try {
      for (const pragma of ["auto_vacuum = INCREMENTAL", "locking_mode = EXCLUSIVE"]) {
        this.#database.exec(`PRAGMA ${pragma}`);
      }
      this.#database.exec("PRAGMA journal_mode = WAL");
      this.#database.exec("PRAGMA synchronous = FULL");
      migrate(this.#database, migrations, "The figures are");
    } catch (error) {
      this.#database.close();
      throw error;
    }
    this.#statements = prepare(this.#database);
    this.#bytesMax = bytesMax;
    this.#readScopes();
  }

  add(rows: readonly FigureRow[], now: Instant): void {
    this.#transact(() => {
      const sums = emptySums();
      for (const { scope, at, packed } of rows) {
        const number = this.#numberOf(scope);
        for (const [level, { stepMs }] of levels.entries()) {
          const start = startOf(at, stepMs);
          const kept = this.#statements.get.get(level, number, start);
          if (kept !== undefined) addPacked(sums, kept.packed as Uint8Array);
          addPacked(sums, packed);
          this.#statements.put.run(level, number, start, packSums(sums));
          clearSums(sums);
        }
      }
      if (now - this.#sweptAt >= sweepEveryMs) this.#sweep(now);
    });
  }

  read({ selection, range, scopesMax }: FigureQuery): readonly Series[] {
    const level = levels.indexOf(levelFor(range.stepMs));
    const series: Series[] = [];
    const known = [...this.#scopes].toSorted(([one], [other]) => (one < other ? -1 : 1));
    for (const [, { number, scope }] of known) {
      if (!isSelected(scope, selection)) continue;
      if (series.length === scopesMax) break;
      const fold = new SeriesFold(range);
      let isAnything = false;
      const rows = this.#statements.range.iterate(level, number, range.from, range.to);
      for (const { at, packed } of rows) {
        isAnything = true;
        fold.add(at as number, packed as Uint8Array);
      }
      if (isAnything) series.push(fold.end(scope));
    }
    return series;
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #transact(act: () => void): void {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      act();
      this.#database.exec("COMMIT");
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      // Some may have got a number that is not there any more.
      this.#readScopes();
      throw error;
    }
  }

  #readScopes(): void {
    const rows = this.#statements.scopes.all() as Record<string, SQLInputValue>[];
    this.#scopes = new Map(
      rows.map((row) => [
        row.key as string,
        {
          number: row.number as number,
          scope: {
            kind: row.kind as Scope["kind"],
            name: row.name as string,
            topic: row.topic as string | null,
            domainTopic: row.domain_topic as string | null,
          },
        },
      ]),
    );
  }

  #numberOf(scope: Scope): number {
    const key = scopeKey(scope);
    const known = this.#scopes.get(key);
    if (known !== undefined) return known.number;
    const { kind, name, topic, domainTopic } = scope;
    const added = this.#statements.addScope.get(key, kind, name, topic, domainTopic);
    const number = added?.number as number;
    this.#scopes.set(key, { number, scope });
    return number;
  }

  #sweep(now: Instant): void {
    this.#sweptAt = now;
    this.#removeOld(now);
    const bytes = this.#statements.usedBytes.get()?.bytes as number;
    if (bytes > this.#bytesMax) {
      const starts = [...this.#scopes.values()].map(
        ({ number }) => (this.#statements.oldest.get(number)?.at ?? now) as number,
      );
      this.#minutesKeptMs = shortened(Math.min(...starts), now);
      this.#removeOld(now);
      // Until it fits: a tenth may not be enough.
      this.#sweptAt = Number.NEGATIVE_INFINITY;
    }
    this.#database.exec("PRAGMA incremental_vacuum");
  }

  #removeOld(now: Instant): void {
    for (const [key, { number }] of this.#scopes) {
      for (const [level, { keptMs }] of levels.entries()) {
        const before = now - (level === 0 ? this.#minutesKeptMs : keptMs);
        this.#statements.removeOld.run(level, number, before);
      }
      const isUsed = levels.some(
        (_, level) => this.#statements.hasAny.get({ level, scope: number })?.has === 1,
      );
      if (isUsed) continue;
      this.#statements.removeScope.run(number);
      this.#scopes.delete(key);
    }
  }
}
