// A client of a broker's control plane, as anyone could write one: plain HTTP with the admin key. A
// refusal is a value; if the broker cannot be reached, or does not accept the key, the command
// ends.

import type { SimulateOrder } from "../core/api/orders.ts";
import type { Simulation } from "../core/api/views.ts";
import type { Chance } from "../core/ports.ts";
import type { OpenReceiver } from "../core/receiver.ts";
import { Refusal } from "../core/refusal.ts";
import { isObject } from "../core/template/expression.ts";
import type { Members } from "../core/text/wording.ts";
import { BrokerError, wordsOf } from "./broker-error.ts";
import { type ServerSent, serverSent } from "./events/server-sent-events.ts";
import { type BrokerAddress, findBroker } from "./find-broker.ts";
import type { Secrets } from "./import/same-as.ts";
import { signingOf } from "./import/signing-secrets.ts";

/** What only the process can do. */
export interface Wire {
  readonly readInput: () => Promise<string>;
  /** Asks the person at the terminal; empty at the end of the input. Null: nobody is there. */
  readonly question: ((text: string) => Promise<string>) | null;
  readonly fetch: typeof fetch;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** Trusts an authority, given as PEM, in addition to the usual ones. */
  readonly trust: (pem: string) => void;
  readonly makeId: () => string;
  /** In [0, 1). */
  readonly chance: () => number;
  readonly seeded: (seed: number) => Chance;
  /** Plays a what-if in this process. Refusal: InvalidSetting. */
  readonly simulate: (order: SimulateOrder) => Promise<Simulation>;
  readonly openReceiver: OpenReceiver;
  readonly exists: (path: string) => boolean;
  /** Writes a file for the user alone, with the folders it needs. */
  readonly writePrivate: (path: string, text: string) => void;
  /** Writes a file from a stream; fails on an existing one, unless it `replaces` it. */
  readonly save: (
    path: string,
    bytes: ReadableStream<Uint8Array>,
    replaces: boolean,
  ) => Promise<void>;
  /** The options of `serve`, for completion. */
  readonly settingNames: readonly string[];
}

/** What a command gets to work with. */
export interface Outside extends Wire {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string;
  readonly print: (text: string) => void;
  /** Warnings and progress, apart from the output. */
  readonly tell: (text: string) => void;
  /** The same for errors, which are always shown. */
  readonly complain: (text: string) => void;
  readonly isTerminal: boolean;
  /** Whether a person sees the messages, and a line can be rewritten in place. */
  readonly isShown: boolean;
  readonly columns: number;
  /** Calls back when the command should end. The result stops that. */
  readonly onSignal: (listener: (signal: string) => void) => () => void;
}

export interface BrokerReply {
  readonly status: number;
  readonly body: Members;
  /** Where to poll for progress. */
  readonly operation: string | null;
}

export interface Client {
  readonly server: string;
  ask(method: string, path: string, body?: object): Promise<BrokerReply>;
  /** The content of a successful answer. Throws Complaint for any other. */
  get(path: string): Promise<Members>;
  send(method: string, path: string, body?: object): Promise<BrokerReply>;
  /** Without the admin key: for publishing. */
  post(path: string, headers: Readonly<Record<string, string>>, body: string): Promise<BrokerReply>;
  /**
   * Server-sent events, as they arrive, until the signal aborts. Throws Complaint. Refusal:
   * Unavailable, also at the end of the stream.
   */
  stream(path: string, signal: AbortSignal, onOpen: () => void): AsyncIterable<ServerSent>;
  /** A body that is not JSON, as it arrives. Throws Complaint. */
  download(path: string): Promise<ReadableStream<Uint8Array>>;
  /** All pages of a list. Refusal: Unavailable. */
  list(path: string): Promise<readonly Members[]>;
  /** Waits for a long-running write; null if it succeeded, otherwise why not. */
  follow(answer: BrokerReply): Promise<string | null>;
}

/** For Azure's API; Posthorn's own has its version in the path. */
const apiVersion = "2025-02-15";
/** The broker delays its answers; so this is about an hour. */
const pollsMax = 180;
const pollMs = 1_000;
const pagesMax = 10_000;

/** Refusal: InvalidSetting. */
export function openClient(given: BrokerAddress, outside: Outside): Client {
  const { base, key } = findBroker(given, outside);
  const call = async (path: string, init: RequestInit): Promise<Response> => {
    const url = new URL(`${base}${path}`);
    const isOurs = path.startsWith("/api/");
    if (!isOurs && !url.searchParams.has("api-version")) {
      url.searchParams.set("api-version", apiVersion);
    }
    const authorization = key !== null && { authorization: `Bearer ${key}` };
    const headers = { accept: "application/json", ...authorization, ...init.headers };
    const response = await reach(base, outside, url, { redirect: "error", ...init, headers });
    if (response.status === 401) throw refuseKey(base, key);
    return response;
  };
  const ask: Client["ask"] = async (method, path, body) =>
    await answerOf(
      await call(path, {
        method,
        ...(body !== undefined && {
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        }),
      }),
    );
  const send: Client["send"] = async (method, path, body) => {
    const answer = await ask(method, path, body);
    if (answer.status >= 300) throw new BrokerError(answer.status, answer.body);
    return answer;
  };
  return {
    server: base,
    ask,
    send,
    get: async (path) => (await send("GET", path)).body,
    async post(path, headers, body) {
      const init: RequestInit = { method: "POST", redirect: "error", headers, body };
      return await answerOf(await reach(base, outside, new URL(`${base}${path}`), init));
    },
    async *stream(path, signal, onOpen) {
      try {
        const response = await call(path, { headers: { accept: "text/event-stream" }, signal });
        if (response.status >= 300) {
          throw new BrokerError(response.status, parseBody(await response.text()));
        }
        onOpen();
        yield* serverSent(textIn(response, base));
      } catch (error) {
        // After an interrupt, the errors it caused are not shown.
        if (!signal.aborted) throw error;
      }
    },
    async download(path) {
      const response = await call(path, { headers: { accept: "*/*" } });
      if (response.status >= 300 || response.body === null) {
        throw new BrokerError(response.status, parseBody(await response.text()));
      }
      return response.body;
    },
    list: (path) => listAll(ask, base, path),
    follow: (answer) => followTo(ask, base, { answer, sleep: outside.sleep }),
  };
}

