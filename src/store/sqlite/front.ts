// The front of the embedded store: it implements the ports and collects waiting operations into
// rounds. While one round is being written, the next one fills; so one fsync serves as many
// publishes, claims and settlements as came meanwhile.
//
// The engine behind it may live on a thread of its own (openThread) or in this one (openInline,
// for simulation).

import { everythingIsMine, type Ownership } from "../../core/cluster/ownership.ts";
import { noPeers, type Peers } from "../../core/cluster/peers.ts";
import type { RedrivenNote } from "../../core/deadletter/letter-store.ts";
import type { Delivery, DeliveryId, Queue } from "../../core/delivery/delivery.ts";
import type { Event } from "../../core/event.ts";
import type { QueueCount, Seen } from "../../core/ledger.ts";
import type {
  Activity,
  Claim,
  Clock,
  Instant,
  Routed,
  RoutedBy,
  Settlement,
  Wake,
  Want,
  WholeStore,
} from "../../core/ports.ts";
import type { Ended, Ending, Receive, Received } from "../../core/pull/pull-store.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Catalog, RecordNames } from "../../core/registry.ts";
import { tellingChars } from "../../core/shedding.ts";
import type { Memo, SkipStep } from "../../core/steering.ts";
import type { Subscription, SubscriptionDraft, SubscriptionId } from "../../core/subscription.ts";
import type { Topic, TopicDraft } from "../../core/topic.ts";
import { type Came, Intake, type IntakeLimits } from "../intake.ts";
import type { Op, OpResult, Push, Round } from "./round.ts";

/**
 * Runs a round and returns a result for every operation in it. Rejects only when it is gone for
 * good.
 */
export interface Engine {
  run(ops: readonly Op[]): Promise<Round>;
  close(): Promise<void>;
}

export interface EventLoop {
  /** Whether it has next to no time left: rounds are then worth waiting for. */
  isBusy(): boolean;
  /** Resolves when everything that came in together has been handled. */
  turn(): Promise<void>;
}

export interface FrontOptions extends IntakeLimits {
  readonly engine: Engine;
  readonly activity: Activity;
  readonly clock: Clock;
  /**
   * How long a round waits for more operations: settlements, which nobody waits for, and publishes
   * while others publish too and the event loop is busy. A lone publish never waits. 0: no round
   * ever waits, which a virtual clock needs.
   */
  readonly gatherMs: number;
  /** The event loop that callers share; without it, as in a simulation, it is never waited for. */
  readonly eventLoop?: EventLoop;
}

/** A round of this many operations does not wait for more. */
const fullRound = 64;
/** Turns of the event loop without anything new, after which nothing more is expected at once. */
const quietTurnsMin = 4;
/** Characters of new events in a round; what is beyond them waits for the next one. */
const roundCharsMax = 2 * tellingChars;
/**
 * Queues that are woken in one turn of the event loop. Each may start sends at once: who publishes
 * meanwhile must not wait for those of hundreds.
 */
const wakesPerTurnMax = 16;

interface Waiting {
  readonly op: Op;
  /** Of an append. */
  readonly came: Came | null;
  readonly answer: PromiseWithResolvers<unknown>;
}

export class FrontStore implements WholeStore {
  /** The file is locked to this process. */
  readonly ownership: Ownership = everythingIsMine;
  readonly peers: Peers = noPeers;
  readonly #options: FrontOptions;
  #waiting: Waiting[] = [];
  readonly #intake: Intake;
  /** How many of the waiting operations are appends, and how many settlements. */
  #appends = 0;
  #settles = 0;
  #isRunning = false;
  #isClosed = false;
  /** Whether several callers have just published together. */
  #isCrowded = false;
  /** Ends the wait for more operations. */
  #hurry: (() => void) | null = null;
  #failure: string | null = null;
  #callOffProbe: () => void = () => {};
  readonly #wakeListeners: ((wake: Wake) => void)[] = [];
  readonly #changeListeners: ((changed: RecordNames) => void)[] = [];
  /** What was dropped before anybody listened: the first round of a start may do that. */
  readonly #unheard: { readonly subscription: SubscriptionId; readonly count: number }[] = [];
  readonly #droppedListeners: ((subscription: SubscriptionId, count: number) => void)[] = [];

