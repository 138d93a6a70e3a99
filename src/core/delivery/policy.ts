// How hard we try for one subscription: its own settings and its profile, resolved into one value
// once, so that the laws of retry.ts have nothing left to look up or to default.

import type { RetryPolicy, Subscription } from "../subscription.ts";
import { checkInteger, type Range } from "../text/check.ts";
import { type DestinationKind, type Profile, profiles, retryRanges } from "./profile.ts";

const minuteMs = 60_000;

/** L-3: between giving up and the first write, to gather events into fewer blobs. */
const deadLetterPauseMsDefault = 5 * 60_000;
/** L-4: a dead-letter store that takes nothing for so long loses the event. */
const deadLetterLimitMsDefault = 4 * 3_600_000;

export interface Policy {
  readonly profile: Profile;
  readonly destinationKind: DestinationKind;
  /** Null: without limit. */
  readonly attemptsMax: number | null;
  readonly ttlMs: number;
  /** Whether what we give up on goes anywhere. */
  readonly deadLetter: boolean;
  readonly deadLetterPauseMs: number;
  readonly deadLetterLimitMs: number;
}

/** What holds for all subscriptions of a broker that do not say otherwise. */
export interface PolicyDefaults {
  /** E-1, and so only under a profile whose limits may be set for all. */
  readonly attemptsMax?: number;
  /** E-1, likewise. */
  readonly ttlMs?: number;
  readonly deadLetterPauseMs?: number;
  readonly deadLetterLimitMs?: number;
}

/**
 * The profile has the last word: a subscription's limits count where the profile gives it a choice,
 * and its dead-letter destination where the profile has dead letters.
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
 * a retry policy as someone wrote it, checked against the ranges of its profile. A member that
 * is absent or null takes the profile's default. `field` is where it stands, such as
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
