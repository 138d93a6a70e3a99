// What the parts of the PostgreSQL store share.

import type { Slot } from "../../core/cluster/slot.ts";
import type { Queue } from "../../core/delivery/delivery.ts";
import type { Clock, Instant, Log, Wake } from "../../core/ports.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import type { Database } from "./database.ts";
import type { EventNumbers } from "./event-numbers.ts";
import type { Hint } from "./hints.ts";
import type { Leases } from "./leases.ts";
import type { Times } from "./times.ts";

export interface Parts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly times: Times;
  readonly leases: Leases;
  readonly numbers: EventNumbers;
  readonly self: Self;
  /** Whether it may be claimed here. */
  isMine(slot: Slot): boolean;
  /** Whether what was claimed here may still be settled. */
  owns(slot: Slot): boolean;
  wake(wake: Wake): void;
  /** What tells the owners of these queues, if notices are used. */
  hints(queues: ReadonlyMap<SubscriptionId, Instant>): readonly Hint[];
  /** The same at once; if it is lost, they find it by looking. */
  tell(queues: ReadonlyMap<SubscriptionId, Instant>): void;
  /** The catalog has changed: reads and reports how. */
  catchUp(): Promise<void>;
}

/** This broker in the database. */
export interface Self {
  readonly broker: string;
  /** The fence of its settlements; 0: it has none. */
  epoch: number;
}

export function ownWake({ wake }: Parts, queue: Queue, dueAt: Instant): void {
  wake({ queue, dueAt, deliveries: [] });
}
