// The request of a what-if, checked, and what an endpoint does at a given time. Times count in
// milliseconds from the publish of the event that is followed.

import { SimulateOrder } from "../api/orders.ts";
import { object, optional, wholeFrom } from "../api/schema.ts";
import { type BatchPolicy, batchPolicyOf } from "../delivery/batch.ts";
import type { Outcome, Silence } from "../delivery/outcome.ts";
import { checkRetryPolicy } from "../delivery/policy.ts";
import { type Profile, type ProfileName, profiles } from "../delivery/profile.ts";
import { Refusal } from "../refusal.ts";
import type { RetryPolicy } from "../subscription.ts";
import type { Range } from "../text/check.ts";
import { refuseValue } from "../text/wording.ts";

export type Spell = SimulateOrder["outage"][number];

/** A request with everything filled in. */
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

export const backlogRange: Range = { min: 0, max: 100_000 };

/** A fast endpoint, and events of a usual size: only for batches and the load. */
const answerMsDefault = 50;
const eventBytesDefault = 1024;

/** Refusal: InvalidSetting, naming the member. */
export function checkOrder(given: unknown, backlogs: Range = backlogRange): Plan {
  const shape = object({ ...SimulateOrder.members, backlog: optional(wholeFrom(backlogs)) });
  const order = shape.check(given, "the order");
  const profile = profiles[order.profile];
  const outage = inTime(order.outage, "outage");
  const { backlog = 0 } = order;
  if (backlog > 0 && outage.at(-1)?.untilMs === null) {
    throw refuse("backlog must be left out: the endpoint of this outage never returns");
  }
  return {
    profile: profile.name,
    destination: order.destination ?? "webhook",
    retryPolicy: retryPolicyIn(order, profile),
    batch: batchIn(order, profile),
    outage,
    backlog,
    ...deadLetterIn(order, profile),
    answerMs: order.answerMs ?? answerMsDefault,
    eventBytes: order.eventBytes ?? eventBytesDefault,
    allowedRate: order.allowedRate ?? null,
    seed: order.seed ?? null,
  };
}

function refuse(words: string): Refusal {
  return new Refusal("InvalidSetting", words, { target: words.split(" ", 1)[0] as string });
}

function refuseUnknown({ name }: Profile, member: string, about: string): Refusal {
  return refuse(`${member} must be left out: the profile ${name} does not support ${about}`);
}

function retryPolicyIn(order: SimulateOrder, profile: Profile): RetryPolicy {
  if (order.maxDeliveryAttempts !== undefined && profile.attemptsMax.range === null) {
    const about = "a number of attempts per subscription";
    throw refuseUnknown(profile, "maxDeliveryAttempts", about);
  }
  if (order.eventTimeToLiveInMinutes !== undefined && profile.ttlMs.range === null) {
    const about = "a time to live per subscription";
    throw refuseUnknown(profile, "eventTimeToLiveInMinutes", about);
  }
  return checkRetryPolicy(order, "order", profile);
}

function deadLetterIn(
  { deadLetter = false, deadLetterOutage = [] }: SimulateOrder,
  profile: Profile,
): Pick<Plan, "deadLetter" | "deadLetterOutage"> {
  if (deadLetter && !profile.deadLettering) {
    throw refuseUnknown(profile, "deadLetter", "dead letters");
  }
  const spells = inTime(deadLetterOutage, "deadLetterOutage");
  if (spells.length > 0 && !deadLetter) {
    throw refuse("deadLetterOutage must be left out: there is no dead-letter destination");
  }
  return { deadLetter, deadLetterOutage: spells };
}

function batchIn({ batch: asked }: SimulateOrder, profile: Profile): BatchPolicy | null {
  if (asked === undefined) return null;
  const batch = batchPolicyOf(asked, "batch");
  if (batch === null || profile.batching) return batch;
  throw refuseUnknown(profile, "batch", "batches");
}

/** In the order of time; they may not overlap, because the result would be ambiguous. */
function inTime(given: readonly Spell[], field: string): readonly Spell[] {
  for (const [index, { fromMs, untilMs }] of given.entries()) {
    if (untilMs === null || untilMs > fromMs) continue;
    const name = `${field}[${index}].untilMs`;
    throw refuseValue({ field: name, value: untilMs, allowed: `later than ${fromMs}` });
  }
  const spells = given.toSorted((one, other) => one.fromMs - other.fromMs);
  for (const [index, { fromMs }] of spells.entries()) {
    const before = spells[index - 1];
    if (before === undefined || (before.untilMs !== null && before.untilMs <= fromMs)) continue;
    throw refuse(`${field} must be spells that do not overlap, and two of them do`);
  }
  return spells;
}

/** The outcome of a request sent at that time, and after how long; null: never. */
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

/** The result of a request, as an outage would name it. */
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
