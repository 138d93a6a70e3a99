// Once a second: counts go into the charts, and live watchers get the overview. Counting never
// waits. Reading the store may be slow or stuck, so there is one read at a time and a beat that
// finds one in progress starts no other: what is shown then is a little old.

import type { EndpointView } from "../../core/api/views.ts";
import type { Log } from "../../core/ports.ts";
import type { Live } from "./live.ts";
import { type OverviewDeps, overviewOf } from "./overview.ts";

export interface HeartbeatDeps extends OverviewDeps {
  readonly live: Live;
  readonly log: Log;
  /** Has other brokers told how this one is. */
  readonly tell: () => void;
  /** Calls at an interval of real time; the result ends it. */
  readonly every: (ms: number, ring: () => void) => () => void;
}

const beatMs = 1_000;

export function startHeartbeat(deps: HeartbeatDeps): () => void {
  const { pulse, live, clock } = deps;
  const healths = new Map<string, string>();
  let waiting = 0;
  let isLooking = false;
  const look = async () => {
    if (live.isWatched) waiting = await sendOverview(deps, healths);
    else {
      const queues = await deps.ledger.counts();
      const ours = queues.filter(({ stage }) => stage === "deliver");
      waiting = ours.reduce((sum, queue) => sum + queue.waiting, 0);
    }
  };
  return deps.every(beatMs, () => {
    pulse.beat({ at: clock.now(), sums: deps.sums(), waiting });
    deps.tell();
    live.beat();
    // Waiting deliveries are counted only for live watchers, and for the points of the charts.
    if (isLooking || !(live.isWatched || pulse.isPointNext)) return;
    isLooking = true;
    look()
      .catch((error) => {
        // Nothing depends on it, and the next beat comes soon.
        deps.log.fact("debug", "overview.failed", { error: String(error) });
      })
      .finally(() => {
        isLooking = false;
      });
  });
}

/** Resolves with how many wait. */
async function sendOverview(deps: HeartbeatDeps, healths: Map<string, string>): Promise<number> {
  const endpoints = await deps.endpoints();
  const overview = await overviewOf({ ...deps, endpoints: async () => endpoints });
  deps.live.tell({ kind: "overview", overview });
  for (const endpoint of changedSince(healths, endpoints)) {
    deps.live.tell({ kind: "endpoint", endpoint });
  }
  return overview.waiting;
}

/** Those whose health has changed since the last time. */
function changedSince(
  healths: Map<string, string>,
  endpoints: readonly EndpointView[],
): readonly EndpointView[] {
  const before = new Map(healths);
  healths.clear();
  for (const { endpoint, health } of endpoints) healths.set(endpoint, health.kind);
  return endpoints.filter(
    ({ endpoint, health }) => (before.get(endpoint) ?? "healthy") !== health.kind,
  );
}
