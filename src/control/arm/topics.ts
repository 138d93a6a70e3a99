// Topics and domains as resources, with their keys. What a client changes here is managed by the
// API from then on: a configuration file that declared it no longer changes it.

import { unusedUnder, whyUnused } from "../../core/delivery/allowance.ts";
import type { ProfileName } from "../../core/delivery/profile.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Catalog } from "../../core/registry.ts";
import type { Reply } from "../../core/request.ts";
import { isConversionAllowed } from "../../core/schema/convert.ts";
import type { Subscription } from "../../core/subscription.ts";
import { isSameName } from "../../core/text/compare.ts";
import { checkMembers, type Members, refuseValue } from "../../core/text/wording.ts";
import {
  type ArmGroup,
  localGroup,
  splitTopicName,
  type Topic,
  type TopicDraft,
  topicArmId,
  topicNameRule,
} from "../../core/topic.ts";
import { checkTraits, traitsAround, traitsInside } from "../properties/azure-traits.ts";
import { checkTags } from "../properties/tags.ts";
import {
  checkKey,
  checkTopic,
  newTerms,
  refuseFixed,
  topicMembers,
  unusedMembers,
  withOwnMembers,
} from "../properties/topic.ts";
import { readMembers } from "./body.ts";
import { checkConditions, etagOf } from "./etag.ts";
import {
  type ArmContext,
  type Call,
  changing,
  findTopic,
  logTopic,
  needTopic,
  replyToWrite,
} from "./find-topic.ts";
import { replyWithList } from "./listing.ts";
import {
  type Common,
  draftNamespace,
  draftNamespaceTopic,
  needNamespaceOf,
  patchedNamespace,
  patchedNamespaceTopic,
  topicsOf,
} from "./namespaces.ts";
import type { TopicKind, TopicSource, Within } from "./path.ts";
import { renderTopic } from "./render.ts";
import { done, reply } from "./reply.ts";

/** Of the resource, besides its properties; accepted without effect. */
const idleAround = ["id", "name", "type", "etag", "systemData"];

const membersAround = ["location", "tags", "properties", ...traitsAround, ...idleAround];

/** Posthorn only: a moved topic can keep its keys. They are never shown with it. */
const keyNames = ["key1", "key2"] as const;

const reservedNames = /^(microsoft|eventgrid|system)/i;
const groupRule = /^[\p{L}\p{N}_().-]{0,89}[\p{L}\p{N}_()-]$/u;
const subscriptionIdRule = /^[A-Za-z0-9._-]{1,64}$/;
const locationRule = /^[a-z0-9-]{1,64}$/;

export async function putTopic(
  context: ArmContext,
  call: Call,
  source: TopicSource,
): Promise<Reply> {
  const [stored, written] = await changing(context, call.request, async () => {
    const { stored: old, draft } = draftTopic(context, call, source);
    return [old, await context.registry.putTopic(draft, old?.revision ?? 0)];
  });
  return await finish(context, call, { stored, written });
}

/**
 * What a PUT asks for, checked against what exists; nothing is written. `planned`: what else a
 * template creates.
 */
export function draftTopic(
  context: ArmContext,
  { request }: Call,
  source: TopicSource,
  planned?: ReadonlyMap<string, Topic>,
): { readonly stored: Topic | undefined; readonly draft: TopicDraft } {
  const members = readMembers(request, membersAround);
  const given = (members.properties ?? {}) as Members;
  const [key1, key2] = keyNames.map((name) =>
    checkKey(given[name], { field: `properties.${name}`, isRequired: false }),
  );
  const old = findTopic(context.catalog(), source);
  checkConditions(request, old);
  const isInNamespace = source.kind === "namespaceTopic";
  const namespace = isInNamespace ? needNamespaceOf(context, source, planned) : null;
  if (old === undefined) checkNewName(context.catalog(), source);
  const common: Common = {
    stored: old,
    members,
    keys: {
      key1: key1 ?? old?.key1 ?? context.makeKey(),
      key2: key2 ?? old?.key2 ?? context.makeKey(),
    },
    place: namespace?.place ?? checkPlace(members, source, old),
  };
  return { stored: old, draft: draftOf(context, source, common) };
}

