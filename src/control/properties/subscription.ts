// A subscription in Event Grid's own property names, checked member by member. What is unknown, out
// of range, not supported or without effect under the topic's profile is refused: a setting without
// effect is a surprise later. Only what clients send because they have read it is accepted without
// effect.

import type { AzureResources } from "../../core/azure/resources.ts";
import { unusedUnder, usualRetryPolicy, whyUnused } from "../../core/delivery/allowance.ts";
import type { BatchPolicy } from "../../core/delivery/batch.ts";
import { checkRetryPolicy } from "../../core/delivery/policy.ts";
import { type ProfileName, profiles } from "../../core/delivery/profile.ts";
import type { DeliverySchema, InputSchema } from "../../core/event.ts";
import type { Instant } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import { parseFilter } from "../../core/routing/filter/parse.ts";
import {
  defaultDeliverySchema,
  deliverySchemasOf,
  isConversionAllowed,
} from "../../core/schema/convert.ts";
import type { RetryPolicy, SubscriptionTerms } from "../../core/subscription.ts";
import { listed } from "../../core/text/setting-kinds.ts";
import { isoInstant, parseInstant } from "../../core/text/time.ts";
import { checkMembers, type Members, refuseValue } from "../../core/text/wording.ts";
import { checkDeadLetter } from "./dead-letter.ts";
import { checkSending } from "./delivery.ts";
import { checkExtension, withExactSize } from "./extension.ts";
import { deadLetterForms, deliveryForms, eitherOf } from "./identity.ts";
import { refuseUnsignable } from "./signing.ts";

/** What the settings are checked against. */
export interface TermsContext {
  readonly profile: ProfileName;
  readonly inputSchema: InputSchema;
  /** Which resource ids destinations may have. */
  readonly azure: AzureResources;
  /** The default of the batching setting that is not given (B-4). */
  readonly batchDefaults: BatchPolicy;
  /** The current one: secrets that a client cannot read need not be written again. */
  readonly stored: SubscriptionTerms | null;
  /** Whether members that are left out keep their value, or take their default. */
  readonly keepsRest: boolean;
  /** Null: a past expiration is allowed, as in a file that is read again. */
  readonly now: Instant | null;
  /** Generates secrets; without it they have to be given. */
  readonly makeKey?: () => string;
}

export const termsMembers = [
  "destination",
  "deliveryWithResourceIdentity",
  "filter",
  "labels",
  "expirationTimeUtc",
  "eventDeliverySchema",
  "retryPolicy",
  "deadLetterDestination",
  "deadLetterWithResourceIdentity",
  "posthorn",
];

/** In the answers of the service, and so in what clients write back. */
const readOnly = ["topic", "provisioningState"];

const labelsMax = 100;
const labelCharactersMax = 256;

/** Refusal: InvalidSetting, naming the field by a path that begins with `field`. */
export function checkTerms(
  value: unknown,
  field: string,
  context: TermsContext,
): SubscriptionTerms {
  const members = checkMembers(value, field, [...termsMembers, ...readOnly]);
  const kept = context.keepsRest ? context.stored : null;
  const has = (name: string) => kept === null || name in members;
  const at = (name: string) => [members[name] ?? null, `${field}.${name}`] as const;
  const terms: SubscriptionTerms = {
    ...kept,
    ...((has("destination") || has("deliveryWithResourceIdentity")) &&
      checkSending(eitherOf(members, field, deliveryForms), context)),
    ...(has("filter") && { filter: parseFilter(...at("filter")) }),
    ...(has("labels") && { labels: checkLabels(...at("labels")) }),
    ...(has("expirationTimeUtc") && {
      expiresAt: checkExpiration(...at("expirationTimeUtc"), context),
    }),
    ...(has("retryPolicy") && { retryPolicy: checkRetry(...at("retryPolicy"), context.profile) }),
    ...((has("deadLetterDestination") || has("deadLetterWithResourceIdentity")) && {
      deadLetter: checkDeadLetter(eitherOf(members, field, deadLetterForms), context.azure),
    }),
    ...(has("eventDeliverySchema") && {
      deliverySchema: checkSchema(...at("eventDeliverySchema"), context.inputSchema),
    }),
    ...checkExtension(members.posthorn, `${field}.posthorn`, context),
  } as SubscriptionTerms;
  const exact = {
    ...terms,
    batch: withExactSize(terms.batch, members.posthorn, {
      field: `${field}.posthorn`,
      stored: context.stored?.batch ?? null,
    }),
  };
  refuseUnsignable(exact, `${field}.posthorn.signing`);
  refuseUnused(exact, { members, field, has, profile: context.profile });
  return exact;
}

