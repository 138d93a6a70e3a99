// Everything the house needs from outside, as plain interfaces. Rooms implement these or are handed
// them by broker.ts; no room imports another. This is the page to read after the README.

import type { Closure, HealthChange } from "./bulletin.ts";
import type { Entry, Listed } from "./chronicle.ts";
import type { Event } from "./event.ts";
import type { Health, HealthRules } from "./health.ts";
import type { StoryNote } from "./note.ts";
import type { Outcome } from "./outcome.ts";
import type {
  Destination,
  Subscription,
  SubscriptionDraft,
  SubscriptionId,
} from "./subscription.ts";
import type { Topic, TopicDraft } from "./topic.ts";
import type { Trace } from "./trace.ts";
import type { DeliveryState } from "./view.ts";

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

/**
 * What an operator does to what waits. Each call is one small step, so that nobody waits long for
 * it; whoever asks goes on until there is no next one. A step that rejects has not happened, and
 * the whole may be begun again.
 */
export interface Steering {
  /**
   * Drops what waits in a queue, leased or not, as long as its event was there when the first step
   * was made. Settlements of what is dropped are ignored.
   */
  skip(
    queue: Queue,
    step: SkipStep | null,
  ): Promise<{ readonly dropped: number; readonly next: SkipStep | null }>;
  /**
   * Makes what waits in a queue due now. With an event, that one alone, and before all others;
   * nothing when it does not wait there.
   */
  hasten(
    queue: Queue,
    which: { readonly event: number | null; readonly now: Instant },
  ): Promise<{ readonly hastened: number; readonly isOver: boolean }>;
  /** The number of the event with this `systemId`; null when there is none, or not yet found. */
  find(
    systemId: string,
    after: number,
  ): Promise<{ readonly event: number | null; readonly next: number | null }>;
}

/** Where a skip goes on. */
export interface SkipStep {
  /** The latest event that was there at its beginning. */
  readonly through: number;
  readonly dueAt: Instant;
  readonly event: number;
  /** Whether this walk through the queue has dropped anything: then there is another one. */
  readonly hasDropped: boolean;
}

/** Small records for whoever needs to remember something: few, and each of a kind. */
export interface Notebook {
  notes(kind: string): Promise<readonly Note[]>;
  /** Null removes it. Durable when it resolves. */
  putNote(kind: string, key: string, record: object | null): Promise<void>;
}

export interface Note {
  readonly key: string;
  /** As it was put. */
  readonly record: object;
}

/** All that a store does. */
export type WholeStore = Store & Ledger & Steering & Registry & Notebook & Redriven;

// ── Stories ───────────────────────────────────────────────────────────────────────────────────

/**
 * Remembers what became of each event, for people. It is told and never asked on the path of an
 * event, and it may forget: the store is the truth, and a chronicle that fails slows nobody.
 */
export interface Chronicle {
  /** Returns at once and never throws. Whatever is noted is found by the next look. */
  note(note: StoryNote): void;
  /** Told every note as it is made. The answer ends it. */
  listen(listener: (note: StoryNote) => void): () => void;
  /**
   * The latest first. A page may be shorter than asked for, and even empty, though there is a next
   * one. Refusals: InvalidSetting (`after`), Unavailable.
   */
  search(query: EventQuery): Promise<{
    readonly found: readonly Listed[];
    /** To be given as `after`; null: there is no more. */
    readonly next: string | null;
  }>;
  /** By our id, or the latest with that id of the publisher's. Refusal: Unavailable. */
  find(id: string): Promise<Entry | null>;
  /** What was noted before is kept. */
  close(): Promise<void>;
}

/** All that is given must hold. */
export interface EventQuery {
  /** Ours or the publisher's. */
  readonly id?: string;
  /** Stands somewhere in the subject; with `*` for anything, the whole of it. */
  readonly subject?: string;
  /** The whole type; `*` stands for anything. */
  readonly type?: string;
  readonly topic?: string;
  readonly subscription?: string;
  /** Of the delivery to that subscription, or to any. */
  readonly state?: DeliveryState;
  readonly from?: Instant;
  readonly to?: Instant;
  readonly after?: string;
  readonly limit: number;
}

// ── Topics and subscriptions ──────────────────────────────────────────────────────────────────

export interface Catalog {
  readonly topics: readonly Topic[];
  readonly subscriptions: readonly Subscription[];
}

/**
 * Who may publish and who wants to hear. Names are compared without regard to letter case.
 * A write with `revision` is refused (PreconditionFailed) when the record is at another one; with
 * 0, when there is one at all.
 */
