// One connection to an origin, which carries one request at a time: head and body go out in one
// write, and the answer is read by answer-reader.ts. It is made when it is opened; a request that
// comes before that waits for it. A socket with a timeout is closed by it between requests alone.
//
// Deliberately absent: timeouts of requests, retries and the choice of a connection. Its owner
// (connections.ts) keeps it between requests, and closes it.

import type { Socket } from "node:net";
import { type AnswerHead, AnswerReader, HeadMemory } from "./answer-reader.ts";

/** What is sent. */
export interface Message {
  readonly method: string;
  readonly path: string;
  /** Not asked for where `lines` are known. */
  readonly headers: Readonly<Record<string, string>>;
  /** The same as they are sent, where that is known already. */
  readonly lines?: string | undefined;
  /** Not asked for where `pieces` are known. */
  readonly body: string | null;
  /** The body in pieces, where it is not one text yet. */
  readonly pieces?: readonly string[] | undefined;
}

/** Hears of one request. After `onEnd` or `onError` there is nothing more. */
export interface Listener {
  /** The connection is made, and the request is on its way. */
  onWritten(): void;
  /** The first bytes of an answer have come. */
  onAnswering(): void;
  onHead(head: AnswerHead): void;
  /** `chunk`: only for as long as this takes. */
  onData(chunk: Buffer): void;
  /** `mayReuse`: the connection can carry another request. */
  onEnd(mayReuse: boolean): void;
  onError(error: Error): void;
}

interface Request {
  /** Null: they are on their way. */
  bytes: Buffer | null;
  readonly listener: Listener;
  readonly reader: AnswerReader;
  isAnswering: boolean;
}

