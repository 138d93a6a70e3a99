// Members of a topic or domain that have a meaning in Azure and no effect here: its tier, its
// identity, its data residency. They are checked, stored and shown as written, so that tools that
// compare find no difference.

import { createHash } from "node:crypto";
import { checkInteger } from "../../core/text/check.ts";
import { listed } from "../../core/text/setting-kinds.ts";
import { checkMembers, type Members, refuseValue } from "../../core/text/wording.ts";
import type { AzureTraits, TopicIdentity } from "../../core/topic.ts";

/** Besides the properties of the resource. */
export const traitsAround = ["sku", "identity", "kind", "extendedLocation"];

/** Within them. */
export const traitsInside = ["dataResidencyBoundary", "minimumTlsVersionAllowed", "eventTypeInfo"];

/** Within those of a namespace. */
export const namespaceTraitsInside = ["minimumTlsVersionAllowed", "topicSpacesConfiguration"];

const charactersMax = 65_536;
/** Throughput units (N-48). */
const capacityRange = { min: 1, max: 40 };

type Check = (value: unknown, field: string) => unknown;

const checks: Readonly<Record<keyof AzureTraits, Check>> = {
  sku: checkSku,
  identity: checkIdentity,
  kind: oneWord(["Azure", "AzureArc"]),
  extendedLocation: checkObject,
  dataResidencyBoundary: oneWord(["WithinGeopair", "WithinRegion"]),
  minimumTlsVersionAllowed: oneWord(["1.0", "1.1", "1.2"]),
  eventTypeInfo: checkObject,
  topicSpacesConfiguration: checkObject,
};

const namespaceChecks = { ...checks, sku: checkNamespaceSku };

/**
 * The stored ones with the given members replaced; null takes the default. Refusal: InvalidSetting.
 */
export function checkTraits(
  around: Members,
  inside: Members,
  stored: AzureTraits,
  of: "topic" | "namespace" = "topic",
): AzureTraits {
  const traits: Record<string, unknown> = { ...stored };
  const known = of === "topic" ? checks : namespaceChecks;
  for (const [name, check] of Object.entries(known)) {
    const isAround = traitsAround.includes(name);
    const members = isAround ? around : inside;
    if (!(name in members)) continue;
    delete traits[name];
    const value = members[name] ?? null;
    if (value !== null) traits[name] = check(value, isAround ? name : `properties.${name}`);
  }
  return traits;
}

function oneWord(words: readonly string[]): Check {
  return (value, field) => {
    const lower = typeof value === "string" ? value.toLowerCase() : null;
    const word = words.find((each) => each.toLowerCase() === lower);
    if (word !== undefined) return word;
    throw refuseValue({ field, value, allowed: listed(words) });
  };
}

function checkObject(value: unknown, field: string): unknown {
  const isObject = typeof value === "object" && !Array.isArray(value);
  if (isObject && JSON.stringify(value).length <= charactersMax) return value;
  throw refuseValue({ field, value, allowed: `an object of at most ${charactersMax} characters` });
}

function checkSku(value: unknown, field: string): unknown {
  const { name } = checkMembers(value, field, ["name", "tier"]);
  return { name: oneWord(["Basic", "Premium"])(name ?? "Basic", `${field}.name`) };
}

function checkNamespaceSku(value: unknown, field: string): unknown {
  const { name, capacity } = checkMembers(value, field, ["name", "capacity"]);
  return {
    name: oneWord(["Standard"])(name ?? "Standard", `${field}.name`),
    capacity: checkInteger(capacity ?? 1, `${field}.capacity`, capacityRange),
  };
}

const identityTypes = ["None", "SystemAssigned", "UserAssigned", "SystemAssigned, UserAssigned"];

/** The ids of principals come from the directory, and so are not accepted from clients. */
function checkIdentity(value: unknown, field: string): TopicIdentity {
  const known = ["type", "principalId", "tenantId", "userAssignedIdentities"];
  const { type, userAssignedIdentities } = checkMembers(value, field, known);
  const spaced = typeof type === "string" ? type.replace(/,\s*/, ", ") : (type ?? "None");
  const users = checkObject(userAssignedIdentities ?? {}, `${field}.userAssignedIdentities`);
  const ids = Object.keys(users as Members);
  const kind = oneWord(identityTypes)(spaced, `${field}.type`) as string;
  return { type: kind, users: kind.includes("UserAssigned") ? ids : [] };
}

export function renderTraitsAround(
  { sku, identity, kind, extendedLocation }: AzureTraits,
  { id, isTopic, tenantId }: { id: string; isTopic: boolean; tenantId: string },
): object {
  return {
    sku: sku ?? { name: "Basic" },
    identity: renderIdentity(identity ?? { type: "None", users: [] }, id, tenantId),
    ...(isTopic && { kind: kind ?? "Azure" }),
    ...(extendedLocation !== undefined && { extendedLocation }),
  };
}

export function renderTraitsInside(traits: AzureTraits): object {
  const { dataResidencyBoundary, minimumTlsVersionAllowed, eventTypeInfo } = traits;
  return {
    dataResidencyBoundary: dataResidencyBoundary ?? "WithinGeopair",
    ...(minimumTlsVersionAllowed !== undefined && { minimumTlsVersionAllowed }),
    ...(eventTypeInfo !== undefined && { eventTypeInfo }),
  };
}

/** In Azure the directory assigns the ids of an identity; ours are derived from the resource. */
export function renderIdentity(
  { type, users }: TopicIdentity,
  id: string,
  tenantId: string,
): object {
  const isSystem = type.startsWith("SystemAssigned");
  const ids = (user: string) => ({
    principalId: guidOf(`${user} principal`),
    clientId: guidOf(`${user} client`),
  });
  return {
    type,
    principalId: isSystem ? guidOf(`${id} principal`) : null,
    tenantId: isSystem ? tenantId : null,
    userAssignedIdentities:
      users.length === 0 ? null : Object.fromEntries(users.map((user) => [user, ids(user)])),
  };
}

/** Always the same for the same text, whatever its letter case. */
export function guidOf(text: string): string {
  const hex = createHash("sha256").update(text.toLowerCase()).digest("hex");
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `5${hex.slice(13, 16)}`];
  return [...parts, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join("-");
}
