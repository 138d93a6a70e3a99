// Notes on their way to the thread that keeps them: packed when they are made, as columns and as
// the text that will be written, so that the other side only joins texts. Few and flat values:
// sending to a thread costs per value.

import type { Event } from "../../core/event.ts";
import type { Instant } from "../../core/ports.ts";
import {
  type Fate,
  type Head,
  hasUnmatched,
  headOf,
  memberOf,
  membersOf,
  particularsOf,
  type StoryTexts,
  seatOf,
  stateAfter,
} from "../../core/story/chronicle.ts";
import {
  type AcceptedNote,
  type ClearedNote,
  type KeptAttempt,
  type KeptNote,
  keepAttempt,
  keepEnd,
  keepSteer,
  type Roll,
  type StoryNote,
} from "../../core/story/note.ts";
import type { Subscription, SubscriptionId } from "../../core/subscription.ts";

/** A subscription, as written. */
export interface PackedSeat {
  readonly subscription: SubscriptionId;
  readonly name: string;
  readonly json: string;
}

export interface Batch {
  readonly seats: readonly PackedSeat[];
  /** Those not sent before, by a number that only this process knows. */
  readonly rolls: readonly { readonly number: number; readonly members: string }[];
  /** See `Packer` for what follows what. */
  readonly flat: readonly Flat[];
  readonly notes: number;
}

export type Flat = string | number | null | ClearedNote;

/** Of all that waits to be written. */
export interface PackLimits {
  /** Beyond this, events are noted without their text. */
  readonly charsMax: number;
  /** Beyond this, notes are left out. */
  readonly notesMax: number;
  readonly texts: StoryTexts;
}

/** Of one batch, so that whoever reads waits for no more than one. */
export const batchNotesMax = 8_000;

/**
 * Which events are introduced by the notes about them, because nobody may have noted that they were
 * accepted: those published before that time, or those that were not accepted here.
 */
export type Introduces = Instant | "foreign";

/** Events accepted here that are remembered; twice as many for a while. */
const acceptedMax = 50_000;

/** What a batch is made of. Each `flat` run begins with its kind. */
export class Packer {
  readonly #limits: PackLimits;
  readonly #introduces: Introduces;
  /** Accepted here, lately. */
  #accepted = new Set<string>();
  #acceptedBefore = new Set<string>();
  readonly #rolls = new WeakMap<Roll, number>();
  /** A reloaded catalog has new values; most of them are equal to the old ones. */
  readonly #signatures = new Map<string, number>();
  /** Those the other side knows. */
  readonly #rollsSent = new Set<number>();
  #rollsMade = 0;
  /** Full batches, the first noted first. */
  readonly #full: Batch[] = [];
  /** In those. */
  #notesInFull = 0;
  #seats = new Map<Subscription, number>();
  #packedSeats: PackedSeat[] = [];
  #packedRolls: { number: number; members: string }[] = [];
  #flat: Flat[] = [];
  #chars = 0;
  #notes = 0;
  #dropped = 0;

  constructor(limits: PackLimits, introduces: Introduces) {
    this.#limits = limits;
    this.#introduces = introduces;
  }

  /** Notes that wait. */
  get size(): number {
    return this.#notesInFull + this.#notes;
  }

