// What a store does for queues that clients fetch from (N-22 … N-46).

import type { Delivery } from "../delivery/delivery.ts";
import type { Instant } from "../ports.ts";
import type { SubscriptionId } from "../subscription.ts";

/**
 * Queues from which clients fetch. The lock of a receiver is a lease that is written down: the
 * delivery is due again when the lock ends. So it outlives every process, and whoever else uses the
 * store sees it, too. It is settled like any other lease, and renewed by a settlement with a later
 * due time. Nothing of such a queue is ever claimed in its first stage.
 */
export interface Pull {
  /**
   * Hands out what is available, the earliest due first, and counts it as an attempt: each with
   * the new count, and with `dueAt` and `last` as they were before. What is handed out for the last
   * time gets `lastReason`. What has expired, or was handed out as often
   * as is allowed, is left to `takeEnded`.
   */
  receive(subscription: SubscriptionId, want: Receive): Promise<Received>;
  /**
   * Leases what is not locked and is to end, so that nobody else gets it, and counts nothing. To be
   * repeated until there is none.
   */
  takeEnded(subscription: SubscriptionId, want: Ending): Promise<Ended>;
  /** For each queue, how many are locked, or released until later. */
  locked(subscriptions: readonly SubscriptionId[], now: Instant): Promise<readonly number[]>;
}

export interface Receive {
  readonly max: number;
  /** At most this many characters of event text, but always at least one event. */
  readonly charsMax: number;
  readonly now: Instant;
  readonly lockMs: number;
  readonly attemptsMax: number;
  readonly lastReason: string;
  /** What was published then or before has expired. */
  readonly expiredSince: Instant;
}

export interface Received {
  readonly deliveries: readonly Delivery[];
  /** When something is available next, if nothing else happens; null: nothing waits. */
  readonly nextDueAt: Instant | null;
}

export interface Ending extends Pick<Receive, "now" | "expiredSince"> {
  readonly max: number;
  readonly leaseMs: number;
}

export interface Ended {
  readonly deliveries: readonly Delivery[];
  /** When the next lock of one that is to end is over. */
  readonly nextDueAt: Instant | null;
  /** When the oldest of those that have not expired was published. */
  readonly oldestAt: Instant | null;
}
