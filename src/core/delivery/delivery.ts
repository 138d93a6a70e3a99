// An event on its way to one subscription.

import type { Event } from "../event.ts";
import type { Instant } from "../ports.ts";
import type { SubscriptionId } from "../subscription.ts";

/** First to the subscriber; when that fails for good, to the dead-letter destination. */
export type Stage = "deliver" | "deadLetter";

/** The waiting deliveries of one subscription in one stage. */
export interface Queue {
  readonly subscription: SubscriptionId;
  readonly stage: Stage;
}

/** An event on its way to one subscription. There is at most one per event and subscription. */
export interface DeliveryId {
  /** The store's number for the event; never reused. Not always in the order of the appends. */
  readonly event: number;
  readonly subscription: SubscriptionId;
}

/** What is kept of the last send to the subscriber, for dead letters and stories. */
export interface LastAttempt {
  readonly at: Instant;
  /** From one, and so the number of attempts. */
  readonly number: number;
  /** Event Grid's name for the outcome: `TimedOut`, `BadRequest`, … */
  readonly outcome: string;
  readonly status: number | null;
}

export interface Delivery {
  readonly id: DeliveryId;
  readonly stage: Stage;
  /** The fence: a settlement counts only if it names the latest lease. Never given twice. */
  readonly lease: number;
  readonly leasedUntil: Instant;
  /** When it was due; a settlement `back` does not change it. */
  readonly dueAt: Instant;
  /** Sends actually made in this stage. */
  readonly attempts: number;
  /** When this stage began: the publish, or the moment of giving up. */
  readonly since: Instant;
  readonly last: LastAttempt | null;
  /**
   * Why it is undeliverable; null in the first stage, except of what a receiver got for the last
   * time.
   */
  readonly reason: string | null;
  readonly event: Event;
}
