// The health of one endpoint (H-1 … H-4): a fold over the results of its sends. A sender asks
// `gate` first, applies `sent` before a send and its result after it, all in one process.
//
// A pure function without a clock: times come with the facts. It counts no attempts and knows no
// deliveries, so waiting uses up none (H-3); and a state belongs to one endpoint, so that it slows
// no other (H-4). A profile without delayed delivery (P-10) does not use it.

import type { Instant } from "../ports.ts";

/**
 * The four states, and what ends each.
 *
 * healthy     Everything may be sent. `failures` counts those in a row; a success resets it to
 *             none, and the tenth ends the state: unhealthy, for the first wait.
 *
 * unhealthy   Nothing may be sent before `until`; then one send may be, the probe, and applying
 *             `sent` ends the state: probing. Sends begun earlier may still end: their
 *             failures change nothing, but a success ends the state:
 *             recovering.
 *
 * probing     The probe is in flight, and nothing else may be sent until it is answered. Its
 *             failure: unhealthy again, for a longer wait; only this lengthens the wait. Its
 *             success, or that of an earlier send: recovering. If it was not made after all:
 *             unhealthy, and due.
 *
 * recovering  As many sends as `atOnce` may be in flight together: one, and one more with each
 *             success, which doubles them with every round, until at a limit the endpoint
 *             is healthy. The failure of a send begun in this state: unhealthy again, for
 *             the wait it had.
 */
export type Health =
  | { readonly kind: "healthy"; readonly failures: number }
  | { readonly kind: "unhealthy"; readonly until: Instant; readonly waitMs: number }
  | { readonly kind: "probing"; readonly startedAt: Instant; readonly waitMs: number }
  | {
      readonly kind: "recovering";
      readonly startedAt: Instant;
      readonly atOnce: number;
      /** Kept in case it fails again. */
      readonly waitMs: number;
    };

export const healthyStart: Health = { kind: "healthy", failures: 0 };

export interface HealthRules {
  /** This many failures in a row make an endpoint unhealthy (H-1). */
  readonly failuresMax: number;
  readonly firstWaitMs: number;
  /** What a failed probe multiplies the wait by (H-2). */
  readonly growth: number;
  readonly waitMaxMs: number;
  /** A recovering endpoint is healthy once it may have this many sends at once. */
  readonly healthyAtOnce: number;
}

/** The service names the ten and "up to hours"; the other numbers are our choice. */
export const healthRules: HealthRules = {
  failuresMax: 10,
  firstWaitMs: 30_000,
  growth: 2,
  waitMaxMs: 2 * 3_600_000,
  healthyAtOnce: 16,
};

export type Gate =
  | {
      readonly kind: "open";
      /** How many sends may be in flight together; `Infinity`: health sets no limit. */
      readonly atOnce: number;
    }
  | {
      readonly kind: "closed";
      /** `Infinity`: until the probe in flight is answered. */
      readonly until: Instant;
    };

export type HealthFact =
  /** Applied before each send. */
  | { readonly kind: "sent"; readonly at: Instant }
  /** The send just applied was not made after all. */
  | { readonly kind: "unsent" }
  /** `sentAt`: the time given to its `sent`; without it, the latest send is assumed. */
  | { readonly kind: "succeeded"; readonly at: Instant; readonly sentAt?: Instant }
  | { readonly kind: "failed"; readonly at: Instant; readonly sentAt?: Instant };

export const alwaysOpen: Gate = { kind: "open", atOnce: Number.POSITIVE_INFINITY };

/** What may be sent now. */
export function gate(health: Health, now: Instant): Gate {
  switch (health.kind) {
    case "healthy":
      return alwaysOpen;
    case "unhealthy":
      return now < health.until
        ? { kind: "closed", until: health.until }
        : { kind: "open", atOnce: 1 };
    case "probing":
      return { kind: "closed", until: Number.POSITIVE_INFINITY };
    case "recovering":
      return { kind: "open", atOnce: health.atOnce };
    default:
      return health satisfies never;
  }
}

