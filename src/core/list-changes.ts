// A list that is asked for again and again: whoever names the revision they have seen gets what has
// changed since, and the rest is left out. Items are compared by their JSON, so that nothing has to
// announce a change. Kept for one list, in memory: a revision of another broker or of an earlier
// run is not known, and everything is answered.

export interface Changes<T> {
  /** To be named the next time. */
  readonly revision: string;
  /** Whether the items are all there are. */
  readonly isWhole: boolean;
  readonly items: readonly T[];
  /** The keys of those that are there no longer. */
  readonly gone: readonly string[];
}

interface Known {
  readonly json: string;
  readonly revision: number;
}

/** So many that are gone are remembered; who has not asked for longer gets everything. */
const goneMax = 10_000;

export class ListChanges<T> {
  readonly #run: string;
  readonly #keyOf: (item: T) => string;
  #known = new Map<string, Known>();
  /** With the revision in which they went, the oldest first. */
  #gone = new Map<string, number>();
  #revision = 0;
  /** What went before this is forgotten. */
  #since = 0;

  /** `run`: another one for each start. */
  constructor(run: string, keyOf: (item: T) => string) {
    this.#run = run;
    this.#keyOf = keyOf;
  }

  /** `items`: as the list is now. */
  answer(items: readonly T[], seen: string | undefined): Changes<T> {
    this.#compare(items);
    const revision = `${this.#run}.${this.#revision}`;
    const since = this.#read(seen);
    if (since === null) return { revision, isWhole: true, items, gone: [] };
    return {
      revision,
      isWhole: false,
      items: items.filter((item) => this.#isNewer(this.#known.get(this.#keyOf(item)), since)),
      gone: [...this.#gone].filter(([, at]) => at > since).map(([key]) => key),
    };
  }

  #isNewer(known: Known | undefined, since: number): boolean {
    return known === undefined || known.revision > since;
  }

  #compare(items: readonly T[]): void {
    const next = this.#revision + 1;
    const known = new Map<string, Known>();
    for (const item of items) {
      const key = this.#keyOf(item);
      const json = JSON.stringify(item);
      const before = this.#known.get(key);
      const isSame = before?.json === json;
      if (!isSame) this.#revision = next;
      if (before === undefined) this.#gone.delete(key);
      known.set(key, isSame ? before : { json, revision: next });
    }
    for (const key of this.#known.keys()) {
      if (known.has(key)) continue;
      this.#revision = next;
      this.#gone.set(key, next);
    }
    this.#known = known;
    for (const [key, at] of this.#gone) {
      if (this.#gone.size <= goneMax) break;
      this.#gone.delete(key);
      this.#since = at;
    }
  }

  /** Null: not one of ours, or too old. */
  #read(seen: string | undefined): number | null {
    const [run, number] = (seen ?? "").split(".");
    const since = Number(number);
    const isKnown = run === this.#run && since >= this.#since && since <= this.#revision;
    return isKnown ? since : null;
  }
}
