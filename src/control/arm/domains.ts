// The topics of a domain. They have no records of their own but are names in the domain's record,
// created explicitly or with their first subscription, and deleted with their last if the domain
// says so.
//
// A topic with a subscription exists, whatever the list says: between writes of two clients the
// list may be out of date.

import { Refusal } from "../../core/refusal.ts";
import type { Reply } from "../../core/request.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import type { Subscription } from "../../core/subscription.ts";
import { isSameName } from "../../core/text/compare.ts";
import { refuseValue } from "../../core/text/wording.ts";
import { type DomainTerms, domainTopicNameRule, type Topic } from "../../core/topic.ts";
import { readMembers } from "./body.ts";
import {
  type ArmContext,
  type Call,
  changing,
  findTopic,
  needTopic,
  refuseMissing,
  replyToWrite,
} from "./find-topic.ts";
import { replyWithList } from "./listing.ts";
import type { DomainTopicSource, TopicSource } from "./path.ts";
import { renderDomainTopic, sourceArmId } from "./render.ts";
import { done, reply } from "./reply.ts";

/** Azure's. */
const topicsMax = 100_000;

/** In its own spelling, found in any letter case; undefined when it does not exist. */
export function findDomainTopic(
  catalog: LiveCatalog,
  domain: Topic,
  name: string,
): string | undefined {
  return namesOf(catalog, domain).find((known) => isSameName(known, name));
}

function namesOf(catalog: LiveCatalog, domain: Topic): readonly string[] {
  const names = new Map(domain.domain?.topics.map((name) => [name.toLowerCase(), name]));
  for (const { domainTopic } of subscriptionsOf(catalog, domain)) {
    if (domainTopic !== null && !names.has(domainTopic.toLowerCase())) {
      names.set(domainTopic.toLowerCase(), domainTopic);
    }
  }
  return [...names.values()];
}

function subscriptionsOf({ subscriptions }: LiveCatalog, domain: Topic): readonly Subscription[] {
  return subscriptions.filter(({ topic }) => isSameName(topic, domain.name));
}

function domainOf(source: DomainTopicSource): TopicSource {
  return { kind: "domain", group: source.group, name: source.domain };
}

/** Refusal: NotFound. */
export function needDomain(catalog: LiveCatalog, source: DomainTopicSource): Topic {
  return needTopic(catalog, domainOf(source));
}

export function listDomainTopics(context: ArmContext, call: Call, source: TopicSource): Reply {
  const catalog = context.catalog();
  const domain = needTopic(catalog, source);
  const items = namesOf(catalog, domain).map((name) => ({
    name,
    key: name.toLowerCase(),
    render: () => renderDomainTopic(domain, name, "Succeeded"),
  }));
  return replyWithList(items, call.request, call.url);
}

export function getDomainTopic(context: ArmContext, source: DomainTopicSource): Reply {
  const catalog = context.catalog();
  const domain = needDomain(catalog, source);
  const name = findDomainTopic(catalog, domain, source.name);
  if (name === undefined) throw refuseMissing(source);
  return reply(200, renderDomainTopic(domain, name, "Succeeded"));
}

export async function putDomainTopic(
  context: ArmContext,
  call: Call,
  source: DomainTopicSource,
): Promise<Reply> {
  readMembers(call.request, ["id", "name", "type", "properties", "systemData", "location"]);
  const { domain, name } = await changing(context, call.request, () =>
    addDomainTopic(context, source),
  );
  await context.refresh();
  return replyToWrite(call, {
    topic: domain,
    revision: domain.revision,
    resourceId: sourceArmId(domain, name),
    operationId: context.ids.next().toUpperCase(),
    body: renderDomainTopic(domain, name, "Creating"),
  });
}

/** For a domain that creates its topics by itself. Refusal: NotFound, if it does not. */
export async function needDomainTopic(
  context: ArmContext,
  source: DomainTopicSource,
): Promise<{ readonly domain: Topic; readonly name: string }> {
  const catalog = context.catalog();
  const domain = needDomain(catalog, source);
  const name = findDomainTopic(catalog, domain, source.name);
  if (name !== undefined) return { domain, name };
  if (domain.domain?.autoCreateTopics) return await addDomainTopic(context, source);
  const { message } = refuseMissing(source);
  const why = "the domain does not create topics with their first subscription";
  throw new Refusal("NotFound", `${message} Create it first: ${why}.`);
}

/** Refusal: InvalidSetting. */
export function checkDomainTopicName({ name }: DomainTopicSource): void {
  if (domainTopicNameRule.test(name)) return;
  const allowed = "3 to 128 letters, digits, hyphens, dots, underscores and tildes";
  throw refuseValue({ field: "domainTopicName", value: name, allowed });
}

async function addDomainTopic(context: ArmContext, source: DomainTopicSource) {
  checkDomainTopicName(source);
  const domain = needDomain(context.catalog(), source);
  const topics = domain.domain?.topics ?? [];
  const known = topics.find((name) => isSameName(name, source.name));
  if (known !== undefined) return { domain, name: known };
  if (topics.length >= topicsMax) {
    throw new Refusal("Conflict", `The domain has ${topicsMax} topics, and may not have more.`);
  }
  const written = await writeTopics(context, domain, [...topics, source.name]);
  return { domain: written, name: source.name };
}

/** Nothing else changes, so the domain keeps its origin. */
async function writeTopics(
  context: ArmContext,
  domain: Topic,
  topics: readonly string[],
): Promise<Topic> {
  const { revision, ...draft } = domain;
  const terms = { ...(domain.domain as DomainTerms), topics };
  return await context.registry.putTopic({ ...draft, domain: terms }, revision);
}

export async function removeDomainTopic(
  context: ArmContext,
  call: Call,
  source: DomainTopicSource,
): Promise<Reply> {
  const domain = findTopic(context.catalog(), domainOf(source));
  if (domain === undefined) return done;
  for (const one of subscriptionsOf(context.catalog(), domain)) {
    if (one.domainTopic === null || !isSameName(one.domainTopic, source.name)) continue;
    const isGone = await context.registry.removeSubscription(one.id);
    if (isGone) context.handshakes.notifyDeleted(one);
  }
  await context.refresh();
  await changing(context, call.request, () => dropName(context, source));
  await context.refresh();
  return done;
}

/** After one of its subscriptions was deleted. */
export async function tidyDomainTopic(
  context: ArmContext,
  call: Call,
  source: DomainTopicSource,
): Promise<void> {
  await changing(context, call.request, async () => {
    const catalog = context.catalog();
    const domain = findTopic(catalog, domainOf(source));
    if (!domain?.domain?.autoDeleteTopics) return;
    const isUsed = subscriptionsOf(catalog, domain).some(
      ({ domainTopic }) => domainTopic !== null && isSameName(domainTopic, source.name),
    );
    if (!isUsed) await dropName(context, source);
  });
  await context.refresh();
}

async function dropName(context: ArmContext, source: DomainTopicSource): Promise<void> {
  const domain = findTopic(context.catalog(), domainOf(source));
  const topics = domain?.domain?.topics ?? [];
  const left = topics.filter((name) => !isSameName(name, source.name));
  if (domain !== undefined && left.length < topics.length) await writeTopics(context, domain, left);
}
