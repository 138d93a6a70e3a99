// Keeps the dispatchers in line with the catalog: one for each queue of each active subscription.
// When a subscription is created, changed or deleted, the roster starts, replaces or stops its
// dispatchers and no others. A replaced dispatcher takes nothing new; its sends in flight end and
// settle by themselves, while the new one already works. The roster also knows what operators have
// closed.

import type { BatchPolicy } from "../core/delivery/batch.ts";
import { runningFlow } from "../core/delivery/flow.ts";
import { type HealthRules, healthyStart } from "../core/delivery/health.ts";
import type { Closure } from "../core/delivery/health-text.ts";
import { type PolicyDefaults, policyOf } from "../core/delivery/policy.ts";
import { type Profile, type ProfileName, profiles } from "../core/delivery/profile.ts";
import type { Instant, Sink, Stage, Wake } from "../core/ports.ts";
import type { Memos, Switchboard } from "../core/steering.ts";
import {
  type DeadLetterDestination,
  endpointKeyOf,
  endpointOf,
  type Subscription,
  type SubscriptionId,
} from "../core/subscription.ts";
import { type DispatchDeps, Dispatcher, type DispatcherOptions } from "./dispatcher.ts";
import { Endpoint } from "./endpoint.ts";
import { HealthMemory } from "./health-memory.ts";
import { SendBudget } from "./send-budget.ts";

export interface RosterOptions {
  readonly deps: DispatchDeps & { readonly store: Memos };
  readonly sink: Sink;
  /** Where dead letters go; null if there is no sink for them. */
  readonly deadLetterSink: Sink<DeadLetterDestination> | null;
  readonly profile: ProfileName;
  readonly defaults: PolicyDefaults;
  /** Sends in flight at one endpoint. */
  readonly sendsMax: number;
  /** To all endpoints together; without it there is no such bound. */
  readonly allSendsMax?: number | undefined;
  readonly health?: HealthRules;
  /** Called when the drain of a subscription has ended. */
  readonly onDrained?: (subscription: SubscriptionId) => void;
}

/** Dead letters of one subscription are collected into few blobs (L-3). */
const deadLetterBatch: BatchPolicy = { maxEvents: 1000, preferredBytes: 1024 * 1024 };
const deadLetterSendsMax = 2;

/** What the dispatchers of one subscription differ in. */
type QueueOptions = Pick<
  DispatcherOptions,
  "send" | "endpoint" | "batch" | "sendsMax" | "flowState" | "onEmpty"
> & { readonly stage: Stage };

/** An endpoint and its senders. */
interface SharedEndpoint {
  readonly key: string;
  readonly endpoint: Endpoint;
  users: number;
  /** The rates it allows, in requests a minute, by subscription. */
  readonly rates: Map<SubscriptionId, number>;
}

/** A subscription that is served. */
interface Served {
  /** As it was last put. */
  subscription: Subscription;
  /** What the dispatchers were started with: a change of any of it replaces them. */
  readonly profile: ProfileName;
  readonly terms: string;
  readonly shared: SharedEndpoint;
  readonly dispatchers: Readonly<Record<Stage, Dispatcher>>;
}

export class Roster implements Switchboard {
  readonly #options: RosterOptions;
  readonly #budget: SendBudget | undefined;
  readonly #served = new Map<SubscriptionId, Served>();
  /** Of deleted subscriptions: what writes their last dead letters (L-1). */
  readonly #retired = new Map<SubscriptionId, Dispatcher>();
  readonly #endpoints = new Map<string, SharedEndpoint>();
  readonly #closures = new Map<string, Closure>();
  readonly #healths: HealthMemory;
  /** Stopped dispatchers whose last sends are still in flight. */
  readonly #leaving = new Map<Dispatcher, Promise<void>>();
  #broken = 0;

