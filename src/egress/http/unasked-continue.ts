// A server may send `100 Continue` before its answer without having been asked for it (RFC 9110,
// section 15.2.1), and a client has to pass it over. undici takes it for a broken answer and closes
// the connection, though it passes over every other status below 200. So one digit is changed
// before undici reads it: a 100 becomes a 102. Nothing else of an answer is touched or held back.

/** What is used of a socket. */
interface Source {
  read(size?: number): Buffer | null;
}

/** `HTTP/1.1 100` */
const statusChars = 12;
const informational = /^HTTP\/1\.[01] 1\d\d$/;
const digitTwo = "2".charCodeAt(0);
const headEnd = Buffer.from("\r\n\r\n");

export class UnaskedContinue {
  /** At the start of a head, within that of an informational answer, or behind all of those. */
  #state: "start" | "head" | "answer" = "start";
  /** Of the head that is being read, as far as it has come. */
  #status = "";
  /** How many bytes of its end were just seen. */
  #ended = 0;

  /** A request is sent: an answer begins with the next byte. */
  begin(): void {
    this.#state = "start";
    this.#status = "";
    this.#ended = 0;
  }

  /** Stands between a new socket and whoever reads from it. */
  watch(socket: Source): void {
    this.begin();
    const read = socket.read.bind(socket);
    socket.read = (size?: number) => {
      const chunk = read(size);
      if (chunk !== null) this.pass(chunk);
      return chunk;
    };
  }

  /** The next bytes, changed in place. */
  pass(chunk: Buffer): void {
    for (let at = 0; at < chunk.length && this.#state !== "answer"; ) {
      if (this.#state === "head") {
        this.#passHead(chunk[at] as number);
        at += 1;
        continue;
      }
      const more = chunk.toString("latin1", at, at + statusChars - this.#status.length);
      this.#status += more;
      at += more.length;
      if (this.#status.length < statusChars) return;
      const isInformational = informational.test(this.#status);
      if (isInformational && this.#status.endsWith("100")) chunk[at - 1] = digitTwo;
      this.#state = isInformational ? "head" : "answer";
      this.#status = "";
    }
  }

  #passHead(byte: number): void {
    const isNext = byte === headEnd[this.#ended];
    this.#ended = isNext ? this.#ended + 1 : byte === headEnd[0] ? 1 : 0;
    if (this.#ended === headEnd.length) this.begin();
  }
}
