// Keeps this broker's slots in a cluster: renews its lease in a steady rhythm, takes slots that are
// free, and gives some away when others have too little (core/cluster/balance.ts).
//
// The lease is the broker's, one row for everything it owns. It is counted here from the *start* of
// the last heartbeat that succeeded, on a clock that only counts, and ends a margin before the
// database may give the slots to others. Past it nothing is mine, whether an alarm has rung or not:
// `isMine` looks at the clock. The next heartbeat that succeeds says what is still ours.
//
// All calls of the table are made one after the other, so that no answer is older than what is
// known.

import { planFor, type SlotState } from "../../core/cluster/balance.ts";
import type { Ownership, SlotListener } from "../../core/cluster/ownership.ts";
import type { Peer } from "../../core/cluster/peers.ts";
import type { Slot } from "../../core/cluster/slot.ts";
import type { Clock, Log } from "../../core/ports.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import type { ClusterRows, Loads, SlotTable } from "./slot-table.ts";

export interface SlotKeeperOptions {
  /** New with every start. */
  readonly broker: string;
  readonly table: SlotTable;
  readonly clock: Clock;
  /** Milliseconds that only count, whatever happens to the machine's time. */
  readonly elapsed: () => number;
  readonly log: Log;
  readonly rhythm: Rhythm;
  /** The store's own part: it forgets the leases of slots that come and go. */
  readonly onChange?: (change: { gained: readonly Slot[]; lost: readonly Slot[] }) => void;
  readonly handOver: (subscription: SubscriptionId, to: Slot) => Promise<void>;
}

export interface Rhythm {
  readonly leaseMs: number;
  readonly beatMs: number;
  /** How long before the end of the lease nothing more is begun. */
  readonly marginMs: number;
}

/** A dead broker's slots are free within the lease, and taken within a beat. */
export const usualRhythm: Rhythm = { leaseMs: 6_000, beatMs: 1_500, marginMs: 1_000 };

/** How soon a failed heartbeat is repeated. */
const retryMs = 500;
/** How long after the end of another's lease it is looked for. */
const afterEndMs = 20;

export class SlotKeeper implements Ownership {
  readonly #options: SlotKeeperOptions;
  /** What is ours, with its term. */
  readonly #held = new Map<Slot, number>();
  /** Ours, and being given away: nothing more is begun. */
  readonly #leaving = new Map<Slot, object>();
  /** Given away by everyone here, and to be freed in the table. */
  readonly #idle = new Set<Slot>();
  /**
   * What slots sent that are given away, or whose broker is gone, told for a while: without it they
   * would count as idle until they are measured anew, and move again.
   */
  readonly #given = new Map<Slot, { readonly load: number; readonly until: number }>();
  #listener: SlotListener | null = null;
  #about: object = {};
  #rows: ClusterRows | null = null;
  /** As of the last heartbeat. */
  #owners: ReadonlyMap<Slot, string | null> = new Map();
  /** By both clocks: one does not count while a machine sleeps, the other may be set. */
  #deadline = { elapsed: Number.NEGATIVE_INFINITY, at: Number.NEGATIVE_INFINITY };
  #isStopping = false;
  /** Nothing of the table is touched any more. */
  #isGone = false;
  #isFailing = false;
  #isInheriting = false;
  #loop: Promise<void> | null = null;
  #isAgain = false;
  #callOff = () => {};
  #callOffEnd = () => {};

