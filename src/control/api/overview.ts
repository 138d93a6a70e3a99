// The overview: what waits and for how long, unhealthy endpoints, rates; and the same over the last
// hours, for charts.

import type { Counts, EndpointView, History, Overview } from "../../core/api/views.ts";
import type { Ledger } from "../../core/ledger.ts";
import type { Clock, Instant } from "../../core/ports.ts";
import type { Catalog } from "../../core/registry.ts";
import { isoInstant } from "../../core/text/time.ts";
import type { RateHistory } from "./rate-history.ts";
import type { Handlers } from "./serve.ts";

export interface OverviewDeps {
  readonly version: string;
  readonly startedAt: Instant;
  readonly profile: string;
  readonly store: string;
  readonly clockKind: "real" | "virtual";
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly catalog: () => Catalog;
  /** What this broker has counted since the start. */
  readonly sums: () => Counts;
  /** Of all brokers. */
  readonly cluster: () => Promise<Pick<Overview, "brokers" | "rates" | "counts">>;
  readonly pulse: RateHistory;
  readonly endpoints: () => Promise<readonly EndpointView[]>;
  readonly whyNotReady: () => string | null;
}

const unhealthyMax = 50;
const usualMinutes = 60;

export function overviewHandlers(
  deps: OverviewDeps,
): Pick<Handlers, "showOverview" | "showHistory"> {
  return {
    showOverview: () => overviewOf(deps),
    showHistory: ({ query }) => historyOf(deps.pulse, query.minutes ?? usualMinutes),
  };
}

export async function overviewOf(deps: OverviewDeps): Promise<Overview> {
  const { topics, subscriptions } = deps.catalog();
  const queues = await deps.ledger.counts();
  const waitingIn = (stage: "deliver" | "deadLetter") =>
    queues.reduce((sum, queue) => sum + (queue.stage === stage ? queue.waiting : 0), 0);
  const oldestAt = queues.reduce((least, queue) => Math.min(least, queue.oldestAt), Infinity);
  const endpoints = await deps.endpoints();
  return {
    version: deps.version,
    now: isoInstant(deps.clock.now()),
    startedAt: isoInstant(deps.startedAt),
    profile: deps.profile,
    store: deps.store,
    clock: deps.clockKind,
    topics: topics.length,
    subscriptions: subscriptions.length,
    waiting: waitingIn("deliver"),
    waitingDeadLetters: waitingIn("deadLetter"),
    oldestAt: oldestAt === Infinity ? null : isoInstant(oldestAt),
    ...(await deps.cluster()),
    sick: endpoints
      .filter(({ health }) => health.kind !== "healthy")
      .toSorted((one, other) => other.waiting - one.waiting)
      .slice(0, unhealthyMax),
    whyNotReady: deps.whyNotReady(),
  };
}

function historyOf(pulse: RateHistory, minutes: number): History {
  const { stepMs, points } = pulse.history(minutes);
  return {
    stepMs,
    points: points.map(({ at, waiting, counts }) => ({ at: isoInstant(at), waiting, ...counts })),
  };
}
