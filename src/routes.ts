// All routes of a broker except publishing. Access is decided here once, by a lock that all share.

import { join } from "node:path";
import type { Config } from "./config/config.ts";
import { type Api, openApi } from "./control/api/api.ts";
import { endpointViews } from "./control/api/endpoints.ts";
import { descriptionRoutes } from "./control/api/openapi.ts";
import type { ArmDeps } from "./control/arm/find-topic.ts";
import { armRoutes } from "./control/arm/routes.ts";
import { clockRoutes } from "./control/clock.ts";
import { checkContainers } from "./control/container-check.ts";
import { readGauges } from "./control/gauges.ts";
import { portalRoutes } from "./control/portal.ts";
import {
  type AdminLock,
  hasAdminToken,
  requireAdmin,
  requireAdminOrLocal,
} from "./control/signin/admin-lock.ts";
import { signinRoutes } from "./control/signin/azure-signin.ts";
import { isSignedIn, linkOf, type SessionDeps, sessionRoutes } from "./control/signin/session.ts";
import { statusRoutes } from "./control/status.ts";
import { isFromThisMachine } from "./core/access/foreign-page.ts";
import type { Counts } from "./core/api/views.ts";
import { oddJobsSlot } from "./core/cluster/slot.ts";
import type { RequestHead, Route } from "./core/request.ts";
import { baseUrlOf } from "./core/request.ts";
import { shownTarget } from "./core/text/connection-string.ts";
import { isLoopback } from "./core/text/setting-kinds.ts";
import { moduleRoutes } from "./edge/routes.ts";
import { postOf } from "./egress/http/message.ts";
import type { RealEnvironment } from "./environment.ts";
import {
  batchDefaultsOf,
  moduleRulesOf,
  retentionOf,
  rulesOf,
  settingsOf,
  versionOf,
} from "./room-options.ts";
import { openClusterSessions } from "./runtime/access/cluster-sessions.ts";
import { openSessions, sessionLifeMs } from "./runtime/access/sessions.ts";
import { tokenLifeMs } from "./runtime/access/tokens.ts";
import { startBeat } from "./runtime/clock/real.ts";
import { roomOnDisk } from "./runtime/disk.ts";
import { openAssets } from "./runtime/http/assets.ts";
import { makeKey } from "./runtime/ids.ts";
import { textOf, withoutNames } from "./runtime/metrics/meter.ts";
import type { Totals } from "./runtime/metrics/totals.ts";
import { servedLimits, simulate } from "./whatif/simulate.ts";
import type { Rooms } from "./wiring.ts";

/** Built at installation; see portal/build.ts. */
const portalFolder = join(import.meta.dirname, "../portal/dist");

export interface OpenRoutes {
  readonly routes: readonly Route[];
  /** A link that signs a browser in to the portal, once. */
  link(baseUrl: string): Promise<string>;
  /** Subscriptions to test inboxes get their present address; once the broker listens. */
  followInboxes(): Promise<void>;
}

interface Site {
  readonly config: Config;
  readonly environment: RealEnvironment;
  readonly rooms: Rooms;
  readonly stack: AsyncDisposableStack;
  readonly self: Self;
}

/** This machine, and where the broker listens, once it does. */
export interface Self {
  readonly host: string;
  http: string | null;
  https: string | null;
  /** What stands for the topics its file declares; null: it declares none. */
  declares: string | null;
}

/** `stop`: delayed answers are sent when it aborts. */
export function openRoutes(site: Site, stop: AbortSignal): OpenRoutes {
  const { config, environment, rooms } = site;
  const { virtual, tokens, openLog: log } = environment;
  const look = lookOf(site);
  environment.telemetry.exportMetrics(look);
  const door = doorOf(site);
  const api = openOwnApi(site, door);
  const lock: AdminLock = {
    check: config.auth ? tokens.whyNoAdmin : null,
    isSignedIn: (request) => isSignedIn(door, request),
    isLocal: door.isLocal,
    catchUp: rooms.catchUp,
  };
  const arm = armGroundOf(site);
  const quiet = virtual && (() => virtual.nextDueAt());
  const metrics = async (withNames: boolean) => {
    const readings = await look();
    return textOf(withNames ? readings : readings.map(withoutNames));
  };
  const showsNames = async (head: RequestHead) => {
    const { metricsNames } = config;
    if (await hasAdminToken(head, lock)) return true;
    return metricsNames === "all" || (metricsNames === "local" && isFromThisMachine(head));
  };
  const routes = [
    ...statusRoutes({ whyNotReady: rooms.whyNotReady, metrics, showsNames }),
    ...(virtual === null
      ? []
      : requireAdminOrLocal(clockRoutes({ clock: virtual, tally: environment.tally }), lock)),
    ...portalRoutes({
      assets: openAssets(portalFolder),
      makeNonce: makeKey,
      isSignedIn: (request) => isSignedIn(door, request),
    }),
    ...signinRoutes({
      ...tokens,
      ...(config.auth ? {} : { isAdminKey: () => true }),
      ...{ lock, tokenLifeMs, log },
    }),
    ...sessionRoutes(door),
    ...descriptionRoutes(versionOf()),
    ...requireAdmin(api.routes, lock),
    ...api.openRoutes,
    ...moduleRoutes(
      { ...arm, rules: moduleRulesOf(config) },
      { ...lock, isModuleKey: environment.isModuleKey },
    ),
    ...requireAdmin(armRoutes(arm, { quiet, stop }), lock),
  ];
  return { routes, link: (baseUrl) => linkOf(door, baseUrl), followInboxes: api.followInboxes };
}