  constructor(options: RosterOptions) {
    this.#options = options;
    const { allSendsMax } = options;
    if (allSendsMax !== undefined) this.#budget = new SendBudget(allSendsMax);
    this.#healths = new HealthMemory(options.deps);
    options.deps.store.onWake((wake) => this.#wake(wake));
  }

  /** Before the first subscription is put: which endpoints were unhealthy before a restart. */
  recall(): Promise<void> {
    return this.#healths.recall();
  }

  /** Dispatchers that a bug of ours has stopped. */
  get broken(): number {
    return this.#broken;
  }

  /**
   * Brings the dispatchers of one subscription in line with its record. Some changes do not concern
   * them: its handshake, its filter.
   */
  put(subscription: Subscription, topicProfile: ProfileName | null): void {
    const { id, isActive } = subscription;
    if (!isActive) {
      this.remove(id);
      return;
    }
    const profile = topicProfile ?? this.#options.profile;
    const served = this.#served.get(id);
    const isSameProfile = served?.profile === profile;
    if (isSameProfile && served.subscription === subscription) return;
    const terms = termsOf(subscription);
    if (isSameProfile && served.terms === terms) {
      served.subscription = subscription;
      served.dispatchers.deliver.steer(subscription);
      this.#setRate(served);
      return;
    }
    // Joined before the old ones leave: an endpoint that both use keeps its health and rate.
    const shared = this.#join(subscription, profile);
    if (served !== undefined) this.#dismiss(served);
    const dispatchers = this.#start(subscription, profile, shared.endpoint);
    const placed = { subscription, profile, terms, shared, dispatchers };
    this.#served.set(id, placed);
    this.#setRate(placed);
    if (served !== undefined) this.#leave(served);
  }

  remove(id: SubscriptionId): void {
    const served = this.#served.get(id);
    if (served === undefined) return;
    this.#served.delete(id);
    this.#dismiss(served);
    this.#leave(served);
  }

  /** It was deleted, and has dead letters that are yet to be written. */
  retire(subscription: Subscription, topicProfile: ProfileName | null): void {
    const { id } = subscription;
    if (this.#retired.has(id)) return;
    const profile = profiles[topicProfile ?? this.#options.profile];
    const dispatcher = this.#open(subscription, profile, {
      ...this.#deadLetterQueue(subscription),
      onEmpty: () => {
        if (this.#retired.delete(id)) this.#close(dispatcher);
      },
    });
    this.#retired.set(id, dispatcher);
  }

  // For operators.

  endpoints() {
    const byEndpoint = Map.groupBy(this.#served.values(), ({ shared }) => shared);
    return [...this.#endpoints.values()]
      .map((shared) => ({
        ...shared.endpoint.look(),
        subscriptions: (byEndpoint.get(shared) ?? []).map(({ subscription }) => subscription),
      }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  closures(): ReadonlyMap<string, Closure> {
    return this.#closures;
  }

  closeEndpoint(name: string, closure: Closure): void {
    this.#closures.set(name, closure);
    for (const endpoint of this.#named(name)) endpoint.closed(closure);
  }

  openEndpoint(name: string, order: "opened" | "reset", closure: Closure): void {
    this.#closures.delete(name);
    for (const endpoint of this.#named(name)) endpoint.opened(order, closure);
  }

  hold(id: SubscriptionId): () => void {
    return this.#served.get(id)?.dispatchers.deliver.hold() ?? (() => {});
  }

  hasten(id: SubscriptionId, dueAt: Instant | null): boolean {
    return this.#served.get(id)?.dispatchers.deliver.hasten(dueAt) ?? false;
  }

  /** One for each query, and with or without delayed delivery. */
  #named(name: string): readonly Endpoint[] {
    const all = [...this.#endpoints.values()].map(({ endpoint }) => endpoint);
    return all.filter((endpoint) => endpoint.look().name === name);
  }

  /** Sends in flight may end until the signal aborts; what is left then is due again. */
  async close(signal: AbortSignal): Promise<void> {
    const breakOff = () => {
      for (const dispatcher of this.#leaving.keys()) dispatcher.breakOff();
    };
    for (const served of this.#served.values()) this.#dismiss(served);
    for (const dispatcher of this.#retired.values()) this.#close(dispatcher);
    this.#served.clear();
    this.#retired.clear();
    if (signal.aborted) breakOff();
    else signal.addEventListener("abort", breakOff, { once: true });
    await Promise.all(this.#leaving.values());
    await this.#healths.close();
    signal.removeEventListener("abort", breakOff);
  }

  #wake({ queue, dueAt, deliveries }: Wake): void {
    const { subscription, stage } = queue;
    const retired = stage === "deadLetter" ? this.#retired.get(subscription) : undefined;
    const dispatcher = this.#served.get(subscription)?.dispatchers[stage] ?? retired;
    if (dispatcher !== undefined) {
      dispatcher.wake(dueAt, deliveries);
      return;
    }
    if (deliveries.length === 0) return;
    // Leased to a dispatcher that was stopped meanwhile. If this fails, the leases end by
    // themselves.
    this.#options.deps.store
      .settle(deliveries.map(({ id, lease }) => ({ kind: "back", delivery: id, lease })))
      .catch(() => {});
  }

  #dismiss({ dispatchers }: Served): void {
    for (const dispatcher of Object.values(dispatchers)) this.#close(dispatcher);
  }

  #close(dispatcher: Dispatcher): void {
    const left = dispatcher.close().then(() => void this.#leaving.delete(dispatcher));
    this.#leaving.set(dispatcher, left);
  }

  #start(
    subscription: Subscription,
    profileName: ProfileName,
    endpoint: Endpoint,
  ): Served["dispatchers"] {
    const { sink, sendsMax } = this.#options;
    const profile = profiles[profileName];
    return {
      deliver: this.#open(subscription, profile, {
        stage: "deliver",
        send: (parcel, limits) => sink.send(parcel, subscription.destination, limits),
        endpoint,
        batch: profile.batching ? subscription.batch : null,
        sendsMax,
        flowState: subscription,
      }),
      deadLetter: this.#open(subscription, profile, this.#deadLetterQueue(subscription)),
    };
  }

  #deadLetterQueue({ name, deadLetter }: Subscription): QueueOptions {
    const { deps, deadLetterSink } = this.#options;
    const isNowhere = deadLetterSink === null || deadLetter === null;
    return {
      stage: "deadLetter",
      send: isNowhere ? null : (parcel, limits) => deadLetterSink.send(parcel, deadLetter, limits),
      endpoint: quietEndpoint(`dead letters of ${name}`, deps),
      batch: deadLetterBatch,
      sendsMax: deadLetterSendsMax,
      // Dead letters are written even if the subscription is paused or its endpoint is unhealthy.
      flowState: runningFlow,
    };
  }

  #open(subscription: Subscription, profile: Profile, queue: QueueOptions): Dispatcher {
    const { deps, defaults, onDrained } = this.#options;
    return new Dispatcher({
      ...queue,
      queue: { subscription: subscription.id, stage: queue.stage },
      subscription: knownUnder(profile, subscription),
      policy: policyOf(subscription, profile, defaults),
      deps,
      onDrained: () => onDrained?.(subscription.id),
      onBroken: () => {
        this.#broken += 1;
      },
    });
  }

  /** Shared by all subscriptions that send to the same URL under the same rules. */
  #join({ destination }: Subscription, profile: ProfileName): SharedEndpoint {
    const { delayedDelivery } = profiles[profile];
    const key = `${delayedDelivery ? "delayed" : "plain"} ${endpointKeyOf(destination)}`;
    const shared = this.#endpoints.get(key) ?? {
      key,
      endpoint: this.#endpoint(key, endpointOf(destination), delayedDelivery),
      users: 0,
      rates: new Map<SubscriptionId, number>(),
    };
    shared.users += 1;
    this.#endpoints.set(key, shared);
    return shared;
  }

  #endpoint(key: string, name: string, delayedDelivery: boolean): Endpoint {
    const { sendsMax, health, deps } = this.#options;
    return new Endpoint({
      ...{ name, sendsMax, delayedDelivery, budget: this.#budget },
      ...(health !== undefined && { rules: health }),
      health: this.#healths.healthOf(key),
      trouble: this.#healths.troubleOf(key),
      onHealth: (state, trouble) => this.#healths.put(key, state, trouble),
      closures: this.#closures,
      ...deps,
    });
  }

  /** When its last sender leaves, the endpoint's state is dropped. */
  #leave({ subscription: { id }, shared }: Served): void {
    shared.users -= 1;
    if (shared.users === 0) {
      this.#endpoints.delete(shared.key);
      this.#healths.put(shared.key, healthyStart);
    }
    if (this.#served.get(id)?.shared !== shared && shared.rates.delete(id)) keepPace(shared);
  }

  #setRate({ subscription: { id, handshake }, shared }: Served): void {
    const rate = handshake?.allowedRate ?? undefined;
    if (rate === shared.rates.get(id)) return;
    if (rate === undefined) shared.rates.delete(id);
    else shared.rates.set(id, rate);
    keepPace(shared);
  }
}

/** Of several rates the slowest applies. */
function keepPace({ endpoint, rates }: SharedEndpoint): void {
  endpoint.setRate(rates.size === 0 ? null : rates.values().reduce((a, b) => Math.min(a, b)));
}

/** What a dispatcher uses of a subscription. */
function termsOf(subscription: Subscription): string {
  const { revision, state, handshake, filter, labels, expiresAt, origin, ...rest } = subscription;
  // For a pause or drain a dispatcher is steered, not replaced.
  const { flow, pauses, ...seen } = rest;
  return JSON.stringify(seen);
}

/** Dead-letter stores have a schedule and a limit of their own (L-4), and no health. */
function quietEndpoint(name: string, { clock, log }: DispatchDeps): Endpoint {
  return new Endpoint({ name, sendsMax: deadLetterSendsMax, delayedDelivery: false, clock, log });
}

/**
 * P-12: headers that the profile does not support are not sent, though the subscription has them.
 */
function knownUnder({ deliveryHeaders }: Profile, subscription: Subscription): Subscription {
  const isKnown = deliveryHeaders || subscription.headers.length === 0;
  return isKnown ? subscription : { ...subscription, headers: [] };
}
