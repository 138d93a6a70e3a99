// What a dispatcher has in hand: leased and not yet sent, in the order it came, and cut into what
// goes out in one request. Events that spoil batches are kept apart from the others here.

import { type BatchPolicy, formBatches } from "../core/delivery/batch.ts";
import { halfOf, splitSizesMax, togetherMax } from "../core/delivery/split.ts";
import type { Delivery } from "../core/ports.ts";

export class BatchBuffer {
  readonly #batch: BatchPolicy | null;
  readonly #suspects = new Suspects();
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

  /** What goes out in the next request, of at most so many events. */
  takeBatch(most: number): Delivery[] {
    if (this.#batch === null) return this.#take(1);
    const [first] = formBatches(this.#deliveries, { policy: this.#batch, bytesOf: textBytes });
    const together = this.#suspects.together(this.#deliveries);
    return this.#take(Math.min(first?.length ?? 0, together, most));
  }

  /** One of the batch spoils it: when they are in hand again, they go out in halves. */
  suspect(batch: readonly Delivery[]): void {
    this.#suspects.halve(batch);
  }

  /** It is delivered or given up. */
  clear(delivery: Delivery): void {
    this.#suspects.clear(delivery);
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

// Events that were in a batch which is to be halved (core/delivery/split.ts): how large a batch
// each of them may travel in. Known to one dispatcher and bounded; whatever is forgotten is halved
// anew.

export class Suspects {
  /** By event number, in the order of their last batch. */
  readonly #sizes = new Map<number, number>();

  /** The batch goes out again in halves. */
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

  /** How many at the head of the hand are under the same suspicion, or under none. */
  together(hand: readonly Delivery[]): number {
    if (this.#sizes.size === 0) return hand.length;
    return togetherMax(
      hand.map(({ id }) => id.event),
      this.#sizes,
    );
  }

  /** It is delivered or given up. */
  clear({ id }: Delivery): void {
    if (this.#sizes.size > 0) this.#sizes.delete(id.event);
  }
}