function endpointsOf({ environment, rooms }: Site) {
  return () => endpointViews({ ...rooms, ledger: environment.store, clock: environment.clock });
}

/** All metrics, as of now. */
function lookOf(site: Site) {
  const { environment, rooms } = site;
  const { store: ledger, clock } = environment;
  const endpoints = endpointsOf(site);
  return async () => {
    const gauges = await readGauges({ ...rooms, ledger, pull: ledger, endpoints, clock });
    return environment.openMeter.read([...gauges, ...environment.vitals.samples()]);
  };
}

function lettersOf({ environment }: Site) {
  return { reader: environment.deadLetterSink.reader, accounts: environment.azure.storageAccounts };
}

function openOwnApi(site: Site, door: SessionDeps): Api {
  const { config, environment, rooms, stack } = site;
  const { store, clock, ids, chronicle, figures, sink, meter, openLog: log } = environment;
  const { catalog, directory, refresh, operator, switchboard, whyNotReady } = rooms;
  const { profile, defaults, health, endpointSendsMax } = rulesOf(config);
  const api = openApi({
    ...{ registry: store, ledger: store, backups: store.backups, redriven: store },
    ...{ memos: store, deliveries: store, pull: store, sink, ids, meter },
    ...{
      catalog,
      directory,
      refresh,
      operator,
      switchboard,
      whyNotReady,
      handshakes: rooms.handshakes,
      receivers: rooms.receivers,
      tokenReceivers: rooms.tokenReceivers,
      calls: rooms.calls,
      broker: store.ownership.broker,
    },
    ...{ clock, log, chronicle, figures, retention: retentionOf(config), ...lettersOf(site) },
    ...{ profile, defaults, store: shownTarget(config.store), clockKind: config.clock },
    ...{ makeKey, every: startBeat, startedAt: clock.now(), version: versionOf() },
    link: (request) => linkOf(door, baseUrlOf(request)),
    sums: () => countsOf(environment.tally()),
    endpoints: endpointsOf(site),
    ...{ broker: store.ownership.broker, peers: store.peers, isShared: store.isShared === true },
    hasOddJobs: () => store.ownership.isMine(oddJobsSlot),
    self: () => ({ ...site.self, version: versionOf() }),
    disk: () => (config.store !== "sqlite" ? null : roomOnDisk(config.dataFolder)),
    storeFailure: () => environment.storeFailure?.() ?? null,
    stoppedDispatchers: rooms.stoppedDispatchers,
    ask: environment.ask,
    postOf,
    publishOwn: rooms.publishOwn,
    ownUrl: () => environment.ownUrl.origin,
    settings: settingsOf(config),
    simulate: (order) =>
      simulate(order, {
        ...{ ...servedLimits, defaults, sendsMax: endpointSendsMax },
        ...(health !== undefined && { health }),
      }),
  });
  stack.defer(() => api.close());
  rooms.watch(() => api.live.tell({ kind: "catalog" }));
  const logReach = checkContainers({ ...lettersOf(site), log });
  logReach({ subscriptions: catalog().subscriptions, gone: { topics: [], subscriptions: [] } });
  rooms.watch(logReach);
  return api;
}

function armGroundOf({ config, environment, rooms }: Site): ArmDeps {
  const { store, clock, ids, azure, openLog: log } = environment;
  const { catalog, refresh, handshakes } = rooms;
  return {
    ...{ registry: store, memos: store, catalog, refresh, handshakes, clock, ids, log },
    ...{
      makeKey,
      profile: config.profile,
      azure,
      batch: batchDefaultsOf(config),
      baseUrl: baseUrlOf,
    },
  };
}

/** Sessions last as long as the data folder; those of a cluster are in its database. */
function doorOf({ config, environment }: Site): SessionDeps {
  const { auth, dataFolder, http, https } = config;
  const { store } = environment;
  const path = auth ? join(dataFolder, "sessions.json") : null;
  const isShared = store.isShared === true;
  const sessions = isShared ? openClusterSessions({ memos: store }) : openSessions({ path });
  const isLocal = [http, https].every((address) => address === null || isLoopback(address.host));
  return {
    ...{ sessions, lifeMs: sessionLifeMs, auth, isLocal },
    ...{ isAdminKey: environment.tokens.isAdminKey, log: environment.openLog },
  };
}

function countsOf({ attempts, ...tally }: Totals): Counts {
  return { ...tally, failed: Math.max(0, attempts - tally.delivered - tally.deadLettered) };
}
