// Packs notes as they are made into batches for whoever keeps them (batch.ts), and leaves out what
// there is no room for. `group-notes.ts` reads them in the same order.

import type { Stage } from "../../core/delivery/delivery.ts";
import type { Event } from "../../core/event.ts";
import type { Instant } from "../../core/ports.ts";
import { routingMark } from "../../core/routing/routing-mark.ts";
import {
  type Fate,
  type Head,
  hasUnmatched,
  headOf,
  membersOf,
  type Particulars,
  particularsOf,
  type StoryTexts,
  seatOf,
  stateAfter,
} from "../../core/story/chronicle.ts";
import {
  type AcceptedNote,
  type AttemptedNote,
  type Block,
  type ClearedNote,
  type KeptAttempt,
  type KeptNote,
  keepAttempt,
  keepEnd,
  keepSteer,
  type RecalledNote,
  type Roll,
  type StoryNote,
} from "../../core/story/note.ts";
import type { Subscription } from "../../core/subscription.ts";
import { textOf } from "./attempt-text.ts";
import {
  type Batch,
  BatchWriter,
  type Numbers,
  type PackedBlock,
  type PackedRoll,
  type PackedSeat,
} from "./batch.ts";
import { Told } from "./told.ts";

/** What a record in a batch is about; each begins with its kind. */
export const kinds = {
  accepted: 1,
  head: 2,
  attempted: 3,
  noted: 4,
  recalled: 5,
  lost: 6,
  acceptedAlike: 7,
  attemptedAlike: 8,
} as const;

export const stages: readonly Stage[] = ["deliver", "deadLetter"];
export const decisions: readonly KeptAttempt["decision"][] = [
  "delivered",
  "retry",
  "deadLetter",
  "drop",
];

/** Of all that waits to be written. */
export interface PackLimits {
  /** Beyond this, events are noted without their text. */
  readonly charsMax: number;
  /** Beyond this, notes are left out. */
  readonly notesMax: number;
  readonly texts: StoryTexts;
}

/** Of one batch, so that whoever reads waits for no more than one, and a stop for few. */
export const batchNotesMax = 2_000;

/**
 * Which events are introduced by the notes about them, because nobody may have noted that they were
 * accepted: those published before that time, or those that were not accepted here.
 */
export type Introduces = Instant | "foreign";

/** Events accepted here that are remembered; twice as many for a while. */
const acceptedMax = 50_000;

export class Packer {
  readonly #limits: PackLimits;
  readonly #introduces: Introduces;
  /** Accepted here, lately. */
  #accepted = new Set<string>();
  #acceptedBefore = new Set<string>();
  readonly #rolls = new Told<Roll>();
  readonly #blocks = new Told<Block>();
  /** Full batches, the first noted first. */
  readonly #full: Batch[] = [];
  /** In those. */
  #notesInFull = 0;
  #seats = new Map<Subscription, number>();
  #packedSeats: PackedSeat[] = [];
  #packedRolls: PackedRoll[] = [];
  #packedBlocks: PackedBlock[] = [];
  #clearances: ClearedNote[] = [];
  /** The last of this batch: what comes in one request or goes in one delivery is mostly alike. */
  #lastAccepted: AcceptedNote | null = null;
  #lastAttempted: AttemptedNote | null = null;
  readonly #writer = new BatchWriter();
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

  /** There is a batch that takes no more. */
  get hasFull(): boolean {
    return this.#full.length > 0;
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

  /** Leaves out all that waits. Returns how many notes. */
  abandon(): number {
    const { size } = this;
    this.#full.length = 0;
    this.#notesInFull = 0;
    this.#seal();
    return size;
  }

  /** What was packed; then a new batch begins. */
  #seal(): Batch {
    const batch = {
      ...this.#writer.seal(),
      seats: this.#packedSeats,
      rolls: this.#packedRolls,
      blocks: this.#packedBlocks,
      clearances: this.#clearances,
      notes: this.#notes,
    };
    this.#seats = new Map();
    this.#packedSeats = [];
    this.#packedRolls = [];
    this.#packedBlocks = [];
    this.#clearances = [];
    this.#lastAccepted = null;
    this.#lastAttempted = null;
    this.#notes = 0;
    return batch;
  }

