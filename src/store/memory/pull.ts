// Queues that clients fetch from (the port Pull). A lock is a due time and a new lease of the row,
// for whoever asks.

import type { Delivery } from "../../core/delivery/delivery.ts";
import type { Instant } from "../../core/ports.ts";
import { receivedOutcome } from "../../core/pull/pull-rules.ts";
import type { Ended, Ending, Receive, Received } from "../../core/pull/pull-store.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import { type Lines, leased, type Row } from "./lines.ts";

/** `spent`: how many were found that may not be handed out any more. */
export function receive(
  lines: Lines,
  subscription: SubscriptionId,
  want: Receive,
): Received & { readonly spent: number } {
  const { now, lockMs, attemptsMax, lastReason } = want;
  const lockedUntil = now + lockMs;
  const handed: Row[] = [];
  let spent = 0;
  let chars = 0;
  for (const row of lineOf(lines, subscription)) {
    if (row.dueAt > now) break;
    if (row.reason !== null || row.since <= want.expiredSince) continue;
    if (row.attempts >= attemptsMax) {
      row.reason = lastReason;
      spent += 1;
      continue;
    }
    const size = row.event.text.length;
    if (handed.length >= want.max || (chars > 0 && chars + size > want.charsMax)) break;
    chars += size;
    handed.push(row);
  }
  const deliveries = handed.map((row): Delivery => {
    const { dueAt, last } = row;
    const number = row.attempts + 1;
    row.attempts = number;
    row.last = { at: now, number, outcome: receivedOutcome, status: null };
    row.reason = number >= attemptsMax ? lastReason : null;
    return { ...lock(lines, row, lockedUntil), dueAt, last };
  });
  const next = lineOf(lines, subscription).find(
    ({ reason, since }) => reason === null && since > want.expiredSince,
  );
  return { deliveries, nextDueAt: next?.dueAt ?? null, spent };
}

export function takeEnded(lines: Lines, subscription: SubscriptionId, want: Ending): Ended {
  const { now, expiredSince, leaseMs } = want;
  const isToEnd = ({ reason, since }: Row) => reason !== null || since <= expiredSince;
  const taken = lineOf(lines, subscription)
    .filter((row) => isToEnd(row) && row.dueAt <= now)
    .slice(0, want.max);
  const deliveries = taken.map((row) => lock(lines, row, now + leaseMs));
  const line = lineOf(lines, subscription);
  const next = line.find((row) => isToEnd(row) && !taken.includes(row));
  const lives = line.filter((row) => !isToEnd(row)).map(({ since }) => since);
  return {
    deliveries,
    nextDueAt: next?.dueAt ?? null,
    oldestAt: lives.length === 0 ? null : Math.min(...lives),
  };
}

export function countLocked(lines: Lines, subscription: SubscriptionId, now: Instant): number {
  return lineOf(lines, subscription).filter(({ dueAt }) => dueAt > now).length;
}

function lineOf(lines: Lines, subscription: SubscriptionId): readonly Row[] {
  return lines.of({ subscription, stage: "deliver" });
}

function lock(lines: Lines, row: Row, until: Instant): Delivery {
  lines.move(row, { lease: lines.newLease(), leasedUntil: null, dueAt: until });
  return leased(row, until);
}
