// Notes: what the rooms tell the chronicle, as it happens and by reference, so that telling costs
// next to nothing; and notes as they are kept, in plain values that can cross threads and time.
//
// A note speaks of one event. Nothing is decided from notes: whoever loses some loses a story and
// no event.

import type { DeadLetterLocation } from "../api/views.ts";
import type { Outcome } from "../delivery/outcome.ts";
import { type Decision, explain } from "../delivery/retry.ts";
import type { Event } from "../event.ts";
import type { Delivery, Instant, Stage } from "../ports.ts";
import type { Subscription, SubscriptionId } from "../subscription.ts";

/** Those who were asked whether they want an event; the same value until one of them changes. */
export interface Roll {
  readonly members: readonly Subscription[];
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
  /** `key1`, `key2`, `sas key1`, `bearer`, `none`, `notice`, `redrive`. */
  readonly acceptedWith: string;
  /** The store's, by which its ledger is asked; null: nobody wanted it, and it was not stored. */
  readonly number: number | null;
  /** Those of the roll who want it. */
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
  /** Event Grid's word for the outcome. */
  readonly outcomeName: string;
  /** It came after we had stopped waiting for it. */
  readonly isLate: boolean;
  /** How many events travelled together. */
  readonly batch: number;
  /** How the endpoint was when it was sent, in words. */
  readonly health: string;
}

export interface AttemptedNote extends Attempt {
  readonly kind: "attempted";
  readonly subscription: Subscription;
  readonly delivery: Delivery;
  readonly decision: Decision;
  /** False: another send had taken its place meanwhile, and the decision had no effect. */
  readonly counts: boolean;
}

/** Ended, or sent on to the dead letters, without an attempt. */
export interface EndedNote {
  readonly kind: "ended";
  readonly at: Instant;
  readonly subscription: Subscription;
  readonly delivery: Pick<Delivery, "id" | "event" | "stage">;
  readonly decision: "deadLetter" | "drop";
  readonly reason: string;
  readonly words: string;
  /** When the dead letter is to be written. */
  readonly nextDueAt: Instant | null;
}

/** What a person did about a delivery: hastened, skipped or sent it again. */
export interface SteeredNote {
  readonly kind: "steered";
  readonly at: Instant;
  readonly subscription: Subscription;
  readonly delivery: Pick<Delivery, "id" | "event" | "stage">;
  readonly words: string;
  readonly nextDueAt: Instant | null;
}

/** Whatever waited for a subscription has been dropped: it is gone, or someone skipped it. */
export interface ClearedNote {
  readonly kind: "cleared";
  readonly at: Instant;
  readonly subscription: SubscriptionId;
  /** In this stage alone; null: in both. */
  readonly stage: Stage | null;
  /** Only events up to this number of the store's; null: all. */
  readonly through: number | null;
  readonly reason: string;
  readonly words: string;
}

/** Found waiting in the store after a crash; of its past nothing may be known. */
export interface RecalledNote {
  readonly kind: "recalled";
  readonly subscription: Subscription;
  readonly delivery: Pick<Delivery, "id" | "event" | "stage">;
}

/** Held to be waiting after a crash, and not found in the store. */
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

/** A subscription as stories name it. */
export interface Seat {
  readonly subscription: SubscriptionId;
  readonly topic: string;
  readonly domainTopic: string | null;
  readonly name: string;
  readonly endpoint: string;
}

/** An attempt as it is kept. */
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
  /** Null for what a success says of itself. */
  readonly words: string | null;
  readonly nextDueAt: Instant | null;
  readonly reason: string | null;
  readonly health: string;
  readonly counts: boolean;
  readonly place: DeadLetterLocation | null;
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

/** Its end was never noted: all we know is that it waits no more. */
export interface KeptLoss {
  readonly kind: "lost";
  readonly at: Instant;
}

export type KeptNote = KeptAttempt | KeptEnd | KeptSteer | KeptLoss;

/** What is kept of an answer, for people. */
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
