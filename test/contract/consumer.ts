// A consumer of one queue, as the contract allows one to be: what it is leased comes with its
// claims or with the wakes of a standing claim, and it counts both. Also the waiting for facts
// that tests of a store need.

import type { Delivery, Queue } from "../../src/core/delivery/delivery.ts";
import type { Claim, Store, Wake, Want } from "../../src/core/ports.ts";
import { Looks } from "../fixtures/looks.ts";

export class Consumer {
  readonly #store: Store;
  readonly #queue: Queue;
  readonly wakes: Wake[] = [];
  #pushed: Delivery[] = [];
  readonly #looks = new Looks();

  constructor(store: Store, queue: Queue) {
    this.#store = store;
    this.#queue = queue;
    store.onWake((wake) => {
      if (wake.queue.subscription !== queue.subscription || wake.queue.stage !== queue.stage) {
        return;
      }
      this.wakes.push(wake);
      this.#pushed.push(...wake.deliveries);
      this.#looks.again();
    });
  }

  /** Claims; the answer begins with what wakes have brought since the last time. */
  async take(want: Want): Promise<Claim & { readonly deliveries: Delivery[] }> {
    const claim = await this.#store.claim(this.#queue, want);
    return { ...claim, deliveries: [...this.pushed(), ...claim.deliveries] };
  }

  /** What wakes have brought since the last time. */
  pushed(): Delivery[] {
    const pushed = this.#pushed;
    this.#pushed = [];
    return pushed;
  }

  /** Resolves with the first wake, come or coming, of which this is true. */
  woken(test: (wake: Wake) => boolean): Promise<Wake> {
    return this.#looks.found(() => this.wakes.find(test));
  }
}
