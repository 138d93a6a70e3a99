// Topics and subscriptions through the routes of Azure Resource Manager. Only what the portal's
// forms read and write is typed.

import { localGroup } from "../src/core/topic.ts";
import { ask, type Method } from "./api.ts";
import type { SubscriptionName } from "./route.ts";

const apiVersion = "2025-02-15";

export function askArm<T>(method: Method, id: string, body?: unknown): Promise<T> {
  const path = id.split("/").map(encodeURIComponent).join("/");
  return ask<T>(method, armPath(path), body);
}

export function armPath(id: string): string {
  return `${id}?api-version=${apiVersion}`;
}

export type TopicKind = "topic" | "domain";

/** The resource group for what the portal creates: here names alone are unique. */
function ownId(type: string, name: string): string {
  const { subscriptionId, resourceGroup } = localGroup;
  const group = `/subscriptions/${subscriptionId}/resourceGroups/${resourceGroup}`;
  return `${group}/providers/Microsoft.EventGrid/${type}/${name}`;
}

export function newTopicId(kind: TopicKind, name: string): string {
  return ownId(`${kind}s`, name);
}

export function namespaceId(name: string): string {
  return ownId("namespaces", name);
}

export interface ArmTopic {
  readonly id: string;
  readonly name: string;
  readonly location: string;
  readonly tags: Readonly<Record<string, string>> | null;
  readonly properties: {
    readonly endpoint: string;
    readonly inputSchema: string;
    readonly inputSchemaMapping?: unknown;
    readonly disableLocalAuth: boolean;
    readonly publicNetworkAccess: "Enabled" | "Disabled";
    /** Absent: every address may publish. */
    readonly inboundIpRules?: readonly { readonly ipMask: string }[];
    readonly posthorn?: { readonly port?: number; readonly profile?: string };
    readonly autoCreateTopicWithFirstSubscription?: boolean;
    readonly autoDeleteTopicWithLastSubscription?: boolean;
  };
}

export function putTopic(id: string, properties: object, location = localGroup.location) {
  return askArm<ArmTopic>("PUT", id, { location, properties });
}

export interface Keys {
  readonly key1: string;
  readonly key2: string;
}

export function listKeys(topicId: string): Promise<Keys> {
  return askArm<Keys>("POST", `${topicId}/listKeys`, {});
}

export function renewKey(topicId: string, keyName: keyof Keys): Promise<Keys> {
  return askArm<Keys>("POST", `${topicId}/regenerateKey`, { keyName });
}

export interface ArmHeader {
  readonly name: string;
  readonly type: "Static" | "Dynamic";
  readonly properties: {
    readonly value?: string;
    readonly isSecret?: boolean;
    readonly sourceField?: string;
  };
}

export interface ArmAdvancedFilter {
  readonly operatorType: string;
  readonly key: string;
  readonly value?: unknown;
  readonly values?: readonly unknown[];
}

export interface ArmDestination {
  readonly endpointType: string;
  readonly properties: {
    readonly endpointUrl?: string | null;
    readonly endpointBaseUrl?: string;
    readonly resourceId?: string;
    readonly queueName?: string;
    readonly queueMessageTimeToLiveInSeconds?: number;
    readonly maxEventsPerBatch?: number;
    readonly preferredBatchSizeInKilobytes?: number;
    readonly deliveryAttributeMappings?: readonly ArmHeader[];
  };
}

export interface ArmDeadLetter {
  readonly endpointType: string;
  readonly properties: { readonly resourceId: string; readonly blobContainerName: string };
}

export interface ArmSubscription {
  readonly id: string;
  readonly name: string;
  readonly properties: {
    readonly provisioningState: string;
    /** Null if the destination is under an identity. */
    readonly destination: ArmDestination | null;
    readonly deliveryWithResourceIdentity?: {
      readonly identity: unknown;
      readonly destination: ArmDestination;
    };
    readonly filter: {
      readonly subjectBeginsWith?: string;
      readonly subjectEndsWith?: string;
      readonly isSubjectCaseSensitive?: boolean;
      readonly includedEventTypes?: readonly string[] | null;
      readonly enableAdvancedFilteringOnArrays?: boolean;
      readonly advancedFilters?: readonly ArmAdvancedFilter[] | null;
    };
    readonly labels: readonly string[] | null;
    readonly expirationTimeUtc?: string;
    readonly eventDeliverySchema: string;
    readonly retryPolicy: {
      readonly maxDeliveryAttempts?: number;
      readonly eventTimeToLiveInMinutes?: number;
    };
    readonly deadLetterDestination: ArmDeadLetter | null;
    readonly deadLetterWithResourceIdentity?: {
      readonly identity: unknown;
      readonly deadLetterDestination: ArmDeadLetter;
    };
    readonly posthorn?: { readonly splitOnFailure?: boolean; readonly signing?: unknown };
  };
}

/** How a namespace hands out events; what is not a number is sent as written. */
export interface ArmHandover {
  readonly receiveLockDurationInSeconds?: number | string | null;
  readonly maxDeliveryCount?: number | string | null;
  readonly eventTimeToLive?: string | null;
}

/** An event subscription of a namespace topic. */
export interface ArmQueue {
  readonly id: string;
  readonly properties: {
    readonly deliveryConfiguration: { readonly queue?: ArmHandover; readonly push?: ArmHandover };
    readonly filtersConfiguration?: { readonly includedEventTypes?: readonly string[] | null };
  };
}

/** By the id of its source: a topic, a domain, or one topic of a domain. */
export function subscriptionId(
  topicId: string,
  { domainTopic, name }: Omit<SubscriptionName, "topic">,
): string {
  const source = domainTopic === null ? topicId : `${topicId}/topics/${domainTopic}`;
  return `${source}/providers/Microsoft.EventGrid/eventSubscriptions/${name}`;
}
