// Event subscriptions as resources. A subscription is one and the same whether it is asked for as
// an extension of its topic or as a part of it; only its id and type are shown in the form asked.
//
// A write never changes what is in force: the new terms wait for the endpoint's consent, and until
// then the old ones go on. *Differs:* lists for a whole subscription of Azure's hold all event
// subscriptions in it, also those of topics in one region.

import { checkMembers, type Members } from "../core/members.ts";
import type { Catalog, Reply } from "../core/ports.ts";
import { Refusal } from "../core/refusal.ts";
import {
  endpointOf,
  plainSubscription,
  type Subscription,
  type SubscriptionDraft,
  type SubscriptionTerms,
  subscriptionNameRule,
} from "../core/subscription.ts";
import { isoInstant } from "../core/time.ts";
import type { Topic } from "../core/topic.ts";
import { refuseValue } from "../core/wording.ts";
import { done, reply } from "./answer.ts";
import type { Verdict } from "./desk.ts";
import { readMembers } from "./document.ts";
import { findDomainTopic, needDomain, needDomainTopic, tidyDomainTopic } from "./domains.ts";
import { checkConditions, etagOf } from "./etag.ts";
import {
  type Call,
  changing,
  type Desk,
  findTopic,
  isSame,
  needTopic,
  refuseMissing,
  replyToWrite,
} from "./ground.ts";
import { renderHeaders } from "./header.ts";
import { type Listed, replyWithList } from "./listing.ts";
import { type Ending, failedValidation } from "./operations.ts";
import type { Form, Named, Region, Source } from "./path.ts";
import { renderSubscription, subscriptionArmId, wantedTerms } from "./render.ts";
import { checkTerms } from "./subscription.ts";

/** Beside the properties; taken from Azure's clients without effect. */
const idleAround = ["id", "name", "type", "etag", "systemData", "location", "tags"];

/** A subscription's place: its topic or domain, and within a domain perhaps one topic. */
interface Spot {
  readonly topic: Topic;
  readonly domainTopic: string | null;
}

export async function putSubscription(desk: Desk, call: Call, named: Named): Promise<Reply> {
  const { properties } = readMembers(call.request, ["properties", ...idleAround]);
  checkName(named);
  return await write(desk, call, named, (spot, stored) =>
    checkTerms(properties ?? {}, "properties", {
      ...contextOf(desk, spot, stored),
      keepsRest: false,
    }),
  );
}

/** The members stand in the body itself; some clients wrap them as in a PUT. */
export async function patchSubscription(desk: Desk, call: Call, named: Named): Promise<Reply> {
  const changes = changesIn(call);
  return await write(desk, call, named, (spot, stored) => {
    if (stored === undefined) throw refuseMissing(named.source, named.name);
    const context = { ...contextOf(desk, spot, stored), keepsRest: true };
    return checkTerms(changes, "properties", context);
  });
}

function changesIn({ request }: Call): Members {
  const flat = [
    "destination",
    "filter",
    "labels",
    "expirationTimeUtc",
    "eventDeliverySchema",
    "retryPolicy",
    "deadLetterDestination",
    "deadLetterWithResourceIdentity",
    "deliveryWithResourceIdentity",
  ];
  const members = readMembers(request, [...flat, "properties", ...idleAround]);
  if ((members.properties ?? null) !== null) {
    return checkMembers(members.properties, "properties", [...flat, "topic", "provisioningState"]);
  }
  return Object.fromEntries(Object.entries(members).filter(([name]) => flat.includes(name)));
}

function contextOf(desk: Desk, { topic }: Spot, stored: Subscription | undefined) {
  return {
    profile: topic.profile ?? desk.profile,
    inputSchema: topic.inputSchema,
    stored: stored === undefined ? null : wantedTerms(stored),
    now: desk.clock.now(),
  };
}

type TermsOf = (spot: Spot, stored: Subscription | undefined) => SubscriptionTerms;

async function write(desk: Desk, call: Call, named: Named, termsOf: TermsOf): Promise<Reply> {
  const [topic, stored, written] = await changing(desk, call.request, async () => {
    // What is wrong is refused before a topic of a domain is made for it.
    const before = findSpot(desk.catalog(), named.source) ?? spotToBe(desk.catalog(), named.source);
    const old = findSubscription(desk.catalog(), before, named.name);
    checkConditions(call.request, old);
    const terms = termsOf(before, old);
    const spot = await needSpot(desk, named.source);
    const draft = draftOf(desk, { spot, name: named.name, old, terms });
    const put = await desk.registry.putSubscription(draft, old?.revision ?? 0);
    return [spot.topic, old, put] as const;
  });
  await desk.refresh();
  const change = stored === undefined ? "created" : "updated";
  tell(desk, written, change);
  const ending: Promise<Ending> =
    written.handshake === null
      ? Promise.resolve({ status: "Succeeded" })
      : desk.handshakes.begin(written, call).then((verdict) => endingOf(written, verdict));
  const state = stored === undefined ? "Creating" : "Updating";
  return replyToWrite(call, {
    topic,
    revision: written.revision,
    resourceId: subscriptionArmId(topic, written, named.form),
    operationId: desk.operations.start(ending),
    body: show(desk, topic, { ...written, state }, named.form),
  });
}

