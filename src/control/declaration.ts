// Topics and subscriptions declared in the configuration file, in Event Grid's own property names:
// every member is checked, and what we do not know or cannot do is refused, never ignored.
//
// Applying a declaration is idempotent: what does not differ is not written. What a file declared
// before and no longer does is removed; what was made over HTTP is never touched.

import { shapeOf } from "../core/check.ts";
import { checkMembers } from "../core/members.ts";
import type { Log, Registry } from "../core/ports.ts";
import { type ProfileName, profileNames } from "../core/profile.ts";
import { Refusal } from "../core/refusal.ts";
import { oneOf } from "../core/setting.ts";
import {
  plainSubscription,
  type Subscription,
  type SubscriptionDraft,
  subscriptionNameRule,
} from "../core/subscription.ts";
import { plainTopic, type Topic, type TopicDraft, topicNameRule } from "../core/topic.ts";
import { refuseValue } from "../core/wording.ts";
import { checkSubscription } from "./subscription.ts";

export interface DeclaredTopic extends TopicDraft {
  /** Keys that the file leaves to us; one that is stored already is kept. */
  readonly isMadeUp: { readonly key1: boolean; readonly key2: boolean };
}

export interface Declaration {
  readonly topics: readonly DeclaredTopic[];
  readonly subscriptions: readonly SubscriptionDraft[];
}

/** What a request header can carry without being changed on the way. */
const keyRule = /^[\x21-\x7e]{1,256}$/;

/** Refusal: InvalidSetting, naming the field as the path to it: `topics.orders.key1`. */
export function parseDeclaration(
  value: unknown,
  rules: {
    readonly auth: boolean;
    readonly profile: ProfileName;
    readonly makeKey: () => string;
  },
): Declaration {
  const topics: DeclaredTopic[] = [];
  const subscriptions: SubscriptionDraft[] = [];
  for (const [name, declared] of namedIn(value, "topics", topicNameRule)) {
    const field = `topics.${name}`;
    const members = checkMembers(declared, field, ["key1", "key2", "profile", "subscriptions"]);
    const profile = checkProfile(members.profile, `${field}.profile`);
    const key1 = checkKey(members.key1, { field: `${field}.key1`, isRequired: rules.auth });
    const key2 = checkKey(members.key2, { field: `${field}.key2`, isRequired: false });
    topics.push({
      ...plainTopic,
      name,
      key1: key1 ?? rules.makeKey(),
      key2: key2 ?? rules.makeKey(),
      profile,
      origin: "file",
      isMadeUp: { key1: key1 === null, key2: key2 === null },
    });
    const inside = `${field}.subscriptions`;
    for (const [own, given] of namedIn(members.subscriptions ?? {}, inside, subscriptionNameRule)) {
      const checked = checkSubscription(given, `${inside}.${own}`, profile ?? rules.profile);
      subscriptions.push({
        ...plainSubscription,
        ...checked,
        topic: name,
        name: own,
        origin: "file",
      });
    }
  }
  return { topics, subscriptions };
}

/** The members of an object whose names are names of resources. */
function namedIn(value: unknown, field: string, rule: RegExp): [string, unknown][] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw refuseValue({ field, value, allowed: "an object with a member for each" });
  }
  const seen = new Map<string, string>();
  for (const name of Object.keys(value)) {
    if (!rule.test(name)) {
      const [, least, most] = /\{(\d+),(\d+)\}/.exec(rule.source) ?? [];
      const allowed = `${least} to ${most} letters, digits and hyphens`;
      throw refuseValue({ field: `a name in ${field}`, value: name, allowed });
    }
    const other = seen.get(name.toLowerCase());
    if (other !== undefined) {
      const words = `${field} must have names that differ in more than letter case`;
      throw new Refusal("InvalidSetting", `${words}, and has "${other}" and "${name}"`);
    }
    seen.set(name.toLowerCase(), name);
  }
  return Object.entries(value);
}

