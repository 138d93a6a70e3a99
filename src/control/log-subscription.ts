// The log entries about a subscription that was written or deleted, by any API or file.

import type { Log } from "../core/ports.ts";
import { leadsToItself } from "../core/routing/hops.ts";
import type { SubscriptionDraft } from "../core/subscription.ts";

/** `origin`: who asked for it. */
export function logSubscription(
  log: Log,
  subscription: SubscriptionDraft,
  { change, origin }: { change: "created" | "updated" | "removed"; origin: "api" | "file" },
): void {
  const { topic, domainTopic, name, state } = subscription;
  const names = { topic, ...(domainTopic !== null && { domainTopic }), subscription: name };
  log.fact("info", "subscription.changed", { ...names, change, state, origin });
  if (change !== "removed" && leadsToItself(subscription)) {
    const words = "its endpoint publishes to its own topic: every event comes back until the limit";
    log.fact("warn", "subscription.loops", { ...names, words });
  }
}
