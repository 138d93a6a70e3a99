// Metrics that are read on request: waiting deliveries and their age, endpoint health, numbers of
// topics and subscriptions. They cost nothing until then.
//
// Endpoints are identified by their subscriptions and not by their URL, whose path may contain a
// secret: the metrics are for everybody who reaches the port.

import type { EndpointView } from "../core/api/views.ts";
import type { Ledger, QueueCount } from "../core/ledger.ts";
import type { Clock, Instant, Sample } from "../core/ports.ts";
import type { Pull } from "../core/pull/pull-store.ts";
import type { Receivers } from "../core/pull/receivers.ts";
import type { Catalog } from "../core/registry.ts";
import type { Subscription, SubscriptionId } from "../core/subscription.ts";

export interface GaugeDeps {
  readonly ledger: Ledger;
  readonly catalog: () => Catalog;
  readonly endpoints: () => Promise<readonly EndpointView[]>;
  /** How often each subscription's advanced filters were evaluated. */
  readonly evaluations: ReadonlyMap<SubscriptionId, { readonly count: number }>;
  readonly clock: Clock;
  readonly whyNotReady: () => string | null;
  /** Of pull queues: what is locked, and who waits. */
  readonly pull?: Pick<Pull, "locked">;
  readonly receivers?: Pick<Receivers, "waiting">;
}

const stages = ["deliver", "deadLetter"] as const;

/** If the store does not answer, its metrics are left out: the rest may show why. */
export async function readGauges(deps: GaugeDeps): Promise<readonly Sample[]> {
  const { topics, subscriptions } = deps.catalog();
  const [queues, endpoints] = await Promise.all([
    deps.ledger.counts().catch(() => null),
    deps.endpoints().catch(() => []),
  ]);
  return [
    one("posthorn_ready", deps.whyNotReady() === null ? 1 : 0),
    one("posthorn_topics", topics.length),
    one("posthorn_subscriptions", subscriptions.length),
    ...(queues === null ? [] : ofQueues(queues, subscriptions, deps.clock.now())),
    ...(await ofPull(deps, subscriptions)),
    ...ofFilters(deps.evaluations, subscriptions),
    ...endpoints.flatMap(ofEndpoint),
    one(
      "posthorn_sends_under_way",
      endpoints.reduce((sum, each) => sum + each.sendsUnderWay, 0),
    ),
  ];
}

function one(name: string, value: number): Sample {
  return { name, labels: {}, value };
}

/** Empty queues are included; those of dead letters only where there may be some. */
function ofQueues(
  queues: readonly QueueCount[],
  subscriptions: readonly Subscription[],
  now: Instant,
): readonly Sample[] {
  const found = new Map(queues.map((queue) => [`${queue.subscription}/${queue.stage}`, queue]));
  return subscriptions.flatMap((subscription) =>
    stages.flatMap((stage) => {
      const queue = found.get(`${subscription.id}/${stage}`);
      const hasNone = stage === "deadLetter" && subscription.deadLetter === null;
      if (queue === undefined && hasNone) return [];
      const labels = { ...labelsOf(subscription), stage };
      const ageMs = queue === undefined ? 0 : Math.max(0, now - queue.oldestAt);
      return [
        { name: "posthorn_waiting_events", labels, value: queue?.waiting ?? 0 },
        { name: "posthorn_oldest_waiting_seconds", labels, value: ageMs / 1000 },
      ];
    }),
  );
}

async function ofPull(
  { pull, receivers, clock }: GaugeDeps,
  subscriptions: readonly Subscription[],
): Promise<readonly Sample[]> {
  const fetched = subscriptions.filter(({ destination }) => destination.kind === "pull");
  if (fetched.length === 0 || pull === undefined) return [];
  const ids = fetched.map(({ id }) => id);
  const locked = await pull.locked(ids, clock.now()).catch(() => []);
  const waiting = receivers?.waiting();
  return fetched.flatMap((subscription, index) => {
    const labels = labelsOf(subscription);
    const wait = { name: "posthorn_waiting_receivers", labels };
    const count = locked[index];
    return [
      { ...wait, value: waiting?.get(subscription.id) ?? 0 },
      ...(count === undefined ? [] : [{ name: "posthorn_locked_events", labels, value: count }]),
    ];
  });
}

function ofFilters(
  evaluations: GaugeDeps["evaluations"],
  subscriptions: readonly Subscription[],
): readonly Sample[] {
  return subscriptions.flatMap((subscription) => {
    const count = evaluations.get(subscription.id)?.count;
    if (count === undefined) return [];
    const { subscription: name = "", ...rest } = labelsOf(subscription);
    const labels = { ...rest, event_subscription_name: name };
    return [{ name: "eventgrid_advanced_filter_evaluation_count_total", labels, value: count }];
  });
}

/** Only the current state: many zeroes would add nothing. */
function ofEndpoint({ subscriptions }: EndpointView): readonly Sample[] {
  return subscriptions.map((subscription) => ({
    name: "posthorn_endpoint_state",
    labels: { ...labelsOf(subscription), state: subscription.health.kind },
    value: 1,
  }));
}

/** Within a domain a name is not enough. */
function labelsOf({
  topic,
  domainTopic,
  name,
}: Pick<Subscription, "topic" | "domainTopic" | "name">): Readonly<Record<string, string>> {
  return { topic, subscription: name, ...(domainTopic !== null && { domain_topic: domainTopic }) };
}
