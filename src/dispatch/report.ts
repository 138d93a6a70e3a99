// What is logged, counted and noted of each decision. Nothing is decided here.

import type { Delivery } from "../core/delivery/delivery.ts";
import type { Outcome } from "../core/delivery/outcome.ts";
import { type Decision, explain } from "../core/delivery/retry.ts";
import type { Instant, Log, Meter } from "../core/ports.ts";
import type { Chronicle } from "../core/story/chronicle.ts";
import type { EndedNote } from "../core/story/note.ts";
import type { Subscription } from "../core/subscription.ts";
import { isoInstant } from "../core/text/time.ts";
import type { End } from "./attempt.ts";
import { Measure } from "./measure.ts";

export interface ReportDeps {
  readonly log: Log;
  readonly meter: Meter;
  readonly chronicle?: Pick<Chronicle, "note">;
}

export class Report {
  readonly #log: Log;
  readonly #measure: Measure;
  readonly #chronicle: Pick<Chronicle, "note"> | undefined;
  readonly #subscription: Subscription;
  readonly #names: { readonly topic: string; readonly subscription: string };

  constructor(subscription: Subscription, deps: ReportDeps) {
    this.#log = deps.log;
    this.#measure = new Measure(subscription, deps.meter);
    this.#chronicle = deps.chronicle;
    this.#subscription = subscription;
    this.#names = { topic: subscription.topic, subscription: subscription.name };
  }

  /** `counts`: false when the settlement was ignored, and the decision with it. */
  attempted({ delivery, attempt, decision }: End, counts: boolean): void {
    const { outcome, outcomeName } = attempt;
    const isDelivered = decision.kind === "delivered";
    this.#measure.attempted(delivery, attempt, isDelivered);
    const level = isDelivered ? "debug" : "info";
    if (this.#log.tells?.(level) !== false) {
      this.#log.fact(level, "delivery.attempted", {
        ...this.#names,
        event: delivery.event.systemId,
        stage: delivery.stage,
        attempt: attempt.number,
        outcome: outcomeName,
        ...(outcome.kind === "answered" ? { status: outcome.status } : { why: outcome.why }),
        ...(outcome.detail === undefined ? {} : { detail: outcome.detail }),
        ...(attempt.isLate ? { late: true } : {}),
        ...(counts ? {} : { superseded: true }),
        durationMs: attempt.endedAt - attempt.startedAt,
        decision: decision.kind,
        ...("at" in decision ? { nextDueAt: isoInstant(decision.at) } : {}),
        ...(isDelivered ? {} : { words: explain(decision) }),
      });
    }
    // Each by its name: spreading would take two copies for every delivery.
    this.#chronicle?.note({
      kind: "attempted",
      number: attempt.number,
      startedAt: attempt.startedAt,
      endedAt: attempt.endedAt,
      outcome,
      outcomeName,
      isLate: attempt.isLate,
      batch: attempt.batch,
      health: attempt.health,
      subscription: this.#subscription,
      delivery,
      decision,
      counts,
    });
    if (counts) this.#ended(delivery, decision, { at: attempt.endedAt, attempts: attempt.number });
    if (counts && isDelivered && delivery.stage === "deadLetter") {
      this.#deadLettered(delivery, outcome);
    }
  }

  /** Where it can be found: nothing else of it is kept here. */
  #deadLettered({ event, reason }: Delivery, outcome: Outcome): void {
    const written = outcome.kind === "answered" ? outcome.written : undefined;
    const where = written && { container: written.container, blob: written.path };
    const what = { ...this.#names, event: event.systemId, reason };
    this.#log.fact("info", "delivery.deadLettered", { ...what, ...where });
  }

  /** It expired before its attempt was due, so that the attempt was not made. */
  expired(delivery: Delivery, decision: Decision, now: Instant): void {
    this.#ended(delivery, decision, { at: now, attempts: delivery.attempts });
    if (decision.kind !== "deadLetter" && decision.kind !== "drop") return;
    const { kind, reason } = decision;
    const nextDueAt = "at" in decision ? decision.at : null;
    this.#noteEnd(delivery, now, { decision: kind, reason, words: explain(decision), nextDueAt });
  }

  /** The dead-letter destination was removed: what waited for it is dropped. */
  stranded(delivery: Delivery, now: Instant): void {
    const reason = delivery.reason ?? "DeadLetterDestinationRemoved";
    this.#dropped(delivery, { attempts: delivery.attempts, reason, words: null });
    const words = `${reason}: there is no dead-letter destination any more; dropped`;
    this.#noteEnd(delivery, now, { decision: "drop", reason, words, nextDueAt: null });
  }

  #noteEnd(
    delivery: Delivery,
    at: Instant,
    end: Pick<EndedNote, "decision" | "reason" | "words" | "nextDueAt">,
  ): void {
    this.#chronicle?.note({
      kind: "ended",
      ...{ at, delivery, subscription: this.#subscription, ...end },
    });
  }

  /** A batch was answered with a code that is never retried, and is sent again in halves. */
  halved(batch: readonly Delivery[], outcome: Outcome): void {
    this.#measure.halved();
    this.#log.fact("info", "batch.halved", {
      ...this.#names,
      events: batch.length,
      ...(outcome.kind === "answered" ? { status: outcome.status } : { why: outcome.why }),
    });
  }

  storeFailed(verb: "claim" | "settle", error: unknown): void {
    this.#measure.storeFailed(verb);
    this.#log.fact("warn", "store.failed", { verb, ...this.#names, error: String(error) });
  }

  /** A bug of ours: this queue stands still until the broker is restarted. */
  broken(error: unknown): void {
    const trace = error instanceof Error ? error.stack : String(error);
    this.#log.fact("error", "dispatcher.broken", { ...this.#names, error: trace });
  }

  #ended(
    delivery: Delivery,
    decision: Decision,
    { at, attempts }: { readonly at: Instant; readonly attempts: number },
  ): void {
    switch (decision.kind) {
      case "retry":
        return;
      case "delivered":
        if (delivery.stage === "deliver") this.#measure.delivered(delivery, at);
        else this.#measure.deadLettered(delivery.reason ?? "unknown");
        return;
      case "deadLetter":
        this.#log.fact("warn", "delivery.givenUp", {
          ...this.#names,
          event: delivery.event.systemId,
          reason: decision.reason,
          words: explain(decision),
        });
        return;
      case "drop":
        this.#dropped(delivery, { attempts, reason: decision.reason, words: explain(decision) });
        return;
      default:
        decision satisfies never;
    }
  }

  #dropped(
    delivery: Delivery,
    drop: { readonly attempts: number; readonly reason: string; readonly words: string | null },
  ): void {
    const { attempts, reason, words } = drop;
    this.#measure.dropped(reason);
    this.#log.fact("warn", "delivery.dropped", {
      ...this.#names,
      event: delivery.event.systemId,
      stage: delivery.stage,
      attempts,
      reason,
      ...(words === null ? {} : { words }),
    });
  }
}
