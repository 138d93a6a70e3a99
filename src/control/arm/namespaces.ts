// Namespaces and their topics as resources (N-64 to N-75). Both are records like topics; reading
// and deleting them, and their keys, are in topics.ts.

import { Refusal } from "../../core/refusal.ts";
import type { Catalog } from "../../core/registry.ts";
import type { Reply } from "../../core/request.ts";
import { isSameName } from "../../core/text/compare.ts";
import { durationText } from "../../core/text/time.ts";
import { checkMembers, type Members } from "../../core/text/wording.ts";
import {
  armTypes,
  namespaceTopicName,
  splitTopicName,
  type Topic,
  type TopicDraft,
  topicArmId,
} from "../../core/topic.ts";
import { checkTraits, namespaceTraitsInside, renderIdentity } from "../properties/azure-traits.ts";
import {
  checkNamespace,
  checkRetention,
  namespaceMembers,
  namespaceTopicMembers,
  newNamespace,
  plainNamespaceTopic,
  unusedNamespaceMembers,
} from "../properties/namespace.ts";
import { withOwnMembers } from "../properties/topic.ts";
import { tenantId } from "../signin/azure-signin.ts";
import { type ArmContext, type Call, needTopic } from "./find-topic.ts";
import { replyWithList } from "./listing.ts";
import type { TopicSource } from "./path.ts";
import type { TopicView } from "./render.ts";

/** What the drafts of all resources have in common (topics.ts). */
export interface Common {
  readonly stored: Topic | undefined;
  readonly members: Members;
  readonly keys: { readonly key1: string; readonly key2: string };
  readonly place: TopicDraft["place"];
}

const keyMembers = ["key1", "key2"];

export function namespaceProperties({ properties }: Members, isNew: boolean): Members {
  const known = [
    ...[...namespaceMembers, "posthorn", ...namespaceTraitsInside, ...unusedNamespaceMembers],
    ...(isNew ? keyMembers : []),
  ];
  return withOwnMembers(checkMembers(properties ?? {}, "properties", known), "properties");
}

export function draftNamespace(
  context: ArmContext,
  { name }: TopicSource,
  { stored, members, keys, place }: Common,
): TopicDraft {
  const properties = namespaceProperties(members, true);
  const base = { ...newNamespace, ...(stored && { port: stored.port }) };
  return {
    ...checkNamespace(properties, "properties", base),
    kind: "namespace",
    name: stored?.name ?? name,
    ...keys,
    lockKey: stored?.lockKey ?? context.makeKey(),
    place,
    azure: checkTraits(members, properties, {}, "namespace"),
    origin: "api",
  };
}

/** `patch`: only what is given changes. */
export function patchedNamespace(old: Topic, members: Members): TopicDraft {
  const properties = namespaceProperties(members, false);
  const { revision, ...draft } = old;
  return {
    ...draft,
    ...checkNamespace(properties, "properties", old),
    azure: checkTraits(members, properties, old.azure ?? {}, "namespace"),
  };
}

export function namespaceTopicProperties({ properties }: Members, isNew: boolean): Members {
  const known = [...namespaceTopicMembers, "provisioningState", ...(isNew ? keyMembers : [])];
  return checkMembers(properties ?? {}, "properties", known);
}

export function draftNamespaceTopic(
  context: ArmContext,
  { name }: TopicSource,
  { stored, members, keys, place }: Common,
): TopicDraft {
  const properties = namespaceTopicProperties(members, true);
  const retentionDays = checkRetention(properties, "properties", undefined);
  checkLives(context.catalog(), stored, retentionDays);
  return {
    ...plainNamespaceTopic,
    name: stored?.name ?? name,
    ...keys,
    retentionDays,
    place,
    origin: "api",
  };
}

export function patchedNamespaceTopic(
  { catalog }: ArmContext,
  old: Topic,
  members: Members,
): TopicDraft {
  const properties = namespaceTopicProperties(members, false);
  const { revision, ...draft } = old;
  const retentionDays = checkRetention(properties, "properties", old.retentionDays);
  checkLives(catalog(), old, retentionDays);
  return { ...draft, retentionDays };
}

