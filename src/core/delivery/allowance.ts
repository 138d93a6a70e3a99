// What a profile lets a subscription choose (P-5, P-6, P-9, P-11, P-12). A setting that the profile
// does not support is refused when it is written, because a setting without effect is a surprise
// later; so is a change of profile that would leave a setting without effect.
//
// Clients always write some settings. Values that mean the same as leaving the setting out are
// removed before this check (`usualRetryPolicy`, and batches of one).

import type { RetryPolicy, SubscriptionTerms } from "../subscription.ts";
import { type Profile, type ProfileName, profiles } from "./profile.ts";

/** A setting that has no effect under the profile. */
export interface UnusedSetting {
  /** Its path in Event Grid's shape: `retryPolicy.maxDeliveryAttempts`. */
  readonly members: readonly [string, ...string[]];
  /** Completes "the profile does not support". */
  readonly about: string;
}

type Terms = Pick<SubscriptionTerms, "retryPolicy" | "batch" | "deadLetter" | "headers">;

interface Setting extends UnusedSetting {
  readonly isKnown: (profile: Profile) => boolean;
  readonly isAsked: (terms: Terms) => boolean;
}

const settings: readonly Setting[] = [
  {
    members: ["retryPolicy.maxDeliveryAttempts"],
    about: "a number of attempts per subscription",
    isKnown: ({ attemptsMax }) => attemptsMax.range !== null,
    isAsked: ({ retryPolicy }) => retryPolicy.maxDeliveryAttempts !== null,
  },
  {
    members: ["retryPolicy.eventTimeToLiveInMinutes"],
    about: "a time to live per subscription",
    isKnown: ({ ttlMs }) => ttlMs.range !== null,
    isAsked: ({ retryPolicy }) => retryPolicy.eventTimeToLiveMs !== null,
  },
  {
    members: [
      "destination.properties.maxEventsPerBatch",
      "destination.properties.preferredBatchSizeInKilobytes",
    ],
    about: "batches",
    isKnown: ({ batching }) => batching,
    isAsked: ({ batch }) => batch !== null && batch.maxEvents > 1,
  },
  {
    members: ["destination.properties.deliveryAttributeMappings"],
    about: "delivery headers",
    isKnown: ({ deliveryHeaders }) => deliveryHeaders,
    isAsked: ({ headers }) => headers.length > 0,
  },
  {
    members: ["deadLetterDestination"],
    about: "dead letters",
    isKnown: ({ deadLettering }) => deadLettering,
    isAsked: ({ deadLetter }) => deadLetter !== null,
  },
];

/** The settings that the profile does not support, in the order of the table. */
export function unusedUnder(name: ProfileName, terms: Terms): readonly UnusedSetting[] {
  const profile = profiles[name];
  return settings
    .filter(({ isKnown, isAsked }) => isAsked(terms) && !isKnown(profile))
    .map(({ members, about }) => ({ members, about }));
}

/** `the profile ga-2018 does not support batches` */
export function whyUnused(name: ProfileName, { about }: Pick<UnusedSetting, "about">): string {
  return `the profile ${name} does not support ${about}`;
}

/** What Azure's command line and SDKs write when nobody chose anything. */
const writtenByClients: RetryPolicy = {
  maxDeliveryAttempts: 30,
  eventTimeToLiveMs: 1440 * 60_000,
};

/**
 * A policy without what has no effect: under a profile that gives no choice, its own limits and the
 * values that clients always write count as left out.
 */
export function usualRetryPolicy(name: ProfileName, given: RetryPolicy): RetryPolicy {
  const { attemptsMax, ttlMs } = profiles[name];
  return {
    maxDeliveryAttempts: chosen(given.maxDeliveryAttempts, {
      isFree: attemptsMax.range !== null,
      usual: [attemptsMax.default, writtenByClients.maxDeliveryAttempts],
    }),
    eventTimeToLiveMs: chosen(given.eventTimeToLiveMs, {
      isFree: ttlMs.range !== null,
      usual: [ttlMs.default, writtenByClients.eventTimeToLiveMs],
    }),
  };
}

/** Null for what nobody chose. */
function chosen(
  value: number | null,
  { isFree, usual }: { readonly isFree: boolean; readonly usual: readonly (number | null)[] },
): number | null {
  return !isFree && usual.includes(value) ? null : value;
}
