// What an operator can do while the broker runs, as ports: to waiting deliveries in the store, to
// the dispatchers and to their endpoints; and the notebook that stores it. control/operator.ts uses
// them.

import type { Queue } from "./delivery/delivery.ts";
import type { Health, HealthRules } from "./delivery/health.ts";
import type { Closure, HealthChange } from "./delivery/health-text.ts";
import type { Outcome } from "./delivery/outcome.ts";
import type { Instant } from "./ports.ts";
import type { Subscription, SubscriptionId } from "./subscription.ts";

/**
 * What an operator does to waiting deliveries. Each call is one small step, so that nothing else
 * waits long; the caller repeats it until there is no next one. A step that rejects has not
 * happened, and the whole may be started again.
 */
export interface Steering {
  /**
   * Drops the waiting deliveries of a queue, leased or not, whose events existed at the first step.
   * What this process appends afterwards is kept; of what others append before the last step, some
   * may be dropped. Later settlements of what was dropped are ignored.
   */
  skip(
    queue: Queue,
    step: SkipStep | null,
  ): Promise<{ readonly dropped: number; readonly next: SkipStep | null }>;
  /**
   * Makes the waiting deliveries of a queue due now. With an event, only that one, ahead of all
   * others; nothing if it does not wait there.
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

/** Where a skip continues. */
export interface SkipStep {
  /** No event that existed at its beginning has a higher number. */
  readonly through: number;
  readonly dueAt: Instant;
  readonly event: number;
  /** Whether this pass through the queue has dropped anything: then there is another pass. */
  readonly hasDropped: boolean;
}

export interface EndpointState {
  /** Its name for people: the URL without its query, or the resource. */
  readonly name: string;
  /** Whether its profile leaves an unhealthy endpoint alone for a while (P-10). */
  readonly isDelayed: boolean;
  readonly health: Health;
  readonly closure: Closure | null;
  /** In flight now. */
  readonly sends: number;
  /** Failed sends in a row. */
  readonly failures: number;
  /** What the last of them was; null: none is known. */
  readonly trouble: Trouble | null;
  /** Since the broker started, the latest last; bounded. */
  readonly changes: readonly HealthChange[];
  readonly rules: HealthRules;
}

/** Failures in a row. */
export interface Trouble {
  /** When the first of them ended. */
  readonly since: Instant;
  /** Of the last one. */
  readonly outcome: Outcome;
}

export type EndpointUse = EndpointState & { readonly subscriptions: readonly Subscription[] };

/** The endpoints of all brokers. */
export interface Switchboard {
  /** In the order of their names; endpoints without a subscription are left out. */
  endpoints(): Promise<readonly EndpointUse[]>;
  /** By name, also those that no subscription sends to now. */
  closures(): ReadonlyMap<string, Closure>;
  /** Nothing is sent there until it is opened or reset, also if no subscription uses it yet. */
  closeEndpoint(name: string, closure: Closure): Promise<void>;
  openEndpoint(name: string, order: "opened" | "reset", closure: Closure): Promise<void>;
}

/** The endpoints that this broker sends to, and its dispatchers. */
export interface OwnSwitchboard {
  endpoints(): readonly EndpointUse[];
  closures(): ReadonlyMap<string, Closure>;
  closeEndpoint(name: string, closure: Closure): void;
  openEndpoint(name: string, order: "opened" | "reset", closure: Closure): void;
  /** The subscription's dispatcher gives back what it holds, and claims nothing meanwhile. */
  hold(subscription: SubscriptionId): () => void;
  /**
   * Its next attempt may be made now, also at an unhealthy endpoint. `dueAt`: of what was made due,
   * if anything. Answers whether that has brought the test of an unhealthy endpoint forward.
   */
  hasten(subscription: SubscriptionId, dueAt: Instant | null): boolean;
}

/** Small records of a kind: few of each. */
export interface Memos {
  notes(kind: string): Promise<readonly Memo[]>;
  /** Null removes it. Durable when it resolves. */
  putMemo(kind: string, key: string, record: object | null): Promise<void>;
  /** Puts it unless there is one, and answers the one there is: what several brokers share. */
  keepMemo(kind: string, key: string, record: object): Promise<object>;
}

export interface Memo {
  readonly key: string;
  /** As it was put. */
  readonly record: object;
}
