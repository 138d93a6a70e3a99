// The broker: lays the real ground (environment.ts), has the rooms joined on it (wiring.ts), puts
// the desk beside them (routes.ts), and opens the doors; closes everything in reverse.

import { join, resolve } from "node:path";
import type { Config } from "./config/config.ts";
import { applyDeclaration, parseDeclaration } from "./control/declaration.ts";
import { recollect } from "./control/recover-stories.ts";
import { tellIdle } from "./control/unused-settings.ts";
import type { Route } from "./core/request.ts";
import { publishLimits } from "./core/schema/limits.ts";
import { type Ending, layGround, type Outside, type RealGround } from "./environment.ts";
import { greet } from "./greeting.ts";
import { portsIn, rulesOf, versionOf } from "./room-options.ts";
import { type OpenDesk, openDesk } from "./routes.ts";
import { givenCertificates, keptCertificates } from "./runtime/access/certificate.ts";
import { leaveText } from "./runtime/access/kept-file.ts";
import { openFrontage } from "./runtime/http/listeners.ts";
import { makeKey } from "./runtime/ids.ts";
import { assemble, type House } from "./wiring.ts";

export interface Broker {
  /** Where it listens; null where it does not. */
  readonly http: string | null;
  readonly https: string | null;
  /** May be called twice. Sends under way may end until the signal aborts. */
  close(signal: AbortSignal): Promise<void>;
}

/**
 * A broker on the real ground. `onCrash` is told of what only an end of the process can mend.
 * Refusal: InvalidSetting, naming the setting.
 */
export async function openBroker(config: Config, outside: Outside): Promise<Broker> {
  await using rooms = new AsyncDisposableStack();
  const ending: Ending = { signal: AbortSignal.abort() };
  const stopping = new AbortController();
  const catalog = () => house.catalog();
  const ground = await layGround(config, outside, { rooms, ending, catalog });
  await declare(config, ground);
  const house = await assemble(ground, rulesOf(config));
  rooms.defer(() => house.close(ending.signal));
  recollectMissing(ground, house, stopping.signal);
  const desk = openDesk({ config, ground, house, rooms }, stopping.signal);
  const doors = await openDoors(config, { ground, house, rooms }, [
    ...house.routes,
    ...desk.routes,
  ]);
  await welcome(config, { ground, house, desk, doors });
  const opened = rooms.move();
  const { http, https } = doors;
  return {
    http,
    https,
    async close(given) {
      ending.signal = given;
      stopping.abort();
      await opened.disposeAsync();
    },
  };
}

/** What the file declares is in force before the first event comes. */
async function declare(config: Config, { store, azure, openLog }: RealGround): Promise<void> {
  const { topics, domains, storageAccounts, auth, profile } = config;
  if ((topics ?? domains ?? storageAccounts) === null) return;
  await applyDeclaration(
    store,
    parseDeclaration(config, { auth, profile, azure, makeKey }),
    openLog,
  );
}

/** Beside everything else: nobody waits for it. */
function recollectMissing(ground: RealGround, { catalog }: House, signal: AbortSignal): void {
  const { missing, chronicle, store: ledger, clock, openLog: log } = ground;
  if (missing === null) return;
  void recollect({ chronicle, ledger, catalog, clock, log, signal, ...missing });
}

interface Doors {
  readonly http: string | null;
  readonly https: string | null;
  /** The authority to trust; null where it is the operator's own business. */
  readonly ca: string | null;
}

async function openDoors(
  config: Config,
  site: {
    readonly ground: RealGround;
    readonly house: House;
    readonly rooms: AsyncDisposableStack;
  },
  routes: readonly Route[],
): Promise<Doors> {
  const { ground, house, rooms } = site;
  const { openLog: log, ids } = ground;
  const certificates = certificatesOf(config);
  const frontage = rooms.adopt(
    await openFrontage({
      ...{ http: config.http, https: config.https, certificates, routes, log, ids },
      routesOf: house.routesOf,
      onTurnedAway: house.turnedAway,
      bodyBytesMax: publishLimits.requestBytesMax,
    }),
    (open) => open.close(),
  );
  const { http, https } = frontage;
  // How the command line finds a broker on its machine.
  rooms.defer(leaveText(join(config.dataFolder, "address"), http ?? https ?? ""));
  await frontage.offer(portsIn(house.catalog()));
  house.watch((catalog) => void frontage.offer(portsIn(catalog)));
  return { http, https, ca: https && certificates.caFile };
}

/** Takes up what a restart interrupted, and says that we are there. */
async function welcome(
  config: Config,
  site: {
    readonly ground: RealGround;
    readonly house: House;
    readonly desk: OpenDesk;
    readonly doors: Doors;
  },
): Promise<void> {
  const { house, desk, doors } = site;
  const { openLog: log } = site.ground;
  const baseUrl = doors.http ?? doors.https ?? "http://localhost";
  for (const key of config.idleKeys) log.fact("warn", "setting.idle", { ...key });
  tellIdle(house.catalog(), config.profile, log);
  await house.resume({ baseUrl });
  const { dataFolder: data, store, profile, clock, auth } = config;
  const started = { ...doors, data, store, profile, clock, auth, portal: desk.link(baseUrl) };
  const topics = house.catalog().topics.length;
  log.announce("broker.started", started, greet({ ...started, version: versionOf(), topics }));
}

function certificatesOf({ tlsCertFile, tlsKeyFile, dataFolder, https }: Config) {
  if (tlsCertFile !== null && tlsKeyFile !== null) {
    return givenCertificates({ certFile: tlsCertFile, keyFile: tlsKeyFile });
  }
  const everywhere = ["0.0.0.0", "::"];
  const hosts = https === null || everywhere.includes(https.host) ? [] : [https.host];
  return keptCertificates({ folder: resolve(dataFolder), hosts });
}
