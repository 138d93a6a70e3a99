// The embedded store's engine: plain synchronous code over one SQLite file. A round of
// operations is one transaction; the front (front.ts) gathers what is waiting into rounds, so
// that many publishes share one fsync.
//
// May assume: it alone has the file open (it locks it). Deliberately absent: retry, health,
// time. Due times, leases and decisions come in as values.
//
// The crash line: before COMMIT nothing of a round has happened; after it everything has, even
// if the answer never arrives. Leases are not on disk: after a crash everything due can be
// claimed at once.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Event, InputSchema } from "../core/event.ts";
import type { RedrivenNote } from "../core/letterstore.ts";
import type {
  Catalog,
  Claim,
  Delivery,
  DeliveryId,
  Instant,
  Queue,
  QueueCount,
  Routed,
  Seen,
  Settlement,
  Stage,
  Want,
} from "../core/ports.ts";
import { redriveLimits } from "../core/redrive.ts";
import { Refusal } from "../core/refusal.ts";
import {
  recallSubscription,
  type Subscription,
  type SubscriptionDraft,
  type SubscriptionId,
} from "../core/subscription.ts";
import type { Topic, TopicDraft } from "../core/topic.ts";
import { copyStore } from "./backup.ts";
import { Line } from "./line.ts";
import { type Answer, type Op, type Push, type Round, stageNumber, stageOf } from "./round.ts";
import { migrations } from "./schema.ts";
import { prepare, type Statements } from "./statements.ts";
import { Steer } from "./steer.ts";

/** Numbers given out between two openings; see `openings` in schema.ts. */
const numbersPerOpening = 2 ** 32;
const sweepRowsMax = 200;
const sweepPagesMax = 200;
/** Free pages are given back to the disk when they are as many, and more than half the file. */
const freePagesMin = 16_384;
const roundsBetweenLooks = 512;
/** A queue of so many is sorted to be shown; a longer one is picked out from among all. */
const fewWaitingMax = 10_000;

export interface SqliteOptions {
  /** A file, or `:memory:`. */
  readonly path: string;
  readonly cacheKilobytes?: number;
  /** The file grows to so many pages of 4 KiB at most; beyond that it counts as a full disk. */
  readonly pagesMax?: number;
}

export class SqliteEngine {
  readonly #database: DatabaseSync;
  readonly #statements: Statements;
  readonly #steer: Steer;
  readonly #lines = new Map<SubscriptionId, readonly [deliver: Line, deadLetter: Line]>();
  /** Lines and counts that the round under way has touched. */
  readonly #touched = new Set<Line>();
  readonly #deltas = new Map<string, { queue: Queue; delta: number }>();
  #round: Writable<Round> = emptyRound();
  #eventsMade: number;
  #leasesMade: number;
  /** Never from a record's own: one made anew may not be at a revision it had before. */
  #revisionsMade: number;
  #roundsMade = 0;
  #removing: boolean;
  #shrinking = false;