  add(note: StoryNote): void {
    if (this.size >= this.#limits.notesMax && !this.#isWorthRoom(note)) {
      this.#dropped += 1;
      return;
    }
    this.#notes += 1;
    this.#pack(note);
    if (this.#notes < batchNotesMax && !this.#writer.isFull) return;
    this.#notesInFull += this.#notes;
    this.#full.push(this.#seal());
  }

  #pack(note: StoryNote): void {
    switch (note.kind) {
      case "accepted":
        this.#accept(note);
        return;
      case "attempted":
        this.#attempted(note);
        return;
      case "ended":
        this.#about(kinds.noted, note);
        this.#other(keepEnd(note));
        return;
      case "steered":
        this.#about(kinds.noted, note);
        this.#other(keepSteer(note));
        return;
      case "cleared":
        this.#clearances.push(note);
        return;
      case "recalled": {
        const { event, id } = note.delivery;
        this.#head(event, id.event);
        this.#about(kinds.recalled, note);
        this.#writer.number(stages.indexOf(note.delivery.stage));
        return;
      }
      case "lost":
        this.#writer.number(kinds.lost);
        this.#writer.word(note.event);
        this.#writer.number(note.subscription);
        this.#writer.word(textOf({ kind: "lost", at: note.at }));
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

  /**
   * accepted, the head, the text's bytes and whether it follows, how many seats, the seats. Or
   * acceptedAlike, both ids, the subject unless it is the same, the number, the text's bytes and
   * whether it follows.
   */
  #accept(note: AcceptedNote): void {
    const { event, id, subject, type, domainTopic, number, to, roll, at } = note;
    const { systemId, topic, text } = event;
    if (this.#introduces === "foreign") this.#remember(systemId);
    const isUnmatched = hasUnmatched(note);
    const isWanted = isUnmatched || this.#limits.texts === "all";
    const hasRoom = isWanted && this.#chars + text.length <= this.#limits.charsMax;
    if (hasRoom) this.#chars += text.length;
    const writer = this.#writer;
    const bytes = hasRoom ? writer.text(text) : Buffer.byteLength(text);
    const last = this.#lastAccepted;
    this.#lastAccepted = note;
    if (last !== null && isAcceptedAlike(note, last)) {
      writer.number(kinds.acceptedAlike);
      writer.word(systemId);
      writer.word(id);
      writer.word(subject === last.subject ? null : subject);
      writer.number(number);
      writer.number(bytes);
      writer.number(hasRoom ? 1 : 0);
      return;
    }
    writer.number(kinds.accepted);
    const head = { event: systemId, id, topic, domainTopic, subject, type, acceptedAt: at, number };
    this.#writeHead(head, particularsOf(event, note.acceptedWith, bytes));
    writer.number(isUnmatched ? this.#roll(roll) : 0);
    writer.number(hasRoom ? 1 : 0);
    writer.number(to.length);
    for (const subscription of to) {
      const member = roll.get(subscription);
      writer.number(member === undefined ? -1 : this.#seat(member));
    }
  }

  /** The kind, the event and its time, the seat. */
  #about(
    kind: number,
    { delivery: { event, id }, subscription }: Pick<RecalledNote, "delivery" | "subscription">,
  ): void {
    if (kind !== kinds.recalled && this.#isUnknown(event)) this.#head(event, id.event);
    this.#writer.number(kind);
    this.#writer.word(event.systemId);
    this.#writer.number(event.publishedAt);
    this.#writer.number(this.#seat(subscription));
  }

  /** attempted, and all of it; or attemptedAlike, the event and its time. */
  #attempted(note: AttemptedNote): void {
    const { event } = note.delivery;
    const last = this.#lastAttempted;
    this.#lastAttempted = note;
    if (last === null || !isAttemptedAlike(note, last) || this.#isUnknown(event)) {
      this.#about(kinds.attempted, note);
      this.#attempt(keepAttempt(note));
      return;
    }
    this.#writer.number(kinds.attemptedAlike);
    this.#writer.word(event.systemId);
    this.#writer.number(event.publishedAt);
  }

  #attempt(note: KeptAttempt): void {
    const writer = this.#writer;
    writer.number(stages.indexOf(note.stage));
    writer.number(note.number);
    writer.number(note.at);
    writer.number(note.durationMs);
    writer.word(note.outcome);
    writer.number(note.status);
    writer.word(note.detail);
    writer.word(note.excerpt);
    writer.number((note.isLate ? 1 : 0) + (note.counts ? 2 : 0));
    writer.number(note.batch);
    writer.number(decisions.indexOf(note.decision));
    writer.word(note.words);
    writer.number(note.nextDueAt);
    writer.word(note.reason);
    writer.word(note.health);
    const { place, wire } = note;
    writer.word(place === null && wire === null ? null : JSON.stringify({ place, wire }));
  }

  /** The state it leads to, and the note as text. */
  #other(note: KeptNote): void {
    this.#writer.word(stateIn(note));
    this.#writer.word(textOf(note));
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

  /** In case the event is not known yet. */
  #head(event: Event, number: number): void {
    this.#writer.number(kinds.head);
    this.#writeHead(headOf(event, number), particularsOf(event, "unknown"));
  }

  #writeHead(head: Head, particulars: Particulars): void {
    const writer = this.#writer;
    writer.word(head.event);
    writer.word(head.id);
    writer.word(head.topic);
    writer.word(head.domainTopic);
    writer.word(head.subject);
    writer.word(head.type);
    writer.number(head.acceptedAt);
    writer.number(head.number);
    writer.number(particulars.bytes);
    writer.word(particulars.schema);
    writer.word(particulars.acceptedWith);
    writer.word(particulars.traceparent);
    writer.word(particulars.dataVersion);
    writer.word(particulars.envelope);
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
    const known = this.#rolls.sent(roll);
    if (known !== undefined) return known;
    const blocks = roll.blocks.map((block) => this.#block(block));
    const { number, isNew } = this.#rolls.send(roll, blocks.join());
    if (isNew) this.#packedRolls.push({ number, blocks });
    return number;
  }

  #block(block: Block): number {
    const known = this.#blocks.sent(block);
    if (known !== undefined) return known;
    const { number, isNew } = this.#blocks.send(block, routingMark(0, block.values()));
    if (isNew)
      this.#packedBlocks.push({ number, members: JSON.stringify(membersOf(block.values())) });
    return number;
  }