/** The state after a fact. The same value when nothing changed. */
export function fold(health: Health, fact: HealthFact, rules: HealthRules = healthRules): Health {
  switch (fact.kind) {
    case "sent":
      return health.kind === "unhealthy" && fact.at >= health.until
        ? { kind: "probing", startedAt: fact.at, waitMs: health.waitMs }
        : health;
    case "unsent":
      return health.kind === "probing"
        ? { kind: "unhealthy", until: health.startedAt, waitMs: health.waitMs }
        : health;
    case "succeeded":
      return afterSuccess(health, fact.at, rules);
    case "failed":
      return afterFailure(health, fact.at, fact.sentAt ?? fact.at, rules);
    default:
      return fact satisfies never;
  }
}

/** What a restart is to know of it, when it knew `before` until now; null: nothing. */
export function rememberedHealth(health: Health, before: Health | null): Health | null {
  switch (health.kind) {
    case "healthy":
      return null;
    case "probing":
      // Its outcome is unknown to the next life, which makes a probe of its own.
      return before;
    case "recovering":
      return { ...health, atOnce: 1 };
    default:
      return health;
  }
}

/** Longer ago it says nothing any more. */
const rememberedMsMax = 24 * 3_600_000;

/** As it was remembered; null for what is too old, and for what no release has written. */
export function recallHealth(record: object, now: Instant): Health | null {
  const { kind, until, startedAt, waitMs } = record as Record<string, unknown>;
  if (typeof waitMs !== "number" || waitMs <= 0) return null;
  const isRecent = (at: number) => now - at < rememberedMsMax;
  if (kind === "unhealthy" && typeof until === "number" && isRecent(until)) {
    return { kind, until: Math.min(until, now + waitMs), waitMs };
  }
  if (kind === "recovering" && typeof startedAt === "number" && isRecent(startedAt)) {
    return { kind, startedAt: Math.min(startedAt, now), atOnce: 1, waitMs };
  }
  return null;
}

/** For stories: the endpoint's health in a few words. */
export function healthSentence(health: Health): string {
  switch (health.kind) {
    case "healthy":
      if (health.failures === 0) return "healthy";
      return health.failures === 1
        ? "healthy, the last attempt failed"
        : `healthy, ${health.failures} failures in a row`;
    case "recovering":
      return `recovering, ${health.atOnce} at once`;
    default:
      return health.kind;
  }
}

function afterSuccess(health: Health, at: Instant, rules: HealthRules): Health {
  if (health.kind === "healthy") return health.failures === 0 ? health : healthyStart;
  const atOnce = health.kind === "recovering" ? health.atOnce + 1 : 1;
  if (atOnce >= rules.healthyAtOnce) return healthyStart;
  const startedAt = health.kind === "recovering" ? health.startedAt : at;
  return { kind: "recovering", startedAt, atOnce, waitMs: health.waitMs };
}

function afterFailure(health: Health, at: Instant, sentAt: Instant, rules: HealthRules): Health {
  switch (health.kind) {
    case "healthy": {
      const failures = health.failures + 1;
      if (failures < rules.failuresMax) return { kind: "healthy", failures };
      return { kind: "unhealthy", until: at + rules.firstWaitMs, waitMs: rules.firstWaitMs };
    }
    case "unhealthy":
      return health;
    case "probing": {
      if (sentAt < health.startedAt) return health;
      const waitMs = Math.min(health.waitMs * rules.growth, rules.waitMaxMs);
      return { kind: "unhealthy", until: at + waitMs, waitMs };
    }
    case "recovering":
      if (sentAt < health.startedAt) return health;
      return { kind: "unhealthy", until: at + health.waitMs, waitMs: health.waitMs };
    default:
      return health satisfies never;
  }
}
