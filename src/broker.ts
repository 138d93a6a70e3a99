// The broker on the real ground: reads what has to be read, opens the rooms in order, has them
// joined by house.ts, and closes them in reverse.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Config } from "./config.ts";
import { type AdminLock, requireAdmin } from "./control/admin.ts";
import { openApi } from "./control/api/api.ts";
import { endpointViews } from "./control/api/endpoints.ts";
import { descriptionRoutes } from "./control/api/openapi.ts";
import { Redrives } from "./control/api/redrives.ts";
import { armRoutes } from "./control/arm.ts";
import { clockRoutes } from "./control/clock.ts";
import { applyDeclaration, parseDeclaration } from "./control/declaration.ts";
import { readGauges } from "./control/gauges.ts";
import type { ArmGround } from "./control/ground.ts";
import { tellIdle } from "./control/idle.ts";
import { moduleRoutes } from "./control/module/routes.ts";
import type { ModuleRules } from "./control/module/rules.ts";
import { portalRoutes } from "./control/portal.ts";
import { watchReach } from "./control/reach.ts";
import { recollect } from "./control/recollection.ts";
import {
  isSignedIn,
  linkOf,
  linkRoutes,
  type SessionGround,
  sessionRoutes,
} from "./control/session.ts";
import { signinRoutes } from "./control/signin.ts";
import { statusRoutes } from "./control/status.ts";
import { parseAzure } from "./core/azure.ts";
import { baseUrlOf } from "./core/called.ts";
import type { Retention } from "./core/chronicle.ts";
import { greet } from "./core/greeting.ts";
import { handshakeRules } from "./core/handshake.ts";
import type { StoryNote } from "./core/note.ts";
import type { Activity, Catalog, Chronicle, Clock, Log, Meter, WholeStore } from "./core/ports.ts";
import { publishLimits } from "./core/schema/limits.ts";
import { isLoopback, urlFromHere } from "./core/setting.ts";
import type { Counts, SettingView } from "./core/view.ts";
import { openAsk } from "./egress/ask.ts";
import type { Trust } from "./egress/connections.ts";
import { openDeadLetters } from "./egress/deadletter.ts";
import { openDestinations } from "./egress/destination.ts";
import { openWebhook } from "./egress/webhook.ts";
import { assemble, type Ground, type HouseRules } from "./house.ts";
import { openAssets } from "./runtime/assets.ts";
import { type BackupShelf, openBackups } from "./runtime/backups.ts";
import { startBeat } from "./runtime/beat.ts";
import { givenCertificates, keptCertificates } from "./runtime/certificate.ts";
import { realChance, seededChance } from "./runtime/chance.ts";
import { realActivity, realClock } from "./runtime/clock.ts";
import {
  type FailureGround,
  type FailureLog,
  openFailureLog,
  openLines,
} from "./runtime/failures.ts";
import { openFrontage } from "./runtime/frontage.ts";
import { makeKey, realIds } from "./runtime/ids.ts";
import { keepSecret, leaveText } from "./runtime/keepsake.ts";
import { openKeys } from "./runtime/keys.ts";
import { type LogStream, type OpenLog, openLog } from "./runtime/log.ts";
import { openMeter, textOf } from "./runtime/meter.ts";
import type { OwnPort } from "./runtime/portkeeper.ts";
import { openSessions, sessionLifeMs } from "./runtime/sessions.ts";
import { tellSuccesses } from "./runtime/successes.ts";
import { openTally, type Tally } from "./runtime/tally.ts";
import { openTelemetry } from "./runtime/telemetry/open.ts";
import type { Env } from "./runtime/telemetry/settings.ts";
import { openTokens, tokenLifeMs } from "./runtime/tokens.ts";
import { trustAlso } from "./runtime/trust.ts";
import { VirtualClock } from "./runtime/virtual.ts";
import { openVitals } from "./runtime/vitals.ts";
import { startWatch } from "./runtime/watch.ts";
import { settingList } from "./settings.ts";
import { storeFile } from "./store/backup.ts";
import { type Engine, FrontStore } from "./store/front.ts";
import { MemoryStore } from "./store/memory.ts";
import { StoryFront } from "./store/story/front.ts";
import { MemoryChronicle } from "./store/story/memory.ts";
import { openForgetful } from "./store/story/relay.ts";
import { openStoryThread } from "./store/story/thread.ts";
import { openThread } from "./store/thread.ts";

