// Settling, a round at a time: one statement ends, changes or gives back what is leased, and counts
// only if this broker has not lost its row: `for key share` makes one that takes its slots over
// wait for it. A delivery stays leased until its settlement is on disk.

import type { Queue } from "../../core/delivery/delivery.ts";
import type { Instant, Settlement } from "../../core/ports.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import { int2Array, int4Array, int8Array, textArray } from "./binary.ts";
import { stageNumber } from "./event-row.ts";
import type { Hold, QueueLeases } from "./leases.ts";
import { ownWake, type Parts } from "./parts.ts";

/** `fence`: of one that is not leased any more; the row must still name it. Null: it is leased. */
const settle = {
  name: "settle",
  text: `
  with me as materialized (
    select 1 from brokers where id = $1 and epoch = $2 for key share
  ), gone as (
    delete from deliveries d
    using unnest($3::int4[], $4::int8[], $5::int8[], $6::int8[], $7::int8[])
      x(place, subscription, event, fence, locked_at)
    where d.subscription = x.subscription and d.event = x.event
      and (x.fence is null or d.fence = x.fence)
      and (x.locked_at is null or d.due_at > x.locked_at) and exists (select 1 from me)
    returning x.place, case when d.body is null then d.event end as shared
  ), freed as (
    update deliveries d set fence = x.lease
    from unnest($8::int4[], $9::int8[], $10::int8[], $11::int8[])
      x(place, subscription, event, lease)
    where d.subscription = x.subscription and d.event = x.event and exists (select 1 from me)
    returning x.place, d.due_at
  ), put as (
    update deliveries d set stage = x.stage, due_at = x.due_at, since = x.since, fence = x.lease,
      attempts = x.attempts, last_at = x.last_at, last_number = x.last_number,
      last_outcome = x.last_outcome, last_status = x.last_status, reason = x.reason
    from unnest($12::int4[], $13::int8[], $14::int8[], $15::int8[], $16::int8[], $17::int8[],
      $18::int2[], $19::int8[], $20::int8[], $21::int4[], $22::int8[], $23::int4[], $24::text[],
      $25::int4[], $26::text[]) x(place, subscription, event, fence, locked_at, lease, stage, due_at,
      since, attempts, last_at, last_number, last_outcome, last_status, reason)
    where d.subscription = x.subscription and d.event = x.event
      and (x.fence is null or d.fence = x.fence)
      and (x.locked_at is null or d.due_at > x.locked_at) and exists (select 1 from me)
    returning x.place
  )
  select (select array_agg(place) from gone), (select array_agg(shared) from gone),
    (select array_agg(place) from freed), (select array_agg(due_at) from freed),
    (select array_agg(place) from put)`,
};

/**
 * Most rounds: all of it is delivered. Nobody waits for the disk; it has this with the next round
 * of publishes, or within a second. What a crash of the database undoes is sent again.
 */
const settleDelivered = {
  name: "settle_delivered",
  text: `
  with me as materialized (
    select 1 from brokers where id = $1 and epoch = $2 for key share
  ), gone as (
    delete from deliveries d
    using unnest($3::int4[], $4::int8[], $5::int8[]) x(place, subscription, event)
    where d.subscription = x.subscription and d.event = x.event and exists (select 1 from me)
    returning x.place, case when d.body is null then d.event end as shared
  )
  select array_agg(place), array_agg(shared), null::int8[], null::int8[], null::int8[],
    set_config('synchronous_commit', 'off', true) from gone`,
};

/** Bodies that no delivery needs any more; those of a crash are found by the sweep. */
const dropBodies = {
  name: "drop_bodies",
  text: `
  delete from events e using unnest($1::int8[]) x(number) where e.number = x.number
    and not exists (select 1 from deliveries d where d.event = e.number and d.body is null)`,
};

const forgetRetired = {
  name: "forget_retired",
  text: `
  delete from retired r using unnest($1::int8[]) x(id) where r.id = x.id
    and not exists (select 1 from deliveries d where d.subscription = r.id and d.stage = 1)
  returning r.id`,
};

