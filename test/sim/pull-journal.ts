// What happened at the pull queues of a run: what the store handed out and to whom, what receivers
// asked for and were told. Kept apart from the deliveries that are sent, whose laws are others.

import type { Delivery } from "../../src/core/delivery/delivery.ts";
import type { Instant } from "../../src/core/ports.ts";
import type { Subscription, SubscriptionId } from "../../src/core/subscription.ts";
import type { Append, Mark, SendNote, SettleNote } from "./journal.ts";

/** The store gave it to a receiver, or to the keeper of the queue, who is to end it. */
export interface Handing extends Mark {
  readonly life: number;
  readonly to: "receiver" | "keeper";
  /** The time by which it was asked. */
  readonly now: Instant;
  readonly delivery: Delivery;
}

/** One event in an answer to a receiver. */
export interface Got {
  readonly publication: number;
  readonly count: number;
  readonly lockToken: string;
}

/** One request for events. */
export interface Visit {
  readonly queue: SubscriptionId;
  readonly asked: Mark;
  /** Null: the broker died over it, refused it, or the receiver has hung up. */
  answered: Mark | null;
  /** When the receiver hung up. */
  left: Mark | null;
  got: readonly Got[];
}

/** What a receiver wanted of one lock. */
export interface Order {
  readonly kind: "acknowledge" | "release" | "reject" | "renewLock";
  readonly queue: SubscriptionId;
  readonly got: Got;
  readonly asked: Mark;
  answered: Mark | null;
  answer: "succeeded" | "failed" | "unknown";
}

export class PullJournal {
  readonly queues = new Map<SubscriptionId, Subscription>();
  readonly appends: Append[] = [];
  readonly handings: Handing[] = [];
  readonly settles: SettleNote[] = [];
  /** Of dead letters. */
  readonly sends: SendNote[] = [];
  readonly visits: Visit[] = [];
  readonly orders: Order[] = [];

  owns(subscription: SubscriptionId): boolean {
    return this.queues.has(subscription);
  }
}
