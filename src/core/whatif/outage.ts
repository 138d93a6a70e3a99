// The question of a what-if: an order as someone wrote it, checked, and what the endpoint in it
// does at an instant. Times count in milliseconds from the publish of the event that is followed.

import type { SimulateOrder } from "../api/orders.ts";
import { type BatchPolicy, batchPolicyOf } from "../delivery/batch.ts";
import type { Outcome, Silence } from "../delivery/outcome.ts";
import {
  checkRetryPolicy,
  type Policy,
  type PolicyDefaults,
  policyOf,
} from "../delivery/policy.ts";
import { type Profile, type ProfileName, profileNames, profiles } from "../delivery/profile.ts";
import { Refusal } from "../refusal.ts";
import { checkInteger, type Range } from "../text/check.ts";
import { listed } from "../text/setting-kinds.ts";
import { checkMembers, refuseName, refuseValue } from "../text/wording.ts";

export type Spell = SimulateOrder["outage"][number];

/** An order with everything filled in. */
export interface Plan {
  readonly policy: Policy;
  readonly batch: BatchPolicy | null;
  readonly outage: readonly Spell[];
  readonly backlog: number;
  readonly answerMs: number;
  readonly eventBytes: number;
  readonly seed: number | null;
}

/** Why an endpoint gives no answer, as an outage says it. */
const silences = {
  timeout: "timeout",
  refused: "connection",
  dns: "dns",
  tls: "tls",
} as const satisfies Record<string, Silence>;

const yearMs = 366 * 86_400_000;
const spanRange: Range = { min: 0, max: yearMs };
const statusRange: Range = { min: 200, max: 599 };
const spellsMax = 100;
export const backlogRange: Range = { min: 0, max: 100_000 };
const answerRange: Range = { min: 0, max: 30_000 };
const bytesRange: Range = { min: 1, max: 1_048_576 };
const seedRange: Range = { min: 0, max: Number.MAX_SAFE_INTEGER };

/** A quick endpoint, and events of a usual size: they matter to batches and to the load alone. */
const answerMsDefault = 50;
const eventBytesDefault = 1024;

/** What an order may say. */
export const orderMembers = [
  "profile",
  "destination",
  "maxDeliveryAttempts",
  "eventTimeToLiveInMinutes",
  "outage",
  "backlog",
  "deadLetter",
  "batch",
  "answerMs",
  "eventBytes",
  "seed",
];

/** Refusal: InvalidSetting, naming the member. */
export function checkOrder(given: unknown, defaults: PolicyDefaults = {}): Plan {
  const order = checkMembers(given, "order", orderMembers);
  const profile = profiles[profileNamed(order.profile)];
  const outage = spellsIn(order.outage ?? []);
  const whole = (name: string, range: Range, otherwise: number) =>
    order[name] == null ? otherwise : checkInteger(order[name], name, range);
  const backlog = whole("backlog", backlogRange, 0);
  if (backlog > 0 && outage.at(-1)?.untilMs === null) {
    throw refuse("backlog must be left out: the endpoint of this outage never returns");
  }
  return {
    policy: policyIn(order, profile, defaults),
    batch: batchIn(order.batch, profile),
    outage,
    backlog,
    answerMs: whole("answerMs", answerRange, answerMsDefault),
    eventBytes: whole("eventBytes", bytesRange, eventBytesDefault),
    seed: order.seed == null ? null : checkInteger(order.seed, "seed", seedRange),
  };
}

function refuse(words: string): Refusal {
  return new Refusal("InvalidSetting", words, { target: words.split(" ", 1)[0] as string });
}

function profileNamed(value: unknown): ProfileName {
  const found = profileNames.find((name) => name === value);
  if (found !== undefined) return found;
  if (typeof value === "string")
    throw refuseName({ what: "profile", name: value, known: profileNames });
  throw refuseValue({ field: "profile", value, allowed: listed(profileNames) });
}

