// The result of one send of a batch: the decision for each of its deliveries, and the settlement
// for the store. The decision itself is made in core/delivery/retry.ts.

import type { Delivery, LastAttempt } from "../core/delivery/delivery.ts";
import type { Outcome } from "../core/delivery/outcome.ts";
import type { Policy } from "../core/delivery/policy.ts";
import { type Decision, decide, isSuccess, outcomeName } from "../core/delivery/retry.ts";
import type { Chance, Instant, Settlement } from "../core/ports.ts";
import type { Attempt } from "../core/story/note.ts";
import type { Valve } from "./valve.ts";

/** `attempt`: the send behind the decision, or null when none was made. */
export function settlementOf(
  delivery: Delivery,
  decision: Decision,
  attempt: Attempt | null,
  now: Instant,
): Settlement {
  const { id, lease } = delivery;
  if (decision.kind === "delivered" && delivery.stage === "deliver") {
    return { kind: "gone", delivery: id, lease, isDelivered: true };
  }
  if (decision.kind === "delivered" || decision.kind === "drop") {
    return { kind: "gone", delivery: id, lease };
  }
  const named = { delivery: id, lease };
  // A dead letter is about the subscriber's last attempt, however often its store has been tried
  // since.
  const isToSubscriber = attempt !== null && delivery.stage === "deliver";
  const last = isToSubscriber ? lastAttemptOf(attempt) : delivery.last;
  switch (decision.kind) {
    case "retry": {
      const { stage, reason } = delivery;
      const { at, since } = decision;
      const attempts = attempt?.number ?? delivery.attempts;
      return { ...named, kind: "due", at, stage, since, attempts, last, reason };
    }
    case "deadLetter": {
      const { at, reason } = decision;
      const begun = { stage: "deadLetter", since: now, attempts: 0 } as const;
      return { ...named, kind: "due", at, ...begun, last, reason };
    }
    default:
      return decision satisfies never;
  }
}

function lastAttemptOf(attempt: Attempt): LastAttempt {
  const { number, outcome, outcomeName, startedAt } = attempt;
  const status = outcome.kind === "answered" ? outcome.status : null;
  return { at: startedAt, number, outcome: outcomeName, status };
}

/** Of one send. */
export interface Times {
  readonly now: Instant;
  readonly sentAt: Instant;
  /** The endpoint's health then, as text. */
  readonly health: string;
  /** Its outcome came after the timeout. */
  readonly isLate: boolean;
}

/** A send that has ended, for one delivery of its batch. */
export interface End {
  readonly delivery: Delivery;
  readonly decision: Decision;
  readonly attempt: Attempt;
}

/** The rules by which a batch is decided. */
export interface DecisionRules {
  readonly subscription: string;
  readonly policy: Policy;
  readonly chance: Chance;
  readonly valve: Valve;
  /** A decision to write a dead letter, at the time of the others (L-3). */
  readonly gather: (decision: Decision, now: Instant) => Decision;
}

/** The decision for each of a batch, which has one outcome (B-3). */
export function decideBatch(
  batch: readonly Delivery[],
  outcome: Outcome,
  { now, sentAt, health, isLate }: Times,
  { subscription, policy, chance, valve, gather }: DecisionRules,
): End[] {
  const [first] = batch as [Delivery];
  // One random number for the batch, so that what failed together is due together; none for a
  // success.
  const drawn = isSuccess(policy.profile, outcome)
    ? 0
    : chance.draw(`${subscription}/${first.id.event}/${first.attempts + 1}`);
  const at = { now, sentAt, chance: drawn };
  /** Shared by those that were sent as often, which most of a batch were. */
  let attempt: Attempt = {
    number: first.attempts + 1,
    startedAt: sentAt,
    endedAt: now,
    outcome,
    outcomeName: outcomeName(outcome, policy.profile),
    isLate,
    batch: batch.length,
    health,
  };
  return batch.map((delivery) => {
    const number = delivery.attempts + 1;
    if (attempt.number !== number) attempt = { ...attempt, number };
    const { stage, since, dueAt } = delivery;
    const heldMs = valve.heldMs(since, now);
    const standing = { stage, attempts: number, since, dueAt, heldMs, policy };
    const decision = gather(decide(standing, outcome, at), now);
    return { delivery, decision, attempt };
  });
}
