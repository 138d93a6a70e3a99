// The stories' engine: plain synchronous code over one SQLite file, like the store's, but with the
// opposite trade-off. A batch of notes is one transaction that nobody waits for, and a crash may
// lose the latest.
//
// Events that are settled by the time they are first written are written together, in sheets
// (sheets.ts), and never read again. So what is still open is held for a while. The others have
// a row each, and later notes are added as parts. Removing old entries goes in small steps, with
// every batch.

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
import { textOf } from "./attempt-text.ts";
import { type Batch, bytesIn, type Numbers } from "./batch.ts";
import {
  applyActs,
  type Fates,
  notesIn,
  rankIn,
  readFates,
  storyText,
  writeFates,
} from "./fates.ts";
import { beginning, Forgetting } from "./forgetting.ts";
import { type Act, type EventNotes, groupNotes } from "./group-notes.ts";
import { Held } from "./held.ts";
import { Ids } from "./ids.ts";
import { Look, type Page } from "./look.ts";
import { Rolls } from "./rolls.ts";
import { Sheets, SheetWriter } from "./sheets.ts";
import { openStories, prepareStories, type SqlRow, type StoryStatements } from "./statements.ts";

export interface StoryOptions {
  /** A file, or `:memory:`. */
  readonly path: string;
  readonly retention: Retention;
  /** The most entries a search reads before it returns what it has found so far. */
  readonly lookedThroughMax?: number;
}

export const lookedThroughMaxUsual = 100_000;
/**
 * Of a batch: so few that what was made of them is gone before the next collection of young
 * objects, or at least before the one after it, which would make them old.
 */
const notesAtOnce = 256;
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
  /** What has to be sent again if it is used again. */
  readonly gone: Numbers;
  /** Events that are not written yet, as they may be over soon. */
  readonly held: number;
}

/** What the engine itself adds. */
type Step = Omit<Aftermath, "gone" | "held">;

export class StoryEngine {
  /** False: it was not closed properly, or was never open. */
  readonly wasClosed: boolean;
  /** The store's latest event that was known when it was opened; 0: none. */
  readonly lastStored: number;
  readonly #database: DatabaseSync;
  readonly #statements: StoryStatements;
  readonly #ids: Ids;
  readonly #rolls: Rolls;
  readonly #sheets: Sheets;
  readonly #sheetWriter: SheetWriter;
  readonly #held: Held;
  readonly #oblivion: Forgetting;
  readonly #look: Look;
  #entriesMade: number;
  /** What was told of the last event that came on a sheet, and how it is written. */
  #lastOnSheet: OnSheet | null = null;
  /** The latest time of an event that was first told of by something else than its acceptance. */
  #introducedThrough = Number.NEGATIVE_INFINITY;
  /** Not carried out yet, or not completely. */
  #clearances: { readonly note: ClearedNote; readonly from: Cursor }[] = [];

  constructor({ path, retention, lookedThroughMax = lookedThroughMaxUsual }: StoryOptions) {
    const database = openStories(path);
    const opened = "UPDATE closings SET is_closed = 0 WHERE is_closed = 1";
    this.wasClosed = database.prepare(opened).run().changes === 1;
    // Of earlier processes: nothing can refer to them any more.
    database.exec(`DELETE FROM rolls WHERE texts <= 0;
      DELETE FROM blocks
      WHERE number NOT IN (SELECT value FROM rolls, json_each(rolls.blocks))`);
    const statements = prepareStories(database);
    const ids = new Ids(statements);
    const rolls = new Rolls(statements);
    this.#database = database;
    this.#statements = statements;
    this.#ids = ids;
    this.#rolls = rolls;
    const sheets = new Sheets(statements);
    this.#sheets = sheets;
    this.#sheetWriter = new SheetWriter(statements, rolls);
    this.#oblivion = new Forgetting({ database, statements, retention, ids, rolls });
    this.#look = new Look({ database, statements, ids, sheets, lookedThroughMax });
    this.#entriesMade = statements.lastEntry.get()?.number as number;
    this.lastStored = statements.lastStored.get(entriesLookedBack)?.number as number;
    this.#held = new Held(this.lastStored);
  }

