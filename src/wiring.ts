// Joins the rooms on a given environment, real (broker.ts) or simulated (test/sim). Here is who
// knows whom: the catalog, the roster that serves it, the handshakes that change it, and
// publishing.

import { Calls } from "./control/cluster/calls.ts";
import { ClusterSwitchboard } from "./control/cluster/switchboard.ts";
import { Expiry } from "./control/expiry.ts";
import { Handshakes } from "./control/handshake/handshakes.ts";
import type { HandshakePort } from "./control/handshake/port.ts";
import { Operator } from "./control/operator.ts";
import type { AzureResources } from "./core/azure/resources.ts";
import { servingSlot } from "./core/cluster/slot.ts";
import type { HealthRules } from "./core/delivery/health.ts";
import type { PolicyDefaults } from "./core/delivery/policy.ts";
import type { ProfileName } from "./core/delivery/profile.ts";
import type { Sink } from "./core/delivery/sink.ts";
import { type HandshakeRules, handshakeRules } from "./core/handshake/handshake.ts";
import type { Ask, CallerUrl } from "./core/handshake/question.ts";
import type { Chance, Clock, Ids, Log, Meter, WholeStore } from "./core/ports.ts";
import type { Receivers, TokenReceivers } from "./core/pull/receivers.ts";
import type { Refusal } from "./core/refusal.ts";
import type { Route } from "./core/request.ts";
import type { Evaluations } from "./core/routing/audience.ts";
import { type CatalogChange, LiveCatalog } from "./core/routing/live-catalog.ts";
import { Directory } from "./core/routing/route.ts";
import type { Switchboard } from "./core/steering.ts";
import type { Chronicle } from "./core/story/chronicle.ts";
import type { DeadLetterDestination, Subscription, SubscriptionId } from "./core/subscription.ts";
import { splitTopicName } from "./core/topic.ts";
import type { Tracer } from "./core/tracing/span.ts";
import { PullReceivers } from "./dispatch/receivers.ts";
import { Roster, type TopicRules } from "./dispatch/roster.ts";
import { type ModulePublishDeps, modulePublishRoutes } from "./edge/publish.ts";
import { followCatalog } from "./follow-catalog.ts";
import { withNotices } from "./ingress/blob-notice.ts";
import { logTurnedAway, publishOwn, publishRoutes, topicRoutes } from "./ingress/publish.ts";
import { namespaceRoutes, type PullDeps, pullRoutes } from "./pull/routes.ts";
import { openTokenReceivers } from "./pull/token-receivers.ts";

/** Everything a broker needs. */
export interface Environment {
  readonly store: WholeStore;
  /** Why nothing can be written at present; without it, or null: it can. */
  readonly storeFailure?: () => string | null;
  readonly sink: Sink;
  readonly deadLetterSink: Sink<DeadLetterDestination> | null;
  /** What the file says about Azure resources; without it there are none. */
  readonly azure?: AzureResources;
  /** Without it there are neither handshakes nor deletion notices. */
  readonly ask?: Ask;
  /** Null when a bearer token may publish, otherwise why not. Without it none may. */
  readonly whyNoBearer?: (token: string) => Promise<string | null>;
  /** Whether it is a key of the IoT Edge module; without it there are none. */
  readonly isModuleKey?: (key: string) => boolean;
  readonly clock: Clock;
  /** Real time, where the clock is another one. */
  readonly patience?: Clock["after"];
  readonly chance: Chance;
  readonly ids: Ids;
  readonly log: Log;
  readonly meter: Meter;
  /** Without it no stories are kept. */
  readonly chronicle?: Chronicle;
  /** Without it nothing is recorded as a span. */
  readonly tracer?: Tracer;
}

/** The few settings the rooms need. */
export interface RoomRules {
  readonly profile: ProfileName;
  readonly auth: boolean;
  readonly defaults: PolicyDefaults;
  readonly endpointSendsMax: number;
  /** To all endpoints together; without it there is no such bound. */
  readonly allSendsMax?: number;
  /** When endpoints count as unhealthy. Default: the usual rules. */
  readonly health?: HealthRules;
  /** Null: every subscription is active at once, without a handshake. */
  readonly handshake?: HandshakeRules | null;
}

