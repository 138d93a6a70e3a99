// What the path of an event needs from outside, as plain interfaces. Rooms implement these or are
// handed them by broker.ts; no room imports another. This is the page to read after the README.
//
// Ports beside the path stand with what they speak of: requests and replies in request.ts, what
// operators do in steering.ts, stories in core/story/chronicle.ts, dead letters read back in
// core/deadletter/letter-store.ts, questions to endpoints in core/handshake/question.ts, spans in
// core/tracing/span.ts.

import type { Redriven } from "./deadletter/letter-store.ts";
import type { Outcome } from "./delivery/outcome.ts";
import type { Event } from "./event.ts";
import type { Memos, Steering } from "./steering.ts";
import type {
  Destination,
  Subscription,
  SubscriptionDraft,
  SubscriptionId,
} from "./subscription.ts";
import type { Topic, TopicDraft } from "./topic.ts";
import type { Trace } from "./tracing/trace.ts";

// ── Time, chance and names ────────────────────────────────────────────────────────────────────

/** Milliseconds since 1970, UTC. */
export type Instant = number;

export interface Clock {
  /** Never goes back within a process. */
  now(): Instant;
  /** Runs `ring` once, `ms` from now and never within this call. The answer calls it off. */
  after(ms: number, ring: () => void): () => void;
}

export interface Chance {
  /** A number in [0, 1). Drawn by purpose, so that with a seed no other draw can change it. */
  draw(purpose: string): number;
}

export interface Ids {
  next(): string;
}

/** Tells a virtual clock that something real is under way, so that time waits for it. */
export interface Activity {
  /**
   * The answer says that it is over. `outside`: it hangs on an endpoint, which may never answer.
   */
  begin(kind: "inside" | "outside"): () => void;
}

// ── Deliveries and the store ──────────────────────────────────────────────────────────────────

/** First to the subscriber; when we give up on that, to the dead-letter destination. */
export type Stage = "deliver" | "deadLetter";

/** A line of waiting deliveries: those of one subscription in one stage. */
export interface Queue {
  readonly subscription: SubscriptionId;
  readonly stage: Stage;
}

/** An event on its way to one subscription. There is at most one per event and subscription. */
export interface DeliveryId {
  /** The store's number for the event. Grows with every append and is never used again. */
  readonly event: number;
  readonly subscription: SubscriptionId;
}

/** What is remembered of the last send to the subscriber, for dead letters and for people. */
export interface LastAttempt {
  readonly at: Instant;
  /** From one, and so how many there were. */
  readonly number: number;
  /** Event Grid's word for how it went: `TimedOut`, `BadRequest`, … */
  readonly outcome: string;
  readonly status: number | null;
}

export interface Delivery {
  readonly id: DeliveryId;
  readonly stage: Stage;
  /** The fence: a settlement counts only while it names the latest lease. Never goes back. */
  readonly lease: number;
  readonly leasedUntil: Instant;
  /** When it was due; what a settlement `back` leaves as it is. */
  readonly dueAt: Instant;
  /** Sends really made in this stage. */
  readonly attempts: number;
  /** When this stage began: the publish, or the moment we gave up. */
  readonly since: Instant;
  readonly last: LastAttempt | null;
  /** Why we gave up; null in the first stage. */
  readonly reason: string | null;
  readonly event: Event;
}

/** An event and who gets it. */
export interface Routed {
  readonly event: Event;
  readonly to: readonly SubscriptionId[];
}

export interface Want {
  /** At most this many; 0 only looks when the next is due. */
  readonly max: number;
  /** At most this many characters of event text, but always one event. */
  readonly charsMax: number;
  readonly now: Instant;
  readonly leaseMs: number;
  /** Only those whose stage began at or before this: what a sick endpoint has let expire (H-3). */
  readonly sinceBefore?: Instant;
}

export interface Claim {
  readonly deliveries: readonly Delivery[];
  /**
   * When to ask again at the latest: the next one due, or the end of a lease; null: nothing waits.
   */
  readonly nextDueAt: Instant | null;
}

