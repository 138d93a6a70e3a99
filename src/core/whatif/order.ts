// The question of a what-if: an order as someone wrote it, checked, and what an endpoint does at an
// instant. Times count in milliseconds from the publish of the event that is followed.

import type { SimulateOrder } from "../api/orders.ts";
import { type BatchPolicy, batchPolicyOf } from "../delivery/batch.ts";
import type { Outcome, Silence } from "../delivery/outcome.ts";
import { checkRetryPolicy } from "../delivery/policy.ts";
import { type Profile, type ProfileName, profileNames, profiles } from "../delivery/profile.ts";
import { Refusal } from "../refusal.ts";
import type { RetryPolicy } from "../subscription.ts";
import { checkInteger, type Range } from "../text/check.ts";
import { listed } from "../text/setting-kinds.ts";
import { checkMembers, refuseName, refuseValue } from "../text/wording.ts";

export type Spell = SimulateOrder["outage"][number];

/** An order with everything filled in. */
export interface Plan {
  readonly profile: ProfileName;
  readonly destination: "webhook" | "resource";
  readonly retryPolicy: RetryPolicy;
  readonly batch: BatchPolicy | null;
  readonly outage: readonly Spell[];
  readonly backlog: number;
  readonly deadLetter: boolean;
  /** Of the dead-letter store. */
  readonly deadLetterOutage: readonly Spell[];
  readonly answerMs: number;
  readonly eventBytes: number;
  /** Requests a minute; null: any. */
  readonly allowedRate: number | null;
  readonly seed: number | null;
}

/** Why an endpoint gives no answer, as an outage names it. */
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
const answerRange: Range = { min: 0, max: 600_000 };
const bytesRange: Range = { min: 1, max: 1_048_576 };
export const rateRange: Range = { min: 1, max: 1_000_000 };
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
  "deadLetterOutage",
  "batch",
  "answerMs",
  "eventBytes",
  "allowedRate",
  "seed",
];

