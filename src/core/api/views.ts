// What our own API shows: each shape with the type inferred from it, for the routes, the portal and
// the command line alike. Requests are in orders.ts, the operations in operations.ts.

import { scopeKinds } from "../figures/figures.ts";
import { inboxModes } from "../inbox/inbox.ts";
import { problemKinds } from "../problems/problems.ts";
import {
  about,
  anything,
  type Infer,
  instant,
  list,
  named,
  number,
  object,
  oneOf,
  optional,
  orNull,
  type Schema,
  text,
  truth,
  whole,
  words,
} from "./schema.ts";

/** ISO 8601, UTC, with milliseconds. */
export type IsoInstant = Infer<typeof instant>;

export interface Page<T> {
  readonly value: readonly T[];
  readonly next: string | null;
}

export interface SearchPage<T> extends Page<T> {
  readonly searchedTo: string | null;
}

export function page<T>(items: Schema<T>): Schema<Page<T>> {
  return object({
    value: list(items),
    next: about(orNull(text), "To be given as `after` for the next page; null: it was the last."),
  });
}

export interface ChangesPage<T> extends Page<T> {
  readonly revision: string;
  readonly isWhole: boolean;
  readonly gone: readonly string[];
}

/** A list that answers what has changed since a revision. */
export function changesPage<T>(items: Schema<T>, key: string): Schema<ChangesPage<T>> {
  return object({
    value: list(items),
    next: orNull(text),
    revision: about(text, "To be given as `since`, for what has changed from then on."),
    isWhole: about(truth, "Whether all are there; otherwise only those that have changed."),
    gone: about(list(text), `Of those that are there no longer: their ${key}.`),
  });
}

/** A page of a search that looks through so much at a time. */
export function searchPage<T>(items: Schema<T>): Schema<SearchPage<T>> {
  return object({
    value: list(items),
    next: about(
      orNull(text),
      "To be given as `after` to go on; null: all was searched. A page may be empty and have one.",
    ),
    searchedTo: about(orNull(instant), "How far back was searched; null: to the very beginning."),
  });
}

/** Every refusal, in the shape of Azure Resource Manager's. */
export const ErrorView = named(
  "Error",
  object({
    error: object({
      code: text,
      message: text,
      target: optional(about(text, "The member at fault.")),
      details: optional(list(anything)),
    }),
  }),
);

export const HeaderView = object({ name: text, value: text });

// ── Endpoints ─────────────────────────────────────────────────────────────────────────────────

export const HealthView = named(
  "Health",
  object({
    kind: about(
      words("healthy", "unhealthy", "probing", "recovering", "closed"),
      "`closed`: held by an operator.",
    ),
    words: text,
    failures: about(whole, "Failed sends in a row."),
    until: about(
      orNull(instant),
      "When an unhealthy one is tried next; null: with the next send, or it is not unhealthy.",
    ),
  }),
);
export type HealthView = Infer<typeof HealthView>;

export const EndpointView = named(
  "Endpoint",
  object({
    endpoint: text,
    health: about(HealthView, "The worst of its URLs: they may differ in their queries."),
    isDelayed: about(truth, "Whether its profile leaves an unhealthy endpoint alone for a while."),
    subscriptions: about(
      list(object({ topic: text, domainTopic: orNull(text), name: text, health: HealthView })),
      "Each with the health of its own URL.",
    ),
    said: about(
      orNull(object({ since: instant, status: orNull(whole), answer: orNull(text) })),
      "While it fails: since when, and the first line of what it answered last, or why it did not.",
    ),
    sendsUnderWay: whole,
    waiting: whole,
    history: about(
      list(object({ at: instant, from: text, to: text, because: text })),
      "The latest first; since the broker started.",
    ),
    rules: about(text, "The rules in force, as text."),
  }),
);
export type EndpointView = Infer<typeof EndpointView>;

// ── Overview ──────────────────────────────────────────────────────────────────────────────────

