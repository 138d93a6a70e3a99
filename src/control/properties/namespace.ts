// A namespace and its topics in Event Grid's own property names, checked member by member (N-66,
// N-67, N-75). A request's `properties` and the configuration file have the same members.

import { retentionDays } from "../../core/delivery/profile.ts";
import { retentionDefault } from "../../core/pull/pull-rules.ts";
import { checkInteger } from "../../core/text/check.ts";
import { type Members, refuseValue } from "../../core/text/wording.ts";
import { plainTopic, type TopicDraft } from "../../core/topic.ts";
import { checkTopic, newTerms, type TopicTerms } from "./topic.ts";

/** Of a namespace, besides what has no effect here. */
export const namespaceMembers = ["publicNetworkAccess", "inboundIpRules", "port"];

/** Accepted without effect: what clients send back because they have read it. */
export const unusedNamespaceMembers = [
  "provisioningState",
  "isZoneRedundant",
  "topicsConfiguration",
  "privateEndpointConnections",
];

export const namespaceTopicMembers = ["publisherType", "inputSchema", "eventRetentionInDays"];

const cloudEvents = "CloudEventSchemaV1_0";

/** The settings with the given members replaced. Refusal: InvalidSetting, naming the field. */
export function checkNamespace(members: Members, field: string, base: TopicTerms): TopicTerms {
  const known = Object.entries(members).filter(([name]) => namespaceMembers.includes(name));
  const terms = checkTopic(Object.fromEntries(known), field, { kind: "namespace", base });
  return { ...terms, inputSchema: cloudEvents };
}

export const newNamespace: TopicTerms = { ...newTerms("namespace"), inputSchema: cloudEvents };

/** What a namespace topic has and cannot change. */
export const plainNamespaceTopic = {
  ...plainTopic,
  kind: "namespaceTopic",
  profile: "namespace",
  inputSchema: cloudEvents,
} as const satisfies Partial<TopicDraft>;

/** Refusal: InvalidSetting, naming the field. */
export function checkRetention(members: Members, field: string, old: number | undefined): number {
  checkOnly(members.publisherType, `${field}.publisherType`, "Custom");
  checkOnly(members.inputSchema, `${field}.inputSchema`, cloudEvents);
  if (!("eventRetentionInDays" in members)) return old ?? retentionDefault;
  const days = members.eventRetentionInDays ?? retentionDefault;
  return checkInteger(days, `${field}.eventRetentionInDays`, retentionDays);
}

/** Case-insensitive. Refusal: InvalidSetting. */
export function checkOnly(value: unknown, field: string, word: string): void {
  if ((value ?? null) === null) return;
  if (typeof value === "string" && value.toLowerCase() === word.toLowerCase()) return;
  throw refuseValue({ field, value, allowed: word });
}
