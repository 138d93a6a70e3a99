// Removes entries, a little at a time: what is old and settled, then for lack of space what is
// settled, then undeliverable events, the oldest of each first; never what is open
// (core/story/chronicle.ts).

import type { DatabaseSync } from "node:sqlite";
import type { Instant } from "../../core/ports.ts";
import type { Cursor, Retention } from "../../core/story/chronicle.ts";
import { pragma } from "../sqlite/database.ts";
import type { Ids } from "./ids.ts";
import type { Rolls } from "./rolls.ts";
import type { SqlRow, StoryStatements } from "./statements.ts";

/** How often to check whether there is enough space. */
const rowsBetweenLooks = 100;
const vacuumBytesMax = 2 * 1_048_576;

export const beginning: Cursor = { at: Number.MIN_SAFE_INTEGER, place: 0 };

export interface OblivionDeps {
  readonly database: DatabaseSync;
  readonly statements: StoryStatements;
  readonly retention: Retention;
  readonly ids: Ids;
  readonly rolls: Rolls;
}

export class Forgetting {
  readonly #deps: OblivionDeps;
  readonly #pageBytes: number;
  /** Everything settled before it has been removed. */
  #floor: Cursor = beginning;

  constructor(deps: OblivionDeps) {
    this.#deps = deps;
    this.#pageBytes = pragma(deps.database, "page_size");
  }

  /** Something settled may be before the current position. */
  heed({ at, place }: Cursor): void {
    const { at: floorAt, place: floorPlace } = this.#floor;
    if (at < floorAt || (at === floorAt && place <= floorPlace)) {
      this.#floor = { at, place: place - 1 };
    }
  }

  /** The transaction has failed: what was removed is there again. */
  undo(): void {
    this.#floor = beginning;
  }

  /** `cut`: how many undeliverable events were removed. */
  step(now: Instant, rowsMax: number): { readonly cut: number; readonly more: boolean } {
    const { database, retention } = this.#deps;
    const settled = this.#forgetSettled(now, rowsMax);
    // Only when nothing settled is left.
    const cut = settled < rowsMax && this.#isFull() ? this.#forgetGivenUp(rowsMax) : 0;
    if (pragma(database, "page_count") * this.#pageBytes > retention.bytesMax) {
      const pages = Math.ceil(vacuumBytesMax / this.#pageBytes);
      database.exec(`PRAGMA incremental_vacuum(${pages})`);
    }
    return { cut, more: settled >= rowsMax || cut >= rowsMax };
  }

  #isFull(): boolean {
    const { database, retention } = this.#deps;
    const used = pragma(database, "page_count") - pragma(database, "freelist_count");
    return used * this.#pageBytes > retention.bytesMax;
  }

  /** How many were checked. */
  #forgetSettled(now: Instant, rowsMax: number): number {
    const before = now - this.#deps.retention.keptMs;
    let isFull = this.#isFull();
    const rows = this.#oldest(before, isFull, rowsMax);
    const firstAt = (rows[0]?.accepted_at ?? Number.POSITIVE_INFINITY) as number;
    let looked = this.#forgetSheets(Math.max(before, isFull ? firstAt : before), before, rowsMax);
    isFull &&= this.#isFull();
    let removed = 0;
    for (const row of rows) {
      const at = row.accepted_at as number;
      if (!isFull && at >= before) break;
      looked += 1;
      this.#floor = { at, place: row.number as number };
      if (row.rank !== 0) continue;
      this.#remove(row);
      removed += 1;
      if (removed % rowsBetweenLooks === 0) isFull = this.#isFull();
    }
    if (!isFull || looked >= rowsMax) return looked;
    return looked + this.#forgetSheets(Number.POSITIVE_INFINITY, before, rowsMax - looked);
  }

  /** Those whose last event is older, the oldest first: for want of room, or for their age. */
  #forgetSheets(olderThan: Instant, before: Instant, rowsMax: number): number {
    const { statements, rolls } = this.#deps;
    let looked = 0;
    while (looked < rowsMax) {
      const sheet = statements.oldestSheet.get();
      const lastAt = sheet?.last_at as number;
      if (sheet === undefined || lastAt >= olderThan) break;
      if (lastAt >= before && !this.#isFull()) break;
      statements.removeSheet.run(sheet.number as number);
      for (const [roll, texts] of JSON.parse(sheet.rolls as string) as [number, number][]) {
        rolls.count(roll, -texts);
      }
      looked += sheet.size as number;
    }
    return looked;
  }

  /** Usually none: then one row is read. */
  #oldest(before: Instant, isFull: boolean, rowsMax: number): SqlRow[] {
    const { after } = this.#deps.statements;
    const { at, place } = this.#floor;
    if (isFull) return after.all(at, place, rowsMax) as SqlRow[];
    const rows: SqlRow[] = [];
    for (const row of after.iterate(at, place, rowsMax) as Iterable<SqlRow>) {
      if ((row.accepted_at as number) >= before) break;
      rows.push(row);
    }
    return rows;
  }

  #forgetGivenUp(rowsMax: number): number {
    let cut = 0;
    for (const row of this.#deps.statements.oldestGivenUp.all(rowsMax) as SqlRow[]) {
      this.#remove(row);
      cut += 1;
      if (cut % rowsBetweenLooks === 0 && !this.#isFull()) break;
    }
    return cut;
  }

  #remove(row: SqlRow): void {
    const { statements, ids, rolls } = this.#deps;
    const number = row.number as number;
    statements.removeEntry.run(number);
    statements.removeParts.run(number);
    ids.remove(number, row.event as string);
    ids.remove(number, row.id as string);
    rolls.removeText(number);
  }
}