interface Open {
  readonly settlement: Settlement;
  /** Where it is leased; null: its lease is over, and it may be late. */
  readonly leased: {
    readonly queue: Queue;
    readonly leases: QueueLeases;
    readonly hold: Hold;
  } | null;
}

export class Settlements {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async run(ops: readonly (readonly Settlement[])[]): Promise<readonly (readonly boolean[])[]> {
    const answers = ops.map((settlements) => settlements.map(() => false));
    const open: (Open & { readonly count: () => void })[] = [];
    /** One delivery may be settled twice: the second waits for another round. */
    const again: [number, number][] = [];
    const seen = new Set<string>();
    for (const [op, settlements] of ops.entries()) {
      for (const [index, settlement] of settlements.entries()) {
        const { event, subscription } = settlement.delivery;
        const key = `${event}/${subscription}`;
        if (seen.has(key)) {
          again.push([op, index]);
          continue;
        }
        const one = this.#begin(settlement);
        if (one === null) continue;
        seen.add(key);
        const count = () => {
          (answers[op] as boolean[])[index] = true;
        };
        open.push({ ...one, count });
      }
    }
    if (open.length > 0) await this.#write(open);
    for (const [op, index] of again) {
      const [[counted]] = (await this.run([[ops[op]?.[index] as Settlement]])) as [[boolean]];
      (answers[op] as boolean[])[index] = counted;
    }
    return answers;
  }

