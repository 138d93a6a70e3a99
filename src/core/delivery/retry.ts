// What happens to a delivery after a send, as one pure function: time and randomness are arguments,
// giving up is a result like any other, and every number behind the result is part of it.
//
// Both stages are decided here: delivery to the subscriber and writing of dead letters. Whether an
// endpoint is unhealthy is decided in health.ts.

import type { Instant } from "../ports.ts";
import { isoInstant, wordsOfMs } from "../text/time.ts";
import type { Stage } from "./delivery.ts";
import type { Outcome } from "./outcome.ts";
import type { Policy } from "./policy.ts";
import { type FinalStatus, type Profile, profiles } from "./profile.ts";

/** the random addition is below this share of the wait … */
export const additionShareMax = 0.1;
/** … and below this. */
export const additionMsMax = 60_000;

/** The longest Retry-After that is respected: a longer one could use up an event's time to live. */
export const retryAfterMsMax = 3_600_000;

/** With these statuses an endpoint says that it is overloaded, and may say for how long. */
const heedsRetryAfter: readonly number[] = [429, 503];

/** The schedule for writes of a dead letter that fail; the last step repeats. */
const deadLetterScheduleMs: readonly number[] = [10_000, 60_000, 300_000];

/** The state of a delivery that is decided on. */
export interface Standing {
  readonly stage: Stage;
  /** Sends made in this stage, the one just made included. */
  readonly attempts: number;
  /** When this stage began; in the second, since when the store has failed: see `failingSince`. */
  readonly since: Instant;
  /** When the attempt was due. */
  readonly dueAt?: Instant;
  /** How much of the time since then does not count because of pauses (flow.ts). */
  readonly heldMs?: number;
  readonly policy: Policy;
}

/** How the wait until the next attempt was computed. */
export interface Wait {
  /** Which step of the schedule, counted from one: the number of failures so far. */
  readonly step: number;
  readonly scheduleMs: number;
  /** The minimum wait by status (P-8); the larger of the two counts. */
  readonly smallestMs: number;
  /** The status, or why there was none: `503`, `timeout`. */
  readonly smallestBecause: string;
  /** What the endpoint asked for; up to the limit it is a minimum wait, too. */
  readonly retryAfterMs?: number;
  readonly additionMs: number;
  readonly totalMs: number;
}

export type Reason =
  | "MaxDeliveryAttemptsExceeded"
  | "TimeToLiveExceeded"
  | (typeof finalReasons)[FinalStatus]
  | "DeadLetterStoreUnavailable";

/** The numbers behind giving up, for `explain`. */
export interface End {
  /** The status, or why there was none; null when no attempt was made. */
  readonly saw: string | null;
  readonly attempts: number;
  readonly attemptsMax: number | null;
  /** Pauses not counted. */
  readonly aliveMs: number;
  readonly heldMs: number;
  /** Time to live; in the second stage, how long a dead-letter store may fail. */
  readonly limitMs: number;
}

export type Decision =
  | { readonly kind: "delivered"; readonly saw: string; readonly attempts: number }
  | {
      readonly kind: "retry";
      readonly at: Instant;
      /** What the delivery is to remember as the beginning of its stage. */
      readonly since: Instant;
      readonly wait: Wait;
      /** What is left of the limits now; null: without limit. */
      readonly left: { readonly attempts: number | null; readonly ms: number };
    }
  | {
      readonly kind: "deadLetter";
      /** When to write it. */
      readonly at: Instant;
      readonly reason: Reason;
      readonly end: End;
    }
  | { readonly kind: "drop"; readonly reason: Reason; readonly end: End };

/** Only the first name is known from the service; the others follow its pattern. */
const finalReasons = {
  400: "UndeliverableDueToHttpBadRequest",
  401: "UndeliverableDueToHttpUnauthorized",
  403: "UndeliverableDueToHttpForbidden",
  404: "UndeliverableDueToHttpNotFound",
  413: "UndeliverableDueToHttpRequestEntityTooLarge",
  414: "UndeliverableDueToHttpUriTooLong",
} as const satisfies Record<FinalStatus, string>;

export interface DecidedAt {
  /** The end of the attempt, from which waits count. */
  readonly now: Instant;
  /** Its begin; now if it took no time. */
  readonly sentAt?: Instant;
  /** In [0, 1). */
  readonly chance: number;
}

/**
 * Called after every send. Time to live is deliberately not checked here: see `expire`.
 */
