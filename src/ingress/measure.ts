// What is counted and measured of publishes, under labels that are made once and kept. Only
// existing topics are labels: clients may ask for any name.

import type { Published } from "../core/event.ts";
import type { Meter, Routed } from "../core/ports.ts";
import type { RefusalCode } from "../core/refusal.ts";
import type { DirectoryEntry } from "../core/routing/route.ts";
import type { Subscription } from "../core/subscription.ts";
import type { Topic } from "../core/topic.ts";

type Labels = Readonly<Record<string, string>>;

/** A record is a new value after each change, so a cache keyed by it cannot be stale. */
const ofTopics = new WeakMap<Topic, Labels>();
const ofSubscriptions = new WeakMap<Subscription, Labels>();

export interface Accepted {
  readonly entry: DirectoryEntry;
  readonly published: readonly Published[];
  readonly routed: readonly Routed[];
  /** From the request to the commit. */
  readonly tookMs: number;
}

export function measureAccepted(meter: Meter, accepted: Accepted): void {
  const { entry, published, routed, tookMs } = accepted;
  const labels = labelsOf(entry.topic);
  meter.count("posthorn_published_events_total", labels, published.length);
  meter.observe?.("eventgrid_publish_success_latency_seconds", labels, tookMs / 1000);
  let deliveries = 0;
  for (const { to } of routed) {
    deliveries += to.length;
    for (const id of to) {
      const subscription = entry.subscription(id);
      if (subscription === undefined) continue;
      meter.count("eventgrid_matched_event_count_total", labelsOfSubscription(subscription));
    }
  }
  if (deliveries > 0) meter.count("posthorn_matched_deliveries_total", labels, deliveries);
  const unmatched = published.length - routed.length;
  if (unmatched > 0) meter.count("posthorn_unmatched_events_total", labels, unmatched);
}

export function measureRefused(
  meter: Meter,
  topic: Topic | undefined,
  code: RefusalCode | "Internal",
): void {
  const label = topic?.name ?? "unknown";
  meter.count("posthorn_publish_refused_total", { topic: label, code });
}

function labelsOf(topic: Topic): Labels {
  const known = ofTopics.get(topic);
  if (known !== undefined) return known;
  const labels = { topic: topic.name };
  ofTopics.set(topic, labels);
  return labels;
}

function labelsOfSubscription(subscription: Subscription): Labels {
  const known = ofSubscriptions.get(subscription);
  if (known !== undefined) return known;
  const { topic, domainTopic, name } = subscription;
  const labels = {
    topic,
    ...(domainTopic !== null && { domain_topic: domainTopic }),
    event_subscription_name: name,
  };
  ofSubscriptions.set(subscription, labels);
  return labels;
}
