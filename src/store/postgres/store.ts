// The store of many brokers: the ports on one PostgreSQL. Publishes, claims and settlements are
// gathered into rounds, each a statement; the parts are in files of their own. Queues belong to
// slots, and only the owner of a slot claims from them (core/cluster/slot.ts).
//
// What other brokers do is heard by notices and seen by looking: at the catalog and the mail with
// each heartbeat, and at the queues now and then.

import type { Ownership } from "../../core/cluster/ownership.ts";
import type { Peers } from "../../core/cluster/peers.ts";
import { oddJobsSlot, type Slot } from "../../core/cluster/slot.ts";
import type { RedrivenNote } from "../../core/deadletter/letter-store.ts";
import type {
  Claim,
  Clock,
  DeliveryId,
  Ending,
  Instant,
  Log,
  Queue,
  Receive,
  RecordNames,
  Routed,
  RoutedBy,
  Settlement,
  Wake,
  Want,
  WholeStore,
} from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { SkipStep } from "../../core/steering.ts";
import type { SubscriptionDraft, SubscriptionId } from "../../core/subscription.ts";
import type { TopicDraft } from "../../core/topic.ts";
import { type Rhythm, SlotKeeper } from "../cluster/slot-keeper.ts";
import { charsOf, Intake, type IntakeLimits } from "../intake.ts";
import { type Append, Appends } from "./append.ts";
import { type ClaimOp, Claims } from "./claim.ts";
import { Database, oneLine, retryAfterMs } from "./database.ts";
import { EventNumbers } from "./event-numbers.ts";
import { Lane } from "./lane.ts";
import { Leases } from "./leases.ts";
import { PostgresLedger } from "./ledger.ts";
import { Mail } from "./mail.ts";
import { keepMemo, noteRedriven, putMemo, readMemos, readRedriven } from "./memos.ts";
import { migrate } from "./migrate.ts";
import { type Notice, Notices, wakeNotice } from "./notices.ts";
import type { Parts } from "./parts.ts";
import { PostgresPull } from "./pull.ts";
import { PostgresRegistry } from "./registry.ts";
import { Settlements } from "./settle.ts";
import { PostgresSlotTable } from "./slot-table.ts";
import { PostgresSteering } from "./steering.ts";
import { PostgresSweep } from "./sweep.ts";
import type { Target } from "./target.ts";
import { Times } from "./times.ts";

export interface PostgresOptions extends Omit<IntakeLimits, "retryAfterMs"> {
  readonly target: Target;
  readonly clock: Clock;
  /** Milliseconds that only count, whatever happens to the machine's time. */
  readonly elapsed: () => number;
  readonly log: Log;
  /** This broker's name in the cluster: a new one with every start. */
  readonly broker: string;
  /** Of this broker to the database; at least three. */
  readonly connectionsMax: number;
  /** Whether brokers tell each other by LISTEN and NOTIFY. */
  readonly isNotifying: boolean;
  readonly rhythm: Rhythm;
  /** How long a round of settlements waits for more. */
  readonly gatherMs: number;
  /** Resolves when everything that came in together has been handled. */
  readonly turn?: () => Promise<void>;
  /** A round of publishes took so long. */
  readonly onRound?: (ms: number, operations: number) => void;
}

/** One for heartbeats, one for notices. */
const ownConnections = 2;
/** How often queues are looked at, with notices and without. */
const pollMs = { notified: 10_000, alone: 500 };
const queuesPerLook = 1_000;
const tidyMs = 30_000;
const snapshotMinutesMax = 15;
const oldestSnapshot = {
  name: "oldest_snapshot",
  text: `
  select extract(epoch from max(clock_timestamp() - xact_start))::int8 from pg_stat_activity
  where backend_xmin is not null`,
};
const notify = { name: "notify", text: "select pg_notify('posthorn', $1)" };
/** A range of leases for each epoch. */
const leasesPerEpoch = 2 ** 32;

