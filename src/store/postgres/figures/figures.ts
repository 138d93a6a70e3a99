// The figures of a cluster (the port Figures). A broker knows what it has written of the stretches
// that are not over yet, and writes them whole: a write whose answer was lost is only repeated.
// Old rows are removed once an hour, by one broker. Beyond so many minutes they are kept for a
// shorter time, and the quarters and hours made of them stay.

import { createHash } from "node:crypto";
import {
  type FigureQuery,
  type FigureRow,
  type Figures,
  isSelected,
  type Scope,
  type Series,
  SeriesFold,
  scopeKey,
} from "../../../core/figures/figures.ts";
import {
  keptMsMax,
  levelFor,
  levels,
  type Range,
  shortened,
  startOf,
} from "../../../core/figures/steps.ts";
import { addPacked, emptySums, packSums } from "../../../core/figures/sums.ts";
import type { Instant } from "../../../core/ports.ts";
import { int2Array, int8Array, textArray } from "../binary.ts";
import type { Row } from "../connection.ts";
import type { Database, Session } from "../database.ts";

export interface FigureOptions {
  readonly database: Database;
  /** Whether this broker is the one that removes what is old. */
  readonly isSweeper: () => boolean;
  /** The most rows of minutes. */
  readonly minutesMax?: number;
}

const minutesMaxUsual = 2_000_000;
const sweepEveryMs = 3_600_000;
const dayMs = 24 * 3_600_000;
/** How long after its end a stretch is still known by heart. */
const lateMs = 120_000;
const rowsPerWrite = 2_000;
const scopesPerStep = 200;

const nextWriter = { name: "figures writer", text: "select nextval('figure_writers')" };
const useScopes = {
  name: "figures scopes",
  text: `insert into figure_scopes (number, key, kind, name, topic, domain_topic, used_at)
    select x.*, $7::int8 from unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::text[],
      $6::text[]) x(number, key, kind, name, topic, domain_topic) order by x.number
    on conflict (number) do update set used_at = excluded.used_at`,
};
const own = {
  name: "figures own",
  text: `select f.scope, f.level, f.at, encode(f.packed, 'base64')
    from unnest($1::int8[], $2::int2[], $3::int8[]) x(scope, level, at)
    join figures f on f.scope = x.scope and f.level = x.level and f.at = x.at and f.writer = $4`,
};
const put = {
  name: "figures put",
  text: `insert into figures (scope, level, at, packed, writer)
    select x.scope, x.level, x.at, decode(x.packed, 'base64'), $5::int8
    from unnest($1::int8[], $2::int2[], $3::int8[], $4::text[]) x(scope, level, at, packed)
    on conflict (scope, level, at, writer) do update set packed = excluded.packed`,
};
const scopesOf = {
  name: "figures known",
  text: "select number, kind, name, topic, domain_topic, key from figure_scopes where kind = $1",
};
const range = {
  name: "figures range",
  text: `select scope, at, encode(packed, 'base64') from figures
    where scope = any ($1::int8[]) and level = $2 and at >= $3 and at < $4 order by scope, at`,
};
const allScopes = { name: "figures all", text: "select number from figure_scopes" };
const removeOld = {
  name: "figures remove",
  text: "delete from figures where scope = any ($1::int8[]) and level = $2 and at < $3",
};
const minutes = {
  name: "figures minutes",
  text: `select count(*), min(f.at) from figure_scopes s
    join figures f on f.scope = s.number and f.level = 0`,
};
const removeScopes = {
  name: "figures remove scopes",
  text: "delete from figure_scopes where used_at < $1",
};

/** What this broker has counted of one stretch. */
interface Stretch {
  readonly scope: number;
  readonly level: number;
  readonly at: Instant;
  packed: Uint8Array | null;
}

export class PostgresFigures implements Figures {
  readonly #database: Database;
  readonly #isSweeper: () => boolean;
  readonly #minutesMax: number;
  /** As they are in the database. */
  readonly #written = new Map<string, Stretch>();
  /** On which day each was last said to be used. */
  readonly #used = new Map<number, number>();
  #writer: number | null = null;
  #minutesKeptMs = levels[0].keptMs;
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor({ database, isSweeper, minutesMax = minutesMaxUsual }: FigureOptions) {
    this.#database = database;
    this.#isSweeper = isSweeper;
    this.#minutesMax = minutesMax;
  }

