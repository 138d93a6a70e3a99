// Topics and subscriptions declared in the configuration file, in Event Grid's own property names:
// every member is checked, and what is unknown or not supported is refused, never ignored.
//
// Applying a declaration is idempotent: what does not differ is not written. What a file declared
// before and no longer does is deleted; what was created over HTTP is never touched.

import type { AzureResources } from "../core/azure/resources.ts";
import { placeOfAccount, type StorageAccount } from "../core/azure/storage.ts";
import type { BatchPolicy } from "../core/delivery/batch.ts";
import type { ProfileName } from "../core/delivery/profile.ts";
import type { Log, Registry } from "../core/ports.ts";
import { Refusal } from "../core/refusal.ts";
import { LiveCatalog, subscriptionKey } from "../core/routing/live-catalog.ts";
import {
  plainSubscription,
  type Subscription,
  type SubscriptionDraft,
  subscriptionNameRule,
} from "../core/subscription.ts";
import { isSameName } from "../core/text/compare.ts";
import { checkMembers, type Members, refuseValue } from "../core/text/wording.ts";
import {
  domainTopicNameRule,
  plainTopic,
  type Topic,
  type TopicDraft,
  topicNameRule,
} from "../core/topic.ts";
import { logSubscription } from "./log-subscription.ts";
import { checkTerms } from "./properties/subscription.ts";
import { checkKey, checkTopic, newTerms, topicMembers } from "./properties/topic.ts";

export interface DeclaredTopic extends TopicDraft {
  /** Keys that the file leaves out; one that is stored already is kept. */
  readonly isMadeUp: { readonly key1: boolean; readonly key2: boolean };
}

export interface Declaration {
  readonly topics: readonly DeclaredTopic[];
  readonly subscriptions: readonly SubscriptionDraft[];
}

/** The sections of the file as written; null: missing. */
export interface Declared {
  readonly topics: unknown;
  readonly domains: unknown;
  readonly storageAccounts: unknown;
}

export interface DeclarationRules {
  readonly auth: boolean;
  readonly profile: ProfileName;
  /** The file's other sections. */
  readonly azure: AzureResources;
  /** The default of the batching setting that is not given. */
  readonly batch: BatchPolicy;
  readonly makeKey: () => string;
}

/** Refusal: InvalidSetting, naming the field as the path to it: `topics.orders.key1`. */
export function parseDeclaration(
  { topics, domains, storageAccounts }: Declared,
  rules: DeclarationRules,
): Declaration {
  const inStorage = (storageAccounts ?? {}) as Readonly<Record<string, Members>>;
  const resources = [
    ...namedIn(topics ?? {}, "topics", topicNameRule).map(([name, given]) =>
      parseTopic(given, { kind: "topic", name, field: `topics.${name}` }, rules),
    ),
    ...namedIn(domains ?? {}, "domains", topicNameRule).map(([name, given]) =>
      parseTopic(given, { kind: "domain", name, field: `domains.${name}` }, rules),
    ),
    ...rules.azure.storageAccounts.map((account) =>
      parseStorage(inStorage[account.key] ?? {}, account, rules),
    ),
  ];
  const twice = findTwice(resources.map(({ topic }) => topic.name));
  if (twice !== null) {
    const all = "topics, domains and storage accounts";
    const words = `${all} must have names that differ in more than letter case`;
    throw new Refusal("InvalidSetting", `${words}, and have "${twice[0]}" and "${twice[1]}"`);
  }
  return {
    topics: resources.map(({ topic }) => topic),
    subscriptions: resources.flatMap(({ subscriptions }) => subscriptions),
  };
}

interface Heading {
  readonly kind: TopicDraft["kind"];
  readonly name: string;
  readonly field: string;
}

interface Resource {
  readonly topic: DeclaredTopic;
  readonly subscriptions: readonly SubscriptionDraft[];
}

