// A batch of notes, grouped by event: what has to be written for each.

import type { DeliveryState } from "../../core/api/views.ts";
import type { Instant } from "../../core/ports.ts";
import type { Head, Particulars } from "../../core/story/chronicle.ts";
import type { KeptAttempt } from "../../core/story/note.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import { textOf } from "./attempt-text.ts";
import { type Batch, BatchReader, type PackedSeat, type PackedText } from "./batch.ts";
import { decisions, kinds, stages, stateIn } from "./pack.ts";

/** What is reported about one delivery. */
export interface Act {
  /** `seat`: it exists, in this state, if nothing was known about it. `lost`: if it was open. */
  readonly kind: "seat" | "note" | "lost";
  readonly subscription: SubscriptionId;
  readonly seat: PackedSeat | null;
  /** Empty: unchanged. */
  readonly state: DeliveryState | "";
  /** As written. */
  readonly note: string | null;
}

/** What is reported about one event. */
export interface EventNotes {
  readonly event: string;
  /** When it was accepted, in case nothing else of its acceptance is told; null: not known. */
  acceptedAt: Instant | null;
  head: Head | null;
  /** As written. */
  particulars: string | null;
  isAccepted: boolean;
  /** The number of the roll in the process that reports it; 0: all of it matched the event. */
  roll: number;
  text: PackedText | null;
  readonly acts: Act[];
}

/** In groups of at most so many notes: what is told of an event may be in several. */
export function* groupNotes(
  batch: Batch,
  notesMax = Number.POSITIVE_INFINITY,
): Generator<EventNotes[]> {
  const { seats } = batch;
  let notes = 0;
  let tellings = new Map<string, EventNotes>();
  const of = (event: string) => {
    const known = tellings.get(event);
    if (known !== undefined) return known;
    const made = newEventNotes(event);
    tellings.set(event, made);
    return made;
  };
  const from = new BatchReader(batch);
  const takeSeat = () => seats[from.number()] ?? null;
  const beginnings = new Map<PackedSeat, Act>();
  /** The same object for all events of the batch. */
  const takeBeginning = () => {
    const seat = takeSeat();
    const known = seat === null ? null : beginnings.get(seat);
    if (seat === null || known !== undefined) return known ?? null;
    const { subscription } = seat;
    const made: Act = { kind: "seat", subscription, seat, state: "waiting", note: null };
    beginnings.set(seat, made);
    return made;
  };
  const takeAbout = () => {
    const telling = of(from.word());
    telling.acceptedAt = from.number();
    const seat = takeSeat();
    return { acts: telling.acts, seat, subscription: seat?.subscription ?? 0 };
  };
  let accepted: Accepted | null = null;
  let attempt: Act | null = null;
  while (!from.isAtEnd) {
    if (++notes > notesMax) {
      yield [...tellings.values()];
      tellings = new Map();
      notes = 1;
    }
    switch (from.number()) {
      case kinds.accepted:
        accepted = takeAccepted(from, takeBeginning);
        tell(of(accepted.head.event), accepted);
        break;
      case kinds.acceptedAlike:
        accepted = takeAlike(from, accepted as Accepted);
        tell(of(accepted.head.event), accepted);
        break;
      case kinds.attemptedAlike: {
        const telling = of(from.word());
        telling.acceptedAt = from.number();
        telling.acts.push(attempt as Act);
        break;
      }
      case kinds.head: {
        const head = takeHead(from);
        const particulars = particularsText(from.number(), takeParticulars(from));
        const telling = of(head.event);
        if (telling.head === null) Object.assign(telling, { head, particulars });
        break;
      }
      case kinds.attempted: {
        const { acts, seat, subscription } = takeAbout();
        const kept = takeAttempt(from);
        const state = stateIn(kept);
        attempt = { kind: "note", subscription, seat, state, note: textOf(kept) };
        acts.push(attempt);
        break;
      }
      case kinds.noted: {
        const { acts, seat, subscription } = takeAbout();
        const state = from.word() as DeliveryState | "";
        acts.push({ kind: "note", subscription, seat, state, note: from.word() });
        break;
      }
      case kinds.recalled: {
        const { acts, seat, subscription } = takeAbout();
        const state = stages[from.number()] === "deliver" ? "waiting" : "deadLettering";
        acts.push({ kind: "seat", subscription, seat, state, note: null });
        break;
      }
      default: {
        const { acts } = of(from.word());
        const subscription = from.number();
        acts.push({ kind: "lost", subscription, seat: null, state: "unknown", note: from.word() });
      }
    }
  }
  yield [...tellings.values()];
}

