// Resources as the Azure CLI prints them, and as Azure Resource Manager takes them. The CLI
// flattens `properties`, at the top and again in destinations, headers and mappings, and prints
// null for what is missing. What is not flattened is accepted unchanged.

import { addressOf, groupOf } from "../../core/azure/arm-id.ts";
import { isObject } from "../../core/template/expression.ts";
import type { Members } from "../../core/text/wording.ts";
import { boundaryOf, traitsOf } from "./topic-traits.ts";

/** Members around the properties of a resource, or read-only ones in them. */
const notProperties = new Set([
  "id",
  "name",
  "type",
  "etag",
  "location",
  "tags",
  "sku",
  "kind",
  "identity",
  "systemData",
  "extendedLocation",
  "resourceGroup",
  "provisioningState",
  "endpoint",
  "metricResourceId",
  "privateEndpointConnections",
  "dataResidencyBoundary",
  "topic",
  "topicsConfiguration",
]);

/** Null if it is not a resource. */
export function idOfListed({ id, topic, name }: Members): string | null {
  if (typeof id === "string" && id.startsWith("/")) return id;
  if (typeof topic !== "string" || typeof name !== "string" || !topic.startsWith("/")) return null;
  return `${topic}/providers/Microsoft.EventGrid/eventSubscriptions/${name}`;
}

/** In the shape of Azure Resource Manager, without what is null. */
export function toResource(listed: Members): Members {
  const { location, tags } = listed;
  const properties = liftedDown(isObject(listed.properties) ? listed.properties : listed);
  return withoutNull({ location, tags, ...traitsOf(listed), properties });
}

function withoutReadOnly(properties: Members): Members {
  return withoutNull({
    ...Object.fromEntries(Object.entries(properties).filter(([name]) => !notProperties.has(name))),
    dataResidencyBoundary: boundaryOf(properties),
  });
}

function liftedDown(listed: Members): Members {
  const own = withoutReadOnly(listed);
  return withoutNull({
    ...own,
    ...change(own, "inputSchemaMapping", (value) => nested(value, ["inputSchemaMappingType"])),
    ...change(own, "destination", nestedDestination),
    ...change(own, "deadLetterDestination", (value) => nested(value, ["endpointType"])),
    ...change(own, "deliveryWithResourceIdentity", (value) => ({
      ...value,
      ...change(value, "destination", nestedDestination),
    })),
    ...change(own, "deadLetterWithResourceIdentity", (value) => ({
      ...value,
      ...change(value, "deadLetterDestination", (inner) => nested(inner, ["endpointType"])),
    })),
    ...change(own, "filter", withoutNull),
  });
}

/** The member transformed, or nothing if it is not an object. */
function change(members: Members, name: string, make: (value: Members) => Members): Members {
  const value = members[name];
  return isObject(value) ? { [name]: make(value) } : {};
}

/** Everything except the named members goes under `properties`. */
function nested(value: Members, outside: readonly string[]): Members {
  if (isObject(value.properties)) return { ...value, properties: withoutNull(value.properties) };
  const [around, within] = [true, false].map((isAround) =>
    Object.fromEntries(
      Object.entries(value).filter(([name]) => outside.includes(name) === isAround),
    ),
  ) as [Members, Members];
  return { ...around, properties: withoutNull(within) };
}

function nestedDestination(value: Members): Members {
  const destination = nested(value, ["endpointType"]);
  const properties = destination.properties as Members;
  const { deliveryAttributeMappings: mappings } = properties;
  if (!Array.isArray(mappings)) return destination;
  const deliveryAttributeMappings = mappings.map((each: unknown) =>
    isObject(each) ? nested(each, ["name", "type"]) : each,
  );
  return { ...destination, properties: { ...properties, deliveryAttributeMappings } };
}

function withoutNull(members: Members): Members {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => (value ?? null) !== null),
  );
}

export function isInNamespace(id: unknown): boolean {
  return /\/Microsoft\.EventGrid\/namespaces\//i.test(String(id));
}

/** As the Azure CLI would print what Azure Resource Manager shows. */
export function toListed(shown: Members): Members {
  const { properties, ...around } = shown;
  const id = String(shown.id);
  const lifted = isObject(properties) ? properties : {};
  // In a namespace it is inside of the delivery configuration.
  const hasLetters = addressOf(id)?.kind === "subscription" && !isInNamespace(id);
  const all: Members = {
    ...around,
    ...lifted,
    ...(hasLetters && { deadLetterDestination: lifted.deadLetterDestination ?? null }),
    resourceGroup: groupOf(id)?.resourceGroup ?? null,
    ...change(lifted, "inputSchemaMapping", raised),
    ...change(lifted, "destination", raisedDestination),
    ...change(lifted, "deadLetterDestination", raised),
    ...change(lifted, "deliveryWithResourceIdentity", (value) => ({
      ...value,
      ...change(value, "destination", raisedDestination),
    })),
    ...change(lifted, "deadLetterWithResourceIdentity", (value) => ({
      ...value,
      ...change(value, "deadLetterDestination", raised),
    })),
  };
  const names = Object.keys(all).toSorted();
  return Object.fromEntries(names.map((name) => [name, all[name]]));
}

function raised(value: Members): Members {
  const { properties, ...around } = value;
  return { ...around, ...(isObject(properties) && properties) };
}

function raisedDestination(value: Members): Members {
  const destination = raised(value);
  const { deliveryAttributeMappings: mappings } = destination;
  if (!Array.isArray(mappings)) return destination;
  return {
    ...destination,
    deliveryAttributeMappings: mappings.map((each: unknown) =>
      isObject(each) ? raised(each) : each,
    ),
  };
}
