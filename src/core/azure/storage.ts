// Storage accounts: what their resource ids mean here. A subscription names the account for its
// dead letters, or that of a queue, as it would in Azure (L-2); the operator says, in the section
// `storageAccounts` of the configuration file, what that name means: an account with its
// credentials, or a folder. No connection is made here.

import type { Members } from "../text/wording.ts";
import { refuseValue } from "../text/wording.ts";
import { type ArmGroup, localGroup, topicNameRule } from "../topic.ts";
import {
  type AzureGroup,
  checkOneOf,
  type Declared,
  findDeclared,
  type IdPattern,
  idWords,
  type ManagedIdentity,
  parseEndpoint,
  parseIdentity,
  parseResourceId,
  parseSection,
  partsOf,
  refuseBeside,
  renderResourceId,
} from "./resource-id.ts";

export interface StorageAccount extends Declared {
  readonly store: StorageStore;
  /** How events are written into queues: in Base64 as the service does it, or as plain text. */
  readonly queueEncoding: QueueEncoding;
}

export type QueueEncoding = "base64" | "text";

export type StorageStore =
  | { readonly kind: "blob"; readonly connectionString: string }
  | ({
      readonly kind: "identity";
      readonly blobEndpoint: string;
      readonly queueEndpoint: string;
    } & ManagedIdentity)
  | { readonly kind: "folder"; readonly path: string };

/** A storage account or a container in it, as a resource id names them. */
export interface StorageId {
  readonly group: AzureGroup;
  readonly account: string;
  readonly container: string | null;
}

export const accountPattern: IdPattern = "Microsoft.Storage/storageAccounts/*";
const containerPattern: IdPattern = `${accountPattern}/blobServices/default/containers/*`;

/** What such an id looks like, for refusals. */
export const storageIdWords = idWords(accountPattern);

/**
 * The service's own rule, which also ensures that no name can leave a folder. Queues have the same.
 */
export const containerNameRule = /^(?=.{3,63}$)[a-z0-9]+(?:-[a-z0-9]+)*$/;
export const containerNameWords = "3 to 63 lower-case letters, digits and single hyphens";

/** Null for what is no id of a storage account or of a container. */
export function parseStorageId(text: string): StorageId | null {
  const id = parseResourceId(text, accountPattern) ?? parseResourceId(text, containerPattern);
  if (id === null) return null;
  const [account, container = null] = id.names;
  return { group: id.group, account, container };
}

export function storageArmId({ group, account }: Pick<StorageId, "group" | "account">): string {
  return renderResourceId({ group, names: [account] }, accountPattern);
}

/** Case-insensitive. One that was given with its group matches only there. */
export function findAccount(
  accounts: readonly StorageAccount[],
  resourceId: string,
): StorageAccount | undefined {
  const id = parseStorageId(resourceId);
  if (id === null) return undefined;
  return findDeclared(accounts, { group: id.group, names: [id.account] });
}

/** The account's resource id; made up for one that is known by its name alone. */
export function placeOfAccount({ group }: StorageAccount): ArmGroup {
  return { ...localGroup, ...group };
}

/** Null, or why the account has no queues, to complete a sentence about it. */
export function whyNoQueues({ store, key }: StorageAccount): string | null {
  if (store.kind === "folder") return "which is a folder, and folders have no queues";
  if (store.kind === "identity") return null;
  const parts = partsOf(store.connectionString);
  const names = ["QueueEndpoint", "EndpointSuffix", "UseDevelopmentStorage"];
  if (names.some((name) => parts?.has(name))) return null;
  return `whose connectionString in storageAccounts.${key} has no QueueEndpoint`;
}

/** The section as written in the file. Refusal: InvalidSetting, naming the account. */
export function parseStorageAccounts(section: unknown): readonly StorageAccount[] {
  return parseSection(section, {
    field: "storageAccounts",
    what: "storage account",
    pattern: accountPattern,
    nameRule: topicNameRule,
    members: [...stores, "blobEndpoint", "queueEndpoint", "queueEncoding", "subscriptions"],
    parse: (members, field, { name }) => ({
      store: parseStore(members, field, name),
      queueEncoding: parseEncoding(members.queueEncoding ?? "base64", `${field}.queueEncoding`),
    }),
  });
}

const stores = ["connectionString", "folder", "managedIdentity"];

function parseStore(members: Members, field: string, name: string): StorageStore {
  const given = checkOneOf(members, field, stores);
  const endpoints = ["blobEndpoint", "queueEndpoint"];
  if (given === "managedIdentity") return parseGuarded(members, field, name);
  refuseBeside(members, field, endpoints);
  const { connectionString, folder } = members;
  if (given === "connectionString") return parseConnection(connectionString, field);
  const isPath = typeof folder === "string" && folder !== "" && !folder.includes("\u0000");
  if (isPath) return { kind: "folder", path: folder };
  throw refuseValue({ field: `${field}.folder`, value: folder, allowed: "a path" });
}

function parseConnection(connectionString: unknown, field: string): StorageStore {
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

/** The forms that Azure's client accepts; whether a key is right shows when it is used. */
function isConnectionString(value: unknown): value is string {
  const parts = partsOf(value);
  if (parts === null) return false;
  const has = (...wanted: string[]) => wanted.every((name) => parts.has(name));
  return (
    (has("DefaultEndpointsProtocol", "AccountName", "AccountKey") &&
      (has("EndpointSuffix") || has("BlobEndpoint"))) ||
    has("BlobEndpoint", "SharedAccessSignature") ||
    (parts.size === 1 && parts.get("UseDevelopmentStorage")?.toLowerCase() === "true")
  );
}

function parseGuarded(members: Members, field: string, name: string): StorageStore {
  const at = (service: "blob" | "queue") => {
    const member = `${service}Endpoint`;
    const usual = `https://${name}.${service}.core.windows.net`;
    return parseEndpoint(members[member] ?? usual, `${field}.${member}`);
  };
  return {
    kind: "identity",
    ...parseIdentity(members.managedIdentity, `${field}.managedIdentity`),
    blobEndpoint: at("blob"),
    queueEndpoint: at("queue"),
  };
}

function parseEncoding(value: unknown, field: string): QueueEncoding {
  if (value === "base64" || value === "text") return value;
  throw refuseValue({ field, value, allowed: "base64 or text" });
}
