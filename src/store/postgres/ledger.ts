// Reading and counting (the port Ledger). Counting goes through an index of everything that waits;
// where that takes long, its answer is used again for a while, so that counting never costs more
// than a small part of the database's time.

import type { DeliveryId, Queue } from "../../core/delivery/delivery.ts";
import type { QueueCount, Seen } from "../../core/ledger.ts";
import type { Instant } from "../../core/ports.ts";
import { int8Array } from "./binary.ts";
import { columns, seenOf, stageNumber, stageOf } from "./event-row.ts";
import type { Parts } from "./parts.ts";

const count = {
  name: "count",
  text: `
  select subscription, stage, count(*), min(since), min(due_at) from deliveries
  group by subscription, stage order by subscription, stage`,
};

/** By the key: the `+` keeps the index of due times out, of which all would have to be sorted. */
const waiting = {
  name: "waiting",
  text: `
  select ${columns} from (
    select * from deliveries
    where subscription = $1 and stage + 0 = $2 and event > $3 order by event limit $4
  ) d left join events e on d.body is null and e.number = d.event order by d.event`,
};

const look = {
  name: "look",
  text: `
  select x.place, ${columns}
  from unnest($1::int8[], $2::int8[]) with ordinality x(subscription, event, place)
  join deliveries d on d.subscription = x.subscription and d.event = x.event
  left join events e on d.body is null and e.number = d.event`,
};

/** Up to so many are always counted anew. */
const fewMax = 100_000;
/** Beyond, a count that took a millisecond is used again for this many. */
const restFactor = 50;

export class PostgresLedger {
  readonly #parts: Parts;
  #counted: { readonly counts: Promise<readonly QueueCount[]>; until: Instant } | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async counts(): Promise<readonly QueueCount[]> {
    const { clock, leases } = this.#parts;
    if (this.#counted === null || clock.now() >= this.#counted.until) {
      const begun = clock.now();
      const counted = { counts: this.#count(), until: begun };
      this.#counted = counted;
      counted.counts.then(
        (counts) => {
          const tookMs = clock.now() - begun;
          const all = counts.reduce((sum, count) => sum + count.waiting, 0);
          if (all > fewMax) counted.until = clock.now() + tookMs * restFactor;
        },
        () => {},
      );
    }
    return (await this.#counted.counts).filter((queue) => leases.find(queue) !== undefined);
  }

  async #count(): Promise<readonly QueueCount[]> {
    const { database, times } = this.#parts;
    const rows = await database.query(count);
    return rows.map(([subscription, stage, number, since, dueAt]) => ({
      ...{ subscription, stage: stageOf(stage), waiting: number },
      ...{ oldestAt: times.here(since), nextDueAt: times.here(dueAt) },
    }));
  }

  async waiting(
    queue: Queue,
    page: { readonly after: number; readonly limit: number },
  ): Promise<readonly Seen[]> {
    const { database, leases, times } = this.#parts;
    if (leases.find(queue) === undefined) return [];
    const which = [queue.subscription, stageNumber[queue.stage]];
    const rows = await database.query(waiting, [...which, page.after, Math.min(page.limit, 1000)]);
    return rows.map((row) => seenOf(row, times));
  }

  async look(ids: readonly DeliveryId[]): Promise<readonly (Seen | null)[]> {
    const { database, leases, times } = this.#parts;
    const found: (Seen | null)[] = ids.map(() => null);
    const rows = await database.query(look, [
      int8Array(ids.map(({ subscription }) => subscription)),
      int8Array(ids.map(({ event }) => event)),
    ]);
    for (const [place, ...row] of rows) {
      const seen = seenOf(row, times);
      const { subscription } = seen.id;
      const isThere = leases.find({ subscription, stage: seen.stage }) !== undefined;
      if (isThere) found[place - 1] = seen;
    }
    return found;
  }
}