export interface Broker {
  /** Where it listens; null where it does not. */
  readonly http: string | null;
  readonly https: string | null;
  /** May be called twice. Sends under way may end until the signal aborts. */
  close(signal: AbortSignal): Promise<void>;
}

/** How long a round of the store waits for company, and a refused publisher for its turn. */
const gatherMs = 3;
const retryAfterMs = 1_000;
/** How long notes for stories are gathered, and so what a crash may lose of them. */
const storyGatherMs = 250;

/** Built when the package is installed; see portal/build.ts. */
const portalFolder = join(import.meta.dirname, "../portal/dist");

/**
 * A broker on the real ground. `onCrash` is told of what only an end of the process can mend.
 * Refusal: InvalidSetting, naming the setting.
 */
export async function openBroker(
  config: Config,
  outside: {
    readonly stdout: LogStream;
    readonly startedAt: number;
    /** Of the process: it names the collectors of OpenTelemetry. Without it there are none. */
    readonly env?: Env;
    readonly onCrash: (error: Error) => void;
    /** Told of everything that is noted for stories, as it happens. */
    readonly onNote?: (note: StoryNote) => void;
  },
): Promise<Broker> {
  await using rooms = new AsyncDisposableStack();
  const virtual =
    config.clock === "virtual"
      ? new VirtualClock({
          startAt: config.clockStartAt ?? outside.startedAt,
          patienceMs: config.clockPatienceMs,
        })
      : null;
  const clock = virtual ?? realClock();
  const activity = virtual ?? realActivity;
  const log = rooms.adopt(
    openLog({
      level: config.logLevel,
      format: config.logFormat,
      stream: outside.stdout,
      now: () => clock.now(),
      holdsBack: true,
    }),
    (open) => open.close(),
  );
  const meter = openMeter();
  const telemetry = rooms.adopt(
    await openTelemetry({ log, version: versionOf(), env: outside.env ?? {} }),
    (open) => open.close(),
  );
  const vitals = rooms.adopt(openVitals({ version: versionOf() }), (open) => open.close());
  const { tally, counted } = openTally(meter);
  const store = rooms.adopt(
    await openStore(config, { clock, activity, meter, ...outside }),
    (open) => open.close(),
  );
  const { chronicle, missing } = await openChronicle(config, { clock, activity, log });
  rooms.defer(() => chronicle.close());
  if (outside.onNote !== undefined) chronicle.listen(outside.onNote);
  const ca = (config.tlsCaFiles ?? []).map((path) => readFileSync(path, "utf8"));
  trustAlso(ca);
  const webhook = rooms.adopt(
    openWebhook({
      clock,
      activity,
      connectionsMax: config.endpointSendsMax,
      lateMax: config.endpointSendsMax,
      ca,
      trust: trustOf(config),
    }),
    (open) => open.close(),
  );
  const azure = parseAzure(config);
  // Until it is closed by its owner, it has no time to lose.
  let signal: AbortSignal = AbortSignal.abort();
  const sink = rooms.adopt(openDestinations({ clock, activity, webhook, azure }), (open) =>
    open.close(signal),
  );
  const asker = rooms.adopt(openAsk({ clock, activity, ca, trust: trustOf(config) }), (open) =>
    open.close(),
  );
  const ids = realIds();
  // Also where there is no account: what waits for one that has been taken out is kept a while.
  const deadLetterSink = rooms.adopt(
    openDeadLetters({ clock, activity, ids, accounts: azure.storageAccounts }),
    (open) => open.close(),
  );
  const { topics, domains, storageAccounts } = config;
  if ((topics ?? domains ?? storageAccounts) !== null) {
    const declared = parseDeclaration(config, {
      auth: config.auth,
      profile: config.profile,
      azure,
      makeKey,
    });
    await applyDeclaration(store, declared, log);
  }
  const chance = config.seed === null ? realChance() : seededChance(config.seed);
  const tokens = openTokens({ adminKey: adminKeyOf(config), entra: entraOf(config), log });
  const isModuleKey = openKeys(
    config.moduleKeysEnabled ? [config.moduleKey1, config.moduleKey2] : [],
  );
  const failures = openFailures(config, { log, clock, catalog: () => house.catalog() });
  if (failures !== null) {
    rooms.defer(chronicle.listen((note) => failures.note(note)));
    rooms.adopt(failures, (open) => open.close());
  }
  const facts = config.tellsSuccesses ? tellSuccesses(log) : log;
  const ground: Ground = {
    store,
    sink,
    deadLetterSink,
    azure,
    ask: asker.ask,
    whyNoBearer: tokens.whyNoBearer,
    isModuleKey,
    clock,
    chance,
    ids,
    log: failures === null ? facts : failures.beside(facts),
    ...(telemetry.tracer && { tracer: telemetry.tracer }),
    chronicle,
    meter: counted,
  };
  const house = await assemble(ground, rulesOf(config));
  const stopping = new AbortController();
  rooms.defer(() => house.close(signal));
  if (missing !== null) {
    const { catalog } = house;
    const { signal } = stopping;
    void recollect({ chronicle, ledger: store, catalog, clock, log, signal, ...missing });
  }
  const rules = rulesOf(config);
  const { catalog, refresh } = house;
  const endpoints = () => endpointViews({ ...house, ledger: store });
  const look = async () => {
    const gauges = await readGauges({ ...house, ledger: store, endpoints, clock });
    return meter.read([...gauges, ...vitals.samples()]);
  };
  const lettersAt = { reader: deadLetterSink.reader, accounts: azure.storageAccounts };
  telemetry.exportMetrics(look);
  const api = openApi({
    ...{
      registry: store,
      ledger: store,
      backups: store.backups,
      catalog,
      refresh,
      handshakes: house.desk,
    },
    ...{ clock, log, makeKey, every: startBeat, sums: () => countsOf(tally()) },
    ...{ profile: rules.profile, defaults: rules.defaults, store: config.store },
    ...{ chronicle, retention: retentionOf(config) },
    ...{ ...lettersAt, redriven: store },
    ...{ startedAt: clock.now(), clockKind: config.clock, version: versionOf() },
    whyNotReady: house.whyNotReady,
    endpoints,
    operator: house.operator,
    switchboard: house.switchboard,
    settings: settingsOf(config),
    simulation: {
      defaults: rules.defaults,
      ...(rules.health !== undefined && { rules: rules.health }),
      sendsMax: rules.endpointSendsMax,
      seeded: seededChance,
    },
  });
  rooms.defer(() => api.close());
  const redrives = new Redrives(
    {
      ...lettersAt,
      ...{ redriven: store, deliveries: store, catalog, chronicle, profile: rules.profile },
      ...{ sink, clock, ids, log, meter: counted },
    },
    (redrive) => api.live.tell({ kind: "redrive", redrive }),
  );
  rooms.defer(() => redrives.close());
  const tellReach = watchReach({ ...lettersAt, log });
  tellReach(catalog());
  house.watch(tellReach);
  house.watch(() => api.live.tell({ kind: "catalog" }));
  const door = doorOf(config, { isAdminKey: tokens.isAdminKey, log });
  const lock: AdminLock = {
    check: config.auth ? tokens.whyNoAdmin : null,
    isSignedIn: (request) => isSignedIn(door, request),
    isLocal: door.isLocal,
  };
  const armGround: ArmGround = {
    ...{ registry: store, catalog, refresh, clock, ids, log, handshakes: house.desk },
    ...{ makeKey, profile: config.profile, azure, baseUrl: baseUrlOf },
  };
  const routes = [
    ...house.routes,
    ...statusRoutes({ whyNotReady: house.whyNotReady, metrics: async () => textOf(await look()) }),
    ...(virtual === null ? [] : clockRoutes({ clock: virtual, tally })),
    ...portalRoutes({
      assets: openAssets(portalFolder),
      makeNonce: makeKey,
      isSignedIn: (request) => isSignedIn(door, request),
    }),
    ...signinRoutes({
      ...tokens,
      ...(config.auth ? {} : { isAdminKey: () => true }),
      lock,
      tokenLifeMs,
      log,
    }),
    ...sessionRoutes(door),
    ...descriptionRoutes(versionOf()),
    ...requireAdmin([...api.routes, ...redrives.routes, ...linkRoutes(door, baseUrlOf)], lock),
    ...moduleRoutes({ ...armGround, rules: moduleRulesOf(config) }, { ...lock, isModuleKey }),
    ...requireAdmin(
      armRoutes(armGround, {
        quiet: virtual && (() => virtual.nextDueAt()),
        stop: stopping.signal,
      }),
      lock,
    ),
  ];
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
  rooms.defer(leaveText(join(config.dataFolder, "address"), urlFromHere(http ?? https ?? "")));
  await frontage.offer(portsIn(house.catalog()));
  house.watch((catalog) => void frontage.offer(portsIn(catalog)));
  for (const key of config.idleKeys) log.fact("warn", "setting.idle", { ...key });
  tellIdle(catalog(), config.profile, log);
  await house.resume({ baseUrl: http ?? https ?? "http://localhost" });
  const started = {
    ...{ http, https, ca: https && certificates.caFile, data: config.dataFolder },
    ...{ store: config.store, profile: config.profile, clock: config.clock, auth: config.auth },
    portal: linkOf(door, http ?? https ?? ""),
  };
  const shown = { ...started, version: versionOf(), topics: catalog().topics.length };
  log.announce("broker.started", started, greet(shown));
  const opened = rooms.move();
  return {
    http,
    https,
    async close(given) {
      signal = given;
      stopping.abort();
      await opened.disposeAsync();
    },
  };
}

