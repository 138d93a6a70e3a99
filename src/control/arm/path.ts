// What a path of Azure Resource Manager asks for. It is a scope, `providers/Microsoft.EventGrid`
// and what is wanted there; the scope may be a resource of Event Grid's itself. Segments are
// case-insensitive, and names keep their case. Nothing is looked up here.
//
// Assumes a path that is already percent-decoded. A slash that was encoded separates like any
// other: no name here has one.

import { namespaceTopicName } from "../../core/topic.ts";
import { type Missing, missingIn } from "./missing-kinds.ts";

/** The resource group of a resource. */
export interface Group {
  readonly subscriptionId: string;
  readonly resourceGroup: string;
}

/** The source of events. */
export type Source =
  /** The name of a namespace topic is that of its record: `namespace/topic`. */
  | {
      readonly kind: "topic" | "domain" | "namespace" | "namespaceTopic";
      readonly group: Group;
      readonly name: string;
    }
  | {
      readonly kind: "domainTopic";
      readonly group: Group;
      readonly domain: string;
      readonly name: string;
    }
  /** Something that Azure has and Posthorn does not: a storage account, a whole resource group. */
  | { readonly kind: "foreign"; readonly id: string };

/** Whether a subscription is addressed as an extension of its source, or as a part of it. */
export type Form = "scope" | "nested";

/** Whose subscriptions are listed if not those of one source. */
export interface Region {
  readonly subscriptionId: string;
  readonly resourceGroup: string | null;
  readonly location: string | null;
  readonly topicType: string | null;
}

/** Whose tags are asked for. */
export type Tagged =
  | { readonly kind: "source"; readonly source: TopicSource }
  | { readonly kind: "group"; readonly group: Group }
  | { readonly kind: "subscription" };

export type Asked =
  | Missing
  | { readonly kind: "resources"; readonly within: Within }
  | { readonly kind: "tagNames"; readonly subscriptionId: string }
  | { readonly kind: "tags"; readonly of: Tagged }
  | { readonly kind: "deployments"; readonly group: Group }
  | {
      readonly kind: "deployment" | "deploymentCheck" | "whatIf" | "deploymentOperations";
      readonly group: Group;
      readonly name: string;
    }
  | {
      readonly kind: "deploymentStatus";
      readonly group: Group;
      readonly name: string;
      readonly id: string;
    }
  | { readonly kind: "azureSubscriptions" | "operations" | "topicTypes" }
  | { readonly kind: "azureSubscription" | "locations"; readonly subscriptionId: string }
  | { readonly kind: "groups" | "providers"; readonly subscriptionId: string }
  | { readonly kind: "group"; readonly group: Group }
  | { readonly kind: "provider"; readonly subscriptionId: string; readonly namespace: string }
  | { readonly kind: "registration"; readonly subscriptionId: string; readonly namespace: string }
  | { readonly kind: "topicType" | "topicTypeEventTypes"; readonly name: string }
  | { readonly kind: "operation"; readonly id: string }
  | { readonly kind: "topics"; readonly of: TopicKind; readonly within: Within }
  | { readonly kind: "topic" | "keys" | "newKey"; readonly source: TopicSource }
  | { readonly kind: "domainTopics" | "namespaceTopics"; readonly source: TopicSource }
  | { readonly kind: "domainTopic"; readonly source: DomainTopicSource }
  | { readonly kind: "subscriptionsIn"; readonly region: Region }
  | { readonly kind: "subscriptionsOf"; readonly source: Source; readonly form: Form }
  | ({ readonly kind: SubscriptionAsk } & Named)
  | { readonly kind: "eventTypes" | "extensionTopic"; readonly source: Source }
  | { readonly kind: "unknown" };

export type TopicKind = "topic" | "domain" | "namespace" | "namespaceTopic";
export type TopicSource = Extract<Source, { kind: TopicKind }>;
export type DomainTopicSource = Extract<Source, { kind: "domainTopic" }>;
export type Within = Pick<Region, "subscriptionId" | "resourceGroup">;

export interface Named {
  readonly source: Source;
  readonly form: Form;
  readonly name: string;
}

/** A subscription itself, or an action on it. The last two are Posthorn's own. */
export type SubscriptionAsk =
  | "subscription"
  | "fullUrl"
  | "deliveryAttributes"
  | "validation"
  | "handshake";