  find(id: string): Entry | null {
    return this.#look.find(id);
  }

  search(query: EventQuery): Page {
    return this.#look.search(query);
  }

  /** All or nothing. `isPressed`: somebody is about to read it, so nothing is held. */
  write(batch: Batch, now: Instant, isPressed = true): Aftermath {
    return this.#transact(() => {
      this.#rolls.add(batch);
      const { clearances } = batch;
      // What is cleared must be found among the rows.
      const isClearing = clearances.length + this.#clearances.length > 0;
      let kept = 0;
      for (const tellings of groupNotes(batch, notesAtOnce)) {
        kept += this.#keepAll(this.#held.take(tellings, now));
      }
      kept += this.#keepAll(this.#held.release(now, isPressed || isClearing));
      this.#endSheets();
      for (const note of clearances) this.#clearances.push({ note, from: beginning });
      return this.#step(now, Math.max(stepRowsMax, 2 * kept));
    });
  }

  /** One more step of removing and clearing, and nothing is held any more. */
  step(now: Instant): Aftermath {
    return this.#transact(() => {
      this.#keepAll(this.#held.release(now, true));
      this.#endSheets();
      return this.#step(now, stepRowsMax);
    });
  }

  close(): void {
    if (!this.#database.isOpen) return;
    try {
      this.#transact(() => {
        this.#keepAll(this.#held.release(0, true));
        this.#endSheets();
        this.#database.exec("UPDATE closings SET is_closed = 1");
        return { cut: 0, more: false };
      });
    } finally {
      this.#database.close();
    }
  }

  /** Ends it as a crash would. */
  kill(): void {
    this.#database.close();
  }

  #transact(act: () => Step): Aftermath {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      const aftermath = act();
      const gone = this.#rolls.settle();
      this.#statements.putStored.run(this.#held.storedThrough);
      this.#database.exec("COMMIT");
      return { ...aftermath, gone, held: this.#held.size };
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      this.#held.undo();
      this.#sheetWriter.undo();
      this.#rolls.undo();
      this.#oblivion.undo();
      throw error;
    }
  }

  #step(now: Instant, rowsMax: number): Step {
    const isClearing = this.#clear();
    const { cut, more } = this.#oblivion.step(now, rowsMax);
    return { cut, more: more || isClearing };
  }

  /** Returns how many. */
  #keepAll(tellings: readonly EventNotes[]): number {
    for (const telling of tellings) this.#keep(telling);
    return tellings.length;
  }

  #endSheets(): void {
    this.#lastOnSheet = null;
    this.#sheetWriter.flush();
  }

  #keep(telling: EventNotes): void {
    const { head } = telling;
    const row = this.#isNew(telling) ? undefined : this.#known(telling);
    if (row !== undefined) this.#addTo(row, telling);
    else if (head !== null) this.#add(telling, head);
  }

  /** An event that was accepted after all that was introduced otherwise cannot be known. */
  #isNew({ isAccepted, head }: EventNotes): boolean {
    return isAccepted && head !== null && head.acceptedAt > this.#introducedThrough;
  }

  /** What is reported after its event was settled, which is rare, may be about one on a sheet. */
  #known({ event, isAccepted, acceptedAt }: EventNotes): SqlRow | undefined {
    const row = this.#ids.event(event, acceptedAt);
    if (isAccepted) return row?.rank === 0 ? undefined : row;
    if (row !== undefined || acceptedAt === null) return row;
    return this.#lift(event, acceptedAt);
  }

  /** Moves an event from its sheet to a row of its own. */
  #lift(event: string, acceptedAt: Instant): SqlRow | undefined {
    // It may be on one that was not written yet.
    this.#sheetWriter.flush();
    const row = this.#sheets.at(event, acceptedAt);
    const whole = row === undefined ? null : this.#sheets.whole(row);
    if (row === undefined || whole === null) return undefined;
    const { notes, particulars } = whole.story;
    const number = row.number as number;
    this.#insert(row, JSON.stringify({ particulars, seats: whole.seats, notes }));
    if (whole.roll !== null) {
      this.#statements.addText.run(number, whole.roll, whole.text);
    }
    this.#sheets.remove(row);
    return row;
  }

  #add(telling: EventNotes, head: Head): void {
    this.#entriesMade += 1;
    const number = this.#entriesMade;
    const last = this.#lastOnSheet;
    if (last !== null && telling.isAccepted && isSameCourse(telling.acts, last.telling.acts)) {
      const { states } = last;
      const story = storyLike(telling, last);
      if (story !== last.story) this.#lastOnSheet = { telling, states, story };
      this.#sheetWriter.add(telling, head, { number, states, story });
      return;
    }
    const fates: Fates = new Map();
    const parts = applyActs(fates, telling.acts);
    const rank = rankIn(fates);
    const states = writeFates(fates);
    if (telling.isAccepted && rank === 0) {
      const story = storyText(telling.particulars, { ...parts, seats: [] });
      const isWhole = parts.notes.length === notesIn(telling.acts).length;
      this.#lastOnSheet = isWhole ? { telling, states, story } : null;
      this.#sheetWriter.add(telling, head, { number, states, story });
      return;
    }
    if (!telling.isAccepted) {
      this.#introducedThrough = Math.max(this.#introducedThrough, head.acceptedAt);
    }
    const { event, id, topic, domainTopic, subject, type, acceptedAt } = head;
    const place = { accepted_at: acceptedAt, store_number: head.number, rank, states };
    const row = { number, event, id, topic, domain_topic: domainTopic, subject, type, ...place };
    this.#insert(row, storyText(telling.particulars, parts));
    const { text } = telling;
    this.#rolls.addText(number, telling.roll, text === null ? null : bytesIn(text));
  }

  #insert(row: SqlRow, story: string): void {
    const { number = 0, event = "", id = "", topic = "", domain_topic = null, subject = "" } = row;
    const { type = "", accepted_at: at = 0, store_number = null, rank = 0, states = "" } = row;
    this.#statements.addEntry.run(
      number,
      event,
      id,
      topic,
      domain_topic,
      subject,
      type,
      at,
      store_number,
      rank,
      states,
      story,
    );
    this.#ids.add(number as number, event as string);
    this.#ids.add(number as number, id as string);
    this.#oblivion.heed({ at: at as number, place: number as number });
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
      const { text } = telling;
      this.#rolls.addText(number, telling.roll, text === null ? null : bytesIn(text));
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

/** An event as it came on a sheet, with each of its notes. */
interface OnSheet {
  readonly telling: EventNotes;
  readonly states: string;
  readonly story: string;
}

/** Whether the same has happened, with other notes at the most: then it ends in the same states. */
function isSameCourse(acts: readonly Act[], last: readonly Act[]): boolean {
  if (acts.length !== last.length) return false;
  for (let index = 0; index < acts.length; index += 1) {
    const [act, other] = [acts[index] as Act, last[index] as Act];
    if (act === other) continue;
    const isSame = act.kind === other.kind && act.state === other.state && act.seat === other.seat;
    if (!isSame || act.subscription !== other.subscription) return false;
    if ((act.note === null) !== (other.note === null)) return false;
  }
  return true;
}

/** The story of an event that took the same course as the last one. */
function storyLike(telling: EventNotes, last: OnSheet): string {
  const { particulars, acts } = telling;
  const isSame =
    particulars === last.telling.particulars &&
    acts.every(({ note }, index) => note === last.telling.acts[index]?.note);
  return isSame ? last.story : storyText(particulars, { seats: [], notes: notesIn(acts) });
}
