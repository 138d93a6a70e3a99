// Our own API, put together: everything below `/api/v1` that needs the admin key or a session. What
// each route shows and takes stands in core/view.ts.

import type { Route } from "../../core/request.ts";
import type { Chronicle } from "../../core/story/chronicle.ts";
import type { SettingView } from "../../core/view.ts";
import type { SimulationGround } from "../../core/whatif/simulate.ts";
import type { LetterGround } from "../deadletters/find-letters.ts";
import { deadLetterRoutes } from "../deadletters/routes.ts";
import { type BackupGround, backupRoutes } from "./backups.ts";
import { type CatalogGround, catalogRoutes } from "./catalog.ts";
import { type EndpointsGround, endpointRoutes } from "./endpoints.ts";
import { type EventsGround, eventRoutes } from "./events.ts";
import { type ExplainGround, explainRoutes } from "./explain.ts";
import { type FlowGround, flowRoutes } from "./flow.ts";
import { type HandshakeGround, handshakeRoutes } from "./handshake.ts";
import { type HeartbeatGround, startHeartbeat } from "./heartbeat.ts";
import { Live } from "./live.ts";
import { liveEventsOf } from "./live-events.ts";
import { type OverviewGround, overviewRoutes } from "./overview.ts";
import { Pulse } from "./rate-history.ts";
import { settingRoutes } from "./settings.ts";
import { type SigningGround, signingRoutes } from "./signing.ts";
import { simulateRoutes } from "./simulate.ts";

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
  readonly every: HeartbeatGround["every"];
}

export interface Api {
  readonly routes: readonly Route[];
  readonly live: Live;
  close(): void;
}

export function openApi(ground: ApiGround): Api {
  const pulse = new Pulse();
  const live = new Live();
  const seen = { ...ground, pulse };
  const deafen = ground.chronicle.listen((note) => live.tellMany(() => liveEventsOf(note)));
  const stop = startHeartbeat({ ...seen, live, every: ground.every });
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