  /** The first batch, and how many notes were left out since the last one was taken. */
  take(): Batch & { readonly dropped: number } {
    const first = this.#full.shift();
    const taken = { ...(first ?? this.#seal()), dropped: this.#dropped };
    if (first !== undefined) this.#notesInFull -= first.notes;
    if (this.size === 0) this.#chars = 0;
    this.#dropped = 0;
    return taken;
  }

  /** What was packed; then a new batch begins. */
  #seal(): Batch {
    const batch = {
      seats: this.#packedSeats,
      rolls: this.#packedRolls,
      flat: this.#flat,
      notes: this.#notes,
    };
    this.#seats = new Map();
    this.#packedSeats = [];
    this.#packedRolls = [];
    this.#flat = [];
    this.#notes = 0;
    return batch;
  }

  add(note: StoryNote): void {
    if (this.size >= this.#limits.notesMax && !this.#isWorthRoom(note)) {
      this.#dropped += 1;
      return;
    }
    if (this.#notes >= batchNotesMax) {
      this.#notesInFull += this.#notes;
      this.#full.push(this.#seal());
    }
    this.#notes += 1;
    switch (note.kind) {
      case "accepted":
        this.#accept(note);
        return;
      case "attempted":
        this.#addTo(note.delivery, note.subscription, keepAttempt(note));
        return;
      case "ended":
        this.#addTo(note.delivery, note.subscription, keepEnd(note));
        return;
      case "steered":
        this.#addTo(note.delivery, note.subscription, keepSteer(note));
        return;
      case "cleared":
        this.#flat.push("cleared", note);
        return;
      case "recalled": {
        const { event, id, stage } = note.delivery;
        this.#head(event, id.event);
        const state = stage === "deliver" ? "waiting" : "deadLettering";
        this.#flat.push("recalled", event.systemId, this.#seat(note.subscription), state);
        return;
      }
      case "lost":
        this.#flat.push(
          "lost",
          note.event,
          note.subscription,
          textOf({ kind: "lost", at: note.at }),
        );
        return;
      default:
        note satisfies never;
    }
  }

  /** Successes are left out first, and failures when there are as many again. */
  #isWorthRoom(note: StoryNote): boolean {
    if (this.size >= 2 * this.#limits.notesMax) return false;
    if (note.kind === "accepted") return false;
    return note.kind !== "attempted" || note.decision.kind !== "delivered";
  }

  /** accepted, the head, the roll, the text, the particulars, how many seats, the seats. */
  #accept(note: AcceptedNote): void {
    const { event, id, subject, type, domainTopic, number, to, roll, at } = note;
    const { systemId, topic, text } = event;
    if (this.#introduces === "foreign") this.#remember(systemId);
    const isUnmatched = hasUnmatched(note);
    const isWanted = isUnmatched || this.#limits.texts === "all";
    const hasRoom = isWanted && this.#chars + text.length <= this.#limits.charsMax;
    if (hasRoom) this.#chars += text.length;
    const particulars = particularsOf(event, note.acceptedWith, Buffer.byteLength(text));
    this.#flat.push("accepted", systemId, id, topic, domainTopic, subject, type, at, number);
    this.#flat.push(isUnmatched ? this.#roll(roll) : 0, hasRoom ? text : null);
    this.#flat.push(JSON.stringify(particulars), to.length);
    for (const subscription of to) {
      const member = memberOf(roll, subscription);
      this.#flat.push(member === undefined ? -1 : this.#seat(member));
    }
  }

  /** noted, the event, the seat, the state it leaves, the note as text. */
  #addTo(
    { event, id }: { readonly event: Event; readonly id: { readonly event: number } },
    subscription: Subscription,
    note: KeptNote,
  ): void {
    if (this.#isUnknown(event)) this.#head(event, id.event);
    const seat = this.#seat(subscription);
    this.#flat.push("noted", event.systemId, seat, stateIn(note), textOf(note));
  }

  #isUnknown({ systemId, publishedAt }: Event): boolean {
    if (this.#introduces !== "foreign") return publishedAt < this.#introduces;
    return !this.#accepted.has(systemId) && !this.#acceptedBefore.has(systemId);
  }

  #remember(event: string): void {
    this.#accepted.add(event);
    if (this.#accepted.size < acceptedMax) return;
    this.#acceptedBefore = this.#accepted;
    this.#accepted = new Set();
  }

  /** head, the head, the particulars: in case the event is not known yet. */
  #head(event: Event, number: number): void {
    const { id, topic, domainTopic, subject, type, acceptedAt } = headOf(event, number);
    this.#flat.push("head", event.systemId, id, topic, domainTopic, subject, type, acceptedAt);
    this.#flat.push(number, JSON.stringify(particularsOf(event, "unknown")));
  }

  #seat(subscription: Subscription): number {
    const known = this.#seats.get(subscription);
    if (known !== undefined) return known;
    const seat = seatOf(subscription);
    const number = this.#packedSeats.length;
    this.#seats.set(subscription, number);
    const { name } = seat;
    this.#packedSeats.push({ subscription: subscription.id, name, json: JSON.stringify(seat) });
    return number;
  }

  #roll(roll: Roll): number {
    const number = this.#rolls.get(roll) ?? this.#number(roll);
    if (!this.#rollsSent.has(number)) {
      this.#rollsSent.add(number);
      this.#packedRolls.push({ number, members: JSON.stringify(membersOf(roll)) });
    }
    return number;
  }

  #number(roll: Roll): number {
    const signature = roll.members.map(({ id, revision }) => `${id}@${revision}`).join();
    const number = this.#signatures.get(signature) ?? ++this.#rollsMade;
    this.#rolls.set(roll, number);
    this.#signatures.set(signature, number);
    const oldest = this.#signatures.keys().next().value;
    if (this.#signatures.size > signaturesMax && oldest !== undefined) {
      this.#signatures.delete(oldest);
    }
    return number;
  }

  /** The other side has removed them: if needed, they are sent again. */
  forget(rolls: readonly number[]): void {
    for (const number of rolls) this.#rollsSent.delete(number);
  }
}

