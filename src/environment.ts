// The real environment: everything a broker needs, opened in order into its owner's stack, which
// closes it in reverse. The rooms are joined in wiring.ts.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Config } from "./config/config.ts";
import { inboxPath } from "./control/inbox/inboxes.ts";
import { type AzureResources, parseAzure } from "./core/azure/resources.ts";
import { parseStorageAccounts } from "./core/azure/storage.ts";
import { oddJobsSlot } from "./core/cluster/slot.ts";
import type { Ledger } from "./core/ledger.ts";
import type { Activity, Clock, Log } from "./core/ports.ts";
import type { LiveCatalog } from "./core/routing/live-catalog.ts";
import type { Memos } from "./core/steering.ts";
import type { Chronicle } from "./core/story/chronicle.ts";
import type { StoryNote } from "./core/story/note.ts";
import { isSameName } from "./core/text/compare.ts";
import { isoInstant } from "./core/text/time.ts";
import { type DeadLetters, openDeadLetters } from "./egress/deadletter/sink.ts";
import { openDestinations } from "./egress/destination.ts";
import { openAsk } from "./egress/http/ask.ts";
import { openWebhook } from "./egress/http/webhook.ts";
import { egressPolicyOf, entraOf, sendsMaxOf, trustOf, versionOf } from "./room-options.ts";
import { trustAlso } from "./runtime/access/certificate.ts";
import { agreeOnKey } from "./runtime/access/cluster-key.ts";
import { keepSecret, shareSecret } from "./runtime/access/kept-file.ts";
import { openKeys } from "./runtime/access/keys.ts";
import { openToOthers } from "./runtime/access/open-to-others.ts";
import { openTokens, type Tokens } from "./runtime/access/tokens.ts";
import { realChance, seededChance } from "./runtime/chance.ts";
import { realActivity, realClock, startBeat } from "./runtime/clock/real.ts";
import { VirtualClock } from "./runtime/clock/virtual.ts";
import { openNextTurn } from "./runtime/event-loop.ts";
import {
  type FailureDeps,
  type FailureLog,
  openFailureLog,
  openLines,
} from "./runtime/failure-log.ts";
import { makeKey, realIds } from "./runtime/ids.ts";
import { type LogStream, logSuccesses, type OpenLog, openLog } from "./runtime/log.ts";
import { type OpenMeter, openMeter } from "./runtime/metrics/meter.ts";
import { openProcessFacts, type ProcessFacts } from "./runtime/metrics/process.ts";
import { openTotals, type Totals } from "./runtime/metrics/totals.ts";
import { openTelemetry, type Telemetry } from "./runtime/telemetry/open.ts";
import type { Env } from "./runtime/telemetry/settings.ts";
import { FigureKeeper } from "./store/figures/keeper.ts";
import {
  type OpenChronicle,
  type OpenStore,
  openChronicle,
  openFigures,
  openStore,
} from "./stores.ts";
import { openWaitingRoom } from "./waiting-room.ts";
import type { Environment } from "./wiring.ts";

/** What the process passes in. */
export interface Outside {
  readonly stdout: LogStream;
  readonly startedAt: number;
  /** Of the process: it names the collectors of OpenTelemetry. Without it there are none. */
  readonly env?: Env;
  readonly onCrash: (error: Error) => void;
  /** Called with every note for stories, as it happens. */
  readonly onNote?: (note: StoryNote) => void;
}

export interface RealEnvironment extends Environment {
  readonly store: OpenStore;
  readonly deadLetterSink: DeadLetters;
  readonly azure: AzureResources;
  readonly chronicle: Chronicle;
  readonly figures: FigureKeeper;
  readonly isModuleKey: (key: string) => boolean;
  /** Where we reach our own listener once it is open, over HTTP if it speaks that. */
  readonly ownUrl: { origin: string | null };
  /** What may be missing from stories; see stores.ts. */
  readonly missing: OpenChronicle["missing"];
  /** Null: time passes by itself. */
  readonly virtual: VirtualClock | null;
  /** The log itself, and the announcement. */
  readonly openLog: OpenLog;
  readonly openMeter: OpenMeter;
  readonly telemetry: Telemetry;
  readonly vitals: ProcessFacts;
  readonly tally: () => Totals;
  readonly tokens: Tokens;
}

