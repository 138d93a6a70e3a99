// The ports by which dead letters are read back: the stores they lie in, which are only looked at,
// and the memory of how often each was sent again. How a record is read is in letter.ts, where it
// lies in letter-path.ts.

import type { Instant } from "../ports.ts";

/** Where dead letters lie; the account by its name in the settings. */
export interface BlobContainer {
  readonly account: string;
  readonly container: string;
}

export interface BlobListing {
  readonly path: string;
  readonly bytes: number;
  readonly modifiedAt: Instant;
}

/** Looks into the stores of dead letters and changes nothing there. Never rejects for the world. */
export interface DeadLetterReader {
  /** What lies right below a prefix, which is empty or ends with a slash; `next` as `after`. */
  list(
    container: BlobContainer,
    page: { readonly prefix: string; readonly after: string | null },
  ): Promise<Listing | NotRead>;
  read(
    container: BlobContainer,
    path: string,
  ): Promise<
    { readonly kind: "read"; readonly text: string; readonly modifiedAt: Instant } | NotRead
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
  /** There is no such blob or container; anything else may pass. */
  readonly isMissing: boolean;
}

/** How often dead letters have been sent again; 0 for what is not known, or no more. */
export interface Redriven {
  redriven(keys: readonly string[]): Promise<readonly number[]>;
  /** Durable when it resolves. A count never goes down; the latest are kept (redrive.ts). */
  noteRedriven(notes: readonly RedrivenNote[]): Promise<void>;
}

export interface RedrivenNote {
  readonly key: string;
  readonly times: number;
}
