// Writes lines to a descriptor in the background, many at once. A reader that stops reading must
// not fill our memory: beyond a limit lines are left out, and counted. Nothing here ever throws,
// and a full disk does not keep the process from ending. A full pipe that nobody reads does: the
// system has no end to such a write.

import { write, writeSync } from "node:fs";

export interface Out {
  write(line: string): void;
  /** Lines left out since the last report, as far as there is room for it. */
  takeDropped(): number;
  /** Resolves when everything is written, or cannot be at the moment. May be called twice. */
  close(): Promise<void>;
}

/** Lines that wait for a slow reader. */
const waitingBytesMax = 16 * 1024 * 1024;

/** For one write. */
const pieceCharacters = 16_384;

/** How long a reader that takes nothing at the moment is left alone. */
const pauseMs = 100;

/** How often it is asked when the process ends. */
const lastTries = 10;

/** Called when the process ends: they write what waits. */
const unfinished = new Set<() => void>();
const finish = () => {
  for (const each of unfinished) each();
};

export function inBackground(fd: number): Out {
  /** Of which the first bytes may have been written. */
  let piece: Buffer = Buffer.alloc(0);
  /** After it. */
  const pieces: string[] = [];
  let bytes = 0;
  let dropped = 0;
  let isFull = false;
  let isWriting = false;
  let isInThread = false;
  let isClosed = false;
  let isGone = false;
  const closing: (() => void)[] = [];

  const next = () => {
    if (piece.length === 0) piece = Buffer.from(pieces.shift() ?? "");
    return piece.length > 0;
  };
  const taken = (count: number) => {
    piece = piece.subarray(count);
    bytes -= count;
    isFull = false;
  };
  const rest = () => {
    isWriting = false;
    for (const tell of closing.splice(0)) tell();
  };
  const begin = () => {
    isWriting = next();
    if (!isWriting) return rest();
    isInThread = true;
    write(fd, piece, (error, count) => {
      isInThread = false;
      if (error === null) {
        taken(count);
        begin();
      } else if (isBusy(error)) setTimeout(begin, pauseMs);
      else {
        // With a closed reader nothing is tried again; with a full disk, with the next line.
        isGone = error.code === "EPIPE";
        rest();
      }
    });
  };
  const writeRest = () => {
    // Which of it has been written is not known.
    if (isInThread) piece = Buffer.alloc(0);
    for (let tries = lastTries; tries > 0 && next(); ) {
      try {
        taken(writeSync(fd, piece));
      } catch (error) {
        tries = isBusy(error) ? tries - 1 : 0;
        if (tries > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
      }
    }
  };
  unfinished.add(writeRest);
  if (!process.listeners("exit").includes(finish)) process.on("exit", finish);
  return {
    write(line) {
      if (isClosed || isGone) return;
      const count = Buffer.byteLength(line);
      if (bytes + count > waitingBytesMax) {
        dropped++;
        isFull = true;
        return;
      }
      bytes += count;
      const last = pieces.pop() ?? "";
      if (last.length + line.length <= pieceCharacters) pieces.push(last + line);
      else pieces.push(...(last === "" ? [] : [last]), line);
      if (!isWriting) begin();
    },
    takeDropped() {
      if (isFull || dropped === 0) return 0;
      const count = dropped;
      dropped = 0;
      return count;
    },
    // The descriptor stays open: it belongs to the process.
    async close() {
      isClosed = true;
      if (!isWriting && bytes > 0 && !isGone) begin();
      if (isWriting) await new Promise<void>((resolve) => closing.push(resolve));
      unfinished.delete(writeRest);
    },
  };
}

function isBusy(error: unknown): boolean {
  return ["EAGAIN", "EBUSY"].includes((error as { readonly code?: string }).code ?? "");
}
