// Listens for HTTP, plain or TLS: opens one of Node's own servers, passes each request to serve.ts,
// and closes without leaving a request unanswered.
//
// Deliberately absent: static files.

import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { SecureContext } from "node:tls";
import type { Ids, Log } from "../../core/ports.ts";
import type { Route } from "../../core/request.ts";
import { BodyRoom } from "./body.ts";
import {
  admitPlain,
  type Identity,
  openNames,
  openWire,
  remoteOf,
  type Wire,
} from "./connections.ts";
import { NodeExchange } from "./exchange.ts";
import type { GuessTable } from "./guess-table.ts";
import { openRouter } from "./router.ts";
import { type ServeContext, serve, type TurnedAway } from "./serve.ts";
import { openShortWay } from "./short-way.ts";
import { openTurns } from "./turns.ts";
import { Untaken } from "./untaken.ts";
import { answerBroken } from "./write-reply.ts";

export interface ListenOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Speaks TLS; without it, plain HTTP. */
  readonly tls?: Identity | undefined;
  /** Speaks plain HTTP beside TLS, on the same port. */
  readonly takesPlain?: boolean;
  readonly log: Log;
  readonly ids: Ids;
  /** The limit of one body. */
  readonly bodyBytesMax: number;
  /** For all bodies; may be shared by listeners. */
  readonly bodyRoom?: BodyRoom;
  /** Slows down who tries out keys; may be shared by listeners. Without it nobody is. */
  readonly guesses?: GuessTable;
  /** How long a client may take to send the head of a request. */
  readonly headersTimeoutMs?: number;
  /** How long a client may take to send a whole request, body included. */
  readonly requestTimeoutMs?: number;
  /** How long a client may read nothing of an answer. */
  readonly takeTimeoutMs?: number;
  /** How many bytes of answers may wait for their readers, over all connections. */
  readonly untakenBytesMax?: number;
  /** How long a connection may stay without a request. */
  readonly idleTimeoutMs?: number;
  /** How long requests in progress may take once we close; then their connections are closed. */
  readonly drainMs?: number;
  readonly connectionsMax?: number;
  /** Called for requests that were refused before any room saw them. */
  readonly onTurnedAway?: TurnedAway;
}

export interface Listener {
  readonly url: string;
  readonly port: number;
  /** The certificate for TLS connections from now on. */
  present(identity: Identity): void;
  /**
   * Stops accepting, finishes requests in progress, closes idle connections. May be called twice.
   */
  close(): Promise<void>;
}

const defaults = {
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  takeTimeoutMs: 60_000,
  untakenBytesMax: 64 * 1_048_576,
  /** Longer than the minute of common proxies, so that they close an idle connection first. */
  idleTimeoutMs: 72_000,
  drainMs: 10_000,
  connectionsMax: 10_000,
};

/** For a listener that shares its room with no other. */
const bodiesBytesMax = 128 * 1_048_576;

/** How often Node checks for requests that take too long. */
const lookEveryMs = 1_000;

export async function listen(routes: readonly Route[], given: ListenOptions): Promise<Listener> {
  const options = { ...defaults, ...given };
  const { host, tls, log, ids } = options;
  const context: ServeContext = {
    ...options,
    bodyRoom: options.bodyRoom ?? new BodyRoom(bodiesBytesMax),
    find: openRouter(routes),
    streams: new Set(),
    untaken: new Untaken({
      timeoutMs: options.takeTimeoutMs,
      bytesMax: options.untakenBytesMax,
      log,
    }),
    isClosing: false,
  };
  const names = { find: tls && openNames(tls) };
  const server = openServer(options, names);
  const takeTurns = openTurns();
  const answer = (incoming: IncomingMessage, response: ServerResponse) =>
    takeTurns(response, () => void serve(context, new NodeExchange(context, incoming, response)));
  server.on("request", answer);
  server.on("checkContinue", answer);
  server.on("clientError", (error, socket) => answerBroken(error, socket as Socket, ids.next()));
  server.maxConnections = options.connectionsMax;
  server.on("drop", () => log.fact("warn", "connection.dropped", {}));
  if (isSecure(server) && options.takesPlain) admitPlain(server, options.headersTimeoutMs);
  // Before the wire, which follows connections wherever they go.
  const shortWay = isSecure(server)
    ? null
    : openShortWay(server, context, { ...options, lookEveryMs });
  const wire = openWire(server);
  await open(server, options);

  const { port } = server.address() as AddressInfo;
  let closed: Promise<void> | undefined;
  return {
    url: `${tls === undefined ? "http" : "https"}://${reachableHost(host)}:${port}`,
    port,
    present(identity) {
      if (!isSecure(server)) return;
      const { cert, key } = identity;
      names.find = openNames(identity);
      server.setSecureContext({ cert, key });
    },
    close() {
      context.isClosing = true;
      for (const response of context.streams) response.end();
      shortWay?.close();
      closed ??= close(server, wire, options.drainMs);
      return closed;
    },
  };
}

type Names = ReturnType<typeof openNames>;

/** `names`: certificates by the name that a TLS client asks for. */
function openServer(
  options: ListenOptions & typeof defaults,
  names: { readonly find: Names | undefined },
): Server | SecureServer {
  const limits: ServerOptions = {
    headersTimeout: options.headersTimeoutMs,
    requestTimeout: options.requestTimeoutMs,
    keepAliveTimeout: options.idleTimeoutMs,
    connectionsCheckingInterval: lookEveryMs,
  };
  if (options.tls === undefined) return createServer(limits);
  const server = createSecureServer({
    ...limits,
    cert: options.tls.cert,
    key: options.tls.key,
    handshakeTimeout: options.headersTimeoutMs,
    SNICallback(name: string, done: (error: Error | null, context?: SecureContext) => void) {
      names.find?.(name.toLowerCase()).then((context) => done(null, context), done);
    },
  });
  // The most common one: a client that does not trust our certificate.
  server.on("tlsClientError", (error: Error & { code?: string }, socket: Socket) => {
    const { code } = error;
    options.log.fact("debug", "connection.failed", { remote: remoteOf(socket), code });
  });
  return server;
}

function isSecure(server: Server | SecureServer): server is SecureServer {
  return "setSecureContext" in server;
}

function open(server: Server, { host, port }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

async function close(server: Server, wire: Wire, drainMs: number): Promise<void> {
  const cut = setTimeout(() => wire.cut(), drainMs);
  try {
    const closed = new Promise((resolve) => server.close(resolve));
    wire.close();
    await closed;
  } finally {
    clearTimeout(cut);
  }
}

/** A host that a client can connect to, also if we listen on all interfaces. */
function reachableHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}
