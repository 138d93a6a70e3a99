// Runs handshakes with endpoints. The decisions are in core/handshake/handshake.ts and
// core/handshake/question.ts; here they are carried out: ask, write the result, wait, and handle
// calls of the validation URL.
//
// The subscription's record is the truth. A run only has its latest version, and every write names
// the revision it was made from, so that other writes (by a client, by the validation URL) are seen
// and never undone. After a crash, an answer that was not written is asked for again, with the same
// code.

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
}

type Asked = Subscription & { readonly handshake: Handshake };

/** One running handshake. */
interface Run {
  record: Asked;
  readonly called: CallerUrl;
  readonly stop: AbortController;
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
  readonly #underWay = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(deps: HandshakeDeps) {
    this.#deps = deps;
    this.#rules = deps.rules ?? handshakeRules;
    this.routes = validationRoutes((call) => this.#called(call));
  }

  prepare(pending: SubscriptionTerms | null, before: Handshake | null = null): Handshake | null {
    const { ids, clock, isAsking = true } = this.#deps;
    if (!isAsking) return null;
    const code = ids.next().toUpperCase();
    return newHandshake({ code, now: clock.now(), pending, before }, this.#rules);
  }

  begin(subscription: Subscription, called: CallerUrl): Promise<Verdict> {
    this.#dismiss(subscription.id, "A newer write of the subscription has replaced it.");
    if (!isAsked(subscription)) return Promise.resolve(succeeded);
    if (this.#closing.signal.aborted) return Promise.resolve(stopping);
    const { promise, resolve } = Promise.withResolvers<Verdict>();
    const stop = new AbortController();
    const run = { record: subscription, called, stop, verdict: promise, tell: resolve };
    this.#runs.set(subscription.id, run);
    this.#follow(
      this.#carry(run).finally(() => this.#end(run, { state: "Failed", why: overtaken })),
    );
    return promise;
  }

  nextAskAt(subscription: Subscription): Instant | null {
    if (!this.#runs.has(subscription.id) || subscription.state === "AwaitingManualAction") {
      return null;
    }
    const step = nextStep(subscription, { now: this.#deps.clock.now(), rules: this.#rules });
    return step.kind === "rest" ? step.until : null;
  }

  async rerun(id: SubscriptionId, called: CallerUrl): Promise<Verdict> {
    const written = await retryStale(async () => {
      const record = await this.#read(id);
      if (record === undefined) throw new Refusal("NotFound", "There is no such subscription.");
      return await this.#deps.registry.putSubscription(this.#drawAnew(record), record.revision);
    });
    return await this.begin(written, called);
  }

  /** Continues what a restart interrupted. The caller's address is not known any more. */
  async resume(called: CallerUrl): Promise<void> {
    const { catalog, isAsking = true, log } = this.#deps;
    for (const subscription of catalog().subscriptions) {
      if (!isOpen(subscription.state) || this.#runs.has(subscription.id)) continue;
      if (isAsking && isAsked(subscription)) void this.begin(subscription, called);
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
    this.#dismiss(subscription.id, "The subscription is gone.");
    if (!subscription.isActive || !isAskable(subscription.destination)) return;
    const { waitMs } = this.#rules;
    const signal = this.#closing.signal;
    this.#follow(sendDeletionNotice(this.#deps, subscription, { waitMs, signal, goneTopic }));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const { stop, tell } of this.#runs.values()) {
      stop.abort();
      tell(stopping);
    }
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
          if (run.record.state === "AwaitingManualAction") run.tell({ state: run.record.state });
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
          return;
        default:
          return step satisfies never;
      }
    }
  }

  async #askOnce(run: Run): Promise<void> {
    const { clock, ask, log } = this.#deps;
    const { record, called, stop } = run;
    const { handshake } = record;
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
        const left = await this.#write(run, decision, { ...said, verdict: decision.why });
        await (left === null ? this.#written(run, decision) : this.#tellOf(run, left));
        return;
      } catch (error) {
        log.fact("error", "handshake.unwritten", { ...namesOf(run.record), error: String(error) });
        await sleep(clock, storeRetryMs, run.stop.signal);
      }
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
    if (kind === "await") run.tell({ state: "AwaitingManualAction" });
    else await this.#tellOf(run, kind === "fail" ? { state: "Failed", why } : succeeded);
  }

  /** A client that sees the success may publish at once and expect a delivery. */
  async #tellOf(run: Run, verdict: Verdict): Promise<void> {
    await this.#deps.refresh().catch(() => {});
    this.#end(run, verdict);
  }

  #end(run: Run, verdict: Verdict): void {
    const { id } = run.record;
    if (this.#runs.get(id) === run) this.#runs.delete(id);
    run.stop.abort();
    run.tell(verdict);
  }

  #dismiss(id: SubscriptionId, why: string): void {
    const run = this.#runs.get(id);
    if (run !== undefined) this.#end(run, { state: "Failed", why });
  }

  // The validation URL.

  async #called(call: Call): Promise<"agreed" | "over" | "unknown"> {
    const { clock, catalog } = this.#deps;
    const run = this.#runs.get(call.subscription);
    const record = run?.record ?? catalog().subscription(call.subscription);
    const handshake = record?.handshake ?? null;
    if (record === undefined || handshake === null) return "unknown";
    if (!isSame(call.code, handshake.code)) return "unknown";
    const now = clock.now();
    if (now >= handshake.until) return "over";
    if (run === undefined || !isOpen(record.state)) {
      return record.state === "Succeeded" ? "agreed" : "over";
    }
    if (call.isLook) return "agreed";
    const why = "The validation URL was called.";
    const decision = { kind: "succeed", allowedRate: call.allowedRate, why } as const;
    const request = `${call.method} of the validation URL`;
    const exchange = { at: now, request, answer: "200", verdict: why };
    const left = await this.#write(run, decision, exchange);
    if (left === null) await this.#written(run, decision);
    return left === null || left.state === "Succeeded" ? "agreed" : "over";
  }

  // Inside.

  #drawAnew({ id: _id, revision: _revision, ...record }: Subscription): SubscriptionDraft {
    const pending = isOpen(record.state) ? (record.handshake?.pending ?? null) : null;
    const isAsked = isAskable((pending ?? record).destination);
    const handshake = isAsked ? this.prepare(pending, record.handshake) : null;
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

const overtaken = "The subscription was replaced or deleted.";
const succeeded: Verdict = { state: "Succeeded" };
const stopping: Verdict = { state: "Failed", why: "The broker is stopping." };

function isAsked(subscription: Subscription): subscription is Asked {
  return subscription.handshake !== null;
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
