// Receivers of pull queues, as a port: those who ask (pull/) need not know how the queue is kept
// (dispatch/receivers.ts).

import type { Delivery } from "../delivery/delivery.ts";
import type { Subscription } from "../subscription.ts";
import type { Topic } from "../topic.ts";

/** A queue, as it is now. */
export interface PullQueue {
  readonly subscription: Subscription;
  readonly topic: Topic;
}

export interface ReceiveOrder {
  readonly max: number;
  /** How long to wait for the first event. */
  readonly waitMs: number;
  /** Who asks, for stories: an address. */
  readonly by: string;
  /** Calls back when the client has gone: then nothing is handed out to it any more. */
  readonly onGone?: ((listener: () => void) => void) | undefined;
}

/** What a receiver wants of the locks it has. */
export type LockOrder =
  | { readonly kind: "acknowledge" | "reject" | "renewLock" }
  | { readonly kind: "release"; readonly delayMs: number };

/** A lock by its delivery and lease. */
export interface Lock {
  readonly event: number;
  readonly lease: number;
}

export interface Receivers {
  /**
   * Locks and hands out at least one event, or none when the wait is over or the client gone.
   * Refusals: NotFound (the queue was deleted meanwhile), and those of the store.
   */
  receive(queue: PullQueue, order: ReceiveOrder): Promise<readonly Delivery[]>;
  /** For each lock whether it was in force, and so whether the order counted. */
  settle(
    queue: PullQueue,
    locks: readonly Lock[],
    order: LockOrder & { readonly by: string },
  ): Promise<readonly boolean[]>;
  /** Requests that wait for events, by subscription. */
  waiting(): ReadonlyMap<number, number>;
}

/** `bad`: not a token of this queue. `lost`: it was one, and its lock has ended. */
export type TokenResult = "succeeded" | "lost" | "bad";

/** The same for those who name a lock by its token. */
export interface TokenReceivers {
  receive(
    queue: PullQueue,
    order: ReceiveOrder,
  ): Promise<readonly { readonly delivery: Delivery; readonly lockToken: string }[]>;
  /** For each token, in the same order. */
  settle(
    queue: PullQueue,
    tokens: readonly string[],
    order: LockOrder & { readonly by: string },
  ): Promise<readonly TokenResult[]>;
}
