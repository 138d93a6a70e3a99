// The short way in: a plain connection is read here as long as each request on it arrives in one
// piece, or as a head and then its body, and leaves no doubt (plain-head.ts), as those of busy
// publishers do. With the first one that does not, the connection becomes Node's for good, with the
// bytes that have come. So there is never half a body here.
//
// Both ways lead to serve.ts, and answer in the same bytes (decision 0024).

import { type Server, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Reply, RequestHead } from "../../core/request.ts";
import { type BodyHold, nothing, refuseForNow } from "./body.ts";
import { remoteOf } from "./connections.ts";
import type { Exchange, Found } from "./exchange.ts";
import { type PlainHead, readPlainHead } from "./plain-head.ts";
import type { Match } from "./router.ts";
import { type ServeContext, serve } from "./serve.ts";
import { answerBroken, type OutgoingReply } from "./write-reply.ts";

export interface ShortWayOptions {
  /** How long a new connection may stay without a request, and how long one after it. */
  readonly headersTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** How often that is looked at. */
  readonly lookEveryMs: number;
}

export interface ShortWay {
  /** Ends idle connections; the others end with their answer. */
  close(): void;
}

/** Must come before anything else listens for connections. */
export function openShortWay(
  server: Server,
  context: ServeContext,
  options: ShortWayOptions,
): ShortWay {
  const long = server.listeners("connection");
  server.removeAllListeners("connection");
  const connections = new Set<ShortConnection>();
  const keepAlive = `timeout=${Math.floor(options.idleTimeoutMs / 1000)}`;
  server.on("connection", (socket: Socket) => {
    const connection = new ShortConnection(socket, {
      context,
      keepAlive,
      onEnd: () => connections.delete(connection),
      handOver: () => {
        for (const listener of long) listener.call(server, socket);
      },
    });
    connections.add(connection);
  });
  const looking = setInterval(() => {
    for (const connection of connections) connection.look(options);
  }, options.lookEveryMs);
  looking.unref();
  return {
    close() {
      clearInterval(looking);
      for (const connection of connections) connection.close();
    },
  };
}

interface ShortConnectionOptions {
  readonly context: ServeContext;
  /** The value of the header. */
  readonly keepAlive: string;
  /** Called once, when it is closed or no longer ours. */
  readonly onEnd: () => void;
  /** Gives the socket to Node. */
  readonly handOver: () => void;
}

/** What a connection remembers of a head, to understand the same bytes at once. */
interface Understood extends PlainHead {
  readonly match: Match;
  readonly request: RequestHead;
}

/** A longer one is read anew each time. */
const knownBytesMax = 1_024;

/** A longer body does not come in one piece. */
const laterBytesMax = 65_536;

/**
 * The states of a connection: idle; half, with a head whose body has not begun to come; busy, from
 * a whole request until the system has taken the answer, while what comes is held and nothing more
 * is read; ended, or Node's.
 */
class ShortConnection implements Exchange {
  readonly socket: Socket;
  readonly method = "POST";
  readonly hasBody = true;
  readonly #options: ShortConnectionOptions;
  readonly #remote: string;
  /** The head of the present request, or of the last one. */
  #head: Understood | null = null;
  #body: Buffer = nothing;
  /** What has come and was not looked at. */
  #held: Buffer = nothing;
  #isHalf = false;
  #isBusy = false;
  #isAdvancing = false;
  #served = 0;
  #since = performance.now();
  readonly #goneListeners: (() => void)[] = [];

