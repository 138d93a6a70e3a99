// How our own API names a subscription: by its topic and its own name in the path, and within a
// domain by `?domainTopic=` as well. Names are compared without regard to letter case.

import type { Catalog } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Request } from "../../core/request.ts";
import type { Subscription } from "../../core/subscription.ts";
import { checkInteger, type Range } from "../../core/text/check.ts";
import { isSameName } from "../../core/text/compare.ts";
import { shownAs } from "../../core/text/wording.ts";
import type { Topic } from "../../core/topic.ts";

/** The path of one subscription, to be continued by what is asked about it. */
export const subscriptionPath = "/api/v1/topics/:topic/subscriptions/:name";

/** Refusal: NotFound. */
export function namedTopic({ topics }: Catalog, { params }: Request): Topic {
  const { topic = "" } = params;
  const found = topics.find(({ name }) => isSameName(name, topic));
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
      isSameName(one.topic, topic) &&
      isSameName(one.name, name) &&
      isSameName(one.domainTopic ?? "", domainTopic),
  );
  if (found !== undefined) return found;
  const where = domainTopic === "" ? shownAs(topic) : shownAs(`${topic}/${domainTopic}`);
  throw new Refusal("NotFound", `There is no subscription ${shownAs(name)} of ${where}.`);
}

// What the routes of our own API share beside the names in their paths: headers, and numbers in a
// query.

/** With every answer: what is shown is of now. */
export const apiHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** A whole number in the query. Refusal: InvalidSetting. */
export function numberIn(
  { query }: Request,
  name: string,
  { usual, ...range }: Range & { readonly usual: number },
): number {
  const text = query[name];
  if (text === undefined) return usual;
  return checkInteger(/^\d{1,9}$/.test(text) ? Number(text) : text, name, range);
}