function draftOf(context: ArmContext, source: TopicSource, common: Common): TopicDraft {
  const { stored, members, keys, place } = common;
  if (source.kind === "namespaceTopic") return draftNamespaceTopic(context, source, common);
  if (source.kind === "namespace") {
    const namespace = draftNamespace(context, source, common);
    checkPort(context.catalog(), source, namespace);
    return namespace;
  }
  const properties = propertiesIn(members, source.kind, keyNames);
  const base = { ...newTerms(source.kind), ...(stored && whatStays(stored)) };
  const terms = checkTopic(properties, "properties", { kind: source.kind, base });
  checkSubscribers(context, stored, terms);
  checkPort(context.catalog(), source, terms);
  return {
    ...terms,
    kind: source.kind,
    name: stored?.name ?? source.name,
    ...keys,
    place,
    azure: checkTraits(members, properties, {}),
    origin: "api",
  };
}

export async function patchTopic(
  context: ArmContext,
  call: Call,
  source: TopicSource,
): Promise<Reply> {
  const members = readMembers(call.request, membersAround);
  const [stored, written] = await changing(context, call.request, async () => {
    const old = needTopic(context.catalog(), source);
    checkConditions(call.request, old);
    const tags = "tags" in members ? checkTags(members.tags) : old.place.tags;
    const place = { ...old.place, tags };
    const change = { ...patched(context, source, old, members), place, origin: "api" } as const;
    checkPort(context.catalog(), source, change);
    return [old, await context.registry.putTopic(change, old.revision)];
  });
  return await finish(context, call, { stored, written });
}

function patched(
  context: ArmContext,
  { kind }: TopicSource,
  old: Topic,
  members: Members,
): TopicDraft {
  if (kind === "namespace") return patchedNamespace(old, members);
  if (kind === "namespaceTopic") return patchedNamespaceTopic(context, old, members);
  const properties = propertiesIn(members, kind);
  refuseFixed(properties, "properties");
  const { revision, ...draft } = old;
  const terms = checkTopic(properties, "properties", { kind, base: old });
  checkSubscribers(context, old, terms);
  return { ...draft, ...terms, azure: checkTraits(members, properties, old.azure ?? {}) };
}

/**
 * What a PUT without it does not change: what Azure's clients cannot send, and what publishers
 * would notice if it changed by accident.
 */
function whatStays({ profile, port, domain, inputSchema, mapping }: Topic) {
  return { profile, port, domain, inputSchema, mapping };
}

interface Write {
  readonly stored: Topic | undefined;
  readonly written: Topic;
}

async function finish(context: ArmContext, call: Call, { stored, written }: Write): Promise<Reply> {
  await context.refresh();
  logTopic(context, written, stored === undefined ? "created" : "updated");
  const state = stored === undefined ? "Creating" : "Updating";
  return replyToWrite(call, {
    topic: written,
    revision: written.revision,
    resourceId: topicArmId(written),
    operationId: context.ids.next().toUpperCase(),
    body: renderTopic(written, { baseUrl: call.baseUrl, state }),
  });
}

function propertiesIn(
  { properties }: Members,
  kind: TopicKind,
  more: readonly string[] = [],
): Members {
  const known = [...topicMembers(kind), "posthorn", ...more, ...traitsInside, ...unusedMembers];
  return withOwnMembers(checkMembers(properties ?? {}, "properties", known), "properties");
}