function newEventNotes(event: string): EventNotes {
  return {
    event,
    acceptedAt: null,
    head: null,
    particulars: null,
    isAccepted: false,
    roll: 0,
    text: null,
    acts: [],
  };
}

/** An event's acceptance. What has the same particulars but bytes, roll and seats is alike. */
interface Accepted {
  readonly head: Head;
  readonly bytes: number;
  readonly text: PackedText | null;
  /** As written; with those bytes. */
  readonly particulars: string;
  readonly more: ParticularsButBytes;
  readonly roll: number;
  readonly seats: readonly Act[];
}

type ParticularsButBytes = Omit<Particulars, "bytes">;

function takeAccepted(from: BatchReader, takeBeginning: () => Act | null): Accepted {
  const head = takeHead(from);
  const bytes = from.number();
  const more = takeParticulars(from);
  const particulars = particularsText(bytes, more);
  const roll = from.number();
  const text = from.number() === 1 ? from.text(bytes) : null;
  const seats: Act[] = [];
  for (let left = from.number(); left > 0; left--) {
    const beginning = takeBeginning();
    if (beginning !== null) seats.push(beginning);
  }
  return { head, bytes, text, particulars, more, roll, seats };
}

function takeAlike(from: BatchReader, last: Accepted): Accepted {
  const event = from.word();
  const id = from.word();
  const { topic, domainTopic, type, acceptedAt } = last.head;
  const subject = from.wordOrNull() ?? last.head.subject;
  const number = from.numberOrNull();
  const bytes = from.number();
  const text = from.number() === 1 ? from.text(bytes) : null;
  const { more, roll, seats } = last;
  const particulars = bytes === last.bytes ? last.particulars : particularsText(bytes, more);
  const head = { event, id, topic, domainTopic, subject, type, acceptedAt, number };
  return { head, bytes, text, particulars, more, roll, seats };
}

function tell(telling: EventNotes, { head, text, particulars, roll, seats }: Accepted): void {
  telling.head = head;
  telling.acceptedAt = head.acceptedAt;
  telling.isAccepted = true;
  telling.particulars = particulars;
  telling.roll = roll;
  telling.text = text;
  for (const seat of seats) telling.acts.push(seat);
}

function takeHead(from: BatchReader): Head {
  return {
    event: from.word(),
    id: from.word(),
    topic: from.word(),
    domainTopic: from.wordOrNull(),
    subject: from.word(),
    type: from.word(),
    acceptedAt: from.number(),
    number: from.numberOrNull(),
  };
}

function takeParticulars(from: BatchReader): ParticularsButBytes {
  return {
    schema: from.word() as Particulars["schema"],
    acceptedWith: from.word(),
    traceparent: from.wordOrNull(),
    dataVersion: from.word(),
    envelope: from.wordOrNull(),
  };
}

function particularsText(bytes: number, { schema, ...more }: ParticularsButBytes): string {
  return JSON.stringify({ schema, bytes, ...more } satisfies Particulars);
}

function takeAttempt(from: BatchReader): KeptAttempt {
  const stage = stages[from.number()] ?? "deliver";
  const number = from.number();
  const at = from.number();
  const durationMs = from.number();
  const outcome = from.word();
  const status = from.numberOrNull();
  const detail = from.wordOrNull();
  const excerpt = from.wordOrNull();
  const flags = from.number();
  const batch = from.number();
  const decision = decisions[from.number()] ?? "retry";
  const words = from.wordOrNull();
  const nextDueAt = from.numberOrNull();
  const reason = from.wordOrNull();
  const health = from.word();
  const rest = from.wordOrNull();
  const { place, wire } = rest === null ? nothingMore : (JSON.parse(rest) as typeof nothingMore);
  return {
    kind: "attempted",
    stage,
    number,
    at,
    durationMs,
    outcome,
    status,
    detail,
    excerpt,
    isLate: (flags & 1) === 1,
    counts: (flags & 2) === 2,
    batch,
    decision,
    words,
    nextDueAt,
    reason,
    health,
    place,
    wire,
  };
}

const nothingMore: Pick<KeptAttempt, "place" | "wire"> = { place: null, wire: null };
