// Writes batches of notes. An event that is new is one row; what comes later is added as a part,
// and its states are folded so that the order of arrival does not matter: what ends a delivery is
// never undone by a note from before, which another broker wrote later.

import { createHash } from "node:crypto";
import type { DeliveryState } from "../../../core/api/views.ts";
import type { Instant } from "../../../core/ports.ts";
import { type Cursor, isOpen, stateAfter } from "../../../core/story/chronicle.ts";
import { type ClearedNote, keepClearance } from "../../../core/story/note.ts";
import {
  applyActs,
  type Fates,
  rankIn,
  readFates,
  storyText,
  writeFates,
} from "../../story/fates.ts";
import { type EventNotes, groupNotes } from "../../story/group-notes.ts";
import { type Batch, textOf } from "../../story/pack.ts";
import type { Row } from "../connection.ts";
import type { Database, Session } from "../database.ts";

/** Besides its texts. */
const entryBytes = 400;
const partBytes = 100;
const clearedPageMax = 1_000;
/** Rolls that are not sent again; after a while they are, so that it is known who uses them. */
const rollsMax = 1_000;
const rollMs = 3_600_000;
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
  text: `select event, states, text is not null from story_entries where event = any($1::text[])
    order by event for update`,
};
const updateEntries = {
  name: "story update",
  text: `update story_entries e set states = v.states, rank = v.rank, bytes = e.bytes + v.bytes
    from unnest($1::text[], $2::text[], $3::int2[], $4::int4[]) v (event, states, rank, bytes)
    where e.event = v.event`,
};
const putHeads = {
  name: "story heads",
  text: `update story_entries e set id = v.id, topic = v.topic, domain_topic = v.domain_topic,
      subject = v.subject, type = v.type, accepted_at = v.accepted_at,
      store_number = v.store_number, text = v.text, roll = v.roll
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
      $7::int8[], $8::int8[], $9::text[], $10::text[])
      v (event, id, topic, domain_topic, subject, type, accepted_at, store_number, text, roll)
    where e.event = v.event`,
};
const insertParts = {
  name: "story parts",
  text: "insert into story_parts (event, story) select * from unnest($1::text[], $2::text[])",
};
const insertRolls = {
  name: "story rolls",
  text: `insert into story_rolls (roll, members) select * from unnest($1::text[], $2::text[])
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

/** What is changed of rows that are there. */
interface Changes {
  readonly updated: [event: string, states: string, rank: number, bytes: number][];
  readonly parts: [event: string, story: string][];
}

export class StoryWriter {
  readonly #database: Database;
  /** By the numbers of this process. */
  readonly #rolls = new Map<number, { readonly roll: string; readonly at: Instant }>();
  #clearances: { readonly note: ClearedNote; readonly from: Cursor }[] = [];

  constructor(database: Database) {
    this.#database = database;
  }

  /** All or nothing. The rolls that have to be sent again if they are used again. */
  async write(batch: Batch, now: Instant): Promise<readonly number[]> {
    const { tellings, clearances } = groupNotes(batch);
    const inOrder = tellings.toSorted((one, other) => (one.event < other.event ? -1 : 1));
    const rolls = batch.rolls.map(({ number, members }) => ({
      number,
      members,
      roll: hashOf(members),
    }));
    for (const { number, roll } of rolls) this.#rolls.set(number, { roll, at: now });
    await this.#database.transaction(async (session) => {
      if (rolls.length > 0) {
        const unique = new Map(rolls.map(({ roll, members }) => [roll, members]));
        await session.query(insertRolls, [[...unique.keys()], [...unique.values()]]);
      }
      const made = await this.#insert(session, inOrder);
      const known = inOrder.filter(({ event }) => !made.has(event));
      const added = await this.#addTo(session, known);
      const bytes = [...made.values()].reduce((sum, each) => sum + each, added);
      if (bytes > 0) await session.query(addSize, [bytes]);
    });
    for (const note of clearances) this.#clearances.push({ note, from: beginning });
    return this.#forgotten(now);
  }

  /** Whether there is more to clear. */
  async clear(): Promise<boolean> {
    const [clearance, ...others] = this.#clearances;
    if (clearance === undefined) return false;
    const { note, from } = clearance;
    const next = await this.#database.transaction(async (session) => {
      const rows = await session.query(openAfter, [from.at, from.place, clearedPageMax]);
      const changes: Changes = { updated: [], parts: [] };
      for (const row of rows) clearOne(row, note, changes);
      await write(session, changes);
      const last = rows.at(-1);
      if (last === undefined || rows.length < clearedPageMax) return null;
      return { at: last[2] as number, place: last[3] as number };
    });
    this.#clearances = next === null ? others : [{ note, from: next }, ...others];
    return this.#clearances.length > 0;
  }

  /** The bytes of each that is new. */
  async #insert(session: Session, tellings: readonly EventNotes[]): Promise<Map<string, number>> {
    const rows: unknown[][] = [];
    const sizes = new Map<string, number>();
    for (const telling of tellings) {
      const { head, event, text } = telling;
      if (head === null) continue;
      const fates: Fates = new Map();
      const story = storyText(telling.particulars, applyActs(fates, telling.acts));
      const states = writeFates(fates);
      const bytes = entryBytes + story.length + states.length + (text?.length ?? 0);
      sizes.set(event, bytes);
      const place = [head.acceptedAt, head.number, rankIn(fates), bytes];
      rows.push([...headOf(telling), ...place, plain(states), story, text, this.#rollOf(telling)]);
    }
    if (rows.length === 0) return new Map();
    const inserted = await session.query(insertEntries, columnsOf(rows));
    return new Map(inserted.map(([event]) => [event as string, sizes.get(event as string) ?? 0]));
  }

  /** The bytes added. */
  async #addTo(session: Session, tellings: readonly EventNotes[]): Promise<number> {
    if (tellings.length === 0) return 0;
    const rows = await session.query(lockEntries, [tellings.map(({ event }) => event)]);
    const byEvent = new Map(rows.map((row) => [row[0] as string, row]));
    const changes: Changes = { updated: [], parts: [] };
    const heads: unknown[][] = [];
    for (const telling of tellings) {
      const row = byEvent.get(telling.event);
      if (row === undefined) continue;
      const { event, head, isAccepted, text } = telling;
      const fates = readFates(row[1] as string);
      const written = applyActs(fates, telling.acts, furthest);
      if (isAccepted && head !== null) {
        const place = [head.acceptedAt, head.number];
        heads.push([...headOf(telling), ...place, text, this.#rollOf(telling)]);
      }
      if (!isAccepted && written.notes.length === 0 && written.seats.length === 0) continue;
      const story = storyText(isAccepted ? telling.particulars : null, written);
      change(changes, { event, fates, story, more: text?.length ?? 0 });
    }
    if (heads.length > 0) await session.query(putHeads, columnsOf(heads));
    return await write(session, changes);
  }

  #rollOf({ roll }: EventNotes): string | null {
    return roll === 0 ? null : (this.#rolls.get(roll)?.roll ?? null);
  }

  #forgotten(now: Instant): readonly number[] {
    const excess = this.#rolls.size - rollsMax;
    const gone = [...this.#rolls]
      .filter(([, { at }], place) => place < excess || at < now - rollMs)
      .map(([number]) => number);
    for (const number of gone) this.#rolls.delete(number);
    return gone;
  }
}

function change(
  { updated, parts }: Changes,
  { event, fates, story, more }: { event: string; fates: Fates; story: string; more: number },
): void {
  updated.push([event, plain(writeFates(fates)), rankIn(fates), partBytes + story.length + more]);
  parts.push([event, story]);
}

/** The bytes added. */
async function write(session: Session, { updated, parts }: Changes): Promise<number> {
  if (updated.length === 0) return 0;
  await session.query(updateEntries, columnsOf(updated));
  await session.query(insertParts, columnsOf(parts));
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
  change(changes, { event, fates, story: storyText(null, { seats: [], notes }), more: 0 });
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

/** Lists of columns from a list of rows. */
function columnsOf(rows: readonly (readonly unknown[])[]): unknown[][] {
  return (rows[0] ?? []).map((_, column) => rows.map((row) => row[column]));
}

function hashOf(members: string): string {
  return createHash("sha256").update(members).digest("base64url");
}