/** Counted since the broker started, or within one point of a chart. */
export const Counts = named(
  "Counts",
  object({
    published: whole,
    refused: about(whole, "Publishes that were refused."),
    delivered: whole,
    failed: about(whole, "Attempts that failed."),
    deadLettered: whole,
    dropped: whole,
  }),
);
export type Counts = Infer<typeof Counts>;

const Rates = object({ published: number, delivered: number, failed: number });

export const BrokerView = named(
  "Broker",
  object({
    id: about(text, "A new one with every start."),
    host: about(text, "The name of its machine."),
    http: about(orNull(text), "Where it listens, as it sees it itself; null: it does not."),
    https: orNull(text),
    version: text,
    startedAt: instant,
    seenAt: about(instant, "Its last heartbeat, by the database's clock."),
    isSelf: about(truth, "Whether it is the one that answers."),
    slots: about(whole, "Of 256: its share of all endpoints."),
    subscriptions: about(whole, "That it serves."),
    endpoints: about(whole, "That it sends to."),
    waiting: about(whole, "Deliveries that wait for it."),
    overdueMs: about(
      number,
      "How long the earliest of these has been due; long if its endpoint is down.",
    ),
    rates: about(Rates, "Events a second, over the last ten seconds."),
    counts: about(Counts, "Since its start."),
  }),
);
export type BrokerView = Infer<typeof BrokerView>;

export const Overview = named(
  "Overview",
  object({
    version: text,
    now: instant,
    startedAt: instant,
    profile: text,
    store: text,
    clock: words("real", "virtual"),
    topics: whole,
    subscriptions: whole,
    waiting: whole,
    waitingDeadLetters: whole,
    oldestAt: about(
      orNull(instant),
      "When the oldest event that still waits was accepted; null: nothing waits.",
    ),
    brokers: about(whole, "How many there are in the cluster; one, if it is alone."),
    rates: about(Rates, "Events a second, over the last ten seconds, of all brokers together."),
    counts: about(Counts, "Since the start of each broker, of all of them together."),
    sick: about(list(EndpointView), "Those that are not healthy, the worst first; at most fifty."),
    whyNotReady: about(orNull(text), "Null: ready to accept publishes."),
  }),
);
export type Overview = Infer<typeof Overview>;

export const History = named(
  "History",
  object({
    stepMs: whole,
    points: about(
      list(object({ at: instant, waiting: whole, ...Counts.members })),
      "The oldest first.",
    ),
  }),
);
export type History = Infer<typeof History>;

// ── Problems ──────────────────────────────────────────────────────────────────────────────────

const ProblemBearer = object({
  endpoint: orNull(text),
  subscriptions: about(
    list(object({ topic: text, domainTopic: orNull(text), name: text })),
    "At most twenty.",
  ),
  since: orNull(instant),
  failures: about(whole, "In a row; of dropped or dead-lettered events, how many in an hour."),
  waiting: whole,
  nextTryAt: orNull(instant),
});

export const ProblemView = named(
  "Problem",
  object({
    id: about(text, "The same as long as it is the same problem."),
    kind: words(...problemKinds),
    severity: words("error", "warning"),
    title: text,
    words: about(text, "What is wrong and what happens next, as sentences."),
    status: about(orNull(whole), "What the endpoint answered."),
    answer: about(orNull(text), "The first line of what it said, or why there was no answer."),
    since: orNull(instant),
    failures: whole,
    waiting: whole,
    nextTryAt: orNull(instant),
    count: about(whole, "How many have it."),
    members: about(list(ProblemBearer), "Who has it, the worst first; at most fifty."),
  }),
);
export type ProblemView = Infer<typeof ProblemView>;

// ── Test inboxes ──────────────────────────────────────────────────────────────────────────────