/** The log level until the owner closes it. */
export interface Ending {
  signal: AbortSignal;
}

/** Refusal: InvalidSetting, naming the setting. */
export async function openEnvironment(
  config: Config,
  outside: Outside,
  hands: {
    readonly stack: AsyncDisposableStack;
    readonly ending: Ending;
    /** The settings of the rooms that will run here. */
    readonly catalog: () => LiveCatalog;
  },
): Promise<RealEnvironment> {
  const { stack } = hands;
  const virtual = virtualClockOf(config, outside.startedAt);
  const clock =
    virtual ??
    realClock((byMs) =>
      log.fact("warn", "clock.setBack", { byMs, words: "time continues from where it was" }),
    );
  const activity = virtual ?? realActivity;
  const log = stack.adopt(
    openLog({
      ...{ level: config.logLevel, format: config.logFormat, stream: outside.stdout },
      now: () => clock.now(),
      holdsBack: true,
    }),
    (open) => open.close(),
  );
  const [open] = openToOthers(config.dataFolder);
  if (open !== undefined) {
    log.fact("warn", "data.openToOthers", { folder: open, remedy: `chmod -R go= ${open}` });
  }
  const ids = realIds();
  const meter = openMeter();
  const version = versionOf();
  const telemetry = stack.adopt(
    await openTelemetry({ log, version, env: outside.env ?? {} }),
    (open) => open.close(),
  );
  const vitals = stack.adopt(openProcessFacts({ version }), (open) => open.close());
  const { tally, counted } = openTotals(meter);
  const store = stack.adopt(
    await openStore(config, {
      ...{ clock, activity, meter, log, ids, ...outside },
      onAwait: () => {
        log.release();
        return openWaitingRoom(config, { log, ids });
      },
    }),
    (open) => open.close(),
  );
  if (virtual !== null) await resumeClock(virtual, store, log);
  const { chronicle, missing } = await openChronicle(
    config,
    { clock, activity, log, meter },
    store,
  );
  stack.defer(() => chronicle.close());
  if (outside.onNote !== undefined) chronicle.listen(outside.onNote);
  const figures = new FigureKeeper({
    broker: store.ownership.broker,
    ...{ figures: await openFigures(config, { log }, store), chronicle, clock, log },
    // What waits is the same at every broker: one of them looks.
    ledger: {
      counts: async () => (store.ownership.isMine(oddJobsSlot) ? await store.counts() : []),
    },
    ...{ catalog: hands.catalog, every: startBeat },
  });
  stack.defer(() => figures.close());
  const azure = withLocalAccount(parseAzure(config), config);
  const ownUrl = { origin: null };
  const ways = openSinks(config, { clock, activity, ids, azure, ownUrl }, hands);
  const tokens = openTokens({
    adminKey: await adminKeyOf(config, store),
    entra: entraOf(config),
    log,
  });
  const failures = openFailures(config, { log, clock, catalog: hands.catalog });
  if (failures !== null) {
    stack.defer(chronicle.listen((note) => failures.note(note)));
    stack.adopt(failures, (open) => open.close());
  }
  const facts = config.logsSuccesses ? logSuccesses(log) : log;
  const moduleKeys = config.moduleKeysEnabled ? [config.moduleKey1, config.moduleKey2] : [];
  return {
    ...{
      store,
      storeFailure: () => store.failure,
      chronicle,
      figures,
      ownUrl,
      missing,
      azure,
      ...ways,
      clock,
      ids,
      meter: counted,
    },
    ...(virtual !== null && { patience: realPatience() }),
    ...{ virtual, openLog: log, openMeter: meter, telemetry, vitals, tally, tokens },
    log: failures === null ? facts : failures.beside(facts),
    chance: config.seed === null ? realChance() : seededChance(config.seed),
    whyNoBearer: tokens.whyNoBearer,
    isModuleKey: openKeys(moduleKeys),
    ...(telemetry.tracer && { tracer: telemetry.tracer }),
  };
}

/** Who waits for an answer does not do so on the virtual clock. */
function realPatience(): Clock["after"] {
  const real = realClock();
  return (ms, ring) => real.after(ms, ring);
}

