// Requests and replies as plain values, and the routes that answer them. Bodies are bounded and
// complete, so tests need no socket and a simulation no network; a stream of text is the one
// exception.

import type { Refusal } from "./refusal.ts";

export interface Request {
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | undefined>>;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
  /** Address of the client; empty when it has disconnected. */
  readonly remote: string;
  /** Whether the connection uses TLS; a proxy in front may be different. */
  readonly scheme: "http" | "https";
  /** Calls back when the client has disconnected, or has its answer. Where nobody waits: absent. */
  readonly onGone?: (listener: () => void) => void;
  /**
   * What a route has made of this head, and of what else; absent where the same head does not come
   * again.
   */
  readonly memory?: { about: unknown; value: unknown };
}

/** A request whose body has not been read. */
export type RequestHead = Omit<Request, "body">;

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A wrong credential was given, as with every 401; many of them are answered slowly. */
  readonly isGuess?: boolean;
  readonly body?: string;
  /** Instead of the body, for bytes. */
  readonly bytes?: Uint8Array;
  /** Instead of the body: the path of a file. */
  readonly file?: string;
  /**
   * Instead of the body, for a stream. Called when the head has been sent; its result is called
   * once, when the client has disconnected or when we close.
   */
  readonly stream?: (out: Stream) => () => void;
}

export interface Stream {
  /** False: the client does not keep up, and nothing was written. */
  write(text: string): boolean;
}

export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "DELETE" | "OPTIONS" | "PATCH";
  /**
   * Segments may be `:name`, and the last one `*` for all that follows, under that name.
   * Case-insensitive; repeated slashes count as one.
   */
  readonly path: string;
  /** Sent with every reply of this route, refusals included. */
  readonly headers?: Readonly<Record<string, string>>;
  handle(request: Request): Promise<Reply> | Reply;
  /**
   * Decides by the head alone, before the body is read: refuses, answers, or gives who takes the
   * body. What strangers can ask for has none.
   */
  judge?(head: RequestHead): Promise<Verdict> | Verdict;
  /** How it answers a body that cannot be taken, if not as all do. */
  refuse?(refusal: Refusal): Reply;
}

export type TakeBody = (body: Uint8Array) => Promise<Reply> | Reply;

export type Verdict = TakeBody | Reply;

/** What a route does that judges before it takes a body. */
export function judgedBy(
  judge: (head: RequestHead) => Promise<Verdict> | Verdict,
): Required<Pick<Route, "judge" | "handle">> {
  return {
    judge,
    async handle({ body, ...head }) {
      const verdict = await judge(head);
      return typeof verdict === "function" ? await verdict(body) : verdict;
    },
  };
}

/** What a route says to a request by its head, also when it has nothing to judge. */
export function verdictOf(route: Route, head: RequestHead): Promise<Verdict> | Verdict {
  return route.judge?.(head) ?? ((body) => route.handle({ ...head, body }));
}

// The address a client used to reach us, for replies that contain absolute URLs.
//
// Only the `Host` header and the connection are used. Proxy headers are not, because anybody can
// send them: a proxy in front must pass the host on and use TLS to us, too.

const hostRule = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?$/;

/** `https://localhost:4438`. An invalid host is not repeated. */
export function baseUrlOf({ scheme, headers }: Pick<Request, "scheme" | "headers">): string {
  const { host } = headers;
  const isHost = typeof host === "string" && hostRule.test(host);
  return `${scheme}://${isHost ? host.toLowerCase() : "localhost"}`;
}
