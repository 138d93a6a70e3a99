// An event subscription of a namespace topic in Event Grid's own property names: read and shown
// (N-68, N-69, N-75 to N-80). Inside it is a subscription like any other; a queue is one whose
// destination is of the kind `pull`.

import { namespaceAttempts } from "../../core/delivery/profile.ts";
import { lockSeconds, retentionDefault } from "../../core/pull/pull-rules.ts";
import { Refusal } from "../../core/refusal.ts";
import { parseFilter } from "../../core/routing/filter/parse.ts";
import { type Filter, filterForAll } from "../../core/routing/filter.ts";
import type { RetryPolicy, SubscriptionTerms } from "../../core/subscription.ts";
import { checkInteger } from "../../core/text/check.ts";
import { durationText, parseDuration } from "../../core/text/time.ts";
import { checkMembers, type Members, refuseValue } from "../../core/text/wording.ts";
import type { Topic } from "../../core/topic.ts";
import { checkDeadLetter, renderDeadLetter } from "./dead-letter.ts";
import { checkSending, renderSending } from "./delivery.ts";
import { checkExtension } from "./extension.ts";
import { deliveryForms, eitherOf, type Forms } from "./identity.ts";
import { checkOnly } from "./namespace.ts";
import { checkExpiration, type TermsContext } from "./subscription.ts";

const dayMs = 86_400_000;
const minuteMs = 60_000;
const secondMs = 1_000;

const deadLetterForms: Forms = {
  plain: "deadLetterDestination",
  identified: "deadLetterDestinationWithResourceIdentity",
};
const deadLetterMembers = Object.values(deadLetterForms);

const settingMembers = ["maxDeliveryCount", "eventTimeToLive", ...deadLetterMembers];
const queueMembers = ["receiveLockDurationInSeconds", ...settingMembers];
const pushMembers = [...Object.values(deliveryForms), ...settingMembers];

export const namespaceSubscriptionMembers = [
  "deliveryConfiguration",
  "eventDeliverySchema",
  "filtersConfiguration",
  "expirationTimeUtc",
  "posthorn",
  /** Read-only, or without effect. */
  "provisioningState",
  "tags",
];

export interface NamespaceTermsContext extends TermsContext {
  readonly topic: Pick<Topic, "retentionDays">;
}

/** Refusal: InvalidSetting, naming the field by a path that begins with `field`. */
export function checkNamespaceTerms(
  value: unknown,
  field: string,
  context: NamespaceTermsContext,
): SubscriptionTerms {
  const members = checkMembers(value, field, namespaceSubscriptionMembers);
  const kept = context.keepsRest ? context.stored : null;
  const has = (name: string) => kept === null || name in members;
  const at = (name: string) => [members[name] ?? null, `${field}.${name}`] as const;
  checkOnly(members.eventDeliverySchema, `${field}.eventDeliverySchema`, "CloudEventSchemaV1_0");
  return {
    ...plainTerms,
    ...kept,
    ...(has("deliveryConfiguration") && checkDelivery(...at("deliveryConfiguration"), context)),
    ...(has("filtersConfiguration") && { filter: checkFilters(...at("filtersConfiguration")) }),
    ...(has("expirationTimeUtc") && {
      expiresAt: checkExpiration(...at("expirationTimeUtc"), context),
    }),
    ...checkExtension(members.posthorn, `${field}.posthorn`, context),
  } as SubscriptionTerms;
}

const plainTerms = { labels: [], deliverySchema: "CloudEventSchemaV1_0" } as const;

type Delivery = Pick<
  SubscriptionTerms,
  "destination" | "retryPolicy" | "deadLetter" | "batch" | "headers"
>;

function checkDelivery(value: unknown, field: string, context: NamespaceTermsContext): Delivery {
  const members = checkMembers(value ?? {}, field, ["deliveryMode", "queue", "push"]);
  const mode = checkMode(members, field, context);
  const other = mode === "queue" ? "push" : "queue";
  if ((members[other] ?? null) !== null) {
    const target = `${field}.${other}`;
    const words = `${target} must be left out where deliveryMode is ${modeNames[mode]}`;
    throw new Refusal("InvalidSetting", words, { target });
  }
  const inside = `${field}.${mode}`;
  const given = checkMembers(members[mode] ?? {}, inside, [
    ...(mode === "queue" ? queueMembers : pushMembers),
    "deliveryRetryPeriodInDays",
  ]);
  const { stored, keepsRest } = context;
  const before = keepsRest ? stored : null;
  const has = (names: readonly string[]) => before === null || names.some((name) => name in given);
  return {
    ...(mode === "queue"
      ? checkQueue(given, inside, before)
      : has(Object.values(deliveryForms))
        ? checkPush(given, inside, context)
        : (before as Delivery)),
    retryPolicy: checkLimits(given, inside, { before, topic: context.topic }),
    deadLetter: has(deadLetterMembers)
      ? checkDeadLetter(eitherOf(given, inside, deadLetterForms), context.azure)
      : (before?.deadLetter ?? null),
  };
}

const modeNames = { queue: "Queue", push: "Push" } as const;

type Mode = keyof typeof modeNames;

