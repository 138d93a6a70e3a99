// The types of core/api/views.ts as JSON Schema, for the description of our API.

import type * as view from "../../core/api/views.ts";
import {
  about,
  anything,
  instant,
  list,
  maybe,
  number,
  oneOf,
  orNull,
  record,
  ref,
  type Schema,
  text,
  truth,
  whole,
  words,
} from "./shape.ts";

const state = words(
  ...["waiting", "delivered", "deadLettering", "deadLettered", "dropped", "unknown"],
);

const counts = {
  published: whole,
  refused: about(whole, "Publishes that were refused."),
  delivered: whole,
  failed: about(whole, "Attempts that failed."),
  deadLettered: whole,
  dropped: whole,
};

const place = { account: text, container: text, blob: text };

const attempt = {
  stage: words("deliver", "deadLetter"),
  number: about(whole, "From one."),
  at: instant,
  durationMs: number,
  outcome: about(text, "Event Grid's word."),
  status: orNull(whole),
  detail: orNull(text),
  excerpt: about(orNull(text), "The first bytes of the answer."),
  isLate: truth,
  batch: about(whole, "How many events travelled together."),
  decision: words("delivered", "retry", "deadLetter", "drop"),
  words: about(text, "The decision in words."),
  nextDueAt: orNull(instant),
  health: about(text, "How the endpoint was when it was sent."),
};

const summary = {
  event: about(text, "Ours, unique; the header `aeg-output-event-id`."),
  id: about(text, "The publisher's."),
  topic: text,
  subject: text,
  type: text,
  acceptedAt: instant,
  deliveries: list(record<view.EventSummary["deliveries"][number]>({ subscription: text, state })),
};

const query = {
  account: maybe(text),
  container: maybe(text),
  topic: maybe(text),
  subscription: maybe(text),
  reason: maybe(text),
  outcome: maybe(text),
  type: maybe(text),
  from: maybe(instant),
  to: maybe(instant),
  redriven: maybe(about(truth, "Whether they have been sent again before.")),
};

const endpointName = record<view.EndpointView["subscriptions"][number]>({
  topic: text,
  domainTopic: orNull(text),
  name: text,
});

