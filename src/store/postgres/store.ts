// The store of many brokers: the ports on one PostgreSQL. Publishes, claims and settlements are
// gathered into rounds, each a statement; the parts are in files of their own. Queues belong to
// slots, and only the owner of a slot claims from them (core/cluster/slot.ts).
//
// What other brokers do is heard by notices and seen by looking (lookout.ts): at the catalog and
// the mail with each heartbeat, and at the queues now and then.

import type { Ownership } from "../../core/cluster/ownership.ts";
import type { Peers } from "../../core/cluster/peers.ts";
import type { Slot } from "../../core/cluster/slot.ts";
import type { RedrivenNote } from "../../core/deadletter/letter-store.ts";
import type { DeliveryId, Queue } from "../../core/delivery/delivery.ts";
import type {
  Claim,
  Instant,
  Routed,
  RoutedBy,
  Settlement,
  Wake,
  Want,
  WholeStore,
} from "../../core/ports.ts";
import type { Ending, Receive } from "../../core/pull/pull-store.ts";
import { Refusal } from "../../core/refusal.ts";
import type { RecordNames } from "../../core/registry.ts";
import type { SkipStep } from "../../core/steering.ts";
import type { SubscriptionDraft, SubscriptionId } from "../../core/subscription.ts";
import type { TopicDraft } from "../../core/topic.ts";
import { SlotKeeper } from "../cluster/slot-keeper.ts";
import { charsOf, Intake } from "../intake.ts";
import { Alarms } from "./alarms.ts";
import { type Append, Appends } from "./append.ts";
import { type ClaimOp, Claims } from "./claim.ts";
import { Database, retryAfterMs } from "./database.ts";
import { EventNumbers } from "./event-numbers.ts";
import { hintColumns, hintsFor, notifyAll } from "./hints.ts";
import { Lane } from "./lane.ts";
import { Leases } from "./leases.ts";
import { PostgresLedger } from "./ledger.ts";
import { Lookout } from "./lookout.ts";
import { Mail } from "./mail.ts";
import { keepMemo, noteRedriven, putMemo, readMemos, readRedriven } from "./memos.ts";
import { migrate } from "./migrate.ts";
import type { PostgresOptions } from "./options.ts";
import type { Parts } from "./parts.ts";
import { PostgresPull } from "./pull.ts";
import { PostgresRegistry } from "./registry.ts";
import { Settlements } from "./settle.ts";
import { PostgresSlotTable } from "./slot-table.ts";
import { PostgresSteering } from "./steering.ts";
import { PostgresSweep } from "./sweep.ts";
import { Times } from "./times.ts";
import { WriteHealth } from "./write-health.ts";