function trustOf({ webhookTrustsAll, webhookTrustsAnyAuthority }: Config): Trust {
  if (webhookTrustsAll) return "all";
  return webhookTrustsAnyAuthority ? "anyAuthority" : "known";
}

function moduleRulesOf(config: Config): ModuleRules {
  const { moduleBatchBytesMax: bytesMax, moduleBatchKilobytesMax: kilobytesMax } = config;
  return {
    batch: {
      defaults: { maxEvents: config.moduleBatchEvents, preferredBytes: config.moduleBatchBytes },
      eventsMax: config.moduleBatchEventsMax,
      kilobytesMax: Math.min(kilobytesMax, Math.floor((bytesMax ?? Infinity) / 1024)),
    },
    webhookHttpsOnly: config.webhookHttpsOnly,
    eventGridHttpsOnly: config.eventGridHttpsOnly,
  };
}

function rulesOf(config: Config): HouseRules {
  const ttlMs = config.defaultEventTimeToLiveMs;
  return {
    profile: config.profile,
    auth: config.auth,
    defaults: {
      ...(config.defaultMaxDeliveryAttempts === null
        ? {}
        : { attemptsMax: config.defaultMaxDeliveryAttempts }),
      ...(ttlMs === null ? {} : { ttlMs }),
      deadLetterPauseMs: config.deadLetterPauseMs,
      deadLetterLimitMs: config.deadLetterLimitMs,
    },
    endpointSendsMax: config.endpointSendsMax,
    health: {
      failuresMax: config.healthFailuresMax,
      firstWaitMs: config.healthFirstWaitMs,
      growth: config.healthWaitGrowth,
      waitMaxMs: config.healthWaitMaxMs,
      healthyAtOnce: config.healthRecoverAtOnce,
    },
    handshake: config.handshake
      ? {
          ...handshakeRules,
          persistMs: config.handshakePersistMs,
          windowMs: config.handshakeWindowMs,
        }
      : null,
  };
}

