// All handshakes of a broker: which are running, who waits for their verdicts, and calls of the
// validation URL. One handshake is in run.ts; the decisions are in core/handshake/handshake.ts
// and core/handshake/question.ts.
//
// The subscription's record is the truth. After a crash, an answer that was not written is asked
// for again, with the same code.
//
// Among several brokers the one that owns a subscription runs its handshake. Whoever else was asked
// to begin it waits for the record to say how it ended; and the validation URL may be called at any
// broker, because a decision is a write by revision, with a run or without.

import { hash, timingSafeEqual } from "node:crypto";
import {
  type HandshakeRules,
  handshakeRules,
  isOpen,
  newHandshake,
  nextStep,
} from "../../core/handshake/handshake.ts";
import type { CallerUrl } from "../../core/handshake/question.ts";
import type { Instant } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Route } from "../../core/request.ts";
import {
  type Handshake,
  isAskable,
  type Subscription,
  type SubscriptionDraft,
  type SubscriptionId,
  type SubscriptionTerms,
} from "../../core/subscription.ts";
import type { Topic } from "../../core/topic.ts";
import { retryStale } from "../stale-write.ts";
import { sendDeletionNotice } from "./deletion-notice.ts";
import { type Asked, type HandshakePort, isAsked, type Verdict } from "./port.ts";
import { namesOf, overtaken, Run, type RunDeps, type RunKeeper, readSubscription } from "./run.ts";
import { type Call, validationRoutes } from "./validation-url.ts";
import { replaced, stopping, succeeded, Verdicts } from "./verdicts.ts";

export interface HandshakeDeps extends RunDeps {
  /** False: there are no handshakes, and every subscription is active at once. */
  readonly isAsking?: boolean;
  readonly rules?: HandshakeRules;
  /** Whether this broker owns the subscription. Without it, all are its own. */
  readonly isMine?: (subscription: Subscription) => boolean;
}

export class Handshakes implements HandshakePort, RunKeeper {
  readonly routes: readonly Route[];
  readonly rules: HandshakeRules;
  reachedAt: CallerUrl | null = null;
  readonly #deps: HandshakeDeps;
  readonly #runs = new Map<SubscriptionId, Run>();
  readonly #verdicts = new Verdicts();
  readonly #underWay = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(deps: HandshakeDeps) {
    this.#deps = deps;
    this.rules = deps.rules ?? handshakeRules;
    this.routes = validationRoutes((call) => this.#called(call));
  }

  prepare(
    pending: SubscriptionTerms | null,
    before: Handshake | null = null,
    called?: CallerUrl,
  ): Handshake | null {
    const { ids, clock, isAsking = true } = this.#deps;
    if (!isAsking) return null;
    const code = ids.next().toUpperCase();
    const begun = { code, now: clock.now(), pending, before };
    return newHandshake({ ...begun, ...(called && { called }) }, this.rules);
  }

