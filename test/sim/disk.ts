// The simulated disk under each kind of store: opened again for every life, and in trouble now and
// then (disk-faults.ts). What the store really did is written into the journal, beneath all
// trouble.

import type { DatabaseSync } from "node:sqlite";
import type { Delivery, DeliveryId, Queue } from "../../src/core/delivery/delivery.ts";
import type { Claim, Clock, Instant, Settlement, Wake, Want } from "../../src/core/ports.ts";
import type { Ended, Ending, Receive, Received } from "../../src/core/pull/pull-store.ts";
import { Refusal } from "../../src/core/refusal.ts";
import type { RecordNames } from "../../src/core/registry.ts";
import type { SkipStep } from "../../src/core/steering.ts";
import type { Subscription, SubscriptionId } from "../../src/core/subscription.ts";
import { MemoryStore } from "../../src/store/memory.ts";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { SqliteEngine } from "../../src/store/sqlite/engine.ts";
import { type Engine, FrontStore } from "../../src/store/sqlite/front.ts";
import { openMemoryJournal } from "../../src/store/sqlite/journal.ts";
import type { Op, OpResult, Round } from "../../src/store/sqlite/round.ts";
import type { Everything, Life } from "./broker-life.ts";
import { Dice } from "./dice.ts";
import { DiskWeather, FaultyDiskCalls } from "./disk-faults.ts";
import type { Journal } from "./journal.ts";
import type { DiskMood, Episode, Weather } from "./weather.ts";

/** What one life sees of the store. */
export interface OpenStore {
  readonly store: Everything;
  close(): Promise<void>;
}

export interface Disk {
  open(life: Life): OpenStore;
  /** The life that has it open has ended, with calls under way or without. */
  leave(): void;
  /** The store as it is, for those who stand outside the simulation. */
  readonly bare: Everything;
  /** What is left in it that should not be, as text. */
  leftovers(): Promise<readonly string[]>;
}

export interface DiskOptions {
  readonly weather: Weather;
  readonly episodes: readonly Episode<DiskMood>[];
  readonly clock: Clock;
  readonly dice: Dice;
  readonly journal: Journal;
  /** A broken part in place of the memory store, to see whether anyone notices. */
  readonly plant?: (store: Everything) => Everything;
}

export function openDisk(options: DiskOptions): Disk {
  return options.weather.store === "sqlite" ? new SqliteDisk(options) : new MemoryDisk(options);
}

const retryAfterMs = 1_000;

async function refuse(words: string): Promise<never> {
  throw new Refusal("Unavailable", `The store cannot write: ${words}`, { retryAfterMs });
}

async function fail(words: string): Promise<never> {
  throw new Error(words);
}

type Listeners = {
  readonly wake: ((wake: Wake) => void)[];
  readonly change: ((changed: RecordNames | null) => void)[];
  readonly dropped: ((subscription: SubscriptionId, count: number) => void)[];
};

class MemoryDisk implements Disk {
  readonly bare: Everything;
  readonly #options: DiskOptions;
  readonly #trouble: DiskWeather;
  readonly #isShared: boolean;
  /** The latest lease of each delivery, by its key. */
  readonly #leases = new Map<string, { readonly id: DeliveryId; readonly lease: number }>();
  #listeners: Listeners = { wake: [], change: [], dropped: [] };
  #calls: FaultyDiskCalls | null = null;