export class PostgresStore implements WholeStore {
  readonly isShared = true;
  readonly ownership: Ownership;
  readonly peers: Peers;
  /** For others that keep something in the same database. */
  readonly database: Database;
  readonly #options: PostgresOptions;
  readonly #beats: Database;
  readonly #keeper: SlotKeeper;
  readonly #table: PostgresSlotTable;
  readonly #notices: Notices | null;
  readonly #parts: Parts;
  readonly #intake: Intake;
  readonly #appends: Lane<Append, readonly number[]>;
  readonly #claims: Lane<ClaimOp, Claim>;
  readonly #settlements: Lane<readonly Settlement[], readonly boolean[]>;
  readonly #claiming: Claims;
  readonly #pull: PostgresPull;
  readonly #ledger: PostgresLedger;
  readonly #steering: PostgresSteering;
  readonly #registry: PostgresRegistry;
  readonly #sweep: PostgresSweep;
  readonly #mail: Mail;
  readonly #leases = new Leases();
  readonly #times = new Times();
  readonly #self: { readonly broker: string; epoch: number };
  readonly #wakeListeners: ((wake: Wake) => void)[] = [];
  /** What was dropped before anybody listened. */
  readonly #unheard: [SubscriptionId, number][] = [];
  readonly #droppedListeners: ((subscription: SubscriptionId, count: number) => void)[] = [];
  #leasesMade = 0;
  /** Of the last round of publishes. */
  #writeFailure: string | null = null;
  #hasWarned = false;
  #alarms: (() => void)[] = [];
  #isClosed = false;