/** Refusals: InvalidSetting, Conflict. */
function checkNewName({ topics }: Catalog, { kind, name: whole, group }: TopicSource): void {
  const { topic: name } = splitTopicName(whole);
  if (!topicNameRule.test(name)) {
    const allowed = "2 to 50 letters, digits and hyphens";
    throw refuseValue({ field: `${kind}Name`, value: name, allowed });
  }
  if (reservedNames.test(name)) {
    const allowed = "a name that does not begin with Microsoft, EventGrid or System";
    throw refuseValue({ field: `${kind}Name`, value: name, allowed });
  }
  if (!groupRule.test(group.resourceGroup)) {
    const allowed = "1 to 90 letters, digits, hyphens, underscores, dots and brackets";
    throw refuseValue({ field: "resourceGroupName", value: group.resourceGroup, allowed });
  }
  if (!subscriptionIdRule.test(group.subscriptionId)) {
    const allowed = "1 to 64 letters, digits and hyphens";
    throw refuseValue({ field: "subscriptionId", value: group.subscriptionId, allowed });
  }
  const taken = topics.find((topic) => isSameName(topic.name, whole));
  if (taken === undefined) return;
  const words = `The name '${name}' is taken by ${topicArmId(taken)}`;
  throw new Refusal(
    "Conflict",
    `${words}: topics, domains and namespaces of a broker share their names.`,
  );
}

/** Refusal: Conflict, if it exists elsewhere. */
function checkPlace(
  { location, tags }: Members,
  { group }: TopicSource,
  stored: Topic | undefined,
): ArmGroup {
  const given = location ?? stored?.place.location ?? localGroup.location;
  const folded = typeof given === "string" ? given.toLowerCase().replaceAll(" ", "") : "";
  if (!locationRule.test(folded)) {
    const allowed = "a location such as local or westus2";
    throw refuseValue({ field: "location", value: location, allowed });
  }
  if (stored !== undefined && folded !== stored.place.location) {
    const words = `The resource is in the location '${stored.place.location}' and cannot move`;
    throw new Refusal("Conflict", `${words} to '${folded}'.`, { target: "location" });
  }
  const where = stored?.place ?? { ...group };
  const { subscriptionId, resourceGroup } = where;
  return { subscriptionId, resourceGroup, location: folded, tags: checkTags(tags) };
}

/** Refusal: Conflict, if subscriptions could no longer be delivered in their schema. */
function checkSubscribers(
  { catalog, profile: usual }: Pick<ArmContext, "catalog" | "profile">,
  old: Topic | undefined,
  { inputSchema, profile }: Pick<TopicDraft, "inputSchema" | "profile">,
): void {
  if (old === undefined) return;
  const listening = catalog().subscriptions.filter((one) => isSameName(one.topic, old.name));
  const stuck = listening.find(
    ({ deliverySchema }) => !isConversionAllowed(inputSchema, deliverySchema),
  );
  if (old.inputSchema !== inputSchema && stuck !== undefined) {
    const words = `inputSchema cannot become ${inputSchema}: the event subscription '${stuck.name}'`;
    const target = "properties.inputSchema";
    throw new Refusal("Conflict", `${words} asks for ${stuck.deliverySchema}.`, { target });
  }
  const [before, after] = [old.profile ?? usual, profile ?? usual];
  if (before !== after) checkTerms(listening, after);
}

/** Settings that wait for a handshake count like active ones. */
function checkTerms(listening: readonly Subscription[], profile: ProfileName): void {
  for (const { name, handshake, ...inForce } of listening) {
    const [idle] = [inForce, handshake?.pending ?? inForce].flatMap((terms) =>
      unusedUnder(profile, terms),
    );
    if (idle === undefined) continue;
    const target = "properties.posthorn.profile";
    const words = `${target} cannot become ${profile}: the event subscription '${name}' has`;
    const why = `${idle.members[0]}, and ${whyUnused(profile, idle)}.`;
    throw new Refusal("Conflict", `${words} ${why}`, { target });
  }
}

/** Refusal: Conflict, for a port that another topic has. */
function checkPort(
  { topics }: Catalog,
  { name }: TopicSource,
  { port }: Pick<TopicDraft, "port">,
): void {
  const other = topics.find((one) => one.port === port && !isSameName(one.name, name));
  if (port === null || other === undefined) return;
  const target = "properties.port";
  const words = `${target} must be a port of its own, and ${port} is that of '${other.name}'`;
  throw new Refusal("Conflict", words, { target });
}

