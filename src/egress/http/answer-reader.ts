// Reads one HTTP/1.x answer from the bytes of a connection, in whatever pieces they come, and tells
// its listener of head, body and end. Answers before the answer (100, 102, 103) are passed over,
// asked for or not (RFC 9110, section 15.2).
//
// It is strict where a lenient reader could take one thing for another (line ends, lengths, folded
// lines), because a wrong guess would reuse a connection in the middle of an answer. Deliberately
// absent: sockets, upgrades, trailers (they are skipped) and decompression.

export interface AnswerHead {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** All lines, the first included; `headersIn` takes them apart. */
  readonly text: string;
}

export interface AnswerListener {
  onHead(head: AnswerHead): void;
  /** `chunk`: only for as long as this takes. */
  onData(chunk: Buffer): void;
}

/** Thrown at bytes that are no answer. */
export class BadAnswer extends Error {}

const headBytesMax = 16_384;
/** Of the line with a chunk's size, and of all trailers together. */
const lineBytesMax = 4_096;
/** Of everything that is neither the answer's head nor its body. */
const asideBytesMax = 131_072;
const lineEnd = Buffer.from("\r\n");
const headEnd = "\r\n\r\n";
const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [^\0\r\n]*)?$/;
const fieldName = /^[!#$%&'*+.^`|~\w-]+$/;
const nothing = Buffer.alloc(0);

/** A longer head is read anew each time. */
const knownBytesMax = 1_024;

/** What of the head decides about the body and the connection. */
interface Framing {
  readonly isKept: boolean;
  readonly keepAliveMs: number | null;
  readonly length: number | null;
  /** Null: it is not in chunks, nor anything else. */
  readonly isChunked: boolean | null;
}

/**
 * The last head on a connection, to understand the same bytes at once: most answers of an endpoint
 * have the same head, within a second even with a date in it.
 */
export class HeadMemory {
  #bytes: Buffer = nothing;
  #known: { readonly head: AnswerHead; readonly framing: Framing } | null = null;

  /** With the empty line at its end. */
  get bytes(): number {
    return this.#bytes.length;
  }

  find(bytes: Buffer, at: number) {
    const end = at + this.#bytes.length;
    if (this.#known === null || end > bytes.length) return null;
    return this.#bytes.compare(bytes, at, end) === 0 ? this.#known : null;
  }

  keep(bytes: Buffer, head: AnswerHead, framing: Framing): void {
    if (bytes.length > knownBytesMax) return;
    this.#bytes = Buffer.from(bytes);
    this.#known = { head, framing };
  }
}

/**
 * The states of an answer: its `head`; a body of known `length`, in chunks (`size`, `chunk`,
 * `chunkEnd`, `trailers`) or until the connection is `closed`; `over`.
 */
type State = "head" | "length" | "size" | "chunk" | "chunkEnd" | "trailers" | "closed" | "over";

export class AnswerReader {
  readonly #listener: AnswerListener;
  readonly #memory: HeadMemory;
  #state: State = "head";
  /** Bytes that are no complete head or line yet. */
  #held: Buffer = nothing;
  /** Of the body, or of its present chunk. */
  #bytesLeft = 0;
  #trailerBytes = 0;
  #asideBytes = 0;
  #mayReuse = false;
  /** How long the peer keeps an idle connection, if it says so. */
  keepAliveMs: number | null = null;

  constructor(listener: AnswerListener, memory = new HeadMemory()) {
    this.#listener = listener;
    this.#memory = memory;
  }

  get isOver(): boolean {
    return this.#state === "over";
  }

  /** Whether the connection can carry another request when the answer is over. */
  get mayReuse(): boolean {
    return this.#mayReuse;
  }

  /** The next bytes. */
  read(chunk: Buffer): void {
    let bytes = chunk;
    if (this.#held.length > 0) {
      bytes = Buffer.concat([this.#held, chunk]);
      this.#held = nothing;
    }
    let at = 0;
    while (at < bytes.length && this.#state !== "over") {
      const next = this.#step(bytes, at);
      if (next === at) {
        // A copy: the rest may be a small part of a large chunk.
        this.#held = Buffer.from(bytes.subarray(at));
        return;
      }
      at = next;
    }
    // Nobody asked for more: whatever it is, it would pass for the beginning of the next answer.
    if (at < bytes.length) this.#mayReuse = false;
  }

  /** The peer has closed its side. Answers whether that was the end of the answer. */
  end(): boolean {
    if (this.#state === "closed") this.#state = "over";
    return this.#state === "over";
  }

  /** Reads on from `at` and answers how far it came; no further if it needs more bytes. */
  #step(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case "head":
        return this.#readHead(bytes, at);
      case "length":
        return this.#readBody(bytes, at, "over");
      case "chunk":
        return this.#readBody(bytes, at, "chunkEnd");
      case "closed":
        this.#listener.onData(bytes.subarray(at));
        return bytes.length;
      default:
        return this.#readLine(bytes, at);
    }
  }

  #readHead(bytes: Buffer, at: number): number {
    const known = this.#memory.find(bytes, at);
    if (known !== null) {
      this.#begin(known.head, known.framing);
      return at + this.#memory.bytes;
    }
    const end = bytes.indexOf(headEnd, at, "latin1");
    const isTooLong = (end < 0 ? bytes.length : end) - at > headBytesMax;
    if (isTooLong) throw new BadAnswer(`The head of the answer is longer than ${headBytesMax}.`);
    if (end < 0) return at;
    const text = bytes.toString("latin1", at, end);
    const after = end + headEnd.length;
    const { status, retryAfter, framing } = understand(text);
    if (status === 101) throw new BadAnswer("The answer changes to another protocol.");
    if (status >= 200) {
      const head = { status, retryAfter, text };
      this.#memory.keep(bytes.subarray(at, after), head, framing);
      this.#begin(head, framing);
    } else this.#passOver(text.length);
    return after;
  }

  #begin(head: AnswerHead, { isKept, keepAliveMs, length, isChunked }: Framing): void {
    const { status } = head;
    this.keepAliveMs = keepAliveMs;
    if (status === 204 || status === 304) this.#begins("over", isKept);
    else if (isChunked !== null) {
      // With a length, too, it may mean different things to different readers.
      this.#begins(isChunked ? "size" : "closed", isChunked && isKept && length === null);
    } else if (length !== null) {
      this.#bytesLeft = length;
      this.#begins(length === 0 ? "over" : "length", isKept);
    } else this.#begins("closed", false);
    this.#listener.onHead(head);
  }

  #begins(state: State, mayReuse: boolean): void {
    this.#state = state;
    this.#mayReuse = mayReuse;
  }

  #readBody(bytes: Buffer, at: number, then: State): number {
    const end = Math.min(bytes.length, at + this.#bytesLeft);
    this.#bytesLeft -= end - at;
    if (this.#bytesLeft === 0) this.#state = then;
    this.#listener.onData(bytes.subarray(at, end));
    return end;
  }

  #readLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(lineEnd, at);
    const length = (end < 0 ? bytes.length : end) - at;
    if (length + this.#trailerBytes > lineBytesMax) {
      throw new BadAnswer("A line between the chunks of the answer is too long.");
    }
    if (end < 0) return at;
    const line = bytes.toString("latin1", at, end);
    this.#passOver(line.length);
    if (this.#state === "size") this.#readSize(line);
    else if (this.#state === "trailers") {
      this.#trailerBytes += line.length;
      if (line === "") this.#state = "over";
    } else if (line === "") this.#state = "size";
    else throw new BadAnswer("A chunk of the answer is longer than it says.");
    return end + lineEnd.length;
  }

  /** Without a bound it would be read at full speed for as long as an answer may take. */
  #passOver(bytes: number): void {
    this.#asideBytes += bytes;
    if (this.#asideBytes > asideBytesMax) {
      throw new BadAnswer("There is too much beside the answer.");
    }
  }

  #readSize(line: string): void {
    const size = /^([\da-f]{1,12})[ \t]*(?:;[^\0]*)?$/i.exec(line)?.[1];
    if (size === undefined) throw new BadAnswer("A chunk of the answer has no size.");
    this.#bytesLeft = Number.parseInt(size, 16);
    this.#state = this.#bytesLeft === 0 ? "trailers" : "chunk";
  }
}