/** What is in force stays so until the endpoint has agreed. */
function draftOf(
  desk: Desk,
  {
    spot,
    name,
    old,
    terms,
  }: {
    readonly spot: Spot;
    readonly name: string;
    readonly old: Subscription | undefined;
    readonly terms: SubscriptionTerms;
  },
): SubscriptionDraft {
  const isInForce = old?.isActive ?? false;
  const handshake = desk.handshakes.prepare(isInForce ? terms : null, old?.handshake ?? null);
  const isAsked = handshake !== null;
  return {
    ...plainSubscription,
    ...(isInForce && isAsked ? termsIn(old as Subscription) : terms),
    topic: spot.topic.name,
    domainTopic: spot.domainTopic,
    name: old?.name ?? name,
    isActive: isInForce || !isAsked,
    state: isAsked ? (old === undefined ? "Creating" : "Updating") : "Succeeded",
    handshake,
    origin: "api",
  };
}

function termsIn(subscription: SubscriptionTerms): SubscriptionTerms {
  const { destination, deliverySchema, filter, retryPolicy, batch } = subscription;
  const { deadLetter, headers, labels, expiresAt } = subscription;
  const choice = { destination, deliverySchema, filter, retryPolicy, batch };
  return { ...choice, deadLetter, headers, labels, expiresAt };
}

/** One that waits for a person has ended as far as a poller goes: its state tells the rest. */
function endingOf(subscription: Subscription, verdict: Verdict): Ending {
  if (verdict.state !== "Failed") return { status: "Succeeded" };
  return failedValidation(endpointOf(wantedTerms(subscription).destination), verdict.why);
}

/** What is known of an operation from the subscription alone. */
export function progressOf(subscription: Subscription) {
  const { state, handshake } = subscription;
  if (state === "Creating" || state === "Updating") return { status: "InProgress" } as const;
  if (state !== "Failed") return { status: "Succeeded" } as const;
  const why = handshake?.exchanges.at(-1)?.verdict ?? "";
  return failedValidation(endpointOf(subscription.destination), why);
}

function checkName({ name }: Named): void {
  if (subscriptionNameRule.test(name)) return;
  const allowed = "2 to 64 letters, digits and hyphens";
  throw refuseValue({ field: "eventSubscriptionName", value: name, allowed });
}

/** Where a subscription would be; undefined when there is no such topic. */
function findSpot(catalog: Catalog, source: Source): Spot | undefined {
  switch (source.kind) {
    case "foreign":
      return undefined;
    case "domainTopic": {
      const domain = findTopic(catalog, { ...source, kind: "domain", name: source.domain });
      const domainTopic = domain && findDomainTopic(catalog, domain, source.name);
      return domainTopic === undefined ? undefined : { topic: domain as Topic, domainTopic };
    }
    default: {
      const topic = findTopic(catalog, source);
      return topic && { topic, domainTopic: null };
    }
  }
}

/** Refusals: NotFound, InvalidSetting for what has no events here. */
function spotToBe(catalog: Catalog, source: Source): Spot {
  if (source.kind === "foreign") {
    const words = `scope must be a topic, a domain or a topic of a domain of this broker`;
    throw new Refusal("InvalidSetting", `${words}, and is ${source.id}`, { target: "scope" });
  }
  if (source.kind !== "domainTopic")
    return { topic: needTopic(catalog, source), domainTopic: null };
  return { topic: needDomain(catalog, source), domainTopic: source.name };
}

async function needSpot(desk: Desk, source: Source): Promise<Spot> {
  const spot = findSpot(desk.catalog(), source);
  if (spot !== undefined || source.kind !== "domainTopic") {
    return spot ?? spotToBe(desk.catalog(), source);
  }
  const { domain, name } = await needDomainTopic(desk, source);
  return { topic: domain, domainTopic: name };
}

function findSubscription(
  { subscriptions }: Catalog,
  { topic, domainTopic }: Spot,
  name: string,
): Subscription | undefined {
  return subscriptions.find(
    (one) =>
      isSame(one.topic, topic.name) &&
      isSame(one.domainTopic ?? "", domainTopic ?? "") &&
      isSame(one.name, name),
  );
}

interface Found {
  readonly topic: Topic;
  readonly subscription: Subscription;
}

