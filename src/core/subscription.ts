// The event subscription: who wants which events of a topic, where they go and how hard we try.

import type { BatchPolicy } from "./delivery/batch.ts";
import { type FlowState, runningFlow } from "./delivery/flow.ts";
import type { Signing } from "./delivery/signing.ts";
import type { DeliverySchema } from "./event.ts";
import type { Instant } from "./ports.ts";
import { type Filter, filterForAll } from "./routing/filter.ts";
import type { Origin } from "./topic.ts";

/**
 * Given by the registry, never used again: a subscription made anew under an old name is another.
 */
export type SubscriptionId = number;

export interface WebHookDestination {
  readonly kind: "webhook";
  readonly url: string;
  /** It is a topic of Event Grid, and events are published to it (egress/http/forward.ts). */
  readonly forward?: Forward;
}

export interface Forward {
  readonly sasKey: string;
  /** What events of the Event Grid schema say as their topic; null: nothing. */
  readonly topicName: string | null;
}

/** Named by a resource id of Azure's; what stands behind it is told in core/azure/resources.ts. */
export interface ResourceDestination {
  readonly kind:
    | "azureFunction"
    | "serviceBusQueue"
    | "serviceBusTopic"
    | "eventHub"
    | "hybridConnection";
  readonly resourceId: string;
  readonly identity?: Identity;
}

export interface StorageQueueDestination {
  readonly kind: "storageQueue";
  /** Of the account. */
  readonly resourceId: string;
  readonly queueName: string;
  /** How long the queue keeps an event; -1: for ever; null: as long as it usually does. */
  readonly ttlSeconds: number | null;
  readonly identity?: Identity;
}

export type Destination = WebHookDestination | ResourceDestination | StorageQueueDestination;

/** Who the service is to be when it sends. Kept and shown; the credentials are the file's. */
export interface Identity {
  readonly type: "SystemAssigned" | "UserAssigned";
  readonly userAssignedIdentity: string | null;
}

/** A container for dead letters (L-2). */
export interface DeadLetterDestination {
  readonly kind: "blob";
  readonly resourceId: string;
  readonly container: string;
  readonly identity?: Identity;
}

/** A member that is null takes the profile's default. */
export interface RetryPolicy {
  readonly maxDeliveryAttempts: number | null;
  readonly eventTimeToLiveMs: number | null;
}

/** A custom delivery header: a text, or what stands at a path in the event. */
export type DeliveryHeader = { readonly name: string } & (
  | { readonly kind: "static"; readonly value: string; readonly isSecret: boolean }
  | { readonly kind: "dynamic"; readonly sourceField: string }
);

/** What a subscriber can choose. */
export interface SubscriptionTerms {
  readonly destination: Destination;
  readonly deliverySchema: DeliverySchema;
  readonly filter: Filter;
  readonly retryPolicy: RetryPolicy;
  /** Null: one event per request (B-5). */
  readonly batch: BatchPolicy | null;
  /** Ours: halve a batch whose answer is never retried (core/delivery/split.ts). */
  readonly splitOnFailure: boolean;
  readonly deadLetter: DeadLetterDestination | null;
  /** Sent with every delivery (C-1). */
  readonly headers: readonly DeliveryHeader[];
  /** Ours: what deliveries are signed with; none: they are not (core/delivery/signing.ts). */
  readonly signing: Signing;
  readonly labels: readonly string[];
  /** After this it is retired; null: never. */
  readonly expiresAt: Instant | null;
}

/** How it runs is the operator's to say, and no part of its terms. */
export interface SubscriptionDraft extends SubscriptionTerms, FlowState {
  /** Name of its topic or domain. */
  readonly topic: string;
  /** Within a domain: the one topic it listens to; null: the topic, or the whole domain. */
  readonly domainTopic: string | null;
  readonly name: string;
  /** Whether events are routed and sent to it, by the terms above. */
  readonly isActive: boolean;
  readonly state: ProvisioningState;
  /** The handshake with its endpoint, under way or last made; null: none was needed. */
  readonly handshake: Handshake | null;
  /**
   * What was said by the module's API of keeping its events over a restart; absent or null:
   * nothing. All are kept whatever it says: it is remembered in order to be shown.
   */
  readonly isPersisted?: boolean | null;
  readonly origin: Origin;
}

