// The ports for reading dead letters back: the stores they are in, which are only read, and the
// counts of how often each was redriven. letter.ts reads a record, letter-path.ts its location.

import type { Instant } from "../ports.ts";
import type { ReadRecord, WantedRecords } from "./letter.ts";

/** Where dead letters are; the account by its name in the settings. */
export interface BlobContainer {
  readonly account: string;
  readonly container: string;
}

export interface BlobListing {
  readonly path: string;
  readonly bytes: number;
  readonly modifiedAt: Instant;
}

/**
 * Reads the stores of dead letters and changes nothing there. Never rejects because of a store's
 * failure.
 */
export interface DeadLetterReader {
  /**
   * The entries right below a prefix, which is empty or ends with a slash; pass `next` as `after`.
   */
  list(
    container: BlobContainer,
    page: { readonly prefix: string; readonly after: string | null },
  ): Promise<Listing | NotRead>;
  /** Records of a blob, in their order. The work of parsing is not done on the event loop. */
  read(
    container: BlobContainer,
    path: string,
    wanted: WantedRecords,
  ): Promise<
    | {
        readonly kind: "read";
        readonly records: readonly ReadRecord[];
        readonly modifiedAt: Instant;
      }
    | NotRead
  >;
  /** Null, or why no blob could be put there now. */
  whyUnreachable(container: BlobContainer): Promise<string | null>;
}

export interface Listing {
  readonly kind: "listed";
  /** Names, without the prefix and the slash. */
  readonly folders: readonly string[];
  /** In the order of their paths. */
  readonly blobs: readonly BlobListing[];
  readonly next: string | null;
}

/** `why` is a sentence without secrets. */
export interface NotRead {
  readonly kind: "notRead";
  readonly why: string;
  /** There is no such blob or container; any other failure may be temporary. */
  readonly isMissing: boolean;
}

/** How often dead letters have been redriven; 0 for what is not known, or no longer. */
export interface Redriven {
  redriven(keys: readonly string[]): Promise<readonly number[]>;
  /**
   * Adds one to each, so that nobody's redrive is forgotten, and raises it to `times` at least.
   * Durable when it resolves; only the latest are kept (redrive.ts).
   */
  noteRedriven(notes: readonly RedrivenNote[]): Promise<void>;
}

export interface RedrivenNote {
  readonly key: string;
  /** As far as its writer knows. */
  readonly times: number;
}
