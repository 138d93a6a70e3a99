// A subscription in the module's API (E-3): checked member by member, and shown. What the module
// does not have (headers, dead letters, labels, signatures) is kept.
//
// Events are delivered in the schema of their topic, unconverted; there are the twelve operators of
// 2018, and no filter looks into arrays.

import { unusedUnder, whyUnused } from "../core/delivery/allowance.ts";
import { type ProfileName, profiles } from "../core/delivery/profile.ts";
import type { DeliverySchema, InputSchema } from "../core/event.ts";
import { Refusal } from "../core/refusal.ts";
import { parseFilter } from "../core/routing/filter/parse.ts";
import { renderFilter } from "../core/routing/filter/render.ts";
import { filterForAll } from "../core/routing/filter.ts";
import { defaultDeliverySchema } from "../core/schema/convert.ts";
import {
  plainSubscription,
  type RetryPolicy,
  type Subscription,
  type SubscriptionTerms,
  termsIn,
} from "../core/subscription.ts";
import { checkInteger } from "../core/text/check.ts";
import { isWord } from "../core/text/compare.ts";
import { listed } from "../core/text/setting-kinds.ts";
import { checkMembers, type Members, refuseValue } from "../core/text/wording.ts";
import type { Topic } from "../core/topic.ts";
import {
  checkModuleDestination,
  type DestinationContext,
  renderModuleDestination,
} from "./destination.ts";
import { moduleId } from "./topic.ts";

const minuteMs = 60_000;

export interface ModuleTerms {
  readonly terms: SubscriptionTerms;
  /** The persistence policy; null: not given. */
  readonly isPersisted: boolean | null;
}

export interface ModuleContext extends Pick<DestinationContext, "rules" | "azure"> {
  readonly topic: Topic;
  readonly profile: ProfileName;
  readonly stored: Subscription | undefined;
}

/** `value` in one spelling. Refusal: InvalidSetting, naming the field. */
export function checkModuleTerms(value: unknown, context: ModuleContext): ModuleTerms {
  const field = "properties";
  const members = checkMembers(value ?? {}, field, [
    ...["topic", "topicName", "eventDeliverySchema", "retryPolicy", "persistencePolicy"],
    ...["destination", "filter"],
  ]);
  const { topic, profile, stored } = context;
  for (const name of ["topic", "topicName"]) checkTopicName(members[name], name, topic);
  const { destination, batch, deliverySchema } = checkModuleDestination(
    members.destination,
    `${field}.destination`,
    { ...context, stored: stored?.destination ?? null },
  );
  const kept = stored === undefined ? plainTerms : termsIn(stored);
  const terms: SubscriptionTerms = {
    ...kept,
    ...(destination.kind !== "webhook" && { signing: plainTerms.signing }),
    destination,
    batch,
    deliverySchema: checkSchema(members.eventDeliverySchema ?? deliverySchema, topic.inputSchema),
    filter: checkFilter(members.filter ?? null, `${field}.filter`),
    retryPolicy: checkRetry(members.retryPolicy ?? {}, `${field}.retryPolicy`, profile),
  };
  refuseUnused(terms, profile);
  const isPersisted = checkPersistence(members.persistencePolicy, `${field}.persistencePolicy`);
  if (stored !== undefined) checkSamePersistence(isPersisted, stored);
  return { terms, isPersisted: isPersisted ?? stored?.isPersisted ?? null };
}

const plainTerms: Omit<SubscriptionTerms, "destination"> = plainSubscription;

/** Checks that the names in the path and in the body agree. */
function checkTopicName(value: unknown, name: string, topic: Topic): void {
  if ((value ?? null) === null || isWord(value, topic.name)) return;
  throw refuseValue({
    field: `properties.${name}`,
    value,
    allowed: `${topic.name}, as in the path`,
  });
}

/** The module uses the same names for the schemas of deliveries and of topics. */
function checkSchema(value: unknown, input: InputSchema): DeliverySchema {
  const schema = defaultDeliverySchema(input);
  const names: readonly string[] = [input.toLowerCase(), schema.toLowerCase()];
  if (value === null || (typeof value === "string" && names.includes(value.toLowerCase()))) {
    return schema;
  }
  const allowed = `${input}, because the topic takes ${input}`;
  throw refuseValue({ field: "properties.eventDeliverySchema", value, allowed });
}

const operators = [
  ...["NumberIn", "NumberNotIn", "NumberLessThan", "NumberGreaterThan"],
  ...["NumberLessThanOrEquals", "NumberGreaterThanOrEquals", "BoolEquals"],
  ...["StringIn", "StringNotIn", "StringBeginsWith", "StringEndsWith", "StringContains"],
];

