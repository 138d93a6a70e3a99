// Topics and subscriptions for operators: the active settings with defaults filled in, the waiting
// deliveries, and the endpoint's health. ARM's view of them is at ARM's own routes.

import type {
  EndpointView,
  FlowView,
  HealthView,
  Page,
  SubscriptionView,
  TopicView,
} from "../../core/api/views.ts";
import { type PolicyDefaults, policyOf } from "../../core/delivery/policy.ts";
import { type ProfileName, profiles } from "../../core/delivery/profile.ts";
import type { Ledger, QueueCount } from "../../core/ledger.ts";
import { ListChanges } from "../../core/list-changes.ts";
import type { Clock } from "../../core/ports.ts";
import { defaultsUnder } from "../../core/pull/pull-rules.ts";
import type { Pull } from "../../core/pull/pull-store.ts";
import type { Receivers } from "../../core/pull/receivers.ts";
import type { Request } from "../../core/request.ts";
import { baseUrlOf } from "../../core/request.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import { endpointOf, type Subscription, type SubscriptionId } from "../../core/subscription.ts";
import { isSameName } from "../../core/text/compare.ts";
import { isoInstant } from "../../core/text/time.ts";
import { publishPathOf, type Topic, topicArmId } from "../../core/topic.ts";
import { subscriptionArmId } from "../arm/render.ts";
import { healthIn } from "./endpoints.ts";
import { namedSubscription, namedTopic } from "./names.ts";
import type { Handlers } from "./serve.ts";

export interface CatalogDeps {
  readonly clock: Clock;
  readonly catalog: () => LiveCatalog;
  readonly ledger: Ledger;
  readonly profile: ProfileName;
  readonly defaults: PolicyDefaults;
  readonly endpoints: () => Promise<readonly EndpointView[]>;
  /** Of pull queues: what is locked, and who waits. */
  readonly pull?: Pick<Pull, "locked">;
  readonly receivers?: Pick<Receivers, "waiting">;
}

export function catalogHandlers(
  deps: CatalogDeps,
): Pick<
  Handlers,
  "listTopics" | "listSubscriptions" | "listSubscriptionsOfTopic" | "showSubscription"
> {
  const run = deps.clock.now().toString(36);
  const seen = new ListChanges<SubscriptionView>(run, ({ armId }) => armId);
  return {
    listTopics: async ({ request }) => whole(await topicViews(deps, request)),
    async listSubscriptions({ query }) {
      const views = await viewsOf(deps, deps.catalog().subscriptions);
      const { items, ...changes } = seen.answer(views, query.since);
      return { value: items, next: null, ...changes };
    },
    async listSubscriptionsOfTopic({ params }) {
      const { name } = namedTopic(deps.catalog(), params.topic);
      const own = deps.catalog().subscriptions.filter(({ topic }) => isSameName(topic, name));
      return whole(await viewsOf(deps, own));
    },
    showSubscription: async (asked) => viewOf(deps, namedSubscription(deps.catalog(), asked)),
  };
}

/** There are never so many that they need pages. */
function whole<T>(value: readonly T[]): Page<T> {
  return { value, next: null };
}

async function topicViews(deps: CatalogDeps, request: Request): Promise<TopicView[]> {
  const { topics, subscriptions } = deps.catalog();
  const waiting = new Map<number, number>();
  for (const { subscription, stage, ...count } of await deps.ledger.counts()) {
    if (stage === "deliver") waiting.set(subscription, count.waiting);
  }
  const base = baseUrlOf(request);
  return topics.flatMap((topic) => {
    const { kind } = topic;
    // A namespace has no events of its own: its topics have.
    if (kind === "namespace") return [];
    const own = subscriptions.filter((each) => isSameName(each.topic, topic.name));
    return {
      name: topic.name,
      kind,
      armId: topicArmId(topic),
      endpoint: `${base}${publishPathOf(topic)}`,
      inputSchema: topic.inputSchema,
      profile: topic.profile ?? deps.profile,
      isOwnProfile: topic.profile !== null,
      subscriptions: own.length,
      waiting: own.reduce((sum, { id }) => sum + (waiting.get(id) ?? 0), 0),
      origin: topic.origin,
    };
  });
}

