// The retry policy of one subscription: its own settings and its profile, resolved once into one
// value, so that retry.ts has nothing left to look up.

import type { RetryPolicy, Subscription } from "../subscription.ts";
import { checkInteger, type Range } from "../text/check.ts";
import { type DestinationKind, type Profile, profiles, retryRanges } from "./profile.ts";

const minuteMs = 60_000;

/** L-3: how long to wait before the first write, to put events into fewer blobs. */
const deadLetterPauseMsDefault = 5 * 60_000;
/** L-4: after a store has failed for this long, the dead letter is dropped. */
const deadLetterLimitMsDefault = 4 * 3_600_000;

export interface Policy {
  readonly profile: Profile;
  readonly destinationKind: DestinationKind;
  /** Null: without limit. */
  readonly attemptsMax: number | null;
  readonly ttlMs: number;
  /** Whether there is a dead-letter destination. */
  readonly deadLetter: boolean;
  readonly deadLetterPauseMs: number;
  readonly deadLetterLimitMs: number;
}

/** Limits for all subscriptions that do not set their own. */
export interface PolicyDefaults {
  /** E-1: only under a profile whose limits may be set for all. */
  readonly attemptsMax?: number;
  /** E-1: likewise. */
  readonly ttlMs?: number;
  readonly deadLetterPauseMs?: number;
  readonly deadLetterLimitMs?: number;
}

/**
 * The profile decides: a subscription's limits count where the profile gives it a choice, and its
 * dead-letter destination where the profile has dead letters.
 */
export function policyOf(
  subscription: Pick<Subscription, "destination" | "retryPolicy" | "deadLetter">,
  profile: Profile,
  defaults: PolicyDefaults = {},
): Policy {
  const { maxDeliveryAttempts, eventTimeToLiveMs } = subscription.retryPolicy;
  const forAll = profile.limitsForAll ? defaults : {};
  return {
    profile,
    destinationKind: subscription.destination.kind === "webhook" ? "webhook" : "resource",
    attemptsMax:
      (profile.attemptsMax.range && maxDeliveryAttempts) ??
      forAll.attemptsMax ??
      profile.attemptsMax.default,
    ttlMs: (profile.ttlMs.range && eventTimeToLiveMs) ?? forAll.ttlMs ?? profile.ttlMs.default,
    deadLetter: profile.deadLettering && subscription.deadLetter !== null,
    deadLetterPauseMs: defaults.deadLetterPauseMs ?? deadLetterPauseMsDefault,
    deadLetterLimitMs: defaults.deadLetterLimitMs ?? deadLetterLimitMsDefault,
  };
}

/**
 * a retry policy as written, checked against the ranges of its profile. A member that is
 * absent or null takes the profile's default. `field` is its path, such as
 * `properties.retryPolicy`. Refusal: InvalidSetting.
 */
export function checkRetryPolicy(
  given: { readonly maxDeliveryAttempts?: unknown; readonly eventTimeToLiveInMinutes?: unknown },
  field: string,
  { attemptsMax, ttlMs }: Pick<Profile, "attemptsMax" | "ttlMs"> = profiles.azure,
): RetryPolicy {
  const attempts = given.maxDeliveryAttempts ?? null;
  const minutes = given.eventTimeToLiveInMinutes ?? null;
  return {
    maxDeliveryAttempts:
      attempts === null
        ? null
        : checkInteger(
            attempts,
            `${field}.maxDeliveryAttempts`,
            attemptsMax.range ?? retryRanges.maxDeliveryAttempts,
          ),
    eventTimeToLiveMs:
      minutes === null
        ? null
        : checkInteger(
            minutes,
            `${field}.eventTimeToLiveInMinutes`,
            ttlMs.range === null ? retryRanges.eventTimeToLiveInMinutes : inMinutes(ttlMs.range),
          ) * minuteMs,
  };
}

function inMinutes({ min, max }: Range): Range {
  return { min: min / minuteMs, max: max / minuteMs };
}
