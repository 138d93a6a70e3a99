// Reads stories: a whole one, or many as a list. A search goes through an index from the latest
// back and lets the database leave out what cannot match; the rest is checked by the rules
// (core/story/chronicle.ts), so that it finds what the embedded stories would.

import type { Stage } from "../../../core/delivery/delivery.ts";
import {
  type Cursor,
  type DeliveryNotes,
  type Entry,
  type EventQuery,
  isFound,
  type Listed,
  type Member,
  readCursor,
  statesOf,
  writeCursor,
} from "../../../core/story/chronicle.ts";
import type { KeptNote } from "../../../core/story/note.ts";
import { assemble, type Written } from "../../story/assemble.ts";
import { letters, readFates } from "../../story/fates.ts";
import { textArray } from "../binary.ts";
import type { Row } from "../connection.ts";
import type { Database } from "../database.ts";
import { plain } from "./writer.ts";

interface Page {
  readonly found: readonly Listed[];
  readonly next: string | null;
}

/** Entries that one search goes through at most; the next page goes on from there. */
const lookedThroughMax = 50_000;
const latest: Cursor = { at: Number.MAX_SAFE_INTEGER, place: 0 };

const head = `event, id, topic, domain_topic, subject, type, accepted_at, store_number, states,
  number`;
const byEvent = {
  name: "story by event",
  text: `select ${head}, story, text, roll from story_entries where event = $1`,
};
const byId = {
  name: "story by id",
  text: `select ${head}, story, text, roll from story_entries where id = $1
    order by accepted_at desc, number desc limit $2`,
};
const partsOf = {
  name: "story parts of",
  text: "select story from story_parts where event = $1 order by number",
};
const rollOf = {
  name: "story roll",
  text: "select members, blocks from story_rolls where roll = $1",
};
const blocksOf = {
  name: "story blocks",
  text: "select roll, members from story_rolls where roll = any($1::text[])",
};

export class StoryReader {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(id: string): Promise<Entry | null> {
    const wanted = plain(id);
    const [own] = await this.#database.query(byEvent, [wanted]);
    const row = own ?? (await this.#database.query(byId, [wanted, 1]))[0];
    if (row === undefined) return null;
    const [story, text, roll] = row.slice(-3) as [string, string | null, string | null];
    const parts = await this.#database.query(partsOf, [row[0]]);
    const members = roll === null ? null : await this.#members(roll);
    const written = [story, ...parts.map(([part]) => part as string)];
    const entry = assemble({
      listed: listedOf(row),
      written: written.map((part) => JSON.parse(part) as Written),
      text,
      roll: members,
    });
    return { ...entry, passages: entry.passages.map(inOrder) };
  }

  /** Null: they are no longer known. */
  async #members(roll: string): Promise<Member[] | null> {
    const [row] = await this.#database.query(rollOf, [roll]);
    if (row === undefined) return null;
    const [members, blocks] = row as [string, string | null];
    if (blocks === null) return JSON.parse(members) as Member[];
    const names = JSON.parse(blocks) as string[];
    const rows = await this.#database.query(blocksOf, [textArray(names)]);
    const texts = new Map(rows as [string, string][]);
    if (texts.size < names.length) return null;
    return names.flatMap((name) => JSON.parse(texts.get(name) as string) as Member[]);
  }

  async search(query: EventQuery): Promise<Page> {
    const after = query.after === undefined ? latest : readCursor(query.after);
    return query.id === undefined
      ? await this.#walk(query, after)
      : await this.#pick(query, query.id, after);
  }

  async #walk(query: EventQuery, after: Cursor): Promise<Page> {
    const { conditions, values, isUnsettled } = planOf(query);
    const ofIndex = isUnsettled ? "rank > 0 and" : "";
    const [edge] = await this.#database.query(
      {
        text: `select accepted_at, number from story_entries
          where ${ofIndex} (accepted_at, number) < ($1, $2)
          order by accepted_at desc, number desc offset ${lookedThroughMax} limit 1`,
      },
      [after.at, after.place],
    );
    const bounds = edge === undefined ? [] : [edge[0], edge[1]];
    const first = values.length + 1;
    const where = [
      ...conditions,
      `(accepted_at, number) < ($${first}, $${first + 1})`,
      ...(edge === undefined ? [] : [`(accepted_at, number) >= ($${first + 2}, $${first + 3})`]),
    ];
    const text = `select ${head} from story_entries where ${where.join(" and ")}
      order by accepted_at desc, number desc limit ${query.limit + 1}`;
    const isWanted = isFound(query);
    const found: Row[] = [];
    // What the database let through too much makes room for more.
    for (let from = after; ; ) {
      const rows = await this.#database.query({ text }, [
        ...values,
        from.at,
        from.place,
        ...bounds,
      ]);
      for (const row of rows) {
        if (!isWanted(listedOf(row))) continue;
        if (found.length === query.limit) {
          return pageOf(found, writeCursor(cursorOf(found.at(-1) as Row)));
        }
        found.push(row);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length <= query.limit) break;
      from = cursorOf(last);
    }
    const isAll = edge === undefined || (query.from !== undefined && edge[0] < query.from);
    const at = { at: edge?.[0] as number, place: edge?.[1] as number };
    return pageOf(found, isAll ? null : writeCursor(at));
  }

  async #pick(query: EventQuery, id: string, after: Cursor): Promise<Page> {
    const wanted = plain(id);
    const isWanted = isFound({ ...query, id: wanted });
    const own = await this.#database.query(byEvent, [wanted]);
    const named = await this.#database.query(byId, [wanted, lookedThroughMax]);
    const rows = [...own, ...named.filter(([event]) => event !== own[0]?.[0])]
      .toSorted((one, other) => comparePlaces(cursorOf(other), cursorOf(one)))
      .filter((row) => comparePlaces(cursorOf(row), after) < 0 && isWanted(listedOf(row)));
    const page = rows.slice(0, query.limit);
    const last = page.at(-1);
    const isLast = last === undefined || page.length === rows.length;
    return pageOf(page, isLast ? null : writeCursor(cursorOf(last)));
  }
}

