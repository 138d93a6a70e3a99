// The chronicle in memory: the reference implementation, and what a broker with a memory store
// uses. It can be read as the specification of the port.
//
// Bounded like any other: by age and by an estimate of its size, the least needed first
// (core/story/chronicle.ts).

import type { Event } from "../../core/event.ts";
import type { Clock } from "../../core/ports.ts";
import {
  acceptedUnseen,
  type Chronicle,
  type DeliveryNotes,
  type Entry,
  type EventQuery,
  type Head,
  hasUnmatched,
  headOf,
  isFound,
  isOpen,
  type Listed,
  type Member,
  membersOf,
  type Particulars,
  particularsOf,
  type Rank,
  type Retention,
  rankOf,
  readCursor,
  type StoryTexts,
  seatOf,
  stateAfter,
  writeCursor,
} from "../../core/story/chronicle.ts";
import {
  type AcceptedNote,
  type Block,
  type ClearedNote,
  type KeptNote,
  keepAttempt,
  keepClearance,
  keepEnd,
  keepSteer,
  type LostNote,
  type RecalledNote,
  type Roll,
  type Seat,
  type StoryNote,
} from "../../core/story/note.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import { Watchers } from "./watchers.ts";

/** The approximate size of an entry and a note, without their texts. */
const entryBytes = 600;
const noteBytes = 300;
const notesBetweenSweeps = 256;

interface Kept {
  readonly place: number;
  head: Head;
  particulars: Particulars;
  text: string | null;
  roll: Roll | null;
  bytes: number;
  readonly passages: Map<SubscriptionId, DeliveryNotes>;
}

export interface MemoryChronicleOptions {
  readonly clock: Pick<Clock, "now">;
  readonly retention: Retention;
  /** Default: all. */
  readonly texts?: StoryTexts;
  /** Called when undeliverable events had to be removed for lack of space. */
  readonly onCut: (count: number) => void;
}

export class MemoryChronicle implements Chronicle {
  readonly #options: MemoryChronicleOptions;
  readonly #relay = new Watchers();
  /** By our ids, in the order they came. */
  readonly #kept = new Map<string, Kept>();
  /** Blocks are shared by many entries. */
  readonly #members = new WeakMap<Block, readonly Member[]>();
  #bytes = 0;
  #made = 0;
  #notes = 0;

  constructor(options: MemoryChronicleOptions) {
    this.#options = options;
  }

  note(note: StoryNote): void {
    this.#relay.tell(note);
    this.#keep(note);
    this.#notes += 1;
    if (this.#notes % notesBetweenSweeps === 0) this.#sweep();
  }

  listen(listener: (note: StoryNote) => void): () => void {
    return this.#relay.listen(listener);
  }

  async search(query: EventQuery) {
    this.#sweep();
    const after = query.after === undefined ? null : readCursor(query.after);
    const isWanted = isFound(query);
    const behind = [...this.#kept.values()]
      .filter(({ head: { acceptedAt }, place }) => {
        if (after === null || acceptedAt !== after.at) return acceptedAt < (after?.at ?? Infinity);
        return place < after.place;
      })
      .filter((kept) => isWanted(listedOf(kept)))
      .sort((a, b) => b.head.acceptedAt - a.head.acceptedAt || b.place - a.place);
    const page = behind.slice(0, query.limit);
    const last = page.at(-1);
    const next =
      last === undefined || behind.length === page.length
        ? null
        : writeCursor({ at: last.head.acceptedAt, place: last.place });
    return { found: page.map(listedOf), next };
  }

  async find(id: string): Promise<Entry | null> {
    this.#sweep();
    const own = this.#kept.get(id);
    if (own !== undefined) return this.#entryOf(own);
    const named = [...this.#kept.values()].filter(({ head }) => head.id === id);
    const latest = named.sort(
      (a, b) => b.head.acceptedAt - a.head.acceptedAt || b.place - a.place,
    )[0];
    return latest === undefined ? null : this.#entryOf(latest);
  }

  async close(): Promise<void> {}

  #keep(note: StoryNote): void {
    switch (note.kind) {
      case "accepted":
        this.#accept(note);
        return;
      case "attempted":
        this.#add(note.delivery, seatOf(note.subscription), keepAttempt(note));
        return;
      case "ended":
        this.#add(note.delivery, seatOf(note.subscription), keepEnd(note));
        return;
      case "steered":
        this.#add(note.delivery, seatOf(note.subscription), keepSteer(note));
        return;
      case "cleared":
        this.#clear(note);
        return;
      case "recalled":
        this.#recall(note);
        return;
      case "lost":
        this.#lose(note);
        return;
      default:
        note satisfies never;
    }
  }

  #accept(note: AcceptedNote): void {
    const { event, id, subject, type, domainTopic, acceptedWith, number, to, roll } = note;
    const { systemId, topic, text } = event;
    const kept = this.#open(event, number);
    kept.head = {
      ...{ event: systemId, id, topic, domainTopic, subject, type },
      ...{ acceptedAt: note.at, number },
    };
    kept.particulars = particularsOf(event, acceptedWith, Buffer.byteLength(text));
    const isUnmatched = hasUnmatched(note);
    if (isUnmatched) kept.roll = roll;
    if (isUnmatched || this.#options.texts !== "unmatched") {
      kept.text = text;
      this.#grow(kept, text.length);
    }
    for (const subscription of to) {
      const member = roll.get(subscription);
      if (member === undefined || kept.passages.has(subscription)) continue;
      kept.passages.set(subscription, { ...seatOf(member), state: "waiting", notes: [] });
    }
  }

  #open(event: Event, number: number | null): Kept {
    const known = this.#kept.get(event.systemId);
    if (known !== undefined) return known;
    const made: Kept = {
      place: ++this.#made,
      head: headOf(event, number),
      particulars: particularsOf(event, acceptedUnseen),
      text: null,
      roll: null,
      bytes: 0,
      passages: new Map(),
    };
    this.#kept.set(event.systemId, made);
    this.#grow(made, entryBytes);
    return made;
  }

