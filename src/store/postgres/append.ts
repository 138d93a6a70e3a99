// Appending, a round of publishes at a time: one statement checks the terms they were routed by,
// and adds the deliveries and events of those that still hold. What a standing claim of this broker
// takes is leased before it is written, and handed on without being read back.

import type { Delivery } from "../../core/delivery/delivery.ts";
import type { Instant, Routed, RoutedBy } from "../../core/ports.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import { foldCase } from "../../core/text/compare.ts";
import { refuseRouting } from "../revision.ts";
import { int4Array, int8Array, textArray } from "./binary.ts";
import type { Statement } from "./connection.ts";
import { metaOf } from "./event-row.ts";
import { type Hint, hintColumns } from "./hints.ts";
import type { QueueLeases } from "./leases.ts";
import { ownWake, type Parts } from "./parts.ts";

export interface Append {
  readonly routed: readonly Routed[];
  readonly now: Instant;
  readonly by: RoutedBy | undefined;
}

const held = `
  held as materialized (
    select c.place::int4 from unnest($1::text[], $2::int8[]) with ordinality c(key, mark, place)
    join topics t on t.key = c.key and t.routing = c.mark
  )`;
const added = `
  added as (
    insert into deliveries
      (subscription, event, due_at, since, fence, attempts, size, stage, meta, body)
    select x.subscription, x.event, x.due_at, x.since, 0, 0, x.size, 0, x.meta, x.body
    from unnest($3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int4[], $8::int4[],
      $9::text[], $10::text[]) x(subscription, event, due_at, since, place, size, meta, body)`;
const notices = `
  (select count(pg_notify(h.channel, h.text))
    from unnest($11::text[], $12::text[]) h(channel, text))`;

/**
 * Most rounds: each event is for one subscription, and a mark vouches for it. $1, $2: topics and
 * their marks. $3 to $10: deliveries; `place`: which of those marks. $11, $12: notices.
 */
const appendPlain = {
  name: "append_plain",
  text: `
  with ${held}, ${added}
    where x.place in (select place from held)
  )
  select (select array_agg(place) from held), null::int8[], ${notices}`,
};

/** `place` may be 0. $13 to $15: events for several. $16: subscriptions without a mark. */
const append = {
  name: "append",
  text: `
  with ${held}, missing as materialized (
    select s.id from unnest($16::int8[]) s(id)
    where not exists (select 1 from subscriptions o where o.id = s.id)
  ), ${added}
    where case when x.place = 0 then x.subscription not in (select id from missing)
      else x.place in (select place from held) end
    returning event, body is null as is_shared
  ), shared as (
    insert into events (number, meta, body)
    select x.number, x.meta, x.body
    from unnest($13::int8[], $14::text[], $15::text[]) x(number, meta, body)
    where x.number in (select event from added where is_shared)
  )
  select (select array_agg(place) from held), (select array_agg(id) from missing), ${notices}`,
};

/** Leased to a standing claim, if the append is kept. */
interface Push {
  readonly op: number;
  readonly leases: QueueLeases;
  readonly delivery: Delivery;
}

export class Appends {
  readonly #parts: Parts;
  readonly #nextLease: () => number;

  constructor(parts: Parts, nextLease: () => number) {
    this.#parts = parts;
    this.#nextLease = nextLease;
  }

