// Notes on their way to whoever keeps them, as bytes: written when they are made, outside the heap,
// so that nothing of an event lives on in it, and handed to a thread without a copy.

import type { ClearedNote } from "../../core/story/note.ts";
import type { SubscriptionId } from "../../core/subscription.ts";

/** A subscription, as written. */
export interface PackedSeat {
  readonly subscription: SubscriptionId;
  readonly name: string;
  readonly json: string;
}

/** Who was considered. */
export interface PackedRoll {
  readonly number: number;
  /** The numbers of its blocks, of this batch or sent before. */
  readonly blocks: readonly number[];
}

export interface PackedBlock {
  readonly number: number;
  /** As JSON. */
  readonly members: string;
}

/** What is known of rolls and blocks by their numbers. */
export interface Numbers {
  readonly rolls: readonly number[];
  readonly blocks: readonly number[];
}

/** The parts of a batch that are bytes. */
export interface BatchBytes {
  /** Kinds, times, lengths of words; see `Packer` for what follows what. */
  readonly numbers: Float64Array<ArrayBuffer>;
  /** All words one after the other, as UTF-8. */
  readonly words: Uint8Array<ArrayBuffer>;
  /** The events' own texts, likewise. */
  readonly texts: Uint8Array<ArrayBuffer>;
}

export interface Batch extends BatchBytes {
  readonly seats: readonly PackedSeat[];
  /** Those not sent before, by numbers that only this process knows. */
  readonly rolls: readonly PackedRoll[];
  readonly blocks: readonly PackedBlock[];
  readonly clearances: readonly ClearedNote[];
  readonly notes: number;
}

/** What is moved to a thread instead of being copied. */
export function buffersOf({ numbers, words, texts }: BatchBytes): ArrayBuffer[] {
  return [numbers.buffer, words.buffer, texts.buffer].filter(({ byteLength }) => byteLength > 0);
}

const numbersRoom = 49_152;
const wordsRoom = 256 * 1_024;
const textsRoom = 1_048_576;
/** A batch is full when this part of a room is used. */
const fullShare = 0.9;
/** Words that are written together: a call costs more than their bytes. */
const pendingMax = 4_096;

const nothing = Buffer.allocUnsafeSlow(0);

export class BatchWriter {
  #numbers = new Float64Array(0);
  #numbersUsed = 0;
  #words = nothing;
  #wordsUsed = 0;
  #pending = "";
  #texts = nothing;
  #textsUsed = 0;

  get isFull(): boolean {
    return (
      this.#numbersUsed > numbersRoom * fullShare ||
      this.#wordsUsed > wordsRoom * fullShare ||
      this.#textsUsed > textsRoom * fullShare
    );
  }

  number(value: number | null): void {
    if (this.#numbersUsed === this.#numbers.length) this.#growNumbers();
    this.#numbers[this.#numbersUsed++] = value ?? Number.NaN;
  }

  word(word: string | null): void {
    this.number(word === null ? null : word.length);
    if (word === null || word === "") return;
    this.#pending += word;
    if (this.#pending.length > pendingMax) this.#writePending();
  }

  /** How many bytes it has. */
  text(text: string): number {
    this.#texts = roomFor(text, this.#texts, this.#textsUsed, textsRoom);
    const bytes = this.#texts.write(text, this.#textsUsed);
    this.#textsUsed += bytes;
    return bytes;
  }

  /** What was written; then it begins anew. */
  seal(): BatchBytes {
    this.#writePending();
    const sealed = {
      numbers: this.#numbers.subarray(0, this.#numbersUsed),
      words: this.#words.subarray(0, this.#wordsUsed),
      texts: this.#texts.subarray(0, this.#textsUsed),
    };
    this.#numbers = new Float64Array(0);
    this.#words = nothing;
    this.#texts = nothing;
    this.#numbersUsed = 0;
    this.#wordsUsed = 0;
    this.#textsUsed = 0;
    return sealed;
  }

  #writePending(): void {
    if (this.#pending === "") return;
    this.#words = roomFor(this.#pending, this.#words, this.#wordsUsed, wordsRoom);
    this.#wordsUsed += this.#words.write(this.#pending, this.#wordsUsed);
    this.#pending = "";
  }

  #growNumbers(): void {
    const grown = new Float64Array(Math.max(numbersRoom, 2 * this.#numbers.length));
    grown.set(this.#numbers);
    this.#numbers = grown;
  }
}

const bytesPerUnitMax = 3;

/** The same bytes, or a copy with room for the text behind those that are used. */
function roomFor(text: string, bytes: Buffer<ArrayBuffer>, used: number, usual: number) {
  if (used + text.length * bytesPerUnitMax <= bytes.length) return bytes;
  const needed = used + Buffer.byteLength(text);
  if (needed <= bytes.length) return bytes;
  const grown = Buffer.allocUnsafeSlow(Math.max(usual, needed, 2 * used));
  bytes.copy(grown, 0, 0, used);
  return grown;
}

/** Takes values from a batch in the order they were added. */
export class BatchReader {
  readonly #numbers: Float64Array;
  readonly #words: string;
  readonly #texts: Buffer;
  #place = 0;
  #wordsRead = 0;
  #textsRead = 0;

  constructor({ numbers, words, texts }: BatchBytes) {
    this.#numbers = numbers;
    this.#words = asBuffer(words).toString();
    this.#texts = asBuffer(texts);
  }

  get isAtEnd(): boolean {
    return this.#place >= this.#numbers.length;
  }

  /** NaN: there is none. */
  number(): number {
    return this.#numbers[this.#place++] as number;
  }

  numberOrNull(): number | null {
    const value = this.number();
    return Number.isNaN(value) ? null : value;
  }

  word(): string {
    return this.wordOrNull() ?? "";
  }

  wordOrNull(): string | null {
    const length = this.number();
    if (Number.isNaN(length)) return null;
    const start = this.#wordsRead;
    this.#wordsRead += length;
    return this.#words.slice(start, this.#wordsRead);
  }

  /** Of so many bytes. */
  text(bytes: number): PackedText {
    const start = this.#textsRead;
    this.#textsRead += bytes;
    return { all: this.#texts, start, end: this.#textsRead };
  }
}

/** An event's text among those of its batch: most go to the disk without being read. */
export interface PackedText {
  readonly all: Buffer;
  readonly start: number;
  readonly end: number;
}

export function bytesIn({ all, start, end }: PackedText): Buffer {
  return all.subarray(start, end);
}

function asBuffer(bytes: Uint8Array<ArrayBuffer>): Buffer<ArrayBuffer> {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
