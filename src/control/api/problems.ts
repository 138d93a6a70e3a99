// What is wrong: the state of the broker is gathered here, and judged in core/problems/problems.ts.

import type { ProblemView } from "../../core/api/views.ts";
import { type FigureQuery, type Scope, type Series, scopeKey } from "../../core/figures/figures.ts";
import { chartRange, finestMs, type Range } from "../../core/figures/steps.ts";
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

const membersMax = 250;
const namesMax = 20;
const latelyMs = 3_600_000;
const scopesMax = 100_000;
const startsMax = 10_000;

export function problemHandlers(deps: ProblemsDeps): Pick<Handlers, "listProblems"> {
  const starts = new Starts(deps.figures);
  return {
    async listProblems() {
      const problems = problemsIn(await situationOf(deps, starts));
      return { value: problems.map(viewOf), next: null };
    },
  };
}

async function situationOf(deps: ProblemsDeps, starts: Starts): Promise<Situation> {
  const now = deps.clock.now();
  const { subscriptions } = deps.catalog();
  return {
    ...{ now, subscriptions, queues: await deps.ledger.counts() },
    endpoints: await deps.switchboard.endpoints(),
    lately: await latelyOf(deps, starts, now),
    disk: deps.disk(),
    storeFailure: deps.storeFailure(),
    stoppedDispatchers: deps.stoppedDispatchers(),
  };
}

/** There may be thousands of subscriptions, and many who look: a few points of each are read. */
async function latelyOf(
  { figures, catalog }: ProblemsDeps,
  starts: Starts,
  now: Instant,
): Promise<Lately[]> {
  const asked = { from: now - latelyMs, to: now + 1, points: 6 };
  const range = chartRange(asked, now);
  const series = await figures.read({ selection: { kind: "subscription" }, range, scopesMax });
  const found: Lately[] = [];
  for (const { scope, total, points } of series) {
    const { dropped, deadLettered } = total;
    const known = catalog().named({ ...scope, topic: scope.topic ?? "" });
    if (dropped + deadLettered === 0 || known === undefined) continue;
    const from = range.from + firstLost(points) * range.stepMs;
    const since = await starts.within(scope, { from, to: from + range.stepMs });
    found.push({ subscription: known.id, dropped, deadLettered, since });
  }
  return found;
}

function firstLost(points: Series["points"]): number {
  return points.findIndex((point) => point && point.dropped + point.deadLettered > 0);
}

/** In which minute of a longer step something was first lost: read once, because it stays so. */
class Starts {
  readonly #figures: ProblemsDeps["figures"];
  readonly #known = new Map<string, Instant>();

  constructor(figures: ProblemsDeps["figures"]) {
    this.#figures = figures;
  }

  async within(scope: Scope, { from, to }: Pick<Range, "from" | "to">): Promise<Instant> {
    const key = `${scopeKey(scope)} ${from}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const { kind, name, topic, domainTopic } = scope;
    const selection = { kind, name, topic: topic ?? "", domainTopic: domainTopic ?? "" };
    const range = { from, to, stepMs: finestMs };
    const [series] = await this.#figures.read({ selection, range, scopesMax: 1 });
    const since = from + Math.max(0, firstLost(series?.points ?? [])) * finestMs;
    if (this.#known.size >= startsMax) this.#known.clear();
    this.#known.set(key, since);
    return since;
  }
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