export async function viewOf(
  deps: CatalogDeps,
  subscription: Subscription,
): Promise<SubscriptionView> {
  const [view] = await viewsOf(deps, [subscription]);
  return view as SubscriptionView;
}

async function viewsOf(
  deps: CatalogDeps,
  subscriptions: readonly Subscription[],
): Promise<SubscriptionView[]> {
  const topics = new Map(deps.catalog().topics.map((topic) => [topic.name.toLowerCase(), topic]));
  const counts = new Map<string, QueueCount>();
  for (const count of await deps.ledger.counts()) {
    counts.set(`${count.subscription} ${count.stage}`, count);
  }
  const healthOf = healthIn(await deps.endpoints());
  const locked = await lockedIn(deps, subscriptions);
  return subscriptions.flatMap((subscription) => {
    const topic = topics.get(subscription.topic.toLowerCase());
    if (topic === undefined) return [];
    const { id } = subscription;
    const health = healthOf(subscription) ?? untried;
    return {
      ...termsOf(deps, subscription, topic),
      ...waitingOf(counts.get(`${id} deliver`), counts.get(`${id} deadLetter`), health),
      queue: queueOf(subscription, {
        waiting: counts.get(`${id} deliver`)?.waiting ?? 0,
        locked: locked.get(id) ?? 0,
        receivers: deps.receivers?.waiting().get(id) ?? 0,
      }),
      flow: flowOf(subscription),
      health,
    };
  });
}

async function lockedIn(
  { pull, clock }: CatalogDeps,
  subscriptions: readonly Subscription[],
): Promise<ReadonlyMap<SubscriptionId, number>> {
  const ids = subscriptions
    .filter(({ destination }) => destination.kind === "pull")
    .map(({ id }) => id);
  if (ids.length === 0 || pull === undefined) return new Map();
  const counts = await pull.locked(ids, clock.now());
  return new Map(ids.map((id, index) => [id, counts[index] ?? 0]));
}

function queueOf(
  { destination }: Subscription,
  now: { readonly waiting: number; readonly locked: number; readonly receivers: number },
): SubscriptionView["queue"] {
  if (destination.kind !== "pull") return null;
  const { waiting, locked, receivers } = now;
  const available = Math.max(0, waiting - locked);
  return { lockMs: destination.lockMs, locked, available, receivers };
}

type Terms = Omit<
  SubscriptionView,
  keyof ReturnType<typeof waitingOf> | "flow" | "health" | "queue"
>;

function termsOf(deps: CatalogDeps, subscription: Subscription, topic: Topic): Terms {
  const profile = profiles[topic.profile ?? deps.profile];
  const policy = policyOf(subscription, profile, defaultsUnder(profile, topic, deps.defaults));
  const { destination } = subscription;
  return {
    topic: topic.name,
    domainTopic: subscription.domainTopic,
    name: subscription.name,
    armId: subscriptionArmId(topic, subscription, "scope"),
    provisioningState: subscription.state,
    isActive: subscription.isActive,
    destination: { kind: destination.kind, endpoint: endpointOf(destination) },
    deliverySchema: subscription.deliverySchema,
    profile: profile.name,
    policy: {
      maxDeliveryAttempts: policy.attemptsMax,
      ttlMs: policy.ttlMs,
      waitMs: profile.waitMs,
      scheduleMs: profile.scheduleMs,
      deadLetters: policy.deadLetter,
    },
  };
}

function waitingOf(
  deliver: QueueCount | undefined,
  deadLetter: QueueCount | undefined,
  { until }: HealthView,
) {
  const heldUntil = until === null ? 0 : Date.parse(until);
  return {
    waiting: deliver?.waiting ?? 0,
    waitingDeadLetters: deadLetter?.waiting ?? 0,
    oldestAt: deliver === undefined ? null : isoInstant(deliver.oldestAt),
    nextDueAt: deliver === undefined ? null : isoInstant(Math.max(deliver.nextDueAt, heldUntil)),
  };
}

function flowOf({ flow }: Subscription): FlowView {
  return flow.kind === "paused" ? { kind: "paused", since: isoInstant(flow.since) } : flow;
}

/** An endpoint that nothing has been sent to. */
const untried: HealthView = {
  kind: "healthy",
  words: "Nothing has been sent to it yet.",
  failures: 0,
  until: null,
};