const filterMembers = [
  ...["subjectBeginsWith", "subjectEndsWith", "isSubjectCaseSensitive", "includedEventTypes"],
  "advancedFilters",
];

function checkFilter(value: unknown, field: string) {
  if (value === null) return filterForAll;
  const filter = parseFilter(checkMembers(value, field, filterMembers), field);
  for (const [index, { operatorType }] of filter.advanced.entries()) {
    if (operators.includes(operatorType)) continue;
    const target = `${field}.advancedFilters[${index}].operatorType`;
    throw refuseValue({ field: target, value: operatorType, allowed: listed(operators) });
  }
  return filter;
}

/** E-1: what is left out has the default for all. */
function checkRetry(value: unknown, field: string, profile: ProfileName): RetryPolicy {
  const known = ["maxDeliveryAttempts", "eventExpiryInMinutes"];
  const members = checkMembers(value, field, known);
  const { attemptsMax, ttlMs } = profiles[profile];
  const { min, max } = ttlMs.range ?? profiles["iot-edge"].ttlMs.range ?? { min: 0, max: 0 };
  const take = (name: string, range: { readonly min: number; readonly max: number }) => {
    const given = members[name] ?? null;
    return given === null ? null : checkInteger(given, `${field}.${name}`, range);
  };
  const attempts = attemptsMax.range ??
    profiles["iot-edge"].attemptsMax.range ?? { min: 0, max: 0 };
  const minutes = take("eventExpiryInMinutes", { min: min / minuteMs, max: max / minuteMs });
  return {
    maxDeliveryAttempts: take("maxDeliveryAttempts", attempts),
    eventTimeToLiveMs: minutes === null ? null : minutes * minuteMs,
  };
}

/** The topic may have another profile, set through another API. */
function refuseUnused(terms: SubscriptionTerms, profile: ProfileName): void {
  const [idle] = unusedUnder(profile, terms);
  if (idle === undefined) return;
  const member = idle.members[0].replace("eventTimeToLiveInMinutes", "eventExpiryInMinutes");
  const target = `properties.${member}`;
  const words = `${target} must be left out: ${whyUnused(profile, idle)}`;
  throw new Refusal("InvalidSetting", words, { target });
}

/** Its samples have it plain and as an object, and the boolean as a text. */
function checkPersistence(value: unknown, field: string): boolean | null {
  if ((value ?? null) === null) return null;
  if (typeof value === "object" && !Array.isArray(value)) {
    const { isPersisted } = checkMembers(value, field, ["isPersisted"]);
    return checkPersistence(isPersisted, `${field}.isPersisted`);
  }
  if (value === true || isWord(value, "true")) return true;
  if (value === false || isWord(value, "false")) return false;
  throw refuseValue({ field, value, allowed: "true or false" });
}

/** Refusal: Conflict. */
function checkSamePersistence(wanted: boolean | null, { isPersisted }: Subscription): void {
  if (wanted === null || wanted === (isPersisted ?? false)) return;
  const target = "properties.persistencePolicy";
  const words = `${target} is chosen once, when the subscription is made, and was ${
    isPersisted ?? false
  }`;
  throw new Refusal("Conflict", `${words}: delete the subscription first.`, { target });
}

/** A retry policy and a filter are shown if they were given. */
export function renderModuleSubscription(subscription: Subscription, topic: Topic): object {
  const { name, destination, batch, retryPolicy, filter, isPersisted } = subscription;
  const { maxDeliveryAttempts, eventTimeToLiveMs } = retryPolicy;
  const minutes = eventTimeToLiveMs === null ? null : eventTimeToLiveMs / minuteMs;
  const retry: Members = {
    ...(minutes !== null && { eventExpiryInMinutes: minutes }),
    ...(maxDeliveryAttempts !== null && { maxDeliveryAttempts }),
  };
  const isForAll = JSON.stringify(filter) === JSON.stringify(filterForAll);
  const { deliverySchema } = subscription;
  return {
    id: `${moduleId}/topics/${topic.name}/eventSubscriptions/${name}`,
    name,
    type: "Microsoft.EventGrid/eventSubscriptions",
    properties: {
      topicName: topic.name,
      topic: topic.name,
      eventDeliverySchema:
        deliverySchema === "CustomInputSchema" ? "CustomEventSchema" : deliverySchema,
      destination: renderModuleDestination(destination, batch),
      ...(Object.keys(retry).length > 0 && { retryPolicy: retry }),
      ...((isPersisted ?? null) !== null && { persistencePolicy: { isPersisted } }),
      ...(!isForAll && { filter: renderFilter(filter) }),
    },
  };
}