  private constructor(options: PostgresOptions) {
    this.#options = options;
    const { target, clock, log, connectionsMax, isNotifying, broker } = options;
    const name = `posthorn ${broker}`;
    const others = Math.max(1, connectionsMax - ownConnections);
    this.database = new Database({ target, clock, log, name, connectionsMax: others });
    const quiet = { fact: () => {} };
    this.#beats = new Database({ target, clock, log: quiet, name, connectionsMax: 1 });
    this.#self = { broker, epoch: 0 };
    this.#parts = this.#partsOf();
    this.#registry = new PostgresRegistry({
      ...{ database: this.database, leases: this.#leases, isNotifying },
      onRemoval: () => this.#sweep.begin(),
    });
    this.#mail = new Mail(this.#parts, isNotifying);
    this.#table = new PostgresSlotTable({
      ...{ database: this.#beats, now: () => clock.now(), isNotifying },
      onBeat: ({ epoch, version, hasMail, now, here }) => {
        this.#begin(epoch);
        this.#times.measured(now, here);
        this.#registry.hear(version);
        if (hasMail) this.#mail.hear();
      },
    });
    this.#keeper = new SlotKeeper({
      ...{ broker, clock, log, table: this.#table, elapsed: options.elapsed },
      rhythm: options.rhythm,
      onChange: ({ lost }) => this.#forget(lost),
      handOver: (subscription, to) => this.#registry.handOver(subscription, to),
    });
    this.ownership = this.#keeper;
    this.peers = {
      list: () => Promise.resolve(this.#keeper.peers()),
      tell: (about) => this.#keeper.tell(about),
      post: (to, text) => this.#mail.post(to, text),
      onPost: (listener) => this.#mail.onPost(listener),
    };
    this.#notices = isNotifying
      ? new Notices({
          ...{ target, clock, name, hear: (notice) => this.#hear(notice) },
          onOpen: () => this.#lookAround(),
        })
      : null;
    const nextLease = () => ++this.#leasesMade;
    this.#intake = new Intake({ ...options, retryAfterMs });
    const appending = new Appends(this.#parts, nextLease);
    this.#appends = new Lane({
      ...{ clock, inFlightMax: 2, gatherMs: 0, turn: options.turn },
      run: (ops) => this.#measured(ops, () => appending.run(ops)),
      weightOf: ({ routed }) => charsOf(routed) + routed.length * 200,
      weightMax: 2_000_000,
    });
    this.#claiming = new Claims(this.#parts, nextLease);
    this.#claims = new Lane({
      ...{ clock, inFlightMax: 2, gatherMs: 0, run: (ops) => this.#claiming.run(ops) },
      ...{ weightOf: () => 1, weightMax: 200 },
    });
    const settling = new Settlements(this.#parts);
    this.#settlements = new Lane({
      ...{ clock, inFlightMax: 2, gatherMs: options.gatherMs, run: (ops) => settling.run(ops) },
      ...{ weightOf: (settlements) => settlements.length, weightMax: 500 },
    });
    this.#pull = new PostgresPull(this.#parts, (count) => {
      this.#leasesMade += count;
      return this.#leasesMade - count;
    });
    this.#ledger = new PostgresLedger(this.#parts);
    this.#steering = new PostgresSteering(this.#parts);
    this.#sweep = new PostgresSweep(this.#parts, (id, count) => this.#dropped(id, count));
    this.database.onBack(() => this.#lookAround());
  }

  /** Makes or updates the tables, and begins to be a broker of the cluster. */
  static async open(options: PostgresOptions): Promise<PostgresStore> {
    const store = new PostgresStore(options);
    try {
      await migrate(store.database, options.target.schema);
      await store.#registry.begin();
      await store.#keeper.begin();
      await store.#notices?.begin();
      store.#poll();
      store.#tidy();
      store.#sweep.begin();
      return store;
    } catch (error) {
      await store.#end();
      throw error;
    }
  }

  /** Why nothing can be written at present; null: as far as is known, it can. */
  get failure(): string | null {
    return this.database.failure ?? this.#writeFailure;
  }

  /** How far the database's clock is ahead of ours, where that is more than a little. */
  get clockOffsetMs(): number {
    return this.#times.offsetMs;
  }

  async append(routed: readonly Routed[], now: Instant, by?: RoutedBy) {
    if (routed.some(({ event }) => event.text.includes("\0"))) {
      throw new Refusal("InputJsonInvalid", "An event has the letter NUL, which cannot be kept.");
    }
    return await this.#intake.through(routed, now, () => this.#appends.do({ routed, now, by }));
  }

  async claim(queue: Queue, want: Want): Promise<Claim> {
    const { sinceBefore } = want;
    if (sinceBefore === undefined) return await this.#claims.do({ queue, want });
    return await this.#claiming.old({ queue, want }, sinceBefore);
  }

  async settle(settlements: readonly Settlement[]): Promise<readonly boolean[]> {
    return settlements.length === 0 ? [] : await this.#settlements.do(settlements);
  }

  onWake(listener: (wake: Wake) => void): void {
    this.#wakeListeners.push(listener);
  }

  receive(subscription: SubscriptionId, want: Receive) {
    return this.#pull.receive(subscription, want);
  }

  takeEnded(subscription: SubscriptionId, want: Ending) {
    return this.#pull.takeEnded(subscription, want);
  }

  locked(subscriptions: readonly SubscriptionId[], now: Instant) {
    return this.#pull.locked(subscriptions, now);
  }

  counts() {
    return this.#ledger.counts();
  }

  waiting(queue: Queue, page: { readonly after: number; readonly limit: number }) {
    return this.#ledger.waiting(queue, page);
  }

  look(ids: readonly DeliveryId[]) {
    return this.#ledger.look(ids);
  }

  skip(queue: Queue, step: SkipStep | null) {
    return this.#steering.skip(queue, step);
  }

  hasten(queue: Queue, which: { readonly event: number | null; readonly now: Instant }) {
    return this.#steering.hasten(queue, which);
  }

  find(systemId: string, after: number) {
    return this.#steering.find(systemId, after);
  }

  notes(kind: string) {
    return readMemos(this.database, kind);
  }

  putMemo(kind: string, key: string, record: object | null) {
    return putMemo(this.database, [kind, key], record);
  }

  keepMemo(kind: string, key: string, record: object) {
    return keepMemo(this.database, [kind, key], record);
  }

  redriven(keys: readonly string[]) {
    return readRedriven(this.database, keys);
  }

  noteRedriven(notes: readonly RedrivenNote[]) {
    return noteRedriven(this.database, notes);
  }

  catalog(only?: RecordNames) {
    return this.#registry.catalog(only);
  }

  putTopic(draft: TopicDraft, revision?: number) {
    return this.#registry.putTopic(draft, revision);
  }

  putSubscription(draft: SubscriptionDraft, revision?: number) {
    return this.#registry.putSubscription(draft, revision);
  }

  removeTopic(name: string) {
    return this.#registry.removeTopic(name);
  }

  removeSubscription(id: SubscriptionId, revision?: number) {
    return this.#registry.removeSubscription(id, revision);
  }

  onChange(listener: (changed: RecordNames | null) => void): void {
    this.#registry.onChange(listener);
  }

  catchUp() {
    return this.#registry.catchUp();
  }

  onDropped(listener: (subscription: SubscriptionId, count: number) => void): void {
    this.#droppedListeners.push(listener);
    for (const [subscription, count] of this.#unheard.splice(0)) listener(subscription, count);
  }

  /** What was called before is still carried out. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    await Promise.all([this.#appends.idle(), this.#claims.idle(), this.#settlements.idle()]);
    await this.#sweep.idle();
    await this.#keeper.leave();
    await this.#end();
  }

  /** As a crash would: nothing is given away, and what is under way is cut off. */
  async abandon(): Promise<void> {
    await this.#end();
  }

  async #end(): Promise<void> {
    this.#isClosed = true;
    for (const callOff of this.#alarms.splice(0)) callOff();
    await this.#notices?.close();
    await this.#beats.close();
    await this.database.close();
    // Without a database it only stops.
    await this.#keeper.leave();
  }

  #partsOf(): Parts {
    const { clock, log, isNotifying } = this.#options;
    return {
      ...{ database: this.database, clock, log, times: this.#times, leases: this.#leases },
      ...{ numbers: new EventNumbers(this.database), self: this.#self },
      isMine: (slot) => this.#keeper.isMine(slot),
      owns: (slot) => this.#keeper.termOf(slot) !== null,
      wake: (wake) => this.#wake(wake),
      hint: (due) => {
        if (!isNotifying) return null;
        return wakeNotice(new Map([...due].map(([id, at]) => [id, this.#times.there(at)])));
      },
      tell: (due) => {
        if (!isNotifying) return;
        const there = new Map([...due].map(([id, at]) => [id, this.#times.there(at)]));
        this.database.query(notify, [wakeNotice(there)]).catch(() => {});
      },
      catchUp: () => this.#registry.catchUp(),
    };
  }

  /** Another epoch: whatever was leased before does not count any more. */
  #begin(epoch: number): void {
    if (epoch === this.#self.epoch) return;
    this.#self.epoch = epoch;
    this.#leasesMade = epoch * leasesPerEpoch;
    this.#leases.clear(() => true);
  }

  #forget(lost: readonly Slot[]): void {
    const slots = new Set(lost);
    if (slots.size > 0) this.#leases.clear((slot) => slots.has(slot));
  }

  async #measured<T>(ops: readonly Append[], run: () => Promise<T>): Promise<T> {
    const { clock, onRound } = this.#options;
    const begun = clock.now();
    try {
      const answer = await run();
      const tookMs = clock.now() - begun;
      const chars = ops.reduce((sum, { routed }) => sum + charsOf(routed), 0);
      this.#intake.measured(chars, tookMs);
      onRound?.(tookMs, ops.length);
      this.#writeFailure = null;
      return answer;
    } catch (error) {
      if (this.#writeFailure === null) this.#probeLater();
      this.#writeFailure = oneLine((error as Error).cause ?? error);
      throw error;
    }
  }

  /** A small record is written until that succeeds: publishers may have stopped meanwhile. */
  #probeLater(): void {
    this.#later(retryAfterMs, async () => {
      if (this.#writeFailure === null) return;
      try {
        await this.putMemo("store", "probe", {});
        this.#writeFailure = null;
      } catch {
        this.#probeLater();
      }
    });
  }

  #wake(wake: Wake): void {
    const leases = this.#leases.find(wake.queue);
    if (leases !== undefined && wake.deliveries.length === 0) leases.nextDueAt = wake.dueAt;
    for (const listener of this.#wakeListeners) listener(wake);
  }

  #dropped(subscription: SubscriptionId, count: number): void {
    if (this.#droppedListeners.length === 0) this.#unheard.push([subscription, count]);
    for (const listener of this.#droppedListeners) listener(subscription, count);
  }

  #hear(notice: Notice): void {
    switch (notice.kind) {
      case "catalog":
        void this.#registry.catchUp().catch(() => {});
        return;
      case "slots":
        this.#table.hint();
        return;
      case "mail":
        if (notice.to === this.#self.broker) this.#mail.hear();
        return;
      case "wake": {
        if (notice.due === null) return void this.#lookSoon();
        for (const [subscription, at] of notice.due) {
          const slot = this.#leases.slotOf(subscription);
          const isPull = this.#leases.isPull(subscription);
          if (slot === undefined || !(isPull || this.#keeper.isMine(slot))) continue;
          const queue = { subscription, stage: "deliver" } as const;
          this.#wake({ queue, dueAt: this.#times.here(at), deliveries: [] });
        }
        return;
      }
      default:
        notice satisfies never;
    }
  }

  /** After a time in which notices may have been missed. */
  #lookAround(): void {
    void this.#registry.catchUp().catch(() => {});
    this.#mail.hear();
    this.#table.hint();
    this.#lookSoon();
  }

  /** If the database is away, the next poll looks again. */
  #lookSoon(): void {
    void this.#look().catch(() => {});
  }

  #later(ms: number, act: () => Promise<void>): void {
    if (this.#isClosed) return;
    const callOff = this.#options.clock.after(ms, () => {
      this.#alarms = this.#alarms.filter((each) => each !== callOff);
      void act().catch(() => {});
    });
    this.#alarms.push(callOff);
  }

  #every(ms: number, act: () => Promise<void>): void {
    this.#later(ms, () => act().finally(() => this.#every(ms, act)));
  }

  #poll(): void {
    this.#every(this.#options.isNotifying ? pollMs.notified : pollMs.alone, () => this.#look());
  }

  #tidy(): void {
    this.#every(tidyMs, async () => {
      if (!this.#keeper.isMine(oddJobsSlot)) return;
      await this.#sweep.tidy();
      await this.#warnOfSnapshots();
    });
  }

  /** While one is open, nothing finished since can be cleaned up, and claims become slower. */
  async #warnOfSnapshots(): Promise<void> {
    const [row] = await this.database.query(oldestSnapshot);
    const minutes = Math.floor((row?.[0] ?? 0) / 60);
    if (minutes < snapshotMinutesMax) this.#hasWarned = false;
    else if (!this.#hasWarned) {
      this.#hasWarned = true;
      const remedy = "see pg_stat_activity: end it, or run it on a standby";
      this.#options.log.fact("warn", "database.oldSnapshot", { minutes, remedy });
    }
  }

  /** Wakes each queue of ours that has something due earlier than its reader was told. */
  async #look(): Promise<void> {
    const { clock } = this.#options;
    const all = [...this.#leases.queuesOf((slot) => this.#keeper.isMine(slot))];
    for (let from = 0; from < all.length && !this.#isClosed; from += queuesPerLook) {
      const some = all.slice(from, from + queuesPerLook);
      const dueAts = await this.#claiming.look(
        some.map(({ queue }) => queue),
        clock.now(),
      );
      for (const [index, { queue, leases }] of some.entries()) {
        const dueAt = dueAts[index] ?? null;
        const isLate = leases.nextDueAt === null || (dueAt ?? 0) < leases.nextDueAt;
        if (dueAt !== null && isLate) this.#wake({ queue, dueAt, deliveries: [] });
      }
    }
  }
}
