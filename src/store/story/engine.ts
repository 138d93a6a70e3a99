// The stories' engine: plain synchronous code over one SQLite file, like the store's, but written
// for the opposite bargain. A batch of notes is one transaction that nobody waits for, and a crash
// may lose the last of them.
//
// Events that were settled within one batch are written once and never looked at again; later notes
// of the others are added as parts. Forgetting happens in small steps, with every batch.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
  type Cursor,
  type Entry,
  type Fate,
  type Head,
  isFound,
  isOpen,
  type Listed,
  type Member,
  type Rank,
  type Retention,
  rankOf,
  readCursor,
  stateAfter,
  writeCursor,
} from "../../core/chronicle.ts";
import { type ClearedNote, keepClearance } from "../../core/note.ts";
import type { EventQuery, Instant } from "../../core/ports.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import type { DeliveryState } from "../../core/view.ts";
import { assemble, type Written } from "./assemble.ts";
import { type Act, gather, type Telling } from "./gather.ts";
import { type Batch, textOf } from "./pack.ts";
import {
  edgeSql,
  openStories,
  planSearch,
  pragma,
  prepareStories,
  type SqlRow,
  type StoryStatements,
  searchSql,
} from "./statements.ts";

export interface StoryOptions {
  /** A file, or `:memory:`. */
  readonly path: string;
  readonly retention: Retention;
  /** What a search looks through at most before it answers with what it has found so far. */
  readonly lookedThroughMax?: number;
}

const lookedThroughMaxUsual = 100_000;
/** Rows that go, or are cleared, in one step. */
const stepRowsMax = 1_000;
/** How often it is looked whether room enough has been made. */
const rowsBetweenLooks = 100;
const vacuumPagesMax = 500;
/** The store's numbers grow, so that the greatest is among the latest. */
const entriesLookedBack = 10_000;

/** Of one id; a publisher may give the same to all. */
const namedMax = 10_000;
/** How many entries share a bin of ids; see `ids` in schema.ts. */
const binEntries = 8_192;

const ranks: readonly Rank[] = ["settled", "givenUp", "open"];

/** How states are written. */
const letters: Readonly<Record<DeliveryState, string>> = {
  waiting: "w",
  delivered: "d",
  deadLettering: "l",
  deadLettered: "L",
  dropped: "x",
  unknown: "u",
};
const statesByLetter = new Map(
  Object.entries(letters).map(([state, letter]) => [letter, state as DeliveryState]),
);

/** What a call leaves behind. */
export interface Aftermath {
  /** Of what was given up on, so many had to be forgotten. */
  readonly cut: number;
  /** There is more to forget or to clear: another step is due. */
  readonly more: boolean;
  /** Rolls that nothing refers to any more, by the numbers of the process that told of them. */
  readonly rolls: readonly number[];
}

type Fates = Map<SubscriptionId, Fate>;

export class StoryEngine {
  /** False: whoever had it open before did not close it, or nobody had. */
  readonly wasClosed: boolean;
  /** The latest event of the store's that was known when it was opened; 0: none. */
  readonly lastStored: number;
  readonly #database: DatabaseSync;
  readonly #statements: StoryStatements;
  readonly #searches = new Map<string, StatementSync>();
  readonly #retention: Retention;
  readonly #pageBytes: number;
  readonly #lookedThroughMax: number;
  /** The numbers of rolls here, by those of the process that tells of them. */
  readonly #rolls = new Map<number, number>();
  readonly #rollsTold = new Map<number, number>();
  /** How many texts more or less a roll has, not yet written. */
  readonly #deltas = new Map<number, number>();
  #entriesMade: number;
  #rollsMade: number;
  #clearances: { readonly note: ClearedNote; readonly from: Cursor }[] = [];
  /** Behind it everything settled has been forgotten. */
  #floor: Cursor = beginning;

  constructor(options: StoryOptions) {
    const { path, retention, lookedThroughMax = lookedThroughMaxUsual } = options;
    const database = openStories(path);
    this.#lookedThroughMax = lookedThroughMax;
    this.#database = database;
    this.#retention = retention;
    this.#pageBytes = pragma(database, "page_size");
    const opened = "UPDATE closings SET is_closed = 0 WHERE is_closed = 1";
    this.wasClosed = database.prepare(opened).run().changes === 1;
    // Of earlier processes: nobody can name them any more.
    database.exec("DELETE FROM rolls WHERE texts <= 0");
    this.#statements = prepareStories(database);
    this.#entriesMade = this.#statements.lastEntry.get()?.number as number;
    this.#rollsMade = this.#statements.lastRoll.get()?.number as number;
    this.lastStored = this.#statements.lastStored.get(entriesLookedBack)?.number as number;
  }

