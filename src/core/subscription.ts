// The event subscription: who wants which events of a topic, where they go and how hard we try.

import type { BatchPolicy } from "./batch.ts";
import type { Filter } from "./filter.ts";
import type { Origin } from "./topic.ts";

/** Given by the registry, never used again: a subscription made anew under an old name is another. */
export type SubscriptionId = number;

export interface WebHookDestination {
  readonly kind: "webhook";
  readonly url: string;
}

export type Destination = WebHookDestination;

/** A container for dead letters (L-2). */
export interface DeadLetterDestination {
  readonly kind: "blob";
  readonly resourceId: string;
  readonly container: string;
}

/** A member that is null takes the profile's default. */
export interface RetryPolicy {
  readonly maxDeliveryAttempts: number | null;
  readonly eventTimeToLiveMs: number | null;
}

export interface SubscriptionDraft {
  /** Name of its topic. */
  readonly topic: string;
  readonly name: string;
  readonly destination: Destination;
  readonly filter: Filter;
  readonly retryPolicy: RetryPolicy;
  /** Null: one event per request (B-5). */
  readonly batch: BatchPolicy | null;
  readonly deadLetter: DeadLetterDestination | null;
  readonly origin: Origin;
}

export interface Subscription extends SubscriptionDraft {
  readonly id: SubscriptionId;
  readonly revision: number;
}

export const subscriptionNameRule = /^[A-Za-z0-9-]{3,64}$/;

/**
 * What shares a fate: the same URL without its query, which may hold a secret and does not change
 * who answers. Health and concurrency are kept per endpoint, not per subscription (H-1).
 */
export function endpointOf(destination: Destination): string {
  const query = destination.url.indexOf("?");
  return query < 0 ? destination.url : destination.url.slice(0, query);
}
