// Event subscriptions as resources. A subscription is the same whether it is addressed as an
// extension of its topic or as a part of it; only its id and type are shown in the form used.
//
// A write never changes the active settings: the new ones wait for the handshake, and until then
// the old ones stay. *Differs:* lists for a whole Azure subscription contain all event
// subscriptions in it, also those of topics in one region.

import type { FlowState } from "../../core/delivery/flow.ts";
import type { CallerUrl } from "../../core/handshake/question.ts";
import type { Reply } from "../../core/request.ts";
import {
  endpointOf,
  isAskable,
  plainSubscription,
  type Subscription,
  type SubscriptionDraft,
  type SubscriptionTerms,
  subscriptionNameRule,
  termsIn,
} from "../../core/subscription.ts";
import { isSameName } from "../../core/text/compare.ts";
import { isoInstant } from "../../core/text/time.ts";
import { type Members, refuseValue } from "../../core/text/wording.ts";
import { armTypes, type Topic } from "../../core/topic.ts";
import type { Verdict } from "../handshake/port.ts";
import { logSubscription } from "../log-subscription.ts";
import { checkFlow } from "../properties/extension.ts";
import { renderHeaders } from "../properties/headers.ts";
import { checkNamespaceTerms } from "../properties/namespace-subscription.ts";
import { checkTerms, termsMembers } from "../properties/subscription.ts";
import { readMembers, readValue } from "./body.ts";
import { tidyDomainTopic } from "./domains.ts";
import { checkConditions, etagOf } from "./etag.ts";
import {
  findNamed,
  findParent,
  findSubscription,
  needParent,
  needSubscription,
  parentToBe,
  type SubscriptionParent,
} from "./find-subscription.ts";
import { type ArmContext, type Call, changing, refuseMissing, replyToWrite } from "./find-topic.ts";
import { type Listed, replyWithList } from "./listing.ts";
import { type Ending, failedValidation } from "./operations.ts";
import type { Form, Named, Region, Source } from "./path.ts";
import { renderSubscription, subscriptionArmId, wantedTerms } from "./render.ts";
import { done, reply } from "./reply.ts";

/** Besides the properties; accepted without effect. */
const idleAround = ["id", "name", "type", "etag", "systemData", "location", "tags"];

export async function putSubscription(
  context: ArmContext,
  call: Call,
  named: Named,
): Promise<Reply> {
  return await write(context, call, named, (parent, stored) =>
    readTerms(context, call, { named, parent, stored }),
  );
}

/** How a subscription that is made is to run. */
function flowIn({ request }: Call, { clock }: ArmContext): FlowState {
  const { properties } = readValue(request) as { properties?: { posthorn?: Members | null } };
  return checkFlow(properties?.posthorn?.flow, "properties.posthorn.flow", clock.now());
}

/** What a PUT asks for, checked against what exists; nothing is written. */
export function readTerms(
  context: ArmContext,
  call: Call,
  at: {
    readonly named: Named;
    readonly parent: SubscriptionParent;
    readonly stored: Subscription | undefined;
  },
): SubscriptionTerms {
  const { properties } = readMembers(call.request, ["properties", ...idleAround]);
  checkName(at.named);
  const { topic } = at.parent;
  const within = { ...contextOf(context, at.parent, at.stored), keepsRest: false };
  return topic.kind === "namespaceTopic"
    ? checkNamespaceTerms(properties ?? {}, "properties", { ...within, topic })
    : checkTerms(properties ?? {}, "properties", within);
}

/** The members are in the body itself; some clients wrap them as in a PUT. */
export async function patchSubscription(
  context: ArmContext,
  call: Call,
  named: Named,
): Promise<Reply> {
  return await write(context, call, named, (parent, stored) => {
    if (stored === undefined) throw refuseMissing(named.source, named.name);
    const within = { ...contextOf(context, parent, stored), keepsRest: true };
    const { topic } = parent;
    if (topic.kind !== "namespaceTopic") return checkTerms(changesIn(call), "properties", within);
    const { properties } = readMembers(call.request, ["properties", ...idleAround]);
    return checkNamespaceTerms(properties ?? {}, "properties", { ...within, topic });
  });
}

function changesIn({ request }: Call): unknown {
  const members = readMembers(request, [...termsMembers, "properties", ...idleAround]);
  return (
    members.properties ??
    Object.fromEntries(Object.entries(members).filter(([name]) => termsMembers.includes(name)))
  );
}

function contextOf(
  context: ArmContext,
  { topic }: SubscriptionParent,
  stored: Subscription | undefined,
) {
  return {
    profile: topic.profile ?? context.profile,
    inputSchema: topic.inputSchema,
    azure: context.azure,
    batchDefaults: context.batch,
    stored: stored === undefined ? null : wantedTerms(stored),
    now: context.clock.now(),
    makeKey: context.makeKey,
  };
}