const subscriptionAsks: ReadonlyMap<string, SubscriptionAsk> = new Map([
  ["getfullurl", "fullUrl"],
  ["getdeliveryattributes", "deliveryAttributes"],
  ["validate", "validation"],
  ["handshake", "handshake"],
]);

type Segments = readonly string[];

export function parsePath(path: string): Asked {
  const segments = path.split("/").filter((segment) => segment !== "");
  const around = parseAround(segments);
  if (around !== null) return around;
  const provider = lastProvider(segments);
  if (provider < 0) return parseOutside(segments);
  const scope = segments.slice(0, provider);
  const inside = segments.slice(provider + 2);
  const within = parseWithin(scope);
  return (
    (scope.length === 0 && parseGlobal(inside)) ||
    (within !== null && parseWithinScope(inside, within)) ||
    parseAtSource(inside, parseSource(scope)) ||
    missingIn(inside) ||
    parsePrivate(inside) || { kind: "unknown" }
  );
}

/** What Azure has for any resource: its tags, and its permissions. */
function parseAround(segments: Segments): Asked | null {
  const place = segments.findLastIndex((segment) => isWord(segment, "providers"));
  const [namespace, ...inside] = place < 0 ? [] : segments.slice(place + 1);
  if (isWord(namespace, "microsoft.authorization")) return missingIn(inside);
  if (!isWord(namespace, "microsoft.resources")) return null;
  const of = parseTagged(segments.slice(0, place));
  const found = of && firstFit<Asked>(inside, { "tags/default": () => ({ kind: "tags", of }) });
  return found ?? (of?.kind === "group" ? parseDeployment(inside, of.group) : null);
}

function parseDeployment(inside: Segments, group: Group): Asked | null {
  return firstFit<Asked>(inside, {
    deployments: () => ({ kind: "deployments", group }),
    "deployments/:": (name = "") => ({ kind: "deployment", group, name }),
    "deployments/:/validate": (name = "") => ({ kind: "deploymentCheck", group, name }),
    "deployments/:/whatIf": (name = "") => ({ kind: "whatIf", group, name }),
    "deployments/:/operations": (name = "") => ({ kind: "deploymentOperations", group, name }),
    "deployments/:/operationStatuses/:": (name = "", id = "") => ({
      kind: "deploymentStatus",
      group,
      name,
      id,
    }),
  });
}

function parseTagged(scope: Segments): Tagged | null {
  const source = parseSource(scope);
  if (source.kind !== "foreign" && source.kind !== "domainTopic") return { kind: "source", source };
  const within = parseWithin(scope);
  if (within === null) return null;
  const { subscriptionId, resourceGroup } = within;
  return resourceGroup === null
    ? { kind: "subscription" }
    : { kind: "group", group: { subscriptionId, resourceGroup } };
}

/** Private links belong to a topic or domain. */
function parsePrivate(inside: Segments): Missing | null {
  const isTopic = isWord(inside[0], "topics") || isWord(inside[0], "domains");
  return isTopic ? missingIn(inside.slice(2)) : null;
}

/** Where the last `providers/Microsoft.EventGrid` begins, or -1. */
function lastProvider(segments: Segments): number {
  return segments.findLastIndex(
    (segment, index) =>
      isWord(segment, "providers") && isWord(segments[index + 1], "microsoft.eventgrid"),
  );
}

function isWord(segment: string | undefined, word: string): boolean {
  return segment !== undefined && segment.toLowerCase() === word.toLowerCase();
}

/**
 * The segments where the pattern has `:`, or null when it does not match: `matchPattern(["topics",
 * "orders"], "topics/:")` is `["orders"]`.
 */
function matchPattern(segments: Segments, pattern: string): string[] | null {
  const words = pattern.split("/");
  if (words.length !== segments.length) return null;
  const names: string[] = [];
  for (const [index, word] of words.entries()) {
    const segment = segments[index] as string;
    if (word === ":") names.push(segment);
    else if (!isWord(segment, word)) return null;
  }
  return names;
}

/** The first pattern that matches decides. */
function firstFit<T>(
  segments: Segments,
  table: Readonly<Record<string, (...names: string[]) => T>>,
): T | null {
  for (const [pattern, build] of Object.entries(table)) {
    const names = matchPattern(segments, pattern);
    if (names !== null) return build(...names);
  }
  return null;
}