function parseTopic(
  given: unknown,
  { kind, name, field }: Heading,
  rules: DeclarationRules,
): Resource {
  const inside = kind === "domain" ? ["subscriptions", "topics"] : ["subscriptions"];
  const members = checkMembers(given, field, ["key1", "key2", ...topicMembers(kind), ...inside]);
  const terms = checkTopic(members, field, { kind, base: newTerms(kind) });
  const key1 = checkKey(members.key1, { field: `${field}.key1`, isRequired: rules.auth });
  const key2 = checkKey(members.key2, { field: `${field}.key2`, isRequired: false });
  const parts = kind === "domain" ? topicsOfDomain(members, field) : [];
  const topic: DeclaredTopic = {
    ...plainTopic,
    ...terms,
    kind,
    name,
    key1: key1 ?? rules.makeKey(),
    key2: key2 ?? rules.makeKey(),
    domain: terms.domain && { ...terms.domain, topics: parts.map((part) => part.name) },
    origin: "file",
    isMadeUp: { key1: key1 === null, key2: key2 === null },
  };
  const subscriptions = [
    ...parseSubscriptions(members, { topic, domainTopic: null, field }, rules),
    ...parts.flatMap((part) =>
      parseSubscriptions(
        part.members,
        { topic, domainTopic: part.name, field: `${field}.topics.${part.name}` },
        rules,
      ),
    ),
  ];
  return { topic, subscriptions };
}

/** The account itself is the topic, with events about its blobs (L-5). */
function parseStorage(
  members: Members,
  account: StorageAccount,
  rules: DeclarationRules,
): Resource {
  const field = `storageAccounts.${account.key}`;
  const topic: DeclaredTopic = {
    ...plainTopic,
    kind: "storage",
    name: account.name,
    key1: rules.makeKey(),
    key2: rules.makeKey(),
    place: placeOfAccount(account),
    origin: "file",
    isMadeUp: { key1: true, key2: true },
  };
  const subscriptions = parseSubscriptions(members, { topic, domainTopic: null, field }, rules);
  return { topic, subscriptions };
}

function topicsOfDomain({ topics }: Members, field: string) {
  return namedIn(topics ?? {}, `${field}.topics`, domainTopicNameRule).map(([name, given]) => ({
    name,
    members: checkMembers(given, `${field}.topics.${name}`, ["subscriptions"]),
  }));
}

function parseSubscriptions(
  { subscriptions }: Members,
  at: {
    readonly topic: DeclaredTopic;
    readonly domainTopic: string | null;
    readonly field: string;
  },
  rules: DeclarationRules,
): SubscriptionDraft[] {
  const { topic, domainTopic } = at;
  const field = `${at.field}.subscriptions`;
  return namedIn(subscriptions ?? {}, field, subscriptionNameRule).map(([name, given]) => ({
    ...plainSubscription,
    ...checkTerms(given, `${field}.${name}`, {
      profile: topic.profile ?? rules.profile,
      inputSchema: topic.inputSchema,
      azure: rules.azure,
      batchDefaults: rules.batch,
      stored: null,
      keepsRest: false,
      now: null,
    }),
    topic: topic.name,
    domainTopic,
    name,
    origin: "file",
  }));
}

/** The members of an object whose names are names of resources. */
function namedIn(value: unknown, field: string, rule: RegExp): [string, unknown][] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw refuseValue({ field, value, allowed: "an object with a member for each" });
  }
  const names = Object.keys(value);
  for (const name of names) {
    if (rule.test(name)) continue;
    throw refuseValue({ field: `a name in ${field}`, value: name, allowed: wordsOfRule(rule) });
  }
  const twice = findTwice(names);
  if (twice !== null) {
    const words = `${field} must have names that differ in more than letter case`;
    throw new Refusal("InvalidSetting", `${words}, and has "${twice[0]}" and "${twice[1]}"`);
  }
  return Object.entries(value);
}

function wordsOfRule(rule: RegExp): string {
  const [, least, most] = /\{(\d+),(\d+)\}/.exec(rule.source) ?? [];
  const more = rule === domainTopicNameRule ? ", dots, underscores and tildes" : "";
  return `${least} to ${most} letters, digits and hyphens${more}`;
}

/** Two names that differ only in letter case. */
function findTwice(names: readonly string[]): readonly [string, string] | null {
  const seen = new Map<string, string>();
  for (const name of names) {
    const other = seen.get(name.toLowerCase());
    if (other !== undefined) return [other, name];
    seen.set(name.toLowerCase(), name);
  }
  return null;
}