export function getTopic(context: ArmContext, call: Call, source: TopicSource): Reply {
  const topic = needTopic(context.catalog(), source);
  const body = renderTopic(topic, { baseUrl: call.baseUrl, state: "Succeeded" });
  return reply(200, body, { etag: etagOf(topic) });
}

/** Deleted with all its subscriptions. */
export async function removeTopic(
  context: ArmContext,
  call: Call,
  source: TopicSource,
): Promise<Reply> {
  const topic = findTopic(context.catalog(), source);
  checkConditions(call.request, topic);
  if (topic === undefined) return done;
  await dropTopic(context, topic);
  return topic.kind === "namespace" || topic.kind === "namespaceTopic"
    ? replyToRemoval(context, call, topic)
    : done;
}

/** N-73: for clients a removal goes on for a while, and here it has already ended. */
function replyToRemoval({ operations }: ArmContext, call: Call, { place }: Topic): Reply {
  const id = operations.start(Promise.resolve({ status: "Succeeded" }));
  const at = `${call.baseUrl}/subscriptions/${place.subscriptionId}/providers/Microsoft.EventGrid`;
  const address = (kind: string) =>
    `${at}/locations/${place.location}/${kind}/${id}?api-version=${call.apiVersion}`;
  return {
    status: 202,
    headers: {
      "azure-asyncoperation": address("operationsStatus"),
      location: address("operationResults"),
    },
  };
}

/** With all its subscriptions, and a namespace with its topics. */
export async function dropTopic(context: ArmContext, topic: Topic): Promise<void> {
  if (topic.kind === "namespace") {
    for (const one of topicsOf(context.catalog(), topic)) await dropTopic(context, one);
  }
  const listening = context
    .catalog()
    .subscriptions.filter((one) => isSameName(one.topic, topic.name));
  const gone = await context.registry.removeTopic(topic.name);
  await context.refresh();
  for (const subscription of listening) {
    if (gone.includes(subscription.id)) context.handshakes.notifyDeleted(subscription, topic);
  }
  logTopic(context, topic, "removed");
}

export function listTopics(
  context: ArmContext,
  call: Call,
  { of, within }: { readonly of: TopicKind; readonly within: Within },
): Reply {
  const { subscriptionId, resourceGroup } = within;
  const items = context
    .catalog()
    .topics.filter(
      ({ kind, place }) =>
        kind === of &&
        isSameName(place.subscriptionId, subscriptionId) &&
        (resourceGroup === null || isSameName(place.resourceGroup, resourceGroup)),
    )
    .map((topic) => ({
      name: topic.name,
      key: topic.name.toLowerCase(),
      render: () => renderTopic(topic, { baseUrl: call.baseUrl, state: "Succeeded" }),
    }));
  return replyWithList(items, call.request, call.url);
}

export function listKeys(context: ArmContext, source: TopicSource): Reply {
  const { key1, key2 } = needTopic(context.catalog(), source);
  return reply(200, { key1, key2 });
}

export async function renewKey(
  context: ArmContext,
  call: Call,
  source: TopicSource,
): Promise<Reply> {
  const { keyName } = readMembers(call.request, ["keyName"]);
  const lower = typeof keyName === "string" ? keyName.toLowerCase() : null;
  if (lower !== "key1" && lower !== "key2") {
    throw refuseValue({ field: "keyName", value: keyName, allowed: "key1 or key2" });
  }
  const written = await changing(context, call.request, async () => {
    const { revision, ...draft } = needTopic(context.catalog(), source);
    const renewed: TopicDraft = { ...draft, [lower]: context.makeKey(), origin: "api" };
    return await context.registry.putTopic(renewed, revision);
  });
  await context.refresh();
  context.log.fact("info", "key.renewed", { topic: written.name, key: lower });
  const { key1, key2 } = written;
  return reply(200, { key1, key2 });
}