  async run(ops: readonly Append[]): Promise<readonly (readonly number[] | Error)[]> {
    const { database, numbers } = this.#parts;
    const count = ops.reduce((sum, { routed }) => sum + routed.length, 0);
    const round = new Round(this.#parts, ops, await numbers.take(count), this.#nextLease);
    try {
      const [row] = await database.query(...round.statement());
      const [held, missing] = row as [number[] | null, number[] | null];
      return await this.#end(ops, round, { held: held ?? [], missing: missing ?? [] });
    } catch (error) {
      round.undo(() => true);
      // It may have been written all the same.
      round.wakeAll();
      throw error;
    }
  }

  async #end(
    ops: readonly Append[],
    round: Round,
    { held, missing }: { readonly held: readonly number[]; readonly missing: readonly number[] },
  ): Promise<readonly (readonly number[] | Error)[]> {
    const isStale = (op: number) => {
      const place = round.placeOf(op);
      return place > 0 && !held.includes(place);
    };
    const gone = new Set(missing);
    round.undo(({ op, delivery }) => isStale(op) || gone.has(delivery.id.subscription));
    round.wake(isStale);
    const stale = ops.map((_, index) => isStale(index));
    if (stale.includes(true)) await this.#parts.catchUp();
    return ops.map((_, index) => (stale[index] ? refuseRouting() : round.numbersOf(index)));
  }
}

/** The columns of one statement, and what is leased by it. */
class Round {
  readonly #parts: Parts;
  readonly #ops: readonly Append[];
  readonly #numbers: readonly (readonly number[])[];
  readonly #places: readonly number[];
  readonly #checks: RoutedBy[] = [];
  readonly #pushes: Push[] = [];
  /** Not leased: by queue, when the earliest is due, and by which operation. */
  readonly #others: { subscription: SubscriptionId; dueAt: Instant; op: number }[] = [];
  readonly #unchecked = new Set<SubscriptionId>();

