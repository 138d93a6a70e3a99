// The embedded store's engine: plain synchronous code over one SQLite file. A round of operations
// is one transaction; the front (front.ts) collects waiting operations into rounds, so that many
// publishes share one fsync. The operations are in the parts: append, claim and settle in
// deliveries.ts, topics and subscriptions in registry.ts, and so on.
//
// May assume: it alone has the file open (it locks it). Deliberately absent: retry, health,
// time. Due times, leases and decisions come in as values.
//
// On a crash: before COMMIT nothing of a round has happened; after it everything has, even if the
// answer never arrives. Leases are not on disk: after a crash everything due can be claimed at
// once.

import type { DatabaseSync } from "node:sqlite";
import type { Instant, Queue } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import { checkRouting } from "../revision.ts";
import { copyStore } from "./backup.ts";
import { isDiskError, openDatabase, type SqliteOptions } from "./database.ts";
import { Deliveries } from "./deliveries.ts";
import { Leases } from "./leases.ts";
import { SqliteLedger } from "./ledger.ts";
import { keepMemo, noteRedriven, putMemo, readMemos, timesRedriven } from "./memos.ts";
import { SqlitePull } from "./pull.ts";
import { QueueCounts } from "./queue-counts.ts";
import { SqliteRegistry } from "./registry.ts";
import type { Op, OpResult, Push, Round } from "./round.ts";
import { prepare, type Statements } from "./statements.ts";
import { SqliteSteering } from "./steering.ts";
import { Sweep } from "./sweep.ts";

/** Numbers reserved between two openings; see `openings` in schema.ts. */
export const numbersPerOpening = 2 ** 32;

export class SqliteEngine {
  readonly #database: DatabaseSync;
  readonly #statements: Statements;
  readonly #leases = new Leases();
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
  constructor(options: SqliteOptions, database = openDatabase(options)) {
    this.#database = database;
    const opening = database.prepare("UPDATE openings SET count = count + 1 RETURNING count").get();
    const from = Number(opening?.count) * numbersPerOpening;
    const statements = prepare(database);
    const leases = this.#leases;
    const counts = new QueueCounts(statements);
    const deps = {
      ...{ statements, leases, counts },
      tell: {
        push: (push: Push) => this.#round.pushes.push(push),
        wake: (queue: Queue, dueAt: Instant) => this.#round.wakes.push({ queue, dueAt }),
      },
    };
    this.#statements = statements;
    this.#counts = counts;
    this.#deliveries = new Deliveries(deps, from);
    this.#pull = new SqlitePull(deps, () => this.#deliveries.nextLease());
    this.#steering = new SqliteSteering(deps, () => this.#deliveries.lastEvent);
    this.#ledger = new SqliteLedger(statements, leases, counts);
    this.#sweep = new Sweep(database, statements);
    this.#registry = new SqliteRegistry(statements, this.#sweep, from);
    for (const id of this.#registry.ids()) leases.add(id);
    for (const { id } of statements.retired.all()) leases.retire(id as number);
  }

  /** Never throws because of the disk: every operation gets its result. */
  run(ops: readonly Op[]): Round {
    const whole = this.#try(ops);
    if (!(whole instanceof Error)) return whole;
    // A disk without room for new events may still have room to settle old ones.
    const brings = ["append", "noteRedriven", "sweep"];
    const isLeft = ops.map((op) => brings.includes(op.kind));
    const rest = ops.filter((_, index) => !isLeft[index]);
    const second = rest.length === ops.length || rest.length === 0 ? whole : this.#try(rest);
    const failed: OpResult = { kind: "failed", reason: whole.message };
    if (second instanceof Error) return { ...emptyRound(), answers: ops.map(() => failed) };
    const answers = [...second.answers];
    return {
      ...second,
      answers: isLeft.map((is) => (is ? failed : (answers.shift() as OpResult))),
    };
  }

  /** Until the copy is made, rounds may be run only by `betweenSteps`. */
  backUp(path: string, betweenSteps: () => void): Promise<void> {
    return copyStore(this.#database, path, betweenSteps);
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #try(ops: readonly Op[]): Round | Error {
    this.#round = emptyRound();
    this.#registry.begin();
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      const answers = ops.map((op, index) => this.#answer(op, index));
      this.#counts.write();
      // Everything that reads the disk comes before COMMIT: after it the round has happened and may
      // not fail.
      const sweep = this.#sweep.isDue(this.#roundsMade);
      this.#database.exec("COMMIT");
      this.#leases.keep();
      this.#registry.updateLeases(this.#leases);
      this.#roundsMade += 1;
      return { ...this.#round, answers, changed: this.#registry.changed, sweep };
    } catch (error) {
      this.#rollBack();
      this.#leases.undo();
      this.#counts.clear();
      if (!isDiskError(error)) throw error;
      return error;
    }
  }

  /** A rollback that fails has ended the transaction anyway; if it has not, it is a bug. */
  #rollBack(): void {
    try {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
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
