// Requests of our own to an endpoint: one small request and its answer with status, headers and
// body. Handshakes and notices are rare, so every one has a connection of its own. Timeouts use the
// clock, which may be virtual.
//
// Deliberately absent: retries, and any judgement of the answer; both are decided in core.
// Redirects are answers and are not followed: the endpoint itself must agree.

import type { Ask, EndpointAnswer } from "../../core/handshake/question.ts";
import type { Activity, Clock } from "../../core/ports.ts";
import { type EgressPolicy, type OwnInboxes, whyNotThere } from "../policy.ts";
import { type AnswerHead, headersIn } from "./answer-reader.ts";
import type { Listener } from "./connection.ts";
import { Connections, type Trust } from "./connections.ts";
import { headerText, silenceOf, wordsOf } from "./message.ts";

export interface AskOptions {
  readonly clock: Clock;
  readonly activity: Activity;
  /** Requests in flight at a time; the others wait their turn. */
  readonly asksMax?: number;
  /** How much of an answer's body is read. */
  readonly bodyBytesMax?: number;
  /** Authorities to trust in addition to the system's, as PEM. */
  readonly ca?: readonly string[];
  /** Which certificates are accepted. Default: those of known authorities. */
  readonly trust?: Trust;
  /** Without it every address may be connected to. */
  readonly policy?: EgressPolicy | undefined;
  /** Our own inboxes, which are reached over TLS whatever their certificate is. */
  readonly inboxes?: OwnInboxes | undefined;
}

export interface Asker {
  readonly ask: Ask;
  /** Aborts everything in flight. */
  close(): Promise<void>;
}

type Asked = Parameters<Ask>[0];

const canceled: EndpointAnswer = { kind: "noReply", why: "It was aborted." };

export function openAsk(options: AskOptions): Asker {
  const { clock, activity, asksMax = 64, bodyBytesMax = 65_536, ca = [] } = options;
  const { trust = "known", policy, inboxes } = options;
  const connections = new Connections({
    ...{ clock, keepAliveMs: 4_000, idleMax: 0, ca, trust, policy, inboxes },
  });
  const closing = new AbortController();
  const turns = openTurns(asksMax);

  async function ask(asked: Asked): Promise<EndpointAnswer> {
    const signal = AbortSignal.any([asked.signal, closing.signal]);
    const leave = await turns.take(signal);
    if (leave === null) return canceled;
    const end = activity.begin("outside");
    try {
      return await exchange({ ...asked, signal });
    } finally {
      end();
      leave();
    }
  }

  function exchange(asked: Asked): Promise<EndpointAnswer> {
    const url = URL.parse(asked.url);
    if (url === null || !/^https?:$/.test(url.protocol)) return silence("The URL is not usable.");
    const blocked = whyNotThere(policy, { origin: url.origin, path: url.pathname });
    if (blocked !== null) return silence(`The connection failed: ${blocked.message}`);
    const { promise, resolve } = Promise.withResolvers<EndpointAnswer>();
    const { connection } = connections.open(url.origin);
    const breakOff = () => resolve(canceled);
    const cancelAlarm = clock.after(asked.waitMs, () => {
      resolve({ kind: "noReply", why: "No answer came in time." });
    });
    asked.signal.addEventListener("abort", breakOff, { once: true });
    try {
      connection.send(
        {
          method: asked.method,
          path: url.pathname + url.search,
          headers: headersOf(asked),
          body: asked.body,
        },
        hear(resolve, bodyBytesMax),
      );
    } catch (error) {
      resolve({ kind: "noReply", why: wordsOf(error as Error) });
    }
    return promise.finally(() => {
      cancelAlarm();
      asked.signal.removeEventListener("abort", breakOff);
      connections.drop(connection);
    });
  }

  return {
    ask,
    async close() {
      closing.abort();
      await connections.close();
    },
  };
}

function headersOf({ headers }: Asked): Record<string, string> {
  const texts = Object.entries(headers).map(([name, value]) => [name, headerText(value)] as const);
  return { "user-agent": "posthorn", ...Object.fromEntries(texts) };
}

/** Resolves with the answer once its body was read, completely or up to the limit. */
function hear(resolve: (answer: EndpointAnswer) => void, bodyBytesMax: number): Listener {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let head: AnswerHead | null = null;
  const finish = () => {
    if (head === null) return;
    const { status, text } = head;
    const body = Buffer.concat(chunks).subarray(0, bodyBytesMax).toString("utf8");
    resolve({ kind: "answered", status, headers: headersIn(text), body });
  };
  return {
    onWritten() {},
    onAnswering() {},
    onHead(given) {
      head = given;
    },
    onData(chunk) {
      chunks.push(Buffer.from(chunk));
      bytes += chunk.length;
      if (bytes >= bodyBytesMax) finish();
    },
    onEnd: finish,
    onError(error) {
      // An answer that breaks off after its head is still an answer.
      if (head !== null) finish();
      else resolve({ kind: "noReply", why: wordsOfSilence(error), ...refusalIn(error) });
    },
  };
}

const causes = {
  dns: "Its name could not be found",
  tls: "No secure connection could be made",
  connection: "The connection failed",
};

function wordsOfSilence(error: Error): string {
  const silence = silenceOf(error);
  const cause = silence === "dns" || silence === "tls" ? causes[silence] : causes.connection;
  return `${cause}: ${wordsOf(error)}`;
}

/** Of several addresses the last one's code counts. */
function refusalIn(error: Error): { readonly isRefusal?: true } {
  const isRefusal = "code" in error && /^(ECONNREFUSED|ENOTFOUND)$/.test(String(error.code));
  return isRefusal ? { isRefusal } : {};
}

function silence(why: string): Promise<EndpointAnswer> {
  return Promise.resolve({ kind: "noReply", why });
}

/** At most `max` at a time, in the order they came. */
function openTurns(max: number) {
  let taken = 0;
  const waiting = new Set<() => void>();
  const leave = () => {
    taken -= 1;
    const [next] = waiting;
    next?.();
  };
  return {
    /** Null when the signal aborted before there was room; otherwise call it at the end. */
    take(signal: AbortSignal): Promise<(() => void) | null> {
      return new Promise((resolve) => {
        const begin = () => {
          waiting.delete(begin);
          signal.removeEventListener("abort", giveUp);
          taken += 1;
          resolve(leave);
        };
        const giveUp = () => {
          waiting.delete(begin);
          resolve(null);
        };
        if (signal.aborted) return resolve(null);
        if (taken < max) return begin();
        waiting.add(begin);
        signal.addEventListener("abort", giveUp, { once: true });
      });
    },
  };
}