export function decide(delivery: Standing, outcome: Outcome, at: DecidedAt): Decision {
  const { stage, attempts, policy } = delivery;
  const saw = sawOf(outcome);
  if (stage === "deadLetter") return decideDeadLetter(delivery, outcome, at);
  if (isSuccess(policy.profile, outcome)) return { kind: "delivered", saw, attempts };
  // The service's own example of a dead letter is a 404 on the only attempt allowed, and names the
  // limit as the reason: so when both apply, the limit is the reason.
  if (policy.attemptsMax !== null && attempts >= policy.attemptsMax) {
    return giveUp(delivery, "MaxDeliveryAttemptsExceeded", saw, at.now);
  }
  const final = finalReason(policy, outcome);
  if (final !== null) return giveUp(delivery, final, saw, at.now);
  const smallest = policy.profile.smallestWaitMs[policy.destinationKind];
  const smallestMs =
    (outcome.kind === "answered" ? smallest.byStatus[outcome.status] : undefined) ??
    smallest.others;
  const asked = policy.profile.retryAfter ? retryAfterIn(outcome) : {};
  return retry(delivery, { saw, schedule: policy.profile.scheduleMs, smallestMs, ...asked, ...at });
}

/** No description mentions it, but an endpoint that sends it knows best. */
function retryAfterIn(outcome: Outcome): Pick<Wait, "retryAfterMs"> {
  if (outcome.kind !== "answered" || !heedsRetryAfter.includes(outcome.status)) return {};
  const { retryAfterMs } = outcome;
  return retryAfterMs === undefined ? {} : { retryAfterMs };
}

/**
 * Called when an attempt is due, and only then: an event that has expired is undeliverable
 * and not sent, and so is one whose attempts are used up. Null: send it. A dead letter is
 * always tried before it is dropped, however long the broker was stopped (L-4).
 */
export function expire(delivery: Standing, now: Instant): Decision | null {
  const { stage, attempts, since, heldMs = 0, policy } = delivery;
  if (stage === "deadLetter") return null;
  // The limit may have been lowered since the last attempt.
  if (policy.attemptsMax !== null && attempts >= policy.attemptsMax) {
    return giveUp(delivery, "MaxDeliveryAttemptsExceeded", null, now);
  }
  if (now - since - heldMs < policy.ttlMs) return null;
  return giveUp(delivery, "TimeToLiveExceeded", null, now);
}

/** P-1, D-5: a redirect, any other code and no answer at all are failures. */
export function isSuccess(profile: Profile, outcome: Outcome): boolean {
  return outcome.kind === "answered" && profile.succeeds.includes(outcome.status);
}

/** Event Grid's name for an outcome, as in the `lastDeliveryOutcome` of dead letters. */
export function outcomeName(outcome: Outcome, profile: Profile = profiles.azure): string {
  if (outcome.kind === "noReply") return silenceNames[outcome.why];
  if (isSuccess(profile, outcome)) return "Delivered";
  return outcome.name ?? statusNames[outcome.status] ?? "GenericError";
}

const silenceNames = {
  timeout: "TimedOut",
  connection: "SocketError",
  tls: "SocketError",
  dns: "ResolutionError",
  canceled: "Canceled",
} as const;

const statusNames: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  408: "TimedOut",
  413: "PayloadTooLarge",
  429: "Busy",
  503: "Busy",
};

/**
 * The decision as one sentence. Built when it is read, not with every attempt. `say` formats times
 * that are not dates.
 */
export function explain(decision: Decision, say: (at: Instant) => string = isoInstant): string {
  switch (decision.kind) {
    case "delivered":
      return `${decision.saw}: delivered with attempt ${decision.attempts}`;
    case "retry":
      return explainRetry(decision, say);
    case "deadLetter":
      return `${explainEnd(decision)}; dead letter to be written ${say(decision.at)}`;
    case "drop":
      return `${explainEnd(decision)}; dropped`;
    default:
      return decision satisfies never;
  }
}

function explainRetry(
  { at, wait, left }: Extract<Decision, { kind: "retry" }>,
  say: (at: Instant) => string,
): string {
  const smallest = wait.smallestMs > 0 ? `: at least ${wordsOfMs(wait.smallestMs)}` : "";
  const attempts = left.attempts === null ? "" : `${sayAttempts(left.attempts)} and `;
  const tooLate = wait.totalMs >= left.ms ? ", over before that attempt is due" : "";
  return [
    `${wait.smallestBecause}${smallest}`,
    ...sayRetryAfter(wait),
    `step ${wait.step} of the schedule is ${wordsOfMs(wait.scheduleMs)}`,
    `random addition ${inTenths(wait.additionMs)}`,
    `next attempt ${say(at)}`,
    `${attempts}${wordsOfMs(left.ms)} left${tooLate}`,
  ].join("; ");
}

/** `3.1 s`: it is below a minute; the exact value is in the time of the next attempt. */
function inTenths(ms: number): string {
  return `${Math.floor(ms / 100) / 10} s`;
}

function sayRetryAfter({ retryAfterMs }: Wait): readonly string[] {
  if (retryAfterMs === undefined) return [];
  const most = retryAfterMs > retryAfterMsMax ? `, heeded up to ${wordsOfMs(retryAfterMsMax)}` : "";
  return [`Retry-After asks for ${wordsOfMs(retryAfterMs)}${most}`];
}

