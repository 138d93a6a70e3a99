// The front of the stories: it implements the port, packs notes as they are made and sends them to
// the engine in batches, one at a time. Nobody waits for them, and no more wait than the packer
// holds: when the disk cannot keep up, successes are left out first (pack.ts), and counted.

import type { Activity, Clock, Instant, Log, Meter } from "../../core/ports.ts";
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
import { type Batch, buffersOf } from "./batch.ts";
import type { Aftermath } from "./engine.ts";
import { Packer } from "./pack.ts";
import { Watchers } from "./watchers.ts";

export type StoryLook =
  | { readonly kind: "search"; readonly query: EventQuery }
  | { readonly kind: "find"; readonly id: string };

export type StoryAsk =
  | {
      readonly kind: "write";
      readonly batch: Batch;
      readonly now: Instant;
      /** Somebody is about to read it. */
      readonly isPressed: boolean;
    }
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
  readonly meter?: Meter;
  /** How long notes are collected; 0: not at all, which a virtual clock needs. */
  readonly gatherMs: number;
  /** Default: all. */
  readonly texts?: StoryTexts;
}

/** How long a read waits for what was noted just before it. */
const freshWaitMs = 250;

/** How long a stop waits for the disk, and then for the threads to end. */
const stopWaitMs = 5_000;

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
  /** Events that the other side has not written yet. */
  #held = 0;
  /** Resolved when all that was noted before somebody asked for it is written. */
  #pressed: PromiseWithResolvers<void> | null = null;

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
    if (this.#packer.hasFull) this.#send();
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
    const { clock, reader, link } = this.#options;
    this.#callOff();
    this.#isClosed = true;
    this.#pressed?.resolve();
    const writing = startWait(clock);
    await Promise.race([this.#sending, writing.over]);
    while (this.#packer.size > 0 && !writing.isOver()) {
      await Promise.race([this.#write(), writing.over]);
    }
    writing.callOff();
    this.#miss(this.#packer.abandon(), "stopped");
    const closing = startWait(clock);
    for (const open of [reader, link]) {
      if (!closing.isOver()) await Promise.race([open?.close(), closing.over]);
      if (closing.isOver()) open?.abandon?.();
    }
    closing.callOff();
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
    while ((more || this.#pressed !== null || this.#packer.hasFull) && !this.#isClosed) {
      more = await this.#write();
    }
    this.#isSending = false;
    end();
    if ((this.#packer.size > 0 || this.#held > 0) && !this.#isClosed) this.#await();
  }

  /** Writes a batch, or does a step of removal. Returns whether there is more to remove. */
  async #write(): Promise<boolean> {
    const { link, clock, log, gatherMs } = this.#options;
    const now = clock.now();
    const { dropped, ...batch } = this.#packer.take();
    this.#miss(dropped, "overloaded");
    const pressed = this.#packer.size === 0 ? this.#pressed : null;
    if (pressed !== null) this.#pressed = null;
    const isPressed = pressed !== null || gatherMs === 0;
    try {
      const answer = await (batch.notes > 0
        ? link.ask({ kind: "write", batch, now, isPressed }, buffersOf(batch))
        : link.ask({ kind: "step", now }));
      const { cut, more, gone, held } = answer as Aftermath;
      this.#held = held;
      this.#packer.forget(gone);
      if (cut > 0) log.fact("warn", "story.cut", { events: cut });
      this.#isFailing = false;
      return more;
    } catch (error) {
      this.#packer.forgetAll();
      // Logged once until it recovers: with a full disk every batch fails.
      const level = this.#isFailing ? "debug" : "warn";
      this.#isFailing = true;
      this.#miss(batch.notes + this.#held, String(error), level);
      this.#held = 0;
      return false;
    } finally {
      pressed?.resolve();
    }
  }

  #miss(notes: number, reason: string, level: "warn" | "debug" = "warn"): void {
    if (notes === 0) return;
    this.#options.log.fact(level, "story.missed", { notes, reason });
    this.#options.meter?.count("posthorn_story_missed_total", {}, notes);
  }

  /** When it resolves, what was noted before is written. */
  #press(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#pressed ??= Promise.withResolvers<void>();
    const { promise } = this.#pressed;
    this.#send();
    return promise;
  }

  /**
   * What was noted before is written first, if one batch holds it: reading does not wait for more,
   * and then shows what has been written. Refusal: Unavailable.
   */
  async #look(ask: StoryLook): Promise<unknown> {
    const { activity, link, reader } = this.#options;
    const end = activity.begin("inside");
    try {
      const isMissing = this.#packer.size > 0 || this.#isSending || this.#held > 0;
      if (isMissing && !this.#packer.hasFull) await this.#briefly(this.#press());
      else this.#send();
      return await (reader ?? link).ask(ask);
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

/** A wait of a stop. */
function startWait(clock: Clock) {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  let isOver = false;
  const callOff = clock.after(stopWaitMs, () => {
    isOver = true;
    resolve();
  });
  return { over, isOver: () => isOver, callOff };
}