  constructor(options: FrontOptions) {
    this.#options = options;
    this.#intake = new Intake(options);
  }

  append(routed: readonly Routed[], now: Instant, by?: RoutedBy): Promise<readonly number[]> {
    if (this.#isClosed) return this.#refuseClosed();
    try {
      const came = this.#intake.enter(routed, now);
      return this.#do({ kind: "append", routed, now, by }, came);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  claim(queue: Queue, want: Want): Promise<Claim> {
    return this.#do({ kind: "claim", queue, want });
  }

  settle(settlements: readonly Settlement[]): Promise<readonly boolean[]> {
    return this.#do({ kind: "settle", settlements });
  }

  receive(of: SubscriptionId, want: Receive): Promise<Received> {
    return this.#do({ kind: "receive", of, want });
  }

  takeEnded(of: SubscriptionId, want: Ending): Promise<Ended> {
    return this.#do({ kind: "takeEnded", of, want });
  }

  locked(of: readonly SubscriptionId[], now: Instant): Promise<readonly number[]> {
    return this.#do({ kind: "locked", of, now });
  }

  counts(): Promise<readonly QueueCount[]> {
    return this.#do({ kind: "counts" });
  }

  waiting(queue: Queue, page: { readonly after: number; readonly limit: number }) {
    return this.#do<Seen[]>({ kind: "waiting", queue, ...page });
  }

  look(ids: readonly DeliveryId[]): Promise<readonly (Seen | null)[]> {
    return this.#do({ kind: "look", ids });
  }

  skip(queue: Queue, step: SkipStep | null) {
    return this.#do<{ dropped: number; next: SkipStep | null }>({ kind: "skip", queue, step });
  }

  hasten(queue: Queue, which: { readonly event: number | null; readonly now: Instant }) {
    return this.#do<{ hastened: number; isOver: boolean }>({ kind: "hasten", queue, ...which });
  }

  find(systemId: string, after: number) {
    return this.#do<{ event: number | null; next: number | null }>({
      kind: "find",
      systemId,
      after,
    });
  }

  notes(kind: string): Promise<readonly Memo[]> {
    return this.#do({ kind: "notes", of: kind });
  }

  putMemo(kind: string, key: string, record: object | null): Promise<void> {
    return this.#do({ kind: "putNote", of: kind, key, record });
  }

  keepMemo(kind: string, key: string, record: object): Promise<object> {
    return this.#do({ kind: "keepNote", of: kind, key, record });
  }

  redriven(keys: readonly string[]): Promise<readonly number[]> {
    return this.#do({ kind: "redriven", keys });
  }

  noteRedriven(notes: readonly RedrivenNote[]): Promise<void> {
    return this.#do({ kind: "noteRedriven", notes });
  }

  catalog(only?: RecordNames): Promise<Catalog> {
    return this.#do({ kind: "catalog", only });
  }

  putTopic(draft: TopicDraft, revision?: number): Promise<Topic> {
    return this.#do({ kind: "putTopic", draft, revision });
  }

  putSubscription(draft: SubscriptionDraft, revision?: number): Promise<Subscription> {
    return this.#do({ kind: "putSubscription", draft, revision });
  }

  removeTopic(name: string): Promise<readonly SubscriptionId[]> {
    return this.#do({ kind: "removeTopic", name });
  }

  removeSubscription(id: SubscriptionId, revision?: number): Promise<boolean> {
    return this.#do({ kind: "removeSubscription", id, revision });
  }

  onWake(listener: (wake: Wake) => void): void {
    this.#wakeListeners.push(listener);
  }

  onChange(listener: (changed: RecordNames) => void): void {
    this.#changeListeners.push(listener);
  }