  /** Null: it does not count. */
  #begin(settlement: Settlement): Open | null {
    const { leases, owns } = this.#parts;
    const { event, subscription } = settlement.delivery;
    const isBackwards = settlement.kind === "due" && settlement.stage === "deliver";
    const slot = leases.slotOf(subscription);
    // A receiver's lock is in the row: any broker may settle it.
    const isLock = settlement.lockedAt !== undefined;
    if (slot === undefined || !(isLock || owns(slot))) return null;
    if (isBackwards && leases.isRetired(subscription)) return null;
    const found = isLock ? undefined : leases.holding(subscription, event);
    const hold = found?.leases.held.get(event);
    if (found === undefined || hold === undefined) {
      return settlement.kind === "back" ? null : { settlement, leased: null };
    }
    if (hold.lease !== settlement.lease || found.leases.settling.has(event)) return null;
    found.leases.settling.add(event);
    const queue = { subscription, stage: found.stage };
    return { settlement, leased: { queue, leases: found.leases, hold } };
  }

  async #write(open: readonly (Open & { readonly count: () => void })[]): Promise<void> {
    const { database } = this.#parts;
    try {
      const [row] = open.every(isDelivered)
        ? await database.query(settleDelivered, this.#deliveredValues(open))
        : await database.query(settle, this.#values(open));
      const [gone, shared, freed, dueAts, put] = (row ?? []) as (number[] | null)[];
      const ended = new Set(gone);
      const waits = new Set(put);
      const free = new Map((freed ?? []).map((place, at) => [place, dueAts?.[at] ?? 0]));
      for (const place of [...ended, ...waits, ...free.keys()]) open[place]?.count();
      this.#release(open, free, waits);
      const bodies = [...new Set((shared ?? []).filter(Boolean))];
      await dropUnused(this.#parts, bodies).catch(() => {});
      await this.#forgetRetired(open.filter((_, place) => ended.has(place)));
    } catch (error) {
      for (const { settlement, leased } of open) {
        leased?.leases.settling.delete(settlement.delivery.event);
      }
      throw error;
    }
  }

  #deliveredValues(open: readonly Open[]): readonly unknown[] {
    const { broker, epoch } = this.#parts.self;
    const all = open.map(({ settlement }, place) => ({ ...settlement, place }));
    return [broker, epoch, ...ids(all)];
  }

  #values(open: readonly Open[]): readonly unknown[] {
    const { self, times } = this.#parts;
    const of = <K extends Settlement["kind"]>(kind: K) =>
      open.flatMap(({ settlement, leased }, place) =>
        settlement.kind === kind
          ? [{ ...(settlement as Extract<Settlement, { kind: K }>), place, leased }]
          : [],
      );
    const [gone, back, due] = [of("gone"), of("back"), of("due")];
    const fenceOf = ({ leased, lease }: { leased: unknown; lease: number }) =>
      leased === null ? lease : null;
    const there = (at: number | undefined) => (at === undefined ? null : times.there(at));
    return [
      self.broker,
      self.epoch,
      ...ids(gone),
      int8Array(gone.map(fenceOf)),
      int8Array(gone.map(({ lockedAt }) => there(lockedAt))),
      ...ids(back),
      int8Array(back.map(({ lease }) => lease)),
      ...ids(due),
      int8Array(due.map(fenceOf)),
      int8Array(due.map(({ lockedAt }) => there(lockedAt))),
      int8Array(due.map(({ lease }) => lease)),
      int2Array(due.map(({ stage }) => stageNumber[stage])),
      int8Array(due.map(({ at }) => times.there(at))),
      int8Array(due.map(({ since }) => times.there(since))),
      int4Array(due.map(({ attempts }) => attempts)),
      int8Array(due.map(({ last }) => there(last?.at))),
      int4Array(due.map(({ last }) => last?.number ?? null)),
      textArray(due.map(({ last }) => last?.outcome ?? null)),
      int4Array(due.map(({ last }) => last?.status ?? null)),
      textArray(due.map(({ reason }) => reason)),
    ];
  }

  /** What is settled is leased no longer, counted or not; what waits again is announced. */
  #release(
    open: readonly Open[],
    freed: ReadonlyMap<number, number>,
    put: ReadonlySet<number>,
  ): void {
    const { times, leases, tell } = this.#parts;
    const pulled = new Map<SubscriptionId, Instant>();
    for (const [place, { settlement, leased }] of open.entries()) {
      const { event, subscription } = settlement.delivery;
      leased?.leases.release(event);
      const dueAt = freed.get(place);
      if (leased !== null && dueAt !== undefined) {
        ownWake(this.#parts, leased.queue, times.here(dueAt));
      }
      if (settlement.kind === "due" && put.has(place)) {
        ownWake(this.#parts, { subscription, stage: settlement.stage }, settlement.at);
        const isPulled = settlement.stage === "deliver" && leases.isPull(subscription);
        if (isPulled) pulled.set(subscription, settlement.at);
      }
    }
    if (pulled.size > 0) tell(pulled);
  }

  async #forgetRetired(gone: readonly Open[]): Promise<void> {
    const { leases } = this.#parts;
    const ids = new Set<SubscriptionId>();
    for (const { settlement } of gone) {
      if (leases.isRetired(settlement.delivery.subscription))
        ids.add(settlement.delivery.subscription);
    }
    if (ids.size > 0) await forgetWritten(this.#parts, [...ids]);
  }
}

/** And leased here still. */
function isDelivered({ settlement, leased }: Open): boolean {
  return settlement.kind === "gone" && settlement.isDelivered === true && leased !== null;
}

function ids(all: readonly { place: number; delivery: Settlement["delivery"] }[]) {
  return [
    int4Array(all.map(({ place }) => place)),
    int8Array(all.map(({ delivery }) => delivery.subscription)),
    int8Array(all.map(({ delivery }) => delivery.event)),
  ];
}

/** Of these retired subscriptions, those whose last dead letter is gone. */
export async function forgetWritten(
  { database, leases }: Parts,
  ids: readonly SubscriptionId[],
): Promise<void> {
  const rows = await database.query(forgetRetired, [int8Array(ids)]);
  for (const [id] of rows) leases.remove(id);
}

/** Bodies of events for several, of which some deliveries have ended. */
export async function dropUnused({ database }: Parts, numbers: readonly number[]): Promise<void> {
  if (numbers.length > 0) await database.query(dropBodies, [int8Array(numbers)]);
}
