// What is counted and measured of one subscription's deliveries, under its own labels. Frequent
// ones are made once and kept: the meter recognises them by identity, and a successful attempt
// costs a few additions.

import type { Delivery } from "../core/delivery/delivery.ts";
import type { Outcome } from "../core/delivery/outcome.ts";
import type { Instant, Meter } from "../core/ports.ts";
import type { Attempt } from "../core/story/note.ts";
import type { Subscription } from "../core/subscription.ts";

type Labels = Readonly<Record<string, string>>;

export class Measure {
  readonly #meter: Meter;
  readonly #topic: Labels;
  readonly #names: Labels;
  /** Azure Monitor's names. */
  readonly #azure: Labels;
  /** Of attempts, by outcome; there are few. */
  readonly #attempts = new Map<string, Labels>();

  constructor(subscription: Subscription, meter: Meter) {
    const { topic, domainTopic, name } = subscription;
    // Within a domain a name is not enough.
    const more = domainTopic === null ? {} : { domain_topic: domainTopic };
    this.#meter = meter;
    this.#topic = { topic };
    this.#names = { topic, ...more, subscription: name };
    this.#azure = { topic, ...more, event_subscription_name: name };
  }

  attempted({ stage }: Delivery, attempt: Attempt, isDelivered: boolean): void {
    const { outcome, outcomeName } = attempt;
    this.#meter.count("posthorn_delivery_attempts_total", this.#labelsOf(outcomeName));
    if (stage !== "deliver") return;
    const seconds = Math.max(0, attempt.endedAt - attempt.startedAt) / 1000;
    this.#meter.observe?.(
      "eventgrid_destination_processing_duration_seconds",
      this.#azure,
      seconds,
    );
    if (isDelivered) return;
    const error = { error: outcomeName, error_type: errorType(outcome) };
    const failed = { ...this.#azure, ...error };
    this.#meter.count("eventgrid_delivery_attempt_fail_count_total", failed);
  }

  delivered({ event }: Delivery, at: Instant): void {
    this.#meter.count("posthorn_delivered_events_total", this.#names);
    const seconds = Math.max(0, at - event.publishedAt) / 1000;
    this.#meter.observe?.("posthorn_delivery_latency_seconds", this.#topic, seconds);
  }

  deadLettered(reason: string): void {
    this.#meter.count("posthorn_dead_lettered_events_total", this.#names);
    const labels = { ...this.#azure, dead_letter_reason: reason };
    this.#meter.count("eventgrid_dead_lettered_count_total", labels);
  }

  dropped(reason: string): void {
    this.#meter.count("posthorn_dropped_events_total", { ...this.#names, reason });
  }

  halved(): void {
    this.#meter.count("posthorn_halved_batches_total", this.#names);
  }

  storeFailed(verb: string): void {
    this.#meter.count("posthorn_store_failures_total", { verb });
  }

  #labelsOf(outcome: string): Labels {
    let labels = this.#attempts.get(outcome);
    if (labels === undefined) {
      labels = { ...this.#names, outcome };
      this.#attempts.set(outcome, labels);
    }
    return labels;
  }
}

/** The kind of error, as far as it is known. */
function errorType(outcome: Outcome): string {
  if (outcome.kind === "noReply") return outcome.why === "timeout" ? "Timeout" : "NetworkError";
  return outcome.status >= 500 ? "ServerError" : "ClientError";
}