  onDropped(listener: (subscription: SubscriptionId, count: number) => void): void {
    this.#droppedListeners.push(listener);
    for (const { subscription, count } of this.#unheard.splice(0)) listener(subscription, count);
  }

  /** Earlier operations are still carried out; later ones are refused. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    const last = this.#do({ kind: "counts" }).catch(() => {});
    this.#isClosed = true;
    this.#callOffProbe();
    this.#hurry?.();
    await last;
    await this.#options.engine.close();
  }

  #refuseClosed(): Promise<never> {
    return Promise.reject(new Refusal("Unavailable", "The store is closed."));
  }

  #do<T>(op: Op, came: Came | null = null): Promise<T> {
    if (this.#isClosed) return this.#refuseClosed();
    const answer = Promise.withResolvers<T>();
    this.#waiting.push({ op, came, answer: answer as PromiseWithResolvers<unknown> });
    if (op.kind === "append") this.#appends += 1;
    else if (op.kind === "settle") this.#settles += 1;
    if (!this.#isRunning) void this.#run();
    else if (this.#hurry !== null && !this.#isWorthWaiting()) this.#hurry();
    return answer.promise;
  }

  /** Whether more may come for this round, and waiting hurts nobody. */
  #isWorthWaiting(): boolean {
    const { length } = this.#waiting;
    if (this.#isClosed || length >= fullRound) return false;
    const others = length - this.#appends - this.#settles;
    const { eventLoop } = this.#options;
    const isCrowded = this.#isCrowded && (eventLoop?.isBusy() ?? true);
    return others === 0 && (this.#appends === 0 || isCrowded);
  }

  async #gather(): Promise<void> {
    const { clock, gatherMs } = this.#options;
    if (gatherMs === 0 || this.#waiting.length === 0 || !this.#isWorthWaiting()) return;
    const gathered = Promise.withResolvers<void>();
    const cancel = clock.after(gatherMs, gathered.resolve);
    this.#hurry = gathered.resolve;
    await gathered.promise;
    this.#hurry = null;
    cancel();
  }

  /**
   * Resolves when everything that came in together has been handled. Among many publishers, who was
   * just answered publishes again at once, and so a few more turns bring the next ones: each that
   * is in this round and not in one of its own saves its part of a sync, and of waking two threads.
   */
  async #calm(): Promise<void> {
    const { eventLoop } = this.#options;
    if (eventLoop === undefined) return;
    await eventLoop.turn();
    let quietTurns = 0;
    while (this.#isCrowded && quietTurns < quietTurnsMin && this.#waiting.length < fullRound) {
      const { length } = this.#waiting;
      await eventLoop.turn();
      quietTurns = this.#waiting.length > length ? 0 : quietTurns + 1;
    }
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    const end = this.#options.activity.begin("inside");
    // Everything that is called in this same turn joins the first round.
    await undefined;
    let sweep = false;
    /** Whether a round has just been written: a publish that came meanwhile was not alone. */
    let isNext = false;
    while (this.#waiting.length > 0 || sweep) {
      await this.#gather();
      await this.#calm();
      const { waiting, chars, appends } = this.#takeRound();
      // Sweeping is part of other rounds, so that it costs no round of its own and a busy store is
      // swept, too.
      const ops: Op[] = waiting.map(({ op }) => op);
      if (sweep) ops.push({ kind: "sweep" });
      this.#isCrowded = appends > 1 || (isNext && appends > 0);
      isNext = true;
      const startedAt = this.#options.clock.now();
      const round = await this.#options.engine.run(ops).catch((error: Error) => {
        for (const { came, answer } of waiting) {
          if (came !== null) this.#intake.leave(came);
          answer.reject(this.#failed(error));
        }
        return null;
      });
      const ms = this.#options.clock.now() - startedAt;
      this.#intake.measured(chars, ms);
      if (round !== null) this.#judge(ops, round);
      sweep = round?.sweep === true && !this.#isClosed;
      const later = round === null ? [] : this.#tell(waiting, round);
      while (later.length > 0) {
        await this.#options.eventLoop?.turn();
        this.#wake(later.splice(0, this.#wakesMax));
      }
    }
    this.#isRunning = false;
    end();
  }