  async add(rows: readonly FigureRow[], now: Instant): Promise<void> {
    if (rows.length > 0) await this.#add(rows, now);
    if (now - this.#sweptAt >= sweepEveryMs && this.#isSweeper()) await this.#sweep(now);
  }

  async read({ selection, range: asked, scopesMax }: FigureQuery): Promise<readonly Series[]> {
    const found = (await this.#database.query(scopesOf, [selection.kind]))
      .map(scopeIn)
      .filter(({ scope }) => isSelected(scope, selection))
      .toSorted((one, other) => (one.key < other.key ? -1 : 1));
    const series: Series[] = [];
    for (let from = 0; from < found.length && series.length < scopesMax; from += scopesPerStep) {
      series.push(...(await this.#readSome(found.slice(from, from + scopesPerStep), asked)));
    }
    return series.slice(0, scopesMax);
  }

  async close(): Promise<void> {}

  async #add(rows: readonly FigureRow[], now: Instant): Promise<void> {
    this.#writer ??= (await this.#database.query(nextWriter))[0]?.[0] as number;
    const scopes = new Map(rows.map(({ scope }) => [numberOf(scope), scope]));
    const today = Math.floor(now / dayMs);
    const unused = [...scopes].filter(([number]) => this.#used.get(number) !== today);
    const changed = await this.#database.transaction(async (session) => {
      if (unused.length > 0) await session.query(useScopes, [...scopeColumns(unused), now]);
      const stretches = await this.#summed(session, rows);
      for (let from = 0; from < stretches.length; from += rowsPerWrite) {
        const some = stretches.slice(from, from + rowsPerWrite);
        const packed = some.map((each) => Buffer.from(each.packed ?? []).toString("base64"));
        await session.query(put, [...placeColumns(some), textArray(packed), this.#writer]);
      }
      return stretches;
    });
    for (const [number] of unused) this.#used.set(number, today);
    for (const stretch of changed) this.#written.set(placeOf(stretch), stretch);
    for (const [place, { at, level }] of this.#written) {
      if (at + (levels[level]?.stepMs ?? 0) + lateMs < now) this.#written.delete(place);
    }
  }

  /** Everything that these rows are part of, as it will be. */
  async #summed(session: Session, rows: readonly FigureRow[]): Promise<readonly Stretch[]> {
    const parts = new Map<string, { readonly stretch: Stretch; readonly added: Uint8Array[] }>();
    for (const { scope, at, packed } of rows) {
      for (const [level, { stepMs }] of levels.entries()) {
        const where = { scope: numberOf(scope), level, at: startOf(at, stepMs) };
        const place = placeOf(where);
        const known = this.#written.get(place)?.packed ?? null;
        const part = parts.get(place) ?? { stretch: { ...where, packed: known }, added: [] };
        part.added.push(packed);
        parts.set(place, part);
      }
    }
    const unknown = [...parts.values()].flatMap(({ stretch }) =>
      stretch.packed === null ? [stretch] : [],
    );
    if (unknown.length > 0) {
      const kept = await session.query(own, [...placeColumns(unknown), this.#writer]);
      for (const [scope, level, at, packed] of kept) {
        const part = parts.get(placeOf({ scope, level, at }));
        if (part !== undefined) part.stretch.packed = bytesIn(packed);
      }
    }
    return [...parts.values()].map(({ stretch, added }) => {
      const sums = emptySums();
      for (const packed of [stretch.packed ?? new Uint8Array(), ...added]) addPacked(sums, packed);
      return { ...stretch, packed: packSums(sums) };
    });
  }

  async #readSome(known: readonly Known[], asked: Range): Promise<readonly Series[]> {
    const level = levels.indexOf(levelFor(asked.stepMs));
    const numbers = int8Array(known.map(({ number }) => number));
    const rows = await this.#database.query(range, [numbers, level, asked.from, asked.to]);
    const folds = new Map<number, SeriesFold>();
    for (const [scope, at, packed] of rows) {
      const fold = folds.get(scope) ?? new SeriesFold(asked);
      folds.set(scope, fold);
      fold.add(at, bytesIn(packed));
    }
    return known.flatMap(({ number, scope }) => {
      const fold = folds.get(number);
      return fold === undefined ? [] : [fold.end(scope)];
    });
  }

  async #sweep(now: Instant): Promise<void> {
    this.#sweptAt = now;
    await this.#removeOld(now);
    const [row] = await this.#database.query(minutes);
    const [count, oldest] = row as [number, Instant | null];
    if (count > this.#minutesMax) {
      this.#minutesKeptMs = shortened(oldest ?? now, now);
      await this.#removeOld(now);
      // Until it fits: a tenth may not be enough.
      this.#sweptAt = Number.NEGATIVE_INFINITY;
    }
    await this.#database.query(removeScopes, [now - keptMsMax - 2 * dayMs]);
  }

  async #removeOld(now: Instant): Promise<void> {
    const all = (await this.#database.query(allScopes)).map(([number]) => number as number);
    for (let from = 0; from < all.length; from += scopesPerStep) {
      const some = int8Array(all.slice(from, from + scopesPerStep));
      for (const [level, { keptMs }] of levels.entries()) {
        const before = now - (level === 0 ? this.#minutesKeptMs : keptMs);
        await this.#database.query(removeOld, [some, level, before]);
      }
    }
  }
}

interface Known {
  readonly number: number;
  readonly key: string;
  readonly scope: Scope;
}

function scopeIn([number, kind, name, topic, domainTopic, key]: Row): Known {
  return { number, key, scope: { kind, name, topic, domainTopic } };
}

/** Of 52 bits, which a number holds exactly. */
function numberOf(scope: Scope): number {
  const hash = createHash("sha256").update(scopeKey(scope)).digest();
  return hash.readUIntBE(0, 6) * 16 + ((hash[6] ?? 0) >> 4);
}

function placeOf({ scope, level, at }: Omit<Stretch, "packed">): string {
  return `${scope} ${level} ${at}`;
}

function placeColumns(stretches: readonly Stretch[]): unknown[] {
  return [
    int8Array(stretches.map(({ scope }) => scope)),
    int2Array(stretches.map(({ level }) => level)),
    int8Array(stretches.map(({ at }) => at)),
  ];
}

function scopeColumns(scopes: readonly (readonly [number, Scope])[]): unknown[] {
  const column = (of: (scope: Scope) => string | null) =>
    textArray(scopes.map(([, scope]) => of(scope)));
  return [
    int8Array(scopes.map(([number]) => number)),
    column(scopeKey),
    column(({ kind }) => kind),
    column(({ name }) => name),
    column(({ topic }) => topic),
    column(({ domainTopic }) => domainTopic),
  ];
}

function bytesIn(packed: string): Uint8Array {
  return Buffer.from(packed, "base64");
}
