// Runs handshakes with endpoints. The decisions are in core/handshake/handshake.ts and
// core/handshake/question.ts; here they are carried out: ask, write the result, wait, and handle
// calls of the validation URL.
//
// The subscription's record is the truth. A run only has its latest version, and every write names
// the revision it was made from, so that other writes (by a client, by the validation URL) are seen
// and never undone. After a crash, an answer that was not written is asked for again, with the same
// code.
//
// Among several brokers the one that owns a subscription runs its handshake. Whoever else was asked
// to begin it waits for the record to say how it ended; and the validation URL may be called at any
// broker, because a decision is a write by revision, with a run or without.

import { hash, timingSafeEqual } from "node:crypto";
import type { AzureResources } from "../../core/azure/resources.ts";
import {
  applyDecision,
  decideHandshake,
  type HandshakeDecision,
  type HandshakeRules,
  handshakeRules,
  isOpen,
  newHandshake,
  nextStep,
  termsAsked,
} from "../../core/handshake/handshake.ts";
import {
  type Ask,
  type CallerUrl,
  judge,
  questionOf,
  validationUrlOf,
  wordsOfAnswer,
} from "../../core/handshake/question.ts";
import type { Clock, Ids, Instant, Log, Registry } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Route } from "../../core/request.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import {
  endpointOf,
  type Handshake,
  type HandshakeExchange,
  isAskable,
  type Subscription,
  type SubscriptionDraft,
  type SubscriptionId,
  type SubscriptionTerms,
} from "../../core/subscription.ts";
import { sleep } from "../../core/text/time.ts";
import type { Topic } from "../../core/topic.ts";
import { retryStale } from "../stale-write.ts";
import { occasionOf, sendDeletionNotice } from "./deletion-notice.ts";
import type { HandshakePort, Verdict } from "./port.ts";
import { type Call, validationRoutes } from "./validation-url.ts";

export interface HandshakeDeps {
  readonly registry: Registry;
  /** As it was last read. */
  readonly catalog: () => LiveCatalog;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly ask: Ask;
  /** What the file says about functions; without it there are none. */
  readonly azure?: AzureResources;
  /** Resolves when what was written is in effect. */
  readonly refresh: () => Promise<void>;
  /** False: there are no handshakes, and every subscription is active at once. */
  readonly isAsking?: boolean;
  readonly rules?: HandshakeRules;
  /** Whether this broker owns the subscription. Without it, all are its own. */
  readonly isMine?: (subscription: Subscription) => boolean;
}

type Asked = Subscription & { readonly handshake: Handshake };

/** One running handshake. */
interface Run {
  record: Asked;
  readonly stop: AbortController;
  /** While a decision is written, nobody else tells of it. */
  isWriting: boolean;
}

/** Those who wait for the verdict of one handshake, whoever runs it. */
interface Wait {
  readonly code: string;
  readonly verdict: Promise<Verdict>;
  /** Only the first call counts. */
  readonly tell: (verdict: Verdict) => void;
}

const storeRetryMs = 1_000;

export class Handshakes implements HandshakePort {
  readonly routes: readonly Route[];
  readonly #deps: HandshakeDeps;
  readonly #rules: HandshakeRules;
  readonly #runs = new Map<SubscriptionId, Run>();
  readonly #waits = new Map<SubscriptionId, Wait>();
  /** Where we can be reached, for records that do not say; null: not yet. */
  #reachedAt: CallerUrl | null = null;
  readonly #underWay = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(deps: HandshakeDeps) {
    this.#deps = deps;
    this.#rules = deps.rules ?? handshakeRules;
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
    return newHandshake({ ...begun, ...(called && { called }) }, this.#rules);
  }

  begin(subscription: Subscription): Promise<Verdict> {
    if (!isAsked(subscription)) {
      this.#dismiss(subscription.id, replaced);
      return Promise.resolve(succeeded);
    }
    if (this.#closing.signal.aborted) return Promise.resolve(stopping);
    const { verdict } = this.#waitFor(subscription);
    if (this.#isMine(subscription)) this.#run(subscription);
    return verdict;
  }

  #isMine(subscription: Subscription): boolean {
    return this.#deps.isMine?.(subscription) ?? true;
  }

  #waitFor({ id, handshake: { code } }: Asked): Wait {
    const known = this.#waits.get(id);
    if (known?.code === code) return known;
    this.#dismiss(id, replaced);
    const { promise, resolve } = Promise.withResolvers<Verdict>();
    const wait = { code, verdict: promise, tell: resolve };
    this.#waits.set(id, wait);
    return wait;
  }

