// Reads the answers on a connection that carries many requests, in whatever pieces they come: the
// status of each, and where it ends. Bodies are passed over.

const headEnd = Buffer.from("\r\n\r\n");
const nothing = Buffer.alloc(0);

export class Answers {
  /** Called with the status of each answer when it is over; whether it was to a HEAD is asked. */
  readonly #onAnswer: (status: number) => void;
  readonly #isHead: () => boolean;
  #held: Buffer = nothing;
  #status = 0;
  /** Of the body or the present chunk, with its end of line; null: a head comes next. */
  #left: number | null = null;
  #isChunked = false;
  #isCut = false;
  /** Whether the latest answer said that no other follows. */
  isLast = false;

  constructor(onAnswer: (status: number) => void, isHead: () => boolean) {
    this.#onAnswer = onAnswer;
    this.#isHead = isHead;
  }

  /** Whether an answer has begun that is not over. */
  get isInside(): boolean {
    return this.#left !== null;
  }

  /** The status of that one. */
  get status(): number {
    return this.#status;
  }

  read(chunk: Buffer): void {
    let bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = nothing;
    while (bytes.length > 0 && !this.#isCut) {
      const used = this.#left === null ? this.#readHead(bytes) : this.#readBody(bytes);
      if (used === 0) {
        this.#held = Buffer.from(bytes);
        return;
      }
      bytes = bytes.subarray(used);
    }
  }

  #readHead(bytes: Buffer): number {
    const end = bytes.indexOf(headEnd);
    if (end < 0) return 0;
    const head = bytes.toString("latin1", 0, end);
    this.#status = Number(head.slice(9, 12));
    const used = end + headEnd.length;
    // A hundred, to one who asked whether to go on, is not yet the answer.
    if (this.#status < 200) return used;
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    this.isLast = /\r\nconnection: *close/i.test(head);
    this.#isChunked = /\r\ntransfer-encoding: *chunked/i.test(head);
    const isBare = this.#status === 204 || this.#status === 304 || this.#isHead();
    if (isBare || (!this.#isChunked && Number(length) === 0)) this.#end();
    else if (this.#isChunked) this.#left = 0;
    else if (length !== undefined) this.#left = Number(length);
    else {
      // Its end is the connection's.
      this.#left = 0;
      this.#isCut = true;
    }
    return used;
  }

  #readBody(bytes: Buffer): number {
    if ((this.#left ?? 0) > 0) {
      const used = Math.min(this.#left ?? 0, bytes.length);
      this.#left = (this.#left ?? 0) - used;
      if (this.#left === 0 && !this.#isChunked) this.#end();
      return used;
    }
    const lineEnd = bytes.indexOf("\r\n");
    if (lineEnd < 0) return 0;
    const size = Number.parseInt(bytes.toString("latin1", 0, lineEnd), 16);
    if (size > 0) {
      this.#left = size + 2;
      return lineEnd + 2;
    }
    if (bytes.length < lineEnd + 4) return 0;
    this.#end();
    return lineEnd + 4;
  }

  #end(): void {
    this.#left = null;
    this.#onAnswer(this.#status);
  }
}