type Asking = Client["ask"];

async function listAll(ask: Asking, base: string, path: string): Promise<readonly Members[]> {
  const all: Members[] = [];
  let next: string | null = path;
  for (let page = 0; next !== null && page < pagesMax; page++) {
    const { status, body } = await ask("GET", next);
    if (status !== 200 || !Array.isArray(body.value)) throw refuseAnswer(base, next, status);
    all.push(...body.value.filter(isObject));
    next = typeof body.nextLink === "string" ? pathOf(body.nextLink, base) : null;
  }
  return all;
}

async function followTo(
  ask: Asking,
  base: string,
  { answer, sleep }: { readonly answer: BrokerReply; readonly sleep: Wire["sleep"] },
): Promise<string | null> {
  if (answer.operation === null) return null;
  const path = pathOf(answer.operation, base);
  for (let poll = 0; poll < pollsMax; poll++) {
    const { status, body } = await ask("GET", path);
    if (status !== 200) throw refuseAnswer(base, path, status);
    if (body.status === "Succeeded") return null;
    if (body.status === "Failed") return wordsOf(body, "it failed");
    await sleep(pollMs);
  }
  return "it has not ended yet; look at its provisioningState later";
}

async function answerOf(response: Response): Promise<BrokerReply> {
  const text = await response.text().catch((error: unknown) => {
    const words = `the answer of ${new URL(response.url).origin} was aborted`;
    throw new Refusal("Unavailable", words, { cause: error });
  });
  const operation = response.headers.get("azure-asyncoperation");
  return { status: response.status, body: parseBody(text), operation };
}

async function reach(
  base: string,
  { fetch }: Outside,
  url: URL,
  init: RequestInit,
): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    const cause = (error as { cause?: { code?: unknown; message?: unknown } }).cause;
    const why = cause?.code ?? cause?.message ?? (error as Error).message;
    const distrust = distrustOf(String(why));
    if (distrust !== null) {
      const words = `the certificate of ${base} ${distrust.what} (${why}); ${distrust.advice}`;
      throw new Refusal("Unavailable", words, { cause: error });
    }
    const what = `the broker at ${base} cannot be reached (${why})`;
    const advice = "is it running? posthorn serve starts one, --server names another";
    throw new Refusal("Unavailable", `${what}; ${advice}`, { cause: error });
  }
}

/** The codes of OpenSSL and Node for a certificate that was not accepted; null for others. */
function distrustOf(code: string): { readonly what: string; readonly advice: string } | null {
  if (/SELF_SIGNED|^UNABLE_TO_(VERIFY|GET_ISSUER)|^CERT_UNTRUSTED$/.test(code)) {
    const advice = "give its CA with --ca FILE, such as ca.pem in the broker's data folder";
    return { what: "is not trusted", advice };
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const advice = "use a name that it has; the broker's setting tls-names adds one";
    return { what: "is for other names", advice };
  }
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") {
    const advice = "renew it, or set the clock of this machine";
    return { what: "has expired or is not yet valid", advice };
  }
  return null;
}

async function* textIn(response: Response, base: string): AsyncIterable<string> {
  const decoder = new TextDecoder();
  const words = `the broker at ${base} has closed the stream`;
  try {
    for await (const chunk of response.body ?? []) yield decoder.decode(chunk, { stream: true });
  } catch (error) {
    throw new Refusal("Unavailable", words, { cause: error });
  }
  throw new Refusal("Unavailable", words);
}

/** A list is an object with a value, as it is everywhere else. */
function parseBody(text: string): Members {
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value)) return { value };
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Whatever address the broker reports: the key is only sent where it was meant for. */
function pathOf(link: string, base: string): string {
  const { pathname, search } = new URL(link, base);
  return `${pathname}${search}`;
}

function refuseKey(base: string, key: string | null): Refusal {
  const why =
    key === null
      ? "asks for its admin key: give --key, POSTHORN_KEY or its data folder with --data"
      : "does not take this admin key";
  return new Refusal("Unauthorized", `the broker at ${base} ${why}`);
}

function refuseAnswer(base: string, path: string, status: number): Refusal {
  const words = `${base} answered ${status} to ${path.split("?")[0]}, as no Posthorn would`;
  return new Refusal("Unavailable", words);
}

/** The segments of an id, encoded for a URL. */
export function pathTo(id: string): string {
  return id.split("/").map(encodeURIComponent).join("/");
}

export async function secretsOf(client: Client, id: string): Promise<Secrets> {
  const [url, attributes, signing] = await Promise.all([
    client.ask("POST", `${pathTo(id)}/getFullUrl`),
    client.ask("POST", `${pathTo(id)}/getDeliveryAttributes`),
    signingOf(client, id),
  ]);
  return {
    endpointUrl: url.body.endpointUrl ?? null,
    deliveryAttributeMappings: attributes.body.value ?? null,
    signing,
  };
}
