// Azure resources: how their ids are read, and the sections of the configuration file that say how
// to reach them. A subscription names a storage account, a namespace or a function app as it would
// in Azure; the operator says once how to reach it. No connection is made here.

import { Refusal } from "../refusal.ts";
import { isSameName } from "../text/compare.ts";
import { checkMembers, type Members, refuseValue } from "../text/wording.ts";
import type { ArmGroup } from "../topic.ts";

export type AzureGroup = Pick<ArmGroup, "subscriptionId" | "resourceGroup">;

/** What follows `/providers/` in an id, with an asterisk for each name. */
export type IdPattern = `Microsoft.${string}/*`;

export interface ResourceId {
  readonly group: AzureGroup;
  /** The names where the pattern has asterisks: first the account, namespace or app. */
  readonly names: readonly [string, ...string[]];
}

/** Null for what is no id of this pattern. Case-insensitive, except that names keep their case. */
export function parseResourceId(id: unknown, pattern: IdPattern): ResourceId | null {
  if (typeof id !== "string") return null;
  const literal = (part: string) => (part === "*" ? "([^/]+)" : RegExp.escape(part));
  const path = pattern.split("/").map(literal).join("/");
  const place = "^/subscriptions/([^/]+)/resourceGroups/([^/]+)/providers/";
  const [, subscriptionId, resourceGroup, first, ...more] =
    new RegExp(`${place}${path}/?$`, "i").exec(id) ?? [];
  if (subscriptionId === undefined || resourceGroup === undefined || first === undefined) {
    return null;
  }
  return { group: { subscriptionId, resourceGroup }, names: [first, ...more] };
}

/** In the letter case that Azure shows. */
export function renderResourceId({ group, names }: ResourceId, pattern: IdPattern): string {
  let next = 0;
  const path = pattern.replaceAll("*", () => names[next++] ?? "");
  const { subscriptionId, resourceGroup } = group;
  return `/subscriptions/${subscriptionId}/resourceGroups/${resourceGroup}/providers/${path}`;
}

/** What such an id looks like, for refusals. */
export function idWords(pattern: IdPattern): string {
  const path = pattern.replaceAll("*", "<name>");
  return `/subscriptions/<id>/resourceGroups/<name>/providers/${path}`;
}

/** A member of a section: which resource is meant. */
export interface Declared {
  /** As the file has it. */
  readonly key: string;
  readonly name: string;
  /** Null: given by its name alone, which then matches in any resource group. */
  readonly group: AzureGroup | null;
}

export interface SectionForm<T> {
  /** Of the section: `storageAccounts`. */
  readonly field: string;
  /** The name of one of them: `storage account`. */
  readonly what: string;
  readonly pattern: IdPattern;
  readonly nameRule: RegExp;
  readonly members: readonly string[];
  readonly parse: (members: Members, field: string, declared: Declared) => T;
}

/** The section as written in the file. Refusal: InvalidSetting, naming the resource. */
export function parseSection<T>(section: unknown, form: SectionForm<T>): readonly (Declared & T)[] {
  const { field, what } = form;
  if (typeof section !== "object" || section === null || Array.isArray(section)) {
    throw refuseValue({ field, value: section, allowed: "an object with a member for each" });
  }
  const all = Object.entries(section).map(([key, given]) => parseMember(key, given, form));
  const names = all.map(({ name }) => name.toLowerCase());
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice === undefined) return all;
  const words = `${field} must name each ${what} once, and has "${twice}" twice`;
  throw new Refusal("InvalidSetting", words);
}

function parseMember<T>(key: string, given: unknown, form: SectionForm<T>): Declared & T {
  const id = parseResourceId(key, form.pattern);
  const name = id?.names[0] ?? key;
  if (!form.nameRule.test(name)) {
    const allowed = `the name of a ${form.what}, or ${idWords(form.pattern)}`;
    throw refuseValue({ field: `a name in ${form.field}`, value: key, allowed });
  }
  const field = `${form.field}.${key}`;
  const declared = { key, name, group: id?.group ?? null };
  const members = checkMembers(given, field, form.members);
  return { ...declared, ...form.parse(members, field, declared) };
}

/** Case-insensitive. One that was given with its group matches only there. */
export function findDeclared<D extends Declared>(
  all: readonly D[],
  { group, names: [wanted] }: ResourceId,
): D | undefined {
  return all.find(
    (one) =>
      isSameName(one.name, wanted) &&
      (one.group === null ||
        (isSameName(one.group.subscriptionId, group.subscriptionId) &&
          isSameName(one.group.resourceGroup, group.resourceGroup))),
  );
}

/** Which of the platform's identities for this program; null: its only one. */
export interface ManagedIdentity {
  readonly clientId: string | null;
}

/** `true`, or which one. Refusal: InvalidSetting. */
export function parseIdentity(value: unknown, field: string): ManagedIdentity {
  if (value === true) return { clientId: null };
  if (typeof value !== "object") {
    throw refuseValue({ field, value, allowed: 'true or { "clientId": "…" }' });
  }
  const { clientId } = checkMembers(value, field, ["clientId"]);
  if (typeof clientId === "string" && /^\S+$/.test(clientId)) return { clientId };
  const allowed = "the client id of an identity";
  throw refuseValue({ field: `${field}.clientId`, value: clientId, allowed });
}

/** Tokens are never sent without TLS. Refusal: InvalidSetting. */
export function parseEndpoint(value: unknown, field: string): string {
  const url = typeof value === "string" ? URL.parse(value) : null;
  if (url?.protocol === "https:" && url.search === "" && url.hash === "") return url.href;
  throw refuseValue({ field, value, allowed: "an https URL without a query" });
}

/** Exactly one of these members, or a refusal that names them: InvalidSetting. */
export function checkOneOf(members: Members, field: string, names: readonly string[]): string {
  const [given, ...more] = names.filter((name) => members[name] !== undefined);
  if (given !== undefined && more.length === 0) return given;
  const words = `${field} must have a ${names.slice(0, -1).join(", a ")} or a ${names.at(-1)}`;
  const found = given === undefined ? "none" : [given, ...more].join(" and ");
  throw new Refusal("InvalidSetting", `${words}, and has ${found}`, { target: field });
}

/** What has no effect without another member. Refusal: InvalidSetting. */
export function refuseBeside(members: Members, field: string, names: readonly string[]): void {
  const name = names.find((each) => members[each] !== undefined);
  if (name === undefined) return;
  const target = `${field}.${name}`;
  const words = `${target} must be left out: it goes with managedIdentity alone`;
  throw new Refusal("InvalidSetting", words, { target });
}

/**
 * The parts of a connection string by their case-sensitive names; null if it is not one. A value
 * may contain an equals sign, as keys do.
 */
export function partsOf(connectionString: unknown): ReadonlyMap<string, string> | null {
  if (typeof connectionString !== "string") return null;
  const parts = connectionString.split(";").filter((part) => part.trim() !== "");
  if (parts.length === 0 || !parts.every((part) => /^\s*[A-Za-z]+=./.test(part))) return null;
  return new Map(
    parts.map((part) => {
      const place = part.indexOf("=");
      return [part.slice(0, place).trim(), part.slice(place + 1).trim()];
    }),
  );
}