function virtualClockOf(config: Config, startedAt: number): VirtualClock | null {
  if (config.clock !== "virtual") return null;
  const startAt = config.clockStartAt ?? startedAt;
  return new VirtualClock({ startAt, patienceMs: config.clockPatienceMs });
}

/** The kind of the one memo with the virtual time reached so far. */
const clockMemo = { kind: "clock", key: "now" };

/** The virtual clock never starts before what the store has seen. */
async function resumeClock(
  virtual: VirtualClock,
  store: Memos & Pick<Ledger, "counts">,
  log: Log,
): Promise<void> {
  const kept = (await store.notes(clockMemo.kind)).map(({ record }) => instantIn(record));
  // Events stored while the real clock was used count as well.
  const waiting = (await store.counts()).map(({ oldestAt }) => oldestAt);
  virtual.resume(Math.max(...kept, ...waiting, 0), async (at) => {
    try {
      await store.putMemo(clockMemo.kind, clockMemo.key, { at });
    } catch (error) {
      log.fact("warn", "clock.notKept", { at: isoInstant(at), error: String(error) });
    }
  });
}

/** Dead letters can always go somewhere: unless the name is taken, to a folder of ours. */
function withLocalAccount(azure: AzureResources, config: Config): AzureResources {
  const { storageAccounts } = azure;
  const name = "local";
  if (config.store === "memory" || storageAccounts.some((one) => isSameName(one.name, name))) {
    return azure;
  }
  const folder = resolve(config.dataFolder, "dead-letters");
  const local = parseStorageAccounts({ [name]: { folder } });
  return { ...azure, storageAccounts: [...storageAccounts, ...local] };
}

function instantIn(record: object): number {
  return "at" in record && typeof record.at === "number" ? record.at : 0;
}

/** The sinks: to endpoints, to dead letters, and for requests of our own. */
function openSinks(
  config: Config,
  environment: Pick<RealEnvironment, "clock" | "ids" | "azure" | "ownUrl"> & {
    readonly activity: Activity;
  },
  { stack, ending }: { readonly stack: AsyncDisposableStack; readonly ending: Ending },
) {
  const { azure } = environment;
  const ca = (config.tlsCaFiles ?? []).map((path) => readFileSync(path, "utf8"));
  trustAlso(ca);
  const trust = trustOf(config);
  const { ownUrl } = environment;
  const inboxes = { origin: () => ownUrl.origin, path: `${inboxPath}/` };
  const policy = egressPolicyOf(config, inboxes);
  const sendsMax = config.endpointSendsMax;
  const allSendsMax = sendsMaxOf(config);
  const webhook = stack.adopt(
    openWebhook({
      ...{
        ...environment,
        nextTurn: openNextTurn(),
        lateMax: sendsMax,
        ca,
        trust,
        policy,
        inboxes,
      },
      ...{ allLateMax: Math.ceil(allSendsMax / 2), idleMax: allSendsMax },
    }),
    (open) => open.close(),
  );
  const sink = stack.adopt(openDestinations({ ...environment, webhook, azure, policy }), (open) =>
    open.close(ending.signal),
  );
  const { ask } = stack.adopt(openAsk({ ...environment, ca, trust, policy, inboxes }), (open) =>
    open.close(),
  );
  // Also without an account: dead letters for a removed one are kept for a while.
  const deadLetterSink = stack.adopt(
    openDeadLetters({ ...environment, accounts: azure.storageAccounts, policy }),
    (open) => open.close(),
  );
  return { sink, ask, deadLetterSink };
}

/** Without authentication it need not be stored. */
async function adminKeyOf(
  { adminKey, auth, dataFolder }: Config,
  store: OpenStore,
): Promise<string> {
  if (!auth) return adminKey ?? makeKey();
  const path = join(dataFolder, "admin.key");
  if (store.isShared !== true) return adminKey ?? keepSecret(path, makeKey);
  const key = adminKey ?? (await shareSecret(store, path, makeKey));
  await agreeOnKey(store, key);
  return key;
}

function openFailures(
  { failureLog }: Config,
  { log, ...environment }: FailureDeps & { readonly log: OpenLog },
): FailureLog | null {
  if (failureLog === "off") return null;
  return failureLog === "stdout"
    ? openFailureLog({ write: log.line, close: async () => {} }, environment)
    : openFailureLog(openLines(failureLog), environment);
}
