// The resources of a template: read, resolved and checked against what exists, in an order in which
// nothing depends on what comes later. Nothing is written here. Resources that this broker does not
// support are all named at once.

import { addressOf, type Kind } from "../../core/azure/arm-id.ts";
import { type Declared, findDeclared } from "../../core/azure/resource-id.ts";
import type { AzureSection } from "../../core/azure/resources.ts";
import { Refusal } from "../../core/refusal.ts";
import { plainSubscription, type Subscription, termsIn } from "../../core/subscription.ts";
import { isObject } from "../../core/template/expression.ts";
import type { Outside } from "../../core/template/functions.ts";
import { declaredParameters, type Found, readTemplate } from "../../core/template/template.ts";
import {
  openScope,
  type ParameterInput,
  resolveIn,
  type TemplateInput,
} from "../../core/template/template-scope.ts";
import { isSameName, isWord } from "../../core/text/compare.ts";
import { type Members, refuseName, refuseValue } from "../../core/text/wording.ts";
import { type Topic, topicArmId } from "../../core/topic.ts";
import { checkDomainTopicName, findDomainTopic } from "./domains.ts";
import { findParent, findSubscription, parentToBe } from "./find-subscription.ts";
import { type ArmContext, type Call, findTopic, needTopic } from "./find-topic.ts";
import { findGroup } from "./groups.ts";
import { type Group, type Named, parsePath, type Source } from "./path.ts";
import { renderSubscription, renderTopic, wantedTerms } from "./render.ts";
import { readTerms } from "./subscriptions.ts";
import { draftTopic } from "./topics.ts";

/** The deployment, from the body of a request. */
export interface DeploymentBody {
  readonly template: Members;
  readonly parameters: Members;
  readonly isComplete: boolean;
}

export interface PlannedResource {
  readonly id: string;
  /** The body of its PUT. */
  readonly body: Members;
  /** Its current state; null: it does not exist. */
  readonly before: object | null;
  readonly after: object;
  readonly isChanged: boolean;
}

export interface DeploymentPlan {
  readonly wanted: readonly PlannedResource[];
  /** Resources of other kinds that are known from the file. */
  readonly known: readonly string[];
  /** In mode Complete: resources of the group that are not in the template. */
  readonly toRemove: readonly Topic[];
  /** Called when everything exists. */
  readonly outputs: () => Members;
}

const file = "template";
const order: readonly Kind[] = [
  ...(["topic", "domain", "domainTopic"] as const),
  ...(["namespace", "namespaceTopic", "subscription"] as const),
];

/** Refusals: InvalidSetting and those of the resources. */
export async function planDeployment(
  context: ArmContext,
  call: Call,
  group: Group,
  { template, parameters, isComplete }: DeploymentBody,
): Promise<DeploymentPlan> {
  const { location } = (await findGroup(context, group)) ?? { location: "local" };
  const place = { ...group, location };
  const symbols = new Map<string, string>();
  const outside = outsideOf(context, call, symbols);
  const input = { file, place, parameters: givenIn(template, parameters), outside };
  const found = readTemplate(template, input);
  for (const each of found) {
    const [, symbol] = each.kind === "resource" ? (/resources\.(\w+)$/.exec(each.where) ?? []) : [];
    if (each.kind === "resource" && symbol !== undefined) symbols.set(symbol, each.id);
  }
  const known = checkForeign(context, found);
  const planned = new Map<string, Topic>();
  const resources = found.filter((each) => each.kind === "resource");
  const wanted = order.flatMap((kind) =>
    resources
      .filter(({ id }) => addressOf(id)?.kind === kind)
      .map((each) => planOne(context, call, each, planned)),
  );
  const ids = new Set(wanted.map(({ id }) => id.toLowerCase()));
  const inGroup = context.catalog().topics.filter(({ kind, place: at }) => {
    const isHere = isSameName(at.resourceGroup, group.resourceGroup);
    return kind !== "storage" && isHere && isSameName(at.subscriptionId, group.subscriptionId);
  });
  return {
    wanted,
    known,
    toRemove: isComplete
      ? inGroup.filter((topic) => !ids.has(topicArmId(topic).toLowerCase()))
      : [],
    outputs: () => outputsOf(template, input),
  };
}