export interface Rooms {
  readonly routes: readonly Route[];
  /** Publishes an event of the broker itself; our own id of it. Refusals: those of a publish. */
  publishOwn(topic: string, event: object): Promise<string>;
  /** For a topic's own port. */
  routesOf(topic: string): readonly Route[];
  /** What was refused before routing, if it was a publish. */
  turnedAway(path: string, refusal: Refusal): void;
  /** Called with every change once it is in effect. */
  watch(listener: (change: CatalogChange) => void): void;
  readonly handshakes: HandshakePort;
  readonly operator: Operator;
  readonly receivers: Receivers;
  readonly tokenReceivers: TokenReceivers;
  /** Answers requests that wait for events, so that the listeners can close. */
  endWaits(): void;
  readonly calls: Calls;
  readonly switchboard: Switchboard;
  /** As it was last read. */
  catalog(): LiveCatalog;
  /** Who wants an event. */
  readonly directory: Pick<Directory, "entry">;
  /** How often each subscription's advanced filters were evaluated, since the start. */
  readonly evaluations: Evaluations;
  /** Continues the handshakes that a restart interrupted, once we can be reached. */
  resume(called: CallerUrl): Promise<void>;
  /** Resolves when every change of topics and subscriptions made before the call is in effect. */
  refresh(): Promise<void>;
  /** The same with the changes of other brokers; without them while the store is away. */
  catchUp(): Promise<void>;
  /** How many dispatchers a bug of ours has stopped. */
  stoppedDispatchers(): number;
  /** Null, or why publishes are not accepted. */
  whyNotReady(): string | null;
  /** Refuses new publishes and lets sends in flight end until the signal aborts. */
  close(signal: AbortSignal): Promise<void>;
}

const unasked: Ask = () => Promise.resolve({ kind: "noReply", why: "There are no handshakes." });

