// The journal in front of the store's file: what rounds have done since the last COMMIT, so that a
// round is durable with one write and one sync, and what is delivered at once never becomes a row.
//
// It is one file that is written from its beginning after every COMMIT, so that it needs no room
// and no cleaning up. A record is a round: a head with its epoch, its place in it, its length and a
// checksum, and its entries. The store's file knows the last epoch it has in it; what counts is the
// records of the next one, in order. Everything else is left from before.
//
//   after a crash   the records are repeated, in the transaction that ends with the next COMMIT
//   torn tail       the last record was never answered for: it has not happened
//   damage          a record that cannot be read has readable ones behind it, or the seal knows of
//                   more (seal.ts): it was answered for. Or there are records of a later epoch:
//                   SQLite's own log was damaged, which it takes for its end. The store is not
//                   opened; `recover` goes on with the others

import {
  closeSync,
  constants,
  fdatasyncSync,
  fsyncSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { privateFileMode } from "../private-files.ts";
import { EntryWriter, type JournalEntry, readEntries } from "./journal-record.ts";

/** Bytes that survive a crash. Its calls throw what the system throws. */
export interface JournalFile {
  /** Durable when it returns. */
  write(bytes: Buffer, at: number): void;
  read(): Buffer;
  close(): void;
}

const magic = Buffer.from("PHJ1");
/** magic, checksum of all that follows it, length of the entries, place in the epoch, epoch. */
const headBytes = 24;

/** How far the journal has come. */
export interface JournalMark {
  readonly epoch: number;
  readonly records: number;
}

/** The records of one epoch, as far as they can be read. */
export interface JournalContent {
  readonly records: readonly Buffer[];
  /** Null: nothing is missing, but for a last record that nobody was answered for. */
  readonly damage: string | null;
}

export class Journal {
  readonly #file: JournalFile;
  readonly #sealed: JournalMark | null;
  readonly #entries = new EntryWriter(headBytes);
  #epoch: number;
  #records = 0;
  #at = 0;
  #isUsed = false;
  #isThere = false;

  /** `epoch`: the last one that the store's file has in it. `sealed`: what must be there. */
  constructor(file: JournalFile, epoch: number, sealed: JournalMark | null = null) {
    this.#file = file;
    this.#epoch = epoch + 1;
    this.#sealed = sealed;
  }

  get mark(): JournalMark {
    return { epoch: this.#epoch, records: this.#records };
  }

  /** What the current round has done. */
  get entries(): EntryWriter {
    return this.#entries;
  }

  /** Of the records since the last COMMIT. */
  get bytes(): number {
    return this.#at;
  }

  /** Whether there may be something of this epoch on disk, also by a write that failed. */
  get isUsed(): boolean {
    return this.#isUsed;
  }

  /** Writes the current round. When it throws, the round is not in the journal. */
  write(): void {
    const bytes = this.#entries.bytes;
    magic.copy(bytes);
    bytes.writeUInt32LE(bytes.length - headBytes, 8);
    bytes.writeUInt32LE(this.#records, 12);
    bytes.writeDoubleLE(this.#epoch, 16);
    bytes.writeUInt32LE(crc32(bytes.subarray(8)), 4);
    this.#isUsed = true;
    try {
      this.#file.write(bytes, this.#at);
    } catch (error) {
      this.#erase();
      throw error;
    }
    this.#at += bytes.length;
    this.#records += 1;
  }

  /**
   * What failed may be there all the same: its sync failed, or what was not written of it is what
   * an earlier record had in the same place.
   */
  #erase(): void {
    try {
      this.#file.write(Buffer.alloc(magic.length), this.#at);
    } catch {
      // Then it is as before: a record of a round that nobody was answered for.
    }
  }

  /** Everything is in the store's file, which says so with this epoch. */
  begin(epoch: number): void {
    this.#epoch = epoch + 1;
    this.#records = 0;
    this.#at = 0;
    this.#isUsed = false;
  }

  /** Makes sure that the file is not empty, so that whoever opens it next can tell. */
  fill(): void {
    if (this.#isThere) return;
    this.#entries.clear();
    this.write();
  }

  /** What has been written since the last COMMIT; writing goes on behind it. */
  read(): JournalContent {
    const bytes = this.#file.read();
    const { records, at, damage } = readRecords(bytes, this.#epoch, this.#sealed);
    this.#records = records.length;
    this.#at = at;
    this.#isUsed = at > 0;
    this.#isThere = bytes.length > 0;
    return { records, damage };
  }

  close(): void {
    this.#file.close();
  }
}

export function* entriesIn({ records }: JournalContent): Iterable<JournalEntry> {
  for (const record of records) yield* readEntries(record);
}

/** `at`: where the next record is to be written. */
function readRecords(
  bytes: Buffer,
  epoch: number,
  sealed: JournalMark | null,
): JournalContent & { readonly at: number } {
  const records: Buffer[] = [];
  const isAhead = newestIn(bytes) > epoch;
  let damage = isAhead ? "what comes before it is missing from the store's file or its log" : null;
  let at = 0;
  for (let place = 0; place < bytes.length; ) {
    const record = recordAt(bytes, place);
    if (record !== null && record.epoch === epoch && record.number >= records.length) {
      records.push(record.entries);
      place = at = record.end;
      continue;
    }
    const next = findLater(bytes, place + 1, epoch);
    if (next === null) break;
    damage ??= `the record at byte ${place} cannot be read, and there are later ones`;
    place = next;
  }
  if (sealed?.epoch === epoch && records.length < sealed.records) {
    damage ??= `it has ${records.length} of ${sealed.records} records`;
  }
  return { records, damage, at };
}

/** Of all that can be read, which may be of times before; 0: nothing. */
export function newestEpoch(file: JournalFile): number {
  return newestIn(file.read());
}

function newestIn(bytes: Buffer): number {
  let newest = 0;
  for (let at = bytes.indexOf(magic); at !== -1; at = bytes.indexOf(magic, at + 1)) {
    newest = Math.max(newest, recordAt(bytes, at)?.epoch ?? 0);
  }
  return newest;
}

/** Where the next record of the epoch is that can be read; null: nowhere. */
function findLater(bytes: Buffer, from: number, epoch: number): number | null {
  for (let at = bytes.indexOf(magic, from); at !== -1; at = bytes.indexOf(magic, at + 1)) {
    if (recordAt(bytes, at)?.epoch === epoch) return at;
  }
  return null;
}

function recordAt(bytes: Buffer, at: number) {
  if (at + headBytes > bytes.length || bytes.compare(magic, 0, 4, at, at + 4) !== 0) return null;
  const end = at + headBytes + bytes.readUInt32LE(at + 8);
  if (end > bytes.length) return null;
  if (crc32(bytes.subarray(at + 8, end)) !== bytes.readUInt32LE(at + 4)) return null;
  const number = bytes.readUInt32LE(at + 12);
  const epoch = bytes.readDoubleLE(at + 16);
  return { number, epoch, end, entries: bytes.subarray(at + headBytes, end) };
}

/** Beside the store. SQLite has other uses for the name with a hyphen. */
export function journalPath(store: string): string {
  return store.replace(/(\.db)?$/, ".journal");
}

/** False: there is none, or it is empty, which one that was ever used is not. */
export function hasJournal(store: string): boolean {
  return (statSync(journalPath(store), { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** A store that is not open; `epoch`: the last one that is in its file. */
export function readJournal(
  store: string,
  epoch: number,
  sealed: JournalMark | null,
): JournalContent {
  if (!hasJournal(store)) return { records: [], damage: null };
  return readRecords(readFileSync(journalPath(store)), epoch + 1, sealed);
}

export function openJournalFile(store: string): JournalFile {
  const path = journalPath(store);
  const isNew = !hasJournal(store);
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT, privateFileMode);
  if (isNew) syncFolder(dirname(path));
  return {
    write(bytes, at) {
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(file, bytes, done, bytes.length - done, at + done);
      }
      fdatasyncSync(file);
    },
    read: () => readFileSync(path),
    close: () => closeSync(file),
  };
}

function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  fsyncSync(folder);
  closeSync(folder);
}

/** For a store in memory, which survives no more than a simulated crash. */
export function openMemoryJournal(): JournalFile {
  let content = Buffer.alloc(0);
  return {
    write(bytes, at) {
      const length = Math.max(content.length, at + bytes.length);
      if (length > content.length) {
        content = Buffer.concat([
          content,
          Buffer.alloc(Math.max(4096, 2 * length) - content.length),
        ]);
      }
      bytes.copy(content, at);
    },
    read: () => content,
    close: () => {},
  };
}