function givenIn(template: Members, parameters: Members): ReadonlyMap<string, ParameterInput> {
  const declared = declaredParameters(template);
  return new Map(
    Object.entries(parameters).map(([name, given]) => {
      if (!declared.some((each) => isSameName(each, name))) {
        throw refuseName({ what: "parameter", name, where: file, known: declared });
      }
      if (isObject(given) && "value" in given) return [name, { kind: "value", value: given.value }];
      const allowed = "an object with a value (a reference to a vault is known to Azure alone)";
      throw refuseValue({ field: `parameters.${name}`, value: given, allowed, secret: true });
    }),
  );
}

const sections: readonly (readonly [provider: RegExp, section: AzureSection])[] = [
  [/^Microsoft\.Storage\/storageAccounts\//i, "storageAccounts"],
  [/^Microsoft\.ServiceBus\/namespaces\//i, "serviceBusNamespaces"],
  [/^Microsoft\.EventHub\/namespaces\//i, "eventHubNamespaces"],
  [/^Microsoft\.Relay\/namespaces\//i, "relayNamespaces"],
  [/^Microsoft\.Web\/sites\//i, "functionApps"],
];

/** Resources that subscriptions may name exist if the file has them. Refusal: InvalidSetting. */
function checkForeign({ azure }: ArmContext, found: readonly Found[]): readonly string[] {
  const isKnown = (id: string) => {
    const [, subscriptionId = "", resourceGroup = "", path = ""] =
      /^\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\/providers\/(.+)$/i.exec(id) ?? [];
    const section = sections.find(([provider]) => provider.test(path))?.[1];
    const group = { subscriptionId, resourceGroup };
    const name = path.split("/")[2] ?? "";
    return (
      section !== undefined && !!findDeclared<Declared>(azure[section], { group, names: [name] })
    );
  };
  const ids: string[] = [];
  const lacking: string[] = [];
  for (const each of found) {
    if (each.kind === "foreign") {
      if (each.id !== null && isKnown(each.id)) ids.push(each.id);
      else lacking.push(`${each.type} ${each.name}`);
    } else if (addressOf(each.id) === null) lacking.push(each.id.replace(/^.*\/providers\//i, ""));
  }
  if (lacking.length === 0) return ids;
  const what = "The template has what this broker does not";
  const hint = "Resources that subscriptions name belong in the file";
  const words = `${what}: ${lacking.join(", ")}. ${hint} (docs/destinations.md#in-the-file).`;
  throw new Refusal("InvalidSetting", words, { target: "template.resources" });
}

const around = ["location", "tags", "sku", "identity", "kind", "extendedLocation", "properties"];

function bodyOf({ raw, where, resolve }: Extract<Found, { kind: "resource" }>): Members {
  const path = where.slice(where.indexOf(": ") + 2);
  const given = around.filter((name) => raw[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, resolve(raw[name], `${path}.${name}`)]));
}

/** A request that writes one resource of the template. */
export function callFor(call: Call, id: string, body: Members): Call {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const request = { ...call.request, method: "PUT", headers: {}, body: bytes };
  return { ...call, request, path: id, url: call.baseUrl + id };
}

function planOne(
  context: ArmContext,
  call: Call,
  found: Extract<Found, { kind: "resource" }>,
  planned: Map<string, Topic>,
): PlannedResource {
  const { id } = found;
  const asked = parsePath(id);
  const body = asked.kind === "domainTopic" ? {} : bodyOf(found);
  const own = callFor(call, id, body);
  if (asked.kind === "topic") {
    const { stored, draft } = draftTopic(context, own, asked.source, planned);
    const after = { ...draft, revision: 0 };
    planned.set(keyOf(asked.source), after);
    return compare(id, body, {
      before: stored && shownTopic(call, stored),
      after: shownTopic(call, after),
      isSame: stored?.key1 === draft.key1 && stored.key2 === draft.key2,
    });
  }
  if (asked.kind === "domainTopic") {
    const { group, domain: name } = asked.source;
    const domain: Source = { kind: "domain", group, name };
    checkDomainTopicName(asked.source);
    const stored = findTopic(context.catalog(), domain);
    if (!planned.has(keyOf(domain))) needTopic(context.catalog(), domain);
    const isThere =
      stored !== undefined && findDomainTopic(context.catalog(), stored, asked.source.name);
    return { id, body, before: isThere ? { id } : null, after: { id }, isChanged: !isThere };
  }
  if (asked.kind !== "subscription") throw new Refusal("InvalidSetting", `${id} is no resource.`);
  return planSubscription(context, own, asked, planned);
}

function planSubscription(
  context: ArmContext,
  call: Call,
  named: Named,
  planned: ReadonlyMap<string, Topic>,
): PlannedResource {
  const { source, form, name } = named;
  const id = call.path;
  const catalog = context.catalog();
  const inTemplate = planned.get(keyOf(source));
  const parent = inTemplate
    ? { topic: inTemplate, domainTopic: source.kind === "domainTopic" ? source.name : null }
    : (findParent(catalog, source) ?? parentToBe(catalog, source));
  const stored = findSubscription(catalog, parent, name);
  const terms = readTerms(context, call, { named, parent, stored });
  const { topic, domainTopic } = parent;
  const as = (subscription: Subscription) =>
    renderSubscription(subscription, { topic, form, profile: context.profile });
  const fresh: Subscription = {
    ...{ ...plainSubscription, ...terms, topic: topic.name, domainTopic, name },
    ...{ id: 0, revision: 0, origin: "api" },
  };
  const isSame =
    stored !== undefined &&
    stored.state !== "Failed" &&
    canonical(termsIn(wantedTerms(stored))) === canonical(termsIn(terms));
  return compare(id, JSON.parse(new TextDecoder().decode(call.request.body)) as Members, {
    before: stored && as({ ...stored, state: "Succeeded" }),
    after: as(fresh),
    isSame,
  });
}

/** For a topic of a domain: the domain's. */
function keyOf(source: Source): string {
  if (source.kind === "foreign") return source.id.toLowerCase();
  const { group, kind } = source;
  const name = kind === "domainTopic" ? `domain/${source.domain}` : `${kind}/${source.name}`;
  return `${group.subscriptionId}/${group.resourceGroup}/${name}`.toLowerCase();
}

function shownTopic(call: Call, topic: Topic): object {
  return renderTopic(topic, { baseUrl: call.baseUrl, state: "Succeeded" });
}

function compare(
  id: string,
  body: Members,
  given: { before: object | undefined; after: object; isSame: boolean },
): PlannedResource {
  const { before = null, after, isSame } = given;
  const isChanged = before === null || !isSame || canonical(before) !== canonical(after);
  return { id, body, before, after, isChanged };
}

/** The same text for the same value, whatever the order of its members. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    isObject(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

/** What Azure would answer about resources that exist, or that the template creates. */
function outsideOf(context: ArmContext, call: Call, symbols: ReadonlyMap<string, string>): Outside {
  const topicAt = (given: unknown) => {
    if (typeof given !== "string") return undefined;
    const asked = parsePath(symbols.get(given) ?? given);
    return asked.kind === "topic" ? findTopic(context.catalog(), asked.source) : undefined;
  };
  return (name, [first, , third]) => {
    const topic = topicAt(first);
    if (topic === undefined) return undefined;
    if (name === "listkeys") return { key1: topic.key1, key2: topic.key2 };
    if (name !== "reference") return undefined;
    const shown = shownTopic(call, topic) as Members;
    return isWord(third, "full") ? shown : shown.properties;
  };
}

/** `type`: of a parameter or an output. */
export function isSecret(type: unknown): boolean {
  return typeof type === "string" && /^secure/i.test(type);
}

function outputsOf(template: Members, input: TemplateInput): Members {
  const scope = openScope(template, input);
  const outputs = isObject(template.outputs) ? template.outputs : {};
  const told = Object.entries(outputs).flatMap(([name, each]) => {
    const where = `outputs.${name}`;
    if (!isObject(each) || isSecret(each.type)) return [];
    const { condition = true } = each;
    if (resolveIn(scope, condition, `${where}.condition`) !== true) return [];
    return [[name, { type: each.type, value: resolveIn(scope, each.value, `${where}.value`) }]];
  });
  return Object.fromEntries(told);
}
