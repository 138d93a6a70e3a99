// One dispatcher per queue: it claims what is due, sends it, decides and settles.
//
// A dispatcher is always in one of three states:
//
//   claiming   It has room, and something is or may be due. Ends with the store's answer, which
//              also says when to look again.
//   resting    Nothing is due, there is no room, the endpoint is unhealthy, or the subscription is
//              paused. Ends at the next due time, or when something has changed the plan: a wake
//              from the store, a send that ended, the endpoint or the valve. A lost wake costs
//              latency only, because the alarm for the next due time remains.
//   closed     For good. What is in the buffer is given back; sends in flight end by themselves.
//
// Sends go on beside all three: `#fill` starts them whenever there is something in the buffer and
// room at the endpoint.
//
// On a crash between a send and its settlement, the event is sent again (D-2). A settlement that
// the disk refuses is retried until it is accepted, or until the lease is over and someone else has
// it. A batch that is to be sent again in halves (core/delivery/split.ts) is given back first, and
// claimed like anything else: so a crash, a pause or a stop between the halves only loses how far
// it was halved.

import type { BatchPolicy } from "../core/delivery/batch.ts";
import type { Delivery, Queue } from "../core/delivery/delivery.ts";
import type { FlowState } from "../core/delivery/flow.ts";
import type { Gate } from "../core/delivery/health.ts";
import { gatherLetter, type LetterWindow } from "../core/delivery/letter-window.ts";
import type { Outcome } from "../core/delivery/outcome.ts";
import type { Policy } from "../core/delivery/policy.ts";
import { type Decision, expire, isSuccess, outcomeName } from "../core/delivery/retry.ts";
import type { Parcel } from "../core/delivery/sink.ts";
import { isSplit } from "../core/delivery/split.ts";
import { Window } from "../core/delivery/window.ts";
import type { Chance, Claim, Clock, Instant, Log, Meter, Store, Want } from "../core/ports.ts";
import type { Chronicle } from "../core/story/chronicle.ts";
import type { Subscription } from "../core/subscription.ts";
import { earlier } from "../core/text/time.ts";
import { attemptEnd, attemptSpan, type Tracer } from "../core/tracing/span.ts";
import { sharedTrace } from "../core/tracing/trace.ts";
import { type DecisionRules, decideBatch, type End, settlementOf, type Times } from "./attempt.ts";
import { BatchBuffer } from "./batch-buffer.ts";
import type { Endpoint } from "./endpoint.ts";
import { Report } from "./report.ts";
import { storeRetryMs, Underway } from "./underway.ts";
import { Valve } from "./valve.ts";

/** The longest a delivery waits in the buffer before it is given back. */
const bufferMs = 60_000;
/** What is left of a lease when its send ends at the latest: enough time to settle it. */
const settleMs = 30_000;
/** Event text in the buffer of one dispatcher. */
const bufferCharsMax = 4 * 1024 * 1024;
/** Expired deliveries claimed together while an endpoint is unhealthy. */
const expiredPageMax = 500;
const never = Number.POSITIVE_INFINITY;
const shut: Gate = { kind: "closed", until: never };

export interface DispatchDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly log: Log;
  readonly meter: Meter;
  readonly chronicle?: Pick<Chronicle, "note">;
  readonly tracer?: Tracer;
}

/** How the parcels of a queue are sent. */
export type Send = (
  parcel: Parcel,
  limits: { readonly waitMs: number; readonly lateMs: number; readonly signal: AbortSignal },
) => Promise<Outcome>;

