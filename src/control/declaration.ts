// Topics and subscriptions declared in the configuration file, in Event Grid's own property names:
// every member is checked, and what is unknown or not supported is refused, never ignored.
//
// Applying a declaration is idempotent: what does not differ is not written. What a file declared
// before and no longer does is deleted; what was created over HTTP is never touched.

import type { AzureResources } from "../core/azure/resources.ts";
import { placeOfAccount, type StorageAccount } from "../core/azure/storage.ts";
import type { BatchPolicy } from "../core/delivery/batch.ts";
import type { ProfileName } from "../core/delivery/profile.ts";
import type { Log } from "../core/ports.ts";
import { Refusal } from "../core/refusal.ts";
import type { Registry } from "../core/registry.ts";
import { LiveCatalog, subscriptionKey } from "../core/routing/live-catalog.ts";
import {
  plainSubscription,
  type Subscription,
  type SubscriptionDraft,
  subscriptionNameRule,
} from "../core/subscription.ts";
import { isSameName } from "../core/text/compare.ts";
import { checkMembers, type Members } from "../core/text/wording.ts";
import {
  domainTopicNameRule,
  plainTopic,
  splitTopicName,
  type Topic,
  type TopicDraft,
  topicNameRule,
} from "../core/topic.ts";
import { findTwice, namedIn } from "./declared-names.ts";
import { parseNamespace } from "./declared-namespaces.ts";
import { logSubscription } from "./log-subscription.ts";
import { checkTerms } from "./properties/subscription.ts";
import { checkKey, checkTopic, newTerms, topicMembers } from "./properties/topic.ts";
import { retryStale } from "./stale-write.ts";

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
  readonly namespaces: unknown;
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
  { topics, domains, namespaces, storageAccounts }: Declared,
  rules: DeclarationRules,
): Declaration {
  const inStorage = (storageAccounts ?? {}) as Readonly<Record<string, Members>>;
  const resources: Resource[] = [
    ...namedIn(topics ?? {}, "topics", topicNameRule).map(([name, given]) =>
      parseTopic(given, { kind: "topic", name, field: `topics.${name}` }, rules),
    ),
    ...namedIn(domains ?? {}, "domains", topicNameRule).map(([name, given]) =>
      parseTopic(given, { kind: "domain", name, field: `domains.${name}` }, rules),
    ),
    ...namedIn(namespaces ?? {}, "namespaces", topicNameRule).flatMap(([name, given]) =>
      parseNamespace(given, name, rules),
    ),
    ...rules.azure.storageAccounts.map((account) =>
      parseStorage(inStorage[account.key] ?? {}, account, rules),
    ),
  ];
  const twice = findTwice(resources.map(({ topic }) => topic.name));
  if (twice !== null) {
    const all = "topics, domains, namespaces and storage accounts";
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

export interface Resource {
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

/** Rejects as the registry does; what was written until then stays, and is not written again. */
export function applyDeclaration(
  registry: Registry,
  declaration: Declaration,
  log: Log,
): Promise<void> {
  // Another broker may start at the same time: whoever comes second reads what the first wrote.
  return retryStale(() => applyOnce(registry, declaration, log));
}

async function applyOnce(registry: Registry, declaration: Declaration, log: Log): Promise<void> {
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
    const what = whatUses(catalog, stored);
    if (what !== null) {
      logLeft(log, { topic: stored.name }, `it has ${what} that were made over HTTP`);
      continue;
    }
    await registry.removeTopic(stored.name);
    tell(log, "removed", stored);
  }
}

function whatUses({ topics, subscriptions }: LiveCatalog, { name }: Topic): string | null {
  const isMade = (one: Topic | Subscription) => one.origin === "api";
  if (subscriptions.some((one) => isMade(one) && isSameName(one.topic, name))) {
    return "subscriptions";
  }
  const isInside = (one: Topic) => isSameName(splitTopicName(one.name).namespace ?? "", name);
  return topics.some((one) => isMade(one) && isInside(one)) ? "topics" : null;
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
    ...(declared.lockKey !== undefined && { lockKey: stored?.lockKey ?? declared.lockKey }),
    domain: declared.domain && {
      ...declared.domain,
      topics: joined(stored?.domain?.topics ?? [], declared.domain.topics),
    },
  };
  if (stored !== undefined && holds(stored, { ...draft, name: stored.name })) return;
  await registry.putTopic(draft, stored?.revision ?? 0);
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
  await registry.putSubscription(draft, stored?.revision ?? 0);
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
