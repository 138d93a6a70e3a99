// Resources of a broker, as an ARM template or as lists of the Azure CLI. Pure.
//
// A template is deployed to one group. So resources of the default group are at the top, and those
// of another group in a nested deployment.

import { addressOf, groupOf, pathInGroup } from "../../core/azure/arm-id.ts";
import { escapeText, isObject } from "../../core/template/expression.ts";
import { isSameName } from "../../core/text/compare.ts";
import type { Members } from "../../core/text/wording.ts";
import { localGroup } from "../../core/topic.ts";
import { isWebHook, sendingIn, withSending } from "../az/destination-member.ts";
import { isInNamespace, toListed, toResource } from "./az-shape.ts";
import type { Secrets } from "./same-as.ts";
import { ownWithSecrets } from "./signing-secrets.ts";

export interface Exported {
  readonly topics: readonly { readonly shown: Members; readonly keys: Members }[];
  readonly domainTopics: readonly Members[];
  readonly subscriptions: readonly ExportedSubscription[];
}

export interface ExportedSubscription {
  readonly shown: Members;
  readonly secrets: Secrets;
}

export interface PrintChoice {
  readonly showsSecrets: boolean;
  /** Whether all are in one group, which is then left open. */
  readonly isOneGroup: boolean;
}

const eventGridVersion = "2025-02-15";
const deploymentVersion = "2021-04-01";
const schema = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#";

export function templateOf(exported: Exported, choice: PrintChoice): Members {
  const parameters = new Map<string, Members>();
  const hide = (wish: string) => {
    const name = freeName(wish, parameters);
    parameters.set(name, { type: "securestring" });
    return `[parameters('${name}')]`;
  };
  const placed = [
    ...exported.topics.map(({ shown, keys }) => ({
      id: String(shown.id),
      resource: topicIn(shown, choice.showsSecrets ? keys : {}),
    })),
    ...exported.domainTopics.map((shown) => ({
      id: String(shown.id),
      resource: domainTopicIn(shown),
    })),
    ...exported.subscriptions.map((one) => ({
      id: String(one.shown.id),
      resource: subscriptionIn(one, choice.showsSecrets ? null : hide),
    })),
  ];
  const groups = Map.groupBy(placed, ({ id }) => placeName(id, choice));
  const resources = [...groups].flatMap(([name, inGroup]) => {
    const all = inGroup.map(({ resource }) => resource);
    return name === "" ? all : [deploymentOf(inGroup[0]?.id ?? "", all)];
  });
  return {
    $schema: schema,
    contentVersion: "1.0.0.0",
    parameters: Object.fromEntries(parameters),
    resources,
  };
}

/** Empty for what needs no nested deployment. */
function placeName(id: string, { isOneGroup }: PrintChoice): string {
  const place = groupOf(id);
  const isLocal =
    place === null ||
    (isSameName(place.subscriptionId, localGroup.subscriptionId) &&
      isSameName(place.resourceGroup, localGroup.resourceGroup));
  return isLocal || isOneGroup
    ? ""
    : `${place.subscriptionId}/${place.resourceGroup}`.toLowerCase();
}

function deploymentOf(id: string, resources: readonly Members[]): Members {
  const place = groupOf(id);
  return {
    type: "Microsoft.Resources/deployments",
    apiVersion: deploymentVersion,
    name: `posthorn-${place?.resourceGroup}`,
    subscriptionId: place?.subscriptionId,
    resourceGroup: place?.resourceGroup,
    properties: {
      mode: "Incremental",
      template: { $schema: schema, contentVersion: "1.0.0.0", resources },
    },
  };
}

function freeName(wish: string, taken: ReadonlyMap<string, unknown>): string {
  const name = wish.replace(/[^A-Za-z0-9]+/g, "_");
  for (let count = 1; ; count++) {
    const next = count === 1 ? name : `${name}_${count}`;
    if (![...taken.keys()].some((known) => isSameName(known, next))) return next;
  }
}

function topicIn(shown: Members, { key1, key2 }: Members): Members {
  const { location, tags, properties, ...traits } = toResource(shown);
  const own = isObject(properties) ? properties : {};
  return {
    type: shown.type,
    apiVersion: eventGridVersion,
    ...namedIn(String(shown.id)),
    location,
    ...(tags !== undefined && { tags: escaped(tags) }),
    ...(escaped(traits) as Members),
    properties: {
      ...(escaped(own) as Members),
      ...(key1 !== undefined && { key1: escaped(key1) }),
      ...(key2 !== undefined && { key2: escaped(key2) }),
    },
  };
}

/** What is inside of another is named with it, and comes after it. */
function namedIn(id: string): Members {
  const { label: name = "" } = addressOf(id) ?? {};
  if (!name.includes("/")) return { name };
  return { name, ...dependsOn(pathInGroup(id).replace(/\/[^/]+\/[^/]+$/, "")) };
}

function domainTopicIn(shown: Members): Members {
  return {
    type: "Microsoft.EventGrid/domains/topics",
    apiVersion: eventGridVersion,
    ...namedIn(String(shown.id)),
  };
}

