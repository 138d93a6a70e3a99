// The event subscription: which events of a topic go where, and how often they are tried.

import type { BatchPolicy } from "./delivery/batch.ts";
import { type FlowState, runningFlow } from "./delivery/flow.ts";
import type { Signing } from "./delivery/signing.ts";
import type { DeliverySchema } from "./event.ts";
import type { Instant } from "./ports.ts";
import { type Filter, filterForAll } from "./routing/filter.ts";
import type { Origin } from "./topic.ts";

/**
 * Assigned by the registry and never reused: a new subscription under an old name is another one.
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
  /** The `topic` of events of the Event Grid schema; null: none. */
  readonly topicName: string | null;
}

/** Named by an Azure resource id; core/azure/resources.ts says how to reach it. */
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
  /** How long the queue keeps an event; -1: for ever; null: the queue's default. */
  readonly ttlSeconds: number | null;
  readonly identity?: Identity;
}

/** Nothing is sent: clients fetch the events (core/pull). */
export interface PullDestination {
  readonly kind: "pull";
  /** How long an event that was handed out is locked (N-33). */
  readonly lockMs: number;
}

/** Where events are sent to. */
export type PushDestination = WebHookDestination | ResourceDestination | StorageQueueDestination;

export type Destination = PushDestination | PullDestination;

/** The identity to send with. Stored and shown; the credentials used are those in the file. */
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

/**
 * A member that is null has the profile's default. Of a pull queue: how often an event is handed
 * out, and how long it is kept.
 */
export interface RetryPolicy {
  readonly maxDeliveryAttempts: number | null;
  readonly eventTimeToLiveMs: number | null;
}

/** A custom delivery header: a fixed value, or the value at a path in the event. */
export type DeliveryHeader = { readonly name: string } & (
  | { readonly kind: "static"; readonly value: string; readonly isSecret: boolean }
  | { readonly kind: "dynamic"; readonly sourceField: string }
);

/** The settings of a subscription. */
export interface SubscriptionTerms {
  readonly destination: Destination;
  readonly deliverySchema: DeliverySchema;
  readonly filter: Filter;
  readonly retryPolicy: RetryPolicy;
  /** Null: one event per request (B-5). */
  readonly batch: BatchPolicy | null;
  /** Posthorn only: halve a batch whose answer is never retried (core/delivery/split.ts). */
  readonly splitOnFailure: boolean;
  readonly deadLetter: DeadLetterDestination | null;
  /** Sent with every delivery (C-1). */
  readonly headers: readonly DeliveryHeader[];
  /**
   * Posthorn only: what deliveries are signed with; none: they are not (core/delivery/signing.ts).
   */
  readonly signing: Signing;
  readonly labels: readonly string[];
  /** After this it is deleted; null: never. */
  readonly expiresAt: Instant | null;
}

/** Whether it runs or is paused is the operator's choice, and not part of its settings. */
export interface SubscriptionDraft extends SubscriptionTerms, FlowState {
  /** Name of its topic or domain. */
  readonly topic: string;
  /** Within a domain: the one topic it is for; null: the topic, or the whole domain. */
  readonly domainTopic: string | null;
  readonly name: string;
  /** Whether events are routed and sent to it, with the settings above. */
  readonly isActive: boolean;
  readonly state: ProvisioningState;
  /** The current or latest handshake with its endpoint; null: none was needed. */
  readonly handshake: Handshake | null;
  /**
   * What the IoT Edge module's API was given about persistence; absent or null: nothing. Events are
   * kept in any case: it is stored only in order to be shown.
   */
  readonly isPersisted?: boolean | null;
  /** Whether that API wrote it last; only then may the module's keys read its URL in full. */
  readonly isModuleMade?: boolean;
  readonly origin: Origin;
}

export type ProvisioningState =
  | "Creating"
  | "Updating"
  | "AwaitingManualAction"
  | "Succeeded"
  | "Failed";

/** The handshake with an endpoint before it gets events. */
export interface Handshake {
  /** What the endpoint has to return, or the reader of its log has to call. */
  readonly code: string;
  readonly startedAt: Instant;
  /** Until then it may still succeed. */
  readonly until: Instant;
  /** The settings that become active when it succeeds; null: those of the subscription. */
  readonly pending: SubscriptionTerms | null;
  /** The exchanges, the latest last; bounded. */
  readonly exchanges: readonly HandshakeExchange[];
  /**
   * Requests a minute that the endpoint allows (CloudEvents' `WebHook-Allowed-Rate`); null: any.
   */
  readonly allowedRate: number | null;
  /** Where the client has called us, for the validation URL. Absent: not known. */
  readonly called?: { readonly baseUrl: string; readonly apiVersion?: string };
  /** How it ended; absent while it has not, and in records of earlier releases. */
  readonly ended?: { readonly isAgreed: boolean; readonly why: string };
}

export interface HandshakeExchange {
  readonly at: Instant;
  readonly request: string;
  /** The status, or why there was none. */
  readonly answer: string;
  readonly verdict: string;
  /** The answer was a no that asking again hardly changes. */
  readonly isRefusal?: true;
}

export interface Subscription extends SubscriptionDraft {
  readonly id: SubscriptionId;
  readonly revision: number;
  /**
   * The slot whose owner serves it, as a store of several brokers says (core/cluster/slot.ts).
   * Absent: that of its destination. No writer sets it.
   */
  readonly slot?: number;
}

/** *Differs:* the service requires three characters; see `topicNameRule`. */
export const subscriptionNameRule = /^[A-Za-z0-9-]{2,64}$/;

/** A subscription with defaults only, active at once. */
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

/** As an earlier release may have written it: what is missing gets its default. */
export function recallSubscription(record: SubscriptionDraft): SubscriptionDraft {
  const { handshake } = record;
  const pending = handshake?.pending && termsIn({ ...plainSubscription, ...handshake.pending });
  return {
    ...plainSubscription,
    ...record,
    ...(handshake && { handshake: { ...handshake, pending: pending ?? null } }),
  };
}

/** The settings in a record, and nothing else of it. */
export function termsIn(subscription: SubscriptionTerms): SubscriptionTerms {
  const { destination, deliverySchema, filter, retryPolicy, batch, splitOnFailure } = subscription;
  const { deadLetter, headers, signing, labels, expiresAt } = subscription;
  const choice = { destination, deliverySchema, filter, retryPolicy, batch, splitOnFailure };
  return { ...choice, deadLetter, headers, signing, labels, expiresAt };
}

/** Whether an endpoint of its kind needs a handshake. Azure resources do not. */
export function isAskable({ kind }: Destination): boolean {
  return kind === "webhook" || kind === "azureFunction";
}

/**
 * Identifies what shares health and the bound of sends: the same whole URL, or the same resource
 * (H-1). Two queries may lead to two functions, of which one is down (H-4). It may contain a secret
 * and is never shown.
 */
export function endpointKeyOf(destination: Destination): string {
  return destination.kind === "webhook" ? destination.url : endpointOf(destination);
}

/** The name of an endpoint, as people see it: its URL without the query, or its resource. */
export function endpointOf(destination: Destination): string {
  switch (destination.kind) {
    case "webhook": {
      const query = destination.url.indexOf("?");
      return query < 0 ? destination.url : destination.url.slice(0, query);
    }
    case "storageQueue":
      return `${destination.resourceId}/queueServices/default/queues/${destination.queueName}`;
    case "pull":
      return "pull queue";
    default:
      return destination.resourceId;
  }
}
