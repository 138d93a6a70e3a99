// The store of events, the chronicle with their stories, and the figures; each on a thread of its
// own, or in memory.

import { join, resolve } from "node:path";
import type { Config } from "./config/config.ts";
import type { Figures } from "./core/figures/figures.ts";
import type { Activity, Clock, Log, Meter, WholeStore } from "./core/ports.ts";
import type { Chronicle } from "./core/story/chronicle.ts";
import { retentionOf } from "./room-options.ts";
import { type BackupFolder, openBackups } from "./runtime/backups.ts";
import { startWatch } from "./runtime/clock/real.ts";
import { watchEventLoop } from "./runtime/event-loop.ts";
import { MemoryFigures } from "./store/figures/memory.ts";
import { openFigureThread } from "./store/figures/thread.ts";
import { MemoryStore } from "./store/memory.ts";
import { storeFile } from "./store/sqlite/backup.ts";
import { type Engine, FrontStore } from "./store/sqlite/front.ts";
import { openThread } from "./store/sqlite/thread.ts";
import { StoryFront } from "./store/story/front.ts";
import { MemoryChronicle } from "./store/story/memory.ts";
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
  close(): Promise<void>;
};

export async function openStore(
  config: Config,
  deps: {
    readonly clock: Clock;
    readonly activity: Activity;
    readonly meter: Meter;
    readonly onCrash: (error: Error) => void;
  },
): Promise<OpenStore> {
  if (config.store === "memory") {
    return Object.assign(new MemoryStore(), {
      backups: null,
      failure: null,
      close: async () => {},
    });
  }
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
  deps: { readonly clock: Clock; readonly activity: Activity; readonly log: Log },
): Promise<OpenChronicle> {
  const retention = retentionOf(config);
  const { storyTexts: texts } = config;
  if (!config.story) return { chronicle: openForgetful(), missing: null };
  if (config.store === "memory") {
    const onCut = (events: number) => deps.log.fact("warn", "story.cut", { events });
    const { clock } = deps;
    return { chronicle: new MemoryChronicle({ clock, retention, texts, onCut }), missing: null };
  }
  const link = await openStoryThread({ path: join(config.dataFolder, "story.db"), retention });
  const gatherMs = config.clock === "virtual" ? 0 : storyGatherMs;
  const { wasClosed, lastStored, setAside } = link;
  if (setAside !== null) deps.log.fact("warn", "story.damaged", { keptAs: setAside });
  return {
    chronicle: new StoryFront({ ...deps, link, gatherMs, texts }),
    missing: { lastStored, isAfterCrash: !wasClosed },
  };
}

export async function openFigures(
  config: Config,
  { log }: { readonly log: Log },
): Promise<Figures> {
  if (config.store === "memory") return new MemoryFigures();
  const path = join(config.dataFolder, "figures.db");
  const { figures, setAside } = await openFigureThread({ path });
  if (setAside !== null) log.fact("warn", "figures.damaged", { keptAs: setAside });
  return figures;
}
