// The destination of a subscription in the module's API. A topic of Event Grid is a webhook to
// which events are published. Queues, topics and hubs have a connection string, and must be in the
// configuration file: a subscription stores the name of a resource and never its key.
//
// Deliberately absent: EdgeHub, which is a part of the IoT Edge runtime.

import {
  type AzureGroup,
  type Declared,
  partsOf,
  renderResourceId,
} from "../core/azure/resource-id.ts";
import type { AzureResources } from "../core/azure/resources.ts";
import { resourceForms } from "../core/azure/resources.ts";
import {
  accountPattern,
  containerNameRule,
  containerNameWords,
  whyNoQueues,
} from "../core/azure/storage.ts";
import { type BatchPolicy, batchPolicyOf } from "../core/delivery/batch.ts";
import { Refusal } from "../core/refusal.ts";
import type { Destination } from "../core/subscription.ts";
import { listed } from "../core/text/setting-kinds.ts";
import { readWebUrl, urlWords } from "../core/text/web-url.ts";
import { checkMembers, type Members, refuseValue } from "../core/text/wording.ts";
import { localGroup } from "../core/topic.ts";
import type { ModuleRules } from "./topic.ts";

export interface DestinationContext {
  readonly rules: ModuleRules;
  readonly azure: AzureResources;
  /** The current one: secrets that a client cannot read need not be written again. */
  readonly stored: Destination | null;
}

export interface Sending {
  readonly destination: Destination;
  readonly batch: BatchPolicy | null;
  /** Where E-3 writes it; null: not given. */
  readonly deliverySchema: unknown;
}

const types = [
  "WebHook",
  "EventGrid",
  "EventHub",
  "ServiceBusQueue",
  "ServiceBusTopic",
  "StorageQueue",
] as const;

const batchMembers = ["maxEventsPerBatch", "preferredBatchSizeInKilobytes"];

/** Refusal: InvalidSetting, naming the field. */
export function checkModuleDestination(
  value: unknown,
  field: string,
  context: DestinationContext,
): Sending {
  const { endpointType, properties } = checkMembers(value, field, ["endpointType", "properties"]);
  const inside = `${field}.properties`;
  const lower = typeof endpointType === "string" ? endpointType.toLowerCase() : "";
  if (lower === "edgehub") {
    const words = `${field}.endpointType EdgeHub is not available`;
    const advice = "IoT Edge hub is not supported; use WebHook";
    const target = `${field}.endpointType`;
    throw new Refusal("InvalidSetting", `${words}: ${advice}`, { target });
  }
  const type = types.find((each) => each.toLowerCase() === lower);
  switch (type) {
    case undefined:
      throw refuseValue({
        field: `${field}.endpointType`,
        value: endpointType,
        allowed: listed(types),
      });
    case "WebHook":
      return checkWebHook(properties, inside, context);
    case "EventGrid":
      return checkForward(properties, inside, context);
    case "StorageQueue":
      return checkQueue(properties, inside, context);
    default:
      return checkEntity(type, properties, inside, context);
  }
}

function checkWebHook(value: unknown, field: string, { rules }: DestinationContext): Sending {
  const known = ["endpointUrl", "endpointBaseUrl", "eventDeliverySchema", ...batchMembers];
  const members = checkMembers(value, field, known);
  const isHttpsOnly = rules.webhookHttpsOnly;
  const url = checkUrl(members.endpointUrl, `${field}.endpointUrl`, { isHttpsOnly });
  return {
    destination: { kind: "webhook", url },
    batch: checkBatch(members, field, rules),
    deliverySchema: members.eventDeliverySchema ?? null,
  };
}

/** The URL is described only by its type: its query is often a secret. */
function checkUrl(
  value: unknown,
  field: string,
  { isHttpsOnly }: { readonly isHttpsOnly: boolean },
): string {
  const url = readWebUrl(value);
  if (url !== null && (url.protocol === "https:" || !isHttpsOnly)) return value as string;
  const allowed = urlWords(isHttpsOnly ? "https" : "http or https");
  throw refuseValue({ field, value, allowed, secret: true });
}

/** To a topic in the cloud, or to one of another broker. */
function checkForward(value: unknown, field: string, context: DestinationContext): Sending {
  const { rules, stored } = context;
  const known = ["endpointUrl", "sasKey", "topicName", "eventDeliverySchema", ...batchMembers];
  const members = checkMembers(value, field, known);
  const target = `${field}.endpointUrl`;
  const url = checkUrl(members.endpointUrl, target, { isHttpsOnly: rules.eventGridHttpsOnly });
  const { pathname, searchParams } = new URL(url);
  const isTopic =
    pathname.toLowerCase().endsWith("/api/events") &&
    searchParams.get("api-version") === "2018-01-01";
  if (!isTopic) {
    const allowed = "the URL of a topic, with /api/events and api-version=2018-01-01";
    throw refuseValue({ field: target, value: members.endpointUrl, allowed, secret: true });
  }
  const { topicName = null } = members;
  if (topicName !== null && typeof topicName !== "string") {
    throw refuseValue({ field: `${field}.topicName`, value: topicName, allowed: "a text or null" });
  }
  const kept =
    stored?.kind === "webhook" && stored.url === url ? (stored.forward?.sasKey ?? null) : null;
  const sasKey = members.sasKey ?? kept;
  if (typeof sasKey !== "string" || !/^[\x21-\x7e]{1,256}$/.test(sasKey)) {
    const allowed = "the topic's key: 1 to 256 visible ASCII characters without blanks";
    throw refuseValue({ field: `${field}.sasKey`, value: sasKey, allowed, secret: true });
  }
  return {
    destination: { kind: "webhook", url, forward: { sasKey, topicName } },
    batch: checkBatch(members, field, rules),
    deliverySchema: members.eventDeliverySchema ?? null,
  };
}

