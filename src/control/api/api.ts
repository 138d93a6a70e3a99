// Our own API, put together: everything below `/api/v1` that needs the admin key or a session. What
// each route shows and takes stands in core/view.ts.

import type { Chronicle } from "../../core/chronicle.ts";
import type { Instant } from "../../core/ports.ts";
import { Pulse } from "../../core/pulse.ts";
import type { Route } from "../../core/request.ts";
import type { SimulationGround } from "../../core/simulate.ts";
import type { Counts, EndpointView, SettingView } from "../../core/view.ts";
import { type BackupGround, backupRoutes } from "./backups.ts";
import { type CatalogGround, catalogRoutes } from "./catalog.ts";
import { deadLetterRoutes } from "./deadletters.ts";
import { type EndpointsGround, endpointRoutes } from "./endpoints.ts";
import { type EventsGround, eventRoutes } from "./events.ts";
import { type ExplainGround, explainRoutes } from "./explain.ts";
import { type FlowGround, flowRoutes } from "./flow.ts";
import { type HandshakeGround, handshakeRoutes } from "./handshake.ts";
import type { LetterGround } from "./letterfile.ts";
import { Live } from "./live.ts";
import { type OverviewGround, overviewOf, overviewRoutes } from "./overview.ts";
import { settingRoutes } from "./settings.ts";
import { type SigningGround, signingRoutes } from "./signing.ts";
import { simulateRoutes } from "./simulate.ts";
import { liveEventsOf } from "./telling.ts";

export interface ApiGround
  extends BackupGround,
    CatalogGround,
    EventsGround,
    EndpointsGround,
    ExplainGround,
    FlowGround,
    HandshakeGround,
    LetterGround,
    SigningGround,
    Omit<OverviewGround, "pulse" | "profile"> {
  readonly chronicle: Pick<Chronicle, "find" | "search" | "listen">;
  readonly settings: readonly SettingView[];
  readonly simulation: SimulationGround;
  /** Calls every so many milliseconds of real time; the answer ends it. */
  readonly every: (ms: number, ring: () => void) => () => void;
}

export interface Api {
  readonly routes: readonly Route[];
  readonly live: Live;
  close(): void;
}

const beatMs = 1_000;

export function openApi(ground: ApiGround): Api {
  const pulse = new Pulse();
  const live = new Live();
  const seen = { ...ground, pulse };
  const healths = new Map<string, string>();
  const deafen = ground.chronicle.listen((note) => live.tellMany(() => liveEventsOf(note)));
  const stop = ground.every(beatMs, () => {
    void beat(seen, { live, healths }).catch((error) => {
      // Nothing depends on it, and the next beat comes soon.
      ground.log.fact("debug", "overview.failed", { error: String(error) });
    });
  });
  return {
    routes: [
      ...overviewRoutes(seen),
      ...live.routes,
      ...catalogRoutes(ground),
      ...handshakeRoutes(ground),
      ...signingRoutes(ground),
      ...explainRoutes(ground),
      ...flowRoutes(ground),
      ...endpointRoutes(ground),
      ...eventRoutes(ground),
      ...deadLetterRoutes(ground),
      ...simulateRoutes(ground.simulation),
      ...settingRoutes(ground.settings),
      ...backupRoutes(ground),
    ],
    live,
    close() {
      stop();
      deafen();
    },
  };
}

interface Beating extends OverviewGround {
  readonly pulse: Pulse;
}

/** What waits is counted only for those who look, and for the points of the charts. */
async function beat(
  ground: Beating,
  { live, healths }: { readonly live: Live; readonly healths: Map<string, string> },
): Promise<void> {
  const { pulse, clock } = ground;
  const now = (): { at: Instant; sums: Counts } => ({ at: clock.now(), sums: ground.sums() });
  if (live.isWatched) {
    const overview = await overviewOf(ground);
    pulse.beat({ ...now(), waiting: overview.waiting });
    live.tell({ kind: "overview", overview });
    tellHealths(live, { healths, endpoints: await ground.endpoints() });
  } else if (pulse.isPointNext) {
    const counts = await ground.ledger.counts();
    const waiting = counts.reduce(
      (sum, { stage, waiting }) => sum + (stage === "deliver" ? waiting : 0),
      0,
    );
    pulse.beat({ ...now(), waiting });
  } else pulse.beat({ ...now(), waiting: 0 });
  live.beat();
}

/** Those that have changed since they were last looked at. */
function tellHealths(
  live: Live,
  seen: { readonly healths: Map<string, string>; readonly endpoints: readonly EndpointView[] },
): void {
  const { healths, endpoints } = seen;
  const before = new Map(healths);
  healths.clear();
  for (const endpoint of endpoints) {
    const { kind } = endpoint.health;
    healths.set(endpoint.endpoint, kind);
    if ((before.get(endpoint.endpoint) ?? "healthy") !== kind) {
      live.tell({ kind: "endpoint", endpoint });
    }
  }
}
