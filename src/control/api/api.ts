// Posthorn's own API, put together: a handler for every operation in core/api/operations.ts, for
// requests with the admin key or a session.

import type { SettingView } from "../../core/api/views.ts";
import type { Request, Route } from "../../core/request.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import type { Chronicle } from "../../core/story/chronicle.ts";
import type { StoryNote } from "../../core/story/note.ts";
import {
  type AboutBroker,
  type BrokersDeps,
  brokerHandlers,
  clusterSums,
} from "../cluster/brokers.ts";
import type { Calls } from "../cluster/calls.ts";
import { openLiveRelay } from "../cluster/live-relay.ts";
import { Redrives, type RedrivesDeps } from "../deadletters/redrives.ts";
import { deadLetterHandlers } from "../deadletters/routes.ts";
import { followInboxes } from "../inbox/follow-inboxes.ts";
import { type InboxHandlerDeps, inboxHandlers, requestView } from "../inbox/inbox-api.ts";
import { type InboxDeps, Inboxes } from "../inbox/inboxes.ts";
import { type BackupDeps, backupHandlers } from "./backups.ts";
import { type CatalogDeps, catalogHandlers } from "./catalog.ts";
import { type DeadLetterStoresDeps, deadLetterStoreHandlers } from "./dead-letter-stores.ts";
import { type EndpointsDeps, endpointHandlers } from "./endpoints.ts";
import { type EventsDeps, eventHandlers } from "./events.ts";
import { type ExplainDeps, explainHandlers } from "./explain.ts";
import { type FiguresDeps, figureHandlers } from "./figures.ts";
import { type FlowDeps, flowHandlers } from "./flow.ts";
import { type HandshakeDeps, handshakeHandlers } from "./handshake.ts";
import { type HeartbeatDeps, startHeartbeat } from "./heartbeat.ts";
import { Live } from "./live.ts";
import { liveEventsOf } from "./live-events.ts";
import { type OverviewDeps, overviewHandlers } from "./overview.ts";
import { type ProblemsDeps, problemHandlers } from "./problems.ts";
import { RateHistory } from "./rate-history.ts";
import { type ReceiveDeps, receiveHandlers } from "./receive.ts";
import { type ResendDeps, resendHandlers } from "./resend.ts";
import { apiRoutes, type Handlers } from "./serve.ts";
import { settingHandlers } from "./settings.ts";
import { type SigningDeps, signingHandlers } from "./signing.ts";
import { type SimulateDeps, simulateHandlers } from "./simulate.ts";
import { type TryOutDeps, tryOutHandlers } from "./try-out.ts";

export interface ApiDeps
  extends BackupDeps,
    CatalogDeps,
    DeadLetterStoresDeps,
    EventsDeps,
    EndpointsDeps,
    ExplainDeps,
    FiguresDeps,
    FlowDeps,
    HandshakeDeps,
    InboxDeps,
    InboxHandlerDeps,
    ProblemsDeps,
    ReceiveDeps,
    RedrivesDeps,
    ResendDeps,
    SigningDeps,
    SimulateDeps,
    TryOutDeps,
    Omit<OverviewDeps, "pulse" | "profile" | "cluster">,
    Omit<BrokersDeps, "about"> {
  /** Whether several brokers use the store. */
  readonly isShared: boolean;
  readonly hasOddJobs: () => boolean;
  /** This broker, besides its counts. */
  readonly self: () => Omit<AboutBroker, "rates" | "counts">;
  readonly catalog: () => LiveCatalog;
  readonly chronicle: Pick<Chronicle, "find" | "search" | "listen" | "note">;
  readonly settings: readonly SettingView[];
  readonly every: HeartbeatDeps["every"];
  /** The other brokers, and who this one is. */
  readonly calls: Calls;
  readonly broker: string;
  /** A link that signs a browser in, once. */
  readonly link: (request: Request) => Promise<string>;
}

export interface Api {
  readonly routes: readonly Route[];
  /** Of the inboxes: open to those who know the key. */
  readonly openRoutes: readonly Route[];
  readonly live: Live;
  /** Once the broker listens. */
  followInboxes(): Promise<void>;
  close(): Promise<void>;
}

export function openApi(deps: ApiDeps): Api {
  const pulse = new RateHistory();
  const live = new Live();
  const cluster = deps.isShared
    ? {
        ...{
          broker: deps.broker,
          every: deps.every,
          hasOddJobs: deps.hasOddJobs,
          calls: deps.calls,
        },
        alive: async () => (await deps.peers.list()).map(({ id }) => id),
      }
    : undefined;
  const redrives = new Redrives({ ...deps, cluster }, (redrive) =>
    live.tell({ kind: "redrive", redrive }),
  );
  const inboxes = new Inboxes(deps, ({ name: inbox }, request) =>
    live.sendMany(() => [{ kind: "inbox", inbox, request: requestView(request) }]),
  );
  const brokers: BrokersDeps = {
    ...deps,
    about: () => ({ ...deps.self(), rates: pulse.rates(), counts: deps.sums() }),
  };
  const seen = { ...deps, pulse, cluster: () => clusterSums(brokers) };
  const tellOf = (note: StoryNote) => live.sendMany(() => liveEventsOf(note));
  const deafen = deps.chronicle.listen((note) => {
    if (live.isHeard) tellOf(note);
  });
  const stop = startHeartbeat({
    ...{ ...seen, live, every: deps.every },
    tell: () => deps.peers.tell(brokers.about()),
  });
  const unrelay = openLiveRelay({ ...deps, live });
  const handlers: Handlers = {
    ...overviewHandlers(seen),
    ...figureHandlers(deps),
    ...brokerHandlers(brokers),
    ...problemHandlers(deps),
    ...live.handlers,
    ...catalogHandlers(deps),
    ...handshakeHandlers(deps),
    ...signingHandlers(deps),
    ...explainHandlers(deps),
    ...flowHandlers(deps),
    ...receiveHandlers(deps),
    ...endpointHandlers(deps),
    ...eventHandlers(deps),
    ...resendHandlers(deps),
    ...deadLetterHandlers(deps),
    ...redrives.handlers,
    ...inboxHandlers(deps, inboxes),
    ...simulateHandlers(deps),
    ...tryOutHandlers(deps),
    ...deadLetterStoreHandlers(deps),
    ...settingHandlers(deps.settings),
    ...backupHandlers(deps),
    makeLink: async ({ request }) => ({ url: await deps.link(request) }),
  };
  return {
    routes: apiRoutes(handlers),
    openRoutes: inboxes.routes,
    live,
    followInboxes: () => followInboxes(deps, inboxes),
    async close() {
      stop();
      unrelay();
      inboxes.close();
      deafen();
      await redrives.close();
    },
  };
}
