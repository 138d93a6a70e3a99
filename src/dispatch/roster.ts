// Keeps the dispatchers in line with the catalog: one for each queue of each active subscription.
// When a subscription is created, changed or deleted, the roster starts, replaces or stops its
// dispatchers and no others. A replaced dispatcher takes nothing new; its sends in flight end and
// settle by themselves, while the new one already works.
//
// Among several brokers, the one that owns a subscription's slot serves it (core/cluster). The
// roster knows all subscriptions, starts what is gained and stops what is lost. A subscription
// whose destination now belongs to another slot is handed over when its sends in flight have ended.

import type { Ownership, SlotListener } from "../core/cluster/ownership.ts";
import { homeSlot, type Slot, servingSlot } from "../core/cluster/slot.ts";
import type { BatchPolicy } from "../core/delivery/batch.ts";
import type { Stage } from "../core/delivery/delivery.ts";
import { runningFlow } from "../core/delivery/flow.ts";
import type { HealthRules } from "../core/delivery/health.ts";
import type { Closure } from "../core/delivery/health-text.ts";
import { type PolicyDefaults, policyOf } from "../core/delivery/policy.ts";
import { type Profile, type ProfileName, profiles } from "../core/delivery/profile.ts";
import type { Sink } from "../core/delivery/sink.ts";
import type { Instant, Wake } from "../core/ports.ts";
import { defaultsUnder, pullRulesOf } from "../core/pull/pull-rules.ts";
import type { Pull } from "../core/pull/pull-store.ts";
import type { Memos, OwnSwitchboard } from "../core/steering.ts";
import type { DeadLetterDestination, Subscription, SubscriptionId } from "../core/subscription.ts";
import { sleep } from "../core/text/time.ts";
import { type DispatchDeps, Dispatcher, type DispatcherOptions } from "./dispatcher.ts";
import { Endpoint } from "./endpoint.ts";
import { EndpointPool, type SharedEndpoint } from "./endpoint-pool.ts";
import { HealthMemory } from "./health-memory.ts";
import { QueueKeeper } from "./queue-keeper.ts";
import { SlotLoads } from "./slot-loads.ts";
import { storeRetryMs } from "./underway.ts";

export interface RosterOptions {
  readonly deps: DispatchDeps & {
    readonly store: Memos & Pull & { readonly ownership: Ownership };
  };
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
  /** Before anything of new slots is served: what operators have closed is read again. */
  readonly onGained?: () => Promise<void>;
  /** New slots are served. */
  readonly onServed?: () => void;
  /** Some slots are not served any more. */
  readonly onLost?: () => void;
}

/** Dead letters of one subscription are collected into few blobs (L-3). */
const deadLetterBatch: BatchPolicy = { maxEvents: 1000, preferredBytes: 1024 * 1024 };
const deadLetterSendsMax = 2;

/** What the dispatchers of one subscription differ in. */
type QueueOptions = Pick<
  DispatcherOptions,
  "send" | "endpoint" | "batch" | "sendsMax" | "flowState" | "onEmpty"
> & { readonly stage: Stage };

/** What a subscription takes over from its topic. */
export interface TopicRules {
  readonly profile: ProfileName | null;
  readonly retentionDays?: number | undefined;
}

/** Who serves one queue: it sends what waits there, or keeps it for those who fetch. */
type QueueServer = Pick<Dispatcher, "wake" | "steer" | "hold" | "hasten" | "close" | "breakOff">;

/** A subscription as it was last put, whoever serves it. */
interface Known {
  readonly subscription: Subscription;
  readonly topic: TopicRules;
  /** Deleted, with dead letters that are yet to be written (L-1). */
  readonly isRetired: boolean;
}

/** A subscription that is served. */
interface Served {
  /** As it was last put. */
  subscription: Subscription;
  /** What the dispatchers were started with: a change of any of it replaces them. */
  readonly profile: ProfileName;
  readonly retentionDays: number | undefined;
  readonly terms: string;
  /** Null: nothing is sent, and clients fetch. */
  readonly shared: SharedEndpoint | null;
  readonly dispatchers: Readonly<Record<Stage, QueueServer>>;
}

/** Of whom a dispatcher was, and when nothing of it is in flight any more. */
interface Leaving {
  readonly id: SubscriptionId;
  readonly slot: Slot;
  readonly left: Promise<void>;
}

