// What our own API shows and takes, as plain types: the contract between the broker and everyone
// who looks at it or steers it, the portal and the command line among them. No logic lives here.
//
// Every route is below `/api/v1`, for admins alone, and speaks JSON. A topic is named by its name,
// which is unique over topics, domains and storage accounts; a subscription by its topic and its
// own name, and within a domain by `?domainTopic=` as well. Refusals have the shape of ARM's.
//
//   GET    /overview                                         Overview
//   GET    /history?minutes=60                               History: points for charts
//   GET    /live                                             server-sent events, see LiveEvent
//   GET    /topics                                           Page<TopicView>
//   GET    /topics/{topic}/subscriptions                     Page<SubscriptionView>
//   GET    /subscriptions                                    Page<SubscriptionView>
//   GET    /topics/{topic}/subscriptions/{name}              SubscriptionView
//   POST   /topics/{topic}/subscriptions/{name}/pause        SubscriptionView
//   POST   /topics/{topic}/subscriptions/{name}/resume       SubscriptionView
//   POST   /topics/{topic}/subscriptions/{name}/drain        {perSecond} → SubscriptionView
//   POST   /topics/{topic}/subscriptions/{name}/skip         → {skipped}
//   POST   /topics/{topic}/subscriptions/{name}/hasten       {event?} → {hastened}: "try now"
//   POST   /topics/{topic}/subscriptions/{name}/validate     asks the webhook again → HandshakeView
//   GET    /topics/{topic}/subscriptions/{name}/handshake    HandshakeView
//   POST   /topics/{topic}/subscriptions/{name}/signing      RotateSigning → SigningSecrets
//   GET    /topics/{topic}/subscriptions/{name}/signing      SigningSecrets, in clear
//   POST   /topics/{topic}/explain                           ExplainFilters → FilterVerdict[]
//   GET    /events?id&subject&type&topic&subscription&state&from&to&after&limit
//                                                            Page<EventSummary>
//   GET    /events/{id}                                      Story; our id, or the publisher's
//   GET    /endpoints                                        Page<EndpointView>
//   POST   /endpoints/close|open|reset                       {endpoint, because?} → EndpointView
//   GET    /dead-letters?account&container&topic&subscription&reason&outcome&type&from&to
//          &redriven&after&limit                             DeadLetterPage
//   GET    /dead-letters/groups                              DeadLetterGroup[], the same query
//   GET    /dead-letters/{id}                                DeadLetterView with its event
//   POST   /redrives                                         RedriveOrder → RedriveView
//   GET    /redrives                                         Page<RedriveView>
//   GET    /redrives/{id}                                    RedriveView: progress
//   DELETE /redrives/{id}                                    stops it
//   POST   /simulate                                         SimulateOrder → Simulation
//   GET    /settings                                         Page<SettingView>
//   GET    /profiles                                         Profile[] (core/delivery/profile.ts)
//   POST   /backups                                          BackupView: a copy of the store
//   GET    /backups                                          Page<BackupView>
//   GET    /backups/{name}                                   the file
//   DELETE /backups/{name}                                   BackupView
//   POST   /links                                            {url}: signs a browser in, once

/** ISO 8601, UTC, with milliseconds. */
export type IsoInstant = string;

export interface Page<T> {
  readonly value: readonly T[];
  /** To be given as `after` for the next page; null: this was the last. */
  readonly next: string | null;
}

// ── Overview ──────────────────────────────────────────────────────────────────────────────────

/** What has been counted since the broker started, or within one point of a chart. */
export interface Counts {
  readonly published: number;
  /** Publishes that were refused. */
  readonly refused: number;
  readonly delivered: number;
  /** Attempts that failed. */
  readonly failed: number;
  readonly deadLettered: number;
  readonly dropped: number;
}

export interface Overview {
  readonly version: string;
  readonly now: IsoInstant;
  readonly startedAt: IsoInstant;
  readonly profile: string;
  readonly store: string;
  readonly clock: "real" | "virtual";
  readonly topics: number;
  readonly subscriptions: number;
  readonly waiting: number;
  readonly waitingDeadLetters: number;
  /** When the oldest event that still waits was accepted; null: nothing waits. */
  readonly oldestAt: IsoInstant | null;
  /** Events a second, over the last ten seconds. */
  readonly rates: {
    readonly published: number;
    readonly delivered: number;
    readonly failed: number;
  };
  readonly counts: Counts;
  /** Those that are not healthy, the worst first; at most fifty. */
  readonly sick: readonly EndpointView[];
  /** Null: ready to accept publishes. */
  readonly whyNotReady: string | null;
}

export interface History {
  readonly stepMs: number;
  /** The oldest first. */
  readonly points: readonly ({ readonly at: IsoInstant; readonly waiting: number } & Counts)[];
}