/** By lower-case name; several of one name as a list. */
export function headersIn(head: string): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of fieldsIn(head)) {
    const before = headers[name];
    if (before === undefined) headers[name] = value;
    else headers[name] = [before, value].flat();
  }
  return headers;
}

function understand(head: string) {
  const first = head.indexOf("\r\n");
  const line = statusLine.exec(first < 0 ? head : head.slice(0, first));
  if (line === null) throw new BadAnswer("What came is not an HTTP answer.");
  let length: number | null = null;
  let codings: string | null = null;
  let connection = "";
  let keepAlive: string | undefined;
  let retryAfter: string | undefined;
  for (const [name, value] of fieldsIn(head)) {
    switch (name) {
      case "content-length":
        length = lengthOf(value, length);
        break;
      case "transfer-encoding":
        codings = codings === null ? value : `${codings},${value}`;
        break;
      case "connection":
        connection += `,${value}`;
        break;
      case "keep-alive":
        keepAlive = value;
        break;
      case "retry-after":
        retryAfter ??= value;
        break;
    }
  }
  const isOld = line[1] === "0";
  const framing: Framing = {
    isKept: isOld ? /\bkeep-alive\b/i.test(connection) : !/\bclose\b/i.test(connection),
    keepAliveMs: keepAliveOf(keepAlive),
    length,
    isChunked: codings === null ? null : /(?:^|,)\s*chunked\s*$/i.test(codings),
  };
  return { status: Number(line[2]), retryAfter, framing };
}

/** Name in lower case, and value. */
function* fieldsIn(head: string): Iterable<readonly [name: string, value: string]> {
  let at = head.indexOf("\r\n");
  while (at >= 0) {
    const start = at + lineEnd.length;
    at = head.indexOf("\r\n", start);
    const line = at < 0 ? head.slice(start) : head.slice(start, at);
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0));
    if (!fieldName.test(name)) throw new BadAnswer("A line of the answer's head is no header.");
    yield [name.toLowerCase(), line.slice(colon + 1).trim()];
  }
}

/** Said several times it must be the same. */
function lengthOf(value: string, before: number | null): number {
  const length = /^\d{1,15}$/.test(value) ? Number(value) : null;
  if (length === null || (before !== null && before !== length)) {
    throw new BadAnswer("The length of the answer is not clear.");
  }
  return length;
}

function keepAliveOf(value: string | undefined): number | null {
  const seconds = value === undefined ? null : /\btimeout=(\d{1,6})\b/i.exec(value);
  return seconds === null ? null : Number(seconds[1]) * 1_000;
}