export interface Registry {
  catalog(): Promise<Catalog>;
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
  /** Called after every change, also one made by another process. */
  onChange(listener: () => void): void;
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

/** A request of our own to an endpoint: the handshake before any event, the notice after all. */
export type Ask = (question: {
  readonly method: "POST" | "OPTIONS";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly waitMs: number;
  readonly signal: AbortSignal;
}) => Promise<Answer>;

/** Never thrown for something the world did. A redirect is an answer; a long body is cut. */
export type Answer =
  | {
      readonly kind: "answered";
      readonly status: number;
      /** Names in lower case. */
      readonly headers: Readonly<Record<string, string | string[] | undefined>>;
      readonly body: string;
    }
  /** `why` in words, without secrets. */
  | { readonly kind: "noReply"; readonly why: string };

// ── Dead letters, read back ───────────────────────────────────────────────────────────────────

/** Where dead letters lie; the account by its name in the settings. */
export interface BlobContainer {
  readonly account: string;
  readonly container: string;
}

export interface BlobSight {
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
  readonly blobs: readonly BlobSight[];
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

// ── The dispatchers, as an operator sees them ─────────────────────────────────────────────────

export interface EndpointState {
  /** What people call it: the URL without its query, or the resource. */
  readonly name: string;
  /** Whether its profile leaves a sick endpoint alone for a while (P-10). */
  readonly isDelayed: boolean;
  readonly health: Health;
  readonly closure: Closure | null;
  /** Under way now. */
  readonly sends: number;
  /** Since the broker started, the latest last; bounded. */
  readonly changes: readonly HealthChange[];
  readonly rules: HealthRules;
}

export interface Switchboard {
  /** In the order of their names; one that no subscription sends to is not there. */
  endpoints(): readonly (EndpointState & { readonly subscriptions: readonly Subscription[] })[];
  /** Nothing is sent there until it is opened or reset, also where no endpoint is yet. */
  closeEndpoint(name: string, closure: Closure): void;
  openEndpoint(name: string, order: Closure): void;
  resetEndpoint(name: string, order: Closure): void;
  /** The subscription's dispatcher gives back what it holds, and takes nothing meanwhile. */
  hold(subscription: SubscriptionId): () => void;
  /**
   * Its next attempt may be made now, also at a sick endpoint. `dueAt`: of what was made due, if
   * anything. Answers whether a sick endpoint is tested because of it.
   */
  hasten(subscription: SubscriptionId, dueAt: Instant | null): boolean;
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

/** Records what happened as spans, where somebody collects them. */
export interface Tracer {
  begin(span: SpanDraft): Span;
}

export interface SpanDraft {
  readonly name: string;
  /** `server`: somebody asked us; `client`: we asked somebody. */
  readonly kind: "server" | "client";
  readonly startedAt: Instant;
  /** Null: a trace of its own begins. */
  readonly parent: Trace | null;
  /** What else it comes from. */
  readonly links: readonly Trace[];
  readonly attributes: SpanAttributes;
}

export type SpanAttributes = Readonly<Record<string, string | number>>;

export interface Span {
  /** For whatever follows from it. */
  readonly trace: Trace;
  /** Once. `error`: what went wrong in a word; null: nothing. */
  end(
    at: Instant,
    how: { readonly error: string | null; readonly attributes?: SpanAttributes },
  ): void;
}

// ── Requests and replies as plain values ──────────────────────────────────────────────────────

export interface Request {
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | undefined>>;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
  /** Address of whoever is at the other end of the connection; empty when it has gone. */
  readonly remote: string;
  /** What the connection speaks; a proxy in front may have been spoken to otherwise. */
  readonly scheme: "http" | "https";
}

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** In the place of the body, for what is no text. */
  readonly bytes?: Uint8Array;
  /** In the place of the body: the path of a file. */
  readonly file?: string;
  /**
   * In the place of the body, for what goes on. Called when the head has been sent; its answer is
   * called once, when the other end has gone or when we close.
   */
  readonly stream?: (out: Stream) => () => void;
}

export interface Stream {
  /** False: the other end does not follow, and nothing was written. */
  write(text: string): boolean;
}

export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "DELETE" | "OPTIONS" | "PATCH";
  /**
   * Segments may be `:name`, and the last one `*` for all that follows, under that name. Matched
   * without regard to letter case and to repeated slashes.
   */
  readonly path: string;
  /** Sent with every answer of this route, refusals among them. */
  readonly headers?: Readonly<Record<string, string>>;
  handle(request: Request): Promise<Reply> | Reply;
}
