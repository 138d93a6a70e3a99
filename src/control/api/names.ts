// How our own API names a subscription: by its topic and its own name in the path, and within a
// domain by `?domainTopic=` as well. Names are compared without regard to letter case.

import type { Catalog } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Request } from "../../core/request.ts";
import type { Subscription } from "../../core/subscription.ts";
import { shownAs } from "../../core/text/wording.ts";
import type { Topic } from "../../core/topic.ts";

/** The path of one subscription, to be continued by what is asked about it. */
export const subscriptionPath = "/api/v1/topics/:topic/subscriptions/:name";

/** Refusal: NotFound. */
export function namedTopic({ topics }: Catalog, { params }: Request): Topic {
  const { topic = "" } = params;
  const found = topics.find(({ name }) => isSame(name, topic));
  if (found !== undefined) return found;
  throw new Refusal("NotFound", `There is no topic ${shownAs(topic)}.`);
}

/** Refusal: NotFound. */
export function namedSubscription(
  { subscriptions }: Catalog,
  { params, query }: Request,
): Subscription {
  const { topic = "", name = "" } = params;
  const { domainTopic = "" } = query;
  const found = subscriptions.find(
    (one) =>
      isSame(one.topic, topic) &&
      isSame(one.name, name) &&
      isSame(one.domainTopic ?? "", domainTopic),
  );
  if (found !== undefined) return found;
  const where = domainTopic === "" ? shownAs(topic) : shownAs(`${topic}/${domainTopic}`);
  throw new Refusal("NotFound", `There is no subscription ${shownAs(name)} of ${where}.`);
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
