// Cleaning up, a little at a time: what waited for deleted subscriptions, bodies that a crash left
// behind, and old notes. Any broker may do it; the row of a removal is locked meanwhile, and who
// drops the last delivery reports it. An append that was under way at the removal may bring more:
// so a removal is looked at once more when none can be left.

import type { SubscriptionId } from "../../core/subscription.ts";
import type { Parts } from "./parts.ts";
import { dropUnused } from "./settle.ts";

const stepRowsMax = 500;
/** Longer than any statement may take. */
const lateAppends = "60 seconds";

/** Own ones at once; those of others only when they are left alone. */
const nextRemoval = {
  name: "next_removal",
  text: `
  select subscription, dropped, ended_at is not null from removals
  where ended_at is null or ended_at < clock_timestamp() - interval '${lateAppends}'
  order by subscription limit 1 for update skip locked`,
};
const dropSome = {
  name: "drop_some",
  text: `
  delete from deliveries d using (
    select event from deliveries where subscription = $1
      and stage <= case when exists (select 1 from retired where id = $1) then 0 else 1 end
    limit ${stepRowsMax}
  ) s where d.subscription = $1 and d.event = s.event
  returning case when d.body is null then d.event end`,
};
const noteDropped = {
  name: "note_dropped",
  text: "update removals set dropped = $2, ended_at = case when $3 then clock_timestamp() end where subscription = $1",
};
const endRemoval = { name: "end_removal", text: "delete from removals where subscription = $1" };
const oldNotes = {
  name: "old_notes",
  text: `
  with notes as (
    delete from changes where version < (select version from catalog) - 10000
  ), letters as (
    delete from mail where at < clock_timestamp() - interval '1 minute'
  )
  select 1`,
};
const orphans = {
  name: "orphans",
  text: `
  with few as materialized (
    select number from events where number > $1 order by number limit 2000
  ), dropped as (
    delete from events e using few s where e.number = s.number
      and not exists (select 1 from deliveries d where d.event = e.number and d.body is null)
  )
  select max(number), count(*) from few`,
};

type Dropped = (subscription: SubscriptionId, count: number) => void;

export class PostgresSweep {
  readonly #parts: Parts;
  readonly #listeners: Dropped[] = [];
  /** What was dropped before anybody listened. */
  readonly #unheard: Parameters<Dropped>[] = [];
  #running: Promise<void> | null = null;
  #isAgain = false;
  /** Where the look for bodies without deliveries goes on. */
  #place = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  onDropped(listener: Dropped): void {
    this.#listeners.push(listener);
    for (const dropped of this.#unheard.splice(0)) listener(...dropped);
  }

  #tell(...dropped: Parameters<Dropped>): void {
    if (this.#listeners.length === 0) this.#unheard.push(dropped);
    for (const listener of this.#listeners) listener(...dropped);
  }

  /** Goes on in the background until nothing is left to drop. */
  begin(): void {
    this.#isAgain = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
  }

  /** Resolves when it rests. */
  async idle(): Promise<void> {
    await this.#running;
  }

  /** What one broker of the cluster does now and then. */
  async tidy(): Promise<void> {
    this.begin();
    const { database } = this.#parts;
    await database.query(oldNotes);
    const [row] = await database.query(orphans, [this.#place]);
    this.#place = row?.[1] === 2_000 ? (row[0] as number) : 0;
  }

  async #run(): Promise<void> {
    try {
      while (this.#isAgain) {
        this.#isAgain = false;
        while (await this.#step()) this.#isAgain = false;
      }
    } catch {
      // The heartbeat of the one that tidies comes back to it.
    }
  }

  /** False: there is nothing to drop. */
  async #step(): Promise<boolean> {
    const { database } = this.#parts;
    const bodies = await database.transaction(async (session) => {
      const [removal] = await session.query(nextRemoval);
      if (removal === undefined) return null;
      const [subscription, before, isSecond] = removal as [SubscriptionId, number, boolean];
      const rows = await session.query(dropSome, [subscription]);
      const dropped = before + rows.length;
      const isOver = rows.length < stepRowsMax;
      if (isOver && isSecond) await session.query(endRemoval, [subscription]);
      else
        await session.query(noteDropped, [subscription, isOver ? 0 : dropped, isOver || isSecond]);
      const shared = rows
        .map(([event]) => event as number | null)
        .filter((event) => event !== null);
      // Before it is written: rather told twice after a crash than never.
      if (isOver && (!isSecond || dropped > 0)) this.#tell(subscription, dropped);
      return shared;
    });
    if (bodies !== null) await dropUnused(this.#parts, bodies);
    return bodies !== null;
  }
}
