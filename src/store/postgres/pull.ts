// Pull queues (the port Pull): a lock is a due time and a fence in the row, so any broker may hand
// out, and rows that another one is handing out at this moment are passed over.

import type { Delivery } from "../../core/delivery/delivery.ts";
import type { Instant } from "../../core/ports.ts";
import { receivedOutcome } from "../../core/pull/pull-rules.ts";
import type { Ended, Ending, Receive, Received } from "../../core/pull/pull-store.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import { int8Array } from "./binary.ts";
import type { Row } from "./connection.ts";
import { columns, seenOf } from "./event-row.ts";
import { ownWake, type Parts } from "./parts.ts";

/**
 * $1 subscription, $2 now, $3 expired since, $4 most, $5 characters, $6 attempts, $7 last reason,
 * $8 until, $9 the lease before the first, $10 outcome.
 */
const receive = {
  name: "receive",
  text: `
  with few as materialized (
    select event, attempts, size, due_at, last_at, last_number, last_outcome, last_status
    from deliveries
    where subscription = $1 and stage = 0 and due_at <= $2 and reason is null and since > $3
    order by due_at, event limit $4 for update skip locked
  ), spent as (
    update deliveries d set reason = $7 from few f
    where d.subscription = $1 and d.event = f.event and f.attempts >= $6
  ), fit as materialized (
    select event, size, sum(size) over w - size as before, row_number() over w as place
    from few where attempts < $6 window w as (order by due_at, event)
  ), handed as (
    update deliveries d set due_at = $8, attempts = d.attempts + 1, fence = $9::int8 + f.place,
      last_at = $2, last_number = d.attempts + 1, last_outcome = $10, last_status = null,
      reason = case when d.attempts + 1 >= $6 then $7::text end
    from fit f where d.subscription = $1 and d.event = f.event
      and (f.before = 0 or f.before + f.size <= $5)
    returning d.*
  )
  select ${columns}, d.fence, f.due_at, f.last_at, f.last_number, f.last_outcome, f.last_status,
    s.count
  from (select count(*) from few where attempts >= $6) s
  left join (handed d join few f on f.event = d.event) on true
  left join events e on d.body is null and e.number = d.event order by d.fence`,
};

/** In its rows; without a delivery, there is one row that says only how many are to end. */
const eventColumn = 1;
const spentColumn = 19;

const nextAvailable = {
  name: "next_available",
  text: `
  select due_at from deliveries
  where subscription = $1 and stage = 0 and reason is null and since > $2
  order by due_at limit 1`,
};

/** What was handed out for the last time; and of the expired, what was tried and what was not. */
const takeEnded = {
  name: "take_ended",
  text: `
  with spent as materialized (
    select event from deliveries
    where subscription = $1 and stage = 0 and reason is not null and due_at <= $2
    order by due_at limit $4 for update skip locked
  ), tried as materialized (
    select event from deliveries
    where subscription = $1 and stage = 0 and since <= $3 and due_at <= $2
      and (attempts > 0 or due_at > since)
    order by since limit $4 for update skip locked
  ), untried as materialized (
    select event from deliveries
    where subscription = $1 and stage = 0 and due_at <= least($2::int8, $3::int8) and since <= $3
      and attempts = 0 and due_at <= since
    order by due_at limit $4 for update skip locked
  ), few as materialized (
    select event, row_number() over () as place from (
      select event from spent union select event from tried union select event from untried
      limit $4
    ) s
  ), taken as (
    update deliveries d set due_at = $5, fence = $6::int8 + f.place from few f
    where d.subscription = $1 and d.event = f.event returning d.*
  )
  select ${columns}, d.fence from taken d
  left join events e on d.body is null and e.number = d.event order by d.fence`,
};

/** The next lock to be over of one that is to end, and the oldest that is not. */
const endTimes = {
  name: "end_times",
  text: `
  select least(
    (select due_at from deliveries where subscription = $1 and stage = 0 and reason is not null
      order by due_at limit 1),
    (select min(due_at) from deliveries where subscription = $1 and stage = 0 and since <= $2
      and (attempts > 0 or due_at > since)),
    (select due_at from deliveries where subscription = $1 and stage = 0 and since <= $2
      and due_at <= $2 and attempts = 0 and due_at <= since order by due_at limit 1)
  ), least(
    (select since from deliveries where subscription = $1 and stage = 0 and since > $2
      and (attempts > 0 or due_at > since) and reason is null order by since limit 1),
    (select min(since) from (select since from deliveries where subscription = $1 and stage = 0
      and attempts = 0 and due_at <= since and since > $2 and reason is null
      order by due_at limit 1) u)
  )`,
};

