// The seal: a small file beside the store that says whether there is one, and whether it was closed
// properly. SQLite cannot distinguish an emptied store from a new one, nor a store whose log was
// deleted from one without a log; so it would silently start with less than was accepted.
//
//   journal  A broker has the store open, or has crashed. Its log (`-wal`) and its journal may hold
//            the latest events. The journal must be there; the log, too, or have been taken into
//            the file since.
//   open     The same by an older release, which had no journal.
//   closing  The log is being taken into the file. It may be there or not.
//   closed   Everything is in the file.
//
// The last program that opens the file moves the log into it: a thread that ends with its process,
// or one of SQLite's own tools. The file is then younger than the seal, which is written to with
// every round.
//
// Its second line says how many records the journal has, so that one that was cut or overwritten is
// noticed. It is not synced: after a power cut it may know of fewer, and never of more.
//
// A store of an older release has no seal, and gets one when it is opened.

import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { Refusal } from "../../core/refusal.ts";
import { privateFileMode } from "../private-files.ts";
import { hasJournal, type JournalMark, journalPath } from "./journal.ts";

export type SealState = "journal" | "open" | "closing" | "closed";

const states: readonly SealState[] = ["journal", "open", "closing", "closed"];

/** The first line is as long as the longest state; the second as two large numbers. */
const firstChars = "closing\n".length;
const secondChars = 32;

/** Null: there is none, or it cannot be read. */
export function readSeal(store: string): SealState | null {
  const [first = ""] = linesOf(store);
  return states.find((state) => state === first.trim()) ?? null;
}

/** What the journal must have; null: that is not known. */
export function readSealedJournal(store: string): JournalMark | null {
  const [, second = ""] = linesOf(store);
  const [, epoch, records] = /^(\d+) (\d+) *$/.exec(second) ?? [];
  return epoch === undefined ? null : { epoch: Number(epoch), records: Number(records) };
}

function linesOf(store: string): readonly string[] {
  try {
    return readFileSync(pathOf(store), "latin1").split("\n");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Survives a power cut when it returns. */
export function writeSeal(store: string, state: SealState): void {
  const seal = new Seal(store);
  seal.set(state);
  seal.close();
}

/** The seal of a store that is being used. */
export class Seal {
  readonly #file: number;

  constructor(store: string) {
    const path = pathOf(store);
    const isNew = !existsSync(path);
    this.#file = openSync(path, isNew ? "w" : "r+", privateFileMode);
    if (isNew) syncFolder(dirname(store));
  }

  /** Overwritten in place with a fixed length, so that it also works on a full disk. */
  set(state: SealState): void {
    const lines = `${state.padEnd(firstChars - 1)}\n${" ".repeat(secondChars)}\n`;
    writeSync(this.#file, lines, 0);
    fsyncSync(this.#file);
  }

  /** After a round of an open store. A disk that fails here has failed the round, too. */
  touch(journal: JournalMark | null): void {
    const mark = journal === null ? "" : `${journal.epoch} ${journal.records}`;
    try {
      writeSync(this.#file, mark.padEnd(secondChars), firstChars);
    } catch {
      // The store reports the disk's error.
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  fsyncSync(folder);
  closeSync(folder);
}

/** Before the store is opened. Refusal: Unavailable, with what to do. */
export function checkSeal(store: string): void {
  const why = whyBroken(store);
  if (why === null) return;
  const remedy =
    "Put the file back, restore a backup (posthorn restore FILE --replace), " +
    "or go on with what is left (posthorn recover).";
  throw new Refusal("Unavailable", `${why} ${remedy}`);
}

/** A sentence, or null: nothing is missing as far as is known without reading the store. */
export function whyBroken(store: string): string | null {
  const state = readSeal(store);
  const bytes = sizeOf(store);
  if (state !== null && bytes === 0) {
    return existsSync(store)
      ? `The store ${store} is empty, and it was not when it was last used.`
      : `The store ${store} is missing, and it was there when it was last used.`;
  }
  const isLogGone = sizeOf(`${store}-wal`) === 0;
  if (state === "journal" && !hasJournal(store)) {
    const journal = journalPath(store);
    return `The journal of the store, ${journal}, is missing, and it may have held the latest events.`;
  }
  const isOpen = state === "open" || state === "journal";
  if (isOpen && isLogGone && timeOf(store) < timeOf(pathOf(store))) {
    return `The log of the store, ${store}-wal, is missing, and it may have held the latest events.`;
  }
  const { expected, pageBytes } = bytes === 0 ? nothing : lengthInHeader(store);
  if (bytes >= expected) return null;
  // A crash may have left the last pages in the log alone.
  const inLog = isLogGone ? new Set<number>() : pagesInLog(`${store}-wal`, pageBytes);
  for (let page = Math.floor(bytes / pageBytes) + 1; page <= expected / pageBytes; page += 1) {
    if (inLog.has(page)) continue;
    return `The store ${store} is cut short: it has ${bytes} of ${expected} bytes.`;
  }
  return null;
}

/** The next start creates a new store. */
export function removeSeal(store: string): void {
  rmSync(pathOf(store), { force: true });
}

/** Also when it does not exist. */
export function isEmpty(store: string): boolean {
  return sizeOf(store) === 0;
}

export function hasLog(store: string): boolean {
  return sizeOf(`${store}-wal`) > 0;
}

function pathOf(store: string): string {
  return store.replace(/\.db$/, ".seal");
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** When it was last written to. */
function timeOf(path: string): number {
  return statSync(path).mtimeMs;
}

const nothing = { expected: 0, pageBytes: 1 };

/** The file's length by SQLite's own header; 0 if it does not say. */
function lengthInHeader(path: string): { readonly expected: number; readonly pageBytes: number } {
  const header = beginningOf(path, 100);
  // The length is kept by SQLite only while these two counters are the same.
  const isKnown = header.length === 100 && header.readUInt32BE(24) === header.readUInt32BE(92);
  if (!isKnown || !header.toString("latin1").startsWith("SQLite format 3\0")) return nothing;
  const size = header.readUInt16BE(16);
  const pageBytes = size === 1 ? 65_536 : size;
  return { expected: pageBytes * header.readUInt32BE(28), pageBytes };
}

/** The pages that a log brings, of those of its frames that belong to it. */
function pagesInLog(path: string, pageBytes: number): ReadonlySet<number> {
  const pages = new Set<number>();
  const log = openSync(path, "r");
  try {
    const head = Buffer.alloc(logHeadBytes);
    const frame = Buffer.alloc(frameHeadBytes);
    if (readSync(log, head, 0, head.length, 0) < head.length) return pages;
    const salt = head.subarray(16, 24);
    for (let at = logHeadBytes; ; at += frameHeadBytes + pageBytes) {
      if (readSync(log, frame, 0, frame.length, at) < frame.length) return pages;
      if (!frame.subarray(8, 16).equals(salt)) return pages;
      pages.add(frame.readUInt32BE(0));
    }
  } finally {
    closeSync(log);
  }
}

const logHeadBytes = 32;
const frameHeadBytes = 24;

function beginningOf(path: string, bytes: number): Buffer {
  const text = Buffer.alloc(bytes);
  const file = openSync(path, "r");
  try {
    return text.subarray(0, readSync(file, text, 0, bytes, 0));
  } finally {
    closeSync(file);
  }
}