function checkKey(
  value: unknown,
  { field, isRequired }: { readonly field: string; readonly isRequired: boolean },
): string | null {
  if (typeof value === "string" && keyRule.test(value)) return value;
  if ((value === undefined || value === null) && !isRequired) return null;
  const allowed = "1 to 256 visible ASCII characters without blanks";
  const hint = isRequired && value === undefined ? ", because auth is on" : "";
  throw new Refusal(
    "InvalidSetting",
    `${field} must be ${allowed}${hint}, and is ${shapeOf(value)}`,
  );
}

function checkProfile(value: unknown, field: string): ProfileName | null {
  if (value === undefined || value === null) return null;
  const { allowed, parse } = oneOf(profileNames);
  if (typeof value === "string") return parse(value, field);
  throw refuseValue({ field, value, allowed });
}

/** Rejects as the registry does; what was written until then stays, and is not written again. */
export async function applyDeclaration(
  registry: Registry,
  declaration: Declaration,
  log: Log,
): Promise<void> {
  const { topics, subscriptions } = await registry.catalog();
  for (const declared of declaration.topics) {
    const stored = topics.find((topic) => isSameName(topic.name, declared.name));
    await applyTopic(registry, declared, stored, log);
  }
  for (const declared of declaration.subscriptions) {
    const stored = subscriptions.find((one) => isSameSubscription(one, declared));
    await applySubscription(registry, declared, stored, log);
  }
  for (const stored of subscriptions) {
    if (stored.origin !== "file") continue;
    if (declaration.subscriptions.some((one) => isSameSubscription(one, stored))) continue;
    await registry.removeSubscription(stored.id);
    tell(log, "removed", stored);
  }
  for (const stored of topics) {
    if (stored.origin !== "file") continue;
    if (declaration.topics.some((topic) => isSameName(topic.name, stored.name))) continue;
    const isUsed = subscriptions.some(
      (one) => one.origin === "api" && isSameName(one.topic, stored.name),
    );
    if (isUsed) {
      tellLeft(log, { topic: stored.name }, "it has subscriptions that were made over HTTP");
      continue;
    }
    await registry.removeTopic(stored.name);
    tell(log, "removed", stored);
  }
}

async function applyTopic(
  registry: Registry,
  { isMadeUp, ...declared }: DeclaredTopic,
  stored: Topic | undefined,
  log: Log,
): Promise<void> {
  if (stored?.origin === "api")
    return tellLeft(log, { topic: stored.name }, "it was made over HTTP");
  const draft: TopicDraft = {
    ...declared,
    key1: (isMadeUp.key1 && stored?.key1) || declared.key1,
    key2: (isMadeUp.key2 && stored?.key2) || declared.key2,
  };
  if (stored !== undefined && holds(stored, { ...draft, name: stored.name })) return;
  await registry.putTopic(draft);
  tell(log, stored === undefined ? "created" : "updated", draft);
}

async function applySubscription(
  registry: Registry,
  declared: SubscriptionDraft,
  stored: Subscription | undefined,
  log: Log,
): Promise<void> {
  if (stored?.origin === "api") {
    const names = { topic: stored.topic, subscription: stored.name };
    return tellLeft(log, names, "it was made over HTTP");
  }
  const asStored = stored && { ...declared, topic: stored.topic, name: stored.name };
  if (asStored !== undefined && holds(stored, asStored)) return;
  await registry.putSubscription(declared);
  tell(log, stored === undefined ? "created" : "updated", declared);
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function isSameSubscription(
  one: Pick<SubscriptionDraft, "topic" | "name">,
  other: Pick<SubscriptionDraft, "topic" | "name">,
): boolean {
  return isSameName(one.topic, other.topic) && isSameName(one.name, other.name);
}

/** Whether everything that is wanted is there already, whatever else is. */
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
  if ("topic" in what) {
    const names = { topic: what.topic, subscription: what.name };
    log.fact("info", "subscription.changed", { ...names, change, origin: "file" });
  } else log.fact("info", "topic.changed", { topic: what.name, change, origin: "file" });
}

function tellLeft(log: Log, names: Readonly<Record<string, string>>, why: string): void {
  log.fact("warn", "declaration.left", { ...names, why });
}
