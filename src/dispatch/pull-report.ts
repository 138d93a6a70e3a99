// What is logged, counted and noted of deliveries that clients fetch. Nothing is decided here.

import type { Delivery } from "../core/delivery/delivery.ts";
import type { Seen } from "../core/ledger.ts";
import type { Instant } from "../core/ports.ts";
import {
  acknowledgedOutcome,
  explainFate,
  type Fate,
  hasLapsed,
  type PullRules,
} from "../core/pull/pull-rules.ts";
import type { LockOrder } from "../core/pull/receivers.ts";
import type { Subscription } from "../core/subscription.ts";
import { isoInstant } from "../core/text/time.ts";
import { Measure } from "./measure.ts";
import type { ReportDeps } from "./report.ts";

export class PullReport {
  readonly #deps: ReportDeps;
  readonly #subscription: Subscription;
  readonly #measure: Measure;
  readonly #names: { readonly topic: string; readonly subscription: string };
  readonly #orders = new Map<string, Readonly<Record<string, string>>>();

  constructor(subscription: Subscription, deps: ReportDeps) {
    this.#deps = deps;
    this.#subscription = subscription;
    this.#measure = new Measure(subscription, deps.meter);
    this.#names = { topic: subscription.topic, subscription: subscription.name };
  }

  /** `deliveries`: as the store handed them out. */
  received(
    deliveries: readonly Delivery[],
    { by, at, rules }: { readonly by: string; readonly at: Instant; readonly rules: PullRules },
  ): void {
    const { meter, log, chronicle } = this.#deps;
    meter.count("posthorn_received_events_total", this.#names, deliveries.length);
    for (const delivery of deliveries) {
      const { attempts, leasedUntil, dueAt } = delivery;
      if (log.tells?.("debug") !== false) {
        const what = { event: delivery.event.systemId, count: attempts, by };
        const until = isoInstant(leasedUntil);
        log.fact("debug", "event.received", { ...this.#names, ...what, lockedUntil: until });
      }
      if (hasLapsed(delivery)) {
        const words = `the lock of delivery ${attempts - 1} lapsed; available again`;
        this.#note(chronicle, delivery, { at: dueAt, words, nextDueAt: dueAt });
      }
      this.#note(chronicle, delivery, {
        at,
        words: `received by ${by} (delivery ${attempts} of ${rules.countMax}), locked until ${isoInstant(leasedUntil)}`,
        nextDueAt: leasedUntil,
      });
    }
  }

  /** Orders of receivers that counted, and those that did not. */
  ordered({ kind }: LockOrder, counted: readonly boolean[]): void {
    const succeeded = counted.filter(Boolean).length;
    this.#countOrder(kind, "succeeded", succeeded);
    this.#countOrder(kind, "failed", counted.length - succeeded);
  }

  settled(
    delivery: Seen,
    fate: Fate,
    about: { readonly now: Instant; readonly by: string | null; readonly rules: PullRules },
  ): void {
    const { now, by, rules } = about;
    const { chronicle } = this.#deps;
    const whose = by === null ? "" : ` by ${by}`;
    const words = `${explainFate(fate, delivery, rules)}${whose}`;
    switch (fate.kind) {
      case "acknowledged":
        this.#acknowledged(delivery, now);
        return;
      case "renewed":
        this.#note(chronicle, delivery, { at: now, words, nextDueAt: fate.until });
        return;
      case "available": {
        const how = fate.at > now ? `released${whose} until ${isoInstant(fate.at)}` : words;
        const told = by !== null && fate.at <= now ? `released${whose}; available at once` : how;
        this.#note(chronicle, delivery, {
          at: now,
          words: told,
          nextDueAt: Math.max(now, fate.at),
        });
        return;
      }
      case "deadLetter":
      case "dropped":
        this.#ended(delivery, fate, now, words);
        return;
      default:
        fate satisfies never;
    }
  }

  #acknowledged(delivery: Seen, now: Instant): void {
    const { chronicle } = this.#deps;
    const { attempts: number, last } = delivery;
    const whole = { ...delivery, lease: 0, leasedUntil: now };
    const attempt = {
      number,
      startedAt: last?.at ?? now,
      endedAt: now,
      outcome: { kind: "answered", status: 200 } as const,
      outcomeName: acknowledgedOutcome,
      isLate: false,
      batch: 1,
      health: "",
    };
    this.#measure.attempted(whole, attempt, true);
    this.#measure.delivered(whole, now);
    chronicle?.note({
      ...attempt,
      kind: "attempted",
      ...{ subscription: this.#subscription, delivery: whole },
      decision: { kind: "delivered", saw: "acknowledged", attempts: number },
      counts: true,
    });
  }

  #ended(
    delivery: Seen,
    fate: Extract<Fate, { kind: "deadLetter" | "dropped" }>,
    now: Instant,
    words: string,
  ): void {
    const { log, chronicle } = this.#deps;
    const { reason } = fate;
    const isKept = fate.kind === "deadLetter";
    const what = { ...this.#names, event: delivery.event.systemId, reason, words };
    if (isKept) log.fact("warn", "delivery.givenUp", what);
    else {
      this.#measure.dropped(reason);
      const { stage, attempts } = delivery;
      log.fact("warn", "delivery.dropped", { ...what, stage, attempts });
    }
    chronicle?.note({
      kind: "ended",
      ...{ at: now, subscription: this.#subscription, delivery, reason, words },
      decision: isKept ? "deadLetter" : "drop",
      nextDueAt: isKept ? fate.at : null,
    });
  }

  #note(
    chronicle: ReportDeps["chronicle"],
    delivery: Seen,
    told: { readonly at: Instant; readonly words: string; readonly nextDueAt: Instant },
  ): void {
    chronicle?.note({ kind: "steered", subscription: this.#subscription, delivery, ...told });
  }

  #countOrder(order: string, result: string, by: number): void {
    if (by === 0) return;
    const key = `${order} ${result}`;
    const labels = this.#orders.get(key) ?? { ...this.#names, order, result };
    this.#orders.set(key, labels);
    this.#deps.meter.count("posthorn_lock_orders_total", labels, by);
  }
}
