// Writes dead letters: the records of a parcel become one blob, in the account that the
// subscription names (L-2). There are two kinds of store: blob-writer.ts and folder-writer.ts. The
// settings say which one an account is; a store is opened with its first blob.
//
// On a crash between a blob and its settlement, the events are written again, into another blob. A
// dead letter may be there twice.
//
// The same stores are read through `reader` (reader.ts).
//
// Deliberately absent: retries, and the limit after which events are dropped (L-4), which are rules
// in core.

import { findAccount, type StorageAccount, type StorageStore } from "../../core/azure/storage.ts";
import type { DeadLetterReader } from "../../core/deadletter/letter-store.ts";
import { deadLetterPath, deadLettersOf } from "../../core/deadletter/record.ts";
import type { Outcome } from "../../core/delivery/outcome.ts";
import type { Sink } from "../../core/delivery/sink.ts";
import type { Activity, Clock, Ids } from "../../core/ports.ts";
import type { DeadLetterDestination } from "../../core/subscription.ts";
import { ClientSends } from "../client-send.ts";
import { silent } from "../http/exchange.ts";
import type { EgressPolicy } from "../policy.ts";
import { openBlobs } from "./blob-writer.ts";
import { openFolder } from "./folder-writer.ts";
import { type BlobReader, openLetterReader } from "./reader.ts";

/** Writes that may continue after their timeout, over all stores. */
const lateMax = 64;

export interface DeadLetterOptions {
  /** Without it every address may be connected to. */
  readonly policy?: EgressPolicy | undefined;
  readonly clock: Clock;
  readonly activity: Activity;
  readonly ids: Ids;
  readonly accounts: readonly StorageAccount[];
}

export interface DeadLetters extends Sink<DeadLetterDestination> {
  readonly reader: DeadLetterReader;
  /** Aborts everything in flight. */
  close(): Promise<void>;
}

export interface Blob {
  readonly container: string;
  readonly path: string;
  readonly text: string;
}

/** Where blobs are written and read. */
export interface BlobStore extends BlobReader {
  /** Never rejects because of the store. A written blob is durable, and never partial. */
  put(blob: Blob, signal: AbortSignal): Promise<Outcome>;
}

export function openDeadLetters(options: DeadLetterOptions): DeadLetters {
  const { clock, activity, ids, accounts } = options;
  const clientSends = new ClientSends({ ...options, lateMax });
  const opened = new Map<StorageAccount, BlobStore>();
  const storeOf = (account: StorageAccount) => {
    const store = opened.get(account) ?? openStore(account.store);
    opened.set(account, store);
    return store;
  };
  const readerOf = (name: string) => {
    const account = accounts.find((each) => each.name.toLowerCase() === name.toLowerCase());
    return account && storeOf(account);
  };
  const readers = openLetterReader({ ...options, readerOf });
  return {
    reader: readers.reader,
    send(parcel, { resourceId, container }, limits) {
      return clientSends.run(limits, async (signal) => {
        // A subscription may refer to an account that is no longer in the settings.
        const account = findAccount(accounts, resourceId);
        if (account === undefined) return silent("dns", `${resourceId} is not in storageAccounts.`);
        const { topic, name } = parcel.subscription;
        const path = deadLetterPath({
          ...{ topic, subscription: name },
          at: clock.now(),
          id: ids.next(),
        });
        // A disk of ours always answers, so that a virtual clock waits for it, however slow it is.
        const end = account.store.kind === "folder" ? activity.begin("inside") : () => {};
        const blob = { container, path, text: deadLettersOf(parcel) };
        return await storeOf(account).put(blob, signal).finally(end);
      });
    },
    async close() {
      clientSends.close();
      await readers.close();
    },
  };
}

function openStore(store: StorageStore): BlobStore {
  return store.kind === "folder" ? openFolder(store) : openBlobs(store);
}
