// The embedded store's engine: plain synchronous code over one SQLite file and a journal in front
// of it. The front (front.ts) collects waiting operations into rounds, so that many publishes share
// one sync. The operations are in the parts: append, claim and settle in deliveries.ts, topics and
// subscriptions in registry.ts, and so on.
//
//   a fast round    has only appends, claims and settlements. It is durable by its record in the
//                   journal; what it did to rows waits in an open transaction.
//   one that reads  is the same, but everything has become a row before it.
//   any other       ends with COMMIT, which makes all rounds before it durable, too; the journal
//                   begins again. So does a round for which the journal has no room, or fails.
//
// May assume: it alone has the files open (it locks one). Deliberately absent: retry, health,
// time. Due times, leases and decisions come in as values.
//
// On a crash: before its record is written, or before COMMIT, nothing of a round has happened;
// after it everything has, even if the answer never arrives. Leases are not on disk: after a crash
// everything due can be claimed at once.

import type { DatabaseSync } from "node:sqlite";
import type { Queue } from "../../core/delivery/delivery.ts";
import type { Instant } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import { checkRouting } from "../revision.ts";
import { copyStore } from "./copy.ts";
import { isDiskError, openDatabase, type SqliteOptions } from "./database.ts";
import { Deliveries } from "./deliveries.ts";
import { Fresh } from "./fresh.ts";
import {
  entriesIn,
  Journal,
  type JournalFile,
  type JournalMark,
  newestEpoch,
  openJournalFile,
} from "./journal.ts";
import { Leases } from "./leases.ts";
import { SqliteLedger } from "./ledger.ts";
import { keepMemo, noteRedriven, putMemo, readMemos, timesRedriven } from "./memos.ts";
import { SqlitePull } from "./pull.ts";
import { QueueCounts } from "./queue-counts.ts";
import { SqliteRegistry } from "./registry.ts";
import type { Op, OpResult, Push, Round } from "./round.ts";
import { prepare, prepareAdding, type Statements } from "./statements.ts";
import { SqliteSteering } from "./steering.ts";
import { Sweep } from "./sweep.ts";

/** Numbers reserved between two openings; see `openings` in schema.ts. */
export const numbersPerOpening = 2 ** 32;

/** Bytes in the journal beyond which a round with new events is committed. */
const journalBytesUsual = 8 * 1_048_576;

const fastKinds: readonly Op["kind"][] = ["append", "claim", "settle"];
const readingKinds: readonly Op["kind"][] = [
  ...fastKinds,
  ...(["counts", "waiting", "look", "locked", "find", "notes", "redriven", "catalog"] as const),
];

export interface EngineOptions extends SqliteOptions {
  /** Null: none, every round is committed. Otherwise beside the store; in memory there is none. */
  readonly journal?: JournalFile | null;
  readonly journalBytesMax?: number;
  /** What the journal must have, if it is of that epoch. */
  readonly sealed?: JournalMark | null;
  /** Goes on with what can be read of the journal, also if the file is older than it should be. */
  readonly isSalvage?: boolean;
}

export class SqliteEngine {
  readonly #database: DatabaseSync;
  readonly #statements: Statements;
  readonly #leases = new Leases();
  readonly #fresh: Fresh;
  readonly #journal: Journal | null;
  readonly #journalBytesMax: number;
  #epoch: number;
  /** While a copy is being made, every round is committed. */
  #isCopying = false;
  readonly #counts: QueueCounts;
  readonly #deliveries: Deliveries;
  readonly #pull: SqlitePull;
  readonly #registry: SqliteRegistry;
  readonly #ledger: SqliteLedger;
  readonly #steering: SqliteSteering;
  readonly #sweep: Sweep;
  #round: Writable<Round> = emptyRound();
  #roundsMade = 0;