  #add(
    { event, id }: { readonly event: Event; readonly id: { readonly event: number } },
    seat: Seat,
    note: KeptNote,
  ): void {
    const kept = this.#open(event, id.event);
    const { state = "waiting", notes = [] } = kept.passages.get(seat.subscription) ?? {};
    this.#append(kept, { ...seat, state, notes }, note);
  }

  #append(kept: Kept, passage: DeliveryNotes, note: KeptNote): void {
    const state = stateAfter(passage.state, note);
    const notes = [...passage.notes, note];
    kept.passages.set(passage.subscription, { ...passage, state, notes });
    this.#grow(kept, noteBytes);
  }

  #clear(note: ClearedNote): void {
    for (const kept of this.#kept.values()) {
      const passage = kept.passages.get(note.subscription);
      if (passage === undefined || !isOpen(passage.state)) continue;
      const stage = passage.state === "waiting" ? "deliver" : "deadLetter";
      const isMeant = note.stage === null || note.stage === stage;
      const number = kept.head.number ?? 0;
      if (!isMeant || (note.through !== null && number > note.through)) continue;
      this.#append(kept, passage, keepClearance(note, stage));
    }
  }

  /** What is known already stays unchanged: the store is read again for the story. */
  #recall({ delivery: { event, id, stage }, subscription }: RecalledNote): void {
    const kept = this.#open(event, id.event);
    if (kept.passages.has(subscription.id)) return;
    const state = stage === "deliver" ? "waiting" : "deadLettering";
    kept.passages.set(subscription.id, { ...seatOf(subscription), state, notes: [] });
  }

  #lose({ event, subscription, at }: LostNote): void {
    const kept = this.#kept.get(event);
    const passage = kept?.passages.get(subscription);
    if (kept !== undefined && passage !== undefined) {
      this.#append(kept, passage, { kind: "lost", at });
    }
  }

  #grow(kept: Kept, bytes: number): void {
    kept.bytes += bytes;
    this.#bytes += bytes;
  }

  #sweep(): void {
    const { retention, clock, onCut } = this.#options;
    const before = clock.now() - retention.keptMs;
    const isFull = () => this.#bytes > retention.bytesMax;
    this.#forget("settled", ({ head }) => isFull() || head.acceptedAt < before);
    if (!isFull()) return;
    const count = this.#forget("givenUp", isFull);
    if (count > 0) onCut(count);
  }

  #forget(rank: Rank, isToGo: (kept: Kept) => boolean): number {
    let count = 0;
    for (const [event, kept] of this.#kept) {
      const states = [...kept.passages.values()].map(({ state }) => state);
      if (rankOf(states) !== rank || !isToGo(kept)) continue;
      this.#kept.delete(event);
      this.#bytes -= kept.bytes;
      count += 1;
    }
    return count;
  }

  #entryOf({ head, particulars, passages, text, roll }: Kept): Entry {
    const members = roll?.blocks.flatMap((block) => this.#membersOf(block)) ?? null;
    return { ...head, ...particulars, passages: [...passages.values()], text, roll: members };
  }

  #membersOf(block: Block): readonly Member[] {
    const known = this.#members.get(block);
    if (known !== undefined) return known;
    const members = membersOf(block.values());
    this.#members.set(block, members);
    return members;
  }
}

function listedOf({ head, passages }: Kept): Listed {
  const fates = [...passages.values()].map(({ subscription, name, state }) => ({
    subscription,
    name,
    state,
  }));
  return { ...head, fates };
}
