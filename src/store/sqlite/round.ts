// What is exchanged between the front of the embedded store and its engine: a round of operations
// that share one transaction, and their results. Plain values only, because the two may live on
// different threads.

import type { RedrivenNote } from "../../core/deadletter/letter-store.ts";
import type { DeliveryId, Queue, Stage } from "../../core/delivery/delivery.ts";
import type { Instant, Routed, RoutedBy, Settlement, Want } from "../../core/ports.ts";
import type { Ending, Receive } from "../../core/pull/pull-store.ts";
import type { RefusalCode } from "../../core/refusal.ts";
import type { RecordNames } from "../../core/registry.ts";
import type { SkipStep } from "../../core/steering.ts";
import type { SubscriptionDraft, SubscriptionId } from "../../core/subscription.ts";
import type { TopicDraft } from "../../core/topic.ts";

export type Op =
  | {
      readonly kind: "append";
      readonly routed: readonly Routed[];
      readonly now: Instant;
      readonly by: RoutedBy | undefined;
    }
  | { readonly kind: "claim"; readonly queue: Queue; readonly want: Want }
  | { readonly kind: "settle"; readonly settlements: readonly Settlement[] }
  | { readonly kind: "receive"; readonly of: SubscriptionId; readonly want: Receive }
  | { readonly kind: "takeEnded"; readonly of: SubscriptionId; readonly want: Ending }
  | { readonly kind: "locked"; readonly of: readonly SubscriptionId[]; readonly now: Instant }
  | { readonly kind: "counts" }
  | {
      readonly kind: "waiting";
      readonly queue: Queue;
      readonly after: number;
      readonly limit: number;
    }
  | { readonly kind: "look"; readonly ids: readonly DeliveryId[] }
  | { readonly kind: "skip"; readonly queue: Queue; readonly step: SkipStep | null }
  | {
      readonly kind: "hasten";
      readonly queue: Queue;
      readonly event: number | null;
      readonly now: Instant;
    }
  | { readonly kind: "find"; readonly systemId: string; readonly after: number }
  | { readonly kind: "notes"; readonly of: string }
  | {
      readonly kind: "putNote";
      readonly of: string;
      readonly key: string;
      readonly record: object | null;
    }
  | {
      readonly kind: "keepNote";
      readonly of: string;
      readonly key: string;
      readonly record: object;
    }
  | { readonly kind: "redriven"; readonly keys: readonly string[] }
  | { readonly kind: "noteRedriven"; readonly notes: readonly RedrivenNote[] }
  | { readonly kind: "catalog"; readonly only?: RecordNames | undefined }
  | { readonly kind: "putTopic"; readonly draft: TopicDraft; readonly revision: number | undefined }
  | {
      readonly kind: "putSubscription";
      readonly draft: SubscriptionDraft;
      readonly revision: number | undefined;
    }
  | { readonly kind: "removeTopic"; readonly name: string }
  | {
      readonly kind: "removeSubscription";
      readonly id: SubscriptionId;
      readonly revision: number | undefined;
    }
  /** One small step of cleaning up. */
  | { readonly kind: "sweep" };

/** The result of one operation. */
export type OpResult =
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "refused"; readonly code: RefusalCode; readonly reason: string }
  /** The disk failed; nothing of the operation has happened. */
  | { readonly kind: "failed"; readonly reason: string };

/** A delivery leased to a standing claim by the append that brought it. */
export interface Push {
  /** Which operation of the round, and which event of it. */
  readonly op: number;
  readonly index: number;
  readonly event: number;
  readonly subscription: SubscriptionId;
  readonly lease: number;
  readonly leasedUntil: Instant;
}

export interface Round {
  readonly answers: readonly OpResult[];
  readonly pushes: readonly Push[];
  readonly wakes: readonly { readonly queue: Queue; readonly dueAt: Instant }[];
  /** Topics and subscriptions that were written or deleted; null: none. */
  readonly changed: RecordNames | null;
  /** Deleted subscriptions whose last delivery has been dropped. */
  readonly dropped: readonly { readonly subscription: SubscriptionId; readonly count: number }[];
  /** There is more to clean up: sweep again when nothing else waits. */
  readonly sweep: boolean;
}

export const stageNumber: Readonly<Record<Stage, number>> = { deliver: 0, deadLetter: 1 };

export function stageOf(number: number): Stage {
  return number === 0 ? "deliver" : "deadLetter";
}
