// The firewall of a topic, which is checked before any key. Addresses are those of connections;
// proxy headers are ignored, because anybody can send them.

import { BlockList, isIP } from "node:net";
import { Refusal } from "../core/refusal.ts";
import type { RequestHead } from "../core/request.ts";
import type { Topic } from "../core/topic.ts";

/** Refusal: Forbidden. */
export function checkNetwork(topic: Topic, request: RequestHead): void {
  if (!topic.publicNetworkAccess) {
    const words = `Publishing to ${nameOf(topic, request)} is rejected`;
    throw new Refusal("Forbidden", `${words} because its public network access is disabled.`);
  }
  if (topic.inboundIpRules.length === 0 || isAllowed(topic, request.remote)) return;
  const words = `Publishing to ${nameOf(topic, request)} by client ${request.remote} is rejected`;
  throw new Refusal("Forbidden", `${words} because of IpAddress filtering rules.`);
}

function nameOf(topic: Topic, { headers }: RequestHead): string {
  return (headers.host || topic.name).toString().toUpperCase();
}

/** A topic's record is a new value after each change, so a cache keyed by it cannot be stale. */
const allowedBy = new WeakMap<Topic, BlockList>();

function isAllowed(topic: Topic, remote: string): boolean {
  let allowed = allowedBy.get(topic);
  if (allowed === undefined) {
    allowed = listOf(topic.inboundIpRules);
    allowedBy.set(topic, allowed);
  }
  // A link-local address may be followed by the name of the link.
  const [address = ""] = remote.split("%", 1);
  const family = familyOf(address);
  return family !== null && allowed.check(address, family);
}

/** Rules are checked when they are written; an invalid one allows nobody. */
function listOf(rules: readonly string[]): BlockList {
  const list = new BlockList();
  for (const rule of rules) {
    const [address = "", length, ...rest] = rule.trim().split("/");
    const family = familyOf(address);
    if (family === null || rest.length > 0) continue;
    const bitsMax = family === "ipv4" ? 32 : 128;
    if (length === undefined) list.addAddress(address, family);
    else if (/^\d{1,3}$/.test(length) && Number(length) <= bitsMax) {
      list.addSubnet(address, Number(length), family);
    }
  }
  return list;
}

function familyOf(address: string): "ipv4" | "ipv6" | null {
  const version = isIP(address);
  return version === 0 ? null : version === 4 ? "ipv4" : "ipv6";
}
