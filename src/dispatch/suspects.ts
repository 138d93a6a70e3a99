// Events that were in a batch which is to be halved (core/delivery/split.ts): how large a batch
// each of them may travel in. Known to one dispatcher and bounded; whatever is forgotten is halved
// anew.

import { halfOf, splitSizesMax, togetherMax } from "../core/delivery/split.ts";
import type { Delivery } from "../core/ports.ts";

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
