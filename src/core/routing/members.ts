// The subscriptions of one scope, in blocks of neighbouring ids. A block never changes: one more
// subscription or one less makes another of it, and a copy shares all of them. So whoever keeps
// something of each subscription keeps it by block, and of thousands only what changed is new.

import type { Block, Roll } from "../story/note.ts";
import type { Subscription, SubscriptionId } from "../subscription.ts";

const blockSize = 64;

export class Members implements Roll {
  readonly #blocks: Map<number, Block>;
  #size = 0;

  constructor(subscriptions: Iterable<Subscription> | Members = []) {
    this.#blocks = new Map(subscriptions instanceof Members ? subscriptions.#blocks : []);
    if (subscriptions instanceof Members) this.#size = subscriptions.size;
    else for (const one of subscriptions) this.put(one);
  }

  get size(): number {
    return this.#size;
  }

  get blocks(): readonly Block[] {
    return [...this.#blocks.values()];
  }

  get(id: SubscriptionId): Subscription | undefined {
    return this.#blocks.get(placeOf(id))?.get(id);
  }

  *[Symbol.iterator](): Generator<Subscription> {
    for (const block of this.#blocks.values()) yield* block.values();
  }

  put(subscription: Subscription): void {
    const { id } = subscription;
    const block = this.#blocks.get(placeOf(id));
    this.#size += block?.has(id) === true ? 0 : 1;
    this.#blocks.set(placeOf(id), new Map(block).set(id, subscription));
  }

  remove(id: SubscriptionId): void {
    const place = placeOf(id);
    const block = this.#blocks.get(place);
    if (block?.has(id) !== true) return;
    this.#size -= 1;
    const left = new Map(block);
    left.delete(id);
    if (left.size === 0) this.#blocks.delete(place);
    else this.#blocks.set(place, left);
  }
}

function placeOf(id: SubscriptionId): number {
  return Math.floor(id / blockSize);
}
