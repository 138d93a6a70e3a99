// A subscription as someone wrote it, in Event Grid's own property names, checked member by member
// and turned into a record. What is unknown, out of range, not available yet or without effect
// under the topic's profile is refused: a setting that does nothing is a surprise kept for later.

import { batchPolicyOf } from "../core/batch.ts";
import { parseFilter } from "../core/filter/parse.ts";
import { checkMembers, type Members } from "../core/members.ts";
import { checkRetryPolicy } from "../core/policy.ts";
import { type ProfileName, profiles } from "../core/profile.ts";
import { Refusal } from "../core/refusal.ts";
import type { Destination, RetryPolicy, SubscriptionDraft } from "../core/subscription.ts";
import { refuseValue } from "../core/wording.ts";

/** Everything that its owner writes. */
export type SubscriptionProperties = Pick<
  SubscriptionDraft,
  "destination" | "filter" | "retryPolicy" | "batch" | "deadLetter"
>;

const urlCharactersMax = 2048;

/** Refusal: InvalidSetting, naming the field by the path that begins with `field`. */
export function checkSubscription(
  value: unknown,
  field: string,
  profile: ProfileName,
): SubscriptionProperties {
  const members = checkMembers(value, field, [
    "destination",
    "filter",
    "retryPolicy",
    "deadLetterDestination",
  ]);
  if ((members.deadLetterDestination ?? null) !== null) {
    const words = `${field}.deadLetterDestination is not available yet: leave it out`;
    throw new Refusal("InvalidSetting", `${words}, and what is given up on is dropped and counted`);
  }
  return {
    ...checkDestination(members.destination, `${field}.destination`, profile),
    filter: parseFilter(members.filter, `${field}.filter`),
    retryPolicy: checkRetry(members.retryPolicy ?? {}, `${field}.retryPolicy`, profile),
    deadLetter: null,
  };
}

function checkDestination(
  value: unknown,
  field: string,
  profile: ProfileName,
): Pick<SubscriptionProperties, "destination" | "batch"> {
  const { endpointType, properties } = checkMembers(value, field, ["endpointType", "properties"]);
  if (typeof endpointType !== "string" || endpointType.toLowerCase() !== "webhook") {
    throw refuseValue({ field: `${field}.endpointType`, value: endpointType, allowed: "WebHook" });
  }
  const inside = `${field}.properties`;
  const members = checkMembers(properties, inside, [
    "endpointUrl",
    "maxEventsPerBatch",
    "preferredBatchSizeInKilobytes",
  ]);
  return {
    destination: checkUrl(members.endpointUrl, `${inside}.endpointUrl`),
    batch: checkBatch(members, inside, profile),
  };
}

/** The URL is told by its shape alone: its query often is a secret. */
function checkUrl(value: unknown, field: string): Destination {
  const url = typeof value === "string" ? URL.parse(value) : null;
  const isFine =
    url !== null &&
    (url.protocol === "http:" || url.protocol === "https:") &&
    url.username === "" &&
    url.password === "" &&
    !url.href.includes("#") &&
    url.href.length <= urlCharactersMax;
  if (isFine) return { kind: "webhook", url: url.href };
  const allowed = `an absolute http or https URL of at most ${urlCharactersMax} characters`;
  throw refuseValue({
    field,
    value,
    allowed: `${allowed}, without user name, password and fragment`,
    secret: true,
  });
}

function checkBatch(members: Members, field: string, profile: ProfileName) {
  const batch = batchPolicyOf(members, field);
  if (batch === null || profiles[profile].batching) return batch;
  // One event per request is what such a profile does anyway.
  if (batch.maxEvents === 1) return null;
  const given = members.maxEventsPerBatch == null ? "preferredBatchSizeInKilobytes" : null;
  throw refuseUnderProfile(`${field}.${given ?? "maxEventsPerBatch"}`, "batches", profile);
}

function checkRetry(value: unknown, field: string, profileName: ProfileName): RetryPolicy {
  const members = checkMembers(value, field, ["maxDeliveryAttempts", "eventTimeToLiveInMinutes"]);
  const policy = checkRetryPolicy(members, field);
  const { attemptsMax, ttlMs } = profiles[profileName];
  const { maxDeliveryAttempts, eventTimeToLiveMs } = policy;
  const hasAttempts = maxDeliveryAttempts !== null && maxDeliveryAttempts !== attemptsMax.default;
  if (attemptsMax.range === null && hasAttempts) {
    const about = "a number of attempts per subscription";
    throw refuseUnderProfile(`${field}.maxDeliveryAttempts`, about, profileName);
  }
  const hasTimeToLive = eventTimeToLiveMs !== null && eventTimeToLiveMs !== ttlMs.default;
  if (ttlMs.range === null && hasTimeToLive) {
    const about = "a time to live per subscription";
    throw refuseUnderProfile(`${field}.eventTimeToLiveInMinutes`, about, profileName);
  }
  return policy;
}

function refuseUnderProfile(field: string, about: string, profile: ProfileName): Refusal {
  const words = `${field} must be left out: the profile ${profile} does not know ${about}`;
  return new Refusal("InvalidSetting", words);
}