export const InboxView = named(
  "Inbox",
  object({
    name: text,
    url: about(text, "For a subscription to the inbox; its key is a secret."),
    createdAt: instant,
    answer: object({ mode: words(...inboxModes), delayMs: whole }),
    received: about(whole, "Requests since the broker started."),
    lastAt: orNull(instant),
    subscriptions: list(object({ topic: text, domainTopic: orNull(text), name: text })),
  }),
);
export type InboxView = Infer<typeof InboxView>;

export const InboxRequestView = named(
  "InboxRequest",
  object({
    number: about(whole, "Counts up from one, since the broker started."),
    at: instant,
    kind: words("handshake", "events", "deletion", "other"),
    method: text,
    headers: list(HeaderView),
    body: about(text, "At most 64 K characters of it."),
    bytes: whole,
    isCut: truth,
    events: about(whole, "How many came together."),
    eventIds: about(list(text), "The publishers'; at most a hundred."),
    status: about(whole, "What was answered."),
    delayMs: about(whole, "After how long."),
  }),
);
export type InboxRequestView = Infer<typeof InboxRequestView>;

export const InboxPage = named(
  "InboxPage",
  object({
    inbox: InboxView,
    requests: about(list(InboxRequestView), "The latest first; the latest hundred are kept."),
  }),
);

export const ShowMeView = named(
  "ShowMe",
  object({
    topic: text,
    subscription: text,
    inbox: text,
    event: about(text, "Ours."),
    story: about(text, "The path of its story."),
  }),
);

// ── Trying out ────────────────────────────────────────────────────────────────────────────────

export const TriedUrl = named(
  "TriedUrl",
  object({
    verdict: about(
      words("agreed", "heard", "failed"),
      "`heard`: it took the question and did not answer it, so that a person may.",
    ),
    words: text,
    durationMs: whole,
    request: object({ method: text, headers: list(HeaderView), body: orNull(text) }),
    answer: about(
      orNull(object({ status: whole, headers: list(HeaderView), body: text })),
      "Null: there was none. Of the body at most 4096 characters.",
    ),
  }),
);
export type TriedUrl = Infer<typeof TriedUrl>;

export const SeenType = named(
  "SeenType",
  object({ type: text, count: about(whole, "Among the latest events."), lastAt: instant }),
);

const TriedEvent = object({
  event: text,
  id: text,
  type: text,
  subject: text,
  acceptedAt: instant,
  matches: truth,
  clause: about(orNull(text), "The first that said no."),
  because: orNull(text),
  isHeadOnly: about(truth, "Its data is not kept: clauses about it were tried on nothing."),
});
export type TriedEvent = Infer<typeof TriedEvent>;

export const TriedFilter = named(
  "TriedFilter",
  object({
    looked: whole,
    matched: whole,
    events: about(list(TriedEvent), "The latest first; at most fifty."),
    types: list(SeenType),
  }),
);
export type TriedFilter = Infer<typeof TriedFilter>;

export const DeadLetterStoreView = named(
  "DeadLetterStore",
  object({
    armId: about(text, "What a subscription names."),
    name: text,
    kind: words("folder", "azure"),
    folder: about(orNull(text), "On the broker's machine."),
    containers: about(list(text), "Those in use; another one is made with its first letter."),
  }),
);
export type DeadLetterStoreView = Infer<typeof DeadLetterStoreView>;

// ── Figures ───────────────────────────────────────────────────────────────────────────────────

const countColumns = ["published", "delivered", "failed", "deadLettered", "dropped"] as const;
const latencyColumns = ["deliveryP50Ms", "deliveryP95Ms", "answerP50Ms", "answerP95Ms"] as const;
export const figureColumns = words(...countColumns, "waiting", ...latencyColumns);
export type FigureColumn = Infer<typeof figureColumns>;

const counted = list(whole);
const measured = list(orNull(whole));

