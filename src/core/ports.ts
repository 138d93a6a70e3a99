// What the path of an event needs from outside, as plain interfaces. Rooms (the folders of src)
// implement these or are given them by broker.ts; no room imports another. Read this after
// ARCHITECTURE.md.
//
// Other ports are next to their subject: requests and replies in request.ts, what operators do in
// steering.ts, stories in core/story/chronicle.ts, dead letters read back in
// core/deadletter/letter-store.ts, questions to endpoints in core/handshake/question.ts, spans in
// core/tracing/span.ts.

import type { Ownership } from "./cluster/ownership.ts";
import type { Peers } from "./cluster/peers.ts";
import type { Redriven } from "./deadletter/letter-store.ts";
import type { Outcome } from "./delivery/outcome.ts";
import type { Event } from "./event.ts";
import type { Memos, Steering } from "./steering.ts";
import type {
  PushDestination,
  Subscription,
  SubscriptionDraft,
  SubscriptionId,
} from "./subscription.ts";
import type { Topic, TopicDraft } from "./topic.ts";
import type { Trace } from "./tracing/trace.ts";

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

/** First to the subscriber; when that fails for good, to the dead-letter destination. */
export type Stage = "deliver" | "deadLetter";

/** The waiting deliveries of one subscription in one stage. */
export interface Queue {
  readonly subscription: SubscriptionId;
  readonly stage: Stage;
}

/** An event on its way to one subscription. There is at most one per event and subscription. */
export interface DeliveryId {
  /** The store's number for the event; never reused. Not always in the order of the appends. */
  readonly event: number;
  readonly subscription: SubscriptionId;
}

/** What is kept of the last send to the subscriber, for dead letters and stories. */
export interface LastAttempt {
  readonly at: Instant;
  /** From one, and so the number of attempts. */
  readonly number: number;
  /** Event Grid's name for the outcome: `TimedOut`, `BadRequest`, … */
  readonly outcome: string;
  readonly status: number | null;
}

export interface Delivery {
  readonly id: DeliveryId;
  readonly stage: Stage;
  /** The fence: a settlement counts only if it names the latest lease. Never given twice. */
  readonly lease: number;
  readonly leasedUntil: Instant;
  /** When it was due; a settlement `back` does not change it. */
  readonly dueAt: Instant;
  /** Sends actually made in this stage. */
  readonly attempts: number;
  /** When this stage began: the publish, or the moment of giving up. */
  readonly since: Instant;
  readonly last: LastAttempt | null;
  /**
   * Why it is undeliverable; null in the first stage, except of what a receiver got for the last
   * time.
   */
  readonly reason: string | null;
  readonly event: Event;
}

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
  | { readonly kind: "gone" }
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

/**
 * Queues from which clients fetch. The lock of a receiver is a lease that is written down: the
 * delivery is due again when the lock ends. So it outlives every process, and whoever else uses the
 * store sees it, too. It is settled like any other lease, and renewed by a settlement with a later
 * due time. Nothing of such a queue is ever claimed in its first stage.
 */
export interface Pull {
  /**
   * Hands out what is available, the earliest due first, and counts it as an attempt: each with
   * the new count, and with `dueAt` and `last` as they were before. What is handed out for the last
   * time gets `lastReason`. What has expired, or was handed out as often
   * as is allowed, is left to `takeEnded`.
   */
  receive(subscription: SubscriptionId, want: Receive): Promise<Received>;
  /**
   * Leases what is not locked and is to end, so that nobody else gets it, and counts nothing. To be
   * repeated until there is none.
   */
  takeEnded(subscription: SubscriptionId, want: Ending): Promise<Ended>;
  /** For each queue, how many are locked, or released until later. */
  locked(subscriptions: readonly SubscriptionId[], now: Instant): Promise<readonly number[]>;
}

export interface Receive {
  readonly max: number;
  /** At most this many characters of event text, but always at least one event. */
  readonly charsMax: number;
  readonly now: Instant;
  readonly lockMs: number;
  readonly attemptsMax: number;
  readonly lastReason: string;
  /** What was published then or before has expired. */
  readonly expiredSince: Instant;
}

