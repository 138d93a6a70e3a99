// Events that were accepted since the last COMMIT and have not become rows: they are in the
// journal, and here. Most are delivered within milliseconds and leave no other trace. The others
// are spilled: written as rows, in any order, whenever that is needed.
//
// Everything a round changes here can be undone, because the round may fail; spilling cannot, and
// happens before a round.

import type { Instant, Routed } from "../../core/ports.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import { NumberMap } from "./number-map.ts";

export interface FreshEvent {
  readonly number: number;
  /** With the event, which may still be bytes. */
  readonly routed: Pick<Routed, "event">;
  /** When all of its deliveries are due: at once. */
  readonly dueAt: Instant;
  /** Those that are still to be delivered. */
  readonly to: SubscriptionId[];
}

/** Writes events and their deliveries as rows. */
export type AddEvents = (events: readonly FreshEvent[]) => void;

type Change = readonly [what: "added" | "taken" | "gone", fresh: FreshEvent, id: SubscriptionId];

export class Fresh {
  readonly #addEvents: AddEvents;
  readonly #events = new NumberMap<FreshEvent>();
  /** Those without a lease, by subscription and number, in the order of their due times. */
  readonly #free = new Map<SubscriptionId, Map<number, FreshEvent>>();
  /** Subscriptions whose free ones are not in order at present. */
  readonly #unordered = new Set<SubscriptionId>();
  /** The due time of the latest that was freed. */
  readonly #last = new Map<SubscriptionId, Instant>();
  #changes: Change[] = [];

  constructor(addEvents: AddEvents) {
    this.#addEvents = addEvents;
  }

  get isEmpty(): boolean {
    return this.#events.size === 0;
  }

  /** The deliveries have leases, or are freed by `free`. */
  add(fresh: FreshEvent): void {
    this.#events.set(fresh.number, fresh);
    this.#changes.push(["added", fresh, 0]);
  }

  /** Nobody has a lease for this delivery. */
  free(fresh: FreshEvent, subscription: SubscriptionId): void {
    const free = this.#free.get(subscription) ?? new Map<number, FreshEvent>();
    if ((this.#last.get(subscription) ?? fresh.dueAt) > fresh.dueAt) {
      this.#unordered.add(subscription);
    }
    this.#last.set(subscription, fresh.dueAt);
    this.#free.set(subscription, free.set(fresh.number, fresh));
  }

  find(event: number, subscription: SubscriptionId): FreshEvent | undefined {
    const fresh = this.#events.get(event);
    return fresh?.to.includes(subscription) ? fresh : undefined;
  }

  /** Without leases, the earliest first. */
  freeOf(subscription: SubscriptionId): Iterable<FreshEvent> {
    const free = this.#free.get(subscription);
    if (free === undefined) return [];
    if (!this.#unordered.delete(subscription)) return free.values();
    const ordered = [...free.values()].sort((a, b) => a.dueAt - b.dueAt || a.number - b.number);
    this.#free.set(subscription, new Map(ordered.map((fresh) => [fresh.number, fresh])));
    return ordered;
  }

  /** It has a lease now. */
  take(fresh: FreshEvent, subscription: SubscriptionId): void {
    this.#free.get(subscription)?.delete(fresh.number);
    this.#changes.push(["taken", fresh, subscription]);
  }

  /** Delivered. It had a lease. */
  remove(fresh: FreshEvent, subscription: SubscriptionId): void {
    fresh.to.splice(fresh.to.indexOf(subscription), 1);
    if (fresh.to.length === 0) this.#events.delete(fresh.number);
    this.#changes.push(["gone", fresh, subscription]);
  }

  keep(): void {
    this.#changes = [];
  }

  undo(): void {
    for (const [what, fresh, subscription] of this.#changes.reverse()) {
      if (what === "added") this.#forget(fresh);
      else if (what === "gone") {
        fresh.to.push(subscription);
        this.#events.set(fresh.number, fresh);
      } else {
        this.free(fresh, subscription);
        this.#unordered.add(subscription);
      }
    }
    this.#changes = [];
  }

  /** Writes all as rows, or these; within a transaction. `kept` when that has not failed. */
  spill(numbers: Iterable<number> = this.#events.keys()): { kept(): readonly FreshEvent[] } {
    const spilled: FreshEvent[] = [];
    for (const number of numbers) {
      const fresh = this.#events.get(number);
      if (fresh !== undefined) spilled.push(fresh);
    }
    // In this order rows are added at the end of their table.
    this.#addEvents(spilled.sort((a, b) => a.number - b.number));
    return {
      kept: () => {
        for (const fresh of spilled) this.#forget(fresh);
        return spilled;
      },
    };
  }

  /** They are rows: the journal was repeated. */
  clear(): void {
    this.#events.clear();
    this.#free.clear();
    this.#unordered.clear();
    this.#changes = [];
  }

  #forget(fresh: FreshEvent): void {
    this.#events.delete(fresh.number);
    for (const subscription of fresh.to) this.#free.get(subscription)?.delete(fresh.number);
  }
}
