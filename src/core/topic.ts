// The topic: the resource publishers post to. An event domain is a topic, too, with topics of its
// own: each event published to it names one of them. A storage account is a topic to which only the
// broker publishes: the events about dead-letter blobs (L-5). A namespace holds namespace topics,
// from which clients fetch events; both are records of their own, and `shop/orders` is the topic
// `orders` of the namespace `shop`. No other name has a slash.

import type { ProfileName } from "./delivery/profile.ts";
import type { InputSchema } from "./event.ts";
import type { InputMapping } from "./schema/mapping.ts";

/** What a caller writes; the registry adds the rest. */
export interface TopicDraft {
  readonly kind: "topic" | "domain" | "storage" | "namespace" | "namespaceTopic";
  /** Unique in a broker, over topics of all kinds; case-insensitive. */
  readonly name: string;
  readonly key1: string;
  readonly key2: string;
  /** Overrides the broker's profile for this topic. */
  readonly profile: ProfileName | null;
  readonly inputSchema: InputSchema;
  /** For custom schemas, and for the topic names of CloudEvents domains. */
  readonly mapping: InputMapping | null;
  /** Only bearer tokens may publish. */
  readonly disableLocalAuth: boolean;
  readonly publicNetworkAccess: boolean;
  /** Addresses that may publish, as CIDR masks; none: all. */
  readonly inboundIpRules: readonly string[];
  /** A port of its own for this topic, for clients that keep only host and port. */
  readonly port: number | null;
  readonly place: ArmGroup;
  /** Of a domain only. */
  readonly domain: DomainTerms | null;
  /** Of a namespace only: what its lock tokens are signed with (N-27). Never shown. */
  readonly lockKey?: string;
  /** Of a namespace topic only: how long events are kept at most (N-41). */
  readonly retentionDays?: number;
  /** What Azure's clients wrote that has no effect here, to be shown; absent: nothing. */
  readonly azure?: AzureTraits;
  /** Who manages it: only what a configuration file declared can be removed by that file. */
  readonly origin: Origin;
}

export type Origin = "file" | "api";

/** Its location in Azure's terms. */
export interface ArmGroup {
  readonly subscriptionId: string;
  readonly resourceGroup: string;
  readonly location: string;
  readonly tags: Readonly<Record<string, string>> | null;
}

export interface AzureTraits {
  readonly sku?: { readonly name: string; readonly capacity?: number };
  readonly identity?: TopicIdentity;
  readonly kind?: string;
  readonly extendedLocation?: object;
  readonly dataResidencyBoundary?: string;
  readonly minimumTlsVersionAllowed?: string;
  readonly eventTypeInfo?: object;
  readonly topicSpacesConfiguration?: object;
}

export interface TopicIdentity {
  readonly type: string;
  /** Resource ids of the user-assigned ones. */
  readonly users: readonly string[];
}

export interface DomainTerms {
  readonly autoCreateTopics: boolean;
  readonly autoDeleteTopics: boolean;
  /** Names of its topics, created explicitly or with their first subscription. */
  readonly topics: readonly string[];
}

export interface Topic extends TopicDraft {
  /** Grows with every write; the etag. */
  readonly revision: number;
}

/**
 * *Differs:* the service asks for three characters. Scripts written against other emulators and
 * stubs call their topics `t1`, and refusing them would help nobody.
 */
export const topicNameRule = /^[A-Za-z0-9-]{2,50}$/;

/** *Differs:* the service does not document its rule; this one allows host names and the like. */
export const domainTopicNameRule = /^[A-Za-z0-9._~-]{3,128}$/;

/** The defaults for resources created without a location. */
export const localGroup: ArmGroup = {
  subscriptionId: "00000000-0000-0000-0000-000000000000",
  resourceGroup: "posthorn",
  location: "local",
  tags: null,
};

/** A topic with defaults only. */
export const plainTopic = {
  kind: "topic",
  profile: null,
  inputSchema: "EventGridSchema",
  mapping: null,
  disableLocalAuth: false,
  publicNetworkAccess: true,
  inboundIpRules: [],
  port: null,
  place: localGroup,
  domain: null,
} as const satisfies Omit<TopicDraft, "name" | "key1" | "key2" | "origin">;

/** The ARM id, which every event of the Event Grid schema carries as `topic`. */
export function topicArmId({ kind, name, place }: Pick<TopicDraft, "kind" | "name" | "place">) {
  const group = `/subscriptions/${place.subscriptionId}/resourceGroups/${place.resourceGroup}`;
  const { namespace, topic } = splitTopicName(name);
  return namespace === null
    ? `${group}/providers/${armTypes[kind]}/${name}`
    : `${group}/providers/${armTypes.namespace}/${namespace}/topics/${topic}`;
}

/** The path to which its events are published. */
export function publishPathOf({ kind, name }: Pick<TopicDraft, "kind" | "name">): string {
  const { namespace, topic } = splitTopicName(name);
  return kind === "namespaceTopic"
    ? `/namespaces/${namespace}/topics/${topic}:publish`
    : `/topics/${name}/api/events`;
}

/** The name of a namespace topic's record. */
export function namespaceTopicName(namespace: string, topic: string): string {
  return `${namespace}/${topic}`;
}

/** `namespace` is null for what is not in one. */
export function splitTopicName(name: string): {
  readonly namespace: string | null;
  readonly topic: string;
} {
  const slash = name.indexOf("/");
  if (slash < 0) return { namespace: null, topic: name };
  return { namespace: name.slice(0, slash), topic: name.slice(slash + 1) };
}

/** What Azure calls each kind. */
export const armTypes: Readonly<Record<TopicDraft["kind"], string>> = {
  topic: "Microsoft.EventGrid/topics",
  domain: "Microsoft.EventGrid/domains",
  storage: "Microsoft.Storage/storageAccounts",
  namespace: "Microsoft.EventGrid/namespaces",
  namespaceTopic: "Microsoft.EventGrid/namespaces/topics",
};