  constructor(options: SlotKeeperOptions) {
    this.#options = options;
    options.table.onHint(() => this.#beatNow());
  }

  get broker(): string {
    return this.#options.broker;
  }

  isMine(slot: Slot): boolean {
    return this.#held.has(slot) && !this.#leaving.has(slot) && !this.#isPast();
  }

  /** What settlements are fenced with; also while the slot is given away. Null: not ours. */
  termOf(slot: Slot): number | null {
    return this.#isPast() || this.#idle.has(slot) ? null : (this.#held.get(slot) ?? null);
  }

  /** Nothing is taken before somebody can serve it. */
  listen(listener: SlotListener): void {
    this.#listener = listener;
    this.#beatNow();
  }

  handOver(subscription: SubscriptionId, to: Slot): Promise<void> {
    return this.#options.handOver(subscription, to);
  }

  tell(about: object): void {
    this.#about = about;
  }

  /** How many brokers there are, as of the last heartbeat. */
  get brokers(): number {
    return this.#rows?.brokers.length ?? 1;
  }

  /** Who owned it as of the last heartbeat; null: nobody. */
  ownerOf(slot: Slot): string | null {
    return this.#owners.get(slot) ?? null;
  }

  /** As of the last heartbeat. */
  peers(): readonly Peer[] {
    const { brokers = [], slots = [] } = this.#rows ?? {};
    return brokers.map(({ loads: _loads, isServing: _isServing, ...peer }) => ({
      ...peer,
      slots: slots.filter(({ owner }) => owner === peer.id).map(({ slot }) => slot),
    }));
  }

  /** Resolves after the first heartbeat, also if it failed: it is repeated. */
  async begin(): Promise<void> {
    this.#beatNow();
    await this.#loop;
  }

  async leave(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    await Promise.all([...this.#held.keys()].map((slot) => this.#release(slot)));
    this.#isGone = true;
    await this.#loop;
    this.#callOff();
    this.#callOffEnd();
    this.#held.clear();
    // If it fails, the lease ends by itself.
    await this.#options.table.leave(this.broker).catch(() => {});
  }

  #isPast(): boolean {
    const { clock, elapsed } = this.#options;
    return elapsed() >= this.#deadline.elapsed || clock.now() >= this.#deadline.at;
  }

  // The rhythm.

  #beatNow(): void {
    if (this.#isGone) return;
    if (this.#loop !== null) {
      this.#isAgain = true;
      return;
    }
    this.#callOff();
    this.#loop = this.#round().finally(() => {
      this.#loop = null;
      if (this.#isAgain) this.#beatNow();
    });
  }

  async #round(): Promise<void> {
    this.#isAgain = false;
    const { beatMs } = this.#options.rhythm;
    let waitMs = beatMs;
    try {
      await this.#beat();
      await this.#change();
      waitMs = Math.min(beatMs, this.#nextEndMs());
      if (this.#isFailing) this.#options.log.fact("info", "cluster.back", { broker: this.broker });
      this.#isFailing = false;
    } catch (error) {
      waitMs = Math.min(retryMs, beatMs);
      if (!this.#isFailing) {
        const why = error instanceof Error ? error.message : String(error);
        this.#options.log.fact("warn", "cluster.away", { broker: this.broker, why });
      }
      this.#isFailing = true;
    }
    this.#goOn(waitMs);
  }

  /** Until just after another broker's lease ends, unless it is renewed: its slots are free. */
  #nextEndMs(): number {
    const { now = 0, brokers = [] } = this.#rows ?? {};
    const { leaseMs } = this.#options.rhythm;
    const ends = brokers.map(({ seenAt }) => seenAt + leaseMs + afterEndMs - now);
    // One that is alive all the same has a longer lease.
    return Math.min(...ends.filter((ms) => ms > 0));
  }

  #goOn(waitMs: number): void {
    this.#callOff();
    if (this.#isGone) return;
    this.#callOff = this.#options.clock.after(waitMs, () => this.#beatNow());
  }

  async #beat(): Promise<void> {
    const { table, clock, elapsed, rhythm } = this.#options;
    const { leaseMs, marginMs } = rhythm;
    const begun = { elapsed: elapsed(), at: clock.now() };
    const loads = this.#loads();
    const isServing = this.#listener !== null && !this.#isStopping;
    const self = { id: this.broker, about: this.#about, loads, isServing, leaseMs };
    const rows = await table.beat(self);
    this.#inherit(rows);
    this.#rows = rows;
    this.#owners = new Map(rows.slots.map(({ slot, owner }) => [slot, owner]));
    // Whoever asked meanwhile was told that nothing is ours.
    if (this.#isPast()) this.#drop([...this.#held.keys()]);
    const lastsMs = leaseMs - marginMs;
    this.#deadline = { elapsed: begun.elapsed + lastsMs, at: begun.at + lastsMs };
    this.#callOffEnd();
    if (!this.#isPast()) this.#awaitEnd();
    this.#compare(rows);
  }

  /**
   * Who notices that a broker is gone tells what its slots sent, and looks again before it takes
   * any: so all who share them out go by the same loads.
   */
  #inherit(rows: ClusterRows): void {
    if (this.#rows === null) return;
    const [before, after] = [loadsIn(this.#rows), loadsIn(rows)];
    const until = this.#options.clock.now() + this.#options.rhythm.leaseMs;
    this.#isInheriting = false;
    for (const { slot, owner } of rows.slots) {
      const load = before(slot, this.ownerOf(slot));
      if (owner !== null || load === 0 || after(slot, null) > 0) continue;
      this.#given.set(slot, { load, until });
      this.#isInheriting = true;
    }
    if (this.#isInheriting) this.#isAgain = true;
  }

  #awaitEnd(): void {
    const { clock, elapsed } = this.#options;
    const leftMs = Math.ceil(this.#deadline.elapsed - elapsed());
    this.#callOffEnd = clock.after(Math.max(0, leftMs), () => {
      if (this.#isPast()) this.#drop([...this.#held.keys()]);
      else this.#awaitEnd();
    });
  }

  // What is ours.

  /** What the table says of us counts. */
  #compare({ slots }: ClusterRows): void {
    if (this.#isPast()) {
      this.#drop([...this.#held.keys()]);
      return;
    }
    const terms = new Map(
      slots.filter(({ owner }) => owner === this.broker).map(({ slot, term }) => [slot, term]),
    );
    this.#drop([...this.#held].filter(([slot, term]) => terms.get(slot) !== term).map(first));
    // Ours after all: the answer to a take was lost, or the lease has ended and nobody came.
    this.#gain([...terms].filter(([slot]) => !this.#held.has(slot)));
  }

  async #change(): Promise<void> {
    const { table } = this.#options;
    const idle = [...this.#idle];
    if (idle.length > 0) {
      await table.free(this.broker, idle);
      const until = this.#options.clock.now() + this.#options.rhythm.leaseMs;
      for (const slot of idle) {
        this.#idle.delete(slot);
        this.#leaving.delete(slot);
        this.#held.delete(slot);
        const given = this.#given.get(slot);
        if (given !== undefined) this.#given.set(slot, { ...given, until });
      }
    }
    const rows = this.#rows;
    const isReady = this.#listener !== null && !this.#isInheriting;
    if (rows === null || !isReady || this.#isStopping || this.#isPast()) return;
    const brokers = rows.brokers.filter(({ isServing }) => isServing).map(({ id }) => id);
    // Our row is from before we were listened to.
    if (!brokers.includes(this.broker)) return;
    const { take, give } = planFor(this.broker, brokers, this.#states(rows, new Set(brokers)));
    for (const slot of give) void this.#release(slot);
    const free = take.filter((slot) => !this.#held.has(slot));
    if (free.length === 0) return;
    const taken = await table.take(this.broker, free);
    this.#gain(taken.map(({ slot, term }) => [slot, term]));
  }

  /**
   * What we give away is already somebody else's, as far as the balance is concerned. What a broker
   * that leaves has not given away yet is nobody's business.
   */
  #states(rows: ClusterRows, serving: ReadonlySet<string>): readonly SlotState[] {
    const loadOf = loadsIn(rows);
    return rows.slots
      .filter(({ owner }) => owner === null || serving.has(owner))
      .map(({ slot, owner }) => ({
        slot,
        owner: this.#leaving.has(slot) ? null : owner,
        load: loadOf(slot, owner),
      }));
  }

  #gain(slots: readonly (readonly [Slot, number])[]): void {
    if (slots.length === 0) return;
    for (const [slot, term] of slots) {
      this.#held.set(slot, term);
      this.#given.delete(slot);
    }
    const gained = slots.map(first);
    this.#options.onChange?.({ gained, lost: [] });
    this.#listener?.gained(gained, new Map(gained.map((slot) => [slot, this.#loadOf(slot)])));
  }

  #drop(slots: readonly Slot[]): void {
    if (slots.length === 0) return;
    for (const slot of slots) {
      this.#held.delete(slot);
      this.#leaving.delete(slot);
      this.#idle.delete(slot);
    }
    const { log } = this.#options;
    log.fact("warn", "slots.lost", { broker: this.broker, count: slots.length });
    this.#options.onChange?.({ gained: [], lost: slots });
    this.#listener?.lost(slots);
  }

  async #release(slot: Slot): Promise<void> {
    if (this.#leaving.has(slot)) return;
    const turn = {};
    this.#leaving.set(slot, turn);
    this.#given.set(slot, { load: this.#loadOf(slot), until: Number.POSITIVE_INFINITY });
    await this.#listener?.release([slot]);
    // It may have been lost meanwhile, and even be ours again.
    if (this.#leaving.get(slot) !== turn) return;
    this.#idle.add(slot);
    // From now on it may be another's: nothing of before counts, also if it comes back.
    this.#options.onChange?.({ gained: [], lost: [slot] });
    this.#beatNow();
  }

  /** As of the last heartbeat. */
  #loadOf(slot: Slot): number {
    return this.#rows === null ? 0 : loadsIn(this.#rows)(slot, this.ownerOf(slot));
  }

  #loads(): Loads {
    const now = this.#options.clock.now();
    for (const [slot, { until }] of this.#given) if (until <= now) this.#given.delete(slot);
    const given = [...this.#given].filter(([, { load }]) => load > 0);
    const told = given.map(([slot, { load }]) => [slot, load] as const);
    return Object.fromEntries([...told, ...(this.#listener?.loads() ?? [])]);
  }
}

/** What the owner tells, or else who had it before. The same for all who see the same rows. */
function loadsIn({ brokers }: ClusterRows): (slot: Slot, owner: string | null) => number {
  const byBroker = new Map(brokers.map(({ id, loads }) => [id, loads]));
  return (slot, owner) =>
    (owner === null ? undefined : byBroker.get(owner)?.[slot]) ??
    Math.max(0, ...brokers.map(({ loads }) => loads[slot] ?? 0));
}

function first([slot]: readonly [Slot, unknown]): Slot {
  return slot;
}
