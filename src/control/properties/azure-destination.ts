// Destinations with an Azure resource id, in Event Grid's own property names: read and shown. The
// resource must be in the configuration file; whether the queue, topic, hub or connection in it
// exists is seen with the first event.

import {
  type IdPattern,
  idWords,
  parseResourceId,
  renderResourceId,
} from "../../core/azure/resource-id.ts";
import {
  type AzureResources,
  type ResourceKind,
  resolveResource,
  resourceForms,
} from "../../core/azure/resources.ts";
import {
  accountPattern,
  containerNameRule,
  containerNameWords,
  findAccount,
  whyNoQueues,
} from "../../core/azure/storage.ts";
import { Refusal } from "../../core/refusal.ts";
import type { PushDestination, StorageQueueDestination } from "../../core/subscription.ts";
import { listed } from "../../core/text/setting-kinds.ts";
import { checkMembers, type Members, refuseValue } from "../../core/text/wording.ts";

type Resource = Exclude<PushDestination, { kind: "webhook" }>;

const kinds = Object.keys(resourceForms) as readonly ResourceKind[];
const queuePattern: IdPattern = `${accountPattern}/queueServices/default/queues/*`;

/** Case-insensitive, as in the service. Refusal: InvalidSetting. */
export function checkEndpointType(value: unknown, field: string): PushDestination["kind"] {
  const lower = typeof value === "string" ? value.toLowerCase() : null;
  if (lower === "webhook") return "webhook";
  const kind = kinds.find((each) => each.toLowerCase() === lower);
  if (kind !== undefined) return kind;
  const types = kinds.map((each) => resourceForms[each].endpointType);
  throw refuseValue({ field, value, allowed: listed(["WebHook", ...types]) });
}

export interface Allowed {
  /** Kinds that take several events in one request. */
  readonly batches: boolean;
  /** Kinds with headers, or properties. */
  readonly headers: boolean;
}

export function allowedFor(kind: PushDestination["kind"]): Allowed {
  return {
    batches: kind === "webhook" || kind === "azureFunction",
    headers: kind !== "storageQueue",
  };
}

const batchMembers = ["maxEventsPerBatch", "preferredBatchSizeInKilobytes"];
const headerMember = "deliveryAttributeMappings";
const queueMembers = ["queueName", "queueMessageTimeToLiveInSeconds"];

/** The members of a destination's properties. Refusal: InvalidSetting, naming the field. */
export function checkResourceMembers(kind: ResourceKind, value: unknown, field: string): Members {
  const members = checkMembers(value, field, [
    "resourceId",
    ...(kind === "storageQueue" ? queueMembers : []),
    ...batchMembers,
    headerMember,
  ]);
  const { endpointType } = resourceForms[kind];
  const allowed = allowedFor(kind);
  for (const name of allowed.batches ? [] : batchMembers) {
    refuseGiven(members, `${field}.${name}`, `${endpointType} takes one event at a time`);
  }
  if (!allowed.headers) {
    refuseGiven(members, `${field}.${headerMember}`, `${endpointType} knows no headers`);
  }
  return members;
}

/** An empty list, or one event, means nothing and is written back by clients that read it. */
function refuseGiven(members: Members, target: string, why: string): void {
  const value = members[target.slice(target.lastIndexOf(".") + 1)] ?? null;
  if (value === null || value === 1 || (Array.isArray(value) && value.length === 0)) return;
  throw new Refusal("InvalidSetting", `${target} must be left out: ${why}`, { target });
}

/** Refusal: InvalidSetting, naming the field. */
export function checkResource(
  kind: ResourceKind,
  members: Members,
  field: string,
  azure: AzureResources,
): Resource {
  if (kind === "storageQueue") return checkQueue(members, field, azure);
  const { pattern } = resourceForms[kind];
  const id = parseResourceId(members.resourceId, pattern);
  if (id === null) throw refuseId(members, field, idWords(pattern));
  const resourceId = renderResourceId(id, pattern);
  checkKnown(kind, { resourceId, name: id.names[0] }, `${field}.resourceId`, azure);
  return { kind, resourceId };
}

function refuseId({ resourceId }: Members, field: string, allowed: string): Refusal {
  return refuseValue({ field: `${field}.resourceId`, value: resourceId, allowed });
}

function checkKnown(
  kind: ResourceKind,
  { resourceId, name }: { readonly resourceId: string; readonly name: string },
  target: string,
  azure: AzureResources,
): void {
  const { section, what, pattern } = resourceForms[kind];
  if (resolveResource(azure, section, { resourceId, pattern }) !== null) return;
  throw refuseUnknown({ what, name, section, target, azure });
}

/** Also lists what there is: usually a name was misspelt, or another group meant. */
export function refuseUnknown({
  what,
  name,
  section,
  target,
  azure,
}: {
  readonly what: string;
  readonly name: string;
  readonly section: keyof AzureResources;
  readonly target: string;
  readonly azure: AzureResources;
}): Refusal {
  const keys = azure[section].map(({ key }) => key);
  const known = keys.length === 0 ? "" : `, which has ${keys.join(", ")}`;
  const words = `${target} names the ${what} '${name}', which this broker does not know`;
  return new Refusal("InvalidSetting", `${words}: add it to ${section} in its file${known}`, {
    target,
  });
}

/** The queue is given by itself, or at the end of the resource id, as in the Azure CLI. */
function checkQueue(
  members: Members,
  field: string,
  azure: AzureResources,
): StorageQueueDestination {
  const whole = parseResourceId(members.resourceId, queuePattern);
  const id = whole ?? parseResourceId(members.resourceId, accountPattern);
  if (id === null) throw refuseId(members, field, idWords(accountPattern));
  const [name, atEnd = null] = id.names;
  const queueName = checkQueueName(members.queueName ?? atEnd, field, atEnd);
  const resourceId = renderResourceId({ group: id.group, names: [name] }, accountPattern);
  const target = `${field}.resourceId`;
  checkKnown("storageQueue", { resourceId, name }, target, azure);
  const account = findAccount(azure.storageAccounts, resourceId);
  const why = account === undefined ? null : whyNoQueues(account);
  if (why !== null) {
    const words = `${target} names the storage account '${name}', ${why}`;
    throw new Refusal("InvalidSetting", words, { target });
  }
  const ttlSeconds = checkTtl(members, field);
  return { kind: "storageQueue", resourceId, queueName, ttlSeconds };
}

function checkQueueName(value: unknown, field: string, atEnd: string | null): string {
  const isSame = atEnd === null || value === atEnd;
  if (typeof value === "string" && containerNameRule.test(value) && isSame) return value;
  const allowed = isSame ? containerNameWords : `left out or ${atEnd}, as in resourceId`;
  throw refuseValue({ field: `${field}.queueName`, value, allowed });
}

function checkTtl({ queueMessageTimeToLiveInSeconds: value }: Members, field: string) {
  if ((value ?? null) === null) return null;
  const isWhole = typeof value === "number" && Number.isInteger(value);
  if (isWhole && (value === -1 || (value >= 1 && value < 2 ** 31))) return value;
  const allowed = "a whole number of seconds from 1 on, or -1 for no end";
  throw refuseValue({ field: `${field}.queueMessageTimeToLiveInSeconds`, value, allowed });
}

/** The first members of a destination's `properties`. */
export function renderResource(destination: Resource): object {
  const { resourceId } = destination;
  if (destination.kind !== "storageQueue") return { resourceId };
  const { queueName, ttlSeconds } = destination;
  return {
    resourceId,
    queueName,
    ...(ttlSeconds !== null && { queueMessageTimeToLiveInSeconds: ttlSeconds }),
  };
}