/** One for heartbeats, one for notices. */
const ownConnections = 2;
/** Between the rounds of one broker, for each broker there is. */
const spacingMsEach = 4;
const spacingMsMax = 20;
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
  readonly #lookout: Lookout;
  readonly #mail: Mail;
  readonly #alarms: Alarms;
  readonly #health: WriteHealth;
  readonly #leases = new Leases();
  readonly #times = new Times();
  readonly #self: { readonly broker: string; epoch: number };
  readonly #wakeListeners: ((wake: Wake) => void)[] = [];
  #leasesMade = 0;
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
    const nextLease = () => ++this.#leasesMade;
    // So the database has as many rounds to do from many brokers as from one.
    const spacingMs = () => Math.min(spacingMsMax, spacingMsEach * this.#keeper.brokers);
    const unhurriedMs = () => 2 * spacingMs();
    this.#alarms = new Alarms(clock);
    this.#health = new WriteHealth(this.#alarms, () => this.putMemo("store", "probe", {}));
    this.#intake = new Intake({ ...options, retryAfterMs });
    const appending = new Appends(this.#parts, nextLease);
    this.#appends = new Lane({
      ...{ clock, inFlightMax: 2, gatherMs: 0, turn: options.turn, spacingMs },
      run: (ops) => this.#measured(ops, () => appending.run(ops)),
      weightOf: ({ routed }) => charsOf(routed) + routed.length * 200,
      weightMax: 2_000_000,
    });
    this.#claiming = new Claims(this.#parts, nextLease);
    this.#claims = new Lane({
      ...{ clock, inFlightMax: 2, gatherMs: 0, run: (ops) => this.#claiming.run(ops) },
      ...{ weightOf: () => 1, weightMax: 200, spacingMs },
    });
    const settling = new Settlements(this.#parts);
    this.#settlements = new Lane({
      ...{ clock, inFlightMax: 2, gatherMs: options.gatherMs, run: (ops) => settling.run(ops) },
      ...{
        weightOf: (settlements) => settlements.length,
        weightMax: 500,
        spacingMs: unhurriedMs,
      },
    });
    this.#pull = new PostgresPull(this.#parts, (count) => {
      this.#leasesMade += count;
      return this.#leasesMade - count;
    });
    this.#ledger = new PostgresLedger(this.#parts);
    this.#steering = new PostgresSteering(this.#parts);
    this.#sweep = new PostgresSweep(this.#parts);
    this.#lookout = new Lookout(
      {
        ...{ parts: this.#parts, claims: this.#claiming, mail: this.#mail, slots: this.#table },
        ...{ sweep: this.#sweep, alarms: this.#alarms, spacingMs: unhurriedMs },
      },
      { ...options, name },
    );
  }

  /** Makes or updates the tables, and begins to be a broker of the cluster. */
  static async open(options: PostgresOptions): Promise<PostgresStore> {
    const store = new PostgresStore(options);
    try {
      await migrate(store.database, options.target.schema);
      await store.#registry.begin();
      await store.#keeper.begin();
      await store.#lookout.begin();
      store.#sweep.begin();
      return store;
    } catch (error) {
      await store.#end();
      throw error;
    }
  }

  /** Why nothing can be written at present; null: as far as is known, it can. */
  get failure(): string | null {
    return this.database.failure ?? this.#health.failure;
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
    this.#sweep.onDropped(listener);
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
    this.#alarms.close();
    await this.#lookout.close();
    await this.#beats.close();
    await this.database.close();
    // Without a database it only stops.
    await this.#keeper.leave();
  }

  #partsOf(): Parts {
    const { clock, log, isNotifying } = this.#options;
    const places = {
      ...{ leases: this.#leases, times: this.#times },
      ownerOf: (slot: Slot) => this.#keeper.ownerOf(slot),
    };
    const hints: Parts["hints"] = (due) => (isNotifying ? hintsFor(due, places) : []);
    return {
      ...{ database: this.database, clock, log, times: this.#times, leases: this.#leases },
      ...{ numbers: new EventNumbers(this.database), self: this.#self },
      isMine: (slot) => this.#keeper.isMine(slot),
      owns: (slot) => this.#keeper.termOf(slot) !== null,
      wake: (wake) => this.#wake(wake),
      hints,
      tell: (due) => {
        const all = hints(due);
        if (all.length > 0) this.database.query(notifyAll, hintColumns(all)).catch(() => {});
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

  /** A round of publishes. */
  async #measured<T>(ops: readonly Append[], run: () => Promise<T>): Promise<T> {
    const { clock, onRound } = this.#options;
    const begun = clock.now();
    const answer = await this.#health.watch(run);
    const tookMs = clock.now() - begun;
    const chars = ops.reduce((sum, { routed }) => sum + charsOf(routed), 0);
    this.#intake.measured(chars, tookMs);
    onRound?.(tookMs, ops.length);
    return answer;
  }

  #wake(wake: Wake): void {
    const leases = this.#leases.find(wake.queue);
    if (leases !== undefined && wake.deliveries.length === 0) leases.nextDueAt = wake.dueAt;
    for (const listener of this.#wakeListeners) listener(wake);
  }
}
