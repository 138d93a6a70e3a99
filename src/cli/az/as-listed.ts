// Resources as `az` prints them: flattened out of `properties`, and null for members that the
// broker did not return. Posthorn's own members are added.

import { addressOf } from "../../core/azure/arm-id.ts";
import { isObject } from "../../core/template/expression.ts";
import { isoInstant } from "../../core/text/time.ts";
import type { Members } from "../../core/text/wording.ts";
import { isInNamespace, toListed } from "../import/az-shape.ts";

const ofTopics = [
  "inboundIpRules",
  "inputSchemaMapping",
  "privateEndpointConnections",
  "systemData",
  "tags",
];
const ofSubscriptions = [
  "deadLetterDestination",
  "deadLetterWithResourceIdentity",
  "deliveryWithResourceIdentity",
  "destination",
  "expirationTimeUtc",
  "labels",
  "systemData",
];
const ofFilters = [
  "advancedFilters",
  "enableAdvancedFilteringOnArrays",
  "includedEventTypes",
  "isSubjectCaseSensitive",
];
const ofDestinations: Readonly<Record<string, readonly string[]>> = {
  webhook: [
    "azureActiveDirectoryApplicationIdOrUri",
    "azureActiveDirectoryTenantId",
    "deliveryAttributeMappings",
    "endpointUrl",
  ],
  azurefunction: ["deliveryAttributeMappings"],
  eventhub: ["deliveryAttributeMappings"],
  hybridconnection: ["deliveryAttributeMappings"],
  servicebusqueue: ["deliveryAttributeMappings"],
  servicebustopic: ["deliveryAttributeMappings"],
  storagequeue: ["queueMessageTimeToLiveInSeconds"],
};
const ofMappings: Readonly<Record<string, readonly string[]>> = {
  id: ["sourceField"],
  topic: ["sourceField"],
  eventTime: ["sourceField"],
  subject: ["sourceField", "defaultValue"],
  eventType: ["sourceField", "defaultValue"],
  dataVersion: ["sourceField", "defaultValue"],
};

/** Members in alphabetical order. */
export function asListed(shown: Members): Members {
  const listed = toListed(shown);
  // What lies in a namespace has members of its own, which are shown as they come.
  if (isInNamespace(shown.id)) return withNulls(listed, ["systemData"]);
  switch (addressOf(String(shown.id))?.kind) {
    case "topic":
    case "domain":
      return withNulls({ ...listed, ...mappingOf(listed) }, ofTopics);
    case "subscription":
      return withNulls(
        {
          ...listed,
          ...expirationOf(listed),
          ...(isObject(listed.destination) && { destination: destinationOf(listed.destination) }),
          ...(isObject(listed.filter) && { filter: withNulls(listed.filter, ofFilters) }),
        },
        ofSubscriptions,
      );
    default:
      return withNulls(listed, ["systemData"]);
  }
}

function withNulls(members: Members, names: readonly string[]): Members {
  const all: Members = { ...Object.fromEntries(names.map((name) => [name, null])), ...members };
  const sorted = Object.keys(all).toSorted();
  return Object.fromEntries(sorted.map((name) => [name, all[name]]));
}

function destinationOf(destination: Members): Members {
  const kind = String(destination.endpointType).toLowerCase();
  return withNulls(destination, ofDestinations[kind] ?? []);
}

function mappingOf({ inputSchemaMapping }: Members): Members {
  if (!isObject(inputSchemaMapping)) return {};
  const fields = Object.entries(ofMappings).map(([name, members]) => {
    const field = inputSchemaMapping[name];
    return [name, withNulls(isObject(field) ? field : {}, members)];
  });
  return {
    inputSchemaMapping: withNulls({ ...inputSchemaMapping, ...Object.fromEntries(fields) }, []),
  };
}

/** `2030-01-01T00:00:00+00:00`, as Python writes times. */
function expirationOf({ expirationTimeUtc }: Members): Members {
  const at = Date.parse(String(expirationTimeUtc));
  if (Number.isNaN(at)) return {};
  const text = isoInstant(at).replace(".000Z", "+00:00").replace("Z", "000+00:00");
  return { expirationTimeUtc: text };
}
