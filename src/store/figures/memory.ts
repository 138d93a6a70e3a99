// Figures in memory, for a broker that keeps nothing; and the reference for the other bodies. What
// it may hold is bounded: beyond that the oldest minutes go first.

import {
  type FigureQuery,
  type FigureRow,
  type Figures,
  isSelected,
  type Scope,
  type Series,
  SeriesFold,
  scopeKey,
} from "../../core/figures/figures.ts";
import { levelFor, levels, shortened, startOf } from "../../core/figures/steps.ts";
import { addPacked, emptySums, packSums } from "../../core/figures/sums.ts";
import type { Instant } from "../../core/ports.ts";

interface Track {
  readonly scope: Scope;
  /** By level, each by the beginning of its stretch, in the order of time. */
  readonly rows: readonly Map<Instant, Uint8Array>[];
}

const rowsMaxUsual = 100_000;

export class MemoryFigures implements Figures {
  readonly #tracks = new Map<string, Track>();
  readonly #rowsMax: number;
  #minutesKeptMs = levels[0].keptMs;

  constructor({ rowsMax = rowsMaxUsual }: { readonly rowsMax?: number } = {}) {
    this.#rowsMax = rowsMax;
  }

  async add(rows: readonly FigureRow[], now: Instant): Promise<void> {
    for (const { scope, at, packed } of rows) {
      const key = scopeKey(scope);
      const track = this.#tracks.get(key) ?? { scope, rows: levels.map(() => new Map()) };
      this.#tracks.set(key, track);
      for (const [index, { stepMs }] of levels.entries()) {
        const kept = track.rows[index] as Map<Instant, Uint8Array>;
        const start = startOf(at, stepMs);
        const sums = emptySums();
        addPacked(sums, kept.get(start) ?? new Uint8Array());
        addPacked(sums, packed);
        kept.set(start, packSums(sums));
      }
    }
    this.#forget(now);
  }

  async read({ selection, range, scopesMax }: FigureQuery): Promise<readonly Series[]> {
    const level = levels.indexOf(levelFor(range.stepMs));
    const found = [...this.#tracks].toSorted(([one], [other]) => (one < other ? -1 : 1));
    return found
      .map(([, track]) => track)
      .filter(({ scope }) => isSelected(scope, selection))
      .map(({ scope, rows }) => ({ scope, rows: within(rows[level], range.from, range.to) }))
      .filter(({ rows }) => rows.length > 0)
      .slice(0, scopesMax)
      .map(({ scope, rows }) => {
        const fold = new SeriesFold(range);
        for (const [at, packed] of rows) fold.add(at, packed);
        return fold.end(scope);
      });
  }

  async close(): Promise<void> {}

  #forget(now: Instant): void {
    this.#removeOld(now);
    const sizes = [...this.#tracks.values()].map(({ rows }) => rows[0]?.size ?? 0);
    if (sizes.reduce((sum, size) => sum + size, 0) <= this.#rowsMax) return;
    const starts = [...this.#tracks.values()].flatMap(({ rows }) => [...(rows[0]?.keys() ?? [])]);
    this.#minutesKeptMs = shortened(Math.min(...starts), now);
    this.#removeOld(now);
  }

  #removeOld(now: Instant): void {
    for (const [key, { rows }] of this.#tracks) {
      for (const [index, { keptMs }] of levels.entries()) {
        const before = now - (index === 0 ? this.#minutesKeptMs : keptMs);
        for (const at of rows[index]?.keys() ?? []) if (at < before) rows[index]?.delete(at);
      }
      if (rows.every(({ size }) => size === 0)) this.#tracks.delete(key);
    }
  }
}

function within(rows: ReadonlyMap<Instant, Uint8Array> | undefined, from: Instant, to: Instant) {
  return [...(rows ?? [])]
    .filter(([at]) => at >= from && at < to)
    .toSorted(([one], [other]) => one - other);
}
