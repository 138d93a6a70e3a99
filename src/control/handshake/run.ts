// One running handshake: asks the endpoint, writes each decision, and waits until the next step is
// due. Which step that is, core/handshake/handshake.ts decides.
//
// A run only has the latest version of the record, and every write names the revision it was made
// from, so that other writes (by a client, by the validation URL) are seen and never undone.

import type { AzureResources } from "../../core/azure/resources.ts";
import {
  applyDecision,
  decideHandshake,
  type HandshakeDecision,
  type HandshakeRules,
  isOpen,
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
import type { Clock, Ids, Log } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Registry } from "../../core/registry.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import {
  endpointOf,
  type HandshakeExchange,
  type Subscription,
  type SubscriptionId,
} from "../../core/subscription.ts";
import { sleep } from "../../core/text/time.ts";
import { retryStale } from "../stale-write.ts";
import { occasionOf } from "./deletion-notice.ts";
import { type Asked, isAsked, type Verdict } from "./port.ts";
import { succeeded } from "./verdicts.ts";

export interface RunDeps {
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
}

/** Whoever keeps the runs. */
export interface RunKeeper {
  readonly rules: HandshakeRules;
  /** Where we can be reached, for records that do not say; null: not yet. */
  readonly reachedAt: CallerUrl | null;
  /** The record has changed, or the run waits. */
  moved(record: Asked): void;
  ended(run: Run, verdict: Verdict): void;
}

export const overtaken: Verdict = {
  state: "Failed",
  why: "The subscription was replaced or deleted.",
};

const storeRetryMs = 1_000;

export class Run {
  record: Asked;
  /** While a decision is written, nobody else tells of it. */
  isWriting = false;
  readonly #stop = new AbortController();
  readonly #deps: RunDeps;
  readonly #keeper: RunKeeper;

  constructor(record: Asked, deps: RunDeps, keeper: RunKeeper) {
    this.record = record;
    this.#deps = deps;
    this.#keeper = keeper;
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Until it has ended, or is stopped. */
  async carry(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const now = clock.now();
      const step = nextStep(this.record, { now, rules: this.#keeper.rules });
      switch (step.kind) {
        case "ask":
          await this.#askOnce();
          break;
        case "rest":
          this.#keeper.moved(this.record);
          await sleep(clock, step.until - now, signal);
          break;
        case "decide":
          await this.#conclude(step.decision, {
            at: now,
            request: "Waiting for a call of the validation URL",
            answer: "None came.",
          });
          break;
        case "none":
          this.#keeper.moved(this.record);
          return;
        default:
          return step satisfies never;
      }
    }
  }

  /**
   * Writes a decision and tells of it. Null when it is written; otherwise how the handshake ended
   * without us. Refusal: Conflict, when others write all the time: a caller may call again, and a
   * run tries again later.
   */
  async decide(decision: HandshakeDecision, exchange: HandshakeExchange): Promise<Verdict | null> {
    this.isWriting = true;
    try {
      const left = await this.#write(decision, exchange);
      await (left === null ? this.#written(decision) : this.#end(left));
      return left;
    } finally {
      this.isWriting = false;
    }
  }

  async #askOnce(): Promise<void> {
    const { clock, ask, log } = this.#deps;
    const { rules, reachedAt } = this.#keeper;
    const { signal } = this.#stop;
    const { record } = this;
    const { handshake } = record;
    const called = handshake.called ?? reachedAt ?? { baseUrl: "http://localhost" };
    const terms = termsAsked(record);
    const validationUrl = validationUrlOf(record, handshake, called);
    const question = questionOf(occasionOf(this.#deps, record, terms), {
      code: handshake.code,
      validationUrl,
    });
    const answer = await ask({ ...question, waitMs: rules.waitMs, signal });
    if (signal.aborted) return;
    const now = clock.now();
    const finding = judge(question, handshake.code, answer);
    const decision = decideHandshake(handshake, finding, { now, rules });
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
    await this.#conclude(decision, {
      ...{ at: now, request, answer: wordsOfAnswer(answer) },
      ...(finding.kind === "failed" && finding.isRefusal && { isRefusal: true }),
    });
  }

  /** Writes a decision until the store accepts it. */
  async #conclude(
    decision: HandshakeDecision,
    said: Omit<HandshakeExchange, "verdict">,
  ): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.decide(decision, { ...said, verdict: decision.why });
        return;
      } catch (error) {
        log.fact("error", "handshake.unwritten", { ...namesOf(this.record), error: String(error) });
        await sleep(clock, storeRetryMs, signal);
      }
    }
  }

  #write(decision: HandshakeDecision, exchange: HandshakeExchange): Promise<Verdict | null> {
    const { registry } = this.#deps;
    const { handshake } = this.record;
    let isBehind = false;
    return retryStale(async () => {
      const left = isBehind ? await this.#catchUp() : null;
      if (left !== null) return left;
      isBehind = true;
      const made = { exchange, now: exchange.at };
      const draft = applyDecision(this.record, decision, made, this.#keeper.rules);
      try {
        const written = await registry.putSubscription(draft, this.record.revision);
        this.record = { ...written, handshake: written.handshake ?? handshake };
        return null;
      } catch (error) {
        if (error instanceof Refusal && error.code === "NotFound") return overtaken;
        throw error;
      }
    });
  }

  /** Takes over what others have written. Null: the decision is still ours. */
  async #catchUp(): Promise<Verdict | null> {
    const { id, handshake } = this.record;
    const fresh = await readSubscription(this.#deps.registry, id);
    const isOurs = fresh !== undefined && fresh.handshake?.code === handshake.code;
    if (!isOurs || !isAsked(fresh)) return overtaken;
    if (!isOpen(fresh.state)) return succeeded;
    this.record = fresh;
    return null;
  }

  async #written({ kind, why }: HandshakeDecision): Promise<void> {
    if (kind === "askAgain") return;
    const level = kind === "fail" ? "warn" : "info";
    const facts = { ...namesOf(this.record), decision: kind, why, state: this.record.state };
    this.#deps.log.fact(level, "handshake.decided", facts);
    if (kind === "await") this.#keeper.moved(this.record);
    else await this.#end(kind === "fail" ? { state: "Failed", why } : succeeded);
  }

  /** A client that sees the success may publish at once and expect a delivery. */
  async #end(verdict: Verdict): Promise<void> {
    await this.#deps.refresh().catch(() => {});
    this.#keeper.ended(this, verdict);
  }
}

/** As it is stored now. */
export async function readSubscription(
  registry: Registry,
  id: SubscriptionId,
): Promise<Subscription | undefined> {
  const { subscriptions } = await registry.catalog({ topics: [], subscriptions: [id] });
  return subscriptions[0];
}

export function namesOf({ topic, name }: Pick<Subscription, "topic" | "name">) {
  return { topic, subscription: name };
}