export const FigureSeries = named(
  "FigureSeries",
  object({
    kind: words(...scopeKinds),
    name: about(text, "Of the topic, subscription or endpoint; empty for the broker."),
    topic: about(orNull(text), "Of a subscription."),
    domainTopic: orNull(text),
    totals: about(
      object({
        ...{ published: whole, delivered: whole, failed: whole, deadLettered: whole },
        ...{ dropped: whole, deliveryP50Ms: orNull(whole), deliveryP95Ms: orNull(whole) },
        ...{ answerP50Ms: orNull(whole), answerP95Ms: orNull(whole) },
      }),
      "Of the whole range.",
    ),
    published: optional(about(counted, "Of a subscription or endpoint: events that matched.")),
    delivered: optional(counted),
    failed: optional(about(counted, "Attempts that failed.")),
    deadLettered: optional(counted),
    dropped: optional(counted),
    waiting: optional(
      about(measured, "The most that waited at once; null for the broker: it did not run."),
    ),
    deliveryP50Ms: optional(about(measured, "From the publish to the delivery.")),
    deliveryP95Ms: optional(measured),
    answerP50Ms: optional(about(measured, "How long the endpoint took for an attempt.")),
    answerP95Ms: optional(measured),
  }),
);
export type FigureSeries = Infer<typeof FigureSeries>;

export const FigureChart = named(
  "FigureChart",
  object({
    from: instant,
    to: instant,
    stepMs: about(whole, "The first value of a column is of the step that begins at `from`."),
    series: list(FigureSeries),
  }),
);
export type FigureChart = Infer<typeof FigureChart>;

// ── Topics and subscriptions ──────────────────────────────────────────────────────────────────

export const TopicView = named(
  "Topic",
  object({
    name: text,
    kind: words("topic", "domain", "storage", "namespaceTopic"),
    armId: text,
    endpoint: text,
    inputSchema: text,
    profile: about(text, "The profile in force."),
    isOwnProfile: about(truth, "Whether the topic chose its profile."),
    subscriptions: whole,
    waiting: whole,
    origin: words("file", "api"),
  }),
);
export type TopicView = Infer<typeof TopicView>;

export const FlowView = named(
  "Flow",
  oneOf([
    object({ kind: words("running") }),
    object({ kind: words("paused"), since: instant }),
    object({ kind: words("draining"), perSecond: number }),
  ]),
);
export type FlowView = Infer<typeof FlowView>;

export const SubscriptionView = named(
  "Subscription",
  object({
    topic: text,
    domainTopic: orNull(text),
    name: text,
    armId: text,
    provisioningState: text,
    isActive: truth,
    destination: object({ kind: text, endpoint: text }),
    deliverySchema: text,
    profile: text,
    policy: about(
      object({
        maxDeliveryAttempts: about(orNull(whole), "Null: without limit."),
        ttlMs: whole,
        waitMs: whole,
        scheduleMs: list(whole),
        deadLetters: truth,
      }),
      "The active settings, defaults filled in.",
    ),
    flow: FlowView,
    waiting: whole,
    waitingDeadLetters: whole,
    oldestAt: orNull(instant),
    nextDueAt: about(
      orNull(instant),
      "The next attempt; not before an unhealthy endpoint may be tried.",
    ),
    health: HealthView,
    queue: about(
      orNull(object({ lockMs: whole, locked: whole, available: whole, receivers: whole })),
      "Of a queue that clients fetch from; null: events are sent.",
    ),
  }),
);
export type SubscriptionView = Infer<typeof SubscriptionView>;

export const HandshakeView = named(
  "Handshake",
  object({
    state: text,
    until: orNull(instant),
    nextAt: about(orNull(instant), "When the webhook is asked again; null: it is not."),
    validationUrl: about(orNull(text), "For a person to call, while it is awaited."),
    exchanges: list(object({ at: instant, request: text, answer: text, verdict: text })),
  }),
);
export type HandshakeView = Infer<typeof HandshakeView>;