export type Settlement = { readonly delivery: DeliveryId; readonly lease: number } & (
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

/** There is work in a queue. A lost wake costs latency, never a delivery. */
export interface Wake {
  readonly queue: Queue;
  /** When the earliest of what came is due. */
  readonly dueAt: Instant;
  /**
   * Deliveries the store has leased to the queue's standing claim, to be sent like claimed ones.
   * A wake that brings some speaks of these alone; of others in the queue, another one tells.
   */
  readonly deliveries: readonly Delivery[];
}

/**
 * The three verbs that carry the product. Any of them may reject, with the disk's error as cause:
 * then nothing of that call has happened, except that an append or settle whose answer was lost
 * in a crash may have.
 */
export interface Store {
  /**
   * Durable when it resolves; all or nothing. Subscriptions that have gone meanwhile are left out.
   * Answers with the number of the first event; those of the others follow one by one.
   * Refusals: TooManyRequests (the queue for the disk is full), Unavailable (the disk failed).
   */
  append(routed: readonly Routed[], now: Instant): Promise<number>;
  /**
   * Leases due deliveries, earliest first. A claim that finds less than `max` stays standing until
   * the queue's next claim: the store may lease to it what is appended later, and hand it over with
   * the wake.
   */
  claim(queue: Queue, want: Want): Promise<Claim>;
  /**
   * The only way a delivery changes or ends. Ignored unless it names the latest lease, and if the
   * delivery or its subscription is gone. The answer says for each whether it counted.
   */
  settle(settlements: readonly Settlement[]): Promise<readonly boolean[]>;
  onWake(listener: (wake: Wake) => void): void;
}

/** Looking and counting, for people and tests. Never changes anything and never leases. */
export interface Ledger {
  counts(): Promise<readonly QueueCount[]>;
  /**
   * Waiting deliveries of a queue in the order of their events, `limit` at a time (at most 1,000).
   */
  waiting(
    queue: Queue,
    page: { readonly after: number; readonly limit: number },
  ): Promise<readonly Seen[]>;
  /** Deliveries by name, at most 1,000 at a time; null for those that do not wait. */
  look(ids: readonly DeliveryId[]): Promise<readonly (Seen | null)[]>;
}

/** A delivery as whoever only looks sees it. */
export type Seen = Omit<Delivery, "lease" | "leasedUntil">;

export interface QueueCount extends Queue {
  readonly waiting: number;
  /** When the stage of the one that has waited longest began. */
  readonly oldestAt: Instant;
  /** Of the earliest; it may be leased, or long past. */
  readonly nextDueAt: Instant;
}

/** All that a store does. */
export type WholeStore = Store & Ledger & Steering & Registry & Memos & Redriven;

// ── Topics and subscriptions ──────────────────────────────────────────────────────────────────

export interface Catalog {
  readonly topics: readonly Topic[];
  readonly subscriptions: readonly Subscription[];
}

/** Records of the catalog by what each is found by. */
export interface RecordNames {
  readonly topics: readonly string[];
  readonly subscriptions: readonly SubscriptionId[];
}

/**
 * Who may publish and who wants to hear. Names are compared without regard to letter case.
 * A write with `revision` is refused (PreconditionFailed) when the record is at another one; with
 * 0, when there is one at all.
 */
export interface Registry {
  /**
   * The whole catalog as it is at one moment, or only the records named: those that do not exist
   * are left out of the answer.
   */
  catalog(only?: RecordNames): Promise<Catalog>;
  putTopic(draft: TopicDraft, revision?: number): Promise<Topic>;
  /**
   * Refusal: NotFound, when its topic is not there. Keeps the id of a subscription that exists: one
   * of the same name on the same topic, or on the same topic of the same domain.
   */
  putSubscription(draft: SubscriptionDraft, revision?: number): Promise<Subscription>;
  /** Takes its subscriptions with it. Removing what is not there is no error. */
  removeTopic(name: string): Promise<void>;
  /** What waits for it is dropped in small steps, and counted. */
  removeSubscription(id: SubscriptionId): Promise<void>;
  /**
   * Called after every change, also one made by another process. A notice names the records that
   * were written or removed; the removal of a topic names its subscriptions, too. It does not carry
   * their content: whoever is called reads them with `catalog(only)`. So notices may be repeated,
   * joined or come late, and the latest read is always right.
   *
   * Null: anything may have changed. A store says so when it cannot name the records, for example
   * after it has lost the connection over which it hears of other processes.
   *
   * What a write has seen is told before the write is answered: its own change, and when it is
   * refused with PreconditionFailed, the change that it collided with.
   */
  onChange(listener: (changed: RecordNames | null) => void): void;
  /** Called when the last of what waited for a removed subscription has been dropped. */
  onDropped(listener: (subscription: SubscriptionId, count: number) => void): void;
}

// ── The way out ───────────────────────────────────────────────────────────────────────────────

export interface Parcel {
  readonly subscription: Subscription;
  readonly deliveries: readonly Delivery[];
  /** The trace context to send along, where there is one. */
  readonly trace?: Trace | null;
}

export interface Sink<D = Destination> {
  /**
   * Sends the events of one parcel in one request. Never throws for something the world did, and
   * answers within `waitMs`: a request still open then may go on until `lateMs`, and is told by
   * `late`.
   */
  send(
    parcel: Parcel,
    destination: D,
    limits: { readonly waitMs: number; readonly lateMs: number; readonly signal: AbortSignal },
  ): Promise<Outcome>;
}

// ── What is seen ──────────────────────────────────────────────────────────────────────────────

export type Level = "debug" | "info" | "warn" | "error";

export interface Log {
  /** Whether facts of this level are written down; where they are many, others need not be made. */
  tells?(level: Level): boolean;
  /**
   * One wide line per thing that happened, named as a fact: `delivery.attempted`. No secrets, no
   * event bodies.
   */
  fact(level: Level, name: string, fields: Readonly<Record<string, unknown>>): void;
}

export interface Meter {
  /** Labels must not be altered afterwards: the same ones given again are known without a look. */
  count(name: string, labels: Readonly<Record<string, string>>, by?: number): void;
  /** One measurement, in the unit that the name ends with. */
  observe?(name: string, labels: Readonly<Record<string, string>>, value: number): void;
}

/** What is only looked at when somebody asks for the metrics. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}