/** Refusal: InvalidSetting, naming the member. */
export function checkOrder(given: unknown, backlogs: Range = backlogRange): Plan {
  const order = checkMembers(given, "order", orderMembers);
  const profile = profiles[profileNamed(order.profile)];
  const outage = spellsIn(order.outage ?? [], "outage");
  const whole = (name: string, range: Range) =>
    order[name] == null ? null : checkInteger(order[name], name, range);
  const backlog = whole("backlog", backlogs) ?? 0;
  if (backlog > 0 && outage.at(-1)?.untilMs === null) {
    throw refuse("backlog must be left out: the endpoint of this outage never returns");
  }
  return {
    profile: profile.name,
    destination: destinationIn(order.destination),
    retryPolicy: retryPolicyIn(order, profile),
    batch: batchIn(order.batch, profile),
    outage,
    backlog,
    ...deadLetterIn(order, profile),
    answerMs: whole("answerMs", answerRange) ?? answerMsDefault,
    eventBytes: whole("eventBytes", bytesRange) ?? eventBytesDefault,
    allowedRate: whole("allowedRate", rateRange),
    seed: whole("seed", seedRange),
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

function destinationIn(value: unknown): Plan["destination"] {
  const kinds = ["webhook", "resource"] as const;
  const kind = kinds.find((each) => each === (value ?? "webhook"));
  if (kind !== undefined) return kind;
  throw refuseValue({ field: "destination", value, allowed: listed(kinds) });
}

function refuseUnknown({ name }: Profile, member: string, about: string): Refusal {
  return refuse(`${member} must be left out: the profile ${name} does not know ${about}`);
}

function retryPolicyIn(order: Readonly<Record<string, unknown>>, profile: Profile): RetryPolicy {
  if (order.maxDeliveryAttempts != null && profile.attemptsMax.range === null) {
    const about = "a number of attempts per subscription";
    throw refuseUnknown(profile, "maxDeliveryAttempts", about);
  }
  if (order.eventTimeToLiveInMinutes != null && profile.ttlMs.range === null) {
    const about = "a time to live per subscription";
    throw refuseUnknown(profile, "eventTimeToLiveInMinutes", about);
  }
  return checkRetryPolicy(order, "order", profile);
}

function deadLetterIn(
  { deadLetter = false, deadLetterOutage }: Readonly<Record<string, unknown>>,
  profile: Profile,
): Pick<Plan, "deadLetter" | "deadLetterOutage"> {
  if (typeof deadLetter !== "boolean") {
    throw refuseValue({ field: "deadLetter", value: deadLetter, allowed: "true or false" });
  }
  if (deadLetter && !profile.deadLettering) {
    throw refuseUnknown(profile, "deadLetter", "dead letters");
  }
  const spells = spellsIn(deadLetterOutage ?? [], "deadLetterOutage");
  if (spells.length > 0 && !deadLetter) {
    throw refuse("deadLetterOutage must be left out: there is no dead-letter destination");
  }
  return { deadLetter, deadLetterOutage: spells };
}

function batchIn(value: unknown, profile: Profile): BatchPolicy | null {
  if (value == null) return null;
  const names = ["maxEventsPerBatch", "preferredBatchSizeInKilobytes"];
  const batch = batchPolicyOf(checkMembers(value, "batch", names), "batch");
  if (batch === null || profile.batching) return batch;
  throw refuseUnknown(profile, "batch", "batches");
}

/** In the order of time; they may not overlap, for then nobody could say what the endpoint does. */
function spellsIn(value: unknown, field: string): readonly Spell[] {
  if (!Array.isArray(value) || value.length > spellsMax) {
    throw refuseValue({ field, value, allowed: `a list of at most ${spellsMax} spells` });
  }
  const spells = value
    .map((each, index) => spellIn(each, `${field}[${index}]`))
    .toSorted((one, other) => one.fromMs - other.fromMs);
  for (const [index, { fromMs }] of spells.entries()) {
    const before = spells[index - 1];
    if (before === undefined || (before.untilMs !== null && before.untilMs <= fromMs)) continue;
    throw refuse(`${field} must be spells that do not overlap, and two of them do`);
  }
  return spells;
}

function spellIn(value: unknown, field: string): Spell {
  const names = ["fromMs", "untilMs", "does", "retryAfterMs", "answerMs"];
  const { fromMs, untilMs, does, retryAfterMs, answerMs } = checkMembers(value, field, names);
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
    ...(answerMs != null && {
      answerMs: checkInteger(answerMs, `${field}.answerMs`, answerRange),
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

/** What a request that is sent at that time comes to, and after how long; null: never. */
export function answerAt(
  outage: readonly Spell[],
  otherwise: { readonly status: number; readonly answerMs: number },
  atMs: number,
): { readonly outcome: Outcome; readonly afterMs: number | null } {
  const spell = outage.find(
    ({ fromMs, untilMs }) => fromMs <= atMs && (untilMs === null || atMs < untilMs),
  );
  const { does = otherwise.status, retryAfterMs, answerMs = otherwise.answerMs } = spell ?? {};
  if (typeof does === "number") {
    const asked = retryAfterMs === undefined ? {} : { retryAfterMs };
    return { outcome: { kind: "answered", status: does, ...asked }, afterMs: answerMs };
  }
  const why = silences[does as keyof typeof silences];
  return { outcome: { kind: "noReply", why }, afterMs: why === "timeout" ? null : 0 };
}

/** What came of a request, as an outage would name it. */
export function sawOf(outcome: Outcome): string {
  if (outcome.kind === "answered") return String(outcome.status);
  const named = Object.entries(silences).find(([, why]) => why === outcome.why);
  return named?.[0] ?? outcome.why;
}

/** When the last outage is over; null: never. */
export function returnAt(outage: readonly Spell[]): number | null {
  const last = outage.at(-1);
  return last === undefined ? 0 : last.untilMs;
}
