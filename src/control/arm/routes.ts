// The control plane in the shape of Azure Resource Manager: which path and method means what.
// Azure's scopes have many segments, so a few routes take everything and the path is parsed here.
// What is not supported is refused, never answered as if it existed.
//
// Deliberately absent: access rules, which are checked before.

import { Refusal } from "../../core/refusal.ts";
import type { Reply, Request, Route } from "../../core/request.ts";
import { shownAs } from "../../core/text/wording.ts";
import * as deployments from "./deployments.ts";
import * as domains from "./domains.ts";
import { findNamed } from "./find-subscription.ts";
import {
  type ArmContext,
  type ArmDeps,
  type Call,
  needTopic,
  refuseMissing,
} from "./find-topic.ts";
import * as groups from "./groups.ts";
import type { Missing } from "./missing-kinds.ts";
import * as missing from "./missing-kinds.ts";
import * as namespaces from "./namespaces.ts";
import { openOperations, type Progress, refuseOperation } from "./operations.ts";
import { type Asked, parsePath, type Source } from "./path.ts";
import * as provider from "./provider.ts";
import { armHeaders, reply, replyToRefusal } from "./reply.ts";
import { listResources } from "./resource-list.ts";
import * as subscriptions from "./subscriptions.ts";
import * as tags from "./tags.ts";
import * as topics from "./topics.ts";

const methods = ["GET", "PUT", "PATCH", "POST", "DELETE"] as const;

type Method = (typeof methods)[number];

const pathCharactersMax = 500;

/** The first segments of our paths. */
const roots = ["/subscriptions", "/providers"];

/** The JavaScript client encodes the slashes of the scope before this segment, and only there. */
const extensionTopicPath = "/providers/Microsoft.EventGrid/extensionTopics/default";

const apiVersionRule = /^\d{4}-\d{2}-\d{2}(-[a-z0-9]+)?$/i;
/** The default for clients that did not say. */
const apiVersionDefault = "2022-06-15";

export interface ArmOptions {
  /** Resolves when nothing more happens before time moves on; null if time moves by itself. */
  readonly quiet?: (() => Promise<unknown>) | null;
  /** Aborts when the broker stops, so that no answer is delayed. */
  readonly stop?: AbortSignal;
}

export function armRoutes(
  deps: ArmDeps,
  { quiet = null, stop = new AbortController().signal }: ArmOptions = {},
): readonly Route[] {
  const context: ArmContext = { ...deps, operations: openOperations({ ...deps, quiet, stop }) };
  const everywhere = roots.flatMap((root) =>
    methods.flatMap((method) => [
      routeAt(context, method, root, () => root),
      routeAt(context, method, `${root}/*`, ({ params }) => `${root}/${params["*"]}`),
    ]),
  );
  const encoded = `/:scope${extensionTopicPath}`;
  return [
    ...everywhere,
    routeAt(context, "GET", encoded, ({ params }) => `/${params.scope}${extensionTopicPath}`),
  ];
}

function routeAt(
  context: ArmContext,
  method: Method,
  path: string,
  pathOf: (request: Request) => string,
): Route {
  return {
    method,
    path,
    headers: armHeaders,
    async handle(request) {
      try {
        return await carryOut(context, method, request, pathOf(request).replace(/\/+/g, "/"));
      } catch (error) {
        if (error instanceof Refusal) return refuse(context, method, error);
        throw error;
      }
    },
  };
}

function refuse(context: ArmContext, method: Method, refusal: Refusal): Reply {
  const { code, message } = refusal;
  const level = method === "GET" ? "debug" : "info";
  context.log.fact(level, "control.refused", { method, code, reason: message });
  return replyToRefusal(refusal);
}

async function carryOut(
  context: ArmContext,
  method: Method,
  request: Request,
  path: string,
): Promise<Reply> {
  const apiVersion = request.query["api-version"] ?? apiVersionDefault;
  if (!apiVersionRule.test(apiVersion)) {
    const words = `api-version must be a version such as ${apiVersionDefault}`;
    throw new Refusal("InvalidApiVersion", `${words}, and is ${shownAs(apiVersion)}.`);
  }
  const baseUrl = context.baseUrl(request);
  const url = baseUrl + path.split("/").map(encodeURIComponent).join("/");
  const call: Call = { request, path, apiVersion, baseUrl, url };
  const acts = actsOn(context, call, parsePath(path));
  const act = acts[method];
  if (act !== undefined) return await act();
  const allowed = Object.keys(acts).join(", ");
  const words = `The method ${method} is not allowed here; allowed: ${allowed}.`;
  const { status, headers, body = "" } = replyToRefusal(new Refusal("MethodNotAllowed", words));
  return { status, headers: { ...headers, allow: allowed }, body };
}

type Acts = Partial<Record<Method, () => Reply | Promise<Reply>>>;

