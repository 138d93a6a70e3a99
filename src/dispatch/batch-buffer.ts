// What a dispatcher has leased and not yet sent, in the order it came, and cut into what goes out
// in one request. Events of a batch that is to be halved (core/delivery/split.ts) are kept apart
// from others: the largest batch for each is remembered here, for a limited number of events; for
// others halving starts over.

import { type BatchPolicy, formBatches } from "../core/delivery/batch.ts";
import type { Delivery } from "../core/delivery/delivery.ts";
import { halfOf, splitSizesMax, togetherMax } from "../core/delivery/split.ts";

export class BatchBuffer {
  readonly #batch: BatchPolicy | null;
  /** The largest batch for an event, by its number, in the order of their last batch. */
  readonly #sizes = new Map<number, number>();
  #deliveries: Delivery[] = [];
  #chars = 0;

  /** Null: one event per request (B-5). */
  constructor(batch: BatchPolicy | null) {
    this.#batch = batch;
  }

  get size(): number {
    return this.#deliveries.length;
  }

  /** Characters of event text. */
  get chars(): number {
    return this.#chars;
  }

  add(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) {
      this.#deliveries.push(delivery);
      this.#chars += delivery.event.text.length;
    }
  }

  takeAll(): Delivery[] {
    return this.#take(this.#deliveries.length);
  }

  /** The next request's deliveries, up to this many events. */
  takeBatch(most: number): Delivery[] {
    if (this.#batch === null) return this.#take(1);
    // Nothing beyond these can be in the first batch.
    const next = this.#deliveries.slice(0, this.#batch.maxEvents);
    const [first] = formBatches(next, { policy: this.#batch, bytesOf: textBytes });
    const numbers = () => this.#deliveries.map(({ id }) => id.event);
    const together = this.#sizes.size === 0 ? most : togetherMax(numbers(), this.#sizes);
    return this.#take(Math.min(first?.length ?? 0, together, most));
  }

  /** One of the batch is bad: when they are here again, they are sent in halves. */
  halve(batch: readonly Delivery[]): void {
    const size = halfOf(batch.length);
    for (const { id } of batch) {
      this.#sizes.delete(id.event);
      this.#sizes.set(id.event, size);
    }
    for (const event of this.#sizes.keys()) {
      if (this.#sizes.size <= splitSizesMax) return;
      this.#sizes.delete(event);
    }
  }

  /** It is delivered or undeliverable. */
  clear({ id }: Delivery): void {
    if (this.#sizes.size > 0) this.#sizes.delete(id.event);
  }

  #take(count: number): Delivery[] {
    const taken = this.#deliveries.splice(0, count);
    for (const { event } of taken) this.#chars -= event.text.length;
    return taken;
  }
}

function textBytes({ event }: Delivery): number {
  return Buffer.byteLength(event.text);
}