const nameForm = /^[!#$%&'*+.^`|~\w-]+$/;
const valueForm = /^[\t\x20-\x7e]*$/;
const pathForm = /^[\x21-\x7e]+$/;

export class Connection {
  /** Answers received on it. */
  served = 0;
  /** How long the peer keeps it when idle, by its latest answer; null: not said. */
  keepAliveMs: number | null = null;
  readonly #socket: Socket;
  readonly #host: string;
  /** Without TLS, what is written is mostly taken by the system before the write returns. */
  readonly #isPlain: boolean;
  readonly #onClose: () => void;
  readonly #memory = new HeadMemory();
  #last = { method: "", path: "", lines: "" };
  #isMade = false;
  #request: Request | null = null;

  /**
   * `madeBy`: the socket's event after which it can be written to. `judge` may object to a
   * connection that was made.
   */
  constructor(given: {
    readonly socket: Socket;
    readonly host: string;
    readonly madeBy: "connect" | "secureConnect";
    readonly judge?: (() => Error | undefined) | undefined;
    /** Whether somebody else reads the socket, and calls `read`. */
    readonly isRead: boolean;
    readonly onClose: () => void;
  }) {
    const { socket, judge } = given;
    this.#socket = socket;
    this.#host = given.host;
    this.#isPlain = given.madeBy === "connect";
    this.#onClose = given.onClose;
    socket.once(given.madeBy, () => {
      const fault = judge?.();
      if (fault !== undefined) return void socket.destroy(fault);
      this.#isMade = true;
      if (this.#request !== null) this.#write(this.#request);
    });
    if (!given.isRead) socket.on("data", (chunk) => this.read(chunk));
    socket.on("end", () => this.#ended());
    socket.on("error", (error) => this.#failed(error));
    socket.on("timeout", () => {
      if (this.#request === null) socket.destroy();
    });
    socket.on("close", () => {
      this.#failed(new Error("The endpoint closed the connection without an answer."));
      this.#onClose();
    });
  }

  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  /** Throws if the message cannot be sent as it is. */
  send(message: Message, listener: Listener): void {
    const first = this.#begin(message);
    const isAtOnce = this.#isMade && this.#isPlain;
    const bytes = (isAtOnce ? bytesInShared(message, first) : null) ?? bytesOf(message, first);
    const reader = new AnswerReader(listener, this.#memory);
    const request = { bytes, listener, reader, isAnswering: false };
    this.#request = request;
    if (this.#isMade) this.#write(request);
  }

  /** The first lines, which are mostly those of the request before. */
  #begin({ method, path }: Message): string {
    const last = this.#last;
    if (last.method === method && last.path === path) return last.lines;
    if (!pathForm.test(path)) throw new Error("The path cannot be sent as it is.");
    const lines = `${method} ${path} HTTP/1.1\r\nhost: ${this.#host}\r\nconnection: keep-alive\r\n`;
    this.#last = { method, path, lines };
    return lines;
  }

  /** Aborts what is on it. Its listener hears nothing more. */
  close(): void {
    this.#request = null;
    this.#socket.destroy();
  }

  #write(request: Request): void {
    const { bytes, listener } = request;
    request.bytes = null;
    listener.onWritten();
    // The listener may have closed it.
    if (this.#socket.destroyed || bytes === null) return;
    this.#socket.write(bytes);
    if (bytes.buffer === shared.buffer && this.#socket.writableLength > 0) giveAwayShared();
  }

  /** The next bytes; nothing of them is kept. */
  read(chunk: Buffer): void {
    const request = this.#request;
    // Words that nobody asked for: it will not do for another request.
    if (request === null) return void this.#socket.destroy();
    const { reader, listener } = request;
    if (!request.isAnswering) {
      request.isAnswering = true;
      listener.onAnswering();
    }
    try {
      reader.read(chunk);
    } catch (error) {
      this.#failed(error as Error);
      this.#socket.destroy();
      return;
    }
    if (reader.isOver) this.#answered(request);
  }

  /** The peer has closed its side, and so it carries no more requests. */
  #ended(): void {
    const request = this.#request;
    if (request === null) {
      this.#socket.destroy();
      // Before anybody takes it: the socket says so only in a later turn.
      this.#onClose();
    } else if (request.reader.end()) this.#answered(request);
  }

  #answered({ reader, listener }: Request): void {
    // The listener may have closed it while the answer was read.
    if (this.#request === null) return;
    this.#request = null;
    this.served += 1;
    this.keepAliveMs = reader.keepAliveMs;
    // An answer that came before the whole request was out says nothing about the rest of it.
    const isWhole = this.#socket.writableLength === 0 && !this.#socket.destroyed;
    listener.onEnd(reader.mayReuse && isWhole);
  }

  #failed(error: Error): void {
    const request = this.#request;
    this.#request = null;
    request?.listener.onError(error);
  }
}

const sharedBytes = 65_536;
/** In it, before the body. */
const headBytesMax = 4_096;
/** What a UTF-16 code unit may need as UTF-8. */
const bytesPerUnitMax = 3;

/**
 * Where requests become bytes that the system takes at once, one after the other. Memory for each
 * of them would be left to the collector of garbage, which comes late for what is outside the heap.
 */
let shared = Buffer.allocUnsafeSlow(sharedBytes);

/** The system has not taken all of it: it is the socket's now. */
function giveAwayShared(): void {
  shared = Buffer.allocUnsafeSlow(sharedBytes);
}

/** Null: it may have no room there. The body comes first, so that its length is known. */
function bytesInShared(message: Message, first: string): Buffer | null {
  const head = first + (message.lines ?? linesOf(message.headers));
  const pieces = piecesOf(message);
  let unitsMax = (sharedBytes - headBytesMax) / bytesPerUnitMax;
  for (const piece of pieces ?? []) unitsMax -= piece.length;
  if (unitsMax < 0) return null;
  let end = headBytesMax;
  for (const piece of pieces ?? []) end += shared.write(piece, end);
  const whole = wholeHead(head, pieces === null ? null : end - headBytesMax);
  if (whole.length > headBytesMax) return null;
  const start = headBytesMax - whole.length;
  shared.write(whole, start, "latin1");
  return shared.subarray(start, end);
}

/** Written piece by piece: joined as a text, a body would be copied twice before it is sent. */
function bytesOf(message: Message, first: string): Buffer {
  const head = first + (message.lines ?? linesOf(message.headers));
  const pieces = piecesOf(message);
  if (pieces === null) return Buffer.from(wholeHead(head, null), "latin1");
  let bodyBytes = 0;
  for (const piece of pieces) bodyBytes += Buffer.byteLength(piece);
  const whole = wholeHead(head, bodyBytes);
  const bytes = Buffer.allocUnsafe(whole.length + bodyBytes);
  let at = bytes.write(whole, "latin1");
  for (const piece of pieces) at += bytes.write(piece, at);
  return bytes;
}

/** Of the body; null: there is none. */
function piecesOf(message: Message): readonly string[] | null {
  return message.pieces ?? (message.body === null ? null : [message.body]);
}

/** `bodyBytes`: null where there is no body. */
function wholeHead(head: string, bodyBytes: number | null): string {
  return bodyBytes === null ? `${head}\r\n` : `${head}content-length: ${bodyBytes}\r\n\r\n`;
}

export function linesOf(headers: Readonly<Record<string, string>>): string {
  let lines = "";
  for (const name in headers) {
    const value = headers[name] as string;
    if (!nameForm.test(name) || !valueForm.test(value)) {
      throw new Error(`The header ${JSON.stringify(name)} cannot be sent as it is.`);
    }
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}