  /** All or nothing. */
  write(batch: Batch, now: Instant): Aftermath {
    return this.#transact(() => {
      for (const { number, members } of batch.rolls) {
        this.#rollsMade += 1;
        this.#rolls.set(number, this.#rollsMade);
        this.#rollsTold.set(this.#rollsMade, number);
        this.#statements.addRoll.run(this.#rollsMade, members);
      }
      const { tellings, clearances } = gather(batch);
      for (const telling of tellings) this.#keep(telling);
      for (const note of clearances) this.#clearances.push({ note, from: beginning });
      return this.#step(now, Math.max(stepRowsMax, 2 * tellings.length));
    });
  }

  /** One more step of forgetting and clearing. */
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
      const rolls = this.#writeDeltas();
      this.#database.exec("COMMIT");
      return { ...aftermath, rolls };
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      this.#deltas.clear();
      // What was forgotten is there again.
      this.#floor = beginning;
      throw error;
    }
  }

  // Writing.

  /** What is told of after it was settled, as seldom happens, is looked for longer. */
  #keep(telling: Telling): void {
    const { event, head, isAccepted } = telling;
    const unsettled = this.#statements.unsettled.get(event) as SqlRow | undefined;
    const row = unsettled ?? (isAccepted ? undefined : this.#byEvent(event));
    if (row !== undefined) this.#addTo(row, telling);
    else if (head !== null) this.#add(telling, head);
  }

  #add(telling: Telling, head: Head): void {
    const fates: Fates = new Map();
    const story = storyOf(telling, apply(fates, telling.acts));
    const number = this.#entriesMade + 1;
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
      ranks.indexOf(rankIn(fates)),
      writeFates(fates),
      story,
    );
    this.#entriesMade = number;
    this.#statements.addId.run(binOf(number), hashOf(event), number);
    this.#statements.addId.run(binOf(number), hashOf(id), number);
    this.#addText(number, telling);
    this.#lower({ at: acceptedAt, place: number });
  }

  #addTo(row: SqlRow, telling: Telling): void {
    const number = row.number as number;
    const fates = readFates(row.states as string);
    const written = apply(fates, telling.acts);
    const { head, isAccepted } = telling;
    if (isAccepted && head !== null) {
      const { id, topic, domainTopic, subject, type, acceptedAt } = head;
      const place = [acceptedAt, head.number, number] as const;
      this.#statements.putHead.run(id, topic, domainTopic, subject, type, ...place);
      this.#statements.addId.run(binOf(number), hashOf(id), number);
      this.#addText(number, telling);
    }
    if (!isAccepted && written.notes.length === 0 && written.seats.length === 0) return;
    const story = storyOf(isAccepted ? telling : { ...telling, particulars: null }, written);
    this.#statements.addPart.run({ entry: number, story });
    this.#put(row, fates);
  }

  #put(row: SqlRow, fates: Fates): void {
    const number = row.number as number;
    const rank = rankIn(fates);
    this.#statements.putStates.run(writeFates(fates), ranks.indexOf(rank), number);
    if (rank === "settled") this.#lower({ at: row.accepted_at as number, place: number });
  }

  #addText(number: number, { roll, text }: Telling): void {
    const kept = this.#rolls.get(roll);
    if (kept === undefined) return;
    this.#statements.addText.run(number, kept, text);
    this.#count(kept, 1);
  }

  #count(roll: number, delta: number): void {
    this.#deltas.set(roll, (this.#deltas.get(roll) ?? 0) + delta);
  }

  /** Which rolls have gone with the last text that referred to them. */
  #writeDeltas(): readonly number[] {
    const told: number[] = [];
    for (const [roll, delta] of this.#deltas) {
      const left = this.#statements.countTexts.get(delta, roll)?.texts as number | undefined;
      if (left === undefined || left > 0) continue;
      this.#statements.removeRoll.run(roll);
      const number = this.#rollsTold.get(roll);
      this.#rollsTold.delete(roll);
      if (number === undefined) continue;
      this.#rolls.delete(number);
      told.push(number);
    }
    this.#deltas.clear();
    return told;
  }

  // Forgetting and clearing, a little at a time.

  /** Something settled may lie behind what has been looked through. */
  #lower({ at, place }: Cursor): void {
    const { at: floorAt, place: floorPlace } = this.#floor;
    if (at < floorAt || (at === floorAt && place <= floorPlace)) {
      this.#floor = { at, place: place - 1 };
    }
  }

  #step(now: Instant, rowsMax: number): Omit<Aftermath, "rolls"> {
    const isClearing = this.#clear();
    const settled = this.#forgetSettled(now, rowsMax);
    // Only when nothing settled is left.
    const isFull = this.#isFull();
    const cut = isFull && settled < rowsMax ? this.#forgetGivenUp(rowsMax) : 0;
    const { bytesMax } = this.#retention;
    if (pragma(this.#database, "page_count") * this.#pageBytes > bytesMax) {
      this.#database.exec(`PRAGMA incremental_vacuum(${vacuumPagesMax})`);
    }
    return { cut, more: isClearing || settled >= rowsMax || cut >= rowsMax };
  }

  #isFull(): boolean {
    const used = pragma(this.#database, "page_count") - pragma(this.#database, "freelist_count");
    return used * this.#pageBytes > this.#retention.bytesMax;
  }

  /** How many were looked through. */
  #forgetSettled(now: Instant, rowsMax: number): number {
    const before = now - this.#retention.keptMs;
    let isFull = this.#isFull();
    let looked = 0;
    let removed = 0;
    for (const row of this.#oldest(before, isFull, rowsMax)) {
      const at = row.accepted_at as number;
      if (!isFull && at >= before) break;
      const place = row.number as number;
      looked += 1;
      this.#floor = { at, place };
      if (row.rank !== 0) continue;
      this.#remove(row);
      removed += 1;
      if (removed % rowsBetweenLooks === 0) isFull = this.#isFull();
    }
    return looked;
  }

  /** Mostly none: then one row is looked at. */
  #oldest(before: Instant, isFull: boolean, rowsMax: number): SqlRow[] {
    const { at, place } = this.#floor;
    if (isFull) return this.#statements.after.all(at, place, rowsMax) as SqlRow[];
    const rows: SqlRow[] = [];
    for (const row of this.#statements.after.iterate(at, place, rowsMax) as Iterable<SqlRow>) {
      if ((row.accepted_at as number) >= before) break;
      rows.push(row);
    }
    return rows;
  }

  #forgetGivenUp(rowsMax: number): number {
    let cut = 0;
    const rows = this.#statements.oldestGivenUp.all(rowsMax) as SqlRow[];
    for (const row of rows) {
      this.#remove(row);
      cut += 1;
      if (cut % rowsBetweenLooks === 0 && !this.#isFull()) break;
    }
    return cut;
  }

  #remove(row: SqlRow): void {
    const { removeEntry, removeId, removeParts, removeText } = this.#statements;
    const number = row.number as number;
    removeEntry.run(number);
    removeId.run(binOf(number), hashOf(row.event as string), number);
    removeId.run(binOf(number), hashOf(row.id as string), number);
    removeParts.run(number);
    const roll = removeText.get(number)?.roll as number | undefined;
    if (roll !== undefined) this.#count(roll, -1);
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
    this.#clearances = isOver ? others : [{ note, from: cursorOf(last) }, ...others];
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
    const story = storyOf({ particulars: null }, { seats: [], notes });
    this.#statements.addPart.run({ entry: row.number as number, story });
    this.#put(row, fates);
  }

  // Looking.

  find(id: string): Entry | null {
    const { parts, text } = this.#statements;
    const row = this.#byEvent(id) ?? this.#named(id)[0];
    if (row === undefined) return null;
    const number = row.number as number;
    const later = parts.all(number).map((part) => JSON.parse(part.story as string) as Written);
    const kept = text.get(number);
    const members = (kept?.members ?? null) as string | null;
    return assemble({
      listed: listedOf(row),
      written: [JSON.parse(row.story as string) as Written, ...later],
      text: (kept?.text ?? null) as string | null,
      roll: members === null ? null : (JSON.parse(members) as Member[]),
    });
  }

  #byEvent(event: string): SqlRow | undefined {
    return this.#named(event).find((row) => row.event === event);
  }

  /** Those with this id, ours or the publisher's, the latest first. */
  #named(id: string): SqlRow[] {
    const { bins, inBin, entry } = this.#statements;
    const { first, last } = bins.get() as { first: number | null; last: number | null };
    if (first === null || last === null) return [];
    const hash = hashOf(id);
    const rows: SqlRow[] = [];
    for (let bin = binOf(last); bin >= binOf(first) && rows.length < namedMax; bin--) {
      for (const { entry: number } of inBin.iterate(bin, hash)) {
        const row = entry.get(number as number) as SqlRow | undefined;
        if (row !== undefined && (row.event === id || row.id === id)) rows.push(row);
      }
    }
    return rows.sort((one, other) => compare(cursorOf(other), cursorOf(one)));
  }

  search(query: EventQuery): { found: Listed[]; next: string | null } {
    if (query.id !== undefined) return this.#searchNamed(query, query.id);
    const plan = planSearch(query, (state) => letters[state]);
    const isWanted = isFound(query);
    const after = query.after === undefined ? end : readCursor(query.after);
    const edge = this.#prepared(edgeSql(plan)).get(after.at, after.place, this.#lookedThroughMax);
    const sql = searchSql(plan, edge !== undefined);
    const bounds = edge && { edgeAt: edge.accepted_at ?? 0, edgeNumber: edge.number ?? 0 };
    const values = { ...plan.values, ...bounds, at: after.at, number: after.place };
    const found: Listed[] = [];
    let last = after;
    for (const row of this.#prepared(sql).iterate(values) as Iterable<SqlRow>) {
      const listed = listedOf(row);
      if (!isWanted(listed)) continue;
      if (found.length === query.limit) return { found, next: writeCursor(last) };
      found.push(listed);
      last = cursorOf(row);
    }
    return { found, next: edge === undefined ? null : writeCursor(cursorOf(edge as SqlRow)) };
  }

  #searchNamed(query: EventQuery, id: string): { found: Listed[]; next: string | null } {
    const after = query.after === undefined ? end : readCursor(query.after);
    const isWanted = isFound(query);
    const rows = this.#named(id).filter(
      (row) => compare(cursorOf(row), after) < 0 && isWanted(listedOf(row)),
    );
    const page = rows.slice(0, query.limit);
    const last = page.at(-1);
    const isLast = last === undefined || page.length === rows.length;
    return { found: page.map(listedOf), next: isLast ? null : writeCursor(cursorOf(last)) };
  }

  /** Few shapes of searches are ever asked for. */
  #prepared(sql: string): StatementSync {
    const known = this.#searches.get(sql);
    if (known !== undefined) return known;
    const made = this.#database.prepare(sql);
    this.#searches.set(sql, made);
    return made;
  }
}