export const schemas: Readonly<Record<string, Schema>> = {
  Error: record<{ error: unknown }>({
    error: record<{ code: unknown; message: unknown; details?: unknown }>({
      code: text,
      message: text,
      details: maybe(list(anything)),
    }),
  }),
  Counts: record<view.Counts>(counts),
  Overview: record<view.Overview>({
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
    oldestAt: about(orNull(instant), "When the oldest event that still waits was accepted."),
    rates: about(
      record<view.Overview["rates"]>({ published: number, delivered: number, failed: number }),
      "Events a second, over the last ten seconds.",
    ),
    counts: about(ref("Counts"), "Since the start."),
    sick: about(list(ref("Endpoint")), "Those that are not healthy; at most fifty."),
    whyNotReady: about(orNull(text), "Null: ready to accept publishes."),
  }),
  History: record<view.History>({
    stepMs: whole,
    points: list(
      record<view.History["points"][number]>({ at: instant, waiting: whole, ...counts }),
    ),
  }),
  Topic: record<view.TopicView>({
    name: text,
    kind: words("topic", "domain", "storage"),
    armId: text,
    endpoint: text,
    inputSchema: text,
    profile: text,
    isOwnProfile: truth,
    subscriptions: whole,
    waiting: whole,
    origin: words("file", "api"),
  }),
  Subscription: record<view.SubscriptionView>({
    topic: text,
    domainTopic: orNull(text),
    name: text,
    armId: text,
    provisioningState: text,
    isActive: truth,
    destination: record<view.SubscriptionView["destination"]>({ kind: text, endpoint: text }),
    deliverySchema: text,
    profile: text,
    policy: record<view.SubscriptionView["policy"]>({
      maxDeliveryAttempts: about(orNull(whole), "Null: without limit."),
      ttlMs: whole,
      waitMs: whole,
      scheduleMs: list(whole),
      deadLetters: truth,
    }),
    flow: ref("Flow"),
    waiting: whole,
    waitingDeadLetters: whole,
    oldestAt: orNull(instant),
    nextDueAt: orNull(instant),
    health: ref("Health"),
  }),
  Flow: oneOf(
    record<Extract<view.FlowView, { kind: "running" }>>({ kind: words("running") }),
    record<Extract<view.FlowView, { kind: "paused" }>>({ kind: words("paused"), since: instant }),
    record<Extract<view.FlowView, { kind: "draining" }>>({
      kind: words("draining"),
      perSecond: number,
    }),
  ),
  Handshake: record<view.HandshakeView>({
    state: text,
    until: orNull(instant),
    validationUrl: about(orNull(text), "For a person to call, while it is awaited."),
    exchanges: list(
      record<view.HandshakeView["exchanges"][number]>({
        at: instant,
        request: text,
        answer: text,
        verdict: text,
      }),
    ),
  }),
  RotateSigning: record<view.RotateSigning>({
    secret: maybe(about(text, "`whsec_…`; one is made when it is left out.")),
    overlapMs: maybe(about(whole, "How long the ones before stay in force.")),
    off: maybe(about(truth, "Signing is switched off and all secrets are forgotten.")),
  }),
  SigningSecrets: record<view.SigningSecrets>({
    secrets: about(
      list(
        record<view.SigningSecrets["secrets"][number]>({
          secret: text,
          expiresAt: orNull(instant),
        }),
      ),
      "The newest first.",
    ),
  }),
  ExplainFilters: record<view.ExplainFilters>({
    event: about(anything, "The event, as it would be published to the topic."),
    subscription: maybe(text),
    domainTopic: maybe(text),
    filter: maybe(about(anything, "In the place of the subscriptions' own, as in ARM.")),
  }),
  FilterVerdict: record<view.FilterVerdict>({
    subscription: about(orNull(text), "Null: the filter that was given."),
    matches: truth,
    clauses: list(
      record<view.FilterVerdict["clauses"][number]>({ clause: text, holds: truth, because: text }),
    ),
  }),
  EventSummary: record<view.EventSummary>(summary),
  Story: record<view.Story>({
    ...summary,
    domainTopic: orNull(text),
    schema: text,
    bytes: whole,
    acceptedWith: text,
    traceparent: orNull(text),
    body: about(orNull(text), "While it is still kept."),
    deliveryStories: list(ref("DeliveryStory")),
    unmatched: list(
      record<view.Story["unmatched"][number]>({ subscription: text, clause: text, because: text }),
    ),
    cut: about(orNull(text), "What retention has cut away, in words."),
  }),
  DeliveryStory: record<view.DeliveryStory>({
    topic: text,
    domainTopic: orNull(text),
    subscription: text,
    endpoint: text,
    state,
    attempts: list(ref("Attempt")),
    nextDueAt: orNull(instant),
    held: about(orNull(text), "Why nothing is sent though it is due."),
    expiresAt: orNull(instant),
    attemptsLeft: orNull(whole),
    reason: orNull(text),
    endedAt: orNull(instant),
    deadLetter: orNull(ref("DeadLetterPlace")),
    remarks: list(record<view.DeliveryStory["remarks"][number]>({ at: instant, words: text })),
  }),
  DeadLetterPlace: record<view.DeadLetterLocation>(place),
  Attempt: record<view.AttemptView>(attempt),
  Health: record<view.HealthView>({
    kind: words("healthy", "unhealthy", "probing", "recovering", "closed"),
    words: text,
    failures: about(whole, "In a row, while healthy."),
    until: orNull(instant),
  }),
  Endpoint: record<view.EndpointView>({
    endpoint: text,
    health: ref("Health"),
    isDelayed: about(truth, "Whether its profile leaves a sick endpoint alone for a while."),
    subscriptions: list(endpointName),
    sendsUnderWay: whole,
    waiting: whole,
    history: about(
      list(
        record<view.EndpointView["history"][number]>({
          at: instant,
          from: text,
          to: text,
          because: text,
        }),
      ),
      "The latest first; since the broker started.",
    ),
    rules: about(text, "The rules in force, in words."),
  }),
  DeadLetter: record<view.DeadLetterView>({
    ...place,
    id: about(text, "Of this record, to be named in a redrive."),
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
    record: maybe(about(text, "As it is written; only where one alone is asked for.")),
    redriven: about(whole, "How often it has been sent again."),
  }),
  DeadLetterPage: record<view.DeadLetterPage>({
    value: list(ref("DeadLetter")),
    next: about(orNull(text), "To be given as `after`, also where the page is a short one."),
    remarks: about(list(text), "What could not be read on the way; the first few."),
  }),
  DeadLetterGroup: record<view.DeadLetterGroup>({
    reason: text,
    outcome: text,
    subscription: text,
    topic: orNull(text),
    endpoint: orNull(text),
    count: whole,
    oldestAt: instant,
    newestAt: instant,
    isPartial: about(truth, "There was more than one answer looks into."),
  }),
  RedriveOrder: record<view.RedriveOrder>({
    ids: maybe(about(list(text), "Either some, by their ids, …")),
    query: maybe(about(record<view.DeadLetterQuery>(query), "… or all that match.")),
    to: maybe(
      oneOf(
        record<Extract<view.RedriveOrder["to"], { topic: string }>>({
          topic: text,
          subscription: text,
          domainTopic: maybe(text),
        }),
        record<Extract<view.RedriveOrder["to"], { url: string }>>({ url: text }),
      ),
    ),
    perSecond: maybe(number),
    dryRun: maybe(truth),
    force: maybe(truth),
  }),
  Redrive: record<view.RedriveView>({
    id: text,
    state: words("dryRun", "running", "done", "stopped", "failed"),
    startedAt: instant,
    endedAt: orNull(instant),
    to: text,
    perSecond: number,
    total: whole,
    sent: whole,
    failed: whole,
    skipped: whole,
    remarks: list(text),
    sample: list(ref("DeadLetter")),
  }),
  SimulateOrder: record<view.SimulateOrder>({
    profile: text,
    destination: maybe(words("webhook", "resource")),
    maxDeliveryAttempts: maybe(whole),
    eventTimeToLiveInMinutes: maybe(whole),
    outage: list(
      record<view.SimulateOrder["outage"][number]>({
        fromMs: whole,
        untilMs: about(orNull(whole), "Null: for good."),
        does: about(anything, "A status, or `timeout`, `refused`, `dns`."),
        retryAfterMs: maybe(whole),
      }),
    ),
    backlog: maybe(whole),
    deadLetter: maybe(truth),
    batch: maybe(
      record<NonNullable<view.SimulateOrder["batch"]>>({
        maxEventsPerBatch: maybe(whole),
        preferredBatchSizeInKilobytes: maybe(whole),
      }),
    ),
    answerMs: maybe(whole),
    eventBytes: maybe(whole),
    seed: maybe(whole),
  }),
  Simulation: record<view.Simulation>({
    attempts: list(
      record<view.Simulation["attempts"][number]>({
        number: whole,
        atMs: number,
        heldMs: number,
        saw: text,
        words: text,
        nextDueAtMs: orNull(number),
      }),
    ),
    end: record<view.Simulation["end"]>({
      kind: words("delivered", "deadLettered", "dropped"),
      atMs: number,
      reason: orNull(text),
      words: text,
      writtenAtMs: orNull(number),
    }),
    returnsAtMs: orNull(number),
    load: orNull(
      list(record<{ atMs: number; requests: number }>({ atMs: number, requests: whole })),
    ),
    loadStepMs: whole,
    peakPerSecond: number,
    settledAtMs: number,
    saved: whole,
    lost: whole,
  }),
  Backup: record<view.BackupView>({
    name: text,
    path: about(text, "On the broker's machine."),
    bytes: whole,
    takenAt: instant,
  }),
  Setting: record<view.SettingView>({
    name: text,
    value: about(orNull(text), "As it would be written; secrets are masked."),
    source: words("option", "environment", "file", "default"),
    about: text,
    isSecret: truth,
  }),
};
