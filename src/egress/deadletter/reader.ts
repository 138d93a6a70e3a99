// Reads stores of dead letters, for lists and for redrives. Each read has a timeout on our clock,
// which may be virtual, and stops with the broker. Nothing is changed and nothing is cached.

import type {
  BlobContainer,
  DeadLetterReader,
  NotRead,
} from "../../core/deadletter/letter-store.ts";
import type { Activity, Clock, Instant } from "../../core/ports.ts";
import { type EgressPolicy, guard } from "../policy.ts";
import { openLetterThread } from "./letter-thread.ts";

/**
 * One kind of store. Never rejects because of the store; once aborted, its result does not matter.
 */
export interface BlobReader {
  list(
    container: BlobContainer,
    page: Parameters<DeadLetterReader["list"]>[1],
    signal: AbortSignal,
  ): ReturnType<DeadLetterReader["list"]>;
  read(
    container: BlobContainer,
    path: string,
    signal: AbortSignal,
  ): Promise<
    { readonly kind: "read"; readonly bytes: Uint8Array; readonly modifiedAt: Instant } | NotRead
  >;
  whyUnreachable(container: BlobContainer, signal: AbortSignal): Promise<string | null>;
}

export interface LetterReaderOptions {
  readonly clock: Clock;
  readonly activity: Activity;
  /** Undefined for an account that is not in the settings. */
  readonly readerOf: (account: string) => BlobReader | undefined;
  /** Without it every address may be connected to. */
  readonly policy?: EgressPolicy | undefined;
}

/** Ours have up to 1 MB; the service's maximum is not documented. */
export const blobBytesMax = 16 * 1024 * 1024;
const lookMs = 30_000;

export function notRead(words: string): NotRead {
  return { kind: "notRead", why: `${words}.`, isMissing: false };
}

const unparsed = notRead("The blob took more memory than reading one may take");

export const tooLarge = notRead(`The blob has more than ${blobBytesMax} bytes`);

export function openLetterReader({ clock, activity, readerOf, policy }: LetterReaderOptions) {
  const closing = new AbortController();
  const thread = openLetterThread();
  const look = async <T>(
    { account }: BlobContainer,
    failed: (why: NotRead) => T,
    work: (reader: BlobReader, signal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    const reader = readerOf(account);
    if (reader === undefined) return failed(notRead(`${account} is not in storageAccounts`));
    if (closing.signal.aborted) return failed(notRead("The broker is stopping"));
    const end = activity.begin("outside");
    const tooLong = Promise.withResolvers<T>();
    const breakOff = new AbortController();
    const stop = (why: string) => {
      tooLong.resolve(failed(notRead(why)));
      breakOff.abort();
    };
    const close = () => stop("The broker is stopping");
    closing.signal.addEventListener("abort", close, { once: true });
    const callOff = clock.after(lookMs, () => stop("The store gave no answer in time"));
    try {
      const done = guard(policy, () => work(reader, breakOff.signal));
      return await Promise.race([done, tooLong.promise]);
    } finally {
      callOff();
      closing.signal.removeEventListener("abort", close);
      end();
    }
  };
  const reader: DeadLetterReader = {
    list: (container, page) =>
      look<Awaited<ReturnType<DeadLetterReader["list"]>>>(
        container,
        (why) => why,
        (reader, signal) => reader.list(container, page, signal),
      ),
    read: (container, path, wanted) =>
      look<Awaited<ReturnType<DeadLetterReader["read"]>>>(
        container,
        (why) => why,
        async (reader, signal) => {
          const read = await reader.read(container, path, signal);
          if (read.kind === "notRead") return read;
          const records = await thread.parse(read.bytes, wanted);
          if (records === null) return unparsed;
          return { kind: "read", records, modifiedAt: read.modifiedAt };
        },
      ),
    whyUnreachable: (container) =>
      look<string | null>(
        container,
        ({ why }) => why,
        (reader, signal) => reader.whyUnreachable(container, signal),
      ),
  };
  return {
    reader,
    async close() {
      closing.abort();
      await thread.close();
    },
  };
}
