// The broker: opens the real environment (environment.ts), joins the rooms on it (wiring.ts), adds
// the control routes (routes.ts), and listens; closes everything in reverse.

import { hostname } from "node:os";
import { join, resolve } from "node:path";
import type { Config } from "./config/config.ts";
import { otherDeclarers } from "./control/cluster/brokers.ts";
import { applyDeclaration, parseDeclaration } from "./control/declaration.ts";
import { recoverStories } from "./control/recover-stories.ts";
import { logUnusedSettings } from "./control/unused-settings.ts";
import type { Route } from "./core/request.ts";
import { publishLimits } from "./core/schema/limits.ts";
import { shownTarget } from "./core/text/connection-string.ts";
import { isHostName } from "./core/text/setting-kinds.ts";
import { type Ending, type Outside, openEnvironment, type RealEnvironment } from "./environment.ts";
import { greet } from "./greeting.ts";
import { batchDefaultsOf, portsIn, rulesOf, versionOf } from "./room-options.ts";
import { type OpenRoutes, openRoutes, type Self } from "./routes.ts";
import { givenCertificates, keptCertificates } from "./runtime/access/certificate.ts";
import { writeKept } from "./runtime/access/kept-file.ts";
import { fingerprintOf } from "./runtime/access/keys.ts";
import { openListeners } from "./runtime/http/listeners.ts";
import { makeKey } from "./runtime/ids.ts";
import type { OpenStore } from "./stores.ts";
import { assemble, type Rooms } from "./wiring.ts";

export interface Broker {
  /** Where it listens; null where it does not. */
  readonly http: string | null;
  readonly https: string | null;
  /** May be called twice. Sends in flight may end until the signal aborts. */
  close(signal: AbortSignal): Promise<void>;
}

/**
 * A broker on the real environment. `onCrash` is called for errors that need a restart of the
 * process. Refusal: InvalidSetting, naming the setting.
 */
export async function openBroker(config: Config, outside: Outside): Promise<Broker> {
  await using stack = new AsyncDisposableStack();
  const ending: Ending = { signal: AbortSignal.abort() };
  const stopping = new AbortController();
  const catalog = () => rooms.catalog();
  const environment = await openEnvironment(config, outside, { stack, ending, catalog });
  const self: Self = { host: hostname(), http: null, https: null, declares: null };
  await declare(config, self, environment);
  const rooms = await assemble(environment, rulesOf(config));
  stack.defer(() => rooms.close(ending.signal));
  recollectMissing(environment, rooms, stopping.signal);
  const control = openRoutes({ config, environment, rooms, stack, self }, stopping.signal);
  const doors = await openDoors(config, { environment, rooms, stack }, [
    ...rooms.routes,
    ...control.routes,
  ]);
  await welcome(config, { environment, rooms, control, doors });
  const opened = stack.move();
  const { http, https } = doors;
  Object.assign(self, { http, https });
  return {
    http,
    https,
    async close(given) {
      ending.signal = given;
      stopping.abort();
      rooms.endWaits();
      await opened.disposeAsync();
    },
  };
}

/** What the file declares is active before the first event comes. */
async function declare(
  config: Config,
  self: Self,
  { store, azure, openLog }: RealEnvironment,
): Promise<void> {
  const { topics, domains, namespaces, storageAccounts, auth, profile } = config;
  if ((topics ?? domains ?? namespaces ?? storageAccounts) === null) return;
  self.declares = fingerprintOf([topics, domains, namespaces, storageAccounts]);
  const others = await otherDeclarers(store.peers, self);
  if (others.length > 0) {
    const words = "their files declare other topics; applied is what all of them declare alike";
    openLog.fact("warn", "declaration.differs", { brokers: others, words });
    return;
  }
  await applyDeclaration(
    store,
    parseDeclaration(config, { auth, profile, azure, makeKey, batch: batchDefaultsOf(config) }),
    openLog,
  );
}