function checkBatch(members: Members, field: string, { batch }: ModuleRules): BatchPolicy | null {
  const { eventsMax, kilobytesMax, defaults } = batch;
  return batchPolicyOf(members, field, defaults, {
    maxEventsPerBatch: { min: 1, max: eventsMax },
    preferredBatchSizeInKilobytes: { min: 1, max: kilobytesMax },
  });
}

type EntityType = "EventHub" | "ServiceBusQueue" | "ServiceBusTopic";

const entityKinds = {
  EventHub: "eventHub",
  ServiceBusQueue: "serviceBusQueue",
  ServiceBusTopic: "serviceBusTopic",
} as const satisfies Record<EntityType, keyof typeof resourceForms>;

/** The connection string is that of the entity, which it names as `EntityPath`. */
function checkEntity(
  type: EntityType,
  value: unknown,
  field: string,
  { azure, stored }: DestinationContext,
): Sending {
  const members = checkMembers(value, field, ["connectionString", "eventDeliverySchema"]);
  const deliverySchema = members.eventDeliverySchema ?? null;
  const kind = entityKinds[type];
  if ((members.connectionString ?? null) === null && stored?.kind === kind) {
    return { destination: stored, batch: null, deliverySchema };
  }
  const target = `${field}.connectionString`;
  const parts = partsOf(members.connectionString);
  const host = URL.parse(parts?.get("Endpoint")?.replace(/^sb:/i, "https:") ?? "")?.host;
  const entity = parts?.get("EntityPath");
  if (host === undefined || !entity) {
    const allowed = "a connection string of an entity: Endpoint=sb://…;…;EntityPath=…";
    throw refuseValue({ field: target, value: members.connectionString, allowed, secret: true });
  }
  const { section, pattern, what } = resourceForms[kind];
  const namespaces = azure[section as "serviceBusNamespaces" | "eventHubNamespaces"];
  const found = namespaces.find((each) => each.host.toLowerCase() === host.toLowerCase());
  if (found === undefined) throw refuseUnknown({ target, what, name: host, section });
  const names = [found.name, entity] as const;
  const resourceId = renderResourceId({ group: groupOf(found), names }, pattern);
  return { destination: { kind, resourceId }, batch: null, deliverySchema };
}

function checkQueue(value: unknown, field: string, { azure, stored }: DestinationContext): Sending {
  const known = ["queueName", "connectionString", "eventDeliverySchema"];
  const members = checkMembers(value, field, known);
  const deliverySchema = members.eventDeliverySchema ?? null;
  const { queueName, connectionString = null } = members;
  if (typeof queueName !== "string" || !containerNameRule.test(queueName)) {
    const allowed = containerNameWords;
    throw refuseValue({ field: `${field}.queueName`, value: queueName, allowed });
  }
  if (connectionString === null && stored?.kind === "storageQueue") {
    return { destination: { ...stored, queueName }, batch: null, deliverySchema };
  }
  const target = `${field}.connectionString`;
  const name = partsOf(connectionString)?.get("AccountName");
  if (name === undefined) {
    const allowed = "the connection string of a storage account, with its AccountName";
    throw refuseValue({ field: target, value: connectionString, allowed, secret: true });
  }
  const { section, what } = resourceForms.storageQueue;
  const account = azure.storageAccounts.find((each) => each.name.toLowerCase() === name);
  if (account === undefined) throw refuseUnknown({ target, what, name, section });
  const why = whyNoQueues(account);
  if (why !== null) {
    const words = `${target} names the storage account '${name}', ${why}`;
    throw new Refusal("InvalidSetting", words, { target });
  }
  const names = [account.name] as const;
  const resourceId = renderResourceId({ group: groupOf(account), names }, accountPattern);
  const destination = { kind: "storageQueue", resourceId, queueName, ttlSeconds: null } as const;
  return { destination, batch: null, deliverySchema };
}

function groupOf({ group }: Declared): AzureGroup {
  const { subscriptionId, resourceGroup } = localGroup;
  return group ?? { subscriptionId, resourceGroup };
}

function refuseUnknown(wrong: {
  readonly target: string;
  readonly what: string;
  readonly name: string;
  readonly section: string;
}): Refusal {
  const { target, what, name, section } = wrong;
  const words = `${target} names the ${what} '${name}', which this broker does not know`;
  return new Refusal("InvalidSetting", `${words}: add it to ${section} in its file`, { target });
}

/** As shown: with its URL, and without keys. */
export function renderModuleDestination(
  destination: Destination,
  batch: BatchPolicy | null,
): object {
  const shownBatch = batch !== null && {
    maxEventsPerBatch: batch.maxEvents,
    preferredBatchSizeInKilobytes: Math.floor(batch.preferredBytes / 1024),
  };
  if (destination.kind === "webhook") {
    const { url, forward } = destination;
    const endpointType = forward === undefined ? "WebHook" : "EventGrid";
    const topic = forward !== undefined && { topicName: forward.topicName };
    return { endpointType, properties: { endpointUrl: url, ...topic, ...shownBatch } };
  }
  // Only namespaces have them, and the module has no namespaces.
  if (destination.kind === "pull") return { endpointType: "Pull", properties: {} };
  const { endpointType } = resourceForms[destination.kind];
  if (destination.kind !== "storageQueue") return { endpointType, properties: {} };
  return { endpointType, properties: { queueName: destination.queueName } };
}
