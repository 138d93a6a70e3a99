// Writes batches of notes. An event that is new is one row; what comes later is added as a part,
// and its states are folded so that the order of arrival does not matter: what ends a delivery is
// never undone by a note from before, which another broker wrote later.

import { createHash } from "node:crypto";
import type { DeliveryState } from "../../../core/api/views.ts";
import type { Instant } from "../../../core/ports.ts";
import { type Cursor, isOpen, stateAfter } from "../../../core/story/chronicle.ts";
import { type ClearedNote, keepClearance } from "../../../core/story/note.ts";
import type { Written } from "../../story/assemble.ts";
import { textOf } from "../../story/attempt-text.ts";
import { type Batch, bytesIn, type Numbers } from "../../story/batch.ts";
import {
  applyActs,
  type Fates,
  rankIn,
  readFates,
  storyText,
  type WrittenParts,
  writeFates,
} from "../../story/fates.ts";
import { type EventNotes, groupNotes } from "../../story/group-notes.ts";
import { Held } from "../../story/held.ts";
import { int2Array, int4Array, int8Array, textArray } from "../binary.ts";
import type { Row } from "../connection.ts";
import type { Database, Session } from "../database.ts";

/** Besides its texts. */
const entryBytes = 400;
const partBytes = 100;
const clearedPageMax = 1_000;
/** By then every broker has written what it held when a subscription was deleted. */
const heldElsewhereMs = 5_000;
/** What is not sent again; after a while it is, so that it is known who uses it. */
const sentMax = 10_000;
export const sentMs = 3_600_000;
const beginning: Cursor = { at: Number.MIN_SAFE_INTEGER, place: 0 };

const insertEntries = {
  name: "story insert",
  text: `insert into story_entries (event, id, topic, domain_topic, subject, type, accepted_at,
      store_number, rank, bytes, states, story, text, roll)
    select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
      $7::int8[], $8::int8[], $9::int2[], $10::int4[], $11::text[], $12::text[], $13::text[],
      $14::text[])
    on conflict (event) do nothing returning event`,
};
const lockEntries = {
  name: "story lock",
  text: `select event, states, story from story_entries where event = any($1::text[])
    order by event for update`,
};
const updateEntries = {
  name: "story update",
  text: `update story_entries e set states = v.states, rank = v.rank, bytes = e.bytes + v.bytes
    from unnest($1::text[], $2::text[], $3::int2[], $4::int4[]) v (event, states, rank, bytes)
    where e.event = v.event`,
};
/** No index has what changes, if whoever sent it was the first to write. */
const putHeads = {
  name: "story accept",
  text: `update story_entries e set id = v.id, topic = v.topic, domain_topic = v.domain_topic,
      subject = v.subject, type = v.type, accepted_at = v.accepted_at,
      store_number = v.store_number, rank = v.rank, bytes = e.bytes + v.bytes, states = v.states,
      story = v.story, text = v.text, roll = v.roll
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
      $7::int8[], $8::int8[], $9::int2[], $10::int4[], $11::text[], $12::text[], $13::text[],
      $14::text[])
      v (event, id, topic, domain_topic, subject, type, accepted_at, store_number, rank, bytes,
        states, story, text, roll)
    where e.event = v.event`,
};
const insertParts = {
  name: "story parts",
  text: "insert into story_parts (event, story) select * from unnest($1::text[], $2::text[])",
};
const insertRolls = {
  name: "story rolls",
  text: `insert into story_rolls (roll, members, blocks)
    select * from unnest($1::text[], $2::text[], $3::text[])
    on conflict (roll) do update set used_at = clock_timestamp()`,
};
export const addSize = {
  name: "story size",
  text: "insert into story_sizes (bytes) values ($1)",
};
const openAfter = {
  name: "story open",
  text: `select event, states, accepted_at, number, store_number from story_entries
    where rank > 0 and (accepted_at, number) > ($1, $2)
    order by accepted_at, number limit $3 for update`,
};

