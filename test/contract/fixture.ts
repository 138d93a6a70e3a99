// Topics, subscriptions, events, claims and settlements with sensible values, for the tests of
// every store: a test says only what it is about. The embedded store's front is opened here too,
// with nothing around it.

import type { Delivery, Queue } from "../../src/core/delivery/delivery.ts";
import type { Event } from "../../src/core/event.ts";
import type { Ledger, QueueCount } from "../../src/core/ledger.ts";
import type { Clock, Instant, Routed, Settlement, Want, WholeStore } from "../../src/core/ports.ts";
import { Refusal, type RefusalCode } from "../../src/core/refusal.ts";
import {
  plainSubscription,
  type SubscriptionDraft,
  type SubscriptionId,
} from "../../src/core/subscription.ts";
import { plainTopic, type TopicDraft } from "../../src/core/topic.ts";
import { type Engine, FrontStore } from "../../src/store/sqlite/front.ts";

export type { WholeStore };

export const startAt: Instant = Date.UTC(2021, 6, 1, 12);
export const leaseMs = 60_000;

const stillClock: Clock = { now: () => startAt, after: () => () => {} };

export function topicDraft(draft: Partial<TopicDraft> = {}): TopicDraft {
  return { ...plainTopic, name: "orders", key1: "one", key2: "two", origin: "api", ...draft };
}

export function subscriptionDraft(draft: Partial<SubscriptionDraft> = {}): SubscriptionDraft {
  return {
    ...plainSubscription,
    topic: "orders",
    name: "warehouse",
    destination: { kind: "webhook", url: "http://127.0.0.1:9/hook" },
    origin: "api",
    ...draft,
  };
}

/** Of what goes to a webhook; undefined for all else. */
export function urlIn(record: Pick<SubscriptionDraft, "destination"> | null | undefined) {
  return record?.destination.kind === "webhook" ? record.destination.url : undefined;
}

export function makeEvent(systemId: string, event: Partial<Event> = {}): Event {
  return {
    systemId,
    topic: "orders",
    publishedAt: startAt,
    schema: "EventGridSchema",
    dataVersion: "1.0",
    text: `{"id":"${systemId}"}`,
    envelope: null,
    trace: null,
    hops: 0,
    ...event,
  };
}

/** Events of these names, each for all of these subscriptions. */
export function routedTo(to: readonly SubscriptionId[], ...names: readonly string[]): Routed[] {
  return names.map((name) => ({ event: makeEvent(name), to }));
}

export function queueOf(subscription: SubscriptionId, stage: Queue["stage"] = "deliver"): Queue {
  return { subscription, stage };
}

export function want(over: Partial<Want> = {}): Want {
  return { max: 100, charsMax: 1_000_000, now: startAt, leaseMs, ...over };
}

export function refusal(code: RefusalCode): (error: unknown) => boolean {
  return (error) => error instanceof Refusal && error.code === code && error.message !== "";
}

/** The names of the events, in the order given. */
export function namesOf(deliveries: readonly Pick<Delivery, "event">[]): string[] {
  return deliveries.map(({ event }) => event.systemId);
}

/** The counts in an order of ours: the port promises none. */
export async function countsOf(store: Ledger): Promise<(Queue & { waiting: number })[]> {
  return (await timesOf(store)).map(({ subscription, stage, waiting }) => ({
    subscription,
    stage,
    waiting,
  }));
}

/** The same with their times. */
export async function timesOf(store: Ledger): Promise<QueueCount[]> {
  return (await store.counts()).toSorted(
    (a, b) => a.subscription - b.subscription || b.stage.localeCompare(a.stage),
  );
}

export function gone(delivery: Delivery): Settlement {
  return { kind: "gone", delivery: delivery.id, lease: delivery.lease };
}

export function back(delivery: Delivery): Settlement {
  return { kind: "back", delivery: delivery.id, lease: delivery.lease };
}

export type Due = Extract<Settlement, { kind: "due" }>;

/** One failed send, to be made again ten seconds after the start. */
export function due(delivery: Delivery, over: Partial<Due> = {}): Due {
  const { id, lease, stage, since, attempts, reason } = delivery;
  return {
    kind: "due",
    delivery: id,
    lease,
    at: startAt + 10_000,
    stage,
    since,
    attempts: attempts + 1,
    last: { at: startAt, number: attempts + 1, outcome: "Busy", status: 503 },
    reason,
    ...over,
  };
}

/** Rounds wait for company only where they are given a clock to do so. */
export function openFront(engine: Engine, clock?: Clock): FrontStore {
  return new FrontStore({
    engine,
    activity: { begin: () => () => {} },
    clock: clock ?? stillClock,
    gatherMs: clock === undefined ? 0 : 1,
    waitingCharsMax: 64 * 1024 * 1024,
    retryAfterMs: 1000,
  });
}
