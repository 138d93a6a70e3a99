// What the path of an event needs from outside, as plain interfaces. Rooms (the folders of src)
// implement these or are given them by broker.ts; no room imports another. Read this after
// ARCHITECTURE.md.
//
// Other ports are next to their subject: topics and subscriptions in registry.ts, what waits in
// ledger.ts, what operators do in steering.ts, queues to fetch from in core/pull/pull-store.ts,
// deliveries and sending in core/delivery, requests and replies in request.ts, stories in
// core/story/chronicle.ts, dead letters read back in core/deadletter/letter-store.ts, questions to
// endpoints in core/handshake/question.ts, spans in core/tracing/span.ts.

import type { Ownership } from "./cluster/ownership.ts";
import type { Peers } from "./cluster/peers.ts";
import type { Redriven } from "./deadletter/letter-store.ts";
import type { Delivery, DeliveryId, LastAttempt, Queue, Stage } from "./delivery/delivery.ts";
import type { Event } from "./event.ts";
import type { Ledger } from "./ledger.ts";
import type { Pull } from "./pull/pull-store.ts";
import type { Registry } from "./registry.ts";
import type { Memos, Steering } from "./steering.ts";
import type { SubscriptionId } from "./subscription.ts";

// ── Time, randomness and names ────────────────────────────────────────────────────────────────

/** Milliseconds since 1970, UTC. */
export type Instant = number;

export interface Clock {
  /** Never goes backwards within a process. */
  now(): Instant;
  /** Runs `ring` once, `ms` from now and never within this call. The result cancels it. */
  after(ms: number, ring: () => void): () => void;
}

export interface Chance {
  /** A number in [0, 1). Drawn for a purpose, so that with a seed no other draw can change it. */
  draw(purpose: string): number;
}

export interface Ids {
  next(): string;
}

/** Tells a virtual clock that something real is in progress, so that time waits for it. */
export interface Activity {
  /**
   * Call the result when it is over. `outside`: it depends on an endpoint, which may never answer.
   */
  begin(kind: "inside" | "outside"): () => void;
}

// ── Deliveries and the store ──────────────────────────────────────────────────────────────────

/** An event and its subscriptions. */
export interface Routed {
  readonly event: Event;
  readonly to: readonly SubscriptionId[];
}

/** The terms that events were routed by: the topic, and its mark (routing-mark.ts). */
export interface RoutedBy {
  readonly topic: string;
  readonly mark: number;
}

export interface Want {
  /** At most this many; 0 only returns when the next one is due. */
  readonly max: number;
  /** At most this many characters of event text, but always at least one event. */
  readonly charsMax: number;
  readonly now: Instant;
  readonly leaseMs: number;
  /**
   * Only those whose stage began at or before this: what expired behind an unhealthy endpoint
   * (H-3).
   */
  readonly sinceBefore?: Instant;
}

export interface Claim {
  readonly deliveries: readonly Delivery[];
  /**
   * When to claim again at the latest: the next due time, or the end of a lease; null: nothing
   * waits.
   */
  readonly nextDueAt: Instant | null;
}

export type Settlement = {
  readonly delivery: DeliveryId;
  readonly lease: number;
  /** The lease is a receiver's lock (`Pull`), and counts only if it is in force at this time. */
  readonly lockedAt?: Instant;
} & (
  | {
      readonly kind: "gone";
      /** The subscriber has it: what a crash of the store's machine undoes comes again. */
      readonly isDelivered?: true;
    }
  /** The lease is given back unused; nothing else changes. */
  | { readonly kind: "back" }
  | {
      readonly kind: "due";
      readonly at: Instant;
      readonly stage: Stage;
      readonly since: Instant;
      readonly attempts: number;
      readonly last: LastAttempt | null;
      readonly reason: string | null;
    }
);

/** A queue has new work. A lost wake costs latency, never a delivery. */
export interface Wake {
  readonly queue: Queue;
  /** The earliest due time of the new deliveries. */
  readonly dueAt: Instant;
  /**
   * Deliveries the store has leased to the queue's standing claim, to be sent like claimed ones. A
   * wake that brings some announces only these; others in the queue are announced by another wake.
   */
  readonly deliveries: readonly Delivery[];
}

/**
 * The three central operations. Any of them may reject, with the disk's error as cause: then
 * nothing of that call has happened, except that an append or settle whose answer was lost in a
 * crash may have.
 */
export interface Store {
  /**
   * Whether other processes write its catalog, too. Then a publish must name what it was routed by,
   * also when nobody wants its events.
   */
  readonly isShared?: boolean;
  /**
   * Durable when it resolves; all or nothing. Subscriptions that were deleted meanwhile are left
   * out. Returns the number of each event. Refusals: TooManyRequests (the queue for the disk is
   * full), Unavailable (the disk failed), and PreconditionFailed: they were routed by terms that no
   * longer hold. What has changed is then reported by `onChange` first, as for a refused write.
   */
  append(
    routed: readonly Routed[],
    now: Instant,
    by?: RoutedBy | undefined,
  ): Promise<readonly number[]>;
  /**
   * Leases due deliveries, earliest first. A claim that finds less than `max` stays open until the
   * queue's next claim: the store may lease later appends to it, and pass them on with the wake. A
   * queue that this process does not own is empty to it.
   */
  claim(queue: Queue, want: Want): Promise<Claim>;
  /**
   * The only way a delivery changes or ends. Ignored unless it names the latest lease, and if the
   * delivery or its subscription is gone. The result says for each whether it counted.
   */
  settle(settlements: readonly Settlement[]): Promise<readonly boolean[]>;
  onWake(listener: (wake: Wake) => void): void;
}

/** Everything a store does. */
export type WholeStore = Store &
  Pull &
  Ledger &
  Steering &
  Registry &
  Memos &
  Redriven & { readonly ownership: Ownership; readonly peers: Peers };

// ── Logging and metrics ───────────────────────────────────────────────────────────────────────

export type Level = "debug" | "info" | "warn" | "error";

export interface Log {
  /** Whether facts of this level are logged; where there are many, the others need not be built. */
  tells?(level: Level): boolean;
  /**
   * One line per thing that happened, named as a fact: `delivery.attempted`. No secrets, no event
   * bodies.
   */
  fact(level: Level, name: string, fields: Readonly<Record<string, unknown>>): void;
}

export interface Meter {
  /**
   * Labels must not be changed afterwards: the same object given again is recognised by identity.
   */
  count(name: string, labels: Readonly<Record<string, string>>, by?: number): void;
  /** One measurement, in the unit that the name ends with. */
  observe?(name: string, labels: Readonly<Record<string, string>>, value: number): void;
}

/** What is only measured when the metrics are requested. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}
