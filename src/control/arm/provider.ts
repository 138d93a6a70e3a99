// What clients ask of Azure around Event Grid: subscriptions, groups, locations, the provider and
// what it can do. Any subscription id works.

import { Refusal } from "../../core/refusal.ts";
import type { Catalog } from "../../core/registry.ts";
import type { Reply } from "../../core/request.ts";
import { isSameName } from "../../core/text/compare.ts";
import { localGroup } from "../../core/topic.ts";
import { tenantId } from "../signin/azure-signin.ts";
import type { ArmContext } from "./find-topic.ts";
import { reply } from "./reply.ts";

const provider = "Microsoft.EventGrid";

/** Those that clients use; any other that looks like one works, too. */
const apiVersions = [
  "2025-07-15-preview",
  "2025-02-15",
  "2022-06-15",
  "2021-12-01",
  "2020-06-01",
  "2019-06-01",
  "2019-01-01",
  "2018-01-01",
];

function distinct(texts: readonly string[]): string[] {
  const seen = new Map(texts.map((text) => [text.toLowerCase(), text]));
  return [...seen.values()].toSorted();
}

export function listAzureSubscriptions(context: ArmContext): Reply {
  const ids = context.catalog().topics.map(({ place }) => place.subscriptionId);
  const all = distinct([...ids, localGroup.subscriptionId]);
  return reply(200, { value: all.map(azureSubscription) });
}

export function getAzureSubscription(subscriptionId: string): Reply {
  return reply(200, azureSubscription(subscriptionId));
}

function azureSubscription(subscriptionId: string): object {
  return {
    id: `/subscriptions/${subscriptionId}`,
    subscriptionId,
    tenantId,
    displayName: "Posthorn",
    state: "Enabled",
    authorizationSource: "RoleBased",
    subscriptionPolicies: { locationPlacementId: "", quotaId: "", spendingLimit: "Off" },
  };
}

function locationsIn({ topics }: Catalog): readonly string[] {
  return distinct([localGroup.location, ...topics.map(({ place }) => place.location)]);
}

export function listLocations(context: ArmContext, subscriptionId: string): Reply {
  const value = locationsIn(context.catalog()).map((name) => ({
    id: `/subscriptions/${subscriptionId}/locations/${name}`,
    name,
    displayName: name,
    regionalDisplayName: name,
    metadata: { regionType: "Physical", regionCategory: "Other" },
  }));
  return reply(200, { value });
}

const resourceTypes = [
  "topics",
  "domains",
  "domains/topics",
  "eventSubscriptions",
  "topics/eventSubscriptions",
  "domains/eventSubscriptions",
  "domains/topics/eventSubscriptions",
  "namespaces",
  "namespaces/topics",
  "namespaces/topics/eventSubscriptions",
  "topicTypes",
  "extensionTopics",
  "operations",
  "locations",
  "locations/eventSubscriptions",
  "locations/operationsStatus",
  "locations/operationResults",
  "locations/topicTypes",
];

function providerOf(context: ArmContext, subscriptionId: string): object {
  const locations = locationsIn(context.catalog());
  return {
    id: `/subscriptions/${subscriptionId}/providers/${provider}`,
    namespace: provider,
    registrationPolicy: "RegistrationRequired",
    registrationState: "Registered",
    resourceTypes: resourceTypes.map((resourceType) => ({
      resourceType,
      locations,
      apiVersions,
      defaultApiVersion: "2022-06-15",
      capabilities: "SupportsTags, SupportsLocation",
    })),
  };
}

export function listProviders(context: ArmContext, subscriptionId: string): Reply {
  return reply(200, { value: [providerOf(context, subscriptionId)] });
}

/** Also the answer to registering it. Refusal: NotFound, for any other provider. */
export function getProvider(
  context: ArmContext,
  { subscriptionId, namespace }: { readonly subscriptionId: string; readonly namespace: string },
): Reply {
  if (isSameName(namespace, provider)) return reply(200, providerOf(context, subscriptionId));
  throw new Refusal("NotFound", `There is no provider '${namespace}' here, only ${provider}.`);
}

const topicTypes = [
  {
    name: "Microsoft.EventGrid.Topics",
    displayName: "Event Grid Topics",
    description: "Microsoft Event Grid custom topics.",
    format: "topics/{topicName}",
  },
  {
    name: "Microsoft.EventGrid.Domains",
    displayName: "Event Grid Domains",
    description: "Microsoft Event Grid domains.",
    format: "domains/{domainName}",
  },
];

function topicTypeOf(context: ArmContext, type: (typeof topicTypes)[number]): object {
  const group = "/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}";
  return {
    properties: {
      provider,
      displayName: type.displayName,
      description: type.description,
      resourceRegionType: "RegionalResource",
      provisioningState: "Succeeded",
      supportedLocations: locationsIn(context.catalog()),
      sourceResourceFormat: `${group}/providers/${provider}/${type.format}`,
    },
    id: `providers/${provider}/topicTypes/${type.name}`,
    name: type.name,
    type: `${provider}/topicTypes`,
  };
}

export function listTopicTypes(context: ArmContext): Reply {
  return reply(200, { value: topicTypes.map((type) => topicTypeOf(context, type)) });
}

/** Refusal: NotFound. */
export function getTopicType(context: ArmContext, name: string): Reply {
  return reply(200, topicTypeOf(context, needTopicType(name)));
}

/** The event types of a custom topic are made up by its publishers. Refusal: NotFound. */
export function listTopicTypeEventTypes(name: string): Reply {
  needTopicType(name);
  return reply(200, { value: [] });
}

function needTopicType(name: string): (typeof topicTypes)[number] {
  const type = topicTypes.find((each) => isSameName(each.name, name));
  if (type !== undefined) return type;
  throw new Refusal("NotFound", `The topic type '${name}' was not found.`);
}

/** Resources, with their actions besides reading, writing and deleting. */
const abilities: Readonly<Record<string, readonly string[]>> = {
  topics: ["listKeys/action", "regenerateKey/action"],
  domains: ["listKeys/action", "regenerateKey/action"],
  "domains/topics": [],
  namespaces: ["listKeys/action", "regenerateKey/action"],
  "namespaces/topics": ["listKeys/action", "regenerateKey/action"],
  eventSubscriptions: ["getFullUrl/action", "getDeliveryAttributes/action"],
};

export function listOperations(): Reply {
  const value = Object.entries(abilities).flatMap(([resource, actions]) =>
    ["read", "write", "delete", ...actions].map((verb) => ({
      name: `${provider}/${resource}/${verb}`,
      display: { provider: "Event Grid", resource, operation: verb, description: verb },
      origin: "user,system",
    })),
  );
  return reply(200, { value });
}