type Hide = (wish: string) => string;

function subscriptionIn({ shown, secrets }: ExportedSubscription, hide: Hide | null): Members {
  const { sourceId = "", label = "" } = addressOf(String(shown.id)) ?? {};
  const scope = pathInGroup(sourceId);
  const { properties } = toResource(shown);
  const { posthorn, ...rest } = isObject(properties) ? properties : {};
  const hideHere = hide && ((wish: string) => hide(`${label}_${wish}`));
  const sending = sendingIn(rest);
  const own = ownWithSecrets(posthorn, secrets.signing, hideHere);
  if (isInNamespace(shown.id)) {
    const told = escaped(rest) as Members;
    const whole = sending && withSending(told, destinationIn(sending, secrets, hideHere));
    return {
      type: "Microsoft.EventGrid/namespaces/topics/eventSubscriptions",
      apiVersion: eventGridVersion,
      ...namedIn(String(shown.id)),
      properties: { ...(whole ?? told), ...own },
    };
  }
  const { destination: _destination, deliveryWithResourceIdentity, ...others } = rest;
  return {
    type: "Microsoft.EventGrid/eventSubscriptions",
    apiVersion: eventGridVersion,
    name: shown.name,
    scope,
    ...dependsOn(scope),
    properties: {
      ...withSending(
        isObject(deliveryWithResourceIdentity) ? { deliveryWithResourceIdentity } : {},
        destinationIn(sending, secrets, hideHere),
      ),
      ...(escaped(others) as Members),
      ...own,
    },
  };
}

/** Also resources in the template, such as `Microsoft.EventGrid/domains/shop`. */
function dependsOn(scope: string): Members {
  const [namespace = "", ...segments] = scope.split("/");
  if (!isSameName(namespace, "Microsoft.EventGrid")) return {};
  const types = segments.filter((_, index) => index % 2 === 0);
  const names = segments.filter((_, index) => index % 2 === 1);
  const list = names.map((name) => `, '${name}'`).join("");
  return { dependsOn: [`[resourceId('${[namespace, ...types].join("/")}'${list})]`] };
}

/** A URL without a query has nothing to hide. */
function destinationIn(destination: unknown, secrets: Secrets, hide: Hide | null): unknown {
  if (!isObject(destination) || !isObject(destination.properties)) return escaped(destination);
  const { endpointUrl, endpointBaseUrl, deliveryAttributeMappings, ...rest } =
    destination.properties;
  const url = secrets.endpointUrl;
  const isSecret = hide !== null && url !== endpointBaseUrl;
  const headers = headersIn(secrets.deliveryAttributeMappings, hide);
  return {
    endpointType: destination.endpointType,
    properties: {
      ...(isWebHook(destination) && {
        endpointUrl: isSecret ? hide("endpointUrl") : escaped(url),
      }),
      ...(escaped(rest) as Members),
      ...(headers.length > 0 && { deliveryAttributeMappings: headers }),
    },
  };
}

function headersIn(mappings: unknown, hide: Hide | null): readonly unknown[] {
  if (!Array.isArray(mappings)) return [];
  return mappings.map((each: unknown) => {
    const isSecret =
      isObject(each) && isObject(each.properties) && each.properties.isSecret === true;
    if (!isSecret || hide === null) return escaped(each);
    const { properties, ...around } = each as { properties: Members; name: unknown };
    return { ...around, properties: { ...properties, value: hide(String(around.name)) } };
  });
}

/** Escapes texts so that none is read as an expression. */
function escaped(value: unknown): unknown {
  if (typeof value === "string") return escapeText(value);
  if (Array.isArray(value)) return value.map(escaped);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, escaped(each)]));
}

/** All in one list, which the CLI would print one after the other. */
export function listedOf(exported: Exported, { showsSecrets }: PrintChoice): readonly Members[] {
  const topics = exported.topics.map(({ shown, keys: { key1, key2 } }) =>
    toListed(showsSecrets ? { ...shown, key1, key2 } : shown),
  );
  const subscriptions = exported.subscriptions.map(({ shown, secrets }) =>
    toListed(showsSecrets ? withSecrets(shown, secrets) : shown),
  );
  return [...topics, ...exported.domainTopics.map(toListed), ...subscriptions];
}

function withSecrets(shown: Members, secrets: Secrets): Members {
  const properties = isObject(shown.properties) ? shown.properties : {};
  const destination = sendingIn(properties);
  if (destination === null || !isObject(destination.properties)) return shown;
  const { endpointUrl, deliveryAttributeMappings } = secrets;
  const inside = {
    ...destination.properties,
    ...(isWebHook(destination) && { endpointUrl }),
    ...("deliveryAttributeMappings" in destination.properties && { deliveryAttributeMappings }),
  };
  return {
    ...shown,
    properties: {
      ...withSending(properties, { ...destination, properties: inside }),
      ...ownWithSecrets(properties.posthorn, secrets.signing, null),
    },
  };
}