  /** The other side does not have them any more: if needed, they are sent again. */
  forget({ rolls, blocks }: Numbers): void {
    this.#lastAccepted = null;
    this.#rolls.forget(rolls);
    this.#blocks.forget(blocks);
  }

  /** It is not known what the other side has. */
  forgetAll(): void {
    this.#lastAccepted = null;
    this.#rolls.forgetAll();
    this.#blocks.forgetAll();
  }
}

/** Whether only ids, subject, number and text are its own. */
function isAcceptedAlike(note: AcceptedNote, last: AcceptedNote): boolean {
  const { event, to } = note;
  const other = last.event;
  return (
    note.at === last.at &&
    note.roll === last.roll &&
    note.type === last.type &&
    note.domainTopic === last.domainTopic &&
    note.acceptedWith === last.acceptedWith &&
    event.topic === other.topic &&
    event.schema === other.schema &&
    event.trace === other.trace &&
    event.dataVersion === other.dataVersion &&
    event.envelope === other.envelope &&
    isSameList(to, last.to)
  );
}

function isSameList(one: readonly number[], other: readonly number[]): boolean {
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index += 1) {
    if (one[index] !== other[index]) return false;
  }
  return true;
}

/** Whether it is of the same send, and what became of it is the same. */
function isAttemptedAlike(note: AttemptedNote, last: AttemptedNote): boolean {
  return (
    note.outcome === last.outcome &&
    note.subscription === last.subscription &&
    note.startedAt === last.startedAt &&
    note.endedAt === last.endedAt &&
    note.number === last.number &&
    note.isLate === last.isLate &&
    note.counts === last.counts &&
    note.batch === last.batch &&
    note.health === last.health &&
    note.delivery.stage === last.delivery.stage &&
    note.decision.kind === "delivered" &&
    last.decision.kind === "delivered"
  );
}

/** The state that a note leads to; empty: unchanged. */
export function stateIn(note: KeptNote): Fate["state"] | "" {
  const leaves = note.kind === "steered" || (note.kind === "attempted" && !note.counts);
  return leaves ? "" : stateAfter("waiting", note);
}
