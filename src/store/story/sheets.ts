// Events that were delivered by the time they were first written: many share a row, a sheet, so
// that each costs little more than its bytes. Nothing of a sheet changes, and it is removed as a
// whole; an event that something is noted about after all is moved to a row of its own. What is
// long is compressed: events of one topic say much alike.

import type { Cursor, Head } from "../../core/story/chronicle.ts";
import type { Seat } from "../../core/story/note.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import type { Written } from "./assemble.ts";
import { quote } from "./attempt-text.ts";
import { bytesIn, type PackedText } from "./batch.ts";
import { compress, decompress } from "./compress.ts";
import type { EventNotes } from "./group-notes.ts";
import { hashOf } from "./ids.ts";
import type { Rolls } from "./rolls.ts";
import type { SqlRow, StoryStatements } from "./statements.ts";

const sizeMax = 256;
const textBytesMax = 262_144;
/** From the first to the last, so that little of what is read lies outside of what is asked for. */
export const spanMsMax = 1_000;

/** An event in the list of its sheet, as JSON. */
type SheetHead = readonly [
  ...[number: number, event: string, id: string, topic: string, domainTopic: string | null],
  ...[subject: string, type: string, acceptedAt: number, storeNumber: number | null],
  ...[states: string, roll: number | null, textBytes: number | null],
];

interface Draft {
  /** Of the last one. */
  number: number;
  firstAt: number;
  lastAt: number;
  readonly heads: string[];
  readonly hashes: number[];
  readonly stories: string[];
  /** The last one that was not the same as one before, and its place. */
  story: string;
  storyPlace: number;
  readonly seats: Map<SubscriptionId, string>;
  /** How many texts. */
  readonly rolls: Map<number, number>;
  /** Texts that follow each other in a batch are one. */
  readonly texts: { all: Buffer; start: number; end: number }[];
  textBytes: number;
}

/** Makes sheets within one transaction. */
export class SheetWriter {
  readonly #statements: StoryStatements;
  readonly #rolls: Rolls;
  #draft: Draft | null = null;

  constructor(statements: StoryStatements, rolls: Rolls) {
    this.#statements = statements;
    this.#rolls = rolls;
  }

  /** `story`: without its seats. */
  add(telling: EventNotes, head: Head, made: { number: number; states: string; story: string }) {
    const { number, states, story } = made;
    const { event, id, topic, domainTopic, subject, type, acceptedAt } = head;
    const draft = this.#draftFor(telling, acceptedAt, number);
    const roll = this.#rolls.of(telling.roll, telling.text !== null) ?? null;
    // Without its roll a text is not kept.
    const text = roll === null ? null : telling.text;
    const textBytes = text === null ? null : text.end - text.start;
    const about = `${quote(topic)},${quoteOrNull(domainTopic)},${quote(subject)},${quote(type)}`;
    const rest = `${acceptedAt},${head.number},${quote(states)},${roll},${textBytes}`;
    draft.heads.push(`[${number},${quoteId(event)},${quoteId(id)},${about},${rest}]`);
    if (story === draft.story) draft.stories.push(String(draft.storyPlace));
    else {
      draft.story = story;
      draft.storyPlace = draft.stories.length;
      draft.stories.push(story);
    }
    draft.hashes.push(hashOf(event), hashOf(id));
    for (const { subscription, seat } of telling.acts) {
      if (seat !== null) draft.seats.set(subscription, seat.json);
    }
    if (roll !== null && roll > 0) {
      draft.rolls.set(roll, (draft.rolls.get(roll) ?? 0) + 1);
      this.#rolls.count(roll, 1);
    }
    if (text !== null) addText(draft, text);
  }

  /** Writes what was added. */
  flush(): void {
    const draft = this.#draft;
    if (draft === null) return;
    this.#draft = null;
    this.#statements.addSheet.run(
      draft.number,
      draft.firstAt,
      draft.lastAt,
      draft.heads.length,
      JSON.stringify([...draft.rolls]),
      new Uint8Array(new Int32Array(draft.hashes).buffer),
      compress(`[${draft.heads.join()}]`),
      `[${[...draft.seats.values()].join()}]`,
      compress(`[${draft.stories.join()}]`),
      compress(joined(draft)),
    );
  }

  /** The transaction has failed. */
  undo(): void {
    this.#draft = null;
  }

  #draftFor({ acts }: EventNotes, at: number, number: number): Draft {
    const draft = this.#draft;
    if (draft !== null) {
      const firstAt = Math.min(draft.firstAt, at);
      const lastAt = Math.max(draft.lastAt, at);
      const hasRoom = draft.heads.length < sizeMax && draft.textBytes < textBytesMax;
      // A subscription is described once in a sheet.
      const isSame = acts.every(({ subscription, seat }) => {
        const json = draft.seats.get(subscription);
        return seat === null || json === undefined || json === seat.json;
      });
      if (hasRoom && isSame && lastAt - firstAt <= spanMsMax) {
        return Object.assign(draft, { number, firstAt, lastAt });
      }
      this.flush();
    }
    const made: Draft = {
      ...{ number, firstAt: at, lastAt: at, heads: [], hashes: [], stories: [] },
      ...{ story: "", storyPlace: 0 },
      ...{ seats: new Map(), rolls: new Map(), texts: [], textBytes: 0 },
    };
    this.#draft = made;
    return made;
  }
}

/** As JSON. Ours are plain, and most of the publishers'. */
function quoteId(id: string): string {
  return /^[\w-]*$/.test(id) ? `"${id}"` : JSON.stringify(id);
}

function quoteOrNull(word: string | null): string {
  return word === null ? "null" : quote(word);
}