  constructor(socket: Socket, options: ShortConnectionOptions) {
    this.socket = socket;
    this.#options = options;
    this.#remote = remoteOf(socket);
    socket.on("data", this.#onData);
    socket.on("end", this.#onEnd);
    socket.on("error", this.#onError);
    socket.on("close", this.#onClose);
  }

  // What serve.ts asks for.

  get url(): string {
    return this.#head?.url ?? "";
  }

  get match(): Match {
    return this.#head?.match ?? { kind: "nothing" };
  }

  head(_match: Found): RequestHead {
    return (this.#head as Understood).request;
  }

  readBody(_bytesMax: number, hold: BodyHold): Buffer {
    if (!hold.take(this.#body.length)) throw refuseForNow();
    return this.#body;
  }

  write(outgoing: OutgoingReply): void {
    const { context, keepAlive } = this.#options;
    const { socket } = this;
    const { reply } = outgoing;
    if (reply.file !== undefined || reply.stream !== undefined) {
      throw new Error("A POST is answered with a body, and not with a file or a stream.");
    }
    const body = reply.bytes ?? reply.body ?? "";
    const text = headOf(outgoing, Buffer.byteLength(body), context.isClosing ? null : keepAlive);
    if (!socket.writable) return;
    if (body === "") socket.write(text, "latin1");
    else socket.write(Buffer.concat([Buffer.from(text, "latin1"), Buffer.from(body)]));
    if (context.isClosing) socket.destroySoon();
    else if (socket.writableLength === 0) this.#answered();
    else this.#awaitReader();
  }

  // What the socket tells.

  readonly #onData = (chunk: Buffer) => {
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    if (this.#isBusy) this.socket.pause();
    else this.#advance();
  };

  /** As with Node's server, who says that nothing more comes is answered nothing more. */
  readonly #onEnd = () => {
    if (this.#isHalf) this.#refuse("HPE_INVALID_EOF_STATE");
    this.#held = nothing;
    this.socket.end();
  };

  readonly #onError = () => {
    this.socket.destroy();
  };

  readonly #onClose = () => {
    this.#options.onEnd();
    this.#tellGone();
  };

  /** Begins the requests that are there, one after the other. */
  #advance(): void {
    if (this.#isAdvancing) return;
    this.#isAdvancing = true;
    this.#isHalf = false;
    while (!this.#isBusy && !this.#isHalf && this.#held.length > 0) {
      if (!this.#begin()) {
        this.#handOver();
        return;
      }
    }
    this.#isAdvancing = false;
    if (!this.#isBusy && this.socket.isPaused()) this.socket.resume();
  }

  /** False: it is not for us. */
  #begin(): boolean {
    const bytes = this.#held;
    const head = this.#understand(bytes);
    if (head === null || head.match.kind !== "route") return false;
    const { context } = this.#options;
    const start = head.bytes.length;
    const end = start + head.bodyBytes;
    if (head.bodyBytes > context.bodyBytesMax) return false;
    this.#head = head;
    if (bytes.length < end) {
      this.#isHalf = bytes.length === start && head.bodyBytes <= laterBytesMax;
      return this.#isHalf;
    }
    this.#body = bytes.subarray(start, end);
    this.#held = bytes.length === end ? nothing : bytes.subarray(end);
    this.#isBusy = true;
    void serve(context, this);
    return true;
  }

  #understand(bytes: Buffer): Understood | null {
    const known = this.#head;
    // What was understood depends on these bytes alone, and is this client's own.
    if (known !== null && isAtStart(known.bytes, bytes)) return known;
    const head = readPlainHead(bytes);
    if (head === null) return null;
    const { method } = this;
    const { url, headers, bodyBytes } = head;
    const match = this.#options.context.find(method, url);
    const { params, query } = match.kind === "route" ? match : { params: {}, query: {} };
    const common = { remote: this.#remote, scheme: "http", onGone: this.#onGone } as const;
    const memory = { about: null, value: null };
    const request = { method, params, query, headers, ...common, memory };
    // A copy: it would keep all that came with it.
    return { bytes: Buffer.from(head.bytes), url, headers, bodyBytes, match, request };
  }

  /** The system has not taken all of an answer. */
  #awaitReader(): void {
    const { untaken } = this.#options.context;
    const { socket } = this;
    untaken.add(socket);
    // A stream tells of its draining only when more was written than it wants to hold.
    socket.write("", (error) => {
      if (error) return;
      untaken.taken(socket);
      this.#answered();
    });
  }

  #answered(): void {
    this.#isBusy = false;
    this.#body = nothing;
    this.#served += 1;
    this.#since = performance.now();
    if ((this.#head?.bytes.length ?? 0) > knownBytesMax) this.#head = null;
    this.#tellGone();
    this.#advance();
  }

  readonly #onGone = (listener: () => void) => void this.#goneListeners.push(listener);

  #tellGone(): void {
    if (this.#goneListeners.length === 0) return;
    for (const listener of this.#goneListeners.splice(0)) listener();
  }

  #handOver(): void {
    const { socket } = this;
    socket.off("data", this.#onData).off("end", this.#onEnd).off("error", this.#onError);
    socket.off("close", this.#onClose);
    this.#options.onEnd();
    socket.pause();
    socket.unshift(this.#held);
    this.#options.handOver();
    socket.resume();
  }

  // Its owner.

  look({ headersTimeoutMs, idleTimeoutMs }: ShortWayOptions): void {
    if (this.#isBusy) return;
    // A body that does not come soon is Node's to wait for.
    if (this.#isHalf) {
      this.#handOver();
      return;
    }
    const waitedMs = performance.now() - this.#since;
    if (this.#served > 0 && waitedMs > idleTimeoutMs) this.socket.destroy();
    if (this.#served === 0 && waitedMs > headersTimeoutMs) this.#refuse("ERR_HTTP_REQUEST_TIMEOUT");
  }

  close(): void {
    if (this.#isHalf) this.#handOver();
    else if (!this.#isBusy) this.socket.destroy();
  }

  /** `code`: as Node names what is wrong. */
  #refuse(code: string): void {
    const error = Object.assign(new Error("There is no whole request."), { code });
    answerBroken(error, this.socket, this.#options.context.ids.next());
  }
}

function isAtStart(head: Buffer, bytes: Buffer): boolean {
  const { length } = head;
  return bytes.length >= length && head.compare(bytes, 0, length) === 0;
}

/** As Node writes it. `keepAlive`: null when the connection ends with this answer. */
function headOf(outgoing: OutgoingReply, bytes: number, keepAlive: string | null): string {
  const { reply, requestId } = outgoing;
  const { status } = reply;
  const first = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "unknown"}\r\nx-ms-request-id: `;
  return `${first}${requestId}\r\n${linesAfterId(outgoing, bytes, keepAlive)}`;
}

/** What the lines after the id of an answer without a body hang on, and these lines. */
interface Bodiless {
  readonly reply: Reply;
  readonly more: OutgoingReply["more"];
  readonly keepAlive: string | null;
  readonly date: string;
  readonly lines: string;
}

/** Within a second, most answers have the lines of the last one. */
let last: Bodiless | null = null;

function linesAfterId(
  { reply, more }: OutgoingReply,
  bytes: number,
  keepAlive: string | null,
): string {
  const date = dateNow();
  const isLike = last !== null && last.reply === reply && last.more === more && bytes === 0;
  if (isLike && last?.keepAlive === keepAlive && last.date === date) return last.lines;
  const { status, headers } = reply;
  let lines = "";
  if (status !== 204 && status !== 304) lines += `content-length: ${bytes}\r\n`;
  if (keepAlive === null) lines += "connection: close\r\n";
  if (more !== undefined) lines += linesOf(more);
  if (headers !== undefined) lines += linesOf(headers);
  lines += `Date: ${date}\r\n`;
  if (keepAlive !== null) lines += `Connection: keep-alive\r\nKeep-Alive: ${keepAlive}\r\n`;
  lines += "\r\n";
  if (bytes === 0) last = { reply, more, keepAlive, date, lines };
  return lines;
}

const valueForm = /^[\t\x20-\x7e\x80-\xff]*$/;

function linesOf(headers: Readonly<Record<string, string>>): string {
  let text = "";
  for (const name in headers) {
    const value = headers[name] as string;
    if (!valueForm.test(value)) throw new Error(`The header ${name} cannot be sent as it is.`);
    text += `${name}: ${value}\r\n`;
  }
  return text;
}

let date = { second: 0, text: "" };

function dateNow(): string {
  const now = Date.now();
  const second = Math.floor(now / 1000);
  if (date.second !== second) date = { second, text: new Date(now).toUTCString() };
  return date.text;
}