export const SigningSecrets = named(
  "SigningSecrets",
  object({
    secrets: about(list(object({ secret: text, expiresAt: orNull(instant) })), "The newest first."),
  }),
);
export type SigningSecrets = Infer<typeof SigningSecrets>;

export const FilterVerdict = named(
  "FilterVerdict",
  object({
    subscription: about(orNull(text), "Null: the filter that was given."),
    matches: truth,
    held: about(
      orNull(text),
      "Why it gets no events though they match: its handshake failed or is not over.",
    ),
    clauses: list(object({ clause: text, holds: truth, because: text })),
  }),
);
export type FilterVerdict = Infer<typeof FilterVerdict>;

// ── Events ────────────────────────────────────────────────────────────────────────────────────

/**
 * `waiting`: for its first or next attempt. `deadLettering`: we gave up, and its dead letter waits
 * to be written. `unknown`: it waits no more, and nothing was noted of its end, because the broker
 * was killed just then.
 */
export const DeliveryState = words(
  "waiting",
  "delivered",
  "deadLettering",
  "deadLettered",
  "dropped",
  "unknown",
);
export type DeliveryState = Infer<typeof DeliveryState>;

export const EventSummary = named(
  "EventSummary",
  object({
    event: about(text, "Ours, unique; the header `aeg-output-event-id`."),
    id: about(text, "The publisher's."),
    topic: text,
    subject: text,
    type: text,
    acceptedAt: instant,
    deliveries: list(object({ subscription: text, state: DeliveryState })),
  }),
);
export type EventSummary = Infer<typeof EventSummary>;

export const AttemptView = named(
  "Attempt",
  object({
    stage: words("deliver", "deadLetter"),
    number: about(whole, "From one."),
    at: instant,
    durationMs: number,
    outcome: about(text, "Event Grid's word."),
    status: orNull(whole),
    detail: about(orNull(text), "The system's own words, when there was no answer."),
    excerpt: about(orNull(text), "The first bytes of the answer."),
    isLate: truth,
    batch: about(whole, "How many events travelled together."),
    decision: words("delivered", "retry", "deadLetter", "drop"),
    words: about(text, "The decision as a sentence: why, and what comes next."),
    nextDueAt: orNull(instant),
    health: about(text, "How the endpoint was when it was sent."),
    wire: about(
      orNull(
        object({
          method: text,
          headers: list(HeaderView),
          body: about(text, "The first thousand characters."),
          size: about(whole, "Of the whole body."),
          answer: about(list(HeaderView), "The headers of the answer; none: there was no answer."),
        }),
      ),
      "Of an attempt that failed: what was sent and what came back; secrets are hidden.",
    ),
  }),
);
export type AttemptView = Infer<typeof AttemptView>;

export const DeadLetterLocation = named(
  "DeadLetterPlace",
  object({ account: text, container: text, blob: text }),
);
export type DeadLetterLocation = Infer<typeof DeadLetterLocation>;

export const DeliveryStory = named(
  "DeliveryStory",
  object({
    topic: text,
    domainTopic: orNull(text),
    subscription: text,
    endpoint: text,
    state: DeliveryState,
    attempts: list(AttemptView),
    nextDueAt: orNull(instant),
    held: about(
      orNull(text),
      "Why nothing is sent though it is due: paused, or the endpoint is unhealthy or closed.",
    ),
    expiresAt: orNull(instant),
    attemptsLeft: orNull(whole),
    reason: orNull(text),
    endedAt: orNull(instant),
    deadLetter: orNull(DeadLetterLocation),
    remarks: about(
      list(object({ at: instant, words: text })),
      "What people did about it: hastened, skipped or sent it again.",
    ),
  }),
);
export type DeliveryStory = Infer<typeof DeliveryStory>;

