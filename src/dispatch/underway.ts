// A dispatcher's deliveries in flight: in sends, and in settlements after or without one. A
// settlement that the disk refuses is retried until it is accepted; when the dispatcher is aborted,
// it is dropped, and the leases end by themselves.

import type { Delivery } from "../core/delivery/delivery.ts";
import type { Clock, Settlement, Store } from "../core/ports.ts";
import { sleep } from "../core/text/time.ts";
import type { Report } from "./report.ts";

export const storeRetryMs = 1_000;

export interface UnderwayOptions {
  readonly deps: { readonly store: Store; readonly clock: Clock };
  /** Nothing is retried after this. */
  readonly signal: AbortSignal;
  /** Called when some have ended: there may be room for others. */
  readonly onEnded: () => void;
  readonly onBroken: (error: unknown) => void;
}

export class Underway {
  readonly #report: Report;
  readonly #options: UnderwayOptions;
  #size = 0;
  #onIdle: (() => void) | null = null;

  constructor(report: Report, options: UnderwayOptions) {
    this.#report = report;
    this.#options = options;
  }

  /** In deliveries. */
  get size(): number {
    return this.#size;
  }

  begin(count: number): void {
    this.#size += count;
  }

  end(count: number): void {
    this.#size -= count;
    if (this.#size === 0) this.#onIdle?.();
    this.#options.onEnded();
  }

  /** Resolves when nothing is in flight. */
  async idle(): Promise<void> {
    if (this.#size === 0) return;
    const idle = Promise.withResolvers<void>();
    this.#onIdle = idle.resolve;
    await idle.promise;
  }

  /** They can be claimed again, and have lost nothing. */
  giveBack(deliveries: readonly Delivery[]): void {
    if (deliveries.length === 0) return;
    this.finish(
      deliveries.map(({ id, lease }) => ({ kind: "back", delivery: id, lease })),
      () => {},
    );
  }

  /** There is no destination for them any more. */
  drop(deliveries: readonly Delivery[]): void {
    const { clock } = this.#options.deps;
    this.finish(
      deliveries.map(({ id, lease }) => ({ kind: "gone", delivery: id, lease })),
      (counted) => {
        for (const [index, delivery] of deliveries.entries()) {
          if (counted[index]) this.#report.stranded(delivery, clock.now());
        }
      },
    );
  }

  /**
   * Settles in the background, and calls `tell` afterwards. Never within this call: a store that
   * wakes us while it settles would start sends into room that our caller has counted on.
   */
  finish(settlements: readonly Settlement[], tell: (counted: readonly boolean[]) => void): void {
    this.begin(settlements.length);
    Promise.resolve()
      .then(() => this.settle(settlements))
      .then(tell)
      .then(() => this.end(settlements.length))
      .catch((error) => this.#options.onBroken(error));
  }

  settle(settlements: readonly Settlement[]): Promise<readonly boolean[]> {
    const settled = this.#options.deps.store.settle(settlements);
    return settled.catch((error: unknown) => this.#settleAgain(settlements, error));
  }

  async #settleAgain(
    settlements: readonly Settlement[],
    first: unknown,
  ): Promise<readonly boolean[]> {
    const { deps, signal } = this.#options;
    for (let error = first; ; ) {
      this.#report.storeFailed("settle", error);
      if (signal.aborted) return [];
      await sleep(deps.clock, storeRetryMs, signal);
      try {
        return await deps.store.settle(settlements);
      } catch (again) {
        error = again;
      }
    }
  }
}