/** N-75. Refusal: InvalidSetting. */
function checkLives({ subscriptions }: Catalog, topic: Topic | undefined, days: number): void {
  if (topic === undefined) return;
  const stuck = subscriptions.find(
    ({ retryPolicy, ...one }) =>
      isSameName(one.topic, topic.name) && (retryPolicy.eventTimeToLiveMs ?? 0) > days * 86_400_000,
  );
  if (stuck === undefined) return;
  const target = "properties.eventRetentionInDays";
  const life = durationText(stuck.retryPolicy.eventTimeToLiveMs ?? 0);
  const words = `${target} cannot become ${days}: the event subscription '${stuck.name}' has`;
  throw new Refusal("InvalidSetting", `${words} eventTimeToLive ${life}`, { target });
}

/** The namespace of a topic's source. Refusal: NotFound. */
export function needNamespaceOf(
  context: ArmContext,
  source: TopicSource,
  planned?: ReadonlyMap<string, Topic>,
): Topic {
  const parent = namespaceOf(source);
  const inTemplate = [...(planned?.values() ?? [])].find(
    ({ kind, name }) => kind === "namespace" && isSameName(name, parent.name),
  );
  return inTemplate ?? needTopic(context.catalog(), parent);
}

function namespaceOf({ group, name }: TopicSource): TopicSource {
  return { kind: "namespace", group, name: splitTopicName(name).namespace ?? name };
}

/** All topics of a namespace. */
export function topicsOf({ topics }: Catalog, namespace: Topic): readonly Topic[] {
  const before = namespaceTopicName(namespace.name, "").toLowerCase();
  return topics.filter(({ name }) => name.toLowerCase().startsWith(before));
}

export function listNamespaceTopics(context: ArmContext, call: Call, source: TopicSource): Reply {
  const namespace = needTopic(context.catalog(), source);
  const items = topicsOf(context.catalog(), namespace).map((topic) => ({
    name: splitTopicName(topic.name).topic,
    key: topic.name.toLowerCase(),
    render: () => renderNamespaceTopic(topic, "Succeeded"),
  }));
  return replyWithList(items, call.request, call.url);
}

export function renderNamespace(topic: Topic, { baseUrl, state }: TopicView): object {
  const { name, place, inboundIpRules, azure = {}, port } = topic;
  const id = topicArmId(topic);
  const { identity, sku, minimumTlsVersionAllowed = "1.2", topicSpacesConfiguration } = azure;
  return {
    properties: {
      provisioningState: state,
      isZoneRedundant: true,
      publicNetworkAccess: topic.publicNetworkAccess ? "Enabled" : "Disabled",
      inboundIpRules:
        inboundIpRules.length === 0
          ? null
          : inboundIpRules.map((ipMask) => ({ ipMask, action: "Allow" })),
      minimumTlsVersionAllowed,
      topicsConfiguration: { hostname: hostnameOf(topic, baseUrl), customDomains: [] },
      ...(topicSpacesConfiguration !== undefined && { topicSpacesConfiguration }),
      ...(port !== null && { posthorn: { port } }),
    },
    sku: { name: "Standard", capacity: sku?.capacity ?? 1 },
    ...(identity !== undefined && { identity: renderIdentity(identity, id, tenantId) }),
    systemData: null,
    location: place.location,
    tags: place.tags,
    id,
    name,
    type: armTypes.namespace,
  };
}

/** N-1: without a scheme. */
function hostnameOf({ name, port }: Topic, baseUrl: string): string {
  const { port: used, protocol } = new URL(baseUrl);
  return `${name}.localhost:${port ?? (used || (protocol === "https:" ? "443" : "80"))}`.toLowerCase();
}

export function renderNamespaceTopic(topic: Topic, provisioningState: TopicView["state"]): object {
  const { retentionDays } = topic;
  return {
    properties: {
      provisioningState,
      publisherType: "Custom",
      inputSchema: topic.inputSchema,
      eventRetentionInDays: retentionDays,
    },
    systemData: null,
    id: topicArmId(topic),
    name: splitTopicName(topic.name).topic,
    type: armTypes.namespaceTopic,
  };
}
