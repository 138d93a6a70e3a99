// The API of the retired Event Grid module on IoT Edge, for its existing clients: bare arrays, one
// version, its own error format. Its topics and subscriptions are the same as in every other API.
//
// There is no handshake here, because the module had none.

import { readValue, wholeBody } from "../control/arm/body.ts";
import { changing, logTopic } from "../control/arm/find-topic.ts";
import { reply } from "../control/arm/reply.ts";
import { logSubscription } from "../control/log-subscription.ts";
import { type AdminLock, requireAdmin } from "../control/signin/admin-lock.ts";
import { Refusal } from "../core/refusal.ts";
import {
  judgedBy,
  type Reply,
  type Request,
  type RequestHead,
  type Route,
  type Verdict,
  verdictOf,
} from "../core/request.ts";
import type { LiveCatalog } from "../core/routing/live-catalog.ts";
import {
  plainSubscription,
  type Subscription,
  type SubscriptionDraft,
  subscriptionNameRule,
} from "../core/subscription.ts";
import { isSameName } from "../core/text/compare.ts";
import { checkMembers, type Members, refuseValue, shownAs } from "../core/text/wording.ts";
import { plainTopic, type Topic, type TopicDraft, topicNameRule } from "../core/topic.ts";
import { checkModuleVersion, replyToModuleRefusal, sasKeyIn, withReplies } from "./protocol.ts";
import { respelt } from "./spelling.ts";
import { checkModuleTerms, renderModuleSubscription } from "./subscription.ts";
import type { ModuleDeps } from "./topic.ts";
import { checkModuleTopic, renderModuleTopic } from "./topic.ts";

const done: Reply = { status: 200 };

const unknownKey =
  "The key in aeg-sas-key is not one of inbound__clientAuth__sasKeys, or those are not enabled.";

export interface ModuleLock extends AdminLock {
  /** Whether it is one of the module's own keys. */
  readonly isModuleKey: (key: string) => boolean;
}

/** For requests with a key of the module, or with the admin key. */
export function moduleRoutes(deps: ModuleDeps, lock: ModuleLock): readonly Route[] {
  const at = (
    method: Route["method"],
    path: string,
    act: (deps: ModuleDeps, request: Request, isAdmin: boolean) => Promise<Reply> | Reply,
  ): Route => {
    const open: Route = { method, path, handle: (request) => act(deps, request, false) };
    const all: Route = { ...open, handle: (request) => act(deps, request, true) };
    const [locked = all] = requireAdmin([all], lock);
    const judge = async (head: RequestHead): Promise<Verdict> => {
      checkModuleVersion(head);
      const key = sasKeyIn(head);
      if (key !== null && lock.isModuleKey(key)) return verdictOf(open, head);
      if (key !== null && lock.check !== null && !head.headers.authorization) {
        throw new Refusal("Unauthorized", unknownKey);
      }
      return await verdictOf(locked, head);
    };
    return {
      ...open,
      ...judgedBy(withReplies(judge, (refusal, head) => refuse(deps, head, refusal))),
    };
  };
  const topic = "/topics/:topic";
  const subscription = `${topic}/eventSubscriptions/:subscription`;
  return [
    at("GET", "/topics", listTopics),
    at("PUT", topic, putTopic),
    at("GET", topic, getTopic),
    at("DELETE", topic, removeTopic),
    at("GET", `${topic}/eventSubscriptions`, listSubscriptions),
    at("PUT", subscription, putSubscription),
    at("GET", subscription, getSubscription),
    at("DELETE", subscription, removeSubscription),
  ];
}

function refuse({ log }: ModuleDeps, { method }: RequestHead, refusal: Refusal): Reply {
  const { code, message } = refusal;
  const level = method === "GET" ? "debug" : "info";
  log.fact(level, "control.refused", { method, code, reason: message });
  return replyToModuleRefusal(refusal);
}