/** The alternative to a member, with an identity around it. */
const withIdentity: Readonly<Record<string, string>> = {
  destination: "deliveryWithResourceIdentity",
  deadLetterDestination: "deadLetterWithResourceIdentity",
};

/** Only for what is given now: what was written before the topic got its profile stays. */
function refuseUnused(
  terms: SubscriptionTerms,
  {
    members,
    field,
    has,
    profile,
  }: {
    readonly members: Members;
    readonly field: string;
    readonly has: (name: string) => boolean;
    readonly profile: ProfileName;
  },
): void {
  for (const idle of unusedUnder(profile, terms)) {
    const [root = ""] = idle.members[0].split(".", 1);
    if (!has(root) && !has(withIdentity[root] ?? root)) continue;
    const member = idle.members.find((path) => isSaid(members, path)) ?? idle.members[0];
    const target = `${field}.${member}`;
    const words = `${target} must be left out: ${whyUnused(profile, idle)}`;
    throw new Refusal("InvalidSetting", words, { target });
  }
}

function isSaid(members: Members, path: string): boolean {
  let value: unknown = members;
  for (const name of path.split(".")) value = (value as Members | null | undefined)?.[name];
  return (value ?? null) !== null;
}

function checkRetry(value: unknown, field: string, profile: ProfileName): RetryPolicy {
  const known = ["maxDeliveryAttempts", "eventTimeToLiveInMinutes"];
  const members = checkMembers(value ?? {}, field, known);
  return usualRetryPolicy(profile, checkRetryPolicy(members, field, profiles[profile]));
}

function checkLabels(value: unknown, field: string): readonly string[] {
  if (value === null) return [];
  if (!Array.isArray(value) || value.length > labelsMax) {
    throw refuseValue({ field, value, allowed: `a list of at most ${labelsMax} texts` });
  }
  return value.map((label: unknown, index) => {
    if (typeof label === "string" && label.length <= labelCharactersMax) return label;
    throw refuseValue({
      field: `${field}[${index}]`,
      value: label,
      allowed: `a text of at most ${labelCharactersMax} characters`,
    });
  });
}

/** Without a zone it is in UTC, as its name says. */
export function checkExpiration(
  value: unknown,
  field: string,
  { now, stored }: TermsContext,
): Instant | null {
  if (value === null) return null;
  const allowed = "an ISO 8601 instant such as 2030-01-01T00:00:00Z";
  if (typeof value !== "string") throw refuseValue({ field, value, allowed });
  const at = parseInstant(/T[^Z+-]*$/i.test(value) ? `${value}Z` : value, field);
  // Clients that write back what they read need not check the time.
  if (now === null || at > now || at === stored?.expiresAt) return at;
  const words = `${field} must be in the future, and is ${isoInstant(at)}`;
  throw new Refusal("InvalidSetting", `Invalid expiration time: ${words}`, { target: field });
}

function checkSchema(value: unknown, field: string, input: InputSchema): DeliverySchema {
  if (value === null) return defaultDeliverySchema(input);
  const all = Object.values(deliverySchemasOf).flat();
  const lower = typeof value === "string" ? value.toLowerCase() : null;
  const schema = all.find((each) => each.toLowerCase() === lower);
  if (schema !== undefined && isConversionAllowed(input, schema)) return schema;
  const allowed = listed(deliverySchemasOf[input]);
  throw refuseValue({ field, value, allowed: `${allowed}, because the topic takes ${input}` });
}