function actsOn(context: ArmContext, call: Call, asked: Asked): Acts {
  switch (asked.kind) {
    case "topic":
    case "keys":
    case "newKey":
    case "topics":
    case "domainTopic":
    case "domainTopics":
    case "namespaceTopics":
      return actsOnTopics(context, call, asked);
    case "subscription":
    case "fullUrl":
    case "deliveryAttributes":
    case "validation":
    case "handshake":
    case "subscriptionsOf":
    case "subscriptionsIn":
      return actsOnSubscriptions(context, call, asked);
    case "operation":
      return { GET: () => describeOperation(context, call, asked.id) };
    case "eventTypes":
      return { GET: () => listEventTypes(context, asked.source) };
    case "extensionTopic":
      return { GET: () => getExtensionTopic(context, call, asked.source) };
    case "missing":
      return actsOnMissing(call, asked);
    case "unknown":
      throw new Refusal("NotFound", `There is nothing at "${endOf(call.path)}" in this broker.`);
    default:
      return actsOnProvider(context, call, asked);
  }
}

/** Of a long path, its end decides. */
function endOf(path: string): string {
  return path.length > pathCharactersMax ? `…${path.slice(-pathCharactersMax)}` : path;
}

function actsOnMissing(call: Call, asked: Missing): Acts {
  const refuse = () => missing.refuseMissingKind(call, asked);
  return {
    GET: asked.isList ? missing.listNone : () => missing.showNone(call, asked),
    DELETE: missing.removeNone,
    ...{ PUT: refuse, PATCH: refuse, POST: refuse },
  };
}

type TopicAsked = Extract<
  Asked,
  {
    kind:
      | "topic"
      | "keys"
      | "newKey"
      | "topics"
      | "domainTopic"
      | "domainTopics"
      | "namespaceTopics";
  }
>;

function actsOnTopics(context: ArmContext, call: Call, asked: TopicAsked): Acts {
  switch (asked.kind) {
    case "topic":
      return {
        GET: () => topics.getTopic(context, call, asked.source),
        PUT: () => topics.putTopic(context, call, asked.source),
        PATCH: () => topics.patchTopic(context, call, asked.source),
        DELETE: () => topics.removeTopic(context, call, asked.source),
      };
    case "topics":
      return { GET: () => topics.listTopics(context, call, asked) };
    case "keys":
      return { POST: () => topics.listKeys(context, asked.source) };
    case "newKey":
      return { POST: () => topics.renewKey(context, call, asked.source) };
    case "namespaceTopics":
      return { GET: () => namespaces.listNamespaceTopics(context, call, asked.source) };
    case "domainTopics":
      return { GET: () => domains.listDomainTopics(context, call, asked.source) };
    case "domainTopic":
      return {
        GET: () => domains.getDomainTopic(context, asked.source),
        PUT: () => domains.putDomainTopic(context, call, asked.source),
        DELETE: () => domains.removeDomainTopic(context, call, asked.source),
      };
  }
}

type SubscriptionAsked = Extract<
  Asked,
  {
    kind:
      | "subscription"
      | "fullUrl"
      | "deliveryAttributes"
      | "validation"
      | "handshake"
      | "subscriptionsOf"
      | "subscriptionsIn";
  }
>;

function actsOnSubscriptions(context: ArmContext, call: Call, asked: SubscriptionAsked): Acts {
  switch (asked.kind) {
    case "subscription":
      return {
        GET: () => subscriptions.getSubscription(context, asked),
        PUT: () => subscriptions.putSubscription(context, call, asked),
        PATCH: () => subscriptions.patchSubscription(context, call, asked),
        DELETE: () => subscriptions.removeSubscription(context, call, asked),
      };
    case "fullUrl":
      return { POST: () => subscriptions.getFullUrl(context, asked) };
    case "deliveryAttributes":
      return { POST: () => subscriptions.getDeliveryAttributes(context, asked) };
    case "validation":
      return { POST: () => subscriptions.validate(context, call, asked) };
    case "handshake":
      return { GET: () => subscriptions.getHandshake(context, asked) };
    case "subscriptionsOf":
      return { GET: () => subscriptions.listOfSource(context, call, asked) };
    case "subscriptionsIn":
      return { GET: () => subscriptions.listInRegion(context, call, asked.region) };
  }
}

type ProviderAsked = Exclude<
  Asked,
  | TopicAsked
  | SubscriptionAsked
  | { kind: "operation" | "eventTypes" | "extensionTopic" | "unknown" | "missing" }
>;