const signaturesMax = 1_000;

/** Takes values from a batch in the order they were added. */
export class Reader {
  readonly #flat: readonly Flat[];
  #place = 0;

  constructor(flat: readonly Flat[]) {
    this.#flat = flat;
  }

  get isAtEnd(): boolean {
    return this.#place >= this.#flat.length;
  }

  take<T extends Flat>(): T {
    return this.#flat[this.#place++] as T;
  }

  takeHead(): Head {
    return {
      event: this.take<string>(),
      id: this.take<string>(),
      topic: this.take<string>(),
      domainTopic: this.take<string | null>(),
      subject: this.take<string>(),
      type: this.take<string>(),
      acceptedAt: this.take<number>(),
      number: this.take<number | null>(),
    };
  }
}

/** The state that a note leads to; empty: unchanged. */
function stateIn(note: KeptNote): Fate["state"] | "" {
  const leaves = note.kind === "steered" || (note.kind === "attempted" && !note.counts);
  return leaves ? "" : stateAfter("waiting", note);
}

/** Most of what is written are attempts, so they are written without names. */
export function textOf(note: KeptNote): string {
  if (note.kind !== "attempted") return JSON.stringify(note);
  const { stage, number, at, durationMs, outcome, status, detail, excerpt } = note;
  const { isLate, batch, decision, words, nextDueAt, reason, health, counts, place, wire } = note;
  const flags = (isLate ? 1 : 0) + (counts ? 0 : 2);
  const row: Row = [
    stage,
    number,
    at,
    durationMs,
    outcome,
    status,
    detail,
    excerpt,
    flags,
    batch,
    decision,
    words,
    nextDueAt,
    reason,
    health,
    place,
  ];
  return JSON.stringify(wire === null ? row : [...row, wire]);
}

type Row = readonly [
  ...[stage: KeptAttempt["stage"], number: number, at: number, durationMs: number],
  ...[outcome: string, status: number | null, detail: string | null, excerpt: string | null],
  ...[flags: number, batch: number, decision: KeptAttempt["decision"], words: string | null],
  ...[nextDueAt: number | null, reason: string | null, health: string, place: KeptAttempt["place"]],
  wire?: KeptAttempt["wire"],
];

export function noteOf(written: KeptNote | Row): KeptNote {
  if (!Array.isArray(written)) return written as KeptNote;
  const [stage, number, at, durationMs, outcome, status, detail, excerpt, ...rest] = written as Row;
  const [flags, batch, decision, words, nextDueAt, reason, health, place, wire = null] = rest;
  return {
    kind: "attempted",
    ...{ stage, number, at, durationMs, outcome, status, detail, excerpt },
    ...{ isLate: (flags & 1) === 1, counts: (flags & 2) === 0 },
    ...{ batch, decision, words, nextDueAt, reason, health, place, wire },
  };
}