export interface Received {
  readonly deliveries: readonly Delivery[];
  /** When something is available next, if nothing else happens; null: nothing waits. */
  readonly nextDueAt: Instant | null;
}

export interface Ending extends Pick<Receive, "now" | "expiredSince"> {
  readonly max: number;
  readonly leaseMs: number;
}

export interface Ended {
  readonly deliveries: readonly Delivery[];
  /** When the next lock of one that is to end is over. */
  readonly nextDueAt: Instant | null;
  /** When the oldest of those that have not expired was published. */
  readonly oldestAt: Instant | null;
}

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

/** Everything a store does. */
export type WholeStore = Store &
  Pull &
  Ledger &
  Steering &
  Registry &
  Memos &
  Redriven & { readonly ownership: Ownership; readonly peers: Peers };

// ── Topics and subscriptions ──────────────────────────────────────────────────────────────────

export interface Catalog {
  readonly topics: readonly Topic[];
  readonly subscriptions: readonly Subscription[];
  /** Deleted ones whose dead letters are yet to be written (L-1), as a store reads them. */
  readonly retired?: readonly Subscription[];
}

/** Records of the catalog by what each is found by. */
export interface RecordNames {
  readonly topics: readonly string[];
  readonly subscriptions: readonly SubscriptionId[];
}

/**
 * Topics and subscriptions. Names are case-insensitive. A write with `revision` is refused
 * (PreconditionFailed) when the record has another one; with 0, when there is a record at all.
 */
export interface Registry {
  /**
   * The whole catalog as it is at one moment, or only the records named: those that do not exist
   * are left out of the answer.
   */
  catalog(only?: RecordNames): Promise<Catalog>;
  putTopic(draft: TopicDraft, revision?: number): Promise<Topic>;
  /**
   * Refusal: NotFound, when its topic does not exist. Keeps the id of a subscription that exists:
   * one of the same name on the same topic, or on the same topic of the same domain.
   */
  putSubscription(draft: SubscriptionDraft, revision?: number): Promise<Subscription>;
  /**
   * Deletes its subscriptions, too: the answer is which. Deleting what does not exist is no error.
   */
  removeTopic(name: string): Promise<readonly SubscriptionId[]>;
  /**
   * Its waiting deliveries are dropped in small steps, and counted. Its dead letters are kept until
   * they are written or dropped, and so long its record is among those `retired`. The answer says
   * whether this call has removed it: of several that try, one does.
   */
  removeSubscription(id: SubscriptionId, revision?: number): Promise<boolean>;
  /**
   * Called after every change, also one made by another process. A notice names the records that
   * were written or removed; the removal of a topic names its subscriptions, too. It does not carry
   * their content: the callee reads them with `catalog(only)`. So notices may be repeated, joined
   * or come late, and the latest read is always right.
   *
   * Null: anything may have changed. A store says so when it cannot name the records, for example
   * after it has lost the connection over which it hears of other processes.
   *
   * What a write has seen is reported before the write resolves: its own change, and when it is
   * refused with PreconditionFailed, the change that it collided with.
   */
  onChange(listener: (changed: RecordNames | null) => void): void;
  /**
   * Resolves when every change made before the call, by anyone, has been reported. Absent: only
   * this process writes.
   */
  catchUp?(): Promise<void>;
  /**
   * Called when the last of what waited for a removed subscription has been dropped: in the process
   * that dropped it, and again if an append that was under way has brought more.
   */
  onDropped(listener: (subscription: SubscriptionId, count: number) => void): void;
}

// ── Sending ───────────────────────────────────────────────────────────────────────────────────

export interface Parcel {
  readonly subscription: Subscription;
  readonly deliveries: readonly Delivery[];
  /** The trace context to send along, where there is one. */
  readonly trace?: Trace | null;
}

export interface Sink<D = PushDestination> {
  /**
   * Sends the events of one parcel in one request. Never rejects because of the endpoint, and
   * resolves within `waitMs`: a request still open then may continue until `lateMs`, and its result
   * comes by `late`.
   */
  send(
    parcel: Parcel,
    destination: D,
    limits: { readonly waitMs: number; readonly lateMs: number; readonly signal: AbortSignal },
  ): Promise<Outcome>;
}

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
