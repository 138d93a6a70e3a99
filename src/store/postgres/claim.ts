// Claiming, several queues at a time: a claim only reads, because leases are in memory. What is
// leased is left out by its number; the rows after the last one taken tell when to come again.

import type { Delivery, Queue } from "../../core/delivery/delivery.ts";
import type { Claim, Instant, Want } from "../../core/ports.ts";
import { earlier } from "../../core/text/time.ts";
import { int2Array, int4Array, int8Array, textArray } from "./binary.ts";
import type { Row } from "./connection.ts";
import { columns, seenOf, stageNumber } from "./event-row.ts";
import type { QueueLeases } from "./leases.ts";
import type { Parts } from "./parts.ts";

export interface ClaimOp {
  readonly queue: Queue;
  readonly want: Want;
}

/** More rows than this are not asked for at once. */
const rowsMax = 5_000;

/** One more than wanted of each queue, in order; with their bodies as far as they may be taken. */
const claim = {
  name: "claim",
  text: `
  with q as materialized (
    select subscription, stage, now, least(max, ${rowsMax}) as max, chars, held::int8[], place
    from unnest($1::int8[], $2::int2[], $3::int8[], $4::int4[], $5::int8[], $6::text[])
      with ordinality q(subscription, stage, now, max, chars, held, place)
  )
  select q.place, d.due_at <= q.now and d.ahead < q.max
      and (d.before = 0 or d.before + d.size <= q.chars) as is_taken, d.size,
    d.subscription, d.event, d.stage, d.due_at, d.since, d.attempts, d.last_at, d.last_number,
    d.last_outcome, d.last_status, d.reason, coalesce(d.meta, e.meta),
    case when d.due_at <= q.now and d.ahead < q.max
      and (d.before = 0 or d.before + d.size <= q.chars) then coalesce(d.body, e.body) end
  from q cross join lateral (
    select r.*, sum(r.size) over w - r.size as before, row_number() over w - 1 as ahead
    from (
      select * from deliveries d
      where d.subscription = q.subscription and d.stage = q.stage and d.event <> all (q.held)
      order by d.due_at, d.event limit q.max + 1
    ) r window w as (order by r.due_at, r.event)
  ) d left join events e on d.body is null and e.number = d.event
  order by q.place, d.due_at, d.event`,
};

/** What began at or before $4 and is due: the untried ones by due time, the others by age. */
const claimOld = {
  name: "claim_old",
  text: `
  select ${columns}, d.size from (
    (select * from deliveries
     where subscription = $1 and stage = $2 and due_at <= least($3::int8, $4::int8) and since <= $4
       and attempts = 0 and due_at <= since and event <> all ($5::int8[])
     order by due_at, event limit $6)
    union all
    (select * from deliveries
     where subscription = $1 and stage = $2 and since <= $4 and due_at <= $3
       and (attempts > 0 or due_at > since) and event <> all ($5::int8[])
     order by since, event limit $6)
  ) d left join events e on d.body is null and e.number = d.event`,
};

const nextDue = {
  name: "next_due",
  text: `
  select due_at from deliveries
  where subscription = $1 and stage = $2 and event <> all ($3::int8[])
  order by due_at limit 1`,
};

const nothing: Claim = { deliveries: [], nextDueAt: null };

export class Claims {
  readonly #parts: Parts;
  readonly #nextLease: () => number;

  constructor(parts: Parts, nextLease: () => number) {
    this.#parts = parts;
    this.#nextLease = nextLease;
  }