type RollRow = [roll: string, members: string, blocks: string | null];

interface Clearance {
  readonly note: ClearedNote;
  readonly from: Cursor;
  /** Not before this time. */
  readonly at: Instant;
  readonly isLast: boolean;
}

/** What is changed of rows that are there. */
interface Changes {
  readonly updated: [event: string, states: string, rank: number, bytes: number][];
  readonly parts: [event: string, story: string][];
}

export class StoryWriter {
  readonly #database: Database;
  readonly #rolls = new Sent();
  readonly #blocks = new Sent();
  #clearances: Clearance[] = [];
  /** What another broker sends is better written by that one first, when it is over. */
  readonly #held = new Held(0);

  constructor(database: Database) {
    this.#database = database;
  }

  /** Events that are not written yet, and what is to be cleared later. */
  get held(): number {
    return this.#held.size + this.#clearances.length;
  }

  /**
   * All or nothing. What has to be sent again if it is used again. `isPressed`: somebody is about
   * to read it, so nothing is held.
   */
  async write(batch: Batch, now: Instant, isPressed: boolean): Promise<Numbers> {
    const { clearances } = batch;
    const { rows, refused } = this.#rollRows(batch, now);
    // What is cleared must be found among the rows.
    const isClearing = clearances.length + this.#clearances.length > 0;
    const due = [...groupNotes(batch)].flatMap((tellings) => this.#held.take(tellings, now));
    due.push(...this.#held.release(now, isPressed || isClearing));
    await this.#keep(due, rows);
    for (const note of clearances) {
      const isLast = note.through !== null;
      this.#clearances.push({ note, from: beginning, at: now, isLast });
    }
    const rolls = [...refused, ...this.#rolls.forget(now)];
    return { rolls, blocks: this.#blocks.forget(now) };
  }

  /** Nothing is held any more. */
  async release(now: Instant): Promise<void> {
    await this.#keep(this.#held.release(now, true), []);
  }

  async #keep(tellings: readonly EventNotes[], rolls: readonly RollRow[]): Promise<void> {
    if (tellings.length + rolls.length === 0) return;
    const inOrder = tellings.toSorted((one, other) => (one.event < other.event ? -1 : 1));
    try {
      await this.#database.transaction(async (session) => {
        if (rolls.length > 0) {
          await session.query(insertRolls, columnsOf(rolls, fiveTexts.slice(2)));
        }
        const made = await this.#insert(session, inOrder);
        const known = inOrder.filter(({ event }) => !made.has(event));
        const added = await this.#addTo(session, known);
        const bytes = [...made.values()].reduce((sum, each) => sum + each, added);
        if (bytes > 0) await session.query(addSize, [bytes]);
      });
    } catch (error) {
      this.#held.undo();
      throw error;
    }
  }

  /** Of rolls and blocks, each once. `refused`: the rolls that lack a block. */
  #rollRows({ rolls, blocks }: Batch, now: Instant) {
    const rows = new Map<string, RollRow>();
    const refused: number[] = [];
    for (const { number, members } of blocks) {
      const hash = hashOf(members);
      this.#blocks.add(number, hash, now);
      rows.set(hash, [hash, members, null]);
    }
    for (const { number, blocks: numbers } of rolls) {
      const hashes = numbers.flatMap((block) => this.#blocks.hashOf(block) ?? []);
      const text = JSON.stringify(hashes);
      const hash = hashOf(text);
      if (hashes.length < numbers.length) refused.push(number);
      else {
        this.#rolls.add(number, hash, now);
        rows.set(hash, [hash, "[]", text]);
      }
    }
    return { rows: [...rows.values()], refused };
  }

  /** Whether there is more to clear now. */
  async clear(now: Instant): Promise<boolean> {
    const clearance = this.#clearances.find(({ at }) => at <= now);
    if (clearance === undefined) return false;
    const { note, from, isLast } = clearance;
    const others = this.#clearances.filter((other) => other !== clearance);
    const next = await this.#database.transaction(async (session) => {
      const rows = await session.query(openAfter, [from.at, from.place, clearedPageMax]);
      const changes: Changes = { updated: [], parts: [] };
      for (const row of rows) clearOne(row, note, changes);
      await write(session, changes);
      const last = rows.at(-1);
      if (last === undefined || rows.length < clearedPageMax) return null;
      return { at: last[2] as number, place: last[3] as number };
    });
    // Of a subscription that is gone nothing is open: another broker may have held some of it.
    const again = { note, from: beginning, at: now + heldElsewhereMs, isLast: true };
    if (next !== null) this.#clearances = [{ ...clearance, from: next }, ...others];
    else this.#clearances = isLast ? others : [...others, again];
    return this.#clearances.some(({ at }) => at <= now);
  }

  /** The bytes of each that is new. */
  async #insert(session: Session, tellings: readonly EventNotes[]): Promise<Map<string, number>> {
    const rows: unknown[][] = [];
    const sizes = new Map<string, number>();
    for (const telling of tellings) {
      const { head, event } = telling;
      if (head === null) continue;
      const text = textIn(telling);
      const fates: Fates = new Map();
      const story = storyText(telling.particulars, applyActs(fates, telling.acts));
      const states = writeFates(fates);
      const bytes = entryBytes + story.length + states.length + (text?.length ?? 0);
      sizes.set(event, bytes);
      const place = [head.acceptedAt, head.number, rankIn(fates), bytes];
      rows.push([...headOf(telling), ...place, plain(states), story, text, this.#rollOf(telling)]);
    }
    if (rows.length === 0) return new Map();
    const inserted = await session.query(insertEntries, columnsOf(rows, entryColumns));
    return new Map(inserted.map(([event]) => [event as string, sizes.get(event as string) ?? 0]));
  }

  /** The bytes added. */
  async #addTo(session: Session, tellings: readonly EventNotes[]): Promise<number> {
    if (tellings.length === 0) return 0;
    const rows = await session.query(lockEntries, [textArray(tellings.map(({ event }) => event))]);
    const byEvent = new Map(rows.map((row) => [row[0] as string, row]));
    const changes: Changes = { updated: [], parts: [] };
    const heads: unknown[][] = [];
    let headBytes = 0;
    for (const telling of tellings) {
      const row = byEvent.get(telling.event);
      if (row === undefined) continue;
      const { event, head } = telling;
      const fates = readFates(row[1] as string);
      const written = applyActs(fates, telling.acts, furthest);
      if (telling.isAccepted && head !== null) {
        const text = textIn(telling);
        const story = joined(row[2] as string, telling.particulars, written);
        const more = story.length - (row[2] as string).length + (text?.length ?? 0);
        headBytes += more;
        const place = [head.acceptedAt, head.number, rankIn(fates), more];
        const rest = [plain(writeFates(fates)), story, text, this.#rollOf(telling)];
        heads.push([...headOf(telling), ...place, ...rest]);
      } else if (written.notes.length + written.seats.length > 0) {
        change(changes, { event, fates, story: storyText(null, written) });
      }
    }
    if (heads.length > 0) await session.query(putHeads, columnsOf(heads, entryColumns));
    return headBytes + (await write(session, changes));
  }

  #rollOf({ roll }: EventNotes): string | null {
    return roll === 0 ? null : (this.#rolls.hashOf(roll) ?? null);
  }
}

