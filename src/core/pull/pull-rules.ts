// The laws of pull delivery (N-33 to N-47): what becomes of an event that a receiver has locked,
// released, rejected or forgotten. Pure functions: the time comes in, and a settlement for the
// store comes out.
//
// A lock is a lease that the store keeps (`Pull` in pull-store.ts): what is locked is due again at
// the lock's end. So a lock that lapses needs nobody; only what may not be handed out once more is
// taken away by someone (dispatch/queue-keeper.ts).

import type { Delivery, LastAttempt } from "../delivery/delivery.ts";
import { beganBefore, type FlowState, heldMs } from "../delivery/flow.ts";
import { type PolicyDefaults, policyOf } from "../delivery/policy.ts";
import { type Profile, profiles } from "../delivery/profile.ts";
import type { Instant, Settlement } from "../ports.ts";
import type { Subscription } from "../subscription.ts";
import { wordsOfMs } from "../text/time.ts";

const dayMs = 86_400_000;
const secondMs = 1_000;

/** N-33 */
export const lockSeconds = { min: 60, max: 300, default: 60 } as const;
/** N-41, in days. */
export const retentionDefault = 1;
/** N-22 */
export const receiveLimits = {
  events: { min: 1, max: 100, default: 1 },
  waitSeconds: { min: 10, max: 120, default: 60 },
} as const;
/** N-32, in seconds. */
export const releaseDelays: readonly number[] = [0, 10, 60, 600, 3600];
/** N-40: a lock is renewed within this time of the receive that made it. */
export const renewalMs = 3_600_000;
/** N-53: how long a dead-letter store may fail before a dead letter is dropped. */
const deadLetterLimitMs = 2 * dayMs;

export type PullReason = "MaxDeliveryAttemptsExceeded" | "TimeToLiveExceeded" | "Rejected";

/** What the store notes of one that is handed out for the last time. */
export const lastReason: PullReason = "MaxDeliveryAttemptsExceeded";

/** What is kept of a delivery that was handed out; dead letters and stories show it. */
export const receivedOutcome = "Received";
export const releasedOutcome = "Released";
export const acknowledgedOutcome = "Acknowledged";

/** Whether it was handed out, and not sent. */
export function isHandOut({ outcome }: LastAttempt): boolean {
  return outcome === receivedOutcome || outcome === releasedOutcome;
}

/** What is kept of a delivery that is handed out now. */
export function handOut(delivery: Delivery, at: Instant): Delivery {
  const { attempts: number } = delivery;
  return { ...delivery, last: { at, number, outcome: receivedOutcome, status: null } };
}

/** As if it had not been handed out: whoever it was for had gone (N-44). */
export function takeBack({ id, lease, dueAt, since, attempts, last }: Delivery): Settlement {
  return {
    ...{ delivery: id, lease, kind: "due", at: dueAt, stage: "deliver", since },
    ...{ attempts: attempts - 1, last, reason: null },
  };
}

/** Whether the receiver who had it before has let its lock lapse. */
export function hasLapsed({ last }: Pick<Delivery, "last">): boolean {
  return last?.outcome === receivedOutcome;
}

/** What counts for one queue. */
export interface PullRules {
  readonly lockMs: number;
  /** How often an event is handed out at most (N-36). */
  readonly countMax: number;
  /** How long an event is kept (N-41). */
  readonly lifeMs: number;
  /** Whether what ends unread is kept as a dead letter. */
  readonly deadLetter: boolean;
  readonly deadLetterPauseMs: number;
  /** Pauses age nothing. */
  readonly flowState: FlowState;
}

/** What counts of its topic. */
export interface RetentionOf {
  readonly retentionDays?: number | undefined;
}

/** Of a subscription in a namespace, whether its events are sent or fetched. */
function namespaceDefaults(
  { retentionDays = retentionDefault }: RetentionOf,
  { deadLetterPauseMs }: PolicyDefaults,
): PolicyDefaults {
  return {
    ttlMs: retentionDays * dayMs,
    deadLetterLimitMs,
    ...(deadLetterPauseMs !== undefined && { deadLetterPauseMs }),
  };
}

/** The limits for all subscriptions of a topic, in a namespace or not. */
export function defaultsUnder(
  { name }: Pick<Profile, "name">,
  topic: RetentionOf,
  usual: PolicyDefaults,
): PolicyDefaults {
  return name === "namespace" ? namespaceDefaults(topic, usual) : usual;
}

/** Of a subscription whose destination is of the kind `pull`. */
export function pullRulesOf(
  subscription: Pick<Subscription, "destination" | "retryPolicy" | "deadLetter"> & FlowState,
  topic: RetentionOf,
  defaults: PolicyDefaults,
): PullRules {
  const { destination, flow, pauses } = subscription;
  const policy = policyOf(subscription, profiles.namespace, namespaceDefaults(topic, defaults));
  return {
    lockMs: destination.kind === "pull" ? destination.lockMs : lockSeconds.default * secondMs,
    countMax: policy.attemptsMax ?? Number.POSITIVE_INFINITY,
    lifeMs: policy.ttlMs,
    deadLetter: policy.deadLetter,
    deadLetterPauseMs: policy.deadLetterPauseMs,
    flowState: { flow, pauses },
  };
}

/** What was published then or before has expired (N-42). */
export function expiredSince({ flowState, lifeMs }: PullRules, now: Instant): Instant {
  return beganBefore(flowState, lifeMs, now);
}

