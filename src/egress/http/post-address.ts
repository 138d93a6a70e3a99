// The addresses of destinations that take posts: functions at their host, hybrid connections at
// their relay. Both are looked up in the file, and may be missing.

import {
  type AzureResources,
  resolveResource,
  resourceForms,
  urlOf,
} from "../../core/azure/resources.ts";
import type { Clock } from "../../core/ports.ts";
import type { ResourceDestination } from "../../core/subscription.ts";
import { relayAddress } from "./hybrid-connection.ts";
import type { Address } from "./webhook.ts";

/** Null if it is not in the file. */
export type FindAddress = (destination: ResourceDestination) => Address | null;

export function openAddresses(azure: AzureResources, clock: Clock): FindAddress {
  // The same value each time, by which the webhook sink recognises a target.
  const functions = new WeakMap<ResourceDestination, Address>();
  const find: FindAddress = (destination) => {
    const known = functions.get(destination);
    if (known !== undefined) return known;
    const url = urlOf(destination, azure);
    if (url === null) return null;
    const address: Address = { kind: "webhook", url };
    functions.set(destination, address);
    return address;
  };
  return (destination) => {
    if (destination.kind !== "hybridConnection") return find(destination);
    const { pattern } = resourceForms.hybridConnection;
    const { resourceId } = destination;
    const found = resolveResource(azure, "relayNamespaces", { resourceId, pattern });
    return found && relayAddress(found.declared, found.entity, clock.now());
  };
}
