// Where a template is deployed to, and ids of resources from there.

import { Trouble } from "./expression.ts";

/** Where a template is deployed to. */
export interface DeploymentTarget {
  readonly subscriptionId: string;
  readonly resourceGroup: string;
  readonly location: string;
}

/** `a.b/c/d` and two names: `a.b/c/x/d/y`. Throws Trouble. */
export function typedPath(type: string, names: readonly string[]): string {
  const [namespace = "", ...types] = type.split("/");
  if (types.length === 0 || types.length !== names.length) {
    throw new Trouble(`${type} needs as many names as it has types, and has ${names.length}`);
  }
  const segments = types.flatMap((each, index) => [each, names[index] as string]);
  return `providers/${namespace}/${segments.join("/")}`;
}

export function groupId({
  subscriptionId,
  resourceGroup,
}: Omit<DeploymentTarget, "location">): string {
  return `/subscriptions/${subscriptionId}/resourceGroups/${resourceGroup}`;
}

/** Up to two texts name the scope, then the type and its names. */
function splitResource(texts: readonly string[]): {
  readonly where: readonly string[];
  readonly path: string;
} {
  const type = texts.findIndex((each) => each.includes("/"));
  if (type < 0 || type > 2)
    throw new Trouble("a type such as Microsoft.EventGrid/topics is missing");
  const path = typedPath(texts[type] as string, texts.slice(type + 1));
  return { where: texts.slice(0, type), path };
}

/** Throws Trouble, as all of these do. */
export function resourceId(texts: readonly string[], place: DeploymentTarget): string {
  const { where, path } = splitResource(texts);
  const [resourceGroup = place.resourceGroup, subscriptionId = place.subscriptionId] =
    where.toReversed();
  return `${groupId({ subscriptionId, resourceGroup })}/${path}`;
}

export function subscriptionResourceId(texts: readonly string[], place: DeploymentTarget): string {
  const { where, path } = splitResource(texts);
  return `/subscriptions/${where[0] ?? place.subscriptionId}/${path}`;
}

export function extensionResourceId([base = "", ...rest]: readonly string[]): string {
  return `${base}/${splitResource(rest).path}`;
}

export function tenantResourceId(texts: readonly string[]): string {
  return `/${splitResource(texts).path}`;
}
