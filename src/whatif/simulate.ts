// What would happen to an event, and to a backlog behind it, during an outage: the real
// dispatchers, on a memory store, a clock of their own and scripted endpoints. Nothing is sent, and
// nothing of a running broker is touched.
//
// The same request gives the same result. With a seed, the attempts are those of a broker with that
// seed whose subscription is called `simulated`, for as long as nothing else is sent to its
// endpoint. Assumed: the broker itself takes no time, and events are published one by one.

import { simulateBacklogRange } from "../core/api/orders.ts";
import type { Simulation } from "../core/api/views.ts";
import type { HealthRules } from "../core/delivery/health.ts";
import type { Outcome } from "../core/delivery/outcome.ts";
import type { PolicyDefaults } from "../core/delivery/policy.ts";
import type { Sink } from "../core/delivery/sink.ts";
import type { Event } from "../core/event.ts";
import type { Chance, Instant } from "../core/ports.ts";
import { Refusal } from "../core/refusal.ts";
import {
  type DeadLetterDestination,
  type PushDestination,
  plainSubscription,
  type SubscriptionDraft,
} from "../core/subscription.ts";
import type { Range } from "../core/text/check.ts";
import { plainTopic } from "../core/topic.ts";
import { answerAt, checkOrder, type Plan, returnAt, type Spell } from "../core/whatif/order.ts";
import { Roster } from "../dispatch/roster.ts";
import { seededChance } from "../runtime/chance.ts";
import { SimulatedClock } from "../runtime/clock/simulated.ts";
import { MemoryStore } from "../store/memory.ts";
import { Outcomes } from "./outcomes.ts";

/** The subscription's name: random numbers are drawn for it. */
export const simulatedName = "simulated";
const topic = "simulated";

/** A broker's own settings; without them, everything has its default. */
export interface SimulationDeps {
  readonly defaults?: PolicyDefaults;
  readonly health?: HealthRules;
  readonly sendsMax?: number;
  readonly backlogRange?: Range;
  /** Beyond this the result would take too long. */
  readonly requestsMax?: number;
  readonly seeded?: (seed: number) => Chance;
}

/** For a broker, which has other work meanwhile. */
export const servedLimits = { backlogRange: simulateBacklogRange, requestsMax: 200_000 };

const sendsMaxDefault = 64;
const requestsMaxDefault = 2_000_000;

/** Refusal: InvalidSetting, naming the member of the request. */
export async function simulate(order: unknown, deps: SimulationDeps = {}): Promise<Simulation> {
  const plan = checkOrder(order, deps.backlogRange);
  const { requestsMax = requestsMaxDefault, seeded = seededChance } = deps;
  const clock = new SimulatedClock();
  const store = new MemoryStore();
  const outcomes = new Outcomes(plan);
  const requests: Instant[] = [];
  let broken: unknown = null;
  const isOver = () => broken !== null || requests.length > requestsMax;
  const { outage, deadLetterOutage, answerMs } = plan;
  const roster = new Roster({
    deps: {
      ...{ store, clock, chronicle: outcomes, meter: { count: () => {} } },
      // Without a seed each addition is half its maximum: the average.
      chance: plan.seed === null ? { draw: () => 0.5 } : seeded(plan.seed),
      log: {
        tells: () => false,
        fact(level, _name, { error }) {
          if (level === "error") broken ??= error;
        },
      },
    },
    sink: scriptedSink<PushDestination>(clock, outage, {
      ...{ status: 200, answerMs },
      onSend: (at) => requests.push(at),
    }),
    deadLetterSink: scriptedSink<DeadLetterDestination>(clock, deadLetterOutage, {
      ...{ status: 201, answerMs: 0 },
      onSend: () => {},
    }),
    profile: plan.profile,
    defaults: deps.defaults ?? {},
    sendsMax: deps.sendsMax ?? sendsMaxDefault,
    ...(deps.health !== undefined && { health: deps.health }),
  });
  await store.putTopic({ ...plainTopic, name: topic, key1: "", key2: "", origin: "api" });
  const subscription = await store.putSubscription(draftOf(plan));
  roster.put(subscription, plan);
  const text = "x".repeat(plan.eventBytes);
  for (const at of publishTimes(plan)) {
    await clock.run(at, isOver);
    if (isOver()) break;
    await store.append([{ event: eventAt(at, text), to: [subscription.id] }], at);
  }
  await clock.run(Number.POSITIVE_INFINITY, isOver);
  if (broken !== null) throw new Error(`a dispatcher has stopped: ${broken}`);
  if (requests.length > requestsMax) {
    const words = `backlog must be smaller: this would take more than ${requestsMax} requests`;
    throw new Refusal("InvalidSetting", words, { target: "backlog" });
  }
  return outcomes.read(requests);
}

function draftOf(plan: Plan): SubscriptionDraft {
  const { retryPolicy, batch, deadLetter, allowedRate, destination } = plan;
  const handshake = { code: "", startedAt: 0, until: 0, pending: null, exchanges: [] };
  return {
    ...{ ...plainSubscription, topic, name: simulatedName, retryPolicy, batch, origin: "api" },
    destination:
      destination === "webhook"
        ? { kind: "webhook", url: "" }
        : { kind: "serviceBusQueue", resourceId: "" },
    deadLetter: deadLetter ? { kind: "blob", resourceId: "", container: "" } : null,
    handshake: allowedRate === null ? null : { ...handshake, allowedRate },
  };
}

/** The one that is followed, and the backlog, published evenly over the outage. */
function* publishTimes({ backlog, outage }: Plan): Iterable<Instant> {
  yield 0;
  const from = outage[0]?.fromMs ?? 0;
  const stepMs = ((returnAt(outage) ?? from) - from) / (backlog + 1);
  for (let place = 1; place <= backlog; place++) yield Math.floor(from + place * stepMs);
}

function eventAt(publishedAt: Instant, text: string): Event {
  const unseen = { systemId: "", dataVersion: "", envelope: null, trace: null, hops: 0 } as const;
  return { ...unseen, topic, publishedAt, schema: "EventGridSchema", text };
}

/** Follows the outages, and the port's promises about time. */
function scriptedSink<D>(
  clock: SimulatedClock,
  spells: readonly Spell[],
  usually: {
    readonly status: number;
    readonly answerMs: number;
    readonly onSend: (at: Instant) => void;
  },
): Sink<D> {
  const after = <T>(ms: number, value: T) =>
    new Promise<T>((resolve) => void clock.after(ms, () => resolve(value)));
  return {
    send(_parcel, _destination, { waitMs, lateMs }): Promise<Outcome> {
      const now = clock.now();
      usually.onSend(now);
      const { outcome, afterMs } = answerAt(spells, usually, now);
      if (afterMs !== null && afterMs <= waitMs) return after(afterMs, outcome);
      const isLate = afterMs !== null && afterMs < lateMs;
      const late = isLate ? { late: after(afterMs, outcome) } : {};
      return after(waitMs, { kind: "noReply", why: "timeout", ...late });
    },
  };
}
