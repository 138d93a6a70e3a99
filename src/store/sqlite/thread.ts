// The embedded store's engine on a thread of its own, so that an fsync never stops the event
// loop, and the same engine in the calling thread for simulation. Both answer the same rounds.

import { dirname } from "node:path";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { Refusal, type RefusalCode } from "../../core/refusal.ts";
import { giveBackWhenQuiet } from "../../runtime/give-back.ts";
import { makePrivateFolder } from "../private-files.ts";
import { refuseUnopened, type SqliteOptions } from "./database.ts";
import { SqliteEngine } from "./engine.ts";
import type { Engine } from "./front.ts";
import { OpsPacker, OpsUnpacker, RoundPacker, RoundUnpacker } from "./pack.ts";
import type { Round } from "./round.ts";
import { checkSeal, readSealedJournal, Seal } from "./seal.ts";

/** Marks the thread as ours, not just any worker that loads this file. */
const role = "posthorn.store";

type PackedOps = ReturnType<OpsPacker["pack"]>;

type FromThread =
  | { readonly kind: "open" }
  | { readonly kind: "refused"; readonly code: RefusalCode; readonly reason: string }
  | { readonly kind: "round"; readonly round: ReturnType<RoundPacker["pack"]> }
  /** `reason`: null when the copy is made, otherwise why not. */
  | { readonly kind: "backedUp"; readonly reason: string | null };

export interface StoreThread extends Engine {
  /** Refusal: Conflict, while another is being made. Rejects when the disk fails. */
  backUp(path: string): Promise<void>;
}

/** Refusals: Unavailable while another broker has the file; InvalidSetting for a newer release. */
export async function openThread(
  options: SqliteOptions & { readonly onCrash: (error: Error) => void },
): Promise<StoreThread> {
  const { onCrash, ...rest } = options;
  makePrivateFolder(dirname(options.path));
  const worker = new Worker(new URL(import.meta.url), {
    name: "store",
    resourceLimits: { maxYoungGenerationSizeMb: 24 },
    workerData: { role, options: rest },
  });
  const packer = new OpsPacker();
  const unpacker = new RoundUnpacker();
  let settle: { resolve(round: Round): void; reject(error: Error): void } | null = null;
  let crash: Error | null = null;
  let backedUp: ((reason: string | null) => void) | null = null;
  const opened = Promise.withResolvers<void>();
  const fail = (error: Error) => {
    crash ??= error;
    opened.reject(error);
    settle?.reject(error);
    settle = null;
    backedUp?.(error.message);
  };
  worker.on("message", (from: FromThread) => {
    if (from.kind === "open") opened.resolve();
    else if (from.kind === "refused") opened.reject(new Refusal(from.code, from.reason));
    else if (from.kind === "backedUp") backedUp?.(from.reason);
    else {
      const { resolve } = settle as NonNullable<typeof settle>;
      settle = null;
      resolve(unpacker.unpack(from.round));
    }
  });
  let isClosing = false;
  const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  worker.on("error", (error: Error) => {
    fail(error);
    onCrash(error);
  });
  let isOpen = false;
  void ended.then(() => {
    if (isClosing || crash !== null) return;
    const error = new Error("The store's thread has ended.");
    fail(error);
    if (isOpen) onCrash(error);
  });
  await opened.promise;
  isOpen = true;
  return {
    run(ops) {
      if (crash !== null) return Promise.reject(crash);
      return new Promise((resolve, reject) => {
        settle = { resolve, reject };
        worker.postMessage(packer.pack(ops));
      });
    },
    async backUp(path) {
      if (crash !== null) throw crash;
      if (backedUp !== null) throw new Refusal("Conflict", "A backup is being made already.");
      const done = Promise.withResolvers<string | null>();
      backedUp = done.resolve;
      worker.postMessage({ backUpTo: path });
      const reason = await done.promise;
      backedUp = null;
      if (reason !== null) throw new Error(reason);
    },
    async close() {
      isClosing = true;
      worker.postMessage(null);
      await ended;
    },
  };
}

export function openInline(engine: SqliteEngine): Engine {
  return {
    run: async (ops) => engine.run(ops),
    close: async () => engine.close(),
  };
}

function serve(port: NonNullable<typeof parentPort>): void {
  const say = (from: FromThread) => port.postMessage(from);
  const options = workerData.options as SqliteOptions;
  const { path } = options;
  let engine: SqliteEngine;
  let seal: Seal;
  try {
    checkSeal(path);
    engine = new SqliteEngine({ ...options, sealed: readSealedJournal(path) });
    seal = new Seal(path);
    seal.set("journal");
  } catch (error) {
    // A file whose log hides the damage at first is found out when its tables are read.
    const refused = refuseUnopened(path, error);
    if (!(refused instanceof Refusal)) throw refused;
    say({ kind: "refused", code: refused.code, reason: refused.message });
    port.close();
    return;
  }
  const unpacker = new OpsUnpacker();
  const packer = new RoundPacker();
  const rounds: PackedOps[] = [];
  let isCopying = false;
  let isClosing = false;
  const runRounds = () => {
    for (const ops of rounds.splice(0)) {
      const round = engine.run(unpacker.unpack(ops));
      if (!engine.keepsEvents) unpacker.reuse();
      seal.touch(engine.journalMark);
      say({ kind: "round", round: packer.pack(round) });
    }
  };
  const work = () => {
    runRounds();
    if (!isClosing) return;
    close(engine, seal);
    port.close();
  };
  const betweenSteps = () => {
    try {
      runRounds();
    } catch (bug) {
      // It ends the thread, as it does without a copy; thrown here it would only end the copy.
      queueMicrotask(() => {
        throw bug;
      });
    }
    if (isClosing) throw new Error("The store is being closed.");
  };
  const copyTo = async (path: string) => {
    isCopying = true;
    const copied = engine.backUp(path, betweenSteps);
    const reason = await copied.then(() => null, String);
    isCopying = false;
    say({ kind: "backedUp", reason });
    work();
  };
  port.on("message", (told: PackedOps | { readonly backUpTo: string } | null) => {
    if (told === null) isClosing = true;
    else if ("backUpTo" in told) void copyTo(told.backUpTo);
    else rounds.push(told);
    if (!isCopying) work();
  });
  giveBackWhenQuiet();
  say({ kind: "open" });
}

/** Where the disk does not allow it, the store is left as a crash would leave it. */
function close(engine: SqliteEngine, seal: Seal): void {
  try {
    const isInFile = engine.commit() === null;
    if (isInFile) seal.set("closing");
    engine.close();
    if (isInFile) seal.set("closed");
    seal.close();
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
  }
}

if (!isMainThread && parentPort !== null && workerData?.role === role) serve(parentPort);
