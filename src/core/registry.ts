// Where topics and subscriptions are kept.

import type { Subscription, SubscriptionDraft, SubscriptionId } from "./subscription.ts";
import type { Topic, TopicDraft } from "./topic.ts";

export interface Catalog {
  readonly topics: readonly Topic[];
  readonly subscriptions: readonly Subscription[];
  /** Deleted ones whose dead letters are yet to be written (L-1), as a store reads them. */
  readonly retired?: readonly Subscription[];
}

/** Records of the catalog by what each is found by. */
export interface RecordNames {
  readonly topics: readonly string[];
  readonly subscriptions: readonly SubscriptionId[];
}

/**
 * Topics and subscriptions. Names are case-insensitive. A write with `revision` is refused
 * (PreconditionFailed) when the record has another one; with 0, when there is a record at all.
 */
export interface Registry {
  /**
   * The whole catalog as it is at one moment, or only the records named: those that do not exist
   * are left out of the answer.
   */
  catalog(only?: RecordNames): Promise<Catalog>;
  putTopic(draft: TopicDraft, revision?: number): Promise<Topic>;
  /**
   * Refusal: NotFound, when its topic does not exist. Keeps the id of a subscription that exists:
   * one of the same name on the same topic, or on the same topic of the same domain.
   */
  putSubscription(draft: SubscriptionDraft, revision?: number): Promise<Subscription>;
  /**
   * Deletes its subscriptions, too: the answer is which. Deleting what does not exist is no error.
   */
  removeTopic(name: string): Promise<readonly SubscriptionId[]>;
  /**
   * Its waiting deliveries are dropped in small steps, and counted. Its dead letters are kept until
   * they are written or dropped, and so long its record is among those `retired`. The answer says
   * whether this call has removed it: of several that try, one does.
   */
  removeSubscription(id: SubscriptionId, revision?: number): Promise<boolean>;
  /**
   * Called after every change, also one made by another process. A notice names the records that
   * were written or removed; the removal of a topic names its subscriptions, too. It does not carry
   * their content: the callee reads them with `catalog(only)`. So notices may be repeated, joined
   * or come late, and the latest read is always right.
   *
   * Null: anything may have changed. A store says so when it cannot name the records, for example
   * after it has lost the connection over which it hears of other processes.
   *
   * What a write has seen is reported before the write resolves: its own change, and when it is
   * refused with PreconditionFailed, the change that it collided with.
   */
  onChange(listener: (changed: RecordNames | null) => void): void;
  /**
   * Resolves when every change made before the call, by anyone, has been reported. Absent: only
   * this process writes.
   */
  catchUp?(): Promise<void>;
  /**
   * Called when the last of what waited for a removed subscription has been dropped: in the process
   * that dropped it, and again if an append that was under way has brought more.
   */
  onDropped(listener: (subscription: SubscriptionId, count: number) => void): void;
}