  /** `database`: one that is open already; a simulated crash opens it a second time. */
  constructor(options: EngineOptions, database = openDatabase(options)) {
    if (database.isTransaction) database.exec("ROLLBACK");
    this.#database = database;
    const opening = database.prepare("UPDATE openings SET count = count + 1 RETURNING count").get();
    const from = Number(opening?.count) * numbersPerOpening;
    const statements = prepare(database);
    const leases = this.#leases;
    const counts = new QueueCounts(statements);
    const addEvents = prepareAdding(database);
    const fresh = new Fresh(addEvents);
    const deps = {
      ...{ statements, leases, counts, fresh, addEvents },
      tell: {
        push: (push: Push) => this.#round.pushes.push(push),
        wake: (queue: Queue, dueAt: Instant) => this.#round.wakes.push({ queue, dueAt }),
      },
    };
    this.#statements = statements;
    this.#counts = counts;
    this.#fresh = fresh;
    this.#deliveries = new Deliveries(deps, from);
    this.#pull = new SqlitePull(deps, () => this.#deliveries.nextLease());
    this.#steering = new SqliteSteering(deps, () => this.#deliveries.lastEvent);
    this.#ledger = new SqliteLedger(statements, leases, counts);
    this.#sweep = new Sweep(database, statements);
    this.#registry = new SqliteRegistry(statements, this.#sweep, from);
    for (const id of this.#registry.ids()) leases.add(id);
    for (const { id } of statements.retired.all()) leases.retire(id as number);
    this.#epoch = statements.epoch.get()?.epoch as number;
    this.#journalBytesMax = options.journalBytesMax ?? journalBytesUsual;
    const { path } = options;
    const beside = path === ":memory:" ? null : openJournalFile(path);
    const file = options.journal === undefined ? beside : options.journal;
    if (file !== null && options.isSalvage) {
      this.#epoch = Math.max(this.#epoch, newestEpoch(file) - 1);
    }
    this.#journal = file && new Journal(file, this.#epoch, options.sealed);
    try {
      this.#takeIn(path, options.isSalvage ?? false);
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** What a crash has left in the journal. Refusal: Unavailable. */
  #takeIn(path: string, isSalvage: boolean): void {
    if (this.#journal === null) return;
    const { damage } = this.#journal.read();
    if (damage !== null && !isSalvage) {
      const words = `The journal of the store ${path} is damaged: ${damage}.`;
      throw new Refusal("Unavailable", `${words} posthorn recover saves what can be read.`);
    }
    try {
      const failed = this.commit();
      // A full disk is no reason not to start: what is in the journal is safe there.
      if (failed !== null && damage !== null) throw failed;
      this.#journal.fill();
    } catch (error) {
      if (!isDiskError(error) && !isSystemError(error)) throw error;
      const words = `The store ${path} cannot be opened: ${error.message}.`;
      throw new Refusal("Unavailable", words, { cause: error });
    }
  }

  /** Never throws because of the disk: every operation gets its result. */
  run(ops: readonly Op[]): Round {
    const whole = this.#tryBoth(ops);
    if (!(whole instanceof Error)) return whole;
    // A disk without room for new events may still have room to settle old ones.
    const brings = ["append", "noteRedriven", "sweep"];
    const isLeft = ops.map((op) => brings.includes(op.kind));
    const rest = ops.filter((_, index) => !isLeft[index]);
    const second = rest.length === ops.length || rest.length === 0 ? whole : this.#tryBoth(rest);
    const failed: OpResult = { kind: "failed", reason: whole.message };
    if (second instanceof Error) return { ...emptyRound(), answers: ops.map(() => failed) };
    const answers = [...second.answers];
    return {
      ...second,
      answers: isLeft.map((is) => (is ? failed : (answers.shift() as OpResult))),
    };
  }

  /** Null: there is no journal. */
  get journalMark(): JournalMark | null {
    return this.#journal?.mark ?? null;
  }

  /** Whether it has anything of the events that rounds brought, other than as rows. */
  get keepsEvents(): boolean {
    return !this.#fresh.isEmpty;
  }

  /** Until the copy is made, rounds may be run only by `betweenSteps`. */
  async backUp(path: string, betweenSteps: () => void): Promise<void> {
    this.#isCopying = true;
    try {
      const committed = this.commit();
      if (committed !== null) throw committed;
      await copyStore(this.#database, path, betweenSteps);
    } finally {
      this.#isCopying = false;
    }
  }

  /** Takes everything into the file. Returns why that failed, or null. */
  commit(): Error | null {
    const round = this.#try([], null);
    return round instanceof Error ? round : null;
  }

  /** What could not be committed is in the journal. */
  close(): void {
    if (!this.#database.isOpen) return;
    this.commit();
    this.#database.close();
    this.#journal?.close();
  }

  /** In the journal if that is possible, else by COMMIT. */
  #tryBoth(ops: readonly Op[]): Round | Error {
    const journal = this.#isCopying ? null : this.#journal;
    const isFit = journal !== null && ops.every(({ kind }) => readingKinds.includes(kind));
    const hasNew = ops.some(({ kind }) => kind === "append");
    // Where COMMIT fails for lack of room, the journal has some for what ends old deliveries.
    const bytesMax = hasNew ? this.#journalBytesMax : 2 * this.#journalBytesMax;
    const written = isFit && journal.bytes < bytesMax ? this.#try(ops, journal) : null;
    return written === null || written instanceof Error ? this.#try(ops, null) : written;
  }

  /** `journal`: where it is written; null: it is committed. */
  #try(ops: readonly Op[], journal: Journal | null): Round | Error {
    this.#round = emptyRound();
    this.#registry.begin();
    const isFast = journal !== null && ops.every(isFastOp);
    let hasSavepoint = false;
    try {
      this.#begin();
      this.#spill(isFast ? [...new Set(this.#deliveries.notAsFresh(ops))] : undefined);
      this.#statements.beginRound.run();
      hasSavepoint = true;
      journal?.entries.clear();
      this.#deliveries.begin(journal?.entries ?? null, isFast);
      const answers = ops.map((op, index) => this.#answer(op, index));
      // Everything that reads the disk comes first: after this the round has happened and may not
      // fail.
      const sweep = this.#sweep.isDue(this.#roundsMade);
      if (journal === null) this.#commit();
      else this.#writeTo(journal);
      this.#leases.keep();
      this.#fresh.keep();
      this.#counts.keep();
      this.#registry.updateLeases(this.#leases);
      this.#roundsMade += 1;
      return { ...this.#round, answers, changed: this.#registry.changed, sweep };
    } catch (error) {
      if (hasSavepoint) this.#rollBack();
      this.#leases.undo();
      this.#fresh.undo();
      this.#counts.clear();
      if (!isDiskError(error) && !isSystemError(error)) throw error;
      return error;
    }
  }

  /** A transaction is open, and everything that is in the journal has happened in it. */
  #begin(): void {
    if (this.#database.isTransaction) return;
    this.#database.exec("BEGIN IMMEDIATE");
    if (this.#journal === null || this.#journal.bytes === 0) return;
    // After a start, or after SQLite has undone a transaction because of the disk.
    try {
      this.#counts.written();
      this.#deliveries.begin(null, false);
      this.#fresh.clear();
      for (const entry of entriesIn(this.#journal.read())) this.#deliveries.repeat(entry);
      this.#counts.write();
      this.#leases.lookEverywhere();
    } catch (error) {
      this.#counts.clear();
      this.#rollBack("ROLLBACK");
      throw error;
    }
  }

  /** Makes rows of fresh events: of all, or of these. */
  #spill(numbers: readonly number[] | undefined): void {
    if (numbers?.length === 0) return;
    this.#database.exec("SAVEPOINT spill");
    try {
      const spilling = this.#fresh.spill(numbers);
      this.#counts.writeEarlier();
      this.#database.exec("RELEASE spill");
      this.#counts.written();
      this.#deliveries.spilled(spilling.kept());
    } catch (error) {
      this.#rollBack("ROLLBACK TO spill; RELEASE spill");
      throw error;
    }
  }

  #writeTo(journal: Journal): void {
    if (!journal.entries.isEmpty) journal.write();
    // The round has happened. What is not released ends with its transaction.
    try {
      this.#statements.endRound.run();
    } catch (error) {
      if (!isDiskError(error)) throw error;
    }
  }

  #commit(): void {
    this.#counts.write();
    const epoch = this.#epoch + 1;
    const isUsed = this.#journal?.isUsed ?? false;
    if (isUsed) this.#statements.putEpoch.run(epoch);
    this.#database.exec("COMMIT");
    if (isUsed) {
      this.#epoch = epoch;
      this.#journal?.begin(epoch);
    }
  }

  /** A rollback that fails has ended the transaction anyway; if it has not, it is a bug. */
  #rollBack(sql = this.#journal === null ? "ROLLBACK" : "ROLLBACK TO round; RELEASE round"): void {
    try {
      if (this.#database.isTransaction) this.#database.exec(sql);
    } catch (error) {
      if (!isDiskError(error) || this.#database.isTransaction) throw error;
    }
  }

  #answer(op: Op, index: number): OpResult {
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
        checkRouting(op.by, op.by && this.#registry.markOf(op.by.topic));
        return this.#deliveries.append(op.routed, op.now, index);
      case "claim":
        return this.#deliveries.claim(op.queue, op.want);
      case "settle":
        return op.settlements.map((settlement) => this.#deliveries.settle(settlement));
      case "receive":
        return this.#pull.receive(op.of, op.want);
      case "takeEnded":
        return this.#pull.takeEnded(op.of, op.want);
      case "locked":
        return this.#pull.locked(op.of, op.now);
      case "counts":
        return this.#ledger.counts();
      case "waiting":
        return this.#ledger.waiting(op.queue, op);
      case "look":
        return op.ids.map((id) => this.#ledger.look(id));
      case "skip":
        return this.#steering.skip(op.queue, op.step);
      case "hasten":
        return this.#steering.hasten(op.queue, op);
      case "find":
        return this.#steering.find(op.systemId, op.after);
      case "notes":
        return readMemos(this.#statements, op.of);
      case "putNote":
        return putMemo(this.#statements, op);
      case "keepNote":
        return keepMemo(this.#statements, op);
      case "redriven":
        return op.keys.map((key) => timesRedriven(this.#statements, key));
      case "noteRedriven":
        return noteRedriven(this.#statements, op.notes);
      case "catalog":
        return this.#registry.catalog(op.only);
      case "putTopic":
        return this.#registry.putTopic(op.draft, op.revision);
      case "putSubscription":
        return this.#registry.putSubscription(op.draft, op.revision);
      case "removeTopic":
        return this.#registry.removeTopic(op.name);
      case "removeSubscription":
        return this.#registry.removeSubscription(op.id, op.revision);
      case "sweep":
        return this.#sweepOnce();
      default:
        return op satisfies never;
    }
  }

  #sweepOnce(): void {
    const dropped = this.#sweep.step();
    if (dropped !== null) this.#round.dropped.push(dropped);
  }
}

type Writable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] };

function emptyRound(): Writable<Round> {
  return { answers: [], pushes: [], wakes: [], changed: null, dropped: [], sweep: false };
}

/** A search by age is for rows. */
function isFastOp(op: Op): boolean {
  return op.kind === "claim" ? op.want.sinceBefore === undefined : fastKinds.includes(op.kind);
}

/** Of the journal's file. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error && "errno" in error;
}