  begin(subscription: Subscription): Promise<Verdict> {
    if (!isAsked(subscription)) {
      this.#dismiss(subscription.id, replaced);
      return Promise.resolve(succeeded);
    }
    if (this.#closing.signal.aborted) return Promise.resolve(stopping);
    if (!this.#verdicts.isAwaited(subscription)) this.#dismiss(subscription.id, replaced);
    const verdict = this.#verdicts.of(subscription);
    if (this.#isMine(subscription)) this.#run(subscription);
    return verdict;
  }

  /**
   * As the catalog is read: what was written elsewhere is asked if it is ours, and those who wait
   * are told what the record says.
   */
  noted(subscriptions: readonly Subscription[]): void {
    for (const subscription of subscriptions) {
      const run = this.#runs.get(subscription.id);
      if (run?.isWriting !== true) {
        // Decided elsewhere, by a call of the validation URL.
        if (run !== undefined && !isOpen(subscription.state)) this.#leave(run);
        this.#verdicts.tellByRecord(subscription);
      }
      if (this.reachedAt === null || this.#closing.signal.aborted) continue;
      if (!isAsked(subscription) || !isOpen(subscription.state)) continue;
      if (this.#isMine(subscription)) void this.begin(subscription);
    }
  }

  /** It was deleted, here or elsewhere. */
  gone({ id }: Subscription): void {
    this.#dismiss(id, { state: "Failed", why: "The subscription is gone." });
  }

  /** Another broker owns some of them now: it goes on with their handshakes. */
  yieldLost(): void {
    for (const run of this.#runs.values()) if (!this.#isMine(run.record)) this.#leave(run);
  }

  nextAskAt(subscription: Subscription): Instant | null {
    if (subscription.state === "AwaitingManualAction") return null;
    if (this.#isMine(subscription) && !this.#runs.has(subscription.id)) return null;
    const step = nextStep(subscription, { now: this.#deps.clock.now(), rules: this.rules });
    return step.kind === "rest" ? step.until : null;
  }

  async rerun(id: SubscriptionId, called: CallerUrl): Promise<Verdict> {
    const { registry } = this.#deps;
    const written = await retryStale(async () => {
      const record = await readSubscription(registry, id);
      if (record === undefined) throw new Refusal("NotFound", "There is no such subscription.");
      return await registry.putSubscription(this.#startedAgain(record, called), record.revision);
    });
    return await this.begin(written);
  }

  /** Continues what a restart interrupted. `called`: where we can be reached. */
  async resume(called: CallerUrl): Promise<void> {
    const { catalog, isAsking = true, log } = this.#deps;
    this.reachedAt = called;
    for (const subscription of catalog().subscriptions) {
      if (!isOpen(subscription.state) || this.#runs.has(subscription.id)) continue;
      if (!this.#isMine(subscription)) continue;
      if (isAsking && isAsked(subscription)) void this.begin(subscription);
      else {
        await this.rerun(subscription.id, called).catch((error) => {
          // Someone else has deleted it, or writes it all the time, and so is responsible.
          const isTheirs = error instanceof Refusal && /^(NotFound|Conflict)$/.test(error.code);
          if (!isTheirs) throw error;
          log.fact("warn", "handshake.unresumed", { ...namesOf(subscription), why: error.message });
        });
      }
    }
  }

  notifyDeleted(subscription: Subscription, goneTopic?: Topic): void {
    this.gone(subscription);
    if (!subscription.isActive || !isAskable(subscription.destination)) return;
    const { waitMs } = this.rules;
    const { signal } = this.#closing;
    this.#follow(sendDeletionNotice(this.#deps, subscription, { waitMs, signal, goneTopic }));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const run of this.#runs.values()) run.stop();
    this.#verdicts.close();
    await Promise.all(this.#underWay);
  }

  // What runs tell.

  moved(record: Asked): void {
    this.#verdicts.tellByRecord(record);
  }

  ended(run: Run, verdict: Verdict): void {
    this.#leave(run);
    if (this.#verdicts.isAwaited(run.record)) this.#verdicts.end(run.record.id, verdict);
  }

  // The validation URL.

  async #called(call: Call): Promise<"agreed" | "over" | "unknown"> {
    const { clock, catalog, registry } = this.#deps;
    const { subscription: id } = call;
    const found = this.#runs.get(id)?.record ?? catalog().subscription(id);
    // It may have been written at another broker a moment ago.
    const isKnown = found?.handshake != null && isSame(call.code, found.handshake.code);
    const record = isKnown ? found : await readSubscription(registry, id);
    if (record === undefined || !isAsked(record)) return "unknown";
    if (!isSame(call.code, record.handshake.code)) return "unknown";
    const now = clock.now();
    if (now >= record.handshake.until) return "over";
    if (!isOpen(record.state)) return record.state === "Succeeded" ? "agreed" : "over";
    if (call.isLook) return "agreed";
    const why = "The validation URL was called.";
    const decision = { kind: "succeed", allowedRate: call.allowedRate, why } as const;
    const request = `${call.method} of the validation URL`;
    const exchange = { at: now, request, answer: "200", verdict: why };
    const run = this.#runs.get(record.id) ?? new Run(record, this.#deps, this);
    const left = await run.decide(decision, exchange);
    return left === null || left.state === "Succeeded" ? "agreed" : "over";
  }

  // Inside.

  #isMine(subscription: Subscription): boolean {
    return this.#deps.isMine?.(subscription) ?? true;
  }

  #run(record: Asked): void {
    const { id, handshake } = record;
    const running = this.#runs.get(id);
    if (running?.record.handshake.code === handshake.code) return;
    running?.stop();
    const run = new Run(record, this.#deps, this);
    this.#runs.set(id, run);
    this.#follow(
      run
        .carry()
        .catch((error) => {
          this.ended(run, overtaken);
          throw error;
        })
        .finally(() => this.#leave(run)),
    );
  }

  /** Those who wait for its verdict go on waiting. */
  #leave(run: Run): void {
    const { id } = run.record;
    if (this.#runs.get(id) === run) this.#runs.delete(id);
    run.stop();
  }

  #dismiss(id: SubscriptionId, verdict: Verdict): void {
    const run = this.#runs.get(id);
    if (run !== undefined) this.#leave(run);
    this.#verdicts.end(id, verdict);
  }

  #startedAgain(
    { id: _id, revision: _revision, ...record }: Subscription,
    called: CallerUrl,
  ): SubscriptionDraft {
    const pending = isOpen(record.state) ? (record.handshake?.pending ?? null) : null;
    const isAsked = isAskable((pending ?? record).destination);
    const handshake = isAsked ? this.prepare(pending, record.handshake, called) : null;
    if (handshake === null) {
      return { ...record, ...pending, isActive: true, state: "Succeeded", handshake };
    }
    return { ...record, state: record.isActive ? "Updating" : "Creating", handshake };
  }

  #follow(work: Promise<void>): void {
    const followed = work
      .catch((error) => this.#deps.log.fact("error", "handshake.broken", { error }))
      .finally(() => this.#underWay.delete(followed));
    this.#underWay.add(followed);
  }
}

/** The time this takes does not depend on the code: digests are compared to their last byte. */
function isSame(given: string, code: string): boolean {
  return timingSafeEqual(hash("sha256", given, "buffer"), hash("sha256", code, "buffer"));
}
