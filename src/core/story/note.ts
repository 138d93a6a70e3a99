// Notes: what the rooms report to the chronicle, as it happens and by reference, so that it costs
// next to nothing; and notes as they are stored, as plain values that can be sent to a thread.
//
// A note is about one event. Nothing is decided from notes: losing some loses a story, never an
// event.

import type { DeadLetterLocation } from "../api/views.ts";
import type { Delivery, Stage } from "../delivery/delivery.ts";
import type { Outcome } from "../delivery/outcome.ts";
import { type Decision, explain } from "../delivery/retry.ts";
import type { Event } from "../event.ts";
import type { Instant } from "../ports.ts";
import type { Subscription, SubscriptionId } from "../subscription.ts";
import { type KeptWire, keepWire } from "./wire.ts";

/** Some of a roll. Never changes, and is on as many rolls as have the same. */
export type Block = ReadonlyMap<SubscriptionId, Subscription>;

/** The subscriptions considered for an event; the same value until one of them changes. */
export interface Roll {
  readonly size: number;
  readonly blocks: readonly Block[];
  get(id: SubscriptionId): Subscription | undefined;
}

export interface AcceptedNote {
  readonly kind: "accepted";
  readonly at: Instant;
  readonly event: Event;
  /** The publisher's. */
  readonly id: string;
  readonly subject: string;
  readonly type: string;
  readonly domainTopic: string | null;
  /** `key1`, `key2`, `sas key1`, `bearer`, `none`, `notice`, `redrive`, `resend`. */
  readonly acceptedWith: string;
  /**
   * The store's number, for lookups in its ledger; null: nothing matched, and it was not stored.
   */
  readonly number: number | null;
  /** Those of the roll that match. */
  readonly to: readonly SubscriptionId[];
  readonly roll: Roll;
}

/** One send of one delivery. */
export interface Attempt {
  /** From one. */
  readonly number: number;
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  readonly outcome: Outcome;
  /** Event Grid's name for the outcome. */
  readonly outcomeName: string;
  /** It came after the wait for the answer had ended. */
  readonly isLate: boolean;
  /** How many events were in the request. */
  readonly batch: number;
  /** The endpoint's health when it was sent, as text. */
  readonly health: string;
}

export interface AttemptedNote extends Attempt {
  readonly kind: "attempted";
  readonly subscription: Subscription;
  readonly delivery: Delivery;
  readonly decision: Decision;
  /** False: a later send had replaced it, and the decision had no effect. */
  readonly counts: boolean;
}

/** Ended, or moved on to the dead letters, without an attempt. */
export interface EndedNote {
  readonly kind: "ended";
  readonly at: Instant;
  readonly subscription: Subscription;
  readonly delivery: Pick<Delivery, "id" | "event" | "stage">;
  readonly decision: "deadLetter" | "drop";
  readonly reason: string;
  readonly words: string;
  /** When the dead letter will be written. */
  readonly nextDueAt: Instant | null;
}

/** What an operator did to a delivery: hastened, skipped or redrove it. */
export interface SteeredNote {
  readonly kind: "steered";
  readonly at: Instant;
  readonly subscription: Subscription;
  readonly delivery: Pick<Delivery, "id" | "event" | "stage">;
  readonly words: string;
  readonly nextDueAt: Instant | null;
}

/** All waiting deliveries of a subscription were dropped: it was deleted, or skipped. */
export interface ClearedNote {
  readonly kind: "cleared";
  readonly at: Instant;
  readonly subscription: SubscriptionId;
  /** Only in this stage; null: in both. */
  readonly stage: Stage | null;
  /** Only events up to this number of the store's; null: all. */
  readonly through: number | null;
  readonly reason: string;
  readonly words: string;
}

/** Found waiting in the store after a crash; its past may not be known. */
export interface RecalledNote {
  readonly kind: "recalled";
  readonly subscription: Subscription;
  readonly delivery: Pick<Delivery, "id" | "event" | "stage">;
}

/** Was thought to be waiting after a crash, and not found in the store. */
export interface LostNote {
  readonly kind: "lost";
  readonly at: Instant;
  /** Our own id of the event. */
  readonly event: string;
  readonly subscription: SubscriptionId;
}

