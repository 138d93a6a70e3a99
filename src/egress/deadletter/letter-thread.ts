// Dead letters are parsed on a thread of their own: a blob may have thousands of records, and the
// event loop has events to accept. The thread starts with the first blob. Its memory is bounded: a
// blob that takes more ends the thread, not the broker.

import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { type ReadRecord, readRecords, type WantedRecords } from "../../core/deadletter/letter.ts";

/** Marks the thread as ours, not just any worker that loads this file. */
const role = "posthorn.letters";

/** A blob has at most 16 MB; its parsed form takes a few times as much. */
const heapMbMax = 192;
const youngMbMax = 8;

/** Smaller ones may share Node's pool. */
const handedOverMin = 65_536;

interface Job {
  readonly number: number;
  readonly bytes: Uint8Array;
  readonly wanted: WantedRecords;
}

/** Some of the records; the next come when they are asked for, by the job's number. */
interface Part {
  readonly number: number;
  readonly records: readonly ReadRecord[];
  readonly isLast: boolean;
}

/** Taking in more at once would hold the event loop up. */
const recordsPerPart = 200;

interface Waiting {
  readonly records: ReadRecord[];
  give(records: readonly ReadRecord[] | null): void;
}

export interface LetterThread {
  /** Null: it took more memory than there is for it, or the thread has ended. */
  parse(bytes: Uint8Array, wanted: WantedRecords): Promise<readonly ReadRecord[] | null>;
  close(): Promise<void>;
}

export function openLetterThread(): LetterThread {
  let worker: Worker | null = null;
  let jobs = 0;
  const waiting = new Map<number, Waiting>();
  const start = (): Worker => {
    const made = new Worker(new URL(import.meta.url), {
      workerData: { role },
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax, maxYoungGenerationSizeMb: youngMbMax },
    });
    made.on("message", ({ number, records, isLast }: Part) => {
      const asked = waiting.get(number);
      asked?.records.push(...records);
      if (!isLast) {
        made.postMessage(number);
        return;
      }
      waiting.delete(number);
      if (waiting.size === 0) made.unref();
      asked?.give(asked.records);
    });
    // What it had in hand is not read; the next blob gets a new one.
    made.on("error", () => {});
    made.on("exit", () => {
      if (worker !== made) return;
      worker = null;
      for (const { give } of waiting.values()) give(null);
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
      waiting.set(number, { records: [], give: resolve });
      worker.postMessage({ number, bytes, wanted } satisfies Job, ownedBy(bytes));
      return promise;
    },
    async close() {
      await worker?.terminate();
    },
  };
}

/** Memory that belongs to these bytes alone is handed over, not copied. */
function ownedBy({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  return isWhole && byteLength >= handedOverMin ? [buffer] : [];
}

if (!isMainThread && parentPort !== null && workerData?.role === role) {
  const port = parentPort;
  const decoder = new TextDecoder();
  const left = new Map<number, readonly ReadRecord[]>();
  const give = (number: number, records: readonly ReadRecord[]) => {
    const rest = records.slice(recordsPerPart);
    const isLast = rest.length === 0;
    if (isLast) left.delete(number);
    else left.set(number, rest);
    port.postMessage({ number, records: records.slice(0, recordsPerPart), isLast } satisfies Part);
  };
  port.on("message", (asked: Job | number) => {
    if (typeof asked === "number") give(asked, left.get(asked) ?? []);
    else give(asked.number, readRecords(decoder.decode(asked.bytes), asked.wanted));
  });
}