export type ProvisioningState =
  | "Creating"
  | "Updating"
  | "AwaitingManualAction"
  | "Succeeded"
  | "Failed";

/** How an endpoint is asked whether it wants our events, before it gets any. */
export interface Handshake {
  /** What the endpoint has to say back, or whoever reads its log has to call. */
  readonly code: string;
  readonly startedAt: Instant;
  /** Until then it may still succeed. */
  readonly until: Instant;
  /** The terms that come into force when it succeeds; null: those of the subscription. */
  readonly pending: SubscriptionTerms | null;
  /** What was said, the latest last; bounded. */
  readonly exchanges: readonly HandshakeExchange[];
  /**
   * Requests a minute that the endpoint allows (CloudEvents' `WebHook-Allowed-Rate`); null: any.
   */
  readonly allowedRate: number | null;
}

export interface HandshakeExchange {
  readonly at: Instant;
  readonly request: string;
  /** The status, or why there was none. */
  readonly answer: string;
  readonly verdict: string;
}

export interface Subscription extends SubscriptionDraft {
  readonly id: SubscriptionId;
  readonly revision: number;
}

/** *Differs:* the service asks for three characters; see `topicNameRule`. */
export const subscriptionNameRule = /^[A-Za-z0-9-]{2,64}$/;

/** A subscription about which nothing else was said, in force at once. */
export const plainSubscription = {
  domainTopic: null,
  deliverySchema: "EventGridSchema",
  filter: filterForAll,
  retryPolicy: { maxDeliveryAttempts: null, eventTimeToLiveMs: null },
  batch: null,
  splitOnFailure: false,
  deadLetter: null,
  headers: [],
  signing: [],
  labels: [],
  expiresAt: null,
  ...runningFlow,
  isActive: true,
  state: "Succeeded",
  handshake: null,
} as const satisfies Omit<SubscriptionDraft, "topic" | "name" | "destination" | "origin">;

/** As an earlier release may have written it: what that did not know yet takes its default. */
export function recallSubscription(record: SubscriptionDraft): SubscriptionDraft {
  const { handshake } = record;
  const pending = handshake?.pending && termsIn({ ...plainSubscription, ...handshake.pending });
  return {
    ...plainSubscription,
    ...record,
    ...(handshake && { handshake: { ...handshake, pending: pending ?? null } }),
  };
}

/** What a record says of the subscriber's choice, and nothing else of it. */
export function termsIn(subscription: SubscriptionTerms): SubscriptionTerms {
  const { destination, deliverySchema, filter, retryPolicy, batch, splitOnFailure } = subscription;
  const { deadLetter, headers, signing, labels, expiresAt } = subscription;
  const choice = { destination, deliverySchema, filter, retryPolicy, batch, splitOnFailure };
  return { ...choice, deadLetter, headers, signing, labels, expiresAt };
}

/** Whether an endpoint of its kind is asked before it gets events. Resources are taken as given. */
export function isAskable({ kind }: Destination): boolean {
  return kind === "webhook" || kind === "azureFunction";
}

/**
 * What shares a fate: the same URL without its query, which may hold a secret and does not change
 * who answers; or the same resource. Health and concurrency are kept per endpoint, not per
 * subscription (H-1).
 */
export function endpointOf(destination: Destination): string {
  switch (destination.kind) {
    case "webhook": {
      const query = destination.url.indexOf("?");
      return query < 0 ? destination.url : destination.url.slice(0, query);
    }
    case "storageQueue":
      return `${destination.resourceId}/queueServices/default/queues/${destination.queueName}`;
    default:
      return destination.resourceId;
  }
}
