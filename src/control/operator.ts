// What an operator does while the broker runs: pauses, resumes and drains subscriptions, skips or
// hastens waiting deliveries, closes and opens endpoints. The rules are in core/delivery/flow.ts;
// the dispatchers are reached through the switchboard.
//
// A pause is part of the subscription's record, and every write names the revision it was made
// from, so that none is lost. A closed endpoint is a memo in the store. So both survive a restart.
// Everything done here is logged.
//
// Among several brokers, what is done to a subscription is done by the one that serves it,
// whichever was asked: it has the dispatchers.

import { servingSlot } from "../core/cluster/slot.ts";
import type { Queue } from "../core/delivery/delivery.ts";
import { type Flow, type FlowState, goOn, pause } from "../core/delivery/flow.ts";
import type { Closure } from "../core/delivery/health-text.ts";
import type { Clock, Instant, Log, Meter, WholeStore } from "../core/ports.ts";
import { Refusal } from "../core/refusal.ts";
import type { LiveCatalog } from "../core/routing/live-catalog.ts";
import type { OwnSwitchboard, SkipStep, Switchboard } from "../core/steering.ts";
import type { Chronicle } from "../core/story/chronicle.ts";
import { endpointOf, type Subscription, type SubscriptionId } from "../core/subscription.ts";
import { isoInstant } from "../core/text/time.ts";
import { shownAs } from "../core/text/wording.ts";
import type { Calls } from "./cluster/calls.ts";
import { retryStale } from "./stale-write.ts";

export interface OperatorDeps {
  readonly store: WholeStore;
  /** As it was last read. */
  readonly catalog: () => LiveCatalog;
  readonly refresh: () => Promise<void>;
  readonly switchboard: Switchboard;
  /** What this broker serves. */
  readonly own: OwnSwitchboard;
  readonly calls: Calls;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  readonly chronicle?: Pick<Chronicle, "note">;
}

/** To do something to a subscription; it may come from another broker. */
interface Order {
  readonly id: SubscriptionId;
  readonly perSecond?: number;
  /** One event of those that wait; null: all. */
  readonly event?: string | null;
}

type Verb = "pause" | "resume" | "drain" | "skip" | "hasten";

/** The kind of memo for closed endpoints. */
const closureMemo = "endpoint.closed";

export class Operator {
  readonly #deps: OperatorDeps;
  /** Subscriptions whose drain is just being ended. */
  readonly #drained = new Set<SubscriptionId>();