  /** `database`: one that is open already; a simulated crash opens it a second time. */
  constructor(options: SqliteOptions, database = openDatabase(options)) {
    this.#database = database;
    const opening = Number(
      this.#database.prepare("UPDATE openings SET count = count + 1 RETURNING count").get()?.count,
    );
    this.#eventsMade = opening * numbersPerOpening;
    this.#leasesMade = opening * numbersPerOpening;
    this.#revisionsMade = opening * numbersPerOpening;
    this.#statements = prepare(this.#database);
    this.#steer = new Steer(this.#statements, {
      lastEvent: () => this.#eventsMade,
      line: (queue) => {
        const line = this.#line(queue);
        return line && this.#touch(line);
      },
      count: (queue, delta) => this.#count(queue, delta),
      wake: (queue, dueAt) => this.#wake(queue, dueAt),
    });
    this.#drawLines(this.#subscriptionIds());
    this.#removing = this.#statements.firstRemoval.get() !== undefined;
  }

  /** Never throws for what the disk did: every operation gets its answer. */
  run(ops: readonly Op[]): Round {
    const whole = this.#try(ops);
    if (!(whole instanceof Error)) return whole;
    // A disk that has no room for new events may still have room to settle old ones.
    const brings = ["append", "noteRedriven", "sweep"];
    const isLeft = ops.map((op) => brings.includes(op.kind));
    const rest = ops.filter((_, index) => !isLeft[index]);
    const second = rest.length === ops.length || rest.length === 0 ? whole : this.#try(rest);
    const failed: Answer = { kind: "failed", reason: whole.message };
    if (second instanceof Error) return { ...emptyRound(), answers: ops.map(() => failed) };
    const answers = [...second.answers];
    return {
      ...second,
      answers: isLeft.map((is) => (is ? failed : (answers.shift() as Answer))),
    };
  }

  /** A copy of the file, made between rounds. */
  backUp(path: string): Promise<void> {
    return copyStore(this.#database, path);
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #try(ops: readonly Op[]): Round | Error {
    this.#round = emptyRound();
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      const answers = ops.map((op, index) => this.#answer(op, index));
      this.#writeCounts();
      // Whatever reads the disk comes before COMMIT: after it the round has happened and may not
      // fail.
      const ids = this.#round.changed ? this.#subscriptionIds() : null;
      const sweep = this.#isSweepDue();
      this.#database.exec("COMMIT");
      for (const line of this.#touched) line.keep();
      if (ids !== null) this.#drawLines(ids);
      this.#roundsMade += 1;
      return { ...this.#round, answers, sweep };
    } catch (error) {
      this.#rollBack();
      for (const line of this.#touched) line.undo();
      if (!isDiskError(error)) throw error;
      return error;
    } finally {
      this.#touched.clear();
      this.#deltas.clear();
    }
  }

  /** A rollback that fails has ended the transaction all the same; one that has not is a bug. */
  #rollBack(): void {
    try {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
    } catch (error) {
      if (!isDiskError(error) || this.#database.isTransaction) throw error;
    }
  }

  #answer(op: Op, index: number): Answer {
    try {
      return { kind: "done", value: this.#perform(op, index) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { kind: "refused", code: error.code, reason: error.message };
    }
  }

  #perform(op: Op, index: number): unknown {
    switch (op.kind) {
      case "append":
        return this.#append(op.routed, op.now, index);
      case "claim":
        return this.#claim(op.queue, op.want);
      case "settle":
        return op.settlements.map((settlement) => this.#settle(settlement));
      case "counts":
        return this.#counts();
      case "waiting":
        return this.#waiting(op.queue, op);
      case "look":
        return op.ids.map((id) => this.#look(id));
      case "skip":
        return this.#steer.skip(op.queue, op.step);
      case "hasten":
        return this.#steer.hasten(op.queue, op);
      case "find":
        return this.#steer.find(op.systemId, op.after);
      case "notes":
        return this.#statements.notes
          .all(op.of)
          .map(({ key, record }) => ({ key, record: JSON.parse(record as string) }));
      case "putNote":
        return this.#putNote(op.of, op.key, op.record);
      case "redriven":
        return op.keys.map((key) => this.#redriven(key));
      case "noteRedriven":
        return this.#noteRedriven(op.notes);
      case "catalog":
        return this.#catalog();
      case "putTopic":
        return this.#putTopic(op.draft, op.revision);
      case "putSubscription":
        return this.#putSubscription(op.draft, op.revision);
      case "removeTopic":
        return this.#removeTopic(op.name);
      case "removeSubscription":
        return this.#removeSubscription(op.id);
      case "sweep":
        return this.#sweep();
      default:
        return op satisfies never;
    }
  }

  // The three verbs.

  #append(routed: readonly Routed[], now: Instant, op: number): number {
    const first = this.#eventsMade + 1;
    const woken = new Set<SubscriptionId>();
    for (const [index, { event, to }] of routed.entries()) {
      const number = ++this.#eventsMade;
      let isKept = false;
      for (const subscription of to) {
        const line = this.#lines.get(subscription)?.[0];
        if (line === undefined) continue;
        this.#statements.addDelivery.run(number, subscription, now, event.publishedAt);
        this.#count({ subscription, stage: "deliver" }, 1);
        line.free({ dueAt: now, event: number });
        isKept = true;
        const push = this.#push(line, { op, index, event: number, subscription }, event, now);
        if (push === null) woken.add(subscription);
        else this.#round.pushes.push(push);
      }
      if (isKept) {
        const { systemId, topic, publishedAt, schema, dataVersion, text, envelope, trace } = event;
        this.#statements.addEvent.run(
          number,
          systemId,
          topic,
          publishedAt,
          schema,
          dataVersion,
          text,
          envelope,
          trace?.parent ?? null,
          trace?.state ?? null,
        );
      }
    }
    for (const subscription of woken) this.#wake({ subscription, stage: "deliver" }, now);
    return first;
  }

  #push(
    line: Line,
    push: Pick<Push, "op" | "index" | "event" | "subscription">,
    event: Event,
    now: Instant,
  ): Push | null {
    const leaseMs = this.#touch(line).take(event.text.length);
    if (leaseMs === null) return null;
    const lease = ++this.#leasesMade;
    const leasedUntil = now + leaseMs;
    line.hold(push.event, { lease, until: leasedUntil });
    return { ...push, lease, leasedUntil };
  }

  #claim(queue: Queue, want: Want): Claim {
    const line = this.#line(queue);
    if (line === undefined) return { deliveries: [], nextDueAt: null };
    this.#touch(line).lookBack(want.now);
    this.#passHeld(queue, line, want.now);
    const deliveries: Delivery[] = [];
    let chars = 0;
    let isCaughtUp = true;
    for (const row of this.#candidates(queue, line, want)) {
      const number = row.event as number;
      if (!line.isHeld(number, want.now)) {
        const size = (row.text as string).length;
        if (deliveries.length >= want.max || (chars > 0 && chars + size > want.charsMax)) {
          isCaughtUp = false;
          break;
        }
        chars += size;
        const lease = ++this.#leasesMade;
        const leasedUntil = want.now + want.leaseMs;
        line.hold(number, { lease, until: leasedUntil });
        deliveries.push({ ...deliveryOf(row), lease, leasedUntil });
      }
      if (want.sinceBefore === undefined) {
        line.frontier = { dueAt: row.due_at as number, event: number };
      }
    }
    line.standing = null;
    if (isCaughtUp && want.sinceBefore === undefined) {
      line.stand(want, { count: deliveries.length, chars });
    }
    return { deliveries, nextDueAt: this.#nextDueAt(queue, line) };
  }

  /**
   * Moves the frontier behind what is held at the head of the queue. In steady state that is all
   * there is, leased as it came in: to look at its places alone is cheaper than to read its events.
   */
  #passHeld(queue: Queue, line: Line, now: Instant): void {
    for (const place of this.#places(queue, line)) {
      const event = place.event as number;
      if (!line.isHeld(event, now)) return;
      line.frontier = { dueAt: place.due_at as number, event };
    }
  }

  #candidates(queue: Queue, line: Line, want: Want): Iterable<SqlRow> {
    const stage = stageNumber[queue.stage];
    if (want.max === 0) return [];
    if (want.sinceBefore !== undefined) {
      return this.#statements.dueAndOld.all({
        subscription: queue.subscription,
        stage,
        now: want.now,
        since: want.sinceBefore,
        limit: want.max + line.held.size + 1,
      }) as SqlRow[];
    }
    const from = line.frontier ?? { dueAt: Number.MIN_SAFE_INTEGER, event: 0 };
    return this.#statements.due.iterate({
      subscription: queue.subscription,
      stage,
      now: want.now,
      fromDueAt: from.dueAt,
      fromEvent: from.event,
    }) as Iterable<SqlRow>;
  }

  /** The queue behind the frontier, in order. */
  #places(queue: Queue, line: Line): Iterable<SqlRow> {
    const from = line.frontier ?? { dueAt: Number.MIN_SAFE_INTEGER, event: 0 };
    return this.#statements.places.iterate({
      subscription: queue.subscription,
      stage: stageNumber[queue.stage],
      fromDueAt: from.dueAt,
      fromEvent: from.event,
    }) as Iterable<SqlRow>;
  }

  /** The first row nobody holds, or the end of the first lease. */
  #nextDueAt(queue: Queue, line: Line): Instant | null {
    let next = line.earliestEnd();
    for (const place of this.#places(queue, line)) {
      if (line.held.has(place.event as number)) continue;
      const dueAt = place.due_at as number;
      if (next === null || dueAt < next) next = dueAt;
      break;
    }
    return next;
  }

  #settle(settlement: Settlement): boolean {
    const { event, subscription } = settlement.delivery;
    const lines = this.#lines.get(subscription);
    if (lines === undefined) return false;
    const line = lines.find((one) => one.held.has(event));
    if (line === undefined) {
      // Nobody holds it: only a late answer to its latest settlement may still count.
      if (settlement.kind === "back") return false;
      const row = this.#statements.fence.get(event, subscription);
      if (row?.fence !== settlement.lease) return false;
      this.#apply(settlement, row.stage as number);
      return true;
    }
    if (line.held.get(event)?.lease !== settlement.lease) return false;
    this.#touch(line).release(event);
    this.#apply(settlement, line === lines[0] ? 0 : 1);
    return true;
  }

  #apply(settlement: Settlement, stage: number): void {
    const { event, subscription } = settlement.delivery;
    const queue = { subscription, stage: stageOf(stage) };
    switch (settlement.kind) {
      case "gone":
        this.#statements.removeDelivery.run(event, subscription);
        this.#statements.removeEvent.run(event, event);
        this.#count(queue, -1);
        return;
      case "back": {
        // The lease is over but it was the latest: an older one may not count again.
        const row = this.#statements.putFence.get(settlement.lease, event, subscription);
        this.#free(queue, { dueAt: row?.due_at as number, event });
        return;
      }
      case "due": {
        const { at, since, attempts, last, reason, lease } = settlement;
        this.#statements.putBack.run(
          stageNumber[settlement.stage],
          at,
          since,
          attempts,
          lease,
          last?.at ?? null,
          last?.number ?? null,
          last?.outcome ?? null,
          last?.status ?? null,
          reason,
          event,
          subscription,
        );
        if (settlement.stage !== queue.stage) {
          this.#count(queue, -1);
          this.#count({ subscription, stage: settlement.stage }, 1);
        }
        this.#free({ subscription, stage: settlement.stage }, { dueAt: at, event });
        return;
      }
      default:
        settlement satisfies never;
    }
  }

  #free(queue: Queue, place: { readonly dueAt: Instant; readonly event: number }): void {
    this.#line(queue)?.free(place);
    this.#wake(queue, place.dueAt);
  }

  // Looking.

  #counts(): QueueCount[] {
    this.#writeCounts();
    return this.#statements.counts
      .all()
      .filter((row) => this.#lines.has(row.subscription as number))
      .map((row) => {
        const subscription = row.subscription as number;
        const stage = stageOf(row.stage as number);
        const waiting = row.waiting as number;
        return { subscription, stage, waiting, ...this.#timesOf({ subscription, stage }) };
      });
  }

  #timesOf(queue: Queue): Pick<QueueCount, "oldestAt" | "nextDueAt"> {
    const { subscription } = queue;
    const stage = stageNumber[queue.stage];
    const { nextDueAt, oldestTried, oldestUntried } = this.#statements;
    const before = (oldestTried.get(subscription, stage)?.since ??
      Number.MAX_SAFE_INTEGER) as number;
    const untried = oldestUntried.get({ subscription, stage, before })?.since;
    return {
      oldestAt: Math.min(before, (untried ?? before) as number),
      nextDueAt: (nextDueAt.get(subscription, stage)?.due_at ?? 0) as number,
    };
  }

  #waiting(queue: Queue, page: { readonly after: number; readonly limit: number }) {
    if (!this.#lines.has(queue.subscription)) return [];
    this.#writeCounts();
    const { subscription } = queue;
    const stage = stageNumber[queue.stage];
    const count = (this.#statements.count.get(subscription, stage)?.waiting ?? 0) as number;
    const { waitingFew, waitingMany } = this.#statements;
    const statement = count <= fewWaitingMax ? waitingFew : waitingMany;
    return statement
      .all({ subscription, stage, after: page.after, limit: Math.min(page.limit, 1000) })
      .map((row) => deliveryOf(row));
  }

  #look({ event, subscription }: DeliveryId): Seen | null {
    if (!this.#lines.has(subscription)) return null;
    const row = this.#statements.look.get(event, subscription);
    return row === undefined ? null : deliveryOf(row);
  }

  #putNote(kind: string, key: string, record: object | null): void {
    if (record === null) this.#statements.removeNote.run(kind, key);
    else this.#statements.putNote.run(kind, key, JSON.stringify(record));
  }

  #redriven(key: string): number {
    return (this.#statements.redriven.get(key)?.times ?? 0) as number;
  }

  #noteRedriven(notes: readonly RedrivenNote[]): void {
    for (const { key, times } of notes) {
      this.#statements.noteRedriven.run(key, Math.max(times, this.#redriven(key)));
    }
    this.#statements.forgetRedriven.run(redriveLimits.rememberedMax);
  }

  // The registry.

  #catalog(): Catalog {
    return {
      topics: this.#statements.topics.all().map((row) => ({
        ...(JSON.parse(row.record as string) as TopicDraft),
        revision: row.revision as number,
      })),
      subscriptions: this.#statements.subscriptions.all().map((row) => ({
        ...recallSubscription(JSON.parse(row.record as string)),
        id: row.id as number,
        revision: row.revision as number,
      })),
    };
  }

  #putTopic(draft: TopicDraft, wanted: number | undefined): Topic {
    const old = this.#statements.topic.get(draft.name);
    checkRevision(old, wanted);
    const revision = ++this.#revisionsMade;
    const record: TopicDraft = { ...draft, name: (old?.name as string) ?? draft.name };
    this.#statements.putTopic.run(record.name, revision, JSON.stringify(record));
    this.#round.changed = true;
    return { ...record, revision };
  }

  #putSubscription(draft: SubscriptionDraft, wanted: number | undefined): Subscription {
    const topic = this.#statements.topic.get(draft.topic);
    if (topic === undefined) throw new Refusal("NotFound", `There is no topic '${draft.topic}'.`);
    const key = nameInTopic(draft);
    const old = this.#statements.subscription.get(draft.topic, key);
    checkRevision(old, wanted);
    const revision = ++this.#revisionsMade;
    const kept = old && (JSON.parse(old.record as string) as SubscriptionDraft);
    const name = kept?.name ?? draft.name;
    const record: SubscriptionDraft = { ...draft, topic: topic.name as string, name };
    const row = this.#statements.putSubscription.get(
      record.topic,
      key,
      revision,
      JSON.stringify(record),
    );
    this.#round.changed = true;
    return { ...record, id: row?.id as number, revision };
  }

  #removeTopic(name: string): void {
    for (const { id, topic } of this.#catalog().subscriptions) {
      if (topic.toLowerCase() === name.toLowerCase()) this.#removeSubscription(id);
    }
    if (this.#statements.removeTopic.run(name).changes > 0) this.#round.changed = true;
  }

  #removeSubscription(id: SubscriptionId): void {
    if (this.#statements.removeSubscription.run(id).changes === 0) return;
    this.#statements.addRemoval.run(id);
    this.#removing = true;
    this.#round.changed = true;
  }

  // Cleaning up, a little at a time: a publish waits for one step at most.

  #isSweepDue(): boolean {
    if (this.#roundsMade % roundsBetweenLooks === 0) {
      const free = pragma(this.#database, "freelist_count");
      this.#shrinking = free > freePagesMin && free * 2 > pragma(this.#database, "page_count");
    }
    return this.#removing || this.#shrinking;
  }

  #sweep(): void {
    const removal = this.#statements.firstRemoval.get();
    if (removal === undefined) {
      this.#removing = false;
      if (this.#shrinking) this.#database.exec(`PRAGMA incremental_vacuum(${sweepPagesMax})`);
      return;
    }
    const subscription = removal.subscription as number;
    const rows = this.#statements.someOf.all(subscription, sweepRowsMax);
    for (const row of rows) {
      this.#statements.removeDelivery.run(row.event as number, subscription);
      this.#statements.removeEvent.run(row.event as number, row.event as number);
    }
    const count = (removal.dropped as number) + rows.length;
    if (rows.length === sweepRowsMax) {
      this.#statements.noteRemoval.run(count, subscription);
      return;
    }
    this.#statements.removeRemoval.run(subscription);
    this.#statements.removeCounts.run(subscription);
    this.#round.dropped.push({ subscription, count });
  }

  // Inside.

  #line(queue: Queue): Line | undefined {
    return this.#lines.get(queue.subscription)?.[queue.stage === "deliver" ? 0 : 1];
  }

  #subscriptionIds(): ReadonlySet<SubscriptionId> {
    return new Set(this.#catalog().subscriptions.map(({ id }) => id));
  }

  /** A line for each subscription there is. */
  #drawLines(ids: ReadonlySet<SubscriptionId>): void {
    for (const id of this.#lines.keys()) if (!ids.has(id)) this.#lines.delete(id);
    for (const id of ids) if (!this.#lines.has(id)) this.#lines.set(id, [new Line(), new Line()]);
  }

  #touch(line: Line): Line {
    this.#touched.add(line);
    return line;
  }

  #wake(queue: Queue, dueAt: Instant): void {
    this.#round.wakes.push({ queue, dueAt });
  }

  #count(queue: Queue, delta: number): void {
    const key = `${queue.subscription}/${queue.stage}`;
    const known = this.#deltas.get(key);
    if (known === undefined) this.#deltas.set(key, { queue, delta });
    else known.delta += delta;
  }

  #writeCounts(): void {
    for (const { queue, delta } of this.#deltas.values()) {
      if (delta !== 0) {
        this.#statements.addCount.run(queue.subscription, stageNumber[queue.stage], delta);
      }
    }
    this.#deltas.clear();
  }
}