function portsIn({ topics }: Catalog): OwnPort[] {
  return topics.flatMap(({ name, port }) => (port === null ? [] : { topic: name, port }));
}

/** Where nobody is asked for it, it need not be found again. */
function adminKeyOf({ adminKey, auth, dataFolder }: Config): string {
  if (adminKey !== null || !auth) return adminKey ?? makeKey();
  return keepSecret(join(dataFolder, "admin.key"), makeKey);
}

/** Sessions last as long as the data folder does, whatever the store. */
function doorOf(
  { auth, dataFolder, http, https }: Config,
  outside: Pick<SessionGround, "isAdminKey" | "log">,
): SessionGround {
  const path = auth ? join(dataFolder, "sessions.json") : null;
  const isLocal = [http, https].every((address) => address === null || isLoopback(address.host));
  return { ...outside, sessions: openSessions({ path }), lifeMs: sessionLifeMs, auth, isLocal };
}

function entraOf({ entraIssuer, entraAudiences, entraJwks }: Config) {
  if (entraIssuer === null || entraJwks === null) return null;
  return { issuer: entraIssuer, audiences: entraAudiences, jwks: entraJwks };
}

function certificatesOf({ tlsCertFile, tlsKeyFile, dataFolder, https }: Config) {
  if (tlsCertFile !== null && tlsKeyFile !== null) {
    return givenCertificates({ certFile: tlsCertFile, keyFile: tlsKeyFile });
  }
  const everywhere = ["0.0.0.0", "::"];
  const hosts = https === null || everywhere.includes(https.host) ? [] : [https.host];
  return keptCertificates({ folder: resolve(dataFolder), hosts });
}

