// The stories' engine: plain synchronous code over one SQLite file, like the store's, but with the
// opposite trade-off. A batch of notes is one transaction that nobody waits for, and a crash may
// lose the latest.
//
// Events that were settled within one batch are written once and never read again; later notes of
// the others are added as parts. Removing old entries goes in small steps, with every batch.

import type { DatabaseSync } from "node:sqlite";
import type { Instant } from "../../core/ports.ts";
import {
  type Cursor,
  type Entry,
  type EventQuery,
  type Head,
  isOpen,
  type Retention,
  stateAfter,
} from "../../core/story/chronicle.ts";
import { type ClearedNote, keepClearance } from "../../core/story/note.ts";
import { applyActs, type Fates, rankIn, readFates, storyText, writeFates } from "./fates.ts";
import { beginning, Forgetting } from "./forgetting.ts";
import { type EventNotes, groupNotes } from "./group-notes.ts";
import { Ids } from "./ids.ts";
import { Look, type Page } from "./look.ts";
import { type Batch, textOf } from "./pack.ts";
import { Rolls } from "./rolls.ts";
import { openStories, prepareStories, type SqlRow, type StoryStatements } from "./statements.ts";

export interface StoryOptions {
  /** A file, or `:memory:`. */
  readonly path: string;
  readonly retention: Retention;
  /** The most entries a search reads before it returns what it has found so far. */
  readonly lookedThroughMax?: number;
}

export const lookedThroughMaxUsual = 100_000;
/** Rows that are removed or cleared in one step. */
const stepRowsMax = 1_000;
/** The store's numbers grow, so the greatest is among the latest. */
const entriesLookedBack = 10_000;

/** The result of a call. */
export interface Aftermath {
  /** How many undeliverable events had to be removed. */
  readonly cut: number;
  /** There is more to remove or to clear: another step is due. */
  readonly more: boolean;
  /** Rolls that nothing refers to any more, by the numbers of the process that reported them. */
  readonly rolls: readonly number[];
}

export class StoryEngine {
  /** False: it was not closed properly, or was never open. */
  readonly wasClosed: boolean;
  /** The store's latest event that was known when it was opened; 0: none. */
  readonly lastStored: number;
  readonly #database: DatabaseSync;
  readonly #statements: StoryStatements;
  readonly #ids: Ids;
  readonly #rolls: Rolls;
  readonly #oblivion: Forgetting;
  readonly #look: Look;
  #entriesMade: number;
  /** Not carried out yet, or not completely. */
  #clearances: { readonly note: ClearedNote; readonly from: Cursor }[] = [];

  constructor({ path, retention, lookedThroughMax = lookedThroughMaxUsual }: StoryOptions) {
    const database = openStories(path);
    const opened = "UPDATE closings SET is_closed = 0 WHERE is_closed = 1";
    this.wasClosed = database.prepare(opened).run().changes === 1;
    // Of earlier processes: nothing can refer to them any more.
    database.exec("DELETE FROM rolls WHERE texts <= 0");
    const statements = prepareStories(database);
    const ids = new Ids(statements);
    const rolls = new Rolls(statements);
    this.#database = database;
    this.#statements = statements;
    this.#ids = ids;
    this.#rolls = rolls;
    this.#oblivion = new Forgetting({ database, statements, retention, ids, rolls });
    this.#look = new Look({ database, statements, ids, lookedThroughMax });
    this.#entriesMade = statements.lastEntry.get()?.number as number;
    this.lastStored = statements.lastStored.get(entriesLookedBack)?.number as number;
  }

  find(id: string): Entry | null {
    return this.#look.find(id);
  }

  search(query: EventQuery): Page {
    return this.#look.search(query);
  }