export interface DispatcherOptions {
  readonly queue: Queue;
  readonly subscription: Subscription;
  readonly policy: Policy;
  readonly batch: BatchPolicy | null;
  /** Null: there is no destination any more, and waiting deliveries are dropped. */
  readonly send: Send | null;
  readonly endpoint: Endpoint;
  readonly sendsMax: number;
  readonly deps: DispatchDeps;
  /** Whether this broker may claim and send for the queue at this moment (core/cluster). */
  readonly isOurs: () => boolean;
  /** Called with each send. */
  readonly onSend: (deliveries: number) => void;
  /** Running, paused or draining at the start; see `steer`. */
  readonly flowState: FlowState;
  /** Called when a drain has ended: nothing is due any more. */
  readonly onDrained: () => void;
  /** Called when nothing is left in the queue, nor under way. */
  readonly onEmpty?: () => void;
  /** Called once, when a bug of ours has stopped this dispatcher. */
  readonly onBroken: (error: unknown) => void;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #report: Report;
  readonly #valve: Valve;
  readonly #window: Window;
  /** Of dead letters that are written together. */
  #letters: LetterWindow | null = null;
  readonly #leaseMs: number;
  readonly #buffer: BatchBuffer;
  readonly #underway: Underway;
  readonly #rules: DecisionRules;
  /** How many the store may still lease to our standing claim. */
  #standing = 0;
  /** When something is due at the latest; null: nothing waits. Unknown at first. */
  #nextDueAt: Instant | null = 0;
  /** `#nextDueAt` may be the end of a lease of our own, which means nothing once it is settled. */
  #isDoubtful = false;
  /** The earliest due time of a wake that came during a claim, which may not have seen it. */
  #heardAt: Instant | null = null;
  /** How often it was held. */
  #holds = 0;
  /** The probe turn of an unhealthy endpoint for which expired deliveries were already removed. */
  #clearedTurn: Instant | null = null;
  /** Deliveries since the last send that could not be sent any more. */
  #usedUp = 0;
  #isClosed = false;
  /** Ends the current rest. */
  #endRest: (() => void) | null = null;
  /** When the current rest was planned to end. */
  #restsUntil: Instant = never;
  readonly #breakOff = new AbortController();
  /** Of each send. */
  readonly #limits: Parameters<Send>[1];
  /** From the endpoint, while we wait for it. */
  readonly #onNudge = () => this.#look();
  readonly #loop: Promise<void>;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { policy, batch, sendsMax, subscription, deps } = options;
    this.#report = new Report(subscription, deps);
    this.#buffer = new BatchBuffer(batch);
    this.#window = new Window({ sendsMax, batchMax: batch?.maxEvents ?? 1 }, deps.clock.now());
    const { waitMs, lateMs } = policy.profile;
    this.#limits = { waitMs, lateMs, signal: this.#breakOff.signal };
    this.#leaseMs = bufferMs + waitMs + settleMs;
    this.#valve = new Valve(deps.clock, () => this.#look());
    this.#valve.set(options.flowState);
    this.#rules = {
      ...{ policy, subscription: subscription.name },
      ...{ chance: deps.chance, valve: this.#valve },
      gather: this.#gather,
    };
    this.#underway = new Underway(this.#report, {
      deps,
      signal: this.#breakOff.signal,
      onEnded: () => this.#reconsider(),
      onBroken: (error) => this.#break(error),
    });
    this.#loop = this.#run().catch((error) => this.#break(error));
  }

  /** From the store: something may be due, or has been leased to us already. */
  wake(dueAt: Instant, deliveries: readonly Delivery[]): void {
    if (deliveries.length > 0) {
      this.#standing = Math.max(0, this.#standing - deliveries.length);
      this.#take(deliveries);
    } else {
      this.#nextDueAt = earlier(this.#nextDueAt, dueAt);
      this.#heardAt = earlier(this.#heardAt, dueAt);
    }
    this.#reconsider();
  }

  /** The subscription was paused, resumed or drained. Sends in flight are not affected. */
  steer(flowState: FlowState): void {
    this.#valve.set(flowState);
    this.#look();
  }

  /** Gives back what is in the buffer and takes nothing until the result is called. */
  hold(): () => void {
    const release = this.#valve.hold();
    this.#holds += 1;
    this.#look();
    return () => {
      release();
      this.#look();
    };
  }

  /**
   * An operator wants an attempt now, also at an unhealthy endpoint: then ours is the probe. What
   * we know to be due may be gone by now, so other waiting dispatchers come after us. `dueAt`: of
   * what was made due. Returns whether the probe was brought forward.
   */
  hasten(dueAt: Instant | null): boolean {
    const { endpoint, deps } = this.#options;
    const now = deps.clock.now();
    if (dueAt !== null) this.#nextDueAt = earlier(this.#nextDueAt, dueAt);
    const isDue = (this.#nextDueAt ?? never) <= now;
    const isTested = isDue && endpoint.hasten(now);
    this.#reconsider();
    if (isTested) endpoint.nudgeAll();
    return isTested;
  }

  /** Resolves when nothing is in flight any more. */
  async close(): Promise<void> {
    if (!this.#isClosed) {
      this.#end();
      this.#underway.giveBack(this.#buffer.takeAll());
    }
    await this.#loop;
    await this.#underway.idle();
    // Late answers are no longer waited for.
    this.breakOff();
  }

  /** Aborts sends in flight: their deliveries are due again. */
  breakOff(): void {
    this.#breakOff.abort();
  }

  // Claiming and resting.

  async #run(): Promise<void> {
    const { queue, deps } = this.#options;
    while (!this.#isClosed) {
      const plan = this.#plan(deps.clock.now());
      if (typeof plan === "number") {
        await this.#rest(plan);
        continue;
      }
      this.#heardAt = null;
      const holds = this.#holds;
      try {
        const claim = await deps.store.claim(queue, plan);
        // What was claimed before a hold may have been dropped during it.
        if (holds === this.#holds) this.#claimed(plan, claim);
        else this.#giveBack(claim);
      } catch (error) {
        this.#report.storeFailed("claim", error);
        await this.#rest(deps.clock.now() + storeRetryMs);
      }
    }
  }

  /** What to claim now, or until when to rest. */
  #plan(now: Instant): Want | Instant {
    const { endpoint, policy, batch } = this.#options;
    const gate = this.#isShut ? shut : endpoint.gate(now);
    const dueAt = this.#nextDueAt ?? never;
    const mine = this.#buffer.size + this.#underway.size;
    const isDoubtful = this.#isDoubtful && mine === 0;
    if (gate.kind === "closed") {
      // A standing claim would go on bringing deliveries that cannot be sent.
      const isToLook = this.#standing > 0 || isDoubtful;
      return isToLook ? this.#want(0, now) : Math.max(gate.until, dueAt);
    }
    const isDue = dueAt <= now;
    const turn = endpoint.probeTurn(now);
    const isProbe = turn !== null;
    if (isProbe && isDue && this.#clearedTurn !== turn) {
      const sinceBefore = this.#valve.beganBefore(policy.ttlMs, now);
      return { ...this.#want(expiredPageMax, now), sinceBefore };
    }
    // Of a limited endpoint a few are enough, unless those before could not be sent any more.
    const few = Math.max(isProbe ? 1 : 2 * gate.atOnce, 2 * this.#usedUp);
    const window = Math.min(this.#window.size, few);
    const ahead = Math.min(endpoint.ahead * (batch?.maxEvents ?? 1), this.#valve.ahead);
    const room = Math.min(window - mine, ahead - this.#buffer.size);
    // Claiming for every single free place would be too often; for half a window at a time it is
    // not.
    const isWorthIt = mine === 0 || room * 2 >= Math.min(window, ahead);
    // Before a standing claim is used up: what came after that would have to be read back.
    const isUsed = this.#standing * 4 <= room && !isProbe;
    const isWanted = isDue || isDoubtful || isUsed;
    if (room > 0 && isWorthIt && isWanted && this.#buffer.chars < bufferCharsMax) {
      return this.#want(room, now);
    }
    return isDue ? never : dueAt;
  }

  get #isShut(): boolean {
    return this.#valve.isShut || !this.#options.isOurs();
  }

  #want(max: number, now: Instant): Want {
    const charsMax = Math.max(1, bufferCharsMax - this.#buffer.chars);
    return { max, charsMax, now, leaseMs: this.#leaseMs };
  }

  #claimed(want: Want, claim: Claim): void {
    this.#isDoubtful = claim.deliveries.length + this.#buffer.size + this.#underway.size > 0;
    this.#nextDueAt =
      this.#heardAt === null ? claim.nextDueAt : earlier(claim.nextDueAt, this.#heardAt);
    this.#standing = 0;
    if (want.sinceBefore === undefined) this.#standing = want.max - claim.deliveries.length;
    else if (claim.deliveries.length < want.max) {
      this.#clearedTurn = this.#options.endpoint.probeTurn(want.now);
    }
    this.#take(claim.deliveries);
    const isAll = want.max > 0 && want.sinceBefore === undefined && !this.#isDoubtful;
    if (isAll && this.#valve.isDraining) this.#options.onDrained();
    if (isAll && this.#nextDueAt === null) this.#options.onEmpty?.();
  }

  #giveBack({ deliveries }: Claim): void {
    this.#standing = 0;
    this.#nextDueAt = 0;
    this.#underway.giveBack(deliveries);
  }

  async #rest(until: Instant): Promise<void> {
    const { clock } = this.#options.deps;
    const rested = Promise.withResolvers<void>();
    const waitMs = until - clock.now();
    const cancel = waitMs === never ? () => {} : clock.after(Math.max(0, waitMs), rested.resolve);
    this.#endRest = rested.resolve;
    this.#restsUntil = until;
    this.#waitForGate();
    await rested.promise;
    this.#endRest = null;
    cancel();
  }

  /** While health limits sends, a rest may end when it allows more of them. */
  #waitForGate(): void {
    const { endpoint, deps } = this.#options;
    const gate = endpoint.gate(deps.clock.now());
    const isLimited = gate.kind === "closed" || gate.atOnce < never;
    if (isLimited && !this.#isClosed) endpoint.wait(this.#onNudge);
  }

  /** There may be room, or no longer: send what can be sent, then plan again. */
  #look(): void {
    this.#fill();
    this.#reconsider();
  }

  /**
   * Ends a rest if the plan has changed. Most ended sends do not change it, and a new rest costs
   * more than a plan.
   */
  #reconsider(): void {
    if (this.#endRest === null) return;
    if (this.#plan(this.#options.deps.clock.now()) !== this.#restsUntil) this.#endRest();
    else this.#waitForGate();
  }

  // Sending.

  #take(deliveries: readonly Delivery[]): void {
    if (this.#isClosed) {
      this.#underway.giveBack(deliveries);
      return;
    }
    this.#buffer.add(deliveries);
    this.#fill();
  }

  #fill(): void {
    if (this.#buffer.size === 0 || this.#isClosed) return;
    const { endpoint, send, deps, isOurs } = this.#options;
    if (this.#isShut) {
      this.#underway.giveBack(this.#buffer.takeAll());
      return;
    }
    const now = deps.clock.now();
    if (send === null) {
      this.#underway.drop(this.#buffer.takeAll());
      return;
    }
    while (this.#buffer.size > 0 && endpoint.room(now) > 0 && this.#valve.room(now) > 0) {
      // A broker that was frozen between two sends may have lost the queue meanwhile.
      if (!isOurs()) break;
      const batch = this.#sendable(this.#buffer.takeBatch(this.#valve.room(now)), now);
      if (batch.length > 0) void this.#send(send, batch, now);
    }
    if (this.#buffer.size === 0) return;
    if (endpoint.gate(now).kind === "closed") {
      // What has expired is settled even now; the rest goes on waiting, and loses nothing.
      this.#underway.giveBack(this.#sendable(this.#buffer.takeAll(), now));
    } else if (endpoint.room(now) === 0) endpoint.wait(this.#onNudge);
  }

  readonly #gather = (decision: Decision, now: Instant): Decision => {
    if (decision.kind !== "deadLetter") return decision;
    const { deadLetterPauseMs } = this.#options.policy;
    const { window, at } = gatherLetter(this.#letters, now, deadLetterPauseMs);
    this.#letters = window;
    return { ...decision, at };
  };

  /** The same list with those that may be sent now, which nearly always are all of them. */
  #sendable(deliveries: Delivery[], now: Instant): Delivery[] {
    let count = 0;
    for (const delivery of deliveries) {
      if (this.#isSendable(delivery, now)) deliveries[count++] = delivery;
    }
    deliveries.length = count;
    return deliveries;
  }

  /** Whether it may be sent now; if not, it has been handled. */
  #isSendable(delivery: Delivery, now: Instant): boolean {
    const { policy } = this.#options;
    if (delivery.leasedUntil - now < policy.profile.waitMs + settleMs) {
      // Sent now it could outlive its lease: someone else may claim it, or already has.
      this.#underway.giveBack([delivery]);
      return false;
    }
    const { stage, attempts, since } = delivery;
    const heldMs = this.#valve.heldMs(since, now);
    const expired = expire({ stage, attempts, since, heldMs, policy }, now);
    if (expired === null) return true;
    const decision = this.#gather(expired, now);
    this.#usedUp += 1;
    this.#buffer.clear(delivery);
    this.#underway.finish([settlementOf(delivery, decision, null, now)], ([counts]) => {
      if (counts) this.#report.expired(delivery, decision, now);
    });
    return false;
  }

  /** Never rejects: a bug of ours ends the dispatcher. */
  async #send(send: Send, batch: readonly Delivery[], sentAt: Instant): Promise<void> {
    try {
      const { endpoint, policy, deps } = this.#options;
      const { parcel, span } = this.#begin(batch, sentAt);
      const health = endpoint.words;
      const outcome = await send(parcel, this.#limits);
      const now = deps.clock.now();
      const isBrokenOff = outcome.kind === "noReply" && outcome.why === "canceled";
      const isDelivered = isSuccess(policy.profile, outcome);
      span?.end(now, attemptEnd(outcome, outcomeName(outcome, policy.profile), isDelivered));
      const times = { now, sentAt, health, isLate: false };
      // A bad event spoils its batch: such an answer says nothing about the endpoint.
      const isHalved = this.#isHalved(batch, outcome);
      const isNeither = isBrokenOff || isHalved;
      endpoint.end(isNeither ? "unsent" : isDelivered ? "succeeded" : "failed", times, outcome);
      if (isHalved) this.#halve(batch, outcome);
      else if (isBrokenOff) this.#underway.giveBack(batch);
      else {
        const ends = this.#decide(batch, outcome, times);
        this.#tell(ends, await this.#settle(ends, times), times);
      }
      if (outcome.kind === "noReply" && outcome.late !== undefined) {
        void this.#waitLate(batch, outcome.late, times).catch((error) => this.#break(error));
      }
      this.#underway.end(batch.length);
    } catch (error) {
      this.#break(error);
    }
  }

  #begin(batch: readonly Delivery[], sentAt: Instant) {
    const { endpoint, subscription, queue, deps, onSend } = this.#options;
    this.#usedUp = 0;
    this.#underway.begin(batch.length);
    endpoint.begin(sentAt);
    this.#valve.pass(batch.length, sentAt);
    this.#window.count(batch.length, sentAt);
    onSend(batch.length);
    const { stage } = queue;
    const span = deps.tracer?.begin(
      attemptSpan({ subscription, deliveries: batch, stage, startedAt: sentAt }),
    );
    const trace = span?.trace ?? sharedTrace(batch.map(({ event }) => event.trace));
    return { span, parcel: { subscription, deliveries: batch, trace } };
  }

  #isHalved(batch: readonly Delivery[], outcome: Outcome): boolean {
    const { policy, subscription, queue } = this.#options;
    const { splitOnFailure } = subscription;
    if (!splitOnFailure) return false;
    return isSplit({ size: batch.length, stage: queue.stage, splitOnFailure }, policy, outcome);
  }

  /** The halves are claimed again, and are the same attempt. */
  #halve(batch: readonly Delivery[], outcome: Outcome): void {
    this.#buffer.halve(batch);
    this.#report.halved(batch, outcome);
    this.#underway.giveBack(batch);
  }

  /** Decides for each of the batch; they are settled together (B-3). */
  #decide(batch: readonly Delivery[], outcome: Outcome, times: Times): readonly End[] {
    const ends = decideBatch(batch, outcome, times, this.#rules);
    for (const { delivery, decision } of ends) {
      if (decision.kind !== "retry") this.#buffer.clear(delivery);
    }
    return ends;
  }

  #settle(ends: readonly End[], { now }: Times): Promise<readonly boolean[]> {
    return this.#underway.settle(
      ends.map(({ delivery, decision, attempt }) => settlementOf(delivery, decision, attempt, now)),
    );
  }

  #tell(ends: readonly End[], counted: readonly boolean[], { isLate }: Times): void {
    let index = 0;
    for (const end of ends) {
      const counts = counted[index++] ?? false;
      if (counts || !isLate) this.#report.attempted(end, counts);
    }
  }

  /** a late success cancels the retry unless it has been sent already. */
  async #waitLate(
    batch: readonly Delivery[],
    late: Promise<Outcome | null>,
    { sentAt, health }: Times,
  ): Promise<void> {
    const { endpoint, policy, deps } = this.#options;
    const outcome = await late;
    if (outcome === null || !isSuccess(policy.profile, outcome)) return;
    const times = { now: deps.clock.now(), sentAt, health, isLate: true };
    endpoint.endLate(times);
    const ends = this.#decide(batch, outcome, times);
    this.#tell(ends, await this.#settle(ends, times), times);
  }

  #end(): void {
    this.#isClosed = true;
    this.#options.endpoint.leave(this.#onNudge);
    this.#valve.close();
    this.#endRest?.();
  }

  #break(error: unknown): void {
    this.#end();
    this.#report.broken(error);
    this.#options.onBroken(error);
  }
}