/** Rejects as the registry does; what was written until then stays, and is not written again. */
export async function applyDeclaration(
  registry: Registry,
  declaration: Declaration,
  log: Log,
): Promise<void> {
  const catalog = new LiveCatalog(await registry.catalog());
  await inGroups(declaration.topics, (declared) =>
    applyTopic(registry, declared, catalog.topic(declared.name), log),
  );
  await inGroups(declaration.subscriptions, (declared) =>
    applySubscription(registry, declared, catalog.named(declared), log),
  );
  const keys = new Set(declaration.subscriptions.map(subscriptionKey));
  const isLeftOver = (stored: Subscription) =>
    stored.origin === "file" && !keys.has(subscriptionKey(stored));
  await inGroups(catalog.subscriptions.filter(isLeftOver), async (stored) => {
    await registry.removeSubscription(stored.id);
    tell(log, "removed", stored);
  });
  for (const stored of catalog.topics) {
    if (stored.origin !== "file") continue;
    if (declaration.topics.some((topic) => isSameName(topic.name, stored.name))) continue;
    const isUsed = catalog.subscriptions.some(
      (one) => one.origin === "api" && isSameName(one.topic, stored.name),
    );
    if (isUsed) {
      logLeft(log, { topic: stored.name }, "it has subscriptions that were made over HTTP");
      continue;
    }
    await registry.removeTopic(stored.name);
    tell(log, "removed", stored);
  }
}

/** Writes that are made together share a transaction; more than these wait for their turn. */
const writesAtOnce = 500;

/** Rejects with the first failure of a group, once the others of that group have ended. */
async function inGroups<T>(all: readonly T[], act: (one: T) => Promise<void>): Promise<void> {
  for (let from = 0; from < all.length; from += writesAtOnce) {
    const ends = await Promise.allSettled(all.slice(from, from + writesAtOnce).map(act));
    const failed = ends.find((end) => end.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}

async function applyTopic(
  registry: Registry,
  { isMadeUp, ...declared }: DeclaredTopic,
  stored: Topic | undefined,
  log: Log,
): Promise<void> {
  if (stored?.origin === "api")
    return logLeft(log, { topic: stored.name }, "it was made over HTTP");
  const draft: TopicDraft = {
    ...declared,
    key1: (isMadeUp.key1 && stored?.key1) || declared.key1,
    key2: (isMadeUp.key2 && stored?.key2) || declared.key2,
    domain: declared.domain && {
      ...declared.domain,
      topics: joined(stored?.domain?.topics ?? [], declared.domain.topics),
    },
  };
  if (stored !== undefined && holds(stored, { ...draft, name: stored.name })) return;
  await registry.putTopic(draft);
  tell(log, stored === undefined ? "created" : "updated", draft);
}

/** Topics of a domain come and go with their subscriptions, whoever creates those. */
function joined(stored: readonly string[], declared: readonly string[]): readonly string[] {
  const isNew = (name: string) => !stored.some((known) => isSameName(known, name));
  return [...stored, ...declared.filter(isNew)];
}

async function applySubscription(
  registry: Registry,
  declared: SubscriptionDraft,
  stored: Subscription | undefined,
  log: Log,
): Promise<void> {
  if (stored?.origin === "api") {
    const names = { topic: stored.topic, subscription: stored.name };
    return logLeft(log, names, "it was made over HTTP");
  }
  // Whether it runs or is paused is the operator's choice, whatever the file says.
  const draft = stored ? { ...declared, flow: stored.flow, pauses: stored.pauses } : declared;
  const asStored = stored && { ...draft, topic: stored.topic, name: stored.name };
  if (asStored !== undefined && holds(stored, asStored)) return;
  await registry.putSubscription(draft);
  tell(log, stored === undefined ? "created" : "updated", draft);
}

/** Whether everything wanted is there already, whatever else is. */
function holds(stored: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return stored === wanted;
  if (typeof stored !== "object" || stored === null) return false;
  if (Array.isArray(wanted) && wanted.length !== (stored as unknown[]).length) return false;
  return Object.entries(wanted).every(([key, value]) =>
    holds((stored as Readonly<Record<string, unknown>>)[key], value),
  );
}

function tell(
  log: Log,
  change: "created" | "updated" | "removed",
  what: TopicDraft | SubscriptionDraft,
): void {
  if ("topic" in what) logSubscription(log, what, { change, origin: "file" });
  else log.fact("info", "topic.changed", { topic: what.name, change, origin: "file" });
}

function logLeft(log: Log, names: Readonly<Record<string, string>>, why: string): void {
  log.fact("warn", "declaration.left", { ...names, why });
}
