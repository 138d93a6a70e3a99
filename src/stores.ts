// The store of events, the chronicle with their stories, and the figures; each on a thread of its
// own, or in memory.

import { join, resolve } from "node:path";
import type { Config } from "./config/config.ts";
import { oddJobsSlot } from "./core/cluster/slot.ts";
import type { Figures } from "./core/figures/figures.ts";
import type { Activity, Clock, Ids, Log, Meter, WholeStore } from "./core/ports.ts";
import { Refusal } from "./core/refusal.ts";
import type { Chronicle, Retention } from "./core/story/chronicle.ts";
import { isTarget, parseTarget } from "./core/text/connection-string.ts";
import { retentionOf } from "./room-options.ts";
import { type BackupFolder, openBackups } from "./runtime/backups.ts";
import { startWatch } from "./runtime/clock/real.ts";
import { watchEventLoop } from "./runtime/event-loop.ts";
import { MemoryFigures } from "./store/figures/memory.ts";
import { openFigureThread } from "./store/figures/thread.ts";
import { MemoryStore } from "./store/memory.ts";
import { passwordOf } from "./store/postgres/password.ts";
import { storeFile } from "./store/sqlite/backup.ts";
import { type Engine, FrontStore } from "./store/sqlite/front.ts";
import { openThread } from "./store/sqlite/thread.ts";
import { StoryFront, type StoryLink } from "./store/story/front.ts";
import { MemoryChronicle } from "./store/story/memory.ts";
import { openStoryReader } from "./store/story/reader-thread.ts";
import { openStoryThread } from "./store/story/thread.ts";
import { openForgetful } from "./store/story/watchers.ts";

/**
 * How long a round of the store waits for more operations, and a refused publisher for its retry.
 */
const gatherMs = 3;
const retryAfterMs = 1_000;
/** How long notes for stories are collected, and so what a crash may lose of them. */
const storyGatherMs = 1_000;

export type OpenStore = WholeStore & {
  /** Null: a memory store cannot be backed up. */
  readonly backups: BackupFolder | null;
  /** Why nothing can be written at present; null: as far as is known, it can. */
  readonly failure: string | null;
  /** Where the stories of a cluster are kept; absent: in a file of this broker's. */
  openStories?(retention: Retention): StoryLink;
  /** Likewise the figures of a cluster. */
  openFigures?(): Figures;
  close(): Promise<void>;
};

export interface StoreDeps {
  readonly clock: Clock;
  readonly activity: Activity;
  readonly meter: Meter;
  readonly log: Log;
  readonly ids: Ids;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  readonly onCrash: (error: Error) => void;
  /** A database is waited for: called once. The answer is called when it is there. */
  readonly onAwait?: () => Promise<() => Promise<void>>;
}

/** Refusal: InvalidSetting, naming the setting. */
export async function openStore(config: Config, deps: StoreDeps): Promise<OpenStore> {
  if (config.store === "memory") {
    return Object.assign(new MemoryStore(), {
      backups: null,
      failure: null,
      close: async () => {},
    });
  }
  if (isTarget(config.store)) return await openCluster(config, deps);
  const path = join(config.dataFolder, storeFile);
  const thread = await openThread({ path, onCrash: deps.onCrash });
  const folder = resolve(config.dataFolder, "backups");
  const backups = openBackups({ folder, copyTo: (copy) => thread.backUp(copy) });
  const front = new FrontStore({
    ...deps,
    engine: measured(thread, deps.meter),
    // A clock that stands still cannot end that wait.
    gatherMs: config.clock === "virtual" ? 0 : gatherMs,
    ...(config.clock !== "virtual" && { eventLoop: watchEventLoop() }),
    waitingCharsMax: config.publishQueueBytesMax,
    waitMsMax: config.publishWaitMaxMs,
    retryAfterMs,
  });
  return Object.assign(front, { backups });
}

const noLabels = {};