/** One server-sent event: `event:` is its kind, `data:` the rest as JSON. Bounded per second. */
export type LiveEvent =
  | { readonly kind: "overview"; readonly overview: Overview }
  | { readonly kind: "published"; readonly event: EventSummary }
  | { readonly kind: "attempt"; readonly attempt: LiveAttempt }
  /** An event was dead-lettered, dropped or is held. */
  | { readonly kind: "ended"; readonly ended: LiveEnd }
  | { readonly kind: "endpoint"; readonly endpoint: EndpointView }
  /** Topics or subscriptions have changed: read them again. */
  | { readonly kind: "catalog" }
  | { readonly kind: "redrive"; readonly redrive: RedriveView }
  /** So many were left out because there were too many to show. */
  | { readonly kind: "missed"; readonly count: number };

export interface LiveAttempt extends AttemptView {
  readonly event: string;
  readonly eventId: string;
  readonly topic: string;
  readonly domainTopic: string | null;
  readonly subscription: string;
}

export interface LiveEnd {
  readonly event: string;
  readonly topic: string;
  readonly domainTopic: string | null;
  readonly subscription: string;
  readonly state: DeliveryState;
  readonly reason: string | null;
  readonly at: IsoInstant;
}

// ── Topics and subscriptions ──────────────────────────────────────────────────────────────────

export interface TopicView {
  readonly name: string;
  readonly kind: "topic" | "domain" | "storage";
  readonly armId: string;
  readonly endpoint: string;
  readonly inputSchema: string;
  /** What is in force, and whether the topic chose it. */
  readonly profile: string;
  readonly isOwnProfile: boolean;
  readonly subscriptions: number;
  readonly waiting: number;
  readonly origin: "file" | "api";
}

export interface SubscriptionView {
  readonly topic: string;
  readonly domainTopic: string | null;
  readonly name: string;
  readonly armId: string;
  readonly provisioningState: string;
  readonly isActive: boolean;
  readonly destination: { readonly kind: string; readonly endpoint: string };
  readonly deliverySchema: string;
  readonly profile: string;
  /** As it is in force, defaults filled in; null: without limit. */
  readonly policy: {
    readonly maxDeliveryAttempts: number | null;
    readonly ttlMs: number;
    readonly waitMs: number;
    readonly scheduleMs: readonly number[];
    readonly deadLetters: boolean;
  };
  readonly flow: FlowView;
  readonly waiting: number;
  readonly waitingDeadLetters: number;
  readonly oldestAt: IsoInstant | null;
  readonly nextDueAt: IsoInstant | null;
  readonly health: HealthView;
}

export type FlowView =
  | { readonly kind: "running" }
  | { readonly kind: "paused"; readonly since: IsoInstant }
  | { readonly kind: "draining"; readonly perSecond: number };

export interface HandshakeView {
  readonly state: string;
  readonly until: IsoInstant | null;
  /** For a person to call, while it is awaited. */
  readonly validationUrl: string | null;
  readonly exchanges: readonly {
    readonly at: IsoInstant;
    readonly request: string;
    readonly answer: string;
    readonly verdict: string;
  }[];
}

export interface RotateSigning {
  /** `whsec_…`; one is made when it is left out. */
  readonly secret?: string;
  /** How long the ones before stay in force; 0: not at all. */
  readonly overlapMs?: number;
  /** True: signing is switched off and all secrets are forgotten. */
  readonly off?: boolean;
}

export interface SigningSecrets {
  /** The newest first. */
  readonly secrets: readonly { readonly secret: string; readonly expiresAt: IsoInstant | null }[];
}

/** Would this event match? Against one subscription, all of the topic, or a filter not yet kept. */
export interface ExplainFilters {
  readonly event: unknown;
  readonly subscription?: string;
  readonly domainTopic?: string;
  /** As in ARM's `properties.filter`. */
  readonly filter?: unknown;
}

export interface FilterVerdict {
  /** Null: the filter that was given. */
  readonly subscription: string | null;
  readonly matches: boolean;
  readonly clauses: readonly {
    readonly clause: string;
    readonly holds: boolean;
    readonly because: string;
  }[];
}

// ── Events ────────────────────────────────────────────────────────────────────────────────────

export type DeliveryState =
  /** Waits for its first or next attempt. */
  | "waiting"
  | "delivered"
  /** Given up; its dead letter waits to be written. */
  | "deadLettering"
  | "deadLettered"
  | "dropped"
  /** It waits no more, and nothing was noted of its end: the broker was killed just then. */
  | "unknown";

export interface EventSummary {
  /** Ours, unique; `aeg-output-event-id`. */
  readonly event: string;
  /** The publisher's. */
  readonly id: string;
  readonly topic: string;
  readonly subject: string;
  readonly type: string;
  readonly acceptedAt: IsoInstant;
  readonly deliveries: readonly { readonly subscription: string; readonly state: DeliveryState }[];
}