const locked = {
  name: "locked",
  text: `
  select x.place, (select count(*) from deliveries d
    where d.subscription = x.id and d.stage = 0 and d.due_at > $2)
  from unnest($1::int8[]) with ordinality x(id, place)`,
};

const nobody: Received & Ended = { deliveries: [], nextDueAt: null, oldestAt: null };

export class PostgresPull {
  readonly #parts: Parts;
  readonly #reserve: (count: number) => number;

  /** `reserve`: so many leases; the answer is the one before the first. */
  constructor(parts: Parts, reserve: (count: number) => number) {
    this.#parts = parts;
    this.#reserve = reserve;
  }

  async receive(subscription: SubscriptionId, want: Receive): Promise<Received> {
    if (!this.#exists(subscription)) return nobody;
    const { database, times } = this.#parts;
    const { now, lockMs, max, charsMax, attemptsMax, lastReason } = want;
    const since = times.there(want.expiredSince);
    let found: readonly Row[];
    let hasSpent = false;
    let isAgain: boolean;
    // All that it found may be handed out no more: that is noted, and passed over the next time.
    do {
      found = await database.query(receive, [
        ...[subscription, times.there(now), since, max, charsMax, attemptsMax, lastReason],
        ...[times.there(now + lockMs), this.#reserve(max), receivedOutcome],
      ]);
      const [first] = found as [Row];
      isAgain = first[spentColumn] > 0 && first[eventColumn] === null;
      hasSpent ||= first[spentColumn] > 0;
    } while (isAgain);
    const rows = found.filter((row) => row[eventColumn] !== null);
    const deliveries = rows.map((row) => ({ ...this.#handed(row), ...this.#before(row) }));
    if (rows.length > 0 || hasSpent) {
      ownWake(this.#parts, { subscription, stage: "deliver" }, now + lockMs);
    }
    const [next] = await database.query(nextAvailable, [subscription, since]);
    return { deliveries, nextDueAt: this.#here(next?.[0]) };
  }

  async takeEnded(subscription: SubscriptionId, want: Ending): Promise<Ended> {
    if (!this.#exists(subscription)) return nobody;
    const { database, times } = this.#parts;
    const { now, max, leaseMs } = want;
    const since = times.there(want.expiredSince);
    const rows = await database.query(takeEnded, [
      ...[subscription, times.there(now), since, max],
      ...[times.there(now + leaseMs), this.#reserve(max)],
    ]);
    const deliveries = rows.map((row) => this.#handed(row));
    const taken = new Set(deliveries.map(({ id }) => id.event));
    const [ends] = await database.query(endTimes, [subscription, since]);
    const [nextDueAt, oldestAt] = (ends ?? []) as Row;
    const isOnlyTaken = taken.size > 0 && nextDueAt === times.there(now + leaseMs);
    return {
      deliveries,
      nextDueAt: isOnlyTaken ? null : this.#here(nextDueAt),
      oldestAt: this.#here(oldestAt),
    };
  }

  async locked(subscriptions: readonly SubscriptionId[], now: Instant): Promise<number[]> {
    const { database, times } = this.#parts;
    const counts = subscriptions.map(() => 0);
    const rows = await database.query(locked, [int8Array(subscriptions), times.there(now)]);
    for (const [place, count] of rows) {
      if (this.#exists(subscriptions[place - 1] as number)) counts[place - 1] = count;
    }
    return counts;
  }

  #handed(row: Row): Delivery {
    const seen = seenOf(row, this.#parts.times);
    return { ...seen, lease: row[13], leasedUntil: seen.dueAt };
  }

  /** When it was due, and what was kept of it, before it was handed out. */
  #before(row: Row): Pick<Delivery, "dueAt" | "last"> {
    const [dueAt, at, number, outcome, status] = row.slice(14, spentColumn);
    const { times } = this.#parts;
    const last = at === null ? null : { at: times.here(at), number, outcome, status };
    return { dueAt: times.here(dueAt), last };
  }

  #here(at: number | null | undefined): Instant | null {
    return at === null || at === undefined ? null : this.#parts.times.here(at);
  }

  #exists(subscription: SubscriptionId): boolean {
    return this.#parts.leases.find({ subscription, stage: "deliver" }) !== undefined;
  }
}