/** The body in one spelling, with the name that is also in the path. */
function readNamed(request: Request, name: string): Members {
  const known = ["id", "name", "type", "properties"];
  const members = checkMembers(respelt(readValue(request)), wholeBody, known);
  const { name: given = null } = members;
  if (given === null || (typeof given === "string" && isSameName(given, name))) return members;
  throw refuseValue({ field: "name", value: given, allowed: `${name}, as in the path` });
}

function listTopics(deps: ModuleDeps, request: Request): Reply {
  const topics = deps.catalog().topics.filter(({ kind }) => kind === "topic");
  return reply(
    200,
    topics.map((topic) => renderModuleTopic(topic, deps.baseUrl(request))),
  );
}

function getTopic(deps: ModuleDeps, request: Request): Reply {
  const topic = needTopic(deps.catalog(), request);
  return reply(200, renderModuleTopic(topic, deps.baseUrl(request)));
}

async function putTopic(deps: ModuleDeps, request: Request): Promise<Reply> {
  const name = request.params.topic ?? "";
  const { properties } = readNamed(request, name);
  const [stored, written] = await changing(deps, request, async () => {
    const old = findTopic(deps.catalog(), name);
    if (old === undefined) checkNewName(deps.catalog(), name);
    const terms = checkModuleTopic(properties, old);
    checkSchemaStays(deps, old, terms);
    const draft: TopicDraft = {
      ...(old === undefined ? newTopic(deps, name) : withoutRevision(old)),
      ...terms,
      origin: "api",
    };
    return [old, await deps.registry.putTopic(draft, old?.revision ?? 0)] as const;
  });
  await deps.refresh();
  logTopic(deps, written, stored === undefined ? "created" : "updated");
  return reply(200, renderModuleTopic(written, deps.baseUrl(request)));
}

/**
 * Subscriptions of this API get events in the topic's own schema, which would suddenly change.
 * Refusal: Conflict.
 */
function checkSchemaStays(
  { catalog }: ModuleDeps,
  old: Topic | undefined,
  { inputSchema }: Pick<TopicDraft, "inputSchema">,
): void {
  if (old === undefined || old.inputSchema === inputSchema) return;
  const listening = catalog().subscriptions.find(({ topic }) => isSameName(topic, old.name));
  if (listening === undefined) return;
  const words = `inputSchema cannot become ${inputSchema} while the event subscription`;
  const target = "properties.inputSchema";
  throw new Refusal("Conflict", `${words} '${listening.name}' is there: delete it first.`, {
    target,
  });
}

function newTopic({ makeKey }: ModuleDeps, name: string): Omit<TopicDraft, "origin"> {
  return { ...plainTopic, name, key1: makeKey(), key2: makeKey() };
}

function withoutRevision({ revision: _, ...draft }: Topic): TopicDraft {
  return draft;
}

/** Refusals: InvalidSetting, Conflict. */
function checkNewName(catalog: LiveCatalog, name: string): void {
  if (!topicNameRule.test(name)) {
    const allowed = "2 to 50 letters, digits and hyphens";
    throw refuseValue({ field: "topicName", value: name, allowed });
  }
  const taken = catalog.topic(name);
  if (taken === undefined) return;
  throw new Refusal("Conflict", `The name ${shownAs(name)} is that of a ${taken.kind}.`);
}

/** Deleted with its subscriptions. */
async function removeTopic(deps: ModuleDeps, request: Request): Promise<Reply> {
  const topic = needTopic(deps.catalog(), request);
  const listening = deps.catalog().subscriptions.filter((one) => isSameName(one.topic, topic.name));
  const gone = await deps.registry.removeTopic(topic.name);
  await deps.refresh();
  for (const subscription of listening) {
    if (gone.includes(subscription.id)) notifyDeleted(deps, subscription, topic);
  }
  logTopic(deps, topic, "removed");
  return done;
}

/** Only an endpoint that passed a handshake gets a deletion notice. */
function notifyDeleted(deps: ModuleDeps, subscription: Subscription, topic?: Topic): void {
  if (subscription.handshake !== null) deps.handshakes.notifyDeleted(subscription, topic);
}

/**
 * The query of a webhook's URL is often a secret of the subscription's creator (`?code=`), and the
 * module's keys are not for those made elsewhere.
 */