  async run(ops: readonly ClaimOp[]): Promise<readonly Claim[]> {
    const found = ops.map(({ queue }) => this.#find(queue));
    const reading = found.map((leases) => leases?.beginReading());
    try {
      const rows = await this.#read(ops, found);
      return ops.map(({ queue, want }, index) => {
        const leases = this.#find(queue);
        const moved = reading[index];
        if (leases === undefined || leases !== found[index] || moved === undefined) return nothing;
        leases.endReading(moved);
        return this.#lease(leases, moved, want, rows[index] ?? []);
      });
    } finally {
      for (const [index, moved] of reading.entries()) if (moved) found[index]?.endReading(moved);
    }
  }

  /** When the earliest that nobody has leased is due, for each of these queues. */
  async look(queues: readonly Queue[], now: Instant): Promise<readonly (Instant | null)[]> {
    const want = { max: 0, charsMax: 0, now, leaseMs: 0 };
    const found = queues.map((queue) => this.#find(queue));
    const rows = await this.#read(
      queues.map((queue) => ({ queue, want })),
      found,
    );
    return rows.map(([row]) => (row === undefined ? null : this.#parts.times.here(row[6])));
  }

  /** Undefined: it does not exist, or is not ours. */
  #find(queue: Queue): QueueLeases | undefined {
    const { leases, isMine } = this.#parts;
    const slot = leases.slotOf(queue.subscription);
    return slot !== undefined && isMine(slot) ? leases.find(queue) : undefined;
  }

  async #read(
    ops: readonly ClaimOp[],
    found: readonly (QueueLeases | undefined)[],
  ): Promise<readonly Row[][]> {
    const { database, times } = this.#parts;
    const rows: Row[][] = ops.map(() => []);
    const places = ops.flatMap((_, index) => (found[index] === undefined ? [] : [index]));
    if (places.length === 0) return rows;
    const asked = places.map((place) => ops[place] as ClaimOp);
    const held = places.map((place, index) => {
      return `{${found[place]?.heldAt(asked[index]?.want.now ?? 0).join(",")}}`;
    });
    const answer = await database.query(claim, [
      int8Array(asked.map(({ queue }) => queue.subscription)),
      int2Array(asked.map(({ queue }) => stageNumber[queue.stage])),
      int8Array(asked.map(({ want }) => times.there(want.now))),
      int4Array(asked.map(({ want }) => Math.min(want.max, rowsMax))),
      int8Array(asked.map(({ want }) => want.charsMax)),
      textArray(held),
    ]);
    for (const row of answer) rows[places[row[0] - 1] as number]?.push(row);
    return rows;
  }

  #lease(leases: QueueLeases, moved: ReadonlySet<number>, want: Want, rows: readonly Row[]): Claim {
    const { times } = this.#parts;
    const deliveries: Delivery[] = [];
    let chars = 0;
    let nextDueAt: Instant | null = null;
    let isCaughtUp = rows.length <= Math.min(want.max, rowsMax);
    for (const row of rows) {
      const [, isTaken, size, , event, , dueAt] = row;
      if (moved.has(event) || leases.isHeld(event, want.now)) continue;
      if (!isTaken) {
        nextDueAt = earlier(nextDueAt, times.here(dueAt));
        isCaughtUp = times.here(dueAt) > want.now;
        break;
      }
      chars += size;
      const lease = this.#nextLease();
      const leasedUntil = want.now + want.leaseMs;
      leases.hold(event, { lease, until: leasedUntil });
      deliveries.push({ ...seenOf(row.slice(3), times), lease, leasedUntil });
    }
    // Rows that others took meanwhile have filled the answer: there may be more behind them.
    if (!isCaughtUp && nextDueAt === null) nextDueAt = want.now;
    if (isCaughtUp) leases.stand(want, { count: deliveries.length, chars });
    const end = leases.earliestEnd();
    if (end !== null) nextDueAt = earlier(nextDueAt, end);
    leases.nextDueAt = nextDueAt;
    return { deliveries, nextDueAt };
  }

  /** A claim of what is old, whatever is due before it. */
  async old({ queue, want }: ClaimOp, since: Instant): Promise<Claim> {
    const { database, times } = this.#parts;
    const leases = this.#find(queue);
    if (leases === undefined) return nothing;
    const moved = leases.beginReading();
    try {
      const which = [queue.subscription, stageNumber[queue.stage]];
      const limits = [times.there(want.now), times.there(since)];
      const held = int8Array(leases.heldAt(want.now));
      const limit = Math.min(want.max, rowsMax);
      const rows = await database.query(claimOld, [...which, ...limits, held, limit]);
      const deliveries: Delivery[] = [];
      let chars = 0;
      for (const row of rows) {
        const event = row[1] as number;
        const size = row[13] as number;
        if (moved.has(event) || leases.isHeld(event, want.now)) continue;
        if (deliveries.length >= want.max || (chars > 0 && chars + size > want.charsMax)) break;
        chars += size;
        const lease = this.#nextLease();
        const leasedUntil = want.now + want.leaseMs;
        leases.hold(event, { lease, until: leasedUntil });
        deliveries.push({ ...seenOf(row, times), lease, leasedUntil });
      }
      const others = int8Array(leases.heldAt(want.now));
      const [first] = await database.query(nextDue, [...which, others]);
      const dueAt = first === undefined ? null : times.here(first[0]);
      const end = leases.earliestEnd();
      leases.nextDueAt = end === null ? dueAt : earlier(dueAt, end);
      return { deliveries, nextDueAt: leases.nextDueAt };
    } finally {
      leases.endReading(moved);
    }
  }
}