export interface Story extends EventSummary {
  readonly domainTopic: string | null;
  readonly schema: string;
  readonly bytes: number;
  /**
   * `key1`, `key2`, `sas key1`, `bearer`, `none` (without auth), `notice` (our own), `redrive` (a
   * dead letter sent again), or `unknown` when nothing was noted.
   */
  readonly acceptedWith: string;
  readonly traceparent: string | null;
  /** While it is still kept: where it waits, or where someone did not want it. */
  readonly body: string | null;
  readonly deliveryStories: readonly DeliveryStory[];
  /** Subscriptions of the topic at that time which it did not match. */
  readonly unmatched: readonly {
    readonly subscription: string;
    /** The clause that said no, and what it found. */
    readonly clause: string;
    readonly because: string;
  }[];
  /** What is missing of the story, and why, in words; null: nothing. */
  readonly cut: string | null;
}

export interface DeliveryStory {
  readonly topic: string;
  readonly domainTopic: string | null;
  readonly subscription: string;
  readonly endpoint: string;
  readonly state: DeliveryState;
  readonly attempts: readonly AttemptView[];
  readonly nextDueAt: IsoInstant | null;
  /** Why nothing is sent though it is due: paused, or the endpoint is held back; in words. */
  readonly held: string | null;
  readonly expiresAt: IsoInstant | null;
  readonly attemptsLeft: number | null;
  readonly reason: string | null;
  readonly endedAt: IsoInstant | null;
  readonly deadLetter: DeadLetterLocation | null;
  /** What people did about it: hastened, skipped or sent it again. */
  readonly remarks: readonly { readonly at: IsoInstant; readonly words: string }[];
}

export interface DeadLetterLocation {
  readonly account: string;
  readonly container: string;
  readonly blob: string;
}

export interface AttemptView {
  readonly stage: "deliver" | "deadLetter";
  /** From one. */
  readonly number: number;
  readonly at: IsoInstant;
  readonly durationMs: number;
  /** Event Grid's word. */
  readonly outcome: string;
  readonly status: number | null;
  /** The system's own words, when there was no answer. */
  readonly detail: string | null;
  /** The first bytes of the answer. */
  readonly excerpt: string | null;
  readonly isLate: boolean;
  /** How many events travelled together. */
  readonly batch: number;
  /** `delivered`, `retry`, `deadLetter`, `drop`. */
  readonly decision: string;
  /** "503: at least 30 s; step 2 of the schedule is 30 s; …" */
  readonly words: string;
  readonly nextDueAt: IsoInstant | null;
  /** How the endpoint was when it was sent. */
  readonly health: string;
}

// ── Endpoints ─────────────────────────────────────────────────────────────────────────────────

export interface HealthView {
  /** `closed`: held by an operator. */
  readonly kind: "healthy" | "unhealthy" | "probing" | "recovering" | "closed";
  readonly words: string;
  /** Failures in a row, while healthy. */
  readonly failures: number;
  readonly until: IsoInstant | null;
}

export interface EndpointView {
  readonly endpoint: string;
  readonly health: HealthView;
  readonly isDelayed: boolean;
  readonly subscriptions: readonly {
    readonly topic: string;
    readonly domainTopic: string | null;
    readonly name: string;
  }[];
  readonly sendsUnderWay: number;
  readonly waiting: number;
  /** The latest first; since the broker started. */
  readonly history: readonly {
    readonly at: IsoInstant;
    readonly from: string;
    readonly to: string;
    readonly because: string;
  }[];
  /** The rules in force, in words. */
  readonly rules: string;
}

// ── Dead letters ──────────────────────────────────────────────────────────────────────────────

export interface DeadLetterView extends DeadLetterLocation {
  /** Of this record, to be named in a redrive; good in a path. */
  readonly id: string;
  /** The name in the blob's path, in upper case. */
  readonly subscription: string;
  readonly topic: string | null;
  readonly eventId: string;
  readonly subject: string;
  readonly type: string;
  readonly reason: string;
  readonly outcome: string;
  readonly status: number | null;
  readonly attempts: number;
  readonly publishedAt: IsoInstant | null;
  readonly lastAttemptAt: IsoInstant | null;
  readonly writtenAt: IsoInstant;
  /** The record as it is written; only where one alone is asked for. */
  readonly record?: string;
  /** How often it has been sent again. */
  readonly redriven: number;
}

/** May be shorter than its limit, and yet have a `next`: each look is bounded. */
export interface DeadLetterPage extends Page<DeadLetterView> {
  /** What could not be read on the way, as sentences; the first few. */
  readonly remarks: readonly string[];
}

