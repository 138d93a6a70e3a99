// Ids of topics, domains and subscriptions, made from their names, resource group and Azure
// subscription. Usually a broker has only one group, so both may be left out.

import { addressOf } from "../../core/azure/arm-id.ts";
import { Refusal } from "../../core/refusal.ts";
import { type DeploymentTarget, groupId } from "../../core/template/deployment-target.ts";
import { refuseValue } from "../../core/text/wording.ts";
import { localGroup } from "../../core/topic.ts";
import type { ParsedOptions } from "../option.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** `az` reads its defaults from the same variables. */
export function placeIn(given: ParsedOptions, env: Env): DeploymentTarget {
  return {
    subscriptionId: given.one("subscription") ?? localGroup.subscriptionId,
    resourceGroup:
      given.one("resource-group") ?? (env.AZURE_DEFAULTS_GROUP || localGroup.resourceGroup),
    location: given.one("location") ?? (env.AZURE_DEFAULTS_LOCATION || localGroup.location),
  };
}

export type TopicKind = "topics" | "domains";

export function providerIn(place: DeploymentTarget): string {
  return `${groupId(place)}/providers/Microsoft.EventGrid`;
}

/** Of a topic or a domain: by name, or by id. Refusal: InvalidSetting. */
export function topicIds(given: ParsedOptions, env: Env, kind: TopicKind): readonly string[] {
  const ids = given.all("ids");
  const name = given.one("name");
  if (ids.length > 0 && name === null) return ids.map((id) => checkId(id, "--ids"));
  return [`${providerIn(placeIn(given, env))}/${kind}/${nameOr(name, "name", "--ids ID")}`];
}

export function domainTopicIds(given: ParsedOptions, env: Env): readonly string[] {
  const ids = given.all("ids");
  const name = given.one("name");
  if (ids.length > 0 && name === null) return ids.map((id) => checkId(id, "--ids"));
  const domain = nameOr(given.one("domain-name"), "domain-name", "--ids ID");
  const topic = nameOr(name, "name", "--ids ID");
  return [`${providerIn(placeIn(given, env))}/domains/${domain}/topics/${topic}`];
}

function checkId(text: string, field: string): string {
  if (/^\/subscriptions\/[^/]/i.test(text)) return text.replace(/\/+$/, "");
  const allowed = "an id such as /subscriptions/…/providers/Microsoft.EventGrid/topics/orders";
  throw refuseValue({ field, value: text, allowed });
}

function nameOr(name: string | null, option: string, otherwise: string): string {
  if (name !== null) return name;
  throw new Refusal(
    "InvalidSetting",
    `--${option} must be given: --${option} NAME, or ${otherwise}`,
  );
}

export interface Source {
  /** ARM id of a subscription's source. */
  readonly id: string;
  /** Whether subscriptions are below it, or an extension of it. */
  readonly isNested: boolean;
}

/** Refusal: InvalidSetting, when no option names it. */
export function sourceIn(given: ParsedOptions, env: Env): Source {
  const scope = given.one("source-resource-id");
  const topic = given.one("topic-name");
  const domain = given.one("domain-name");
  const domainTopic = given.one("domain-topic-name");
  const base = providerIn(placeIn(given, env));
  if (scope !== null) {
    // Unlike az, which takes only ids: here a topic's name works, too.
    const isName = !scope.includes("/");
    const id = isName ? `${base}/topics/${scope}` : checkId(scope, "--source-resource-id");
    return { id, isNested: false };
  }
  if (domain !== null) {
    const within = domainTopic === null ? "" : `/topics/${domainTopic}`;
    return { id: `${base}/domains/${domain}${within}`, isNested: true };
  }
  if (topic !== null) return { id: `${base}/topics/${topic}`, isNested: true };
  const right = "--topic-name NAME, --domain-name NAME or --source-resource-id ID";
  throw new Refusal("InvalidSetting", `what it listens to must be given: ${right}`);
}

export function subscriptionId({ id, isNested }: Source, name: string): string {
  return `${id}${isNested ? "" : "/providers/Microsoft.EventGrid"}/eventSubscriptions/${name}`;
}

/** The subscription's path in Posthorn's own API: `/api/v1/topics/orders/subscriptions/billing`. */
export function apiPathOf(source: Source, name: string, verb = ""): string {
  const { topic, domainTopic } = namesOf(source);
  const path = `/api/v1/topics/${encodeURIComponent(topic)}/subscriptions/${encodeURIComponent(name)}`;
  const within = domainTopic === null ? "" : `?domainTopic=${encodeURIComponent(domainTopic)}`;
  return `${path}${verb === "" ? "" : `/${verb}`}${within}`;
}

/** The topic or domain by its name in Posthorn's own API, and the topic within it. */
export function namesOf({ id }: Source): {
  readonly topic: string;
  readonly domainTopic: string | null;
} {
  const [topic = "", domainTopic = null] = (
    addressOf(id)?.label ??
    id.split("/").at(-1) ??
    ""
  ).split("/");
  return { topic, domainTopic };
}
