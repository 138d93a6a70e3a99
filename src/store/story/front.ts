// The front of the stories: it implements the port, packs notes as they are made and sends them to
// the engine in batches, a few times a second. Nobody waits for them. When the disk cannot keep up,
// successes are left out first (pack.ts), and their number is logged.

import type { Activity, Clock, Instant, Log } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import {
  type Chronicle,
  type Entry,
  type EventQuery,
  type Listed,
  readCursor,
  type StoryTexts,
} from "../../core/story/chronicle.ts";
import type { StoryNote } from "../../core/story/note.ts";
import type { Asked } from "../asked-thread.ts";
import type { Aftermath } from "./engine.ts";
import { type Batch, batchNotesMax, Packer } from "./pack.ts";
import { Watchers } from "./watchers.ts";

export type StoryLook =
  | { readonly kind: "search"; readonly query: EventQuery }
  | { readonly kind: "find"; readonly id: string };

export type StoryAsk =
  | { readonly kind: "write"; readonly batch: Batch; readonly now: Instant }
  | { readonly kind: "step"; readonly now: Instant }
  | StoryLook;

export interface StoryLink extends Asked<StoryAsk> {
  /** What is known from the last run: see `StoryEngine`. */
  readonly wasClosed: boolean;
  readonly lastStored: number;
  /** Where a damaged file was moved to; null: there was none. */
  readonly setAside: string | null;
  /** Other brokers write there, too. */
  readonly isShared?: boolean;
}

export interface StoryFrontOptions {
  readonly link: StoryLink;
  /** Who is asked to read; without it, whoever writes. */
  readonly reader?: Asked<StoryLook>;
  readonly clock: Clock;
  readonly activity: Activity;
  readonly log: Log;
  /** How long notes are collected; 0: not at all, which a virtual clock needs. */
  readonly gatherMs: number;
  /** Default: all. */
  readonly texts?: StoryTexts;
}

/** How long a read waits for what was noted just before it. */
const freshWaitMs = 250;

/** What may wait for the disk. */
const packLimits = { notesMax: 50_000, charsMax: 32 * 1_048_576 };

export class StoryFront implements Chronicle {
  readonly #options: StoryFrontOptions;
  readonly #relay = new Watchers();
  readonly #packer: Packer;
  #isSending = false;
  #isAwaited = false;
  #isClosed = false;
  #isFailing = false;
  #callOff: () => void = () => {};
  #sending: Promise<void> = Promise.resolve();
  /** The latest batch on its way to the disk. */
  #underWay: Promise<unknown> = Promise.resolve();

  constructor(options: StoryFrontOptions) {
    this.#options = options;
    const { link, clock, texts = "all" } = options;
    // If it was closed properly everything is known; otherwise each note of an earlier event
    // introduces it again.
    const unseenUntil = link.wasClosed ? Number.NEGATIVE_INFINITY : clock.now();
    const introduces = link.isShared === true ? "foreign" : unseenUntil;
    this.#packer = new Packer({ ...packLimits, texts }, introduces);
  }

  note(note: StoryNote): void {
    this.#relay.tell(note);
    if (this.#isClosed) return;
    this.#packer.add(note);
    if (this.#isSending) return;
    if (this.#packer.size >= batchNotesMax) this.#send();
    else if (!this.#isAwaited) this.#await();
  }

  listen(listener: (note: StoryNote) => void): () => void {
    return this.#relay.listen(listener);
  }

  async search(query: EventQuery) {
    if (query.after !== undefined) readCursor(query.after);
    type Answer = { readonly found: readonly Listed[]; readonly next: string | null };
    return (await this.#look({ kind: "search", query })) as Answer;
  }

  async find(id: string) {
    return (await this.#look({ kind: "find", id })) as Entry | null;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#callOff();
    this.#isClosed = true;
    await this.#sending;
    while (this.#packer.size > 0) await this.#write();
    await this.#options.reader?.close();
    await this.#options.link.close();
  }

  /** After a while, so that many share one transaction; at the latest with the next read. */
  #await(): void {
    const { clock, gatherMs } = this.#options;
    this.#isAwaited = true;
    if (gatherMs > 0) this.#callOff = clock.after(gatherMs, () => this.#send());
    else void Promise.resolve().then(() => this.#send());
  }

  #send(): void {
    if (this.#isSending || this.#isClosed) return;
    this.#isSending = true;
    this.#isAwaited = false;
    this.#callOff();
    this.#sending = this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    const end = this.#options.activity.begin("inside");
    let more = await this.#write();
    while ((more || this.#packer.size >= batchNotesMax) && !this.#isClosed) {
      more = await this.#write();
    }
    this.#isSending = false;
    end();
    if (this.#packer.size > 0 && !this.#isClosed) this.#await();
  }

  /** Writes a batch, or does a step of removal. Returns whether there is more to remove. */
  #write(): Promise<boolean> {
    const written = this.#writeOnce();
    this.#underWay = written;
    return written;
  }

  async #writeOnce(): Promise<boolean> {
    const { link, clock, log } = this.#options;
    const now = clock.now();
    const { dropped, ...batch } = this.#packer.take();
    if (dropped > 0) log.fact("warn", "story.missed", { notes: dropped, reason: "overloaded" });
    try {
      const ask: StoryAsk = batch.notes > 0 ? { kind: "write", batch, now } : { kind: "step", now };
      const { cut, more, rolls } = (await link.ask(ask)) as Aftermath;
      this.#packer.forget(rolls);
      if (cut > 0) log.fact("warn", "story.cut", { events: cut });
      this.#isFailing = false;
      return more;
    } catch (error) {
      this.#packer.forget(batch.rolls.map(({ number }) => number));
      // Logged once until it recovers: with a full disk every batch fails.
      const level = this.#isFailing ? "debug" : "warn";
      this.#isFailing = true;
      log.fact(level, "story.missed", { notes: batch.notes, reason: String(error) });
      return false;
    }
  }

  /**
   * What was noted before is written first, if one batch holds it: reading does not wait for more,
   * and then shows what has been written. Refusal: Unavailable.
   */
  async #look(ask: StoryLook): Promise<unknown> {
    const { size } = this.#packer;
    const isAllWritten = size === 0 && !this.#isSending;
    if (!this.#isSending) this.#send();
    else if (size > 0 && size <= batchNotesMax) void this.#write();
    const { activity, link, reader } = this.#options;
    const end = activity.begin("inside");
    try {
      if (reader === undefined) return await link.ask(ask);
      if (!isAllWritten && size <= batchNotesMax) await this.#briefly(this.#underWay);
      return await reader.ask(ask);
    } catch (error) {
      throw new Refusal("Unavailable", "Stories cannot be read at the moment.", { cause: error });
    } finally {
      end();
    }
  }

  /** A disk that is slow just now does not hold a reader up. */
  async #briefly(written: Promise<unknown>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const callOff = this.#options.clock.after(freshWaitMs, resolve);
    await Promise.race([written, promise]);
    callOff();
  }
}