function shownTo(isAdmin: boolean, subscription: Subscription): Subscription {
  const { destination } = subscription;
  if (isAdmin || subscription.isModuleMade || destination.kind !== "webhook") return subscription;
  const [url = ""] = destination.url.split("?", 1);
  return { ...subscription, destination: { ...destination, url } };
}

function listSubscriptions(deps: ModuleDeps, request: Request, isAdmin: boolean): Reply {
  const topic = needTopic(deps.catalog(), request);
  const ofTopic = deps.catalog().subscriptions.filter((one) => isSameName(one.topic, topic.name));
  return reply(
    200,
    ofTopic.map((one) => renderModuleSubscription(shownTo(isAdmin, one), topic)),
  );
}

function getSubscription(deps: ModuleDeps, request: Request, isAdmin: boolean): Reply {
  const { topic, subscription } = needSubscription(deps.catalog(), request);
  return reply(200, renderModuleSubscription(shownTo(isAdmin, subscription), topic));
}

async function putSubscription(deps: ModuleDeps, request: Request): Promise<Reply> {
  const name = request.params.subscription ?? "";
  const { properties } = readNamed(request, name);
  if (!subscriptionNameRule.test(name)) {
    const allowed = "2 to 64 letters, digits and hyphens";
    throw refuseValue({ field: "eventSubscriptionName", value: name, allowed });
  }
  const [topic, stored, written] = await changing(deps, request, async () => {
    const at = needTopic(deps.catalog(), request);
    const old = findSubscription(deps.catalog(), at, name);
    const profile = at.profile ?? deps.profile;
    const asked = checkModuleTerms(properties, { ...deps, topic: at, profile, stored: old });
    const draft: SubscriptionDraft = {
      ...plainSubscription,
      ...(old !== undefined && courseOf(old)),
      ...asked.terms,
      isPersisted: asked.isPersisted,
      isModuleMade: true,
      topic: at.name,
      name: old?.name ?? name,
      isActive: true,
      state: "Succeeded",
      handshake: null,
      origin: "api",
    };
    const put = await deps.registry.putSubscription(draft, old?.revision ?? 0);
    return [at, old, put] as const;
  });
  await deps.refresh();
  logSubscription(deps.log, written, {
    change: stored === undefined ? "created" : "updated",
    origin: "api",
  });
  return reply(200, renderModuleSubscription(written, topic));
}

/** Whether it runs or is paused is not part of what is written. */
function courseOf({ flow, pauses }: Subscription): Pick<Subscription, "flow" | "pauses"> {
  return { flow, pauses };
}

async function removeSubscription(deps: ModuleDeps, request: Request): Promise<Reply> {
  const { subscription } = needSubscription(deps.catalog(), request);
  const isGone = await deps.registry.removeSubscription(subscription.id);
  await deps.refresh();
  if (isGone) notifyDeleted(deps, subscription);
  logSubscription(deps.log, subscription, { change: "removed", origin: "api" });
  return done;
}

function findTopic(catalog: LiveCatalog, name: string): Topic | undefined {
  const topic = catalog.topic(name);
  return topic?.kind === "topic" ? topic : undefined;
}

/** Refusal: NotFound. */
function needTopic(catalog: LiveCatalog, { params }: Request): Topic {
  const name = params.topic ?? "";
  const topic = findTopic(catalog, name);
  if (topic === undefined) throw new Refusal("NotFound", `There is no topic ${shownAs(name)}.`);
  return topic;
}

function findSubscription(catalog: LiveCatalog, topic: Topic, name: string) {
  return catalog.named({ topic: topic.name, domainTopic: null, name });
}

/** Refusal: NotFound. */
function needSubscription(catalog: LiveCatalog, request: Request) {
  const topic = needTopic(catalog, request);
  const name = request.params.subscription ?? "";
  const subscription = findSubscription(catalog, topic, name);
  if (subscription !== undefined) return { topic, subscription };
  const words = `There is no event subscription ${shownAs(name)} of the topic '${topic.name}'.`;
  throw new Refusal("NotFound", words);
}