function pageOf(rows: readonly Row[], next: string | null): Page {
  return { found: rows.map(listedOf), next };
}

/** Conditions that everything wanted fulfils, and what else does. */
function planOf(query: EventQuery) {
  const conditions: string[] = [];
  const values: unknown[] = [];
  const add = (condition: (place: string) => string, value: unknown) => {
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  const like = (columns: readonly string[], pattern: string) =>
    add(
      (place) => `(${columns.map((name) => `${name} ilike ${place} escape '!'`).join(" or ")})`,
      pattern,
    );
  const { topic, type, subject, subscription, from, to } = query;
  const states = statesOf(query);
  if (from !== undefined) add((place) => `accepted_at >= ${place}`, from);
  if (to !== undefined) add((place) => `accepted_at <= ${place}`, to);
  if (topic !== undefined && isAscii(topic)) like(["topic"], likeOf(topic));
  if (type !== undefined && isAscii(type)) like(["type"], likeOf(type));
  if (subject !== undefined && isAscii(subject)) {
    like(["subject"], subject.includes("*") ? likeOf(subject) : `%${likeOf(subject)}%`);
  }
  for (const word of (query.words ?? []).filter(isAscii)) {
    like(["id", "event", "subject", "type", "topic", "states"], `%${likeOf(word)}%`);
  }
  if (query.idPart !== undefined && isAscii(query.idPart)) {
    like(["id", "event"], `%${likeOf(query.idPart)}%`);
  }
  if (subscription !== undefined && isAscii(subscription)) {
    like(["states"], `%:${likeOf(subscription)}|%`);
  }
  const [only, ...others] = states ?? [];
  if (only !== undefined && others.length === 0) {
    add((place) => `position(${place} in states) > 0`, `:${letters[only]}:`);
  }
  const isUnsettled =
    states?.every((state) => state !== "delivered" && state !== "unknown") === true;
  if (isUnsettled) conditions.push("rank > 0");
  return { conditions, values, isUnsettled };
}

function isAscii(text: string): boolean {
  return !/[^ -~]/.test(text);
}

function likeOf(pattern: string): string {
  return pattern.replace(/[!%_]/g, "!$&").replaceAll("*", "%");
}

function listedOf(row: Row): Listed {
  const [event, id, topic, domainTopic, subject, type, acceptedAt, number, states] = row;
  const fates = [...readFates(states).values()];
  return { event, id, topic, domainTopic, subject, type, acceptedAt, number, fates };
}

function cursorOf(row: Row): Cursor {
  return { at: row[6] as number, place: row[9] as number };
}

function comparePlaces(one: Cursor, other: Cursor): number {
  return one.at - other.at || one.place - other.place;
}

/**
 * By stage and time; attempts among themselves as they are counted, because the clocks of two
 * brokers may differ.
 */
function inOrder(passage: DeliveryNotes): DeliveryNotes {
  const byTime = passage.notes.toSorted((one, other) => one.at - other.at);
  const staged = byTime.filter(isStaged).toSorted((one, other) => placeOf(one) - placeOf(other));
  const attempts = staged.filter(isAttempt).toSorted(compareAttempts);
  const notes: KeptNote[] = staged.map((note) =>
    isAttempt(note) ? (attempts.shift() as Attempt) : note,
  );
  for (const note of byTime.filter((each) => !isStaged(each))) {
    const later = notes.findIndex(({ at }) => at > note.at);
    notes.splice(later < 0 ? notes.length : later, 0, note);
  }
  return { ...passage, notes };
}

type Staged = Extract<KeptNote, { stage: Stage }>;
type Attempt = Extract<KeptNote, { kind: "attempted" }>;

function isStaged(note: KeptNote): note is Staged {
  return "stage" in note;
}

function isAttempt(note: KeptNote): note is Attempt {
  return note.kind === "attempted";
}

function placeOf({ stage }: Staged): number {
  return stage === "deliver" ? 0 : 1;
}

function compareAttempts(one: Attempt, other: Attempt): number {
  return placeOf(one) - placeOf(other) || one.number - other.number || one.at - other.at;
}
