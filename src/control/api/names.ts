// Names of subscriptions in Posthorn's own API: the topic and its own name in the path, and within
// a domain `?domainTopic=` as well. Names are case-insensitive.

import { Refusal } from "../../core/refusal.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import type { Subscription } from "../../core/subscription.ts";
import { shownAs } from "../../core/text/wording.ts";
import type { Topic } from "../../core/topic.ts";

/** The parameters of every operation on one subscription. */
export interface NamesSubscription {
  readonly params: { readonly topic: string; readonly name: string };
  readonly query: { readonly domainTopic?: string };
}

/** Refusal: NotFound. */
export function namedTopic(catalog: LiveCatalog, topic: string): Topic {
  const found = catalog.topic(topic);
  if (found !== undefined) return found;
  throw new Refusal("NotFound", `There is no topic ${shownAs(topic)}.`);
}

/** Refusal: NotFound. */
export function namedSubscription(
  catalog: LiveCatalog,
  { params: { topic, name }, query: { domainTopic = "" } }: NamesSubscription,
): Subscription {
  const found = catalog.named({ topic, domainTopic, name });
  if (found !== undefined) return found;
  const where = domainTopic === "" ? shownAs(topic) : shownAs(`${topic}/${domainTopic}`);
  throw new Refusal("NotFound", `There is no subscription ${shownAs(name)} of ${where}.`);
}
