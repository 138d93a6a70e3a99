// What an operator does to waiting deliveries (the port Steering), at any broker: the owner of the
// queue is told by a notice, and what it has leased cannot be settled once it is dropped.

import type { Queue } from "../../core/delivery/delivery.ts";
import type { Instant } from "../../core/ports.ts";
import type { SkipStep } from "../../core/steering.ts";
import type { Row } from "./connection.ts";
import { stageNumber } from "./event-row.ts";
import { hintColumns, notifyAll } from "./hints.ts";
import { ownWake, type Parts } from "./parts.ts";
import { dropUnused, forgetWritten } from "./settle.ts";

/** Rows that one step changes. */
const steerRowsMax = 500;

/** Those of the next rows that existed at the beginning; and where the next step begins. */
const skip = {
  name: "skip",
  text: `
  with few as materialized (
    select event, due_at from deliveries
    where subscription = $1 and stage = $2 and (due_at, event) > ($3, $4)
    order by due_at, event limit ${steerRowsMax}
  ), dropped as (
    delete from deliveries d using few s
    where d.subscription = $1 and d.event = s.event and d.stage = $2 and d.event <= $5
    returning d.event, d.body is null as is_shared
  )
  select (select count(*) from few), (select count(*) from dropped),
    (select array_agg(event) from dropped where is_shared), (select array_agg(event) from dropped),
    (select due_at from few order by due_at desc, event desc limit 1),
    (select event from few order by due_at desc, event desc limit 1)`,
};

const hastenSome = {
  name: "hasten_some",
  text: `
  update deliveries d set due_at = $3
  from (select event from deliveries where subscription = $1 and stage = $2 and due_at > $3
    limit ${steerRowsMax}) s
  where d.subscription = $1 and d.event = s.event and d.due_at > $3 returning d.event`,
};

const hastenOne = {
  name: "hasten_one",
  text: `
  update deliveries d set due_at = least(d.due_at, case when h.event = d.event then $4
    else least($4, h.due_at - 1) end)
  from (select event, due_at from deliveries where subscription = $1 and stage = $2
    order by due_at, event limit 1) h
  where d.subscription = $1 and d.event = $3 and d.stage = $2 returning d.due_at`,
};

/** One look at everything: only people ask, and about one event. */
const find = {
  name: "find",
  text: `
  select event from (
    select number as event, meta from events
    union all select event, meta from deliveries where meta is not null
  ) all_events where starts_with(meta, $1) and event > $2 limit 1`,
};

export class PostgresSteering {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Goes through the queue in order. Deliveries settled meanwhile may move behind the current
   * position; so it goes through again, until nothing more is found.
   */
  async skip(queue: Queue, step: SkipStep | null) {
    const { database, leases, numbers } = this.#parts;
    if (leases.find(queue) === undefined) return { dropped: 0, next: null };
    const start = { dueAt: Number.MIN_SAFE_INTEGER, event: 0, hasDropped: false };
    const from = step ?? { ...start, through: await numbers.bound() };
    const which = [queue.subscription, stageNumber[queue.stage]];
    const place = [from.dueAt, from.event];
    const [row] = await database.query(skip, [...which, ...place, from.through]);
    const [seen, dropped, shared, all, dueAt, event] = row as Row;
    for (const one of all ?? []) leases.find(queue)?.release(one);
    await dropUnused(this.#parts, shared ?? []);
    if (leases.isRetired(queue.subscription))
      await forgetWritten(this.#parts, [queue.subscription]);
    const hasDropped = from.hasDropped || dropped > 0;
    if (seen === steerRowsMax) return { dropped, next: { ...from, dueAt, event, hasDropped } };
    return { dropped, next: hasDropped ? { ...from, ...start } : null };
  }

  async hasten(
    queue: Queue,
    { event, now }: { readonly event: number | null; readonly now: Instant },
  ): Promise<{ hastened: number; isOver: boolean }> {
    const { database, leases, times } = this.#parts;
    if (leases.find(queue) === undefined) return { hastened: 0, isOver: true };
    const which = [queue.subscription, stageNumber[queue.stage]];
    const rows =
      event === null
        ? await database.query(hastenSome, [...which, times.there(now)])
        : await database.query(hastenOne, [...which, event, times.there(now)]);
    const dueAt = event === null ? now : times.here(rows[0]?.[0] ?? 0);
    if (rows.length > 0) await this.#tell(queue, dueAt);
    return { hastened: rows.length, isOver: event !== null || rows.length < steerRowsMax };
  }

  async #tell(queue: Queue, dueAt: Instant): Promise<void> {
    const { database, leases, isMine, hints } = this.#parts;
    const slot = leases.slotOf(queue.subscription);
    if (slot !== undefined && isMine(slot)) return ownWake(this.#parts, queue, dueAt);
    const all = hints(new Map([[queue.subscription, dueAt]]));
    if (all.length > 0) await database.query(notifyAll, hintColumns(all));
  }

  async find(systemId: string, after: number): Promise<{ event: number | null; next: null }> {
    const begins = `${JSON.stringify([systemId]).slice(0, -1)},`;
    const [row] = await this.#parts.database.query(find, [begins, after]);
    return { event: row?.[0] ?? null, next: null };
  }
}
