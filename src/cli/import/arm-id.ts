// What an ARM id names, as far as Event Grid goes. Ids are compared without regard to letter case,
// and what is sent to the broker keeps its own.

export type Kind = "topic" | "domain" | "domainTopic" | "subscription";

export interface Address {
  readonly kind: Kind;
  /** Short, for people: `orders`, `shop/eu`, `orders/billing`. */
  readonly label: string;
  /** Of what a subscription listens to; of anything else its own. */
  readonly sourceId: string;
}

const group = "/subscriptions/[^/]+/resourceGroups/[^/]+";
const provider = "/providers/Microsoft\\.EventGrid";
const source = "(?:topics/([^/]+)|domains/([^/]+)(?:/topics/([^/]+))?)";
const sourceForm = new RegExp(`^${group}${provider}/${source}$`, "i");
const subscriptionForm = new RegExp(`^(.+?)(?:${provider})?/eventSubscriptions/([^/]+)$`, "i");

/** Null for what Event Grid does not have, or has and we do not. */
export function addressOf(id: string): Address | null {
  const own = sourceForm.exec(id);
  if (own !== null) {
    const [, topic, domain, domainTopic] = own;
    if (topic !== undefined) return { kind: "topic", label: topic, sourceId: id };
    if (domainTopic === undefined) return { kind: "domain", label: `${domain}`, sourceId: id };
    return { kind: "domainTopic", label: `${domain}/${domainTopic}`, sourceId: id };
  }
  const [, sourceId = "", name = ""] = subscriptionForm.exec(id) ?? [];
  if (name === "") return null;
  const of = sourceForm.test(sourceId) ? addressOf(sourceId)?.label : lastOf(sourceId);
  return { kind: "subscription", label: `${of}/${name}`, sourceId };
}

function lastOf(id: string): string {
  return id.split("/").at(-1) ?? id;
}

/** The group an id is in; null for one that is in none. */
export function groupOf(
  id: string,
): { readonly subscriptionId: string; readonly resourceGroup: string } | null {
  const [, subscriptionId, resourceGroup] =
    /^\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\//i.exec(id) ?? [];
  if (subscriptionId === undefined || resourceGroup === undefined) return null;
  return { subscriptionId, resourceGroup };
}

/** What stands after the group and its `/providers/`: `Microsoft.EventGrid/topics/orders`. */
export function pathInGroup(id: string): string {
  return id.replace(/^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\//i, "");
}
