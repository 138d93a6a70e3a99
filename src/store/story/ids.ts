// Finding an event by one of its ids: hashes, filed in bins of consecutive entries, as in the table
// `ids` in schema.ts. Our ids and the publisher's are in the same bins.

import type { Instant } from "../../core/ports.ts";
import type { SqlRow, StoryStatements } from "./statements.ts";

/** How many entries share a bin. */
const binEntries = 8_192;
/** Of one id; a publisher may use the same one for all events. */
const namedMax = 10_000;

export class Ids {
  readonly #statements: StoryStatements;

  constructor(statements: StoryStatements) {
    this.#statements = statements;
  }

  add(entry: number, id: string): void {
    this.#statements.addId.run(binOf(entry), hashOf(id), entry);
  }

  remove(entry: number, id: string): void {
    this.#statements.removeId.run(binOf(entry), hashOf(id), entry);
  }

  /** Those with this id, ours or the publisher's. */
  named(id: string): SqlRow[] {
    const { first, last } = this.#statements.bins.get() as Record<"first" | "last", number | null>;
    if (first === null || last === null) return [];
    const isNamed = (row: SqlRow) => row.event === id || row.id === id;
    return this.#within({ first, last }, id, isNamed);
  }

  /** The event with our id, accepted at that time; null: not known when. */
  event(id: string, acceptedAt: Instant | null): SqlRow | undefined {
    if (acceptedAt === null) return this.named(id).find(({ event }) => event === id);
    const { firstAt, lastAt } = this.#statements;
    const first = firstAt.get(acceptedAt)?.number as number | undefined;
    const last = lastAt.get(acceptedAt)?.number as number | undefined;
    if (first === undefined || last === undefined) return undefined;
    const isIt = (row: SqlRow) => row.event === id && row.accepted_at === acceptedAt;
    return this.#within({ first, last }, id, isIt)[0];
  }

  /** Of these entries and others in the same bins, the latest first. */
  #within(
    { first, last }: { readonly first: number; readonly last: number },
    id: string,
    isMeant: (row: SqlRow) => boolean,
  ): SqlRow[] {
    const { inBin, entry } = this.#statements;
    const hash = hashOf(id);
    const rows: SqlRow[] = [];
    for (let bin = binOf(last); bin >= binOf(first) && rows.length < namedMax; bin--) {
      for (const { entry: number } of inBin.iterate(bin, hash)) {
        const row = entry.get(number as number) as SqlRow | undefined;
        if (row !== undefined && isMeant(row)) rows.push(row);
      }
    }
    return rows;
  }
}

function binOf(entry: number): number {
  return Math.floor(entry / binEntries);
}

/** FNV-1a over 32 bits: two ids with one hash only cost another comparison. */
export function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let place = 0; place < id.length; place++) {
    hash = Math.imul(hash ^ id.charCodeAt(place), 0x01000193);
  }
  return hash;
}