/** What clients ask Azure for besides Event Grid. */
function parseOutside(segments: Segments): Asked {
  const found = firstFit<Asked>(segments, {
    subscriptions: () => ({ kind: "azureSubscriptions" }),
    "subscriptions/:": (subscriptionId = "") => ({ kind: "azureSubscription", subscriptionId }),
    "subscriptions/:/locations": (subscriptionId = "") => ({ kind: "locations", subscriptionId }),
    "subscriptions/:/providers": (subscriptionId = "") => ({ kind: "providers", subscriptionId }),
    "subscriptions/:/providers/:": (subscriptionId = "", namespace = "") => ({
      kind: "provider",
      subscriptionId,
      namespace,
    }),
    "subscriptions/:/resources": (subscriptionId = "") => ({
      kind: "resources",
      within: { subscriptionId, resourceGroup: null },
    }),
    "subscriptions/:/resourceGroups/:/resources": (subscriptionId = "", resourceGroup = "") => ({
      kind: "resources",
      within: { subscriptionId, resourceGroup },
    }),
    "subscriptions/:/tagNames": (subscriptionId = "") => ({ kind: "tagNames", subscriptionId }),
    "subscriptions/:/resourceGroups": (subscriptionId = "") => ({ kind: "groups", subscriptionId }),
    "subscriptions/:/resourceGroups/:": (subscriptionId = "", resourceGroup = "") => ({
      kind: "group",
      group: { subscriptionId, resourceGroup },
    }),
  });
  return found ?? { kind: "unknown" };
}

/** Of the service itself. */
function parseGlobal(inside: Segments): Asked | null {
  return firstFit<Asked>(inside, {
    operations: () => ({ kind: "operations" }),
    topicTypes: () => ({ kind: "topicTypes" }),
    "topicTypes/:": (name = "") => ({ kind: "topicType", name }),
    "topicTypes/:/eventTypes": (name = "") => ({ kind: "topicTypeEventTypes", name }),
  });
}

function parseWithin(scope: Segments): Within | null {
  return firstFit<Within>(scope, {
    "subscriptions/:": (subscriptionId = "") => ({ subscriptionId, resourceGroup: null }),
    "subscriptions/:/resourceGroups/:": (subscriptionId = "", resourceGroup = "") => ({
      subscriptionId,
      resourceGroup,
    }),
  });
}

/** In a whole Azure subscription, or in one of its groups. */
function parseWithinScope(inside: Segments, within: Within): Asked | null {
  const { subscriptionId, resourceGroup } = within;
  const group = resourceGroup === null ? null : { subscriptionId, resourceGroup };
  const listIn = (location: string | null, topicType: string | null): Asked => ({
    kind: "subscriptionsIn",
    region: { ...within, location, topicType },
  });
  const found = firstFit<Asked>(inside, {
    topics: () => ({ kind: "topics", of: "topic", within }),
    domains: () => ({ kind: "topics", of: "domain", within }),
    namespaces: () => ({ kind: "topics", of: "namespace", within }),
    eventSubscriptions: () => listIn(null, null),
    "topicTypes/:/eventSubscriptions": (type = "") => listIn(null, type),
    "locations/:/eventSubscriptions": (location = "") => listIn(location, null),
    "locations/:/topicTypes/:/eventSubscriptions": (location = "", type = "") =>
      listIn(location, type),
    "locations/:/operationsStatus/:": (_ = "", id = "") => ({ kind: "operation", id }),
    "locations/:/operationResults/:": (_ = "", id = "") => ({ kind: "operation", id }),
  });
  if (found !== null || inside.length > 1) return found ?? (group && parseInGroup(inside, group));
  const namespace = "Microsoft.EventGrid";
  if (inside.length === 0) return { kind: "provider", subscriptionId, namespace };
  return isWord(inside[0], "register") ? { kind: "registration", subscriptionId, namespace } : null;
}

