// A subscription as someone wrote it, in Event Grid's own property names, checked member by member
// and turned into a record. What is unknown, out of range, not available yet or without effect
// under the topic's profile is refused: a setting that does nothing is a surprise kept for later.
// Only what clients send because they have read it is taken and has no effect.

import { idleUnder, usualRetryPolicy, wordsOfIdle } from "../core/allowance.ts";
import { type BatchPolicy, batchPolicyOf } from "../core/batch.ts";
import type { DeliverySchema, InputSchema } from "../core/event.ts";
import { parseFilter } from "../core/filter/parse.ts";
import { checkMembers, type Members } from "../core/members.ts";
import { checkRetryPolicy } from "../core/policy.ts";
import type { Instant } from "../core/ports.ts";
import { type ProfileName, profiles } from "../core/profile.ts";
import { Refusal } from "../core/refusal.ts";
import {
  defaultDeliverySchema,
  deliverySchemasOf,
  isConversionAllowed,
} from "../core/schema/convert.ts";
import { listed } from "../core/setting.ts";
import type { StorageAccount } from "../core/storage.ts";
import {
  type Destination,
  endpointOf,
  type RetryPolicy,
  type SubscriptionTerms,
} from "../core/subscription.ts";
import { isoInstant, parseInstant } from "../core/time.ts";
import { refuseValue } from "../core/wording.ts";
import { checkDeadLetter } from "./deadletter.ts";
import { checkExtension } from "./extension.ts";
import { checkHeaders } from "./header.ts";
import { refuseUnsignable } from "./signing.ts";

/** What the terms are checked against. */
export interface TermsContext {
  readonly profile: ProfileName;
  readonly inputSchema: InputSchema;
  /** Those that dead letters can go to. */
  readonly storage: readonly StorageAccount[];
  /** What is in force: secrets that a client cannot read, it need not write again. */
  readonly stored: SubscriptionTerms | null;
  /** Whether the members that are left out stay as they are stored, or take their default. */
  readonly keepsRest: boolean;
  /** Null: an expiration that has passed is fine, as it is in a file that is read again. */
  readonly now: Instant | null;
  /** Makes what is to be secret; without it, it has to be written. */
  readonly makeKey?: () => string;
}

/** In the answers of the service, and so in what clients write back. */
const readOnly = ["topic", "provisioningState"];

const notAvailable: Readonly<Record<string, string>> = {
  deadLetterWithResourceIdentity: "write deadLetterDestination itself, without an identity",
  deliveryWithResourceIdentity: "write the destination itself, without an identity",
};

const labelsMax = 100;
const labelCharactersMax = 256;
const urlCharactersMax = 2048;

/** Refusal: InvalidSetting, naming the field by the path that begins with `field`. */
export function checkTerms(
  value: unknown,
  field: string,
  context: TermsContext,
): SubscriptionTerms {
  const members = checkMembers(value, field, [
    "destination",
    "filter",
    "labels",
    "expirationTimeUtc",
    "eventDeliverySchema",
    "retryPolicy",
    "deadLetterDestination",
    "posthorn",
    ...Object.keys(notAvailable),
    ...readOnly,
  ]);
  refuseUnavailable(members, field, notAvailable);
  const kept = context.keepsRest ? context.stored : null;
  const has = (name: string) => kept === null || name in members;
  const at = (name: string) => [members[name] ?? null, `${field}.${name}`] as const;
  const terms: SubscriptionTerms = {
    ...kept,
    ...(has("destination") &&
      checkDestination(members.destination, `${field}.destination`, context)),
    ...(has("filter") && { filter: parseFilter(...at("filter")) }),
    ...(has("labels") && { labels: checkLabels(...at("labels")) }),
    ...(has("expirationTimeUtc") && {
      expiresAt: checkExpiration(...at("expirationTimeUtc"), context),
    }),
    ...(has("retryPolicy") && { retryPolicy: checkRetry(...at("retryPolicy"), context.profile) }),
    ...(has("deadLetterDestination") && {
      deadLetter: checkDeadLetter(...at("deadLetterDestination"), context.storage),
    }),
    ...(has("eventDeliverySchema") && {
      deliverySchema: checkSchema(...at("eventDeliverySchema"), context.inputSchema),
    }),
    ...checkExtension(members.posthorn, `${field}.posthorn`, context),
  } as SubscriptionTerms;
  refuseUnsignable(terms, `${field}.posthorn.signing`);
  refuseIdle(terms, { members, field, has, profile: context.profile });
  return terms;
}

/** Of what is said now: what was said before the topic got its profile stays as it is. */
function refuseIdle(
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
  for (const idle of idleUnder(profile, terms)) {
    if (!has(idle.members[0].split(".", 1)[0] as string)) continue;
    const member = idle.members.find((path) => isSaid(members, path)) ?? idle.members[0];
    const target = `${field}.${member}`;
    const words = `${target} must be left out: ${wordsOfIdle(profile, idle)}`;
    throw new Refusal("InvalidSetting", words, { target });
  }
}

