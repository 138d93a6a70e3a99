// The notice to an endpoint when its subscription is deleted: once, without waiting for an answer,
// and only if it had agreed.

import { type AzureResources, noAzure, urlOf } from "../../core/azure/resources.ts";
import { type Ask, deletionNoticeOf, type Occasion } from "../../core/handshake/question.ts";
import type { Clock, Ids, Log } from "../../core/ports.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import { endpointOf, type Subscription, type SubscriptionTerms } from "../../core/subscription.ts";
import { localGroup, type Topic, topicArmId } from "../../core/topic.ts";

export interface OccasionDeps {
  readonly catalog: () => LiveCatalog;
  readonly clock: Clock;
  readonly ids: Ids;
  /** What the file says about functions; without it there are none. */
  readonly azure?: AzureResources;
}

/** What a request of our own to an endpoint is about. */
export function occasionOf(
  { catalog, ids, clock, azure = noAzure }: OccasionDeps,
  { topic, domainTopic, name }: Subscription,
  terms: SubscriptionTerms,
  gone?: Topic,
): Occasion {
  const found = gone ?? catalog().topic(topic);
  const parent = topicArmId(found ?? { kind: "topic", name: topic, place: localGroup });
  const topicId = domainTopic === null ? parent : `${parent}/topics/${domainTopic}`;
  // An unknown resource has no URL, and the sender reports that.
  const url = urlOf(terms.destination, azure) ?? "";
  return { name, terms, url, topicId, eventId: ids.next(), now: clock.now() };
}

export interface DeletionNotice {
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** The topic, if it was deleted together with its subscriptions. */
  readonly goneTopic?: Topic | undefined;
}

export async function sendDeletionNotice(
  deps: OccasionDeps & { readonly ask: Ask; readonly log: Log },
  subscription: Subscription,
  { goneTopic, ...limits }: DeletionNotice,
): Promise<void> {
  const { topic, name, destination } = subscription;
  const occasion = occasionOf(deps, subscription, subscription, goneTopic);
  const armId = `${occasion.topicId}/providers/Microsoft.EventGrid/eventSubscriptions/${name}`;
  const answer = await deps.ask({ ...deletionNoticeOf(occasion, armId), ...limits });
  deps.log.fact("info", "subscription.toldDeleted", {
    topic,
    subscription: name,
    endpoint: endpointOf(destination),
    ...(answer.kind === "answered" ? { status: answer.status } : { why: answer.why }),
  });
}
