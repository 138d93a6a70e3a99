// How often brokers have passed an event on. A subscription whose endpoint is a topic, of this
// broker or of another, may lead back to where the event came from, and one event would loop for
// ever. A delivery that is a publish has a header with the count; at the limit the next topic
// refuses it as a bad request, so that it is not retried but dead-lettered by the subscription that
// closes the loop.
//
// Deliberately absent: loops through an application that publishes events of its own. Only those
// that pass the header on can be counted.

import { Refusal } from "../refusal.ts";
import type { SubscriptionDraft } from "../subscription.ts";
import { isSameName } from "../text/compare.ts";
import { splitTopicName } from "../topic.ts";

export const hopsHeader = "posthorn-hops";

/** Long enough for any intended chain of topics. */
export const hopsMax = 16;

/** 0 if there is no valid count. Refusal: EventLoop. */
export function hopsIn(header: string | readonly string[] | undefined): number {
  const hops = typeof header === "string" && /^\d{1,3}$/.test(header) ? Number(header) : 0;
  if (hops <= hopsMax) return hops;
  const words = `These events have been passed on from topic to topic ${hops} times`;
  throw new Refusal(
    "EventLoop",
    `${words}, and at most ${hopsMax} are allowed: they go in a circle.`,
  );
}

/**
 * Whether the request is a publish, to a topic or to one of a namespace; elsewhere nobody would
 * read the header. `path`: with the query.
 */
export function isPublishPath(path: string): boolean {
  // Asked for every delivery, and most are plain.
  if (!path.includes("%")) return /^[^?]*(?:\/events|:publish)\/*(?:\?|$)/i.test(path);
  const [own = ""] = path.split("?", 1);
  return /(?:\/events|:publish)\/*$/i.test(decoded(own));
}

/** As our router reads it; empty if it cannot be decoded. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return "";
  }
}

/** Whether its events are published to its own topic again, as far as the URL shows. */
export function leadsToItself({
  topic,
  destination,
}: Pick<SubscriptionDraft, "topic" | "destination">): boolean {
  if (destination.kind !== "webhook") return false;
  const path = decoded(URL.parse(destination.url)?.pathname ?? "");
  const [, plain] = /^\/+topics\/+([^/]+)\/+(?:api\/+)?events\/*$/i.exec(path) ?? [];
  if (plain !== undefined) return isSameName(plain, topic);
  const [, named, inside] =
    /^(?:\/+namespaces\/+([^/]+))?\/+topics\/+([^/]+):publish\/*$/i.exec(path) ?? [];
  const { namespace, topic: own } = splitTopicName(topic);
  if (inside === undefined || namespace === null) return false;
  return isSameName(inside, own) && isSameName(named ?? namespace, namespace);
}