/** Beside a store in memory so much less is kept. */
const memoryStoryBytesMax = 64 * 1_048_576;

function retentionOf({ store, storyKeptMs, storyBytesMax }: Config): Retention {
  const isInMemory = store === "memory";
  const bytesMax = isInMemory ? Math.min(storyBytesMax, memoryStoryBytesMax) : storyBytesMax;
  return { keptMs: storyKeptMs, bytesMax };
}

interface OpenChronicle {
  readonly chronicle: Chronicle;
  /** What may be missing from before; null: nothing was kept. */
  readonly missing: { readonly lastStored: number; readonly isAfterCrash: boolean } | null;
}

async function openChronicle(
  config: Config,
  ground: { readonly clock: Clock; readonly activity: Activity; readonly log: Log },
): Promise<OpenChronicle> {
  const retention = retentionOf(config);
  if (!config.story) return { chronicle: openForgetful(), missing: null };
  if (config.store === "memory") {
    const onCut = (events: number) => ground.log.fact("warn", "story.cut", { events });
    const { clock } = ground;
    return { chronicle: new MemoryChronicle({ clock, retention, onCut }), missing: null };
  }
  const link = await openStoryThread({ path: join(config.dataFolder, "story.db"), retention });
  const gatherMs = config.clock === "virtual" ? 0 : storyGatherMs;
  const { wasClosed, lastStored } = link;
  return {
    chronicle: new StoryFront({ ...ground, link, gatherMs }),
    missing: { lastStored, isAfterCrash: !wasClosed },
  };
}

function openFailures(
  { failureLog }: Config,
  { log, ...ground }: FailureGround & { readonly log: OpenLog },
): FailureLog | null {
  if (failureLog === "off") return null;
  return failureLog === "stdout"
    ? openFailureLog({ write: log.line, close: async () => {} }, ground)
    : openFailureLog(openLines(failureLog), ground);
}

async function openStore(
  config: Config,
  ground: {
    readonly clock: Clock;
    readonly activity: Activity;
    readonly meter: Meter;
    readonly onCrash: (error: Error) => void;
  },
): Promise<WholeStore & { backups: BackupShelf | null; close(): Promise<void> }> {
  if (config.store === "memory") {
    return Object.assign(new MemoryStore(), { backups: null, close: async () => {} });
  }
  const path = join(config.dataFolder, storeFile);
  const thread = await openThread({ path, onCrash: ground.onCrash });
  const folder = resolve(config.dataFolder, "backups");
  const backups = openBackups({ folder, copyTo: (copy) => thread.backUp(copy) });
  const front = new FrontStore({
    ...ground,
    engine: measured(thread, ground.meter),
    // A clock that stands still cannot end a wait for company.
    gatherMs: config.clock === "virtual" ? 0 : gatherMs,
    waitingCharsMax: config.publishQueueBytesMax,
    retryAfterMs,
  });
  return Object.assign(front, { backups });
}

/** The same engine; how long each round takes, and how much shares it, is measured. */
function measured(engine: Engine, meter: Meter): Engine {
  const labels = {};
  return {
    ...engine,
    async run(ops) {
      const seconds = startWatch();
      const round = await engine.run(ops);
      meter.observe?.("posthorn_store_commit_seconds", labels, seconds());
      meter.observe?.("posthorn_store_round_operations", labels, ops.length);
      return round;
    },
  };
}

function countsOf({ attempts, ...tally }: Tally): Counts {
  return { ...tally, failed: Math.max(0, attempts - tally.delivered - tally.deadLettered) };
}

function settingsOf({ rows }: Config): SettingView[] {
  return rows.map(({ name, value, from }) => {
    const known = settingList.find((setting) => setting.name === name);
    const { about = "A section of the file.", isSecret = false } = known ?? {};
    return { name, value, source: from, about, isSecret };
  });
}

function versionOf(): string {
  const text = readFileSync(join(import.meta.dirname, "../package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