const beginning: Cursor = { at: Number.MIN_SAFE_INTEGER, place: 0 };
const end: Cursor = { at: Number.MAX_SAFE_INTEGER, place: 0 };

function cursorOf(row: SqlRow): Cursor {
  return { at: row.accepted_at as number, place: row.number as number };
}

function compare(one: Cursor, other: Cursor): number {
  return one.at - other.at || one.place - other.place;
}

function binOf(entry: number): number {
  return Math.floor(entry / binEntries);
}

/** FNV-1a over 32 bits: two ids with one hash cost a look more. */
function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let place = 0; place < id.length; place++) {
    hash = Math.imul(hash ^ id.charCodeAt(place), 0x01000193);
  }
  return hash;
}

/** What was done about its deliveries, applied in order; the answer is what is to be written. */
function apply(fates: Fates, acts: readonly Act[]): { seats: string[]; notes: string[] } {
  const seats = new Map<SubscriptionId, string>();
  const notes: string[] = [];
  for (const act of acts) {
    const known = fates.get(act.subscription);
    if (known === undefined && act.seat === null) continue;
    if (act.kind === "seat" && known !== undefined) continue;
    if (act.kind === "lost" && (known === undefined || !isOpen(known.state))) continue;
    // Its endpoint may be another one by now.
    if (act.seat !== null) seats.set(act.subscription, act.seat.json);
    const name = known?.name ?? act.seat?.name ?? "";
    const state = act.state === "" ? (known?.state ?? "waiting") : act.state;
    fates.set(act.subscription, { subscription: act.subscription, name, state });
    if (act.note !== null) notes.push(`[${act.subscription},${act.note}]`);
  }
  return { seats: [...seats.values()], notes };
}

