// The profiles: what the published descriptions of the service say at six points of its life, as
// plain values. Each member is one row of the table in docs/profiles.md, named by its id.
//
// Nothing is decided here. What a profile does not support (batching, dead letters, limits of a
// subscription) is refused when it is written (`allowance.ts`); if the profile has changed since,
// it has no effect. P-13, that events survive a restart, is no member: it is true of every profile
// and depends on the store alone.

import type { Range } from "../text/check.ts";

export type ProfileName =
  | "preview-2017"
  | "ga-2018"
  | "azure-2020"
  | "azure"
  | "iot-edge"
  | "azure-latest"
  /** Of namespace topics, whatever the broker's profile; it cannot be chosen. */
  | "namespace";

/** A cloud resource is a queue, a topic, a hub, a relay or a function; all else is a webhook. */
export type DestinationKind = "webhook" | "resource";

/** A status that some profile never retries; each has a reason of its own in a dead letter. */
export type FinalStatus = 400 | 401 | 403 | 404 | 413 | 414;

export interface SmallestWaits {
  readonly byStatus: Readonly<Record<number, number>>;
  /** For every other status, and for no answer at all. */
  readonly others: number;
}

export interface Profile {
  readonly name: ProfileName;
  /** P-1: the only statuses that complete a delivery. */
  readonly succeeds: readonly number[];
  /** P-2: how long to wait for an answer. */
  readonly waitMs: number;
  /** P-3: until when, counted from the send, a late success still counts; 0: it does not. */
  readonly lateMs: number;
  /** P-4: the waits after the first failure, the second, and so on; the last step repeats. */
  readonly scheduleMs: readonly number[];
  /** P-5: how long an event is tried. Without a range a subscription cannot choose. */
  readonly ttlMs: { readonly default: number; readonly range: Range | null };
  /** P-6: how often an event is tried; null: without limit. */
  readonly attemptsMax: { readonly default: number | null; readonly range: Range | null };
  /** P-5, P-6, E-1: the broker's own settings may replace the two defaults. */
  readonly limitsForAll: boolean;
  /** P-7: never retried. */
  readonly neverRetried: Readonly<Record<DestinationKind, readonly FinalStatus[]>>;
  /** P-8: no retry sooner than this. */
  readonly smallestWaitMs: Readonly<Record<DestinationKind, SmallestWaits>>;
  /** P-8: an endpoint may ask for a longer wait (`Retry-After`); else the schedule alone counts. */
  readonly retryAfter: boolean;
  /** P-9 */
  readonly batching: boolean;
  /** P-10: deliveries wait while the endpoint is unhealthy (H-1). */
  readonly delayedDelivery: boolean;
  /** P-11: without it, undeliverable events are dropped. */
  readonly deadLettering: boolean;
  /** P-12 */
  readonly deliveryHeaders: boolean;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** what a subscription may set, where it may set anything. */
export const retryRanges = {
  maxDeliveryAttempts: { min: 1, max: 30 },
  eventTimeToLiveInMinutes: { min: 1, max: 1440 },
} as const satisfies Record<string, Range>;

/**
 * The IoT Edge module documents no limits, and its own example asks for 50 attempts. These are
 * higher than its schedule can use: a year of attempts every ten minutes would be 52,560.
 */
export const edgeRetryRanges = {
  maxDeliveryAttempts: { min: 1, max: 100_000 },
  eventTimeToLiveInMinutes: { min: 1, max: 525_600 },
} as const satisfies Record<string, Range>;

function inMs({ min, max }: Range): Range {
  return { min: min * minute, max: max * minute };
}

const firstHours: readonly number[] = [
  10 * second,
  30 * second,
  1 * minute,
  5 * minute,
  10 * minute,
  30 * minute,
  1 * hour,
];

const noSmallestWait: SmallestWaits = { byStatus: {}, others: 0 };

const preview2017: Profile = {
  name: "preview-2017",
  succeeds: [200, 202],
  waitMs: 60 * second,
  lateMs: 0,
  scheduleMs: firstHours,
  ttlMs: { default: 2 * hour, range: null },
  attemptsMax: { default: null, range: null },
  limitsForAll: false,
  neverRetried: { webhook: [], resource: [] },
  smallestWaitMs: { webhook: noSmallestWait, resource: noSmallestWait },
  retryAfter: false,
  batching: false,
  delayedDelivery: false,
  deadLettering: false,
  deliveryHeaders: false,
};

const ga2018: Profile = {
  ...preview2017,
  name: "ga-2018",
  ttlMs: { default: 24 * hour, range: null },
};

const azure2020: Profile = {
  name: "azure-2020",
  succeeds: [200, 201, 202, 203, 204],
  waitMs: 30 * second,
  lateMs: 3 * minute,
  scheduleMs: [...firstHours, 3 * hour, 6 * hour, 12 * hour],
  ttlMs: { default: 1440 * minute, range: inMs(retryRanges.eventTimeToLiveInMinutes) },
  attemptsMax: { default: 30, range: retryRanges.maxDeliveryAttempts },
  limitsForAll: false,
  neverRetried: { webhook: [400, 401, 403, 404, 413], resource: [400, 403, 413] },
  smallestWaitMs: {
    webhook: {
      byStatus: { 408: 2 * minute, 503: 30 * second },
      others: 10 * second,
    },
    resource: {
      byStatus: { 401: 5 * minute, 404: 5 * minute, 408: 2 * minute, 503: 30 * second },
      others: 10 * second,
    },
  },
  retryAfter: true,
  batching: true,
  delayedDelivery: true,
  deadLettering: true,
  deliveryHeaders: false,
};

const azure: Profile = { ...azure2020, name: "azure", deliveryHeaders: true };

/** Two backoff queues (E-2): one minute once, then every ten minutes. */
const iotEdge: Profile = {
  name: "iot-edge",
  succeeds: [200, 201, 202, 203, 204],
  waitMs: 60 * second,
  lateMs: 0,
  scheduleMs: [1 * minute, 10 * minute],
  ttlMs: { default: 7200 * second, range: inMs(edgeRetryRanges.eventTimeToLiveInMinutes) },
  attemptsMax: { default: 30, range: edgeRetryRanges.maxDeliveryAttempts },
  limitsForAll: true,
  neverRetried: { webhook: [], resource: [] },
  smallestWaitMs: { webhook: noSmallestWait, resource: noSmallestWait },
  retryAfter: false,
  batching: true,
  delayedDelivery: false,
  deadLettering: false,
  deliveryHeaders: false,
};

/**
 * The newest description, later than 2023: a missing webhook may come back, so its 404 is retried,
 * but not at once. Everything else is as in `azure`.
 */
const azureLatest: Profile = {
  ...azure,
  name: "azure-latest",
  neverRetried: { webhook: [400, 401, 403, 413], resource: [400, 403, 413] },
  smallestWaitMs: {
    webhook: {
      byStatus: { 404: 5 * minute, ...azure.smallestWaitMs.webhook.byStatus },
      others: azure.smallestWaitMs.webhook.others,
    },
    resource: azure.smallestWaitMs.resource,
  },
};

/** How often an event of a namespace topic is tried or handed out (N-36, N-60). */
export const namespaceAttempts = { min: 1, max: 10 } as const satisfies Range;
/** Days that a namespace topic keeps events (N-41). */
export const retentionDays = { min: 1, max: 7 } as const satisfies Range;

const namespaceFinal = [400, 401, 403, 404, 413, 414] as const;

/**
 * Push from namespace topics (N-58 to N-62). The first retry comes at once, which a smallest wait
 * of ten seconds for all statuses, on the same page, would rule out: so only the two larger ones
 * count. Time-outs and socket errors are retried, though one list there says they are not.
 */
const namespace: Profile = {
  ...azure,
  name: "namespace",
  lateMs: 0,
  scheduleMs: [0, 10 * second, 30 * second, 1 * minute, 5 * minute],
  ttlMs: { default: 24 * hour, range: { min: minute, max: retentionDays.max * 24 * hour } },
  attemptsMax: { default: namespaceAttempts.max, range: namespaceAttempts },
  // The default life is the topic's retention (core/pull/pull-rules.ts).
  limitsForAll: true,
  neverRetried: { webhook: namespaceFinal, resource: namespaceFinal },
  smallestWaitMs: {
    webhook: { byStatus: { 408: 2 * minute, 503: 30 * second }, others: 0 },
    resource: { byStatus: { 408: 2 * minute, 503: 30 * second }, others: 0 },
  },
};

export const profiles: Readonly<Record<ProfileName, Profile>> = {
  "preview-2017": preview2017,
  "ga-2018": ga2018,
  "azure-2020": azure2020,
  azure,
  "iot-edge": iotEdge,
  "azure-latest": azureLatest,
  namespace,
};

/** Those that a broker or a topic may choose. */
export type ChosenProfile = Exclude<ProfileName, "namespace">;

export const profileNames = (Object.keys(profiles) as readonly ProfileName[]).filter(
  (name): name is ChosenProfile => name !== "namespace",
);