export interface DeadLetterGroup {
  readonly reason: string;
  readonly outcome: string;
  readonly subscription: string;
  readonly topic: string | null;
  readonly endpoint: string | null;
  readonly count: number;
  readonly oldestAt: IsoInstant;
  readonly newestAt: IsoInstant;
  /** There was more than one answer looks into: ask for fewer hours. */
  readonly isPartial: boolean;
}

/** The same words as in the query of the list. */
export interface DeadLetterQuery {
  readonly account?: string;
  readonly container?: string;
  readonly topic?: string;
  readonly subscription?: string;
  readonly reason?: string;
  readonly outcome?: string;
  readonly type?: string;
  readonly from?: IsoInstant;
  readonly to?: IsoInstant;
  /** Whether they have been sent again before. */
  readonly redriven?: boolean;
}

export interface RedriveOrder {
  /** Either some, by their ids, … */
  readonly ids?: readonly string[];
  /** … or all that match. */
  readonly query?: DeadLetterQuery;
  /**
   * Where to: left out, the subscription they were meant for; or another of the same broker, or a
   * URL.
   */
  readonly to?:
    | { readonly topic: string; readonly subscription: string; readonly domainTopic?: string }
    | { readonly url: string };
  /** Events a second; left out, ten. */
  readonly perSecond?: number;
  /** Nothing is sent: the answer tells what would be. */
  readonly dryRun?: boolean;
  /** Sends also what has been redriven as often as the guard allows. */
  readonly force?: boolean;
}

export interface RedriveView {
  readonly id: string;
  readonly state: "dryRun" | "running" | "done" | "stopped" | "failed";
  readonly startedAt: IsoInstant;
  readonly endedAt: IsoInstant | null;
  readonly to: string;
  readonly perSecond: number;
  readonly total: number;
  readonly sent: number;
  readonly failed: number;
  /** By the loop guard, or because it cannot be read or sent there; of a dry run: would be. */
  readonly skipped: number;
  /** The first few that were skipped or failed, in words. */
  readonly remarks: readonly string[];
  /** Of a dry run: the first few that would be sent. */
  readonly sample: readonly DeadLetterView[];
}

// ── What-if and settings ──────────────────────────────────────────────────────────────────────

export interface SimulateOrder {
  readonly profile: string;
  readonly destination?: "webhook" | "resource";
  readonly maxDeliveryAttempts?: number;
  readonly eventTimeToLiveInMinutes?: number;
  /** What the endpoint does from when to when, counted from the publish. */
  readonly outage: readonly {
    readonly fromMs: number;
    /** Null: for good. */
    readonly untilMs: number | null;
    /** A status, or `timeout`, `refused`, `dns`. */
    readonly does: number | string;
    readonly retryAfterMs?: number;
  }[];
  /** Events that wait when the endpoint returns, published evenly over the outage. */
  readonly backlog?: number;
  readonly deadLetter?: boolean;
  readonly batch?: {
    readonly maxEventsPerBatch?: number;
    readonly preferredBatchSizeInKilobytes?: number;
  };
  /** How long the endpoint takes to answer; left out, 50. */
  readonly answerMs?: number;
  /** How large each event of the backlog is, for batches; left out, 1024. */
  readonly eventBytes?: number;
  /** Fixes the random additions; left out, each is half its largest. */
  readonly seed?: number;
}

export interface Simulation {
  readonly attempts: readonly {
    readonly number: number;
    readonly atMs: number;
    /** How long it was due and held back, because the endpoint was left alone. */
    readonly heldMs: number;
    readonly saw: string;
    readonly words: string;
    /** Null: there is none. */
    readonly nextDueAtMs: number | null;
  }[];
  readonly end: {
    readonly kind: "delivered" | "deadLettered" | "dropped";
    readonly atMs: number;
    readonly reason: string | null;
    readonly words: string;
    /** When the dead letter is written, if its store takes it. */
    readonly writtenAtMs: number | null;
  };
  /** When the last outage is over; null: never. */
  readonly returnsAtMs: number | null;
  /** Requests to the endpoint from the first after its return; null: without a backlog. */
  readonly load: readonly { readonly atMs: number; readonly requests: number }[] | null;
  /** How long each point of the load is. */
  readonly loadStepMs: number;
  /** The most requests within one second from the return on. */
  readonly peakPerSecond: number;
  /** When the last event of all came to its end. */
  readonly settledAtMs: number;
  /** Of the backlog: delivered, and given up before it could be. */
  readonly saved: number;
  readonly lost: number;
}

export interface SettingView {
  readonly name: string;
  /** As it would be written; secrets are masked. */
  readonly value: string | null;
  readonly source: "option" | "environment" | "file" | "default";
  readonly about: string;
  readonly isSecret: boolean;
}

export interface BackupView {
  readonly name: string;
  /** On the broker's machine. */
  readonly path: string;
  readonly bytes: number;
  readonly takenAt: IsoInstant;
}