function storyOf(
  { particulars }: Pick<Telling, "particulars">,
  { seats, notes }: { readonly seats: readonly string[]; readonly notes: readonly string[] },
): string {
  const of = particulars === null ? "" : `"particulars":${particulars},`;
  return `{${of}"seats":[${seats.join()}],"notes":[${notes.join()}]}`;
}

function rankIn(fates: Fates): Rank {
  return rankOf([...fates.values()].map(({ state }) => state));
}

/** `|12:w:billing|13:d:shop|` */
function writeFates(fates: Fates): string {
  let text = "|";
  for (const { subscription, name, state } of fates.values()) {
    text += `${subscription}:${letters[state]}:${name}|`;
  }
  return text;
}

function readFates(text: string): Fates {
  const fates: Fates = new Map();
  for (const part of text.split("|")) {
    const [number = "", letter = "", name = ""] = part.split(":");
    if (number === "") continue;
    const subscription = Number(number);
    const state = statesByLetter.get(letter) ?? "unknown";
    fates.set(subscription, { subscription, name, state });
  }
  return fates;
}

function listedOf(row: SqlRow): Listed {
  return {
    event: row.event as string,
    id: row.id as string,
    topic: row.topic as string,
    domainTopic: row.domain_topic as string | null,
    subject: row.subject as string,
    type: row.type as string,
    acceptedAt: row.accepted_at as number,
    number: row.store_number as number | null,
    fates: [...readFates(row.states as string).values()],
  };
}