function addText(draft: Draft, { all, start, end }: PackedText): void {
  const last = draft.texts.at(-1);
  if (last !== undefined && last.all === all && last.end === start) last.end = end;
  else draft.texts.push({ all, start, end });
  draft.textBytes += end - start;
}

function joined({ texts }: Draft): Uint8Array {
  const [only] = texts;
  return texts.length === 1 && only !== undefined
    ? bytesIn(only)
    : Buffer.concat(texts.map(bytesIn));
}

/** A sheet's event, told whole. */
export interface SheetStory {
  readonly story: Written;
  readonly seats: readonly Seat[];
  readonly text: string | null;
  readonly roll: number | null;
}

/** Compressed; in sheets of earlier versions plain. */
type LongText = Uint8Array | string;

interface SheetColumns {
  readonly seats: string;
  readonly stories: LongText;
  readonly texts: Uint8Array;
}

function longText(kept: LongText): string {
  return typeof kept === "string" ? kept : decompress(kept).toString();
}

/** In older sheets nothing is compressed, which their stories tell. */
function textAt({ stories, texts }: SheetColumns, from: number, bytes: number): string {
  const all = typeof stories === "string" ? Buffer.from(texts) : decompress(texts);
  return all.toString("utf8", from, from + bytes);
}

/** Reads them, and moves single events out. */
export class Sheets {
  readonly #statements: StoryStatements;

  constructor(statements: StoryStatements) {
    this.#statements = statements;
  }

  /** Those with this id, ours or the publisher's. */
  named(id: string): SqlRow[] {
    return this.#withHash(this.#statements.sheetIds.iterate(), id).filter(
      (row) => row.event === id || row.id === id,
    );
  }

  /** The event with our id, accepted at that time. */
  at(event: string, at: number): SqlRow | undefined {
    const near = this.#statements.sheetIdsAt.iterate(at, at + spanMsMax, at);
    return this.#withHash(near, event).find((row) => row.event === event);
  }

  #withHash(sheets: Iterable<unknown>, id: string): SqlRow[] {
    const hash = hashOf(id);
    const found: SqlRow[] = [];
    for (const { number, ids } of sheets as Iterable<{ number: number; ids: Uint8Array }>) {
      const hashes = new Int32Array(ids.buffer, ids.byteOffset, ids.byteLength / 4);
      if (!hashes.includes(hash)) continue;
      const sheet = this.#statements.sheetHeads.get(number) as SqlRow;
      const rows = rowsIn(sheet);
      for (const row of rows) {
        const place = 2 * (row.place as number);
        if (hashes[place] === hash || hashes[place + 1] === hash) found.push(row);
      }
    }
    return found;
  }

  /** All before that place in the order, the latest first. */
  *before({ at, place }: Cursor): Generator<SqlRow> {
    // Sheets may overlap: an entry's turn comes when no sheet left to read can have a later one.
    const ready: SqlRow[] = [];
    const sheets = this.#statements.sheetsBefore.iterate(at, at + spanMsMax + 1, 0);
    for (const sheet of sheets as Iterable<SqlRow>) {
      while (ready.length > 0 && isLater(ready.at(-1), sheet.last_at as number)) {
        yield ready.pop() as SqlRow;
      }
      for (const row of rowsIn(sheet)) if (isBefore(row, at, place)) ready.push(row);
      ready.sort(
        (one, other) =>
          (one.accepted_at as number) - (other.accepted_at as number) ||
          (one.number as number) - (other.number as number),
      );
    }
    while (ready.length > 0) yield ready.pop() as SqlRow;
  }

  whole(row: SqlRow): SheetStory | null {
    const { sheet = 0, place = 0, text_from: from = 0, text_bytes: bytes = null } = row;
    const read = this.#statements.sheetStory.get(sheet) as SheetColumns | undefined;
    if (read === undefined) return null;
    const stories = JSON.parse(longText(read.stories)) as (Written | number)[];
    const own = stories[place as number];
    const story = (typeof own === "number" ? stories[own] : own) as Written;
    const text = bytes === null ? null : textAt(read, from as number, bytes as number);
    const roll = row.roll as number | null;
    return { story, seats: JSON.parse(read.seats) as Seat[], text, roll };
  }

  /** It has a row of its own from now on. */
  remove(row: SqlRow): void {
    const sheet = row.sheet as number;
    const gone = JSON.parse((this.#statements.sheetHeads.get(sheet)?.gone ?? "[]") as string);
    this.#statements.putGone.run(JSON.stringify([...gone, row.place as number]), sheet);
  }
}

function isLater(row: SqlRow | undefined, at: number): boolean {
  return row !== undefined && (row.accepted_at as number) > at;
}

function isBefore(row: SqlRow, at: number, place: number): boolean {
  const acceptedAt = row.accepted_at as number;
  return acceptedAt < at || (acceptedAt === at && (row.number as number) < place);
}

/** As rows of the table `entries`, with their places in the sheet; those that are gone are not. */
function rowsIn(sheet: SqlRow): SqlRow[] {
  const gone = new Set(JSON.parse(sheet.gone as string) as number[]);
  const rows: SqlRow[] = [];
  let from = 0;
  const heads = JSON.parse(longText(sheet.heads as LongText)) as SheetHead[];
  for (const [place, head] of heads.entries()) {
    const [number, event, id, topic, domain_topic, subject, type, accepted_at, ...rest] = head;
    const [store_number, states, roll, text_bytes] = rest;
    const text_from = from;
    from += text_bytes ?? 0;
    if (gone.has(place)) continue;
    rows.push({
      ...{ number, event, id, topic, domain_topic, subject, type, accepted_at, store_number },
      ...{ rank: 0, states, sheet: sheet.number ?? 0, place, roll, text_from, text_bytes },
    });
  }
  return rows;
}