export function lookUp(catalog: Catalog, { source, name }: Named): Found | undefined {
  const spot = findSpot(catalog, source);
  const subscription = spot && findSubscription(catalog, spot, name);
  return spot && subscription && { topic: spot.topic, subscription };
}

/** Refusal: NotFound. */
function need(desk: Desk, named: Named): Found {
  const found = lookUp(desk.catalog(), named);
  if (found === undefined) throw refuseMissing(named.source, named.name);
  return found;
}

function show(desk: Desk, topic: Topic, subscription: Subscription, form: Form): object {
  return renderSubscription(subscription, { topic, form, profile: desk.profile });
}

export function getSubscription(desk: Desk, named: Named): Reply {
  const { topic, subscription } = need(desk, named);
  return reply(200, show(desk, topic, subscription, named.form), { etag: etagOf(subscription) });
}

export async function removeSubscription(desk: Desk, call: Call, named: Named): Promise<Reply> {
  const found = lookUp(desk.catalog(), named);
  checkConditions(call.request, found?.subscription);
  if (found === undefined) return done;
  await desk.registry.removeSubscription(found.subscription.id);
  await desk.refresh();
  desk.handshakes.tellDeleted(found.subscription);
  tell(desk, found.subscription, "removed");
  if (named.source.kind === "domainTopic") await tidyDomainTopic(desk, call, named.source);
  return done;
}

export function getFullUrl(desk: Desk, named: Named): Reply {
  const { subscription } = need(desk, named);
  return reply(200, { endpointUrl: wantedTerms(subscription).destination.url });
}

export function getDeliveryAttributes(desk: Desk, named: Named): Reply {
  const { headers } = wantedTerms(need(desk, named).subscription);
  return reply(200, { value: renderHeaders(headers, { showsSecrets: true }) });
}

/** Ours: what was said to the endpoint, and what it said. */
export function getHandshake(desk: Desk, named: Named): Reply {
  const { subscription } = need(desk, named);
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

/** Ours: asks the endpoint again. How it goes is told where the answer says. */
export function validate(desk: Desk, call: Call, named: Named): Reply {
  const { topic, subscription } = need(desk, named);
  const ending = desk.handshakes
    .rerun(subscription.id, call)
    .then((verdict) => endingOf(subscription, verdict));
  return replyToWrite(call, {
    topic,
    revision: subscription.revision,
    resourceId: subscriptionArmId(topic, subscription, named.form),
    operationId: desk.operations.start(ending),
    body: show(desk, topic, { ...subscription, state: "Updating" }, named.form),
    status: 202,
  });
}

/** Of one topic, domain or topic of a domain. What is not ours has none. Refusal: NotFound. */
export function listOfSource(
  desk: Desk,
  call: Call,
  { source, form }: { readonly source: Source; readonly form: Form },
): Reply {
  const catalog = desk.catalog();
  if (source.kind === "foreign") return replyWithList([], call.request, call.url);
  const spot = findSpot(catalog, source);
  if (spot === undefined) throw refuseMissing(source);
  const items = catalog.subscriptions
    .filter(
      (one) =>
        isSame(one.topic, spot.topic.name) && isSame(one.domainTopic ?? "", spot.domainTopic ?? ""),
    )
    .map((one) => listed(desk, spot.topic, one, form));
  return replyWithList(items, call.request, call.url);
}

export function listInRegion(desk: Desk, call: Call, region: Region): Reply {
  const { topics, subscriptions } = desk.catalog();
  const items = topics
    .filter((topic) => isInRegion(topic, region))
    .flatMap((topic) =>
      subscriptions
        .filter((one) => isSame(one.topic, topic.name))
        .map((one) => listed(desk, topic, one, "scope")),
    );
  return replyWithList(items, call.request, call.url);
}

function isInRegion({ kind, place }: Topic, region: Region): boolean {
  const { subscriptionId, resourceGroup, location, topicType } = region;
  return (
    isSame(place.subscriptionId, subscriptionId) &&
    (resourceGroup === null || isSame(place.resourceGroup, resourceGroup)) &&
    (location === null || isSame(place.location, location.replaceAll(" ", ""))) &&
    (topicType === null || isSame(topicType, `Microsoft.EventGrid.${kind}s`))
  );
}

function listed(desk: Desk, topic: Topic, subscription: Subscription, form: Form): Listed {
  const { name, domainTopic } = subscription;
  return {
    name,
    key: `${topic.name}/${domainTopic ?? ""}/${name}`.toLowerCase(),
    render: () => show(desk, topic, subscription, form),
  };
}

function tell(desk: Desk, subscription: Subscription, change: "created" | "updated" | "removed") {
  const { topic, domainTopic, name, state } = subscription;
  const names = { topic, ...(domainTopic !== null && { domainTopic }), subscription: name };
  desk.log.fact("info", "subscription.changed", { ...names, change, state, origin: "api" });
}