/** N-46: what is fetched cannot become what is sent, nor the other way round. */
function checkMode(
  { deliveryMode, push }: Members,
  field: string,
  { stored }: NamespaceTermsContext,
): Mode {
  const target = `${field}.deliveryMode`;
  const before = stored && (stored.destination.kind === "pull" ? "queue" : "push");
  const lower = typeof deliveryMode === "string" ? deliveryMode.toLowerCase() : deliveryMode;
  const implied = before ?? ((push ?? null) === null ? "queue" : "push");
  const mode = (lower ?? null) === null ? implied : lower;
  if (mode !== "queue" && mode !== "push") {
    throw refuseValue({ field: target, value: deliveryMode, allowed: "Queue or Push" });
  }
  if (before === null || before === mode) return mode;
  const words = `${target} must stay ${modeNames[before]}: delete the event subscription`;
  throw new Refusal("InvalidSetting", `${words} and create it again to change it`, { target });
}

function checkQueue(
  members: Members,
  field: string,
  before: SubscriptionTerms | null,
): Pick<Delivery, "destination" | "batch" | "headers"> {
  const { receiveLockDurationInSeconds: given = null } = members;
  const seconds =
    given === null
      ? null
      : checkInteger(given, `${field}.receiveLockDurationInSeconds`, lockSeconds);
  const kept = before?.destination.kind === "pull" ? before.destination.lockMs : null;
  const lockMs = seconds === null ? (kept ?? lockSeconds.default * secondMs) : seconds * secondMs;
  return { destination: { kind: "pull", lockMs }, batch: null, headers: [] };
}

/** N-55 */
function checkPush(
  members: Members,
  field: string,
  context: NamespaceTermsContext,
): Pick<Delivery, "destination" | "batch" | "headers"> {
  const written = eitherOf(members, field, deliveryForms);
  const sending = checkSending(written, context);
  const { kind } = sending.destination;
  if (kind === "webhook" || kind === "eventHub") return sending;
  throw refuseValue({
    field: `${written.field}.endpointType`,
    value: kind,
    allowed: "WebHook or EventHub",
  });
}

/** N-36, N-41, N-60. */
function checkLimits(
  members: Members,
  field: string,
  {
    before,
    topic,
  }: {
    readonly before: SubscriptionTerms | null;
    readonly topic: Pick<Topic, "retentionDays">;
  },
): RetryPolicy {
  const { maxDeliveryCount, eventTimeToLive } = members;
  const old = before?.retryPolicy ?? { maxDeliveryAttempts: null, eventTimeToLiveMs: null };
  return {
    maxDeliveryAttempts:
      maxDeliveryCount === undefined
        ? old.maxDeliveryAttempts
        : maxDeliveryCount === null
          ? null
          : checkInteger(maxDeliveryCount, `${field}.maxDeliveryCount`, namespaceAttempts),
    eventTimeToLiveMs:
      eventTimeToLive === undefined
        ? old.eventTimeToLiveMs
        : checkLife(eventTimeToLive, `${field}.eventTimeToLive`, topic),
  };
}

function checkLife(
  value: unknown,
  field: string,
  { retentionDays = retentionDefault }: Pick<Topic, "retentionDays">,
): number | null {
  if (value === null) return null;
  const ms = typeof value === "string" ? parseDuration(value, field) : Number.NaN;
  if (ms >= minuteMs && ms % minuteMs === 0 && ms <= retentionDays * dayMs) return ms;
  const allowed = `whole minutes from PT1M to P${retentionDays}D, the retention of the topic`;
  throw refuseValue({ field, value, allowed });
}

/** N-76: the same filters as those of topics, under other names. */
function checkFilters(value: unknown, field: string): Filter {
  if (value === null) return filterForAll;
  const { includedEventTypes, filters } = checkMembers(value, field, [
    "includedEventTypes",
    "filters",
  ]);
  try {
    return {
      ...parseFilter({ includedEventTypes, advancedFilters: filters }, field),
      onArrays: true,
    };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // The field is named as it was written.
    const renamed = (text: string) =>
      text.replaceAll(`${field}.advancedFilters`, `${field}.filters`);
    const target = error.target && renamed(error.target);
    throw new Refusal(error.code, renamed(error.message), target === undefined ? {} : { target });
  }
}

/** Its members in `properties`. */
export function renderNamespaceTerms(
  terms: SubscriptionTerms,
  { retentionDays = retentionDefault }: Pick<Topic, "retentionDays">,
): object {
  const { destination, retryPolicy, filter } = terms;
  const limits = {
    maxDeliveryCount: retryPolicy.maxDeliveryAttempts ?? namespaceAttempts.max,
    eventTimeToLive: durationText(retryPolicy.eventTimeToLiveMs ?? retentionDays * dayMs),
    ...renderDeadLetter(terms.deadLetter, deadLetterForms),
  };
  return {
    deliveryConfiguration:
      destination.kind === "pull"
        ? {
            deliveryMode: "Queue",
            queue: { receiveLockDurationInSeconds: destination.lockMs / secondMs, ...limits },
          }
        : {
            deliveryMode: "Push",
            push: { ...limits, ...renderSending({ ...terms, destination }) },
          },
    eventDeliverySchema: "CloudEventSchemaV1_0",
    ...renderFilters(filter),
  };
}

/** Shown only if it says something. */
function renderFilters({ includedEventTypes, advanced }: Filter): object {
  if (includedEventTypes === null && advanced.length === 0) return {};
  return {
    filtersConfiguration: {
      ...(includedEventTypes !== null && { includedEventTypes }),
      ...(advanced.length > 0 && { filters: advanced }),
    },
  };
}
