// An engine on a thread of its own, which is asked one thing after the other: plain values go in
// and come back. For what is kept for people, the stories and the figures: when such a thread ends,
// whoever asks is told, and deliveries go on.

import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { Refusal } from "../core/refusal.ts";
import { giveBackWhenQuiet } from "../runtime/give-back.ts";

/** Carries out calls one after the other. */
export interface Asked<Ask> {
  /** Rejects when it failed; then nothing of it has happened. `moved` is not copied, and gone. */
  ask(ask: Ask, moved?: readonly ArrayBuffer[]): Promise<unknown>;
  /** Earlier calls are still carried out. */
  close(): Promise<void>;
  /** Ends it now, in the midst of a call. */
  abandon?(): void;
}

/** What runs on the thread. */
export interface Answering<Ask> {
  /** Known once it is open; sent to the caller. */
  readonly opened: object;
  answer(ask: Ask): unknown;
  close(): void;
}

type FromThread =
  | { readonly kind: "open"; readonly opened: object }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "failed"; readonly reason: string };

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** V8's room for what is new; its default commits twice as much for nothing. */
const youngMbMax = 24;

/**
 * `file`: calls `answerAsked` with the same `role`. Refusal: InvalidSetting, when it cannot be
 * opened.
 */
export async function openAskedThread<Ask, Opened extends object>(
  file: URL,
  role: string,
  options: object,
): Promise<Asked<Ask> & Opened> {
  const resourceLimits = { maxYoungGenerationSizeMb: youngMbMax };
  const worker = new Worker(file, { name: role, resourceLimits, workerData: { role, options } });
  const opened = Promise.withResolvers<Opened>();
  const waiting: Waiting[] = [];
  let broken: Error | null = null;
  const fail = (error: Error) => {
    broken ??= error;
    opened.reject(error);
    for (const { reject } of waiting.splice(0)) reject(error);
  };
  worker.on("message", (from: FromThread) => {
    if (from.kind === "open") opened.resolve(from.opened as Opened);
    else if (from.kind === "refused") opened.reject(new Refusal("InvalidSetting", from.reason));
    else if (from.kind === "done") waiting.shift()?.resolve(from.value);
    else waiting.shift()?.reject(new Error(from.reason));
  });
  worker.on("error", fail);
  const ended = new Promise<void>((resolve) => {
    worker.once("exit", () => {
      fail(new Error(`The thread ${role} has ended.`));
      resolve();
    });
  });
  return {
    ...(await opened.promise),
    ask(ask, moved = []) {
      if (broken !== null) return Promise.reject(broken);
      return new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        worker.postMessage(ask, moved);
      });
    },
    async close() {
      worker.postMessage(null);
      await ended;
    },
    abandon: () => void worker.terminate(),
  };
}

/** On the thread with that role; elsewhere it does nothing. */
export function answerAsked<Options, Ask>(
  role: string,
  open: (options: Options) => Answering<Ask>,
): void {
  if (isMainThread || parentPort === null || workerData?.role !== role) return;
  const port = parentPort;
  const say = (from: FromThread) => port.postMessage(from);
  let engine: Answering<Ask>;
  try {
    engine = open(workerData.options as Options);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    say({ kind: "refused", reason: error.message });
    port.close();
    return;
  }
  port.on("message", (ask: Ask | null) => {
    if (ask === null) {
      engine.close();
      port.close();
      return;
    }
    try {
      say({ kind: "done", value: engine.answer(ask) });
    } catch (error) {
      say({ kind: "failed", reason: String(error) });
    }
  });
  giveBackWhenQuiet();
  say({ kind: "open", opened: engine.opened });
}
