// Storage accounts: what a resource id of Azure's means here. A subscription names the account for
// its dead letters as it would in Azure (L-2); the operator says, in the section `storageAccounts`
// of the configuration file, what stands behind that name: an account that we know how to reach,
// or a folder. Nothing is reached here.

import { checkMembers } from "./members.ts";
import { Refusal } from "./refusal.ts";
import { type ArmPlace, localPlace, topicNameRule } from "./topic.ts";
import { refuseValue } from "./wording.ts";

export interface StorageAccount {
  /** As the file has it. */
  readonly key: string;
  readonly name: string;
  /** Null: given by its name alone, which then stands for it in any group. */
  readonly group: AzureGroup | null;
  readonly store: StorageStore;
}

export type StorageStore =
  | { readonly kind: "blob"; readonly connectionString: string }
  | { readonly kind: "folder"; readonly path: string };

export type AzureGroup = Pick<ArmPlace, "subscriptionId" | "resourceGroup">;

/** A storage account or a container in it, as a resource id names them. */
export interface StorageId {
  readonly group: AzureGroup;
  readonly account: string;
  readonly container: string | null;
}

const idForm = new RegExp(
  "^/subscriptions/([^/]+)/resourceGroups/([^/]+)/providers/Microsoft\\.Storage" +
    "/storageAccounts/([^/]+)(?:/blobServices/default/containers/([^/]+))?/?$",
  "i",
);

/** What such an id looks like, for refusals. */
export const storageIdWords =
  "/subscriptions/<id>/resourceGroups/<name>/providers/Microsoft.Storage/storageAccounts/<name>";

/** The service's own rule, and so no name can lead out of a folder. */
export const containerNameRule = /^(?=.{3,63}$)[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Null for what is no id of a storage account or of a container. */
export function parseStorageId(id: string): StorageId | null {
  const [, subscriptionId, resourceGroup, account, container] = idForm.exec(id) ?? [];
  if (subscriptionId === undefined || resourceGroup === undefined || account === undefined) {
    return null;
  }
  return { group: { subscriptionId, resourceGroup }, account, container: container ?? null };
}

export function storageArmId({ group, account }: Pick<StorageId, "group" | "account">): string {
  const { subscriptionId, resourceGroup } = group;
  const place = `/subscriptions/${subscriptionId}/resourceGroups/${resourceGroup}`;
  return `${place}/providers/Microsoft.Storage/storageAccounts/${account}`;
}

/** Without regard to letter case. One that was given with its group counts there alone. */
export function findAccount(
  accounts: readonly StorageAccount[],
  resourceId: string,
): StorageAccount | undefined {
  const id = parseStorageId(resourceId);
  if (id === null) return undefined;
  return accounts.find(
    ({ name, group }) => isSame(name, id.account) && (group === null || isSameGroup(group, id)),
  );
}

/** Where Azure would have the account; made up for one that is known by its name alone. */
export function placeOfAccount({ group }: StorageAccount): ArmPlace {
  return { ...localPlace, ...group };
}

/** The section as it stands in the file. Refusal: InvalidSetting, naming the account. */
export function parseStorageAccounts(section: unknown): readonly StorageAccount[] {
  const field = "storageAccounts";
  if (typeof section !== "object" || section === null || Array.isArray(section)) {
    throw refuseValue({ field, value: section, allowed: "an object with a member for each" });
  }
  const accounts = Object.entries(section).map(([key, given]) => parseAccount(key, given));
  const names = accounts.map(({ name }) => name.toLowerCase());
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice === undefined) return accounts;
  throw new Refusal(
    "InvalidSetting",
    `${field} must name each account once, and has "${twice}" twice`,
  );
}

function parseAccount(key: string, given: unknown): StorageAccount {
  const id = parseStorageId(key);
  const name = id === null ? key : id.account;
  if (!topicNameRule.test(name) || (id !== null && id.container !== null)) {
    const allowed = `the name of a storage account, or ${storageIdWords}`;
    throw refuseValue({ field: "a name in storageAccounts", value: key, allowed });
  }
  const field = `storageAccounts.${key}`;
  const members = checkMembers(given, field, ["connectionString", "folder", "subscriptions"]);
  return { key, name, group: id?.group ?? null, store: parseStore(members, field) };
}

function parseStore(
  { connectionString, folder }: { readonly connectionString?: unknown; readonly folder?: unknown },
  field: string,
): StorageStore {
  if ((connectionString === undefined) === (folder === undefined)) {
    const words = `${field} must have a connectionString or a folder`;
    const found = folder === undefined ? "neither" : "both";
    throw new Refusal("InvalidSetting", `${words}, and has ${found}`, { target: field });
  }
  if (connectionString !== undefined) {
    if (isConnectionString(connectionString)) return { kind: "blob", connectionString };
    throw refuseValue({
      field: `${field}.connectionString`,
      value: connectionString,
      allowed:
        "a connection string: DefaultEndpointsProtocol, AccountName, AccountKey and " +
        "EndpointSuffix or BlobEndpoint; or BlobEndpoint and SharedAccessSignature; or " +
        "UseDevelopmentStorage=true",
      secret: true,
    });
  }
  const isPath = typeof folder === "string" && folder !== "" && !folder.includes("\u0000");
  if (isPath) return { kind: "folder", path: folder };
  throw refuseValue({ field: `${field}.folder`, value: folder, allowed: "a path" });
}

/** The forms that Azure's client takes; whether a key is right is seen when it is used. */
function isConnectionString(value: unknown): value is string {
  if (typeof value !== "string") return false;
  const parts = value.split(";").filter((part) => part.trim() !== "");
  if (!parts.every((part) => /^\s*[A-Za-z]+=./.test(part))) return false;
  const names = new Set(parts.map((part) => part.slice(0, part.indexOf("=")).trim()));
  const has = (...wanted: string[]) => wanted.every((name) => names.has(name));
  return (
    (has("DefaultEndpointsProtocol", "AccountName", "AccountKey") &&
      (has("EndpointSuffix") || has("BlobEndpoint"))) ||
    has("BlobEndpoint", "SharedAccessSignature") ||
    /^\s*UseDevelopmentStorage=true\s*;?\s*$/i.test(value)
  );
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function isSameGroup(one: AzureGroup, { group }: StorageId): boolean {
  return (
    isSame(one.subscriptionId, group.subscriptionId) &&
    isSame(one.resourceGroup, group.resourceGroup)
  );
}
