// Looks at the queues of this broker now and then, whatever notices say: each that has something
// due earlier than its reader was told is woken. Most are empty, and cost one look into an index.

import { everySlot } from "../../core/cluster/slot.ts";
import type { Queue } from "../../core/delivery/delivery.ts";
import type { Instant } from "../../core/ports.ts";
import { int8Array } from "./binary.ts";
import type { Claims } from "./claim.ts";
import type { QueueLeases } from "./leases.ts";
import { ownWake, type Parts } from "./parts.ts";

const subscriptionsPerStatement = 5_000;
const queuesPerStatement = 1_000;

/** With a limit, or it might be planned as one pass through everything that waits. */
const notEmpty = {
  name: "not empty",
  text: `
  select x.id from unnest($1::int8[]) x(id) cross join lateral (
    select 1 from deliveries d where d.subscription = x.id limit 1
  ) d`,
};

export class QueueLook {
  readonly #parts: Parts;
  readonly #claims: Claims;
  readonly #isOver: () => boolean;
  #count = 0;

  constructor(parts: Parts, claims: Claims, isOver: () => boolean) {
    this.#parts = parts;
    this.#isOver = isOver;
    this.#claims = claims;
  }

  /** How many subscriptions there were the last time. */
  get count(): number {
    return this.#count;
  }

  async look(): Promise<void> {
    const { leases, isMine, database } = this.#parts;
    const ids = leases.idsOf(new Set(everySlot.filter(isMine)));
    this.#count = ids.length;
    for (const some of inParts(ids, subscriptionsPerStatement)) {
      if (this.#isOver()) return;
      const rows = await database.query(notEmpty, [int8Array(some)]);
      const queues = rows.flatMap(([id]) => leases.queuesOf(id));
      for (const few of inParts(queues, queuesPerStatement)) await this.#lookAt(few);
    }
  }

  async #lookAt(some: readonly { readonly queue: Queue; readonly leases: QueueLeases }[]) {
    if (this.#isOver()) return;
    const queues = some.map(({ queue }) => queue);
    const dueAts = await this.#claims.look(queues, this.#parts.clock.now());
    for (const [index, { queue, leases }] of some.entries()) {
      const dueAt: Instant | null = dueAts[index] ?? null;
      const isLate = leases.nextDueAt === null || (dueAt ?? 0) < leases.nextDueAt;
      if (dueAt !== null && isLate) ownWake(this.#parts, queue, dueAt);
    }
  }
}

function inParts<T>(all: readonly T[], length: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(all.length / length) }, (_, part) =>
    all.slice(part * length, (part + 1) * length),
  );
}
