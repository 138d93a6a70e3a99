// How often brokers have passed an event on. A subscription whose endpoint is a topic again, of
// this broker or of another, may lead back to where the event came from, and one event would go
// round for ever. A publish that we make of a delivery says in a header how often that has
// happened; at the limit the next topic refuses it as a bad request, so that it is not retried but
// goes to the dead letters of the subscription that closes the circle.
//
// Deliberately absent: loops through an application that publishes events of its own. Only who
// passes the header on can be counted.

import { Refusal } from "../refusal.ts";
import type { SubscriptionDraft } from "../subscription.ts";
import { isSameName } from "../text/compare.ts";

export const hopsHeader = "posthorn-hops";

/** Long enough for any chain of topics that somebody means. */
export const hopsMax = 16;

/** 0 where nothing, or nothing that can be a count, is said. Refusal: EventLoop. */
export function hopsIn(header: string | readonly string[] | undefined): number {
  const hops = typeof header === "string" && /^\d{1,3}$/.test(header) ? Number(header) : 0;
  if (hops <= hopsMax) return hops;
  const words = `These events have been passed on from topic to topic ${hops} times`;
  throw new Refusal(
    "EventLoop",
    `${words}, and at most ${hopsMax} are allowed: they go in a circle.`,
  );
}

/** Whether what is posted there is a publish; elsewhere nobody would read the header. */
export function isPublishPath(path: string): boolean {
  return /\/events\/?(\?|$)/i.test(path);
}

/** Whether its events are published to its own topic again, as far as its URL tells. */
export function leadsToItself({
  topic,
  destination,
}: Pick<SubscriptionDraft, "topic" | "destination">): boolean {
  if (destination.kind !== "webhook") return false;
  const path = URL.parse(destination.url)?.pathname ?? "";
  const name = /^\/+topics\/+([^/]+)\/+(?:api\/+)?events\/*$/i.exec(path)?.[1] ?? "";
  return isSameName(name, topic);
}