function actsOnProvider(context: ArmContext, call: Call, asked: ProviderAsked): Acts {
  switch (asked.kind) {
    case "azureSubscriptions":
      return { GET: () => provider.listAzureSubscriptions(context) };
    case "azureSubscription":
      return { GET: () => provider.getAzureSubscription(asked.subscriptionId) };
    case "locations":
      return { GET: () => provider.listLocations(context, asked.subscriptionId) };
    case "groups":
      return { GET: () => groups.listGroups(context, call, asked.subscriptionId) };
    case "group":
      return {
        GET: () => groups.getGroup(context, call, asked.group),
        PUT: () => groups.putGroup(context, call, asked.group),
        PATCH: () => groups.patchGroup(context, call, asked.group),
        DELETE: () =>
          groups.removeGroup(context, asked.group, {
            topic: (topic) => topics.dropTopic(context, topic),
            rest: () => deployments.removeDeploymentsOf(context, asked.group),
          }),
      };
    case "deployments":
    case "deployment":
    case "deploymentCheck":
    case "whatIf":
    case "deploymentOperations":
    case "deploymentStatus":
      return actsOnDeployments(context, call, asked);
    case "resources":
      return { GET: () => listResources(context, call, asked.within) };
    case "tagNames":
      return { GET: () => tags.listTagNames(context, asked.subscriptionId) };
    case "tags":
      return {
        GET: () => tags.getTags(context, call, asked.of),
        PUT: () => tags.putTags(context, call, asked.of),
        PATCH: () => tags.patchTags(context, call, asked.of),
        DELETE: () => tags.removeTags(context, call, asked.of),
      };
    case "providers":
      return { GET: () => provider.listProviders(context, asked.subscriptionId) };
    case "provider":
      return { GET: () => provider.getProvider(context, asked) };
    case "registration":
      return { POST: () => provider.getProvider(context, asked) };
    case "topicTypes":
      return { GET: () => provider.listTopicTypes(context) };
    case "topicType":
      return { GET: () => provider.getTopicType(context, asked.name) };
    case "topicTypeEventTypes":
      return { GET: () => provider.listTopicTypeEventTypes(asked.name) };
    case "operations":
      return { GET: () => provider.listOperations() };
  }
}

type DeploymentAsked = Extract<
  Asked,
  {
    kind:
      | "deployments"
      | "deployment"
      | "deploymentCheck"
      | "whatIf"
      | "deploymentOperations"
      | "deploymentStatus";
  }
>;

function actsOnDeployments(context: ArmContext, call: Call, asked: DeploymentAsked): Acts {
  switch (asked.kind) {
    case "deployments":
      return { GET: () => deployments.listDeployments(context, asked.group) };
    case "deployment":
      return {
        GET: () => deployments.getDeployment(context, call, asked),
        PUT: () => deployments.putDeployment(context, call, asked, (own) => put(context, own)),
        DELETE: () => deployments.removeDeployment(context, asked),
      };
    case "deploymentCheck":
      return { POST: () => deployments.validateDeployment(context, call, asked) };
    case "whatIf":
      return { POST: () => deployments.whatIf(context, call, asked) };
    case "deploymentOperations":
      return { GET: () => deployments.listOperations(context, asked) };
    case "deploymentStatus":
      return { GET: () => deployments.getStatus(context, asked, asked.id) };
  }
}

/** Writes a resource of a template like its own request. */
async function put(context: ArmContext, call: Call): Promise<Reply> {
  const act = actsOn(context, call, parsePath(call.path)).PUT;
  if (act === undefined) throw new Refusal("InvalidSetting", `${call.path} cannot be written.`);
  return await act();
}

/** The result of an unknown operation is the state of its resource. */
async function describeOperation(context: ArmContext, call: Call, id: string): Promise<Reply> {
  const progress = (await context.operations.look(id)) ?? progressOfResource(context, call);
  if (progress === null) throw refuseOperation(id);
  const body = { id: call.url, name: id.toLowerCase(), ...progress };
  return reply(200, body, progress.status === "InProgress" ? { "retry-after": "1" } : {});
}

/** What has been deleted since then had been written before. */
function progressOfResource(context: ArmContext, { request }: Call): Progress | null {
  const { resource } = request.query;
  if (resource === undefined) return null;
  const asked = parsePath(resource);
  const found = asked.kind === "subscription" && findNamed(context.catalog(), asked);
  return found ? subscriptions.progressOf(found.subscription) : { status: "Succeeded" };
}

/** The event types of a custom topic are made up by its publishers; other sources have none. */
function listEventTypes(context: ArmContext, source: Source): Reply {
  needSource(context, source);
  return reply(200, { value: [] });
}

function getExtensionTopic(context: ArmContext, call: Call, source: Source): Reply {
  needSource(context, source);
  if (source.kind === "foreign") throw refuseMissing(source);
  return reply(200, {
    properties: { description: `Events of ${source.name}.`, systemTopic: "" },
    systemData: null,
    id: call.path,
    name: "default",
    type: "Microsoft.EventGrid/extensionTopics",
  });
}

/** Refusal: NotFound. */
function needSource(context: ArmContext, source: Source): void {
  if (source.kind === "foreign") return;
  if (source.kind === "domainTopic") domains.getDomainTopic(context, source);
  else needTopic(context.catalog(), source);
}
