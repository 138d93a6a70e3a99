// Our own API, put together: everything below `/api/v1` that needs the admin key or a session. What
// each route shows and takes stands in core/api/views.ts.

import type { SettingView } from "../../core/api/views.ts";
import type { Route } from "../../core/request.ts";
import type { Chronicle } from "../../core/story/chronicle.ts";
import type { SimulationDeps } from "../../core/whatif/simulate.ts";
import type { LetterDeps } from "../deadletters/find-letters.ts";
import { deadLetterRoutes } from "../deadletters/routes.ts";
import { type BackupDeps, backupRoutes } from "./backups.ts";
import { type CatalogDeps, catalogRoutes } from "./catalog.ts";
import { type EndpointsDeps, endpointRoutes } from "./endpoints.ts";
import { type EventsDeps, eventRoutes } from "./events.ts";
import { type ExplainDeps, explainRoutes } from "./explain.ts";
import { type FlowDeps, flowRoutes } from "./flow.ts";
import { type HandshakeDeps, handshakeRoutes } from "./handshake.ts";
import { type HeartbeatDeps, startHeartbeat } from "./heartbeat.ts";
import { Live } from "./live.ts";
import { liveEventsOf } from "./live-events.ts";
import { type OverviewDeps, overviewRoutes } from "./overview.ts";
import { RateHistory } from "./rate-history.ts";
import { settingRoutes } from "./settings.ts";
import { type SigningDeps, signingRoutes } from "./signing.ts";
import { simulateRoutes } from "./simulate.ts";

export interface ApiDeps
  extends BackupDeps,
    CatalogDeps,
    EventsDeps,
    EndpointsDeps,
    ExplainDeps,
    FlowDeps,
    HandshakeDeps,
    LetterDeps,
    SigningDeps,
    Omit<OverviewDeps, "pulse" | "profile"> {
  readonly chronicle: Pick<Chronicle, "find" | "search" | "listen">;
  readonly settings: readonly SettingView[];
  readonly simulation: SimulationDeps;
  readonly every: HeartbeatDeps["every"];
}

export interface Api {
  readonly routes: readonly Route[];
  readonly live: Live;
  close(): void;
}

export function openApi(deps: ApiDeps): Api {
  const pulse = new RateHistory();
  const live = new Live();
  const seen = { ...deps, pulse };
  const deafen = deps.chronicle.listen((note) => live.tellMany(() => liveEventsOf(note)));
  const stop = startHeartbeat({ ...seen, live, every: deps.every });
  return {
    routes: [
      ...overviewRoutes(seen),
      ...live.routes,
      ...catalogRoutes(deps),
      ...handshakeRoutes(deps),
      ...signingRoutes(deps),
      ...explainRoutes(deps),
      ...flowRoutes(deps),
      ...endpointRoutes(deps),
      ...eventRoutes(deps),
      ...deadLetterRoutes(deps),
      ...simulateRoutes(deps.simulation),
      ...settingRoutes(deps.settings),
      ...backupRoutes(deps),
    ],
    live,
    close() {
      stop();
      deafen();
    },
  };
}
