// What waits in a store, as people and tests read it.

import type { Delivery, DeliveryId, Queue } from "./delivery/delivery.ts";
import type { Instant } from "./ports.ts";

/** Reading and counting, for people and tests. Never changes anything and never leases. */
export interface Ledger {
  counts(): Promise<readonly QueueCount[]>;
  /**
   * Waiting deliveries of a queue in the order of their numbers, `limit` at a time (at most 1,000).
   * What is appended meanwhile may be missing from the pages.
   */
  waiting(
    queue: Queue,
    page: { readonly after: number; readonly limit: number },
  ): Promise<readonly Seen[]>;
  /** Deliveries by name, at most 1,000 at a time; null for those that do not wait. */
  look(ids: readonly DeliveryId[]): Promise<readonly (Seen | null)[]>;
}

/** A delivery as readers see it. */
export type Seen = Omit<Delivery, "lease" | "leasedUntil">;

export interface QueueCount extends Queue {
  readonly waiting: number;
  /** When the stage of the oldest one began. */
  readonly oldestAt: Instant;
  /** Of the earliest; it may be leased, or long past. */
  readonly nextDueAt: Instant;
}
