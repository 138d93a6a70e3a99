// Keeps the figures up to date: counts every note as it is made, and a few times a minute adds what
// was counted, with what waits, to what is kept. Nobody waits for it. What could not be written is
// counted into the next try, and a crash loses the last seconds.

import type { FigureQuery, FigureRow, Figures, Series } from "../../core/figures/figures.ts";
import { type Backlog, Tally } from "../../core/figures/tally.ts";
import type { Ledger } from "../../core/ledger.ts";
import type { Clock, Instant, Log } from "../../core/ports.ts";
import type { Catalog } from "../../core/registry.ts";
import type { Chronicle } from "../../core/story/chronicle.ts";

export interface KeeperDeps {
  /** The id of this broker. */
  readonly broker: string;
  readonly figures: Figures;
  readonly chronicle: Pick<Chronicle, "listen">;
  readonly ledger: Pick<Ledger, "counts">;
  readonly catalog: () => Pick<Catalog, "subscriptions">;
  readonly clock: Clock;
  readonly log: Log;
  /** Calls at an interval of real time; the result ends it. */
  readonly every: (ms: number, ring: () => void) => () => void;
}

const writeEveryMs = 10_000;
/** A reader need not see what is newer than this. */
const freshMs = 1_000;
/** What may wait for a disk that refuses; the oldest is given up. */
const rowsMax = 50_000;

export class FigureKeeper {
  readonly #deps: KeeperDeps;
  readonly #tally: Tally;
  readonly #stop: () => void;
  readonly #deafen: () => void;
  #unwritten: readonly FigureRow[] = [];
  #writing: Promise<void> | null = null;
  #writtenAt: Instant = Number.NEGATIVE_INFINITY;
  #isFailing = false;

  constructor(deps: KeeperDeps) {
    this.#deps = deps;
    this.#tally = new Tally(deps.broker);
    this.#deafen = deps.chronicle.listen((note) => this.#tally.note(note));
    this.#stop = deps.every(writeEveryMs, () => void this.#write());
  }

  /** With what was counted until about now. */
  async read(query: FigureQuery): Promise<readonly Series[]> {
    if (this.#deps.clock.now() - this.#writtenAt >= freshMs) await this.#write();
    return await this.#deps.figures.read(query);
  }

  /** Everything is written first. */
  async close(): Promise<void> {
    this.#stop();
    this.#deafen();
    await this.#write();
    await this.#write();
    await this.#deps.figures.close();
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writeOnce().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  async #writeOnce(): Promise<void> {
    const { figures, clock, log } = this.#deps;
    const backlogs = await this.#backlogs();
    const now = clock.now();
    this.#writtenAt = now;
    const rows = [...this.#unwritten, ...this.#tally.take(now, backlogs)];
    try {
      await figures.add(rows, now);
      this.#unwritten = [];
      this.#isFailing = false;
    } catch (error) {
      this.#unwritten = rows.slice(-rowsMax);
      // Logged once until it recovers.
      const level = this.#isFailing ? "debug" : "warn";
      this.#isFailing = true;
      log.fact(level, "figures.unwritten", { rows: rows.length, reason: String(error) });
    }
  }

  /** The counts of a store that cannot be read are left out. */
  async #backlogs(): Promise<readonly Backlog[]> {
    try {
      const counts = await this.#deps.ledger.counts();
      const waiting = new Map<number, number>();
      for (const count of counts) {
        if (count.stage === "deliver") waiting.set(count.subscription, count.waiting);
      }
      return this.#deps.catalog().subscriptions.flatMap((subscription) => {
        const count = waiting.get(subscription.id);
        return count === undefined ? [] : [{ subscription, waiting: count }];
      });
    } catch {
      return [];
    }
  }
}