export async function assemble(deps: Environment, rules: RoomRules): Promise<Rooms> {
  const { store } = deps;
  const catalog = new LiveCatalog();
  const evaluations: Evaluations = new Map();
  const directory = new Directory(catalog, evaluations);
  const isMine = (subscription: Subscription) => store.ownership.isMine(servingSlot(subscription));
  const watchers: ((change: CatalogChange) => void)[] = [];
  let isClosing = false;
  const noticing = (sink: Sink<DeadLetterDestination>) =>
    withNotices(sink, { ...deps, directory, refresh: () => refresh() });
  const roster = new Roster({
    deps,
    sink: deps.sink,
    deadLetterSink: deps.deadLetterSink && noticing(deps.deadLetterSink),
    profile: rules.profile,
    defaults: rules.defaults,
    sendsMax: rules.endpointSendsMax,
    allSendsMax: rules.allSendsMax,
    ...(rules.health !== undefined && { health: rules.health }),
    onDrained: (subscription) => operator.drained(subscription),
    onGained: () => operator.recall(),
    // What expires and who is asked is the new owner's business, too.
    onServed: () => {
      serve(catalog.subscriptions);
      handshakes.noted(catalog.subscriptions);
    },
    onLost: () => handshakes.yieldLost(),
  });
  const rulesOfTopic = ({ topic }: Subscription): TopicRules =>
    catalog.topic(topic) ?? {
      profile: splitTopicName(topic).namespace === null ? null : "namespace",
    };
  /** What has expired is no longer served, though it may still be in the catalog. */
  const serve = (subscriptions: readonly Subscription[]) => {
    const { inForce, expired } = expiry.sift(subscriptions);
    for (const subscription of inForce) {
      directory.put(subscription);
      roster.put(subscription, rulesOfTopic(subscription));
      const topic = catalog.topic(subscription.topic);
      if (topic !== undefined) receivers.changed({ subscription, topic });
    }
    for (const subscription of expired) {
      directory.expire(subscription);
      roster.remove(subscription.id);
      receivers.removed(subscription);
    }
  };
  const receivers = new PullReceivers({
    ...{ deps, defaults: rules.defaults },
    patience: deps.patience,
  });
  const follower = followCatalog(async (changed) => {
    const read = await store.catalog(changed ?? undefined);
    if (isClosing) return;
    const change = catalog.update(changed, read);
    const { topics, subscriptions, gone } = change;
    for (const topic of gone.topics) directory.removeTopic(topic);
    for (const topic of topics) directory.putTopic(topic);
    for (const subscription of gone.subscriptions) {
      expiry.forget(subscription);
      handshakes.gone(subscription);
      directory.remove(subscription);
      roster.remove(subscription.id);
      receivers.removed(subscription);
    }
    for (const subscription of read.retired ?? []) {
      roster.retire(subscription, rulesOfTopic(subscription));
    }
    serve(subscriptions);
    // The profile is the topic's, and so is how long it keeps events.
    for (const topic of topics) {
      for (const subscription of directory.subscriptionsOf(topic.name)) {
        roster.put(subscription, topic);
        receivers.changed({ subscription, topic });
      }
    }
    handshakes.noted(subscriptions);
    const records = [topics, subscriptions, gone.topics, gone.subscriptions].flat();
    if (records.length > 0) for (const listener of watchers) listener(change);
  }, deps);
  const { refresh } = follower;
  const { ask = unasked } = deps;
  const calls = new Calls({ ...deps, ownership: store.ownership, peers: store.peers });
  const switchboard = new ClusterSwitchboard({
    ...deps,
    own: roster,
    calls,
    catalog: () => catalog,
  });
  const handshakes = new Handshakes({
    ...deps,
    registry: store,
    catalog: () => catalog,
    ask,
    isAsking: ask !== unasked && rules.handshake !== null,
    refresh,
    rules: rules.handshake ?? handshakeRules,
    isMine,
  });
  const expiry = new Expiry({
    ...deps,
    registry: store,
    siftAll: () => serve(catalog.subscriptions),
    notifyDeleted: (subscription) => handshakes.notifyDeleted(subscription),
    isMine,
  });
  const operator = new Operator({
    ...deps,
    catalog: () => catalog,
    refresh,
    switchboard,
    own: roster,
    calls,
  });
  // Before the first question: the store may go on with a removal that a restart interrupted.
  store.onDropped((subscription, count) => logDropped(deps, subscription, count));
  await operator.recall();
  await roster.recall();
  store.onChange(follower.note);
  follower.note(null);
  await refresh();
  roster.join();
  const tokenReceivers = openTokenReceivers({ receivers, catalog: () => catalog });
  const publishing: ModulePublishDeps & PullDeps = {
    ...deps,
    directory,
    refresh,
    catalog: () => catalog,
    tokenReceivers,
    auth: rules.auth,
    isOpen: () => !isClosing,
  };
  return {
    routes: [
      ...publishRoutes(publishing),
      ...modulePublishRoutes(publishing),
      ...pullRoutes(publishing),
      ...handshakes.routes,
    ],
    publishOwn: (topic, event) => publishOwn(publishing, topic, event),
    routesOf: (topic) =>
      catalog.topic(topic)?.kind === "namespace"
        ? namespaceRoutes(publishing, topic)
        : topicRoutes(publishing, topic),
    turnedAway: (path, refusal) => logTurnedAway(publishing, path, refusal),
    watch: (listener) => void watchers.push(listener),
    handshakes,
    operator,
    receivers,
    tokenReceivers,
    endWaits: () => receivers.close(),
    switchboard,
    calls,
    catalog: () => catalog,
    directory,
    evaluations,
    resume: (called) => handshakes.resume(called),
    refresh,
    async catchUp() {
      await store
        .catchUp?.()
        .then(refresh)
        .catch(() => {});
    },
    stoppedDispatchers: () => roster.broken,
    whyNotReady() {
      if (isClosing) return "The broker is stopping.";
      if (roster.broken > 0) return "A dispatcher has stopped; see dispatcher.broken in the log.";
      const failure = deps.storeFailure?.() ?? null;
      return failure === null ? null : `The store cannot write: ${failure}.`;
    },
    async close(signal) {
      isClosing = true;
      receivers.close();
      expiry.close();
      await handshakes.close();
      await follower.close();
      // Others go on with each slot as soon as nothing of it is in flight here.
      const left = store.ownership.leave();
      await roster.close(signal);
      await left;
    },
  };
}

function logDropped(deps: Environment, subscription: SubscriptionId, count: number): void {
  const { clock, log, meter, chronicle } = deps;
  const reason = "SubscriptionDeleted";
  const words = `${reason}: the subscription was removed while it waited; dropped`;
  const cleared = { subscription, stage: "deliver" as const, through: null, reason, words };
  chronicle?.note({ kind: "cleared", at: clock.now(), ...cleared });
  meter.count("posthorn_dropped_events_total", { reason }, count);
  log.fact(count > 0 ? "warn" : "info", "deliveries.dropped", { subscription, count, reason });
}