/** In the background: nothing waits for it. */
function recollectMissing(
  environment: RealEnvironment,
  { catalog }: Rooms,
  signal: AbortSignal,
): void {
  const { missing, chronicle, store: ledger, clock, openLog: log } = environment;
  if (missing === null) return;
  void recoverStories({ chronicle, ledger, catalog, clock, log, signal, ...missing });
}

interface Doors {
  readonly http: string | null;
  readonly https: string | null;
  /** The authority to trust; null if the operator has their own. */
  readonly ca: string | null;
}

async function openDoors(
  config: Config,
  site: {
    readonly environment: RealEnvironment;
    readonly rooms: Rooms;
    readonly stack: AsyncDisposableStack;
  },
  routes: readonly Route[],
): Promise<Doors> {
  const { environment, rooms, stack } = site;
  const { openLog: log, ids } = environment;
  const certificates = certificatesOf(
    config,
    environment.store,
    (name) => rooms.catalog().topic(name) !== undefined,
  );
  const listeners = stack.adopt(
    await openListeners({
      ...{ http: config.http, https: config.https, certificates, routes, log, ids },
      routesOf: rooms.routesOf,
      onTurnedAway: rooms.turnedAway,
      bodyBytesMax: publishLimits.requestBytesMax,
      bodiesBytesMax: config.bodiesBytesMax,
    }),
    (open) => open.close(),
  );
  const { http, https } = listeners;
  environment.ownUrl.origin = http ?? https;
  // How the command line finds a broker on its machine.
  stack.defer(writeKept(join(config.dataFolder, "address"), http ?? https ?? ""));
  await listeners.offer(portsIn(rooms.catalog()));
  rooms.watch(({ topics, gone }) => {
    const isChanged = topics.length + gone.topics.length > 0;
    if (isChanged) void listeners.offer(portsIn(rooms.catalog()));
  });
  return { http, https, ca: https && certificates.caFile };
}

/** Continues what a restart interrupted, and announces the start. */
async function welcome(
  config: Config,
  site: {
    readonly environment: RealEnvironment;
    readonly rooms: Rooms;
    readonly control: OpenRoutes;
    readonly doors: Doors;
  },
): Promise<void> {
  const { rooms, control, doors } = site;
  const { openLog: log } = site.environment;
  const baseUrl = doors.http ?? doors.https ?? "http://localhost";
  if (config.rows.some(({ name, from }) => name === "admin-key" && from === "option")) {
    const words = "Every user of this machine can read it in the list of processes";
    const remedy = "use the environment (POSTHORN_ADMIN_KEY), the file, or admin.key";
    log.fact("warn", "setting.visible", { name: "admin-key", why: `${words}; ${remedy}.` });
  }
  for (const key of config.idleKeys) log.fact("warn", "setting.idle", { ...key });
  logUnusedSettings(rooms.catalog(), config.profile, log);
  await control.followInboxes();
  await rooms.resume({ baseUrl });
  const { dataFolder: data, profile, clock, auth } = config;
  const store = shownTarget(config.store);
  const portal = await control.link(baseUrl);
  const started = { ...doors, data, store, profile, clock, auth, portal };
  const topics = rooms.catalog().topics.length;
  log.announce(
    "broker.started",
    started,
    greet({
      ...started,
      version: versionOf(),
      topics,
      logsFailures: log.tells?.("info") !== false,
    }),
  );
}

function certificatesOf(
  { tlsCertFile, tlsKeyFile, tlsNames, dataFolder, https }: Config,
  store: OpenStore,
  isTopic: (name: string) => boolean,
) {
  if (tlsCertFile !== null && tlsKeyFile !== null) {
    return givenCertificates({ certFile: tlsCertFile, keyFile: tlsKeyFile });
  }
  const everywhere = ["0.0.0.0", "::"];
  const machine = hostname().toLowerCase();
  const hosts = [
    ...(https === null || everywhere.includes(https.host) ? [] : [https.host]),
    ...(isHostName(machine) ? [machine] : []),
    ...(tlsNames ?? []),
  ];
  const shared = store.isShared === true ? store : undefined;
  return keptCertificates({ folder: resolve(dataFolder), hosts, isTopic, shared });
}