export type StoryNote =
  | AcceptedNote
  | AttemptedNote
  | EndedNote
  | SteeredNote
  | ClearedNote
  | RecalledNote
  | LostNote;

/** A subscription as named in stories. */
export interface Seat {
  readonly subscription: SubscriptionId;
  readonly topic: string;
  readonly domainTopic: string | null;
  readonly name: string;
  readonly endpoint: string;
}

/** An attempt as stored. */
export interface KeptAttempt {
  readonly kind: "attempted";
  readonly stage: Stage;
  readonly number: number;
  readonly at: Instant;
  readonly durationMs: number;
  readonly outcome: string;
  readonly status: number | null;
  readonly detail: string | null;
  readonly excerpt: string | null;
  readonly isLate: boolean;
  readonly batch: number;
  readonly decision: Decision["kind"];
  /** Null for what follows from a success. */
  readonly words: string | null;
  readonly nextDueAt: Instant | null;
  readonly reason: string | null;
  readonly health: string;
  readonly counts: boolean;
  readonly place: DeadLetterLocation | null;
  /**
   * Of attempts that failed, and of one that succeeded for each URL and minute; null: it was not
   * kept, or nothing was sent over HTTP.
   */
  readonly wire: KeptWire | null;
}

export interface KeptEnd {
  readonly kind: "ended";
  readonly at: Instant;
  readonly stage: Stage;
  readonly decision: "deadLetter" | "drop";
  readonly reason: string;
  readonly words: string;
  readonly nextDueAt: Instant | null;
}

export interface KeptSteer {
  readonly kind: "steered";
  readonly at: Instant;
  readonly words: string;
  readonly nextDueAt: Instant | null;
}

/** Its end was never noted: it is only known that it no longer waits. */
export interface KeptLoss {
  readonly kind: "lost";
  readonly at: Instant;
}

export type KeptNote = KeptAttempt | KeptEnd | KeptSteer | KeptLoss;

/** How much is kept of an answer. */
const excerptCharsMax = 512;

export function keepAttempt(note: AttemptedNote): KeptAttempt {
  const { outcome, decision, delivery, subscription, startedAt, endedAt } = note;
  const isAnswered = outcome.kind === "answered";
  const written = isAnswered ? outcome.written : undefined;
  const account = accountIn(subscription.deadLetter?.resourceId);
  return {
    kind: "attempted",
    stage: delivery.stage,
    number: note.number,
    at: startedAt,
    durationMs: endedAt - startedAt,
    outcome: note.outcomeName,
    status: isAnswered ? outcome.status : null,
    detail: outcome.detail ?? null,
    excerpt: isAnswered ? cut(outcome.excerpt) : null,
    isLate: note.isLate,
    batch: note.batch,
    decision: decision.kind,
    words: decision.kind === "delivered" ? null : explain(decision),
    nextDueAt: "at" in decision ? decision.at : null,
    reason: "reason" in decision ? decision.reason : null,
    health: note.health,
    counts: note.counts,
    place: written ? { account, container: written.container, blob: written.path } : null,
    wire: outcome.exchanged === undefined ? null : keepWire(outcome.exchanged, subscription),
  };
}

export function keepEnd({ at, delivery, decision, reason, words, nextDueAt }: EndedNote): KeptEnd {
  return { kind: "ended", at, stage: delivery.stage, decision, reason, words, nextDueAt };
}

export function keepSteer({ at, words, nextDueAt }: SteeredNote): KeptSteer {
  return { kind: "steered", at, words, nextDueAt };
}

export function keepClearance({ at, reason, words }: ClearedNote, stage: Stage): KeptEnd {
  return { kind: "ended", at, stage, decision: "drop", reason, words, nextDueAt: null };
}

function cut(text: string | undefined): string | null {
  if (text === undefined) return null;
  return text.length > excerptCharsMax ? `${text.slice(0, excerptCharsMax)}…` : text;
}

/** The last segment of its resource id. */
function accountIn(resourceId: string | undefined): string {
  return resourceId?.slice(resourceId.lastIndexOf("/") + 1) ?? "";
}
