// Requests and replies as plain values, and the routes that make one of the other. Bodies are
// bounded and whole, so tests need no socket and a simulation no network; what goes on, a stream of
// text, is the one exception.

export interface Request {
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | undefined>>;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
  /** Address of whoever is at the other end of the connection; empty when it has gone. */
  readonly remote: string;
  /** What the connection speaks; a proxy in front may have been spoken to otherwise. */
  readonly scheme: "http" | "https";
}

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** In the place of the body, for what is no text. */
  readonly bytes?: Uint8Array;
  /** In the place of the body: the path of a file. */
  readonly file?: string;
  /**
   * In the place of the body, for what goes on. Called when the head has been sent; its answer is
   * called once, when the other end has gone or when we close.
   */
  readonly stream?: (out: Stream) => () => void;
}

export interface Stream {
  /** False: the other end does not follow, and nothing was written. */
  write(text: string): boolean;
}

export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "DELETE" | "OPTIONS" | "PATCH";
  /**
   * Segments may be `:name`, and the last one `*` for all that follows, under that name. Matched
   * without regard to letter case and to repeated slashes.
   */
  readonly path: string;
  /** Sent with every answer of this route, refusals among them. */
  readonly headers?: Readonly<Record<string, string>>;
  handle(request: Request): Promise<Reply> | Reply;
}

// By which name a client called us, for answers that hold absolute URLs of ours.
//
// The `Host` header and the connection are all that is looked at. What a proxy adds is not, because
// anybody can add it: a proxy in front passes the host on and speaks TLS to us, too.

const hostRule = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?$/;

/** `https://localhost:4438`. A host that cannot be one is not repeated. */
export function baseUrlOf({ scheme, headers }: Pick<Request, "scheme" | "headers">): string {
  const { host } = headers;
  const isHost = typeof host === "string" && hostRule.test(host);
  return `${scheme}://${isHost ? host.toLowerCase() : "localhost"}`;
}
