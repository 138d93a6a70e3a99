// Pull queues in the embedded store (the port Pull), within the engine's round (engine.ts). A lock
// is a due time and a fence in the row, so a restart changes nothing. Rows of these queues are
// never among the leases in memory (leases.ts).

import type { Delivery } from "../../core/delivery/delivery.ts";
import type { Instant } from "../../core/ports.ts";
import { receivedOutcome } from "../../core/pull/pull-rules.ts";
import type { Ended, Ending, Receive, Received } from "../../core/pull/pull-store.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import type { QueueDeps } from "./deliveries.ts";
import { deliveryOf } from "./row.ts";
import type { SqlRow, Statements } from "./statements.ts";

/** An operator may have put a delivery ahead of all others, and so before its publish time. */
const aheadMs = 60_000;

const nobody: Received & Ended = { deliveries: [], nextDueAt: null, oldestAt: null };

export class SqlitePull {
  readonly #deps: QueueDeps;
  readonly #statements: Statements;
  readonly #nextLease: () => number;

  constructor(deps: QueueDeps, nextLease: () => number) {
    this.#deps = deps;
    this.#statements = deps.statements;
    this.#nextLease = nextLease;
  }

  receive(subscription: SubscriptionId, want: Receive): Received {
    if (!this.#exists(subscription)) return nobody;
    const { now, expiredSince, lockMs, attemptsMax, lastReason } = want;
    const from = expiredSince - aheadMs;
    const { available, hand, putReason, nextAvailable } = this.#statements;
    const { rows, spent } = pick(
      available.iterate({ subscription, now, from, expiredSince }),
      want,
    );
    for (const event of spent) putReason.run(lastReason, event, subscription);
    const until = now + lockMs;
    const deliveries = rows.map((row): Delivery => {
      const { event, attempts } = row as { event: number; attempts: number };
      const number = attempts + 1;
      const lease = this.#nextLease();
      const reason = number >= attemptsMax ? lastReason : null;
      const kept = { until, number, lease, now, outcome: receivedOutcome, reason };
      hand.run({ ...kept, event, subscription });
      return { ...deliveryOf(row), attempts: number, reason, lease, leasedUntil: until };
    });
    if (rows.length + spent.length > 0) {
      this.#deps.tell.wake({ subscription, stage: "deliver" }, until);
    }
    const next = nextAvailable.get({ subscription, from, expiredSince })?.due_at;
    return { deliveries, nextDueAt: (next ?? null) as Instant | null };
  }

  takeEnded(subscription: SubscriptionId, want: Ending): Ended {
    if (!this.#exists(subscription)) return nobody;
    const { now, expiredSince, max, leaseMs } = want;
    const { lapsed, dueAndOld } = this.#statements;
    const spent = lapsed.all({ subscription, now, limit: max }) as SqlRow[];
    const old = dueAndOld.all({ subscription, stage: 0, now, since: expiredSince, limit: max });
    const rows = new Map([...spent, ...(old as SqlRow[])].map((row) => [row.event, row]));
    const leasedUntil = now + leaseMs;
    const deliveries = [...rows.values()].slice(0, max).map((row): Delivery => {
      const lease = this.#nextLease();
      this.#statements.keepFrom.run(leasedUntil, lease, row.event as number, subscription);
      return { ...deliveryOf(row), dueAt: leasedUntil, lease, leasedUntil };
    });
    return { deliveries, ...this.#timesOf(subscription, want) };
  }

  #timesOf(
    subscription: SubscriptionId,
    { now, expiredSince }: Ending,
  ): Pick<Ended, "nextDueAt" | "oldestAt"> {
    const { nextLapse, nextExpired, oldestTriedAlive, oldestUntriedAlive } = this.#statements;
    const at = { subscription, expiredSince };
    return {
      nextDueAt: earliest(
        nextLapse.get(subscription, now)?.due_at,
        nextExpired.get({ ...at, now })?.due_at,
      ),
      oldestAt: earliest(oldestTriedAlive.get(at)?.since, oldestUntriedAlive.get(at)?.since),
    };
  }

  locked(subscriptions: readonly SubscriptionId[], now: Instant): number[] {
    return subscriptions.map((subscription) =>
      this.#exists(subscription)
        ? (this.#statements.locked.get(subscription, now)?.count as number)
        : 0,
    );
  }

  #exists(subscription: SubscriptionId): boolean {
    return this.#deps.leases.has({ subscription, stage: "deliver" });
  }
}

function earliest(...times: readonly unknown[]): Instant | null {
  const known = times.filter((time): time is Instant => typeof time === "number");
  return known.length === 0 ? null : Math.min(...known);
}

/** Those to hand out, and those that were handed out as often as is allowed now. */
function pick(rows: Iterable<SqlRow>, want: Receive): { rows: SqlRow[]; spent: number[] } {
  const picked: SqlRow[] = [];
  const spent: number[] = [];
  let chars = 0;
  for (const row of rows) {
    if ((row.attempts as number) >= want.attemptsMax) {
      spent.push(row.event as number);
      continue;
    }
    const size = (row.text as string).length;
    if (picked.length >= want.max || (chars > 0 && chars + size > want.charsMax)) break;
    chars += size;
    picked.push(row);
  }
  return { rows: picked, spent };
}