type TermsOf = (parent: SubscriptionParent, stored: Subscription | undefined) => SubscriptionTerms;

async function write(
  context: ArmContext,
  call: Call,
  named: Named,
  termsOf: TermsOf,
): Promise<Reply> {
  const [topic, stored, written] = await changing(context, call.request, async () => {
    // Errors are refused before a topic of a domain is created.
    const before =
      findParent(context.catalog(), named.source) ?? parentToBe(context.catalog(), named.source);
    const old = findSubscription(context.catalog(), before, named.name);
    checkConditions(call.request, old);
    const terms = termsOf(before, old);
    const parent = await needParent(context, named.source);
    const flow = old ?? flowIn(call, context);
    const { name } = named;
    const draft = draftOf(context, { parent, name, old, terms, flow, called: calledBy(call) });
    const put = await context.registry.putSubscription(draft, old?.revision ?? 0);
    return [parent.topic, old, put] as const;
  });
  // Started before anything else can fail: what was written must be asked.
  const ending: Promise<Ending> =
    written.handshake === null
      ? Promise.resolve({ status: "Succeeded" })
      : context.handshakes.begin(written).then((verdict) => endingOf(written, verdict));
  const operationId = context.operations.start(ending);
  await context.refresh();
  logSubscription(context.log, written, {
    change: stored === undefined ? "created" : "updated",
    origin: "api",
  });
  const state = stored === undefined ? "Creating" : "Updating";
  return replyToWrite(call, {
    topic,
    revision: written.revision,
    resourceId: subscriptionArmId(topic, written, named.form),
    operationId,
    body: show(context, topic, { ...written, state }, named.form),
  });
}

/** The active settings stay until the endpoint has agreed. */
function draftOf(
  context: ArmContext,
  {
    parent,
    name,
    old,
    terms,
    flow: { flow, pauses },
    called,
  }: {
    readonly parent: SubscriptionParent;
    readonly name: string;
    readonly old: Subscription | undefined;
    readonly terms: SubscriptionTerms;
    readonly flow: FlowState;
    readonly called: CallerUrl;
  },
): SubscriptionDraft {
  const isInForce = old?.isActive ?? false;
  const handshake = isAskable(terms.destination)
    ? context.handshakes.prepare(isInForce ? terms : null, old?.handshake ?? null, called)
    : null;
  const isAsked = handshake !== null;
  return {
    ...plainSubscription,
    ...(isInForce && isAsked ? termsIn(old as Subscription) : terms),
    ...{ flow, pauses },
    ...(old?.isPersisted !== undefined && { isPersisted: old.isPersisted }),
    topic: parent.topic.name,
    domainTopic: parent.domainTopic,
    name: old?.name ?? name,
    isActive: isInForce || !isAsked,
    state: isAsked ? (old === undefined ? "Creating" : "Updating") : "Succeeded",
    handshake,
    origin: "api",
  };
}

function calledBy({ baseUrl, apiVersion }: Call): CallerUrl {
  return { baseUrl, apiVersion };
}

/** For a poller, one that waits for a person has ended: its state says the rest. */
function endingOf(subscription: Subscription, verdict: Verdict): Ending {
  if (verdict.state !== "Failed") return { status: "Succeeded" };
  return failedValidation(endpointOf(wantedTerms(subscription).destination), verdict.why);
}

/** The state of an operation from the subscription alone. */
export function progressOf(subscription: Subscription) {
  const { state, handshake } = subscription;
  if (state === "Creating" || state === "Updating") return { status: "InProgress" } as const;
  // An active one whose update was refused keeps its old settings, and has succeeded with them.
  if (state !== "Failed" && handshake?.ended?.isAgreed !== false) {
    return { status: "Succeeded" } as const;
  }
  const why = handshake?.ended?.why ?? handshake?.exchanges.at(-1)?.verdict ?? "";
  return failedValidation(endpointOf(subscription.destination), why);
}

function checkName({ name }: Named): void {
  if (subscriptionNameRule.test(name)) return;
  const allowed = "2 to 64 letters, digits and hyphens";
  throw refuseValue({ field: "eventSubscriptionName", value: name, allowed });
}

function show(context: ArmContext, topic: Topic, subscription: Subscription, form: Form): object {
  return renderSubscription(subscription, { topic, form, profile: context.profile });
}

export function getSubscription(context: ArmContext, named: Named): Reply {
  const { topic, subscription } = needSubscription(context.catalog(), named);
  return reply(200, show(context, topic, subscription, named.form), { etag: etagOf(subscription) });
}

