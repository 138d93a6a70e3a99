// The Event Grid resource that an ARM id names. Ids are case-insensitive, and keep their case when
// sent to the broker.

export type Kind =
  | "topic"
  | "domain"
  | "domainTopic"
  | "namespace"
  | "namespaceTopic"
  | "subscription";

export interface Address {
  readonly kind: Kind;
  /** A short name: `orders`, `shop/eu`, `orders/billing`, `shop/orders/billing`. */
  readonly label: string;
  /** Of a subscription its source; of anything else its own. */
  readonly sourceId: string;
}

const group = "/subscriptions/[^/]+/resourceGroups/[^/]+";
const provider = "/providers/Microsoft\\.EventGrid";
const source =
  "(?:topics/([^/]+)|domains/([^/]+)(?:/topics/([^/]+))?|namespaces/([^/]+)(?:/topics/([^/]+))?)";
const sourceForm = new RegExp(`^${group}${provider}/${source}$`, "i");
const subscriptionForm = new RegExp(`^(.+?)(?:${provider})?/eventSubscriptions/([^/]+)$`, "i");

/** Null for what Event Grid does not have, or Posthorn does not support. */
export function addressOf(id: string): Address | null {
  const own = sourceForm.exec(id);
  if (own !== null) {
    const [, topic, domain, domainTopic, namespace, namespaceTopic] = own;
    if (topic !== undefined) return { kind: "topic", label: topic, sourceId: id };
    if (namespaceTopic !== undefined) {
      return { kind: "namespaceTopic", label: `${namespace}/${namespaceTopic}`, sourceId: id };
    }
    if (namespace !== undefined) return { kind: "namespace", label: namespace, sourceId: id };
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

/** The resource group of an id; null if it has none. */
export function groupOf(
  id: string,
): { readonly subscriptionId: string; readonly resourceGroup: string } | null {
  const [, subscriptionId, resourceGroup] =
    /^\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\//i.exec(id) ?? [];
  if (subscriptionId === undefined || resourceGroup === undefined) return null;
  return { subscriptionId, resourceGroup };
}

/** The part after the group and `/providers/`: `Microsoft.EventGrid/topics/orders`. */
export function pathInGroup(id: string): string {
  return id.replace(/^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\//i, "");
}