export class Roster implements OwnSwitchboard, SlotListener {
  readonly #options: RosterOptions;
  readonly #ownership: Ownership;
  readonly #known = new Map<SubscriptionId, Known>();
  readonly #served = new Map<SubscriptionId, Served>();
  /** Of deleted subscriptions: what writes their last dead letters (L-1). */
  readonly #retired = new Map<
    SubscriptionId,
    { subscription: Subscription; dispatcher: Dispatcher }
  >();
  readonly #pool: EndpointPool;
  readonly #healths: HealthMemory;
  readonly #loads: SlotLoads;
  /** Stopped dispatchers whose last sends are still in flight. */
  readonly #leaving = new Map<QueueServer, Leaving>();
  /** Gained, while what is known of their endpoints is read. */
  readonly #unready = new Set<Slot>();
  /** Subscriptions that are being handed over. */
  readonly #handing = new Set<SubscriptionId>();
  readonly #closing = new AbortController();
  #broken = 0;

  constructor(options: RosterOptions) {
    this.#options = options;
    const { deps, sendsMax, allSendsMax, health: rules } = options;
    this.#ownership = deps.store.ownership;
    this.#healths = new HealthMemory(deps);
    this.#pool = new EndpointPool({ deps, healths: this.#healths, sendsMax, allSendsMax, rules });
    this.#loads = new SlotLoads(deps.clock.now());
    deps.store.onWake((wake) => this.#wake(wake));
  }

  /** Before the first subscription is put: which endpoints were unhealthy before a restart. */
  recall(): Promise<void> {
    return this.#healths.recall((slot) => this.#ownership.isMine(slot));
  }

  /** Dispatchers that a bug of ours has stopped. */
  get broken(): number {
    return this.#broken;
  }

  /**
   * Brings the dispatchers of one subscription in line with its record. Some changes do not concern
   * them: its handshake, its filter.
   */
  put(subscription: Subscription, topic: TopicRules): void {
    const { id, isActive } = subscription;
    if (!isActive) {
      this.remove(id);
      return;
    }
    const known = { subscription, topic, isRetired: false };
    this.#known.set(id, known);
    this.#serve(known);
  }

  remove(id: SubscriptionId): void {
    this.#known.delete(id);
    this.#stop(id, (shared) => this.#pool.leave(shared));
  }

  /** It was deleted, and has dead letters that are yet to be written. */
  retire(subscription: Subscription, topic: TopicRules): void {
    const known = { subscription, topic, isRetired: true };
    this.#known.set(subscription.id, known);
    this.#serve(known);
  }

  #serve(known: Known): void {
    const { subscription, isRetired } = known;
    const { id } = subscription;
    const slot = servingSlot(subscription);
    if (this.#closing.signal.aborted || !this.#isMine(slot)) {
      this.#stop(id, (shared) => this.#pool.handOn(shared));
      return;
    }
    if (isRetired) this.#serveRetired(known);
    else if (slot === homeSlot(subscription)) this.#serveActive(known);
    else void this.#handOver(known);
  }

