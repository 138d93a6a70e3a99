// The health of an endpoint as text: its state, why it changed, and by which rules.

import type { Instant } from "../ports.ts";
import { isoInstant, wordsOfMs } from "../text/time.ts";
import type { Health, HealthRules } from "./health.ts";

/** An operator's decision that nothing is to be sent to an endpoint. */
export interface Closure {
  readonly at: Instant;
  /** The operator's reason; empty when none was given. */
  readonly because: string;
}

/** One change of an endpoint's state. */
export interface HealthChange {
  readonly at: Instant;
  readonly from: HealthKind;
  readonly to: HealthKind;
  readonly because: string;
}

export type HealthKind = Health["kind"] | "closed";

export function healthText(health: Health, closure: Closure | null, now: Instant): string {
  if (closure !== null) {
    return `closed by an operator since ${isoInstant(closure.at)}${saying(closure.because)}`;
  }
  switch (health.kind) {
    case "healthy":
      return health.failures === 0 ? "healthy" : `healthy; ${countOf(health.failures)} in a row`;
    case "unhealthy":
      return health.until > now
        ? `unhealthy: next probe at ${isoInstant(health.until)}`
        : "unhealthy: the next send is its probe";
    case "probing":
      return `unhealthy: its probe is in flight since ${isoInstant(health.startedAt)}`;
    case "recovering":
      return `recovering: at most ${sends(health.atOnce)} at once`;
    default:
      return health satisfies never;
  }
}

/** Why one state became the other, by the rules alone. */
export function healthChangeText(before: Health, after: Health, rules: HealthRules): string {
  switch (after.kind) {
    case "healthy":
      return `${rules.healthyAtOnce} sends at once succeed`;
    case "probing":
      return "a probe is sent";
    case "recovering":
      return before.kind === "probing" ? "the probe succeeded" : "a send succeeded";
    case "unhealthy":
      return whyUnhealthy(before, after, rules);
    default:
      return after satisfies never;
  }
}

function whyUnhealthy(
  before: Health,
  { waitMs, until }: Extract<Health, { kind: "unhealthy" }>,
  { failuresMax }: HealthRules,
): string {
  const alone = `nothing is sent for ${wordsOfMs(waitMs)}`;
  if (before.kind === "healthy") return `${countOf(failuresMax)} in a row; ${alone}`;
  if (before.kind === "recovering") return `a send failed while it recovered; ${alone}`;
  const isUnsent = before.kind === "probing" && until === before.startedAt;
  return isUnsent ? "the probe was aborted" : `the probe failed; ${alone}`;
}

export function healthRulesText(rules: HealthRules): string {
  const { failuresMax, firstWaitMs, growth, waitMaxMs, healthyAtOnce } = rules;
  return (
    `unhealthy after ${countOf(failuresMax)} in a row; probed after ${wordsOfMs(firstWaitMs)}, ` +
    `and after each failed probe ${growth} times as long, up to ${wordsOfMs(waitMaxMs)}; ` +
    `healthy again at ${sends(healthyAtOnce)} at once`
  );
}

/** What an operator did, with the reason that was given. */
export function closureText(order: "closed" | "opened" | "reset", because: string): string {
  return `${order} by an operator${saying(because)}`;
}

function saying(because: string): string {
  return because === "" ? "" : `: ${because}`;
}

function countOf(failures: number): string {
  return failures === 1 ? "1 failure" : `${failures} failures`;
}

function sends(count: number): string {
  return count === 1 ? "1 send" : `${count} sends`;
}
