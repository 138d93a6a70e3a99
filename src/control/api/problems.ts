// What is wrong: the state of the broker is gathered here, and judged in core/problems/problems.ts.

import type { ProblemView } from "../../core/api/views.ts";
import type { FigureQuery, Series } from "../../core/figures/figures.ts";
import { chartRange } from "../../core/figures/steps.ts";
import type { Ledger } from "../../core/ledger.ts";
import type { Clock, Instant } from "../../core/ports.ts";
import {
  type Bearer,
  type Lately,
  type Problem,
  problemsIn,
  type Situation,
} from "../../core/problems/problems.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import type { Switchboard } from "../../core/steering.ts";
import { isoInstant } from "../../core/text/time.ts";
import type { Handlers } from "./serve.ts";

export interface ProblemsDeps {
  readonly catalog: () => LiveCatalog;
  readonly switchboard: Switchboard;
  readonly ledger: Ledger;
  readonly figures: { read(query: FigureQuery): Promise<readonly Series[]> };
  readonly clock: Clock;
  readonly disk: () => Situation["disk"];
  readonly storeFailure: () => string | null;
  readonly stoppedDispatchers: () => number;
}

const membersMax = 50;
const namesMax = 20;
const latelyMs = 3_600_000;
const scopesMax = 100_000;

export function problemHandlers(deps: ProblemsDeps): Pick<Handlers, "listProblems"> {
  return {
    async listProblems() {
      const problems = problemsIn(await situationOf(deps));
      return { value: problems.map(viewOf), next: null };
    },
  };
}

async function situationOf(deps: ProblemsDeps): Promise<Situation> {
  const now = deps.clock.now();
  const { subscriptions } = deps.catalog();
  return {
    ...{ now, subscriptions, queues: await deps.ledger.counts() },
    endpoints: await deps.switchboard.endpoints(),
    lately: await latelyOf(deps, now),
    disk: deps.disk(),
    storeFailure: deps.storeFailure(),
    stoppedDispatchers: deps.stoppedDispatchers(),
  };
}

async function latelyOf({ figures, catalog }: ProblemsDeps, now: Instant): Promise<Lately[]> {
  const asked = { from: now - latelyMs, to: now + 1, points: 6 };
  const range = chartRange(asked, now);
  const series = await figures.read({ selection: { kind: "subscription" }, range, scopesMax });
  return series.flatMap(({ scope, total, points }) => {
    const { dropped, deadLettered } = total;
    if (dropped + deadLettered === 0) return [];
    const known = catalog().named({ ...scope, topic: scope.topic ?? "" });
    if (known === undefined) return [];
    const first = points.findIndex((point) => point && point.dropped + point.deadLettered > 0);
    const since = range.from + first * range.stepMs;
    return [{ subscription: known.id, dropped, deadLettered, since }];
  });
}

function viewOf({ members, ...problem }: Problem): ProblemView {
  return {
    ...problem,
    ...timesOf(problem),
    count: members.length,
    members: members.slice(0, membersMax).map((bearer) => ({
      ...bearer,
      ...timesOf(bearer),
      subscriptions: bearer.subscriptions
        .slice(0, namesMax)
        .map(({ topic, domainTopic, name }) => ({ topic, domainTopic, name })),
    })),
  };
}

function timesOf({ since, nextTryAt }: Pick<Bearer, "since" | "nextTryAt">) {
  const iso = (at: Instant | null) => (at === null ? null : isoInstant(at));
  return { since: iso(since), nextTryAt: iso(nextTryAt) };
}
