// What an operator does while events flow, as ports: to what waits in the store, to the dispatchers
// and to the endpoints they send to; and the notebook in which it is remembered. Who may, and in
// which steps, is told in control/operator.ts.

import type { Health, HealthRules } from "./delivery/health.ts";
import type { Closure, HealthChange } from "./delivery/health-text.ts";
import type { Instant, Queue } from "./ports.ts";
import type { Subscription, SubscriptionId } from "./subscription.ts";

/**
 * What an operator does to what waits. Each call is one small step, so that nobody waits long for
 * it; whoever asks goes on until there is no next one. A step that rejects has not happened, and
 * the whole may be begun again.
 */
export interface Steering {
  /**
   * Drops what waits in a queue, leased or not, as long as its event was there when the first step
   * was made. Settlements of what is dropped are ignored.
   */
  skip(
    queue: Queue,
    step: SkipStep | null,
  ): Promise<{ readonly dropped: number; readonly next: SkipStep | null }>;
  /**
   * Makes what waits in a queue due now. With an event, that one alone, and before all others;
   * nothing when it does not wait there.
   */
  hasten(
    queue: Queue,
    which: { readonly event: number | null; readonly now: Instant },
  ): Promise<{ readonly hastened: number; readonly isOver: boolean }>;
  /** The number of the event with this `systemId`; null when there is none, or not yet found. */
  find(
    systemId: string,
    after: number,
  ): Promise<{ readonly event: number | null; readonly next: number | null }>;
}

/** Where a skip goes on. */
export interface SkipStep {
  /** The latest event that was there at its beginning. */
  readonly through: number;
  readonly dueAt: Instant;
  readonly event: number;
  /** Whether this walk through the queue has dropped anything: then there is another one. */
  readonly hasDropped: boolean;
}

export interface EndpointState {
  /** What people call it: the URL without its query, or the resource. */
  readonly name: string;
  /** Whether its profile leaves an unhealthy endpoint alone for a while (P-10). */
  readonly isDelayed: boolean;
  readonly health: Health;
  readonly closure: Closure | null;
  /** Under way now. */
  readonly sends: number;
  /** Since the broker started, the latest last; bounded. */
  readonly changes: readonly HealthChange[];
  readonly rules: HealthRules;
}

export interface Switchboard {
  /** In the order of their names; one that no subscription sends to is not there. */
  endpoints(): readonly (EndpointState & { readonly subscriptions: readonly Subscription[] })[];
  /** By name, also those that no subscription sends to now. */
  closures(): ReadonlyMap<string, Closure>;
  /** Nothing is sent there until it is opened or reset, also where no endpoint is yet. */
  closeEndpoint(name: string, closure: Closure): void;
  openEndpoint(name: string, order: "opened" | "reset", closure: Closure): void;
  /** The subscription's dispatcher gives back what it holds, and takes nothing meanwhile. */
  hold(subscription: SubscriptionId): () => void;
  /**
   * Its next attempt may be made now, also at an unhealthy endpoint. `dueAt`: of what was made due,
   * if anything. Answers whether that has brought the test of an unhealthy endpoint forward.
   */
  hasten(subscription: SubscriptionId, dueAt: Instant | null): boolean;
}

/** Small records for whoever needs to remember something: few, and each of a kind. */
export interface Memos {
  notes(kind: string): Promise<readonly Memo[]>;
  /** Null removes it. Durable when it resolves. */
  putMemo(kind: string, key: string, record: object | null): Promise<void>;
}

export interface Memo {
  readonly key: string;
  /** As it was put. */
  readonly record: object;
}