function policyIn(
  order: Readonly<Record<string, unknown>>,
  profile: Profile,
  defaults: PolicyDefaults,
): Policy {
  const kinds = ["webhook", "resource"] as const;
  const kind = kinds.find((each) => each === (order.destination ?? "webhook"));
  if (kind === undefined) {
    throw refuseValue({ field: "destination", value: order.destination, allowed: listed(kinds) });
  }
  const { maxDeliveryAttempts, eventTimeToLiveInMinutes, deadLetter = false } = order;
  if (typeof deadLetter !== "boolean") {
    throw refuseValue({ field: "deadLetter", value: deadLetter, allowed: "true or false" });
  }
  const unknown = (name: string, about: string) =>
    refuse(`${name} must be left out: the profile ${profile.name} does not know ${about}`);
  if (maxDeliveryAttempts != null && profile.attemptsMax.range === null) {
    throw unknown("maxDeliveryAttempts", "a number of attempts per subscription");
  }
  if (eventTimeToLiveInMinutes != null && profile.ttlMs.range === null) {
    throw unknown("eventTimeToLiveInMinutes", "a time to live per subscription");
  }
  if (deadLetter && !profile.deadLettering) throw unknown("deadLetter", "dead letters");
  const retryPolicy = checkRetryPolicy(order, "order", profile);
  const terms = {
    destination: { kind: "webhook", url: "" },
    retryPolicy,
    deadLetter: null,
  } as const;
  const policy = policyOf(terms, profile, defaults);
  return { ...policy, destinationKind: kind, deadLetter };
}

function batchIn(value: unknown, profile: Profile): BatchPolicy | null {
  if (value == null) return null;
  const names = ["maxEventsPerBatch", "preferredBatchSizeInKilobytes"];
  const batch = batchPolicyOf(checkMembers(value, "batch", names), "batch");
  if (batch === null || profile.batching) return batch;
  throw refuse(`batch must be left out: the profile ${profile.name} does not know batches`);
}

/** In the order of time; they may not overlap, for then nobody could say what the endpoint does. */
function spellsIn(value: unknown): readonly Spell[] {
  if (!Array.isArray(value) || value.length > spellsMax) {
    throw refuseValue({ field: "outage", value, allowed: `a list of at most ${spellsMax} spells` });
  }
  const spells = value
    .map((each, index) => spellIn(each, `outage[${index}]`))
    .toSorted((one, other) => one.fromMs - other.fromMs);
  for (const [index, { fromMs }] of spells.entries()) {
    const before = spells[index - 1];
    if (before === undefined || (before.untilMs !== null && before.untilMs <= fromMs)) continue;
    throw refuse("outage must be spells that do not overlap, and two of them do");
  }
  return spells;
}

function spellIn(value: unknown, field: string): Spell {
  const names = ["fromMs", "untilMs", "does", "retryAfterMs"];
  const { fromMs, untilMs, does, retryAfterMs } = checkMembers(value, field, names);
  const from = checkInteger(fromMs, `${field}.fromMs`, spanRange);
  const until =
    untilMs == null
      ? null
      : checkInteger(untilMs, `${field}.untilMs`, { min: from + 1, max: yearMs });
  return {
    fromMs: from,
    untilMs: until,
    does: checkDoes(does, `${field}.does`),
    ...(retryAfterMs != null && {
      retryAfterMs: checkInteger(retryAfterMs, `${field}.retryAfterMs`, spanRange),
    }),
  };
}

/** A status, or a silence by its word. Refusal: InvalidSetting. */
export function checkDoes(value: unknown, field: string): number | string {
  const allowed = `a status from 200 to 599, or ${listed(Object.keys(silences))}`;
  if (typeof value === "number" && value >= statusRange.min && value <= statusRange.max) {
    if (Number.isInteger(value)) return value;
  }
  if (typeof value === "string" && Object.hasOwn(silences, value)) return value;
  throw refuseValue({ field, value, allowed });
}

/** What a request that is sent now comes to, what people call that, and how long it takes. */
export function meet(
  { outage, answerMs, policy }: Pick<Plan, "outage" | "answerMs" | "policy">,
  atMs: number,
): { readonly outcome: Outcome; readonly saw: string; readonly tookMs: number } {
  const spell = outage.find(
    ({ fromMs, untilMs }) => fromMs <= atMs && (untilMs === null || atMs < untilMs),
  );
  const does = spell?.does ?? 200;
  if (typeof does === "number") {
    const { retryAfterMs } = spell ?? {};
    const asked = retryAfterMs === undefined ? {} : { retryAfterMs };
    const outcome = { kind: "answered", status: does, ...asked } as const;
    return { outcome, saw: String(does), tookMs: answerMs };
  }
  const why = silences[does as keyof typeof silences];
  const tookMs = why === "timeout" ? policy.profile.waitMs : 0;
  return { outcome: { kind: "noReply", why }, saw: does, tookMs };
}

/** When the last outage is over; null: never. */
export function returnAt(outage: readonly Spell[]): number | null {
  const last = outage.at(-1);
  return last === undefined ? 0 : last.untilMs;
}