function isSaid(members: Members, path: string): boolean {
  let value: unknown = members;
  for (const name of path.split(".")) value = (value as Members | null | undefined)?.[name];
  return (value ?? null) !== null;
}

function refuseUnavailable(
  members: Members,
  field: string,
  words: Readonly<Record<string, string>>,
): void {
  for (const [name, advice] of Object.entries(words)) {
    if ((members[name] ?? null) === null) continue;
    const target = `${field}.${name}`;
    const message = `${target} is not available yet: ${advice}`;
    throw new Refusal("InvalidSetting", message, { target });
  }
}

type Sending = Pick<SubscriptionTerms, "destination" | "batch" | "headers">;

const entraAdvice = "leave it out, or send a secret in a delivery attribute";

const webHookNotAvailable = {
  azureActiveDirectoryTenantId: entraAdvice,
  azureActiveDirectoryApplicationIdOrUri: entraAdvice,
};

function checkDestination(value: unknown, field: string, context: TermsContext): Sending {
  const { endpointType, properties } = checkMembers(value, field, ["endpointType", "properties"]);
  if (typeof endpointType !== "string" || endpointType.toLowerCase() !== "webhook") {
    const allowed = "WebHook (no other destination is available yet)";
    throw refuseValue({ field: `${field}.endpointType`, value: endpointType, allowed });
  }
  const inside = `${field}.properties`;
  const members = checkMembers(properties, inside, [
    "endpointUrl",
    "endpointBaseUrl",
    "maxEventsPerBatch",
    "preferredBatchSizeInKilobytes",
    "deliveryAttributeMappings",
    "minimumTlsVersionAllowed",
    ...Object.keys(webHookNotAvailable),
  ]);
  refuseUnavailable(members, inside, webHookNotAvailable);
  checkTlsVersion(members.minimumTlsVersionAllowed, `${inside}.minimumTlsVersionAllowed`);
  return {
    destination: checkUrl(members, inside, context),
    batch: checkBatch(members, inside),
    headers: checkAttributes(members, inside, context),
  };
}

/** Ours is 1.2 whatever is asked for, and so at least what is asked for. */
function checkTlsVersion(value: unknown, field: string): void {
  if ((value ?? null) === null || ["1.0", "1.1", "1.2"].includes(value as string)) return;
  throw refuseValue({ field, value, allowed: "1.0, 1.1 or 1.2" });
}

/** The URL is told by its shape alone: its query often is a secret. */
function checkUrl(
  { endpointUrl, endpointBaseUrl }: Members,
  field: string,
  { stored }: TermsContext,
): Destination {
  if ((endpointUrl ?? null) === null && stored !== null) {
    const base = endpointBaseUrl ?? null;
    if (base === null || base === endpointOf(stored.destination)) return stored.destination;
    const allowed = "what it is: to change it, write endpointUrl";
    throw refuseValue({ field: `${field}.endpointBaseUrl`, value: base, allowed, secret: true });
  }
  const url = typeof endpointUrl === "string" ? URL.parse(endpointUrl) : null;
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
    field: `${field}.endpointUrl`,
    value: endpointUrl,
    allowed: `${allowed}, without user name, password and fragment`,
    secret: true,
  });
}

/** How the service shows a destination that does not ask for batches. */
export const noBatchShown: BatchPolicy = { maxEvents: 1, preferredBytes: 64 * 1024 };

function checkBatch(members: Members, field: string): BatchPolicy | null {
  const batch = batchPolicyOf(members, field);
  const isShown = batch?.maxEvents === 1 && batch.preferredBytes === noBatchShown.preferredBytes;
  return isShown ? null : batch;
}

/** The command line of Azure changes a destination without saying what its headers were. */
function checkAttributes(members: Members, inside: string, context: TermsContext) {
  const { stored, keepsRest } = context;
  if (keepsRest && stored !== null && !("deliveryAttributeMappings" in members)) {
    return stored.headers;
  }
  const field = `${inside}.deliveryAttributeMappings`;
  return checkHeaders(members.deliveryAttributeMappings, field, stored?.headers ?? []);
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
function checkExpiration(
  value: unknown,
  field: string,
  { now, stored }: TermsContext,
): Instant | null {
  if (value === null) return null;
  const allowed = "an ISO 8601 instant such as 2030-01-01T00:00:00Z";
  if (typeof value !== "string") throw refuseValue({ field, value, allowed });
  const at = parseInstant(/T[^Z+-]*$/i.test(value) ? `${value}Z` : value, field);
  // Whoever writes back what they read need not know what time it is.
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
