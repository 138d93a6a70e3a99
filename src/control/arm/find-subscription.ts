// Finds subscriptions: from the source in a path to the records of the catalog.

import { parseStorageId } from "../../core/azure/storage.ts";
import { Refusal } from "../../core/refusal.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import type { Subscription } from "../../core/subscription.ts";
import { isSameName } from "../../core/text/compare.ts";
import { localGroup, type Topic, topicArmId } from "../../core/topic.ts";
import { findDomainTopic, needDomain, needDomainTopic } from "./domains.ts";
import { type ArmContext, findTopic, needTopic, refuseMissing } from "./find-topic.ts";
import type { Named, Source } from "./path.ts";

/** A subscription's source: its topic or domain, and within a domain perhaps one topic. */
export interface SubscriptionParent {
  readonly topic: Topic;
  readonly domainTopic: string | null;
}

/** The source of a subscription; undefined when there is no such topic. */
export function findParent(catalog: LiveCatalog, source: Source): SubscriptionParent | undefined {
  switch (source.kind) {
    case "foreign": {
      const topic = findStorage(catalog, source.id);
      return topic && { topic, domainTopic: null };
    }
    case "domainTopic": {
      const domain = findTopic(catalog, { ...source, kind: "domain", name: source.domain });
      const domainTopic = domain && findDomainTopic(catalog, domain, source.name);
      return domainTopic === undefined ? undefined : { topic: domain as Topic, domainTopic };
    }
    default: {
      const topic = findTopic(catalog, source);
      return topic && { topic, domainTopic: null };
    }
  }
}

/**
 * An account that the file knows by its name alone matches in every group, and is shown in the
 * requested one.
 */
function findStorage(catalog: LiveCatalog, id: string): Topic | undefined {
  const asked = parseStorageId(id);
  if (asked === null || asked.container !== null) return undefined;
  const found = catalog.topic(asked.account);
  if (found?.kind !== "storage") return undefined;
  if (isSameName(topicArmId(found), id)) return found;
  const { place } = found;
  const isAnywhere =
    place.subscriptionId === localGroup.subscriptionId &&
    place.resourceGroup === localGroup.resourceGroup;
  return isAnywhere ? { ...found, place: { ...place, ...asked.group } } : undefined;
}

/** Refusals: NotFound, InvalidSetting for what has no events here. */
export function parentToBe(catalog: LiveCatalog, source: Source): SubscriptionParent {
  if (source.kind === "foreign") {
    const words = "scope must be a topic, a domain, a topic of a domain or a storage account";
    const message = `${words} of this broker, and is ${source.id}`;
    throw new Refusal("InvalidSetting", message, { target: "scope" });
  }
  if (source.kind !== "domainTopic")
    return { topic: needTopic(catalog, source), domainTopic: null };
  return { topic: needDomain(catalog, source), domainTopic: source.name };
}

export async function needParent(context: ArmContext, source: Source): Promise<SubscriptionParent> {
  const parent = findParent(context.catalog(), source);
  if (parent !== undefined || source.kind !== "domainTopic") {
    return parent ?? parentToBe(context.catalog(), source);
  }
  const { domain, name } = await needDomainTopic(context, source);
  return { topic: domain, domainTopic: name };
}

export function findSubscription(
  catalog: LiveCatalog,
  { topic, domainTopic }: SubscriptionParent,
  name: string,
): Subscription | undefined {
  return catalog.named({ topic: topic.name, domainTopic, name });
}

export interface Found {
  readonly topic: Topic;
  readonly subscription: Subscription;
}

export function findNamed(catalog: LiveCatalog, { source, name }: Named): Found | undefined {
  const parent = findParent(catalog, source);
  const subscription = parent && findSubscription(catalog, parent, name);
  return parent && subscription && { topic: parent.topic, subscription };
}

/** Refusal: NotFound. */
export function needSubscription(catalog: LiveCatalog, named: Named): Found {
  const found = findNamed(catalog, named);
  if (found === undefined) throw refuseMissing(named.source, named.name);
  return found;
}