  /** What is done to a subscription, where it is served. */
  readonly #acts = {
    pause: ({ id }: Order) => this.#steer(id, "subscription.paused", pause),
    resume: ({ id }: Order) =>
      this.#steer(id, "subscription.resumed", (flowState, now) =>
        flowState.flow.kind === "running" ? flowState : goOn(flowState, { kind: "running" }, now),
      ),
    drain: ({ id, perSecond = 1 }: Order) => this.#drain(id, perSecond),
    skip: ({ id }: Order) => this.#skip(id),
    hasten: ({ id, event = null }: Order) => this.#hasten(id, event),
  };

  constructor(deps: OperatorDeps) {
    this.#deps = deps;
    for (const [verb, act] of Object.entries(this.#acts)) deps.calls.answer<Order>(verb, act);
  }

  /**
   * Before anything is sent: what was closed before a restart stays closed; and what other brokers
   * have closed and opened while this one did not hear of it.
   */
  async recall(): Promise<void> {
    const { own, store } = this.#deps;
    const memos = await store.notes(closureMemo);
    for (const { key, record } of memos) {
      const { at = 0, because = "" } = record as Partial<Closure>;
      if (!own.closures().has(key)) own.closeEndpoint(key, { at, because });
    }
    const isClosed = new Set(memos.map(({ key }) => key));
    for (const name of [...own.closures().keys()]) {
      if (!isClosed.has(name)) own.openEndpoint(name, "opened", this.#order("at another broker"));
    }
  }

  // Subscriptions. Refusals of all: NotFound, Conflict (others write all the time).

  pause(id: SubscriptionId): Promise<Subscription> {
    return this.#act<Subscription>("pause", { id });
  }

  resume(id: SubscriptionId): Promise<Subscription> {
    return this.#act<Subscription>("resume", { id });
  }

  drain(id: SubscriptionId, perSecond: number): Promise<Subscription> {
    return this.#act<Subscription>("drain", { id, perSecond });
  }

  /**
   * Drops the waiting deliveries; later ones are delivered. Sends in flight are not aborted, and
   * their results no longer count. Refusal: Unavailable, when the disk fails midway; it says how
   * many were dropped.
   */
  skip(id: SubscriptionId): Promise<number> {
    return this.#act<number>("skip", { id });
  }

  /**
   * Makes the waiting deliveries due now, or one of them, ahead of all others. At an unhealthy
   * endpoint the next send is the probe. Refusals: Conflict, while it is paused or its endpoint
   * closed; NotFound, when that event does not wait there.
   */
  hasten(id: SubscriptionId, event: string | null): Promise<number> {
    return this.#act<number>("hasten", { id, event });
  }

  async #act<T>(verb: Verb, order: Order): Promise<T> {
    const { calls } = this.#deps;
    const owner = await calls.ownerElsewhere(servingSlot(this.#need(order.id)));
    if (owner !== null) return await calls.ask<T>(owner, verb, order);
    return (await this.#acts[verb](order)) as T;
  }

  #drain(id: SubscriptionId, perSecond: number): Promise<Subscription> {
    const flow: Flow = { kind: "draining", perSecond };
    return this.#steer(id, "subscription.draining", (flowState, now) => {
      const isSame = flowState.flow.kind === "draining" && flowState.flow.perSecond === perSecond;
      return isSame ? flowState : goOn(flowState, flow, now);
    });
  }

  /** From the dispatcher: nothing is due any more, so the drain can end. */
  drained(id: SubscriptionId): void {
    if (this.#drained.has(id)) return;
    this.#drained.add(id);
    this.#steer(id, "subscription.drained", (flowState, now) =>
      flowState.flow.kind === "draining" ? goOn(flowState, { kind: "running" }, now) : flowState,
    )
      .catch((error) => {
        // It goes on draining, and the next time nothing is due it is tried again.
        this.#deps.log.fact("warn", "subscription.undrained", { error: String(error) });
      })
      .finally(() => this.#drained.delete(id));
  }

  async #steer(
    id: SubscriptionId,
    fact: string,
    change: (flowState: FlowState, now: Instant) => FlowState,
  ): Promise<Subscription> {
    const { store, refresh, clock, log } = this.#deps;
    return await retryStale(async () => {
      const record = this.#need(id);
      const changed = change(record, clock.now());
      if (changed === record) return record;
      const { id: _id, revision, ...draft } = record;
      const { flow, pauses } = changed;
      const written = await store.putSubscription({ ...draft, flow, pauses }, revision);
      await refresh();
      const rate = flow.kind === "draining" ? { perSecond: flow.perSecond } : {};
      log.fact("info", fact, { ...namesOf(written), ...rate });
      return written;
    }, refresh);
  }

  async #skip(id: SubscriptionId): Promise<number> {
    const { store, own } = this.#deps;
    const subscription = this.#need(id);
    const release = own.hold(id);
    let count = 0;
    let through: number | null = null;
    try {
      for (let next: SkipStep | null | undefined; next !== null; ) {
        const step = await store.skip({ subscription: id, stage: "deliver" }, next ?? null);
        count += step.dropped;
        next = step.next;
        through ??= next?.through ?? null;
      }
      return count;
    } catch (error) {
      const words = `The store failed after ${count} were skipped; the rest still waits. Try again.`;
      throw new Refusal("Unavailable", words, { cause: error });
    } finally {
      release();
      this.#logSkipped(subscription, count, through);
    }
  }

  #logSkipped(subscription: Subscription, count: number, through: number | null): void {
    const { log, meter, clock, chronicle } = this.#deps;
    const reason = "Skipped";
    const names = namesOf(subscription);
    const labels = { topic: names.topic, subscription: names.subscription, reason };
    if (count > 0) meter.count("posthorn_dropped_events_total", labels, count);
    log.fact(count > 0 ? "warn" : "info", "deliveries.dropped", { ...names, count, reason });
    if (count === 0) return;
    chronicle?.note({
      ...{ kind: "cleared", at: clock.now(), subscription: subscription.id, stage: "deliver" },
      ...{ through, reason, words: "Skipped: an operator dropped what waited" },
    });
  }

  async #hasten(id: SubscriptionId, systemId: string | null): Promise<number> {
    const { store, own, clock, log } = this.#deps;
    const subscription = this.#need(id);
    this.#refuseHeld(subscription);
    const now = clock.now();
    const queue: Queue = { subscription: id, stage: "deliver" };
    const event = systemId === null ? null : await this.#find(systemId);
    let count = 0;
    for (let isOver = false; !isOver; ) {
      const step = await store.hasten(queue, { event, now });
      count += step.hastened;
      isOver = step.isOver;
    }
    if (systemId !== null && count === 0) throw refuseUnwaiting(systemId);
    const isTested = own.hasten(id, count > 0 ? now : null);
    const names = namesOf(subscription);
    const which = systemId === null ? {} : { event: systemId };
    log.fact("info", "deliveries.hastened", { ...names, ...which, count, tested: isTested });
    if (event !== null) await this.#logHastened(subscription, event, now);
    return count;
  }

  #refuseHeld({ name, flow, destination }: Subscription): void {
    if (flow.kind === "paused") {
      const words = `The subscription '${name}' is paused since ${isoInstant(flow.since)}`;
      throw new Refusal("Conflict", `${words}: nothing is sent until it is resumed.`);
    }
    const endpoint = endpointOf(destination);
    if (!this.#deps.switchboard.closures().has(endpoint)) return;
    const words = `The endpoint ${endpoint} is closed: nothing is sent until it is opened.`;
    throw new Refusal("Conflict", words);
  }

  async #find(systemId: string): Promise<number> {
    for (let after: number | null = 0; after !== null; ) {
      const { event, next }: { event: number | null; next: number | null } =
        await this.#deps.store.find(systemId, after);
      if (event !== null) return event;
      after = next;
    }
    throw refuseUnwaiting(systemId);
  }

  async #logHastened(subscription: Subscription, event: number, at: Instant): Promise<void> {
    const { store, chronicle } = this.#deps;
    if (chronicle === undefined) return;
    const [delivery = null] = await store.look([{ event, subscription: subscription.id }]);
    if (delivery === null) return;
    const words = "An operator asked for an attempt now";
    const nextDueAt = delivery.dueAt;
    chronicle.note({ kind: "steered", at, subscription, delivery, words, nextDueAt });
  }

  // Endpoints.

  /** Nothing is sent there until it is opened or reset. Refusal: NotFound. */
  async close(endpoint: string, because: string): Promise<void> {
    const { store, switchboard } = this.#deps;
    this.#refuseUnknown(endpoint);
    const closure = switchboard.closures().get(endpoint) ?? this.#order(because);
    await store.putMemo(closureMemo, endpoint, closure);
    this.#logOrder("closed", endpoint, because);
    await switchboard.closeEndpoint(endpoint, closure);
  }

  /** Sends may begin at once, whatever its state was. Refusal: NotFound. */
  open(endpoint: string, because: string): Promise<void> {
    return this.#reopen(endpoint, "opened", because);
  }

  /** Opened, and its history is cleared. Refusal: NotFound. */
  reset(endpoint: string, because: string): Promise<void> {
    return this.#reopen(endpoint, "reset", because);
  }

  async #reopen(endpoint: string, order: "opened" | "reset", because: string): Promise<void> {
    this.#refuseUnknown(endpoint);
    await this.#deps.store.putMemo(closureMemo, endpoint, null);
    this.#logOrder(order, endpoint, because);
    await this.#deps.switchboard.openEndpoint(endpoint, order, this.#order(because));
  }

  #order(because: string): Closure {
    return { at: this.#deps.clock.now(), because };
  }

  #refuseUnknown(endpoint: string): void {
    const { subscriptions } = this.#deps.catalog();
    if (this.#deps.switchboard.closures().has(endpoint)) return;
    if (subscriptions.some(({ destination }) => endpointOf(destination) === endpoint)) return;
    throw new Refusal("NotFound", `No subscription has the endpoint ${shownAs(endpoint)}.`);
  }

  #logOrder(order: "closed" | "opened" | "reset", endpoint: string, because: string): void {
    const why = because === "" ? {} : { because };
    this.#deps.log.fact("info", `endpoint.${order}`, { endpoint, ...why });
  }

  #need(id: SubscriptionId): Subscription {
    const found = this.#deps.catalog().subscription(id);
    if (found !== undefined) return found;
    throw new Refusal("NotFound", "There is no such subscription any more.");
  }
}

function refuseUnwaiting(systemId: string): Refusal {
  const words = `The event ${shownAs(systemId)} does not wait for the subscription.`;
  return new Refusal("NotFound", words);
}

function namesOf({ topic, domainTopic, name }: Subscription) {
  return { topic, ...(domainTopic !== null && { domainTopic }), subscription: name };
}