  constructor(
    parts: Parts,
    ops: readonly Append[],
    numbers: readonly number[],
    nextLease: () => number,
  ) {
    this.#parts = parts;
    this.#ops = ops;
    let used = 0;
    this.#numbers = ops.map(({ routed: { length } }) => {
      used += length;
      return numbers.slice(used - length, used);
    });
    this.#places = ops.map(({ by }) => this.#check(by));
    for (const [op, { routed, now, by }] of ops.entries()) {
      for (const [index, { event, to }] of routed.entries()) {
        const number = this.#numbers[op]?.[index] as number;
        for (const subscription of to) {
          if (by === undefined) this.#unchecked.add(subscription);
          const id = { event: number, subscription };
          const push = this.#push(op, { event, id, now }, nextLease);
          if (push === null) this.#others.push({ subscription, dueAt: now, op });
          else this.#pushes.push(push);
        }
      }
    }
  }

  #check(by: RoutedBy | undefined): number {
    if (by === undefined) return 0;
    const known = this.#checks.findIndex((one) => one.topic === by.topic && one.mark === by.mark);
    return known >= 0 ? known + 1 : this.#checks.push(by);
  }

  #push(
    op: number,
    { event, id, now }: Pick<Delivery, "event" | "id"> & { readonly now: Instant },
    nextLease: () => number,
  ): Push | null {
    const { leases, isMine } = this.#parts;
    const slot = leases.slotOf(id.subscription);
    if (slot === undefined || !isMine(slot)) return null;
    const queue = leases.find({ subscription: id.subscription, stage: "deliver" });
    const leaseMs = queue?.take(event.text.length) ?? null;
    if (queue === undefined || leaseMs === null) return null;
    const lease = nextLease();
    const leasedUntil = now + leaseMs;
    queue.hold(id.event, { lease, until: leasedUntil });
    const { publishedAt: since } = event;
    const rest = { attempts: 0, since, last: null, reason: null, event };
    const delivery: Delivery = { id, stage: "deliver", lease, leasedUntil, dueAt: now, ...rest };
    return { op, leases: queue, delivery };
  }

  placeOf(op: number): number {
    return this.#places[op] ?? 0;
  }

  numbersOf(op: number): readonly number[] {
    return this.#numbers[op] ?? [];
  }

  statement(): [Statement, readonly unknown[]] {
    const { times } = this.#parts;
    const rows = {
      ...{ subscription: [] as number[], event: [] as number[], dueAt: [] as number[] },
      ...{ since: [] as number[], place: [] as number[], size: [] as number[] },
      ...{ meta: [] as (string | null)[], body: [] as (string | null)[] },
    };
    const shared = { number: [] as number[], meta: [] as string[], body: [] as string[] };
    for (const [op, { routed, now }] of this.#ops.entries()) {
      const dueAt = times.there(now);
      const place = this.placeOf(op);
      for (const [index, { event, to }] of routed.entries()) {
        if (to.length === 0) continue;
        const number = this.#numbers[op]?.[index] as number;
        const meta = metaOf(event);
        const isShared = to.length > 1;
        const since = times.there(event.publishedAt);
        if (isShared) {
          shared.number.push(number);
          shared.meta.push(meta);
          shared.body.push(event.text);
        }
        for (const subscription of to) {
          rows.subscription.push(subscription);
          rows.event.push(number);
          rows.dueAt.push(dueAt);
          rows.since.push(since);
          rows.place.push(place);
          rows.size.push(event.text.length);
          rows.meta.push(isShared ? null : meta);
          rows.body.push(isShared ? null : event.text);
        }
      }
    }
    const values = [
      textArray(this.#checks.map(({ topic }) => foldCase(topic))),
      int8Array(this.#checks.map(({ mark }) => mark)),
      ...[rows.subscription, rows.event, rows.dueAt, rows.since].map(int8Array),
      ...[rows.place, rows.size].map(int4Array),
      ...[rows.meta, rows.body].map(textArray),
      ...hintColumns(this.#hints()),
    ];
    if (shared.number.length === 0 && this.#unchecked.size === 0) return [appendPlain, values];
    return [
      append,
      [
        ...values,
        int8Array(shared.number),
        ...[shared.meta, shared.body].map(textArray),
        int8Array([...this.#unchecked]),
      ],
    ];
  }

  /** For the queues of other brokers. */
  #hints(): readonly Hint[] {
    const { leases, isMine, hints } = this.#parts;
    const earliest = new Map<SubscriptionId, Instant>();
    for (const { subscription, dueAt } of this.#others) {
      const slot = leases.slotOf(subscription);
      if (slot !== undefined && isMine(slot) && !leases.isPull(subscription)) continue;
      earliest.set(subscription, Math.min(dueAt, earliest.get(subscription) ?? dueAt));
    }
    return earliest.size === 0 ? [] : hints(earliest);
  }

  undo(test: (push: Push) => boolean): void {
    for (const [index, push] of [...this.#pushes.entries()].reverse()) {
      if (!test(push)) continue;
      push.leases.release(push.delivery.id.event);
      this.#pushes.splice(index, 1);
      const { subscription } = push.delivery.id;
      this.#others.push({ subscription, dueAt: push.delivery.dueAt, op: push.op });
    }
  }

  wake(isStale: (op: number) => boolean): void {
    const pushed = new Map<SubscriptionId, Delivery[]>();
    for (const { delivery } of this.#pushes) {
      const { subscription } = delivery.id;
      const deliveries = pushed.get(subscription);
      if (deliveries === undefined) pushed.set(subscription, [delivery]);
      else deliveries.push(delivery);
    }
    for (const [subscription, deliveries] of pushed) {
      const dueAt = Math.min(...deliveries.map((delivery) => delivery.dueAt));
      this.#parts.wake({ queue: { subscription, stage: "deliver" }, dueAt, deliveries });
    }
    this.#wakeOthers((op) => !isStale(op));
  }

  wakeAll(): void {
    this.#wakeOthers(() => true);
  }

  #wakeOthers(isMeant: (op: number) => boolean): void {
    const { leases, isMine } = this.#parts;
    const earliest = new Map<SubscriptionId, Instant>();
    for (const { subscription, dueAt, op } of this.#others) {
      const slot = leases.slotOf(subscription);
      const isHere = slot !== undefined && (isMine(slot) || leases.isPull(subscription));
      if (!isMeant(op) || !isHere) continue;
      earliest.set(subscription, Math.min(dueAt, earliest.get(subscription) ?? dueAt));
    }
    for (const [subscription, dueAt] of earliest) {
      ownWake(this.#parts, { subscription, stage: "deliver" }, dueAt);
    }
  }
}