/** The store of many brokers. Refusal: InvalidSetting. */
async function openCluster(
  config: Config,
  { clock, log, env, ids, meter, onAwait }: StoreDeps,
): Promise<OpenStore> {
  const { openPostgresStore } = await import("./store/postgres/open.ts");
  const target = parseTarget(config.store, passwordOf(config, env));
  if (typeof target === "string") throw new Refusal("InvalidSetting", `store: ${target}`);
  const { storeLeaseMs: leaseMs } = config;
  const { turn } = watchEventLoop();
  const store = await openPostgresStore({
    ...{ target, clock, log, turn, gatherMs, broker: ids.next() },
    elapsed: startWatchMs(),
    connectionsMax: config.storeConnections,
    isNotifying: config.storeNotify,
    isUnsafeFine: config.storeUnsafe,
    rhythm: { leaseMs, beatMs: leaseMs / 4, marginMs: leaseMs / 6 },
    waitingCharsMax: config.publishQueueBytesMax,
    waitMsMax: config.publishWaitMaxMs,
    onRound(ms, operations) {
      meter.observe?.("posthorn_store_commit_seconds", noLabels, ms / 1_000);
      meter.observe?.("posthorn_store_round_operations", noLabels, operations);
    },
    ...(onAwait !== undefined && { onAwait }),
  });
  const { database, ownership } = store;
  const { openStories } = await import("./store/postgres/story/stories.ts");
  const { PostgresFigures } = await import("./store/postgres/figures/figures.ts");
  const isSweeper = () => ownership.isMine(oddJobsSlot);
  return Object.assign(store, {
    backups: null,
    openStories: (retention: Retention) =>
      openStories({ database, broker: ownership.broker, retention }),
    openFigures: () => new PostgresFigures({ database, isSweeper }),
  });
}

/** Milliseconds since now. */
function startWatchMs(): () => number {
  const seconds = startWatch();
  return () => seconds() * 1_000;
}

/** The same engine, with the duration and size of each round measured. */
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

export interface OpenChronicle {
  readonly chronicle: Chronicle;
  /** What may be missing from before; null: nothing was kept. */
  readonly missing: { readonly lastStored: number; readonly isAfterCrash: boolean } | null;
}

export async function openChronicle(
  config: Config,
  deps: {
    readonly clock: Clock;
    readonly activity: Activity;
    readonly log: Log;
    readonly meter: Meter;
  },
  store: Pick<OpenStore, "openStories">,
): Promise<OpenChronicle> {
  const retention = retentionOf(config);
  const { storyTexts: texts } = config;
  if (!config.story) return { chronicle: openForgetful(), missing: null };
  if (config.store === "memory") {
    const onCut = (events: number) => deps.log.fact("warn", "story.cut", { events });
    const { clock } = deps;
    return { chronicle: new MemoryChronicle({ clock, retention, texts, onCut }), missing: null };
  }
  const shared = store.openStories?.(retention);
  if (shared !== undefined) {
    const front = new StoryFront({ ...deps, link: shared, gatherMs: storyGatherMs, texts });
    return { chronicle: front, missing: null };
  }
  const path = join(config.dataFolder, "story.db");
  const link = await openStoryThread({ path, retention });
  const reader = openStoryReader({ path });
  const gatherMs = config.clock === "virtual" ? 0 : storyGatherMs;
  const { wasClosed, lastStored, setAside } = link;
  if (setAside !== null) deps.log.fact("warn", "story.damaged", { keptAs: setAside });
  return {
    chronicle: new StoryFront({ ...deps, link, reader, gatherMs, texts }),
    missing: { lastStored, isAfterCrash: !wasClosed },
  };
}

export async function openFigures(
  config: Config,
  { log }: { readonly log: Log },
  store: Pick<OpenStore, "openFigures">,
): Promise<Figures> {
  if (config.store === "memory") return new MemoryFigures();
  const shared = store.openFigures?.();
  if (shared !== undefined) return shared;
  const path = join(config.dataFolder, "figures.db");
  const { figures, setAside } = await openFigureThread({ path });
  if (setAside !== null) log.fact("warn", "figures.damaged", { keptAs: setAside });
  return figures;
}