export async function removeSubscription(
  context: ArmContext,
  call: Call,
  named: Named,
): Promise<Reply> {
  const found = findNamed(context.catalog(), named);
  checkConditions(call.request, found?.subscription);
  if (found === undefined) return done;
  const isGone = await context.registry.removeSubscription(found.subscription.id);
  await context.refresh();
  if (isGone) {
    context.handshakes.notifyDeleted(found.subscription);
    logSubscription(context.log, found.subscription, { change: "removed", origin: "api" });
  }
  if (named.source.kind === "domainTopic") await tidyDomainTopic(context, call, named.source);
  return done;
}

/** Only a webhook has one of its own; that of a function is in the file. */
export function getFullUrl(context: ArmContext, named: Named): Reply {
  const { subscription } = needSubscription(context.catalog(), named);
  const { destination } = wantedTerms(subscription);
  return reply(200, { endpointUrl: destination.kind === "webhook" ? destination.url : null });
}

export function getDeliveryAttributes(context: ArmContext, named: Named): Reply {
  const { headers } = wantedTerms(needSubscription(context.catalog(), named).subscription);
  return reply(200, { value: renderHeaders(headers, { showsSecrets: true }) });
}

/** Posthorn only: the exchanges with the endpoint. */
export function getHandshake(context: ArmContext, named: Named): Reply {
  const { subscription } = needSubscription(context.catalog(), named);
  const { state, handshake } = subscription;
  return reply(200, {
    provisioningState: state,
    handshake: handshake && {
      startedAt: isoInstant(handshake.startedAt),
      until: isoInstant(handshake.until),
      allowedRatePerMinute: handshake.allowedRate,
      exchanges: handshake.exchanges.map(({ at, ...exchange }) => ({
        at: isoInstant(at),
        ...exchange,
      })),
    },
  });
}

/** Posthorn only: repeats the handshake. The answer says where to follow it. */
export function validate(context: ArmContext, call: Call, named: Named): Reply {
  const { topic, subscription } = needSubscription(context.catalog(), named);
  const ending = context.handshakes
    .rerun(subscription.id, calledBy(call))
    .then((verdict) => endingOf(subscription, verdict));
  return replyToWrite(call, {
    topic,
    revision: subscription.revision,
    resourceId: subscriptionArmId(topic, subscription, named.form),
    operationId: context.operations.start(ending),
    body: show(context, topic, { ...subscription, state: "Updating" }, named.form),
    status: 202,
  });
}

/**
 * Of one topic, domain, topic of a domain or storage account. Other sources have none. Refusal:
 * NotFound.
 */
export function listOfSource(
  context: ArmContext,
  call: Call,
  { source, form }: { readonly source: Source; readonly form: Form },
): Reply {
  const catalog = context.catalog();
  const parent = findParent(catalog, source);
  if (parent === undefined && source.kind === "foreign") {
    return replyWithList([], call.request, call.url);
  }
  if (parent === undefined) throw refuseMissing(source);
  const items = catalog.subscriptions
    .filter(
      (one) =>
        isSameName(one.topic, parent.topic.name) &&
        isSameName(one.domainTopic ?? "", parent.domainTopic ?? ""),
    )
    .map((one) => listed(context, parent.topic, one, form));
  return replyWithList(items, call.request, call.url);
}

export function listInRegion(context: ArmContext, call: Call, region: Region): Reply {
  const { topics, subscriptions } = context.catalog();
  const items = topics
    // Those of namespaces have another shape, and are listed only with their topic.
    .filter((topic) => topic.kind !== "namespaceTopic" && isInRegion(topic, region))
    .flatMap((topic) =>
      subscriptions
        .filter((one) => isSameName(one.topic, topic.name))
        .map((one) => listed(context, topic, one, "scope")),
    );
  return replyWithList(items, call.request, call.url);
}

function isInRegion({ kind, place }: Topic, region: Region): boolean {
  const { subscriptionId, resourceGroup, location, topicType } = region;
  return (
    isSameName(place.subscriptionId, subscriptionId) &&
    (resourceGroup === null || isSameName(place.resourceGroup, resourceGroup)) &&
    (location === null || isSameName(place.location, location.replaceAll(" ", ""))) &&
    (topicType === null || isSameName(topicType, armTypes[kind].replace("/", ".")))
  );
}

function listed(context: ArmContext, topic: Topic, subscription: Subscription, form: Form): Listed {
  const { name, domainTopic } = subscription;
  return {
    name,
    key: `${topic.name}/${domainTopic ?? ""}/${name}`.toLowerCase(),
    render: () => show(context, topic, subscription, form),
  };
}