  /** All or nothing. */
  write(batch: Batch, now: Instant): Aftermath {
    return this.#transact(() => {
      for (const roll of batch.rolls) this.#rolls.add(roll);
      const { tellings, clearances } = groupNotes(batch);
      for (const telling of tellings) this.#keep(telling);
      for (const note of clearances) this.#clearances.push({ note, from: beginning });
      return this.#step(now, Math.max(stepRowsMax, 2 * tellings.length));
    });
  }

  /** One more step of removing and clearing. */
  step(now: Instant): Aftermath {
    return this.#transact(() => this.#step(now, stepRowsMax));
  }

  close(): void {
    if (!this.#database.isOpen) return;
    this.#database.exec("UPDATE closings SET is_closed = 1");
    this.#database.close();
  }

  /** Ends it as a crash would. */
  kill(): void {
    this.#database.close();
  }

  #transact(act: () => Omit<Aftermath, "rolls">): Aftermath {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      const aftermath = act();
      const rolls = this.#rolls.settle();
      this.#database.exec("COMMIT");
      return { ...aftermath, rolls };
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      this.#rolls.undo();
      this.#oblivion.undo();
      throw error;
    }
  }

  #step(now: Instant, rowsMax: number): Omit<Aftermath, "rolls"> {
    const isClearing = this.#clear();
    const { cut, more } = this.#oblivion.step(now, rowsMax);
    return { cut, more: more || isClearing };
  }

  /** What is reported after its event was settled, which is rare, takes longer to find. */
  #keep(telling: EventNotes): void {
    const { event, head, isAccepted } = telling;
    const unsettled = this.#statements.unsettled.get(event) as SqlRow | undefined;
    const row = unsettled ?? (isAccepted ? undefined : this.#ids.ofEvent(event));
    if (row !== undefined) this.#addTo(row, telling);
    else if (head !== null) this.#add(telling, head);
  }

  #add(telling: EventNotes, head: Head): void {
    const fates: Fates = new Map();
    const story = storyText(telling.particulars, applyActs(fates, telling.acts));
    this.#entriesMade += 1;
    const number = this.#entriesMade;
    const { event, id, topic, domainTopic, subject, type, acceptedAt } = head;
    this.#statements.addEntry.run(
      number,
      event,
      id,
      topic,
      domainTopic,
      subject,
      type,
      acceptedAt,
      head.number,
      rankIn(fates),
      writeFates(fates),
      story,
    );
    this.#ids.add(number, event);
    this.#ids.add(number, id);
    this.#rolls.addText(number, telling.roll, telling.text);
    this.#oblivion.heed({ at: acceptedAt, place: number });
  }

  #addTo(row: SqlRow, telling: EventNotes): void {
    const number = row.number as number;
    const fates = readFates(row.states as string);
    const written = applyActs(fates, telling.acts);
    const { head, isAccepted } = telling;
    if (isAccepted && head !== null) {
      const { id, topic, domainTopic, subject, type, acceptedAt } = head;
      const place = [acceptedAt, head.number, number] as const;
      this.#statements.putHead.run(id, topic, domainTopic, subject, type, ...place);
      this.#ids.add(number, id);
      this.#rolls.addText(number, telling.roll, telling.text);
    }
    if (!isAccepted && written.notes.length === 0 && written.seats.length === 0) return;
    const story = storyText(isAccepted ? telling.particulars : null, written);
    this.#statements.addPart.run({ entry: number, story });
    this.#put(row, fates);
  }

  #put(row: SqlRow, fates: Fates): void {
    const number = row.number as number;
    const rank = rankIn(fates);
    this.#statements.putStates.run(writeFates(fates), rank, number);
    if (rank === 0) this.#oblivion.heed({ at: row.accepted_at as number, place: number });
  }

  /** Whether there is more to clear. */
  #clear(): boolean {
    const [clearance, ...others] = this.#clearances;
    if (clearance === undefined) return false;
    const { note, from } = clearance;
    const rows = this.#statements.unsettledAfter.all(from.at, from.place, stepRowsMax) as SqlRow[];
    for (const row of rows) this.#clearOne(row, note);
    const last = rows.at(-1);
    const isOver = last === undefined || rows.length < stepRowsMax;
    const next = last && { at: last.accepted_at as number, place: last.number as number };
    this.#clearances = isOver || !next ? others : [{ note, from: next }, ...others];
    return this.#clearances.length > 0;
  }

  #clearOne(row: SqlRow, note: ClearedNote): void {
    const fates = readFates(row.states as string);
    const fate = fates.get(note.subscription);
    if (fate === undefined || !isOpen(fate.state)) return;
    const stage = fate.state === "waiting" ? "deliver" : "deadLetter";
    const isMeant = note.stage === null || note.stage === stage;
    const isBehind = note.through !== null && ((row.store_number as number) ?? 0) > note.through;
    if (!isMeant || isBehind) return;
    const end = keepClearance(note, stage);
    fates.set(note.subscription, { ...fate, state: stateAfter(fate.state, end) });
    const notes = [`[${note.subscription},${textOf(end)}]`];
    const story = storyText(null, { seats: [], notes });
    this.#statements.addPart.run({ entry: row.number as number, story });
    this.#put(row, fates);
  }
}