/** Hashes of what was sent, by the numbers of this process. */
class Sent {
  readonly #hashes = new Map<number, { readonly hash: string; readonly at: Instant }>();

  add(number: number, hash: string, at: Instant): void {
    this.#hashes.set(number, { hash, at });
  }

  hashOf(number: number): string | undefined {
    return this.#hashes.get(number)?.hash;
  }

  /** Those that were forgotten. */
  forget(now: Instant): readonly number[] {
    const excess = this.#hashes.size - sentMax;
    const gone = [...this.#hashes]
      .filter(([, { at }], place) => place < excess || at < now - sentMs)
      .map(([number]) => number);
    for (const number of gone) this.#hashes.delete(number);
    return gone;
  }
}

function change(
  { updated, parts }: Changes,
  { event, fates, story }: { event: string; fates: Fates; story: string },
): void {
  updated.push([event, plain(writeFates(fates)), rankIn(fates), partBytes + story.length]);
  parts.push([event, story]);
}

/** What whoever sent it has written, with what is known where it was accepted. */
function joined(story: string, particulars: string | null, written: WrittenParts): string {
  const known = JSON.parse(story) as Written;
  const seats = known.seats.map((seat) => JSON.stringify(seat));
  const notes = known.notes.map((note) => JSON.stringify(note));
  return storyText(particulars, {
    seats: [...seats, ...written.seats],
    notes: [...notes, ...written.notes],
  });
}

/** The bytes added. */
async function write(session: Session, { updated, parts }: Changes): Promise<number> {
  if (updated.length === 0) return 0;
  await session.query(updateEntries, columnsOf(updated, updateColumns));
  await session.query(insertParts, columnsOf(parts, [textArray, textArray]));
  return updated.reduce((sum, [, , , bytes]) => sum + bytes, 0);
}

function clearOne(row: Row, note: ClearedNote, changes: Changes): void {
  const [event, states, , , number] = row as [string, string, number, number, number | null];
  const fates = readFates(states);
  const fate = fates.get(note.subscription);
  if (fate === undefined || !isOpen(fate.state)) return;
  const stage = fate.state === "waiting" ? "deliver" : "deadLetter";
  const isMeant = note.stage === null || note.stage === stage;
  const isBehind = note.through !== null && (number ?? 0) > note.through;
  if (!isMeant || isBehind) return;
  const end = keepClearance(note, stage);
  fates.set(note.subscription, { ...fate, state: stateAfter(fate.state, end) });
  const notes = [`[${note.subscription},${textOf(end)}]`];
  change(changes, { event, fates, story: storyText(null, { seats: [], notes }) });
}

const order: Readonly<Record<DeliveryState, number>> = {
  waiting: 0,
  deadLettering: 1,
  unknown: 2,
  dropped: 3,
  deadLettered: 3,
  delivered: 3,
};

/** Notes of one delivery may come from two brokers, and the earlier one last. */
function furthest(known: DeliveryState, told: DeliveryState): DeliveryState {
  return order[told] >= order[known] ? told : known;
}

function textIn({ text }: EventNotes): Buffer | null {
  return text === null ? null : bytesIn(text);
}

function headOf({ event, head }: EventNotes): unknown[] {
  if (head === null) return [];
  const { id, topic, domainTopic, subject, type } = head;
  const domain = domainTopic === null ? null : plain(domainTopic);
  return [event, plain(id), plain(topic), domain, plain(subject), plain(type)];
}

/** PostgreSQL takes every character in a text but this one. */
export function plain(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\ufffd") : text;
}

/** What makes an array of the values of a column. */
// biome-ignore lint/suspicious/noExplicitAny: values are what their statement says.
type Column = (values: any[]) => Buffer;

const fiveTexts: readonly Column[] = [textArray, textArray, textArray, textArray, textArray];
const placeColumns = [int8Array, int8Array, int2Array, int4Array];
const entryColumns = [...fiveTexts, textArray, ...placeColumns, ...fiveTexts.slice(1)];
const updateColumns = [textArray, textArray, int2Array, int4Array];

function columnsOf(rows: readonly (readonly unknown[])[], columns: readonly Column[]): Buffer[] {
  return columns.map((arrayOf, place) => arrayOf(rows.map((row) => row[place])));
}

function hashOf(members: string): string {
  return createHash("sha256").update(members).digest("base64url");
}
