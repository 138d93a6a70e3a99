// The stories' engine on a thread of its own, so that they do not slow deliveries; and the same
// engine in the calling thread, for tests. When the thread ends, only stories are lost: it is
// logged, and deliveries go on.

import { existsSync, renameSync } from "node:fs";
import { dirname } from "node:path";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { Refusal } from "../../core/refusal.ts";
import { makePrivateFolder } from "../private-files.ts";
import { isDamage } from "../sqlite/database.ts";
import { StoryEngine, type StoryOptions } from "./engine.ts";
import type { StoryAsk, StoryLink } from "./front.ts";

/** Marks the thread as ours. */
const role = "posthorn.stories";

type FromThread =
  | {
      readonly kind: "open";
      readonly wasClosed: boolean;
      readonly lastStored: number;
      readonly setAside: string | null;
    }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "failed"; readonly reason: string };

interface Asked {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Refusal: InvalidSetting, when the file cannot be opened. */
export async function openStoryThread(options: StoryOptions): Promise<StoryLink> {
  makePrivateFolder(dirname(options.path));
  const worker = new Worker(new URL(import.meta.url), {
    name: "stories",
    workerData: { role, options },
  });
  const opened = Promise.withResolvers<Extract<FromThread, { kind: "open" }>>();
  const asked: Asked[] = [];
  let broken: Error | null = null;
  const fail = (error: Error) => {
    broken ??= error;
    opened.reject(error);
    for (const { reject } of asked.splice(0)) reject(error);
  };
  worker.on("message", (from: FromThread) => {
    if (from.kind === "open") opened.resolve(from);
    else if (from.kind === "refused") opened.reject(new Refusal("InvalidSetting", from.reason));
    else if (from.kind === "done") asked.shift()?.resolve(from.value);
    else asked.shift()?.reject(new Error(from.reason));
  });
  worker.on("error", fail);
  const ended = new Promise<void>((resolve) => {
    worker.once("exit", () => {
      fail(new Error("The stories' thread has ended."));
      resolve();
    });
  });
  const { wasClosed, lastStored, setAside } = await opened.promise;
  return {
    wasClosed,
    lastStored,
    setAside,
    ask(ask) {
      if (broken !== null) return Promise.reject(broken);
      return new Promise((resolve, reject) => {
        asked.push({ resolve, reject });
        worker.postMessage(ask);
      });
    },
    async close() {
      worker.postMessage(null);
      await ended;
    },
  };
}

export function openStoryInline(engine: StoryEngine): StoryLink {
  const { wasClosed, lastStored } = engine;
  return {
    wasClosed,
    lastStored,
    setAside: null,
    ask: async (ask) => carryOut(engine, ask),
    close: async () => engine.close(),
  };
}

function carryOut(engine: StoryEngine, ask: StoryAsk): unknown {
  switch (ask.kind) {
    case "write":
      return engine.write(ask.batch, ask.now);
    case "step":
      return engine.step(ask.now);
    case "search":
      return engine.search(ask.query);
    case "find":
      return engine.find(ask.id);
    default:
      return ask satisfies never;
  }
}

function serve(port: NonNullable<typeof parentPort>): void {
  const say = (from: FromThread) => port.postMessage(from);
  let engine: StoryEngine;
  let setAside: string | null;
  try {
    ({ engine, setAside } = openEngine(workerData.options as StoryOptions));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    say({ kind: "refused", reason: error.message });
    port.close();
    return;
  }
  port.on("message", (ask: StoryAsk | null) => {
    if (ask === null) {
      engine.close();
      port.close();
      return;
    }
    try {
      say({ kind: "done", value: carryOut(engine, ask) });
    } catch (error) {
      say({ kind: "failed", reason: String(error) });
    }
  });
  const { wasClosed, lastStored } = engine;
  say({ kind: "open", wasClosed, lastStored, setAside });
}

/** Stories are for people: a damaged file is moved out of the way and must not stop delivery. */
function openEngine(options: StoryOptions): { engine: StoryEngine; setAside: string | null } {
  try {
    return { engine: new StoryEngine(options), setAside: null };
  } catch (error) {
    if (!isDamage(error instanceof Refusal ? error.cause : error)) throw error;
    const setAside = moveAway(options.path);
    return { engine: new StoryEngine(options), setAside };
  }
}

/** Answers with its new name. */
function moveAway(path: string): string {
  let number = 1;
  while (existsSync(`${path}.damaged-${number}`)) number += 1;
  const aside = `${path}.damaged-${number}`;
  for (const ending of ["", "-wal"]) {
    if (existsSync(`${path}${ending}`)) renameSync(`${path}${ending}`, `${aside}${ending}`);
  }
  return aside;
}

if (!isMainThread && parentPort !== null && workerData?.role === role) serve(parentPort);
