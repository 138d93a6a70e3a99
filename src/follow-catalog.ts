// Follows the catalog of the store. Changes during a read wait for the next one, so that changes
// that come together share a read, and an older read never replaces a newer one. A failed read is
// repeated: those changes are not announced a second time.

import type { Clock, Log } from "./core/ports.ts";
import type { RecordNames } from "./core/registry.ts";

export interface CatalogFollower {
  /** The port's notice that these records have changed, or, for null, that any may have. */
  note(changed: RecordNames | null): void;
  /**
   * Resolves when every change noted before the call is in effect. Rejects when it cannot be read
   * now; it is still read later.
   */
  refresh(): Promise<void>;
  /** Nothing is read again after a failure. Resolves when no read is in progress. */
  close(): Promise<void>;
}

const retryMs = 1_000;

/** `read`: applies what the store has of these records, or, for null, of all. */
export function followCatalog(
  read: (changed: RecordNames | null) => Promise<void>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): CatalogFollower {
  const topics = new Set<string>();
  const subscriptions = new Set<number>();
  let isAllNoted = false;
  let isClosed = false;
  /** The current or last read, and the one that comes after it. */
  let latest = Promise.resolve();
  let next: Promise<void> | null = null;
  let callOff = () => {};

  const note = (changed: RecordNames | null) => {
    if (changed === null) isAllNoted = true;
    for (const name of changed?.topics ?? []) topics.add(name);
    for (const id of changed?.subscriptions ?? []) subscriptions.add(id);
  };
  const isNoted = () => isAllNoted || topics.size + subscriptions.size > 0;
  const readNoted = async () => {
    next = null;
    if (!isNoted()) return;
    const noted = isAllNoted ? null : { topics: [...topics], subscriptions: [...subscriptions] };
    isAllNoted = false;
    topics.clear();
    subscriptions.clear();
    try {
      await read(noted);
    } catch (error) {
      note(noted);
      log.fact("error", "catalog.failed", { error: String(error) });
      callOff();
      if (!isClosed) callOff = clock.after(retryMs, () => void begin());
      throw error;
    }
  };
  const begin = () => {
    if (next !== null) return next;
    next = latest.then(readNoted, readNoted);
    // Only the caller gets a failure.
    next.catch(() => {});
    latest = next;
    return next;
  };
  return {
    note(changed) {
      note(changed);
      if (isNoted() && !isClosed) begin();
    },
    refresh: () => next ?? (isNoted() ? begin() : latest),
    async close() {
      isClosed = true;
      callOff();
      await latest.catch(() => {});
    },
  };
}