  /** All that waits, or as much of it as makes a large round: so what a round needs is bounded. */
  #takeRound() {
    let [chars, appends, settles, count] = [0, 0, 0, 0];
    for (const { op, came } of this.#waiting) {
      const more = came?.chars ?? 0;
      if (count > 0 && chars + more > roundCharsMax) break;
      chars += more;
      count += 1;
      if (op.kind === "append") appends += 1;
      else if (op.kind === "settle") settles += 1;
    }
    const waiting = this.#waiting;
    this.#waiting = waiting.splice(count);
    this.#appends -= appends;
    this.#settles -= settles;
    return { waiting, chars, appends };
  }

  /** Why nothing can be written at present; null: as far as is known, it can. */
  get failure(): string | null {
    return this.#failure;
  }

  #failed(cause: Error): Refusal {
    const { retryAfterMs } = this.#options;
    const words = `The store cannot write at the moment: ${cause.message.replace(/\.$/, "")}.`;
    return new Refusal("Unavailable", words, { retryAfterMs, cause });
  }

  #judge(ops: readonly Op[], { answers }: Round): void {
    const failed = answers.find((answer) => answer.kind === "failed");
    if (failed !== undefined) {
      this.#failure = failed.reason;
      this.#probeLater();
    } else if (ops.some(({ kind }) => kind === "append" || kind === "putNote")) {
      this.#failure = null;
    }
  }

  /**
   * After a disk failure a small record is written again and again until that succeeds: publishers
   * may have stopped because we are not ready, and an idle store has to be swept.
   */
  #probeLater(): void {
    if (this.#isClosed) return;
    const { clock, retryAfterMs } = this.#options;
    this.#callOffProbe();
    this.#callOffProbe = clock.after(retryAfterMs, () => {
      this.putMemo("store", "probe", {}).catch(() => {});
      this.#do({ kind: "sweep" }).catch(() => {});
    });
  }

  /** Returns whom to wake in later turns of the event loop. */
  #tell(waiting: readonly Waiting[], round: Round): Wake[] {
    let index = 0;
    for (const { came, answer } of waiting) {
      const result = round.answers[index++] as OpResult;
      if (came !== null) this.#intake.leave(came);
      if (result.kind === "done") answer.resolve(result.value);
      else if (result.kind === "refused") answer.reject(new Refusal(result.code, result.reason));
      else answer.reject(this.#failed(new Error(result.reason)));
    }
    const wakes = [...this.#wakesOf(waiting, round)];
    this.#wake(wakes.splice(0, this.#wakesMax));
    const { changed } = round;
    if (changed !== null) for (const listener of this.#changeListeners) listener(changed);
    if (this.#droppedListeners.length === 0) this.#unheard.push(...round.dropped);
    else {
      for (const { subscription, count } of round.dropped) {
        for (const listener of this.#droppedListeners) listener(subscription, count);
      }
    }
    return wakes;
  }

  get #wakesMax(): number {
    return this.#options.eventLoop === undefined ? Number.POSITIVE_INFINITY : wakesPerTurnMax;
  }

  #wake(wakes: readonly Wake[]): void {
    for (const wake of wakes) for (const listener of this.#wakeListeners) listener(wake);
  }

  /**
   * At most two wakes per queue: one that brings deliveries, and one that announces others. In one
   * wake they could not be distinguished, and the others would wait for the next claim. Pushed
   * deliveries get their events from here, where they still are in memory.
   */
  *#wakesOf(waiting: readonly Waiting[], round: Round): Iterable<Wake> {
    const pushed = new Map<SubscriptionId, { dueAt: Instant; deliveries: Delivery[] }>();
    for (const push of round.pushes) {
      const op = waiting[push.op]?.op as Extract<Op, { kind: "append" }>;
      const { event } = op.routed[push.index] as Routed;
      const wake = pushed.get(push.subscription) ?? { dueAt: op.now, deliveries: [] };
      wake.deliveries.push(deliveryOf(push, event, op.now));
      pushed.set(push.subscription, wake);
    }
    for (const [subscription, wake] of pushed) {
      yield { queue: { subscription, stage: "deliver" }, ...wake };
    }
    const told = new Map<string, { queue: Queue; dueAt: Instant }>();
    for (const { queue, dueAt } of round.wakes) {
      const key = `${queue.subscription}/${queue.stage}`;
      const wake = told.get(key);
      if (wake === undefined) told.set(key, { queue, dueAt });
      else wake.dueAt = Math.min(wake.dueAt, dueAt);
    }
    for (const wake of told.values()) yield { ...wake, deliveries: [] };
  }
}

function deliveryOf(push: Push, event: Event, now: Instant): Delivery {
  return {
    id: { event: push.event, subscription: push.subscription },
    stage: "deliver",
    lease: push.lease,
    leasedUntil: push.leasedUntil,
    dueAt: now,
    attempts: 0,
    since: event.publishedAt,
    last: null,
    reason: null,
    event,
  };
}
