// Dead letters are parsed on a thread of their own: a blob may have thousands of records, and the
// event loop has events to accept. The thread starts with the first blob. Its memory is bounded: a
// blob that takes more ends the thread, not the broker.

import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { type ReadRecord, readRecords, type WantedRecords } from "../../core/deadletter/letter.ts";

/** Marks the thread as ours, not just any worker that loads this file. */
const role = "posthorn.letters";

/** A blob has at most 16 MB; its parsed form takes a few times as much. */
const heapMbMax = 256;

interface Job {
  readonly number: number;
  readonly bytes: Uint8Array;
  readonly wanted: WantedRecords;
}

interface Done {
  readonly number: number;
  readonly records: readonly ReadRecord[];
}

export interface LetterThread {
  /** Null: it took more memory than there is for it, or the thread has ended. */
  parse(bytes: Uint8Array, wanted: WantedRecords): Promise<readonly ReadRecord[] | null>;
  close(): Promise<void>;
}

export function openLetterThread(): LetterThread {
  let worker: Worker | null = null;
  let jobs = 0;
  const waiting = new Map<number, (records: readonly ReadRecord[] | null) => void>();
  const start = (): Worker => {
    const made = new Worker(new URL(import.meta.url), {
      workerData: { role },
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
    });
    made.on("message", ({ number, records }: Done) => {
      waiting.get(number)?.(records);
      waiting.delete(number);
      if (waiting.size === 0) made.unref();
    });
    // What it had in hand is not read; the next blob gets a new one.
    made.on("error", () => {});
    made.on("exit", () => {
      if (worker !== made) return;
      worker = null;
      for (const give of waiting.values()) give(null);
      waiting.clear();
    });
    return made;
  };
  return {
    parse(bytes, wanted) {
      worker ??= start();
      worker.ref();
      const number = ++jobs;
      const { promise, resolve } = Promise.withResolvers<readonly ReadRecord[] | null>();
      waiting.set(number, resolve);
      worker.postMessage({ number, bytes, wanted } satisfies Job);
      return promise;
    },
    async close() {
      await worker?.terminate();
    },
  };
}

if (!isMainThread && parentPort !== null && workerData?.role === role) {
  const port = parentPort;
  const decoder = new TextDecoder();
  port.on("message", ({ number, bytes, wanted }: Job) => {
    const records = readRecords(decoder.decode(bytes), wanted);
    port.postMessage({ number, records } satisfies Done);
  });
}