/** Topics and domains, and what is nested in them. */
function parseInGroup(inside: Segments, group: Group): Asked | null {
  const topic = (kind: TopicKind, name: string): TopicSource => ({ kind, group, name });
  const found = firstFit<Asked>(inside, {
    "topics/:": (name = "") => ({ kind: "topic", source: topic("topic", name) }),
    "topics/:/listKeys": (name = "") => ({ kind: "keys", source: topic("topic", name) }),
    "topics/:/regenerateKey": (name = "") => ({ kind: "newKey", source: topic("topic", name) }),
    "domains/:": (name = "") => ({ kind: "topic", source: topic("domain", name) }),
    "domains/:/listKeys": (name = "") => ({ kind: "keys", source: topic("domain", name) }),
    "domains/:/regenerateKey": (name = "") => ({ kind: "newKey", source: topic("domain", name) }),
    "domains/:/topics": (name = "") => ({ kind: "domainTopics", source: topic("domain", name) }),
    "domains/:/topics/:": (domain = "", name = "") => ({
      kind: "domainTopic",
      source: { kind: "domainTopic", group, domain, name },
    }),
    ...inNamespaces(topic),
  });
  if (found !== null) return found;
  // After a topic or domain, or after a topic of a domain: names may be anything.
  for (const place of [2, 4]) {
    const source = parseOwnSource(inside.slice(0, place), group);
    const nested = source && parseSubscriptions(inside.slice(place), source, "nested");
    if (nested !== null) return nested;
  }
  return null;
}

/** Namespaces and their topics. */
function inNamespaces(
  topic: (kind: TopicKind, name: string) => TopicSource,
): Readonly<Record<string, (...names: string[]) => Asked>> {
  const whole = (name = "") => topic("namespace", name);
  const part = (namespace = "", name = "") =>
    topic("namespaceTopic", namespaceTopicName(namespace, name));
  return {
    "namespaces/:": (name) => ({ kind: "topic", source: whole(name) }),
    "namespaces/:/listKeys": (name) => ({ kind: "keys", source: whole(name) }),
    "namespaces/:/regenerateKey": (name) => ({ kind: "newKey", source: whole(name) }),
    "namespaces/:/topics": (name) => ({ kind: "namespaceTopics", source: whole(name) }),
    "namespaces/:/topics/:": (...names) => ({ kind: "topic", source: part(...names) }),
    "namespaces/:/topics/:/listKeys": (...names) => ({ kind: "keys", source: part(...names) }),
    "namespaces/:/topics/:/regenerateKey": (...names) => ({
      kind: "newKey",
      source: part(...names),
    }),
  };
}

function parseOwnSource(segments: Segments, group: Group): Source | null {
  return firstFit<Source>(segments, {
    "topics/:": (name = "") => ({ kind: "topic", group, name }),
    "domains/:": (name = "") => ({ kind: "domain", group, name }),
    "namespaces/:": (name = "") => ({ kind: "namespace", group, name }),
    "namespaces/:/topics/:": (namespace = "", name = "") => ({
      kind: "namespaceTopic",
      group,
      name: namespaceTopicName(namespace, name),
    }),
    "domains/:/topics/:": (domain = "", name = "") => ({
      kind: "domainTopic",
      group,
      domain,
      name,
    }),
  });
}

function parseSource(scope: Segments): Source {
  const provider = lastProvider(scope);
  const within = provider < 0 ? null : parseWithin(scope.slice(0, provider));
  const { subscriptionId, resourceGroup } = within ?? { subscriptionId: "", resourceGroup: null };
  const own =
    resourceGroup === null
      ? null
      : parseOwnSource(scope.slice(provider + 2), { subscriptionId, resourceGroup });
  return own ?? { kind: "foreign", id: `/${scope.join("/")}` };
}

/** What extends any resource. */
function parseAtSource(inside: Segments, source: Source): Asked | null {
  const found = firstFit<Asked>(inside, {
    eventTypes: () => ({ kind: "eventTypes", source }),
    "extensionTopics/default": () => ({ kind: "extensionTopic", source }),
  });
  return found ?? parseSubscriptions(inside, source, "scope");
}

/** From `eventSubscriptions` on. */
function parseSubscriptions(inside: Segments, source: Source, form: Form): Asked | null {
  return firstFit<Asked>(inside, {
    eventSubscriptions: () => ({ kind: "subscriptionsOf", source, form }),
    "eventSubscriptions/:": (name = "") => ({ kind: "subscription", source, form, name }),
    "eventSubscriptions/:/:": (name = "", ask = "") => {
      const kind = subscriptionAsks.get(ask.toLowerCase());
      return kind === undefined ? { kind: "unknown" } : { kind, source, form, name };
    },
  });
}