type SqlRow = NonNullable<ReturnType<StatementSync["get"]>>;
type Writable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] };

function emptyRound(): Writable<Round> {
  return { answers: [], pushes: [], wakes: [], changed: false, dropped: [], sweep: false };
}

export function openDatabase(options: SqliteOptions): DatabaseSync {
  const database = new DatabaseSync(options.path);
  try {
    // Set before the first table is made, or not at all.
    database.exec("PRAGMA auto_vacuum = INCREMENTAL");
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    database.exec("PRAGMA journal_mode = WAL");
    database.exec("PRAGMA synchronous = FULL");
    database.exec(`PRAGMA cache_size = -${options.cacheKilobytes ?? 65_536}`);
    database.exec("PRAGMA wal_autocheckpoint = 4000");
    database.exec("PRAGMA temp_store = MEMORY");
    migrate(database);
    if (options.pagesMax !== undefined) {
      database.exec(`PRAGMA max_page_count = ${options.pagesMax}`);
    }
    return database;
  } catch (error) {
    database.close();
    if (isDiskError(error) && /locked/.test(error.message)) {
      const reason = `The store ${options.path} is in use by another broker.`;
      throw new Refusal("InvalidSetting", reason, { cause: error });
    }
    throw error;
  }
}

function migrate(database: DatabaseSync): void {
  const version = pragma(database, "user_version");
  if (version > migrations.length) {
    throw new Refusal(
      "InvalidSetting",
      `The store is of schema version ${version}; this release knows up to ${migrations.length}.`,
    );
  }
  for (const [index, sql] of migrations.entries()) {
    if (index < version) continue;
    database.exec(`BEGIN IMMEDIATE; ${sql}; PRAGMA user_version = ${index + 1}; COMMIT`);
  }
}