function explainEnd({ reason, end }: { readonly reason: Reason; readonly end: End }): string {
  const made = sayAttempts(end.attempts);
  const alive = wordsOfMs(end.aliveMs);
  const limit = wordsOfMs(end.limitMs);
  const paused = end.heldMs > 0 ? `, ${wordsOfMs(end.heldMs)} of pauses not counted,` : "";
  switch (reason) {
    case "MaxDeliveryAttemptsExceeded":
      return end.saw === null
        ? `${reason}: ${made} made before the limit became ${end.attemptsMax}`
        : `${reason}: ${end.saw} on attempt ${end.attempts} of ${end.attemptsMax}`;
    case "TimeToLiveExceeded":
      return `${reason}: due ${alive} after its publish${paused} with ${limit} to live, ${made} made`;
    case "DeadLetterStoreUnavailable":
      return `${reason}: the store failed for ${alive} of the ${limit} allowed, ${made} made`;
    default:
      return `${reason}: ${end.saw} on attempt ${end.attempts} is never retried`;
  }
}

function sayAttempts(count: number): string {
  return count === 1 ? "1 attempt" : `${count} attempts`;
}

/** L-4: whatever a dead-letter store answers, only time ends the retries. */
function decideDeadLetter(delivery: Standing, outcome: Outcome, at: DecidedAt): Decision {
  const saw = sawOf(outcome);
  if (outcome.kind === "answered" && outcome.status >= 200 && outcome.status <= 299) {
    return { kind: "delivered", saw, attempts: delivery.attempts };
  }
  const failed = { ...delivery, since: failingSince(delivery, at.sentAt ?? at.now) };
  if (at.now - failed.since >= delivery.policy.deadLetterLimitMs) {
    return giveUp(failed, "DeadLetterStoreUnavailable", saw, at.now);
  }
  return retry(failed, { saw, schedule: deadLetterScheduleMs, smallestMs: 0, ...at });
}

/**
 * L-4: since when the store has failed, counting only the time in which it was tried: from the
 * first write on, and without the time by which a write came later than it was due, because the
 * broker was away or busy.
 */
function failingSince({ attempts, since, dueAt }: Standing, sentAt: Instant): Instant {
  return attempts === 1 ? sentAt : since + Math.max(0, sentAt - (dueAt ?? sentAt));
}

function retry(
  delivery: Standing,
  why: {
    readonly saw: string;
    readonly schedule: readonly number[];
    readonly smallestMs: number;
    readonly retryAfterMs?: number;
    readonly now: Instant;
    readonly chance: number;
  },
): Decision {
  const step = delivery.attempts;
  const scheduleMs = why.schedule[Math.min(step, why.schedule.length) - 1];
  if (scheduleMs === undefined) throw new RangeError(`attempts count from one, not ${step}`);
  const { smallestMs, retryAfterMs } = why;
  const askedMs = Math.min(retryAfterMs ?? 0, retryAfterMsMax);
  const longerMs = Math.max(scheduleMs, smallestMs, askedMs);
  // Whole milliseconds, rounded down, so that the addition never reaches its limit.
  const additionMs = Math.floor(why.chance * Math.min(longerMs * additionShareMax, additionMsMax));
  const totalMs = longerMs + additionMs;
  const { attemptsMax } = delivery.policy;
  const unlimited = delivery.stage === "deadLetter" || attemptsMax === null;
  return {
    kind: "retry",
    at: why.now + totalMs,
    since: delivery.since,
    wait: {
      step,
      scheduleMs,
      smallestMs,
      smallestBecause: why.saw,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      additionMs,
      totalMs,
    },
    left: {
      attempts: unlimited ? null : attemptsMax - step,
      ms: Math.max(0, delivery.since + (delivery.heldMs ?? 0) + limitMsOf(delivery) - why.now),
    },
  };
}

/** L-1, P-11: dead-lettered if there is a destination and it is not a dead letter already. */
function giveUp(delivery: Standing, reason: Reason, saw: string | null, now: Instant): Decision {
  const { attempts, since, heldMs = 0, policy } = delivery;
  const { attemptsMax, deadLetter, deadLetterPauseMs } = policy;
  const limitMs = limitMsOf(delivery);
  const end = { saw, attempts, attemptsMax, aliveMs: now - since - heldMs, limitMs, heldMs };
  return deadLetter && delivery.stage === "deliver"
    ? { kind: "deadLetter", at: now + deadLetterPauseMs, reason, end }
    : { kind: "drop", reason, end };
}

/** R-3, P-7: whether an answer is never retried. */
export function isFinal(policy: Policy, outcome: Outcome): boolean {
  return !isSuccess(policy.profile, outcome) && finalReason(policy, outcome) !== null;
}

function finalReason({ profile, destinationKind }: Policy, outcome: Outcome): Reason | null {
  if (outcome.kind !== "answered") return null;
  const final = profile.neverRetried[destinationKind].find((code) => code === outcome.status);
  return final === undefined ? null : finalReasons[final];
}

function limitMsOf({ stage, policy }: Standing): number {
  return stage === "deliver" ? policy.ttlMs : policy.deadLetterLimitMs;
}

function sawOf(outcome: Outcome): string {
  return outcome.kind === "answered" ? String(outcome.status) : outcome.why;
}