  constructor(options: DiskOptions) {
    this.#options = options;
    this.#isShared = options.weather.store === "shared";
    this.#trouble = new DiskWeather({ ...options, weather: options.weather.disk });
    this.bare = (options.plant ?? ((store) => store))(new MemoryStore());
    this.bare.onWake((wake) => {
      for (const listener of this.#listeners.wake) listener(wake);
    });
    // Of a store that others write to as well, some notices name nothing.
    const dice = new Dice(options.weather.seed, "notices");
    this.bare.onChange((changed) => {
      const isVague = this.#isShared && dice.isHit(0.3);
      for (const listener of this.#listeners.change) listener(isVague ? null : changed);
    });
    this.bare.onDropped((subscription, count) => {
      for (const listener of this.#listeners.dropped) listener(subscription, count);
    });
  }

  open(life: Life): OpenStore {
    const { clock, dice } = this.#options;
    const calls = new FaultyDiskCalls({ weather: this.#trouble, clock, dice });
    this.#calls = calls;
    this.#listeners = { wake: [], change: [], dropped: [] };
    const { bare } = this;
    const listeners = this.#listeners;
    const write = <T>(act: () => Promise<T>) => calls.through("registry", act, fail);
    const store: Everything = {
      ownership: bare.ownership,
      peers: bare.peers,
      append: (routed, now, by) => {
        const act = () => {
          this.#options.journal.appended(routed);
          return bare.append(routed, now, by);
        };
        return calls.through("append", act, refuse);
      },
      claim: (queue, want) => calls.through("claim", () => this.#claim(life, queue, want), fail),
      settle: (settlements) => calls.through("settle", () => this.#settle(life, settlements), fail),
      receive: (id, want) => calls.through("claim", () => this.#receive(life, id, want), fail),
      takeEnded: (id, want) => calls.through("claim", () => this.#takeEnded(life, id, want), fail),
      locked: (ids, now) => calls.through("look", () => bare.locked(ids, now), fail),
      onWake: (listener) => {
        const delayed = (wake: Wake) => {
          const delayMs = this.#trouble.wakeDelayMs();
          if (delayMs === 0) listener(wake);
          else clock.after(delayMs, () => listener(wake));
        };
        listeners.wake.push(delayed);
      },
      counts: () => calls.through("look", () => bare.counts(), fail),
      waiting: (queue, page) => calls.through("look", () => bare.waiting(queue, page), fail),
      look: (ids) => calls.through("look", () => bare.look(ids), fail),
      skip: (queue, step) => write(() => this.#skip(queue, step)),
      hasten: (queue, which) => write(() => this.#hasten(queue, which)),
      find: (systemId, after) => calls.through("look", () => bare.find(systemId, after), fail),
      notes: (kind) => calls.through("look", () => bare.notes(kind), fail),
      putMemo: (kind, key, record) =>
        write(() => {
          this.#options.journal.noted(kind, key, record);
          return bare.putMemo(kind, key, record);
        }),
      keepMemo: (kind, key, record) => write(() => bare.keepMemo(kind, key, record)),
      redriven: (keys) => calls.through("look", () => bare.redriven(keys), fail),
      noteRedriven: (notes) => write(() => bare.noteRedriven(notes)),
      catalog: (only) => calls.through("look", () => bare.catalog(only), fail),
      putTopic: (draft, revision) => write(() => bare.putTopic(draft, revision)),
      putSubscription: (draft, revision) =>
        write(async () => {
          const mark = this.#options.journal.mark();
          const written = await bare.putSubscription(draft, revision);
          this.#options.journal.recorded(written, mark);
          return written;
        }),
      removeTopic: (name) => write(() => bare.removeTopic(name)),
      removeSubscription: (id, revision) =>
        write(() => {
          const { journal } = this.#options;
          journal.removals.push({ ...journal.mark(), subscription: id });
          return bare.removeSubscription(id, revision);
        }),
      onChange: (listener) => listeners.change.push(listener),
      onDropped: (listener) => listeners.dropped.push(listener),
    };
    return { store: life.store(store), close: () => calls.idle() };
  }

  leave(): void {
    this.#listeners = { wake: [], change: [], dropped: [] };
    const calls = this.#calls;
    // Not in the middle of a call: what a store does at once, a crash does not divide.
    queueMicrotask(() => {
      calls?.cut(this.#isShared);
      this.#forget(this.#leases.values());
      this.#leases.clear();
    });
  }

  async leftovers(): Promise<readonly string[]> {
    const counts = await this.bare.counts();
    return counts.map(
      ({ subscription, stage, waiting }) => `${waiting} of ${subscription} ${stage}`,
    );
  }

  async #claim(life: Life, queue: Queue, want: Want): Promise<Claim> {
    const { journal } = this.#options;
    const mark = journal.mark();
    const claim = await this.bare.claim(queue, want);
    journal.claimed(life.number, claim.deliveries, mark);
    for (const { id, lease } of claim.deliveries) {
      this.#leases.set(`${id.event}/${id.subscription}`, { id, lease });
    }
    if (!life.isAlive) this.#forget(claim.deliveries);
    return claim;
  }

  async #receive(life: Life, id: SubscriptionId, want: Receive): Promise<Received> {
    const { journal } = this.#options;
    const mark = journal.mark();
    const received = await this.bare.receive(id, want);
    journal.handed({ life: life.number, to: "receiver", now: want.now }, received.deliveries, mark);
    return received;
  }

  async #takeEnded(life: Life, id: SubscriptionId, want: Ending): Promise<Ended> {
    const { journal } = this.#options;
    const mark = journal.mark();
    const ended = await this.bare.takeEnded(id, want);
    journal.handed({ life: life.number, to: "keeper", now: want.now }, ended.deliveries, mark);
    return ended;
  }

  async #settle(life: Life, settlements: readonly Settlement[]): Promise<readonly boolean[]> {
    const { journal } = this.#options;
    const mark = journal.mark();
    const counted = await this.bare.settle(settlements);
    journal.settled(life.number, settlements, counted, mark);
    return counted;
  }

  async #skip(queue: Queue, step: SkipStep | null) {
    this.#options.journal.skipped(queue);
    return await this.bare.skip(queue, step);
  }

  async #hasten(queue: Queue, which: { readonly event: number | null; readonly now: Instant }) {
    this.#options.journal.hastened(queue, which);
    return await this.bare.hasten(queue, which);
  }

  /** Leases kept in memory end with the life that held them. */
  #forget(leases: Iterable<{ readonly id: DeliveryId; readonly lease: number }>): void {
    if (this.#isShared) return;
    const backs = [...leases].map(
      ({ id, lease }): Settlement => ({ kind: "back", delivery: id, lease }),
    );
    void this.bare.settle(backs);
  }
}

/** Of a few events, so that rounds are committed now and then. */
const journalBytesMax = 6_000;

class SqliteDisk implements Disk {
  readonly bare: Everything;
  readonly #options: DiskOptions;
  readonly #trouble: DiskWeather;
  readonly #database: DatabaseSync;
  readonly #journal = openMemoryJournal();
  /** Of the present life: what an earlier one has not committed is undone, and repeated by it. */
  #engine: SqliteEngine;
  #isFull = false;
  #calls: FaultyDiskCalls | null = null;

  constructor(options: DiskOptions) {
    this.#options = options;
    this.#trouble = new DiskWeather({ ...options, weather: options.weather.disk });
    this.#database = openDatabase({ path: ":memory:" });
    this.#engine = this.#openEngine();
    const run = async (ops: readonly Op[]) => this.#engine.run(ops);
    this.bare = this.#front(options.clock, { run, close: async () => {} }, 0);
  }

  open(life: Life): OpenStore {
    const { clock, dice, weather } = this.#options;
    const calls = new FaultyDiskCalls({ weather: this.#trouble, clock, dice });
    this.#calls = calls;
    const engine = this.#openEngine();
    this.#engine = engine;
    const run = async (ops: readonly Op[]) => this.#run(engine, life, ops);
    const failAll = async (reason: string, ops: readonly Op[]): Promise<Round> => ({
      ...noRound,
      answers: ops.map((): OpResult => ({ kind: "failed", reason })),
    });
    const front = this.#front(
      life.clock,
      {
        run: (ops) =>
          life.guard("round", () =>
            calls.through(
              "round",
              () => run(ops),
              (words) => failAll(words, ops),
            ),
          ),
        // The next life opens the same database.
        close: async () => {},
      },
      weather.disk.gatherMs,
    );
    return { store: life.store(front), close: () => front.close() };
  }

  leave(): void {
    this.#calls?.cut(false);
  }

  async leftovers(): Promise<readonly string[]> {
    this.#engine.commit();
    return ["deliveries", "events", "removals", "retired"].flatMap((table) => {
      const row = this.#database.prepare(`SELECT count(*) AS count FROM ${table}`).get();
      return row?.count === 0 ? [] : [`${row?.count} ${table}`];
    });
  }

  #openEngine(): SqliteEngine {
    const options = { path: ":memory:", journal: this.#journal, journalBytesMax };
    return new SqliteEngine(options, this.#database);
  }

  #front(clock: Clock, engine: Engine, gatherMs: number): FrontStore {
    const { waitingCharsMax } = this.#options.weather.disk;
    const activity = { begin: () => () => {} };
    return new FrontStore({ engine, activity, clock, gatherMs, waitingCharsMax, retryAfterMs });
  }

  #run(engine: SqliteEngine, life: Life, ops: readonly Op[]): Round {
    const isFull = this.#trouble.mood === "full";
    if (isFull !== this.#isFull) {
      // SQLite takes less than there is for exactly as much as there is.
      this.#database.exec(`PRAGMA max_page_count = ${isFull ? 1 : 2 ** 30}`);
      this.#isFull = isFull;
    }
    const round = engine.run(ops);
    this.#write(life, ops, round);
    return round;
  }

  #write(life: Life, ops: readonly Op[], round: Round): void {
    const { journal } = this.#options;
    // What comes in one round comes at once: a deletion is reported last, and so undoes nothing of
    // it.
    const isRemoval = (op: Op) => op.kind === "removeSubscription";
    const ordered = [...ops.entries()].toSorted(
      ([, one], [, other]) => Number(isRemoval(one)) - Number(isRemoval(other)),
    );
    for (const [index, op] of ordered) {
      const answer = round.answers[index];
      if (answer?.kind !== "done") continue;
      if (op.kind === "append") {
        journal.appended(op.routed);
        journal.claimed(life.number, pushedBy(round, index, op));
      } else if (op.kind === "claim") {
        journal.claimed(life.number, (answer.value as Claim).deliveries);
      } else if (op.kind === "receive" || op.kind === "takeEnded") {
        const to = op.kind === "receive" ? "receiver" : "keeper";
        const { deliveries } = answer.value as Received | Ended;
        journal.handed({ life: life.number, to, now: op.want.now }, deliveries);
      } else if (op.kind === "settle") {
        journal.settled(life.number, op.settlements, answer.value as readonly boolean[]);
      } else if (op.kind === "skip" && op.step === null) {
        journal.skipped(op.queue);
      } else if (op.kind === "putSubscription") {
        journal.recorded(answer.value as Subscription);
      } else if (op.kind === "putNote") {
        journal.noted(op.of, op.key, op.record);
      } else if (op.kind === "hasten") {
        journal.hastened(op.queue, op);
      } else if (op.kind === "removeSubscription") {
        journal.removals.push({ ...journal.mark(), subscription: op.id });
      }
    }
  }
}

/** What an append leased to standing claims, as claims would have brought it. */
function pushedBy(
  round: Round,
  index: number,
  { routed, now }: Extract<Op, { kind: "append" }>,
): readonly Delivery[] {
  return round.pushes.flatMap((push) => {
    const event = routed[push.index]?.event;
    if (push.op !== index || event === undefined) return [];
    const { lease, leasedUntil, subscription } = push;
    return {
      id: { event: push.event, subscription },
      stage: "deliver",
      lease,
      leasedUntil,
      dueAt: now,
      attempts: 0,
      since: event.publishedAt,
      last: null,
      reason: null,
      event,
    };
  });
}

const noRound = { pushes: [], wakes: [], changed: null, dropped: [], sweep: false };
