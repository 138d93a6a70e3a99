// What waits: one row for each delivery, in one line for each queue, sorted by due time and then by
// event, so that a backlog costs a binary search and not a sort.

import type {
  Delivery,
  DeliveryId,
  LastAttempt,
  Queue,
  Stage,
} from "../../core/delivery/delivery.ts";
import type { Event } from "../../core/event.ts";
import type { Seen } from "../../core/ledger.ts";
import type { Instant } from "../../core/ports.ts";

export interface Row {
  readonly id: DeliveryId;
  readonly event: Event;
  stage: Stage;
  dueAt: Instant;
  since: Instant;
  attempts: number;
  last: LastAttempt | null;
  reason: string | null;
  /** The latest lease ever given; 0 before the first. */
  lease: number;
  /** Null when it is not leased. */
  leasedUntil: Instant | null;
}

export class Lines {
  readonly #rows = new Map<string, Row>();
  readonly #lines = new Map<string, Row[]>();
  #leasesMade = 0;

  get rows(): Iterable<Row> {
    return this.#rows.values();
  }

  row(id: DeliveryId): Row | undefined {
    return this.#rows.get(rowKey(id));
  }

  of(queue: Queue): readonly Row[] {
    return this.#lines.get(lineKey(queue)) ?? [];
  }

  add(row: Row): void {
    this.#rows.set(rowKey(row.id), row);
    this.#enqueue(row);
  }

  /** Changes a row, and with it its place. */
  move(row: Row, change: Partial<Row>): void {
    this.#dequeue(row);
    Object.assign(row, change);
    this.#enqueue(row);
  }

  remove(row: Row): void {
    this.#dequeue(row);
    this.#rows.delete(rowKey(row.id));
  }

  /** Removes all that waits there; the result is how many there were. */
  clear(queue: Queue): number {
    const line = this.of(queue);
    for (const row of line) this.#rows.delete(rowKey(row.id));
    this.#lines.delete(lineKey(queue));
    return line.length;
  }

  newLease(): number {
    this.#leasesMade += 1;
    return this.#leasesMade;
  }

  #enqueue(row: Row): void {
    const key = lineKey(queueOf(row));
    const line = this.#lines.get(key) ?? [];
    line.splice(placeOf(line, row), 0, row);
    this.#lines.set(key, line);
  }

  #dequeue(row: Row): void {
    const line = this.#lines.get(lineKey(queueOf(row)));
    line?.splice(placeOf(line, row), 1);
  }
}

export function queueOf({ id, stage }: Row): Queue {
  return { subscription: id.subscription, stage };
}

/** As readers see it. */
export function look(row: Row): Seen {
  const { id, stage, dueAt, attempts, since, last, reason, event } = row;
  return { id, stage, dueAt, attempts, since, last, reason, event };
}

export function leased(row: Row, until: Instant): Delivery {
  return { ...look(row), lease: row.lease, leasedUntil: until };
}

/** The row's position in the sorted line, or where it would be inserted. */
function placeOf(line: readonly Row[], row: Row): number {
  let low = 0;
  let high = line.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = line[middle] as Row;
    if (other.dueAt < row.dueAt || (other.dueAt === row.dueAt && other.id.event < row.id.event)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

function rowKey(id: DeliveryId): string {
  return `${id.event}/${id.subscription}`;
}

function lineKey(queue: Queue): string {
  return `${queue.subscription}/${queue.stage}`;
}