  #isMine(slot: Slot): boolean {
    return this.#ownership.isMine(slot) && !this.#unready.has(slot);
  }

  #serveActive({ subscription, topic }: Known): void {
    const { id } = subscription;
    const { retentionDays } = topic;
    const profile = topic.profile ?? this.#options.profile;
    const served = this.#served.get(id);
    const isSameTopic = served?.profile === profile && served.retentionDays === retentionDays;
    if (isSameTopic && served.subscription === subscription) return;
    const terms = termsOf(subscription);
    if (isSameTopic && served.terms === terms) {
      served.subscription = subscription;
      served.dispatchers.deliver.steer(subscription);
      this.#setRate(served);
      return;
    }
    // Joined before the old ones leave: an endpoint that both use keeps its health and rate.
    const isPulled = subscription.destination.kind === "pull";
    const shared = isPulled ? null : this.#pool.join(subscription, profile);
    if (served !== undefined) this.#dismiss(served);
    const dispatchers = {
      deliver: this.#start(subscription, topic, shared?.endpoint),
      deadLetter: this.#open(subscription, topic, this.#deadLetterQueue(subscription)),
    };
    const placed = { subscription, profile, retentionDays, terms, shared, dispatchers };
    this.#served.set(id, placed);
    this.#setRate(placed);
    if (served?.shared != null) {
      if (served.shared !== shared) this.#pool.setRate(served.shared, id, undefined);
      this.#pool.leave(served.shared);
    }
  }

  #serveRetired({ subscription, topic }: Known): void {
    const { id } = subscription;
    if (this.#retired.has(id)) return;
    const dispatcher = this.#open(subscription, topic, {
      ...this.#deadLetterQueue(subscription),
      onEmpty: () => {
        this.#known.delete(id);
        if (this.#retired.delete(id)) this.#close(dispatcher, subscription);
      },
    });
    this.#retired.set(id, { subscription, dispatcher });
  }

  /** Its dispatchers take nothing more; `leave`: what becomes of its endpoint. */
  #stop(id: SubscriptionId, leave: (shared: SharedEndpoint) => void): void {
    const retired = this.#retired.get(id);
    if (retired !== undefined) {
      this.#retired.delete(id);
      this.#close(retired.dispatcher, retired.subscription);
    }
    const served = this.#served.get(id);
    if (served === undefined) return;
    this.#served.delete(id);
    this.#dismiss(served);
    if (served.shared !== null) {
      this.#pool.setRate(served.shared, id, undefined);
      leave(served.shared);
    }
  }

  /** When nothing of it is in flight any more, the owner of its new endpoint's slot serves it. */
  async #handOver({ subscription: { id } }: Known): Promise<void> {
    this.#stop(id, (shared) => this.#pool.leave(shared));
    if (this.#handing.has(id)) return;
    this.#handing.add(id);
    const { clock, log } = this.#options.deps;
    await this.#left((leaving) => leaving.id === id);
    for (;;) {
      const subscription = this.#known.get(id)?.subscription;
      if (subscription === undefined || this.#closing.signal.aborted) break;
      const home = homeSlot(subscription);
      const slot = servingSlot(subscription);
      if (slot === home || !this.#isMine(slot)) break;
      try {
        await this.#ownership.handOver(id, home);
        break;
      } catch (error) {
        log.fact("warn", "store.failed", { verb: "handOver", error: String(error) });
        await sleep(clock, storeRetryMs, this.#closing.signal);
      }
    }
    this.#handing.delete(id);
  }

  // As the slots of this broker change.

  /** From now on it is told what it owns. */
  join(): void {
    this.#ownership.listen(this);
  }

  gained(slots: readonly Slot[], loads: ReadonlyMap<Slot, number>): void {
    for (const slot of slots) {
      this.#unready.add(slot);
      this.#loads.inherit(slot, loads.get(slot) ?? 0);
    }
    void this.#ready(slots);
  }

  async #ready(slots: readonly Slot[]): Promise<void> {
    const { deps, onGained } = this.#options;
    const isNew = new Set(slots);
    while (!this.#closing.signal.aborted) {
      try {
        await this.#healths.recall((slot) => isNew.has(slot));
        await onGained?.();
        break;
      } catch (error) {
        deps.log.fact("warn", "store.failed", { verb: "notes", error: String(error) });
        await sleep(deps.clock, storeRetryMs, this.#closing.signal);
      }
    }
    for (const slot of slots) this.#unready.delete(slot);
    for (const known of this.#known.values()) {
      if (isNew.has(servingSlot(known.subscription))) this.#serve(known);
    }
    this.#options.onServed?.();
  }

  async release(slots: readonly Slot[]): Promise<void> {
    this.#stopSlots(slots);
    await this.#left(({ slot }) => slots.includes(slot));
    await this.#healths.written();
  }

  lost(slots: readonly Slot[]): void {
    this.#stopSlots(slots);
    for (const [dispatcher, { slot }] of this.#leaving) {
      if (slots.includes(slot)) dispatcher.breakOff();
    }
  }

  loads(): ReadonlyMap<Slot, number> {
    return this.#loads.rates(this.#options.deps.clock.now());
  }

  #stopSlots(slots: readonly Slot[]): void {
    const isGone = new Set(slots);
    for (const slot of slots) this.#loads.forget(slot);
    this.#options.onLost?.();
    for (const { subscription } of this.#known.values()) {
      if (!isGone.has(servingSlot(subscription))) continue;
      this.#stop(subscription.id, (shared) => this.#pool.handOn(shared));
    }
  }

  /** Also those that were replaced before, by dispatchers of other terms. */
  async #left(isMeant: (leaving: Leaving) => boolean): Promise<void> {
    await Promise.all([...this.#leaving.values()].filter(isMeant).map(({ left }) => left));
  }

  // For operators.

  /** Those of this broker. */
  endpoints() {
    const byEndpoint = Map.groupBy(this.#served.values(), ({ shared }) => shared);
    return this.#pool
      .all()
      .map((shared) => ({
        ...shared.endpoint.look(),
        subscriptions: (byEndpoint.get(shared) ?? []).map(({ subscription }) => subscription),
      }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  closures(): ReadonlyMap<string, Closure> {
    return this.#pool.closures();
  }

  closeEndpoint(name: string, closure: Closure): void {
    this.#pool.close(name, closure);
  }

  openEndpoint(name: string, order: "opened" | "reset", closure: Closure): void {
    this.#pool.reopen(name, order, closure);
  }

  hold(id: SubscriptionId): () => void {
    return this.#served.get(id)?.dispatchers.deliver.hold() ?? (() => {});
  }

  hasten(id: SubscriptionId, dueAt: Instant | null): boolean {
    return this.#served.get(id)?.dispatchers.deliver.hasten(dueAt) ?? false;
  }

  /** Sends in flight may end until the signal aborts; what is left then is due again. */
  async close(signal: AbortSignal): Promise<void> {
    const breakOff = () => {
      for (const dispatcher of this.#leaving.keys()) dispatcher.breakOff();
    };
    this.#closing.abort();
    for (const served of this.#served.values()) this.#dismiss(served);
    for (const one of this.#retired.values()) this.#close(one.dispatcher, one.subscription);
    this.#served.clear();
    this.#retired.clear();
    if (signal.aborted) breakOff();
    else signal.addEventListener("abort", breakOff, { once: true });
    await this.#left(() => true);
    await this.#healths.close();
    signal.removeEventListener("abort", breakOff);
  }

  #wake({ queue, dueAt, deliveries }: Wake): void {
    const { subscription, stage } = queue;
    const retired =
      stage === "deadLetter" ? this.#retired.get(subscription)?.dispatcher : undefined;
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

  #dismiss({ dispatchers, subscription }: Served): void {
    for (const dispatcher of Object.values(dispatchers)) this.#close(dispatcher, subscription);
  }

  #close(dispatcher: QueueServer, subscription: Subscription): void {
    const left = dispatcher.close().then(() => void this.#leaving.delete(dispatcher));
    this.#leaving.set(dispatcher, { id: subscription.id, slot: servingSlot(subscription), left });
  }

  #start(
    subscription: Subscription,
    topic: TopicRules,
    endpoint: Endpoint | undefined,
  ): QueueServer {
    const { deps, defaults, sink, sendsMax } = this.#options;
    const { destination } = subscription;
    if (destination.kind === "pull" || endpoint === undefined) {
      const rules = pullRulesOf(subscription, topic, defaults);
      return new QueueKeeper({ subscription, rules, deps, onBroken: this.#onBroken });
    }
    return this.#open(subscription, topic, {
      stage: "deliver",
      send: (parcel, limits) => sink.send(parcel, destination, limits),
      endpoint,
      batch: this.#profileOf(topic).batching ? subscription.batch : null,
      sendsMax,
      flowState: subscription,
    });
  }

  #profileOf({ profile }: TopicRules): Profile {
    return profiles[profile ?? this.#options.profile];
  }

  readonly #onBroken = () => {
    this.#broken += 1;
  };

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

  #open(subscription: Subscription, topic: TopicRules, queue: QueueOptions): Dispatcher {
    const { deps, onDrained } = this.#options;
    const profile = this.#profileOf(topic);
    const defaults = defaultsUnder(profile, topic, this.#options.defaults);
    const slot = servingSlot(subscription);
    return new Dispatcher({
      ...queue,
      isOurs: () => this.#ownership.isMine(slot),
      onSend: (deliveries) => this.#loads.count(slot, deliveries),
      queue: { subscription: subscription.id, stage: queue.stage },
      subscription: knownUnder(profile, subscription),
      policy: policyOf(subscription, profile, defaults),
      deps,
      onDrained: () => onDrained?.(subscription.id),
      onBroken: this.#onBroken,
    });
  }

  #setRate({ subscription: { id, handshake }, shared }: Served): void {
    if (shared !== null) this.#pool.setRate(shared, id, handshake?.allowedRate ?? undefined);
  }
}

/** What a dispatcher uses of a subscription. */
function termsOf(subscription: Subscription): string {
  const { revision, slot, state, handshake, filter, labels, expiresAt, origin, ...rest } =
    subscription;
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