/** When what was published then expires; null while the queue is paused. */
export function expiresAt(
  { flowState, lifeMs }: PullRules,
  publishedAt: Instant,
  now: Instant,
): Instant | null {
  if (flowState.flow.kind === "paused") return null;
  return publishedAt + lifeMs + heldMs(flowState, publishedAt, now);
}

/** A delivery that was handed out. */
export type Handed = Pick<Delivery, "id" | "attempts" | "since" | "last">;

/** What becomes of it. */
export type Fate =
  | { readonly kind: "acknowledged" }
  /** `isLast`: it may not be handed out again after this. */
  | { readonly kind: "renewed"; readonly until: Instant; readonly isLast: boolean }
  | { readonly kind: "available"; readonly at: Instant }
  | { readonly kind: "deadLetter"; readonly at: Instant; readonly reason: PullReason }
  | { readonly kind: "dropped"; readonly reason: PullReason };

/** N-40: null when it is too late to renew the lock; then it runs out on its own. */
export function afterRenewal(handed: Handed, rules: PullRules, now: Instant): Fate | null {
  const { last, attempts } = handed;
  if (last !== null && now - last.at > renewalMs) return null;
  return { kind: "renewed", until: now + rules.lockMs, isLast: attempts >= rules.countMax };
}

/** N-36, N-37, N-42: at once, it takes the place that its publish time gives it (N-43). */
export function afterRelease(
  handed: Handed,
  rules: PullRules,
  { now, delayMs }: { readonly now: Instant; readonly delayMs: number },
): Fate {
  const reason = whyEnded(handed, rules, now);
  if (reason !== null) return endWith(reason, rules, now);
  if (delayMs === 0) return { kind: "available", at: Math.min(handed.since, now) };
  const endsAt = expiresAt(rules, handed.since, now) ?? Number.POSITIVE_INFINITY;
  return { kind: "available", at: Math.min(now + delayMs, endsAt) };
}

/** N-39 */
export function afterRejection(rules: PullRules, now: Instant): Fate {
  return endWith("Rejected", rules, now);
}

/** What is no longer locked, and may or may not be handed out again (N-34, N-36, N-42). */
export function afterLock(handed: Handed, rules: PullRules, now: Instant): Fate {
  const reason = whyEnded(handed, rules, now);
  if (reason !== null) return endWith(reason, rules, now);
  return { kind: "available", at: Math.min(handed.since, now) };
}

function whyEnded({ attempts, since }: Handed, rules: PullRules, now: Instant): PullReason | null {
  if (attempts >= rules.countMax) return "MaxDeliveryAttemptsExceeded";
  return since <= expiredSince(rules, now) ? "TimeToLiveExceeded" : null;
}

function endWith(reason: PullReason, rules: PullRules, now: Instant): Fate {
  return rules.deadLetter
    ? { kind: "deadLetter", at: now + rules.deadLetterPauseMs, reason }
    : { kind: "dropped", reason };
}

/** For the store. `lockedAt`: it counts only while the receiver's lock is in force. */
export function settlementOf(
  handed: Handed & Pick<Delivery, "lease">,
  fate: Fate,
  { now, isLocked }: { readonly now: Instant; readonly isLocked: boolean },
): Settlement {
  const { id: delivery, lease, attempts, since, last } = handed;
  const named = { delivery, lease, ...(isLocked && { lockedAt: now }) };
  const kept = { ...named, kind: "due", since, attempts, last } as const;
  switch (fate.kind) {
    case "acknowledged":
    case "dropped":
      return { ...named, kind: "gone" };
    case "renewed":
      return { ...kept, at: fate.until, stage: "deliver", reason: fate.isLast ? lastReason : null };
    case "available": {
      const released = last && { ...last, outcome: releasedOutcome };
      return { ...kept, at: fate.at, stage: "deliver", last: released, reason: null };
    }
    case "deadLetter": {
      const begun = { stage: "deadLetter", since: now, attempts: 0 } as const;
      return {
        ...kept,
        ...begun,
        last: endedLast(last, fate.reason),
        at: fate.at,
        reason: fate.reason,
      };
    }
    default:
      return fate satisfies never;
  }
}

/** Of a rejected one the last result is the rejection (N-50). */
function endedLast(last: LastAttempt | null, reason: PullReason): LastAttempt | null {
  return reason === "Rejected" && last !== null ? { ...last, outcome: "Rejected" } : last;
}

/** A fate in words, for stories and logs. */
export function explainFate(fate: Fate, { attempts }: Handed, rules: PullRules): string {
  const count = `${attempts} of ${rules.countMax}`;
  switch (fate.kind) {
    case "acknowledged":
      return `acknowledged (delivery ${count})`;
    case "renewed":
      return "lock renewed";
    case "available":
      return `available again (delivery ${count})`;
    default: {
      const end =
        fate.kind === "deadLetter"
          ? "dead-lettered"
          : "dropped, as there is no dead-letter destination";
      return `${fate.reason}: ${whyWords(fate.reason, attempts, rules)}; ${end}`;
    }
  }
}

function whyWords(reason: PullReason, attempts: number, { countMax, lifeMs }: PullRules): string {
  switch (reason) {
    case "MaxDeliveryAttemptsExceeded":
      return `handed out ${attempts} of ${countMax} times and not acknowledged`;
    case "TimeToLiveExceeded":
      return `not acknowledged within ${wordsOfMs(lifeMs)}, handed out ${attempts} times`;
    case "Rejected":
      return "a receiver rejected it";
    default:
      return reason satisfies never;
  }
}