export const Story = named(
  "Story",
  object({
    ...EventSummary.members,
    domainTopic: orNull(text),
    schema: text,
    bytes: whole,
    acceptedWith: about(
      text,
      "`key1`, `key2`, `sas key1`, `bearer`, `none` (without auth), `notice` and `own` " +
        "(made by the broker), " +
        "`redrive` (a dead letter sent again), `resend` (a kept event sent again), or `unknown` when nothing was noted.",
    ),
    traceparent: orNull(text),
    body: about(orNull(text), "While it waits, or as the setting `story-texts` says."),
    deliveryStories: list(DeliveryStory),
    unmatched: about(
      list(object({ subscription: text, clause: text, because: text })),
      "Subscriptions of the topic at that time which it did not match, with the clause that said no.",
    ),
    cut: about(orNull(text), "What is missing of the story, and why; null: nothing."),
  }),
);
export type Story = Infer<typeof Story>;

export const ResentView = named(
  "Resent",
  object({
    event: about(text, "Our id of the new event, to follow it by."),
    id: about(text, "The publisher's, as before."),
    topic: text,
    subscriptions: about(list(text), "Who gets it; empty: no filter matches it now."),
  }),
);
export type ResentView = Infer<typeof ResentView>;

// ── Dead letters ──────────────────────────────────────────────────────────────────────────────

export const DeadLetterView = named(
  "DeadLetter",
  object({
    ...DeadLetterLocation.members,
    id: about(text, "Of this record, to be named in a redrive; good in a path."),
    subscription: about(text, "The name in the blob's path, in upper case."),
    topic: orNull(text),
    eventId: text,
    subject: text,
    type: text,
    reason: text,
    outcome: text,
    status: orNull(whole),
    attempts: whole,
    publishedAt: orNull(instant),
    lastAttemptAt: orNull(instant),
    writtenAt: instant,
    record: optional(about(text, "As written; only for a single dead letter.")),
    redriven: about(whole, "How often it has been sent again."),
  }),
);
export type DeadLetterView = Infer<typeof DeadLetterView>;

export const DeadLetterPage = named(
  "DeadLetterPage",
  object({
    value: list(DeadLetterView),
    next: about(
      orNull(text),
      "To be given as `after`, also where the page is shorter than its limit: a look is bounded.",
    ),
    remarks: about(list(text), "What could not be read on the way, as sentences; the first few."),
  }),
);
export type DeadLetterPage = Infer<typeof DeadLetterPage>;

export const DeadLetterGroup = named(
  "DeadLetterGroup",
  object({
    reason: text,
    outcome: text,
    subscription: text,
    topic: orNull(text),
    endpoint: orNull(text),
    count: whole,
    oldestAt: instant,
    newestAt: instant,
    isPartial: about(truth, "There was more than one answer looks into: ask for fewer hours."),
  }),
);
export type DeadLetterGroup = Infer<typeof DeadLetterGroup>;

export const RedriveView = named(
  "Redrive",
  object({
    id: text,
    state: words("dryRun", "running", "done", "stopped", "failed"),
    startedAt: instant,
    endedAt: orNull(instant),
    to: text,
    perSecond: number,
    total: whole,
    sent: whole,
    failed: whole,
    skipped: about(
      whole,
      "By the loop guard, or because it cannot be read or sent there; in a dry run: would be.",
    ),
    remarks: about(list(text), "The first few that were skipped or failed, as sentences."),
    sample: about(list(DeadLetterView), "Of a dry run: the first few that would be sent."),
  }),
);
export type RedriveView = Infer<typeof RedriveView>;

// ── What-if, settings, backups ────────────────────────────────────────────────────────────────

const SimulatedAttempt = object({
  number: whole,
  atMs: number,
  heldMs: about(
    number,
    "How long it was due but waited, because the endpoint was unhealthy or had a rate.",
  ),
  saw: text,
  words: text,
  nextDueAtMs: about(orNull(number), "Null: there is none."),
});
export type SimulatedAttempt = Infer<typeof SimulatedAttempt>;