  #run(record: Asked): void {
    const { id, handshake } = record;
    const running = this.#runs.get(id);
    if (running?.record.handshake.code === handshake.code) return;
    running?.stop.abort();
    const run = runOf(record);
    this.#runs.set(id, run);
    this.#follow(
      this.#carry(run)
        .catch((error) => {
          this.#end(run, { state: "Failed", why: overtaken });
          throw error;
        })
        .finally(() => this.#leave(run)),
    );
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
        this.#tellByRecord(subscription);
      }
      if (this.#reachedAt === null || this.#closing.signal.aborted) continue;
      if (!isAsked(subscription) || !isOpen(subscription.state)) continue;
      if (this.#isMine(subscription)) void this.begin(subscription);
    }
  }

  /** It was deleted, here or elsewhere. */
  gone({ id }: Subscription): void {
    this.#dismiss(id, "The subscription is gone.");
  }

  /** Another broker owns some of them now: it goes on with their handshakes. */
  yieldLost(): void {
    for (const run of this.#runs.values()) if (!this.#isMine(run.record)) this.#leave(run);
  }

  #tellByRecord({ id, state, handshake }: Subscription): void {
    const wait = this.#waits.get(id);
    if (wait === undefined) return;
    if (handshake?.code !== wait.code) this.#tell(id, { state: "Failed", why: replaced });
    else if (state === "AwaitingManualAction") wait.tell({ state });
    else if (!isOpen(state)) this.#tell(id, verdictIn(handshake));
  }

  nextAskAt(subscription: Subscription): Instant | null {
    if (subscription.state === "AwaitingManualAction") return null;
    if (this.#isMine(subscription) && !this.#runs.has(subscription.id)) return null;
    const step = nextStep(subscription, { now: this.#deps.clock.now(), rules: this.#rules });
    return step.kind === "rest" ? step.until : null;
  }

  async rerun(id: SubscriptionId, called: CallerUrl): Promise<Verdict> {
    const written = await retryStale(async () => {
      const record = await this.#read(id);
      if (record === undefined) throw new Refusal("NotFound", "There is no such subscription.");
      return await this.#deps.registry.putSubscription(
        this.#drawAnew(record, called),
        record.revision,
      );
    });
    return await this.begin(written);
  }

  /** Continues what a restart interrupted. `called`: where we can be reached. */
  async resume(called: CallerUrl): Promise<void> {
    const { catalog, isAsking = true, log } = this.#deps;
    this.#reachedAt = called;
    for (const subscription of catalog().subscriptions) {
      if (!isOpen(subscription.state) || this.#runs.has(subscription.id)) continue;
      if (!this.#isMine(subscription)) continue;
      if (isAsking && isAsked(subscription)) void this.begin(subscription);
      else {
        await this.rerun(subscription.id, called).catch((error) => {
          // Someone else has deleted it, or writes it all the time, and so is responsible.
          if (!isRefusal(error, "NotFound", "Conflict")) throw error;
          log.fact("warn", "handshake.unresumed", { ...namesOf(subscription), why: error.message });
        });
      }
    }
  }

  notifyDeleted(subscription: Subscription, goneTopic?: Topic): void {
    this.gone(subscription);
    if (!subscription.isActive || !isAskable(subscription.destination)) return;
    const { waitMs } = this.#rules;
    const signal = this.#closing.signal;
    this.#follow(sendDeletionNotice(this.#deps, subscription, { waitMs, signal, goneTopic }));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const { stop } of this.#runs.values()) stop.abort();
    for (const { tell } of this.#waits.values()) tell(stopping);
    await Promise.all(this.#underWay);
  }

  // A run.

  async #carry(run: Run): Promise<void> {
    const { signal } = run.stop;
    while (!signal.aborted) {
      const now = this.#deps.clock.now();
      const step = nextStep(run.record, { now, rules: this.#rules });
      switch (step.kind) {
        case "ask":
          await this.#askOnce(run);
          break;
        case "rest":
          this.#tellByRecord(run.record);
          await sleep(this.#deps.clock, step.until - now, signal);
          break;
        case "decide":
          await this.#conclude(run, step.decision, {
            at: now,
            request: "Waiting for a call of the validation URL",
            answer: "None came.",
          });
          break;
        case "none":
          this.#tellByRecord(run.record);
          return;
        default:
          return step satisfies never;
      }
    }
  }

  async #askOnce(run: Run): Promise<void> {
    const { clock, ask, log } = this.#deps;
    const { record, stop } = run;
    const { handshake } = record;
    const called = handshake.called ?? this.#reachedAt ?? { baseUrl: "http://localhost" };
    const terms = termsAsked(record);
    const validationUrl = validationUrlOf(record, handshake, called);
    const question = questionOf(occasionOf(this.#deps, record, terms), {
      code: handshake.code,
      validationUrl,
    });
    const answer = await ask({ ...question, waitMs: this.#rules.waitMs, signal: stop.signal });
    if (stop.signal.aborted) return;
    const now = clock.now();
    const finding = judge(question, handshake.code, answer);
    const decision = decideHandshake(handshake, finding, { now, rules: this.#rules });
    const request = `${question.method} ${endpointOf(terms.destination)}`;
    log.fact(finding.kind === "failed" ? "warn" : "info", "handshake.attempted", {
      ...namesOf(record),
      request,
      attempt: handshake.exchanges.length + 1,
      status: answer.kind === "answered" ? answer.status : null,
      verdict: finding.why,
      decision: decision.kind,
      ...(decision.kind === "askAgain" ? { waitMs: decision.at - now } : {}),
    });
    await this.#conclude(run, decision, {
      ...{ at: now, request, answer: wordsOfAnswer(answer) },
      ...(finding.kind === "failed" && finding.isRefusal && { isRefusal: true }),
    });
  }

  /** Writes a decision until the store accepts it, and ends the run if it was the last. */
  async #conclude(
    run: Run,
    decision: HandshakeDecision,
    said: Omit<HandshakeExchange, "verdict">,
  ): Promise<void> {
    const { clock, log } = this.#deps;
    while (!run.stop.signal.aborted) {
      try {
        await this.#decide(run, decision, { ...said, verdict: decision.why });
        return;
      } catch (error) {
        log.fact("error", "handshake.unwritten", { ...namesOf(run.record), error: String(error) });
        await sleep(clock, storeRetryMs, run.stop.signal);
      }
    }
  }

  async #decide(
    run: Run,
    decision: HandshakeDecision,
    exchange: HandshakeExchange,
  ): Promise<Verdict | null> {
    run.isWriting = true;
    try {
      const left = await this.#write(run, decision, exchange);
      await (left === null ? this.#written(run, decision) : this.#tellOf(run, left));
      return left;
    } finally {
      run.isWriting = false;
    }
  }

  /**
   * Null when it is written; otherwise how the handshake ended without us. Refusal: Conflict, when
   * others write all the time: a caller may call again, and a run tries again later.
   */
  #write(
    run: Run,
    decision: HandshakeDecision,
    exchange: HandshakeExchange,
  ): Promise<Verdict | null> {
    const { registry } = this.#deps;
    const { handshake } = run.record;
    let isBehind = false;
    return retryStale(async () => {
      const left = isBehind ? await this.#catchUp(run) : null;
      if (left !== null) return left;
      isBehind = true;
      const made = { exchange, now: exchange.at };
      const draft = applyDecision(run.record, decision, made, this.#rules);
      try {
        const written = await registry.putSubscription(draft, run.record.revision);
        run.record = { ...written, handshake: written.handshake ?? handshake };
        return null;
      } catch (error) {
        if (isRefusal(error, "NotFound")) return { state: "Failed", why: overtaken };
        throw error;
      }
    });
  }

  /** Takes over what others have written. Null: the decision is still ours. */
  async #catchUp(run: Run): Promise<Verdict | null> {
    const { id, handshake } = run.record;
    const fresh = await this.#read(id);
    const isOurs = fresh !== undefined && fresh.handshake?.code === handshake.code;
    if (!isOurs || !isAsked(fresh)) return { state: "Failed", why: overtaken };
    if (!isOpen(fresh.state)) return succeeded;
    run.record = fresh;
    return null;
  }

  async #written(run: Run, decision: HandshakeDecision): Promise<void> {
    const { kind, why } = decision;
    if (kind === "askAgain") return;
    const { log } = this.#deps;
    const level = kind === "fail" ? "warn" : "info";
    const { state } = run.record;
    log.fact(level, "handshake.decided", { ...namesOf(run.record), decision: kind, why, state });
    if (kind === "await") this.#tellByRecord(run.record);
    else await this.#tellOf(run, kind === "fail" ? { state: "Failed", why } : succeeded);
  }

  /** A client that sees the success may publish at once and expect a delivery. */
  async #tellOf(run: Run, verdict: Verdict): Promise<void> {
    await this.#deps.refresh().catch(() => {});
    this.#end(run, verdict);
  }

  #end(run: Run, verdict: Verdict): void {
    const { id, handshake } = run.record;
    this.#leave(run);
    if (this.#waits.get(id)?.code === handshake.code) this.#tell(id, verdict);
  }

  /** Those who wait for its verdict go on waiting. */
  #leave(run: Run): void {
    const { id } = run.record;
    if (this.#runs.get(id) === run) this.#runs.delete(id);
    run.stop.abort();
  }

  #tell(id: SubscriptionId, verdict: Verdict): void {
    this.#waits.get(id)?.tell(verdict);
    this.#waits.delete(id);
  }

  #dismiss(id: SubscriptionId, why: string): void {
    const run = this.#runs.get(id);
    if (run !== undefined) this.#leave(run);
    this.#tell(id, { state: "Failed", why });
  }

  // The validation URL.

  async #called(call: Call): Promise<"agreed" | "over" | "unknown"> {
    const { clock, catalog } = this.#deps;
    const found =
      this.#runs.get(call.subscription)?.record ?? catalog().subscription(call.subscription);
    // It may have been written at another broker a moment ago.
    const isKnown = found?.handshake != null && isSame(call.code, found.handshake.code);
    const record = isKnown ? found : await this.#read(call.subscription);
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
    const run = this.#runs.get(record.id) ?? runOf(record);
    const left = await this.#decide(run, decision, exchange);
    return left === null || left.state === "Succeeded" ? "agreed" : "over";
  }

  // Inside.

  #drawAnew(
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

  async #read(id: SubscriptionId): Promise<Subscription | undefined> {
    const names = { topics: [], subscriptions: [id] };
    const { subscriptions } = await this.#deps.registry.catalog(names);
    return subscriptions[0];
  }

  #follow(work: Promise<void>): void {
    const followed = work
      .catch((error) => this.#deps.log.fact("error", "handshake.broken", { error }))
      .finally(() => this.#underWay.delete(followed));
    this.#underWay.add(followed);
  }
}

const replaced = "A newer write of the subscription has replaced it.";
const overtaken = "The subscription was replaced or deleted.";
const succeeded: Verdict = { state: "Succeeded" };
const stopping: Verdict = { state: "Failed", why: "The broker is stopping." };

function isAsked(subscription: Subscription): subscription is Asked {
  return subscription.handshake !== null;
}

function runOf(record: Asked): Run {
  return { record, stop: new AbortController(), isWriting: false };
}

function verdictIn({ ended }: Handshake): Verdict {
  return ended?.isAgreed === false ? { state: "Failed", why: ended.why } : succeeded;
}

function isRefusal(error: unknown, ...codes: readonly Refusal["code"][]): boolean {
  return error instanceof Refusal && codes.includes(error.code);
}

/** The time this takes does not depend on the code: digests are compared to their last byte. */
function isSame(given: string, code: string): boolean {
  return timingSafeEqual(hash("sha256", given, "buffer"), hash("sha256", code, "buffer"));
}

function namesOf({ topic, name }: Pick<Subscription, "topic" | "name">) {
  return { topic, subscription: name };
}