function pragma(database: DatabaseSync, name: string): number {
  return Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0] as number;
}

/** Under the roof of a domain each of its topics has names of its own. A name has no slash. */
function nameInTopic({ domainTopic, name }: SubscriptionDraft): string {
  return domainTopic === null ? name : `${domainTopic}/${name}`;
}

function checkRevision(old: SqlRow | undefined, wanted: number | undefined): void {
  if (wanted === undefined || (old?.revision ?? 0) === wanted) return;
  throw new Refusal("PreconditionFailed", "The record has been changed since it was read.");
}

function deliveryOf(row: SqlRow): Seen {
  const lastAt = row.last_at as number | null;
  return {
    id: { event: row.event as number, subscription: row.subscription as number },
    stage: stageOf(row.stage as number) satisfies Stage,
    dueAt: row.due_at as number,
    attempts: row.attempts as number,
    since: row.since as number,
    last:
      lastAt === null
        ? null
        : {
            at: lastAt,
            number: row.last_number as number,
            outcome: row.last_outcome as string,
            status: row.last_status as number | null,
          },
    reason: row.reason as string | null,
    event: {
      systemId: row.system_id as string,
      topic: row.topic as string,
      publishedAt: row.published_at as number,
      schema: row.schema as InputSchema,
      dataVersion: row.data_version as string,
      text: row.text as string,
      envelope: row.envelope as string | null,
      trace:
        row.trace_parent === null
          ? null
          : { parent: row.trace_parent as string, state: row.trace_state as string | null },
    },
  };
}

/** SQLITE_ERROR, CONSTRAINT, MISMATCH, MISUSE and RANGE: what was asked of it was wrong. */
const bugCodes: readonly number[] = [1, 19, 20, 21, 25];

/** SQLite's own errors are about the disk, but for a few; anything else is a bug of ours. */
export function isDiskError(error: unknown): error is Error {
  if (!(error instanceof Error) || !("code" in error) || !("errcode" in error)) return false;
  return error.code === "ERR_SQLITE_ERROR" && !bugCodes.includes((error.errcode as number) & 0xff);
}