export const Simulation = named(
  "Simulation",
  object({
    attempts: about(
      list(
        object({
          ...SimulatedAttempt.members,
          lateAtMs: about(orNull(number), "When a late answer came, if it counted."),
        }),
      ),
      "Of the event that is followed; the first 2,000.",
    ),
    attemptsMade: whole,
    end: object({
      kind: words("delivered", "deadLettered", "dropped"),
      atMs: number,
      reason: orNull(text),
      words: text,
      writtenAtMs: about(orNull(number), "When the dead letter is written; null: never."),
    }),
    deadLetters: about(
      orNull(
        object({
          attempts: about(list(SimulatedAttempt), "To write the one that is followed."),
          lostAtMs: about(
            orNull(number),
            "When that one is lost, because its store takes nothing.",
          ),
          written: about(whole, "Of all events."),
          lost: whole,
        }),
      ),
      "Null: without a dead-letter destination.",
    ),
    returnsAtMs: about(orNull(number), "When the last outage is over; null: never."),
    load: about(
      orNull(list(object({ atMs: number, requests: whole }))),
      "Requests to the endpoint from the first after its return; null: without a backlog.",
    ),
    loadStepMs: about(whole, "How long each point of the load is."),
    peakPerSecond: about(number, "The most requests within one second from the return on."),
    settledAtMs: about(number, "When the last event of all ended."),
    saved: about(whole, "Of the backlog: delivered."),
    lost: about(whole, "Of the backlog: undeliverable."),
  }),
);
export type Simulation = Infer<typeof Simulation>;

export const SettingView = named(
  "Setting",
  object({
    name: text,
    value: about(orNull(text), "As it would be written; secrets are masked."),
    source: words("option", "environment", "file", "default"),
    about: text,
    isSecret: truth,
  }),
);
export type SettingView = Infer<typeof SettingView>;

export const BackupView = named(
  "Backup",
  object({
    name: text,
    path: about(text, "On the broker's machine."),
    bytes: whole,
    takenAt: instant,
  }),
);
export type BackupView = Infer<typeof BackupView>;

// ── Live ──────────────────────────────────────────────────────────────────────────────────────

const LiveAttempt = object({
  ...AttemptView.members,
  event: text,
  eventId: text,
  subject: text,
  type: text,
  topic: text,
  domainTopic: orNull(text),
  subscription: text,
});
export type LiveAttempt = Infer<typeof LiveAttempt>;

const LiveEnd = object({
  event: text,
  eventId: text,
  subject: text,
  type: text,
  topic: text,
  domainTopic: orNull(text),
  subscription: text,
  state: DeliveryState,
  reason: orNull(text),
  at: instant,
});
export type LiveEnd = Infer<typeof LiveEnd>;

/** One server-sent event: `event:` is its kind, `data:` the rest as JSON. Bounded per second. */
export const LiveEvent = named(
  "LiveEvent",
  oneOf([
    object({ kind: words("overview"), overview: Overview }),
    object({ kind: words("published"), event: EventSummary }),
    object({ kind: words("attempt"), attempt: LiveAttempt }),
    about(
      object({ kind: words("ended"), ended: LiveEnd }),
      "An event was dead-lettered, dropped or is held.",
    ),
    object({ kind: words("endpoint"), endpoint: EndpointView }),
    about(object({ kind: words("catalog") }), "Topics or subscriptions changed: read them again."),
    object({ kind: words("redrive"), redrive: RedriveView }),
    object({ kind: words("inbox"), inbox: text, request: InboxRequestView }),
    about(
      object({ kind: words("missed"), count: whole }),
      "So many were left out because there were too many to show.",
    ),
  ]),
);
export type LiveEvent = Infer<typeof LiveEvent>;

export const liveKinds = words(
  ...(["overview", "published", "attempt", "ended"] as const),
  ...(["endpoint", "catalog", "redrive", "inbox", "missed"] as const),
);
