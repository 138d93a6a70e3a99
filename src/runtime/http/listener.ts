// Listening over HTTP: plain routes in front, Fastify beneath. It finds the route, reads the body,
// hands over a plain request and writes the plain reply; every error of a request is caught here
// and nowhere else.
//
// Of Fastify we use the router, the listening and the closing. Its body parsers are passed by: they
// refuse a content type that is not well formed, which Event Grid takes, and cost a quarter more
// processor time per request. So is its reply: ours is complete before the first byte is written,
// and goes straight to the socket. Nor is it asked twice about the same URL: what its router found
// is remembered, and the next such request goes straight to its room (`recall`).
//
// Over TLS it is the same: Fastify listens with a certificate, and everything else stays.
//
// Deliberately absent: static files.

import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { parse } from "node:querystring";
import type { SecureContext } from "node:tls";
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  fastify,
} from "fastify";
import type { Ids, Log } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Reply, Route } from "../../core/request.ts";
import { readBody } from "./body.ts";
import {
  admitPlain,
  type Identity,
  openNames,
  openWire,
  remoteOf,
  type Wire,
} from "./connections.ts";
import { replyToFault, replyToRefusal } from "./error-reply.ts";
import { type CachedRoute, RouteCache } from "./route-cache.ts";
import { answerBroken, write } from "./write-reply.ts";

export interface ListenOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Speaks TLS; without it, plain HTTP. */
  readonly tls?: Identity | undefined;
  /** Speaks plain HTTP beside TLS, on the same port. */
  readonly takesPlain?: boolean;
  readonly log: Log;
  readonly ids: Ids;
  readonly bodyBytesMax: number;
  /** How long a client may take over the head of a request. */
  readonly headersTimeoutMs?: number;
  /** How long a client may take over a whole request, body included. */
  readonly requestTimeoutMs?: number;
  /** How long a connection may stay without a request. */
  readonly idleTimeoutMs?: number;
  /** How long requests under way may take once we close; then their connections are cut. */
  readonly drainMs?: number;
  readonly connectionsMax?: number;
  /** Told of requests that no room was asked about, and why. */
  readonly onTurnedAway?: TurnedAway;
}

/** `path`: as it was asked for, without its query. */
export type TurnedAway = (path: string, refusal: Refusal) => void;

export interface Listener {
  readonly url: string;
  readonly port: number;
  /** What TLS connections made from now on are shown. */
  present(identity: Identity): void;
  /** Stops accepting, finishes what is under way, closes idle connections. May be called twice. */
  close(): Promise<void>;
}

/** What a listener needs while it serves. */
interface ServeContext {
  readonly routeCache: RouteCache;
  readonly log: Log;
  readonly ids: Ids;
  readonly bodyBytesMax: number;
  readonly streams: Set<ServerResponse>;
  readonly onTurnedAway?: TurnedAway;
  isClosing: boolean;
  /** What a TLS client is shown that asks by name. */
  names?: (name: string) => Promise<SecureContext | undefined>;
}

const defaults = {
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  /** Longer than the minute of common proxies, so that it is they who close an idle connection. */
  idleTimeoutMs: 72_000,
  drainMs: 10_000,
  connectionsMax: 10_000,
};

/** How often Node looks for requests that take too long. */
const lookEveryMs = 1_000;

/** Of a name in a path; Azure's resource names stay below. */
const nameCharactersMax = 300;

export async function listen(routes: readonly Route[], given: ListenOptions): Promise<Listener> {
  const options = { ...defaults, ...given };
  const deps: ServeContext = {
    ...options,
    routeCache: new RouteCache(),
    streams: new Set(),
    isClosing: false,
  };
  const app = openApp(deps, options);
  for (const route of routes) addRoute(app, deps, route);
  for (const group of groupByPath(routes)) addOtherMethods(app, deps, group);
  app.addHook("onRequest", (request, reply, done) => {
    if (request.is404) refuseUnknown(deps, request, reply);
    else done();
  });
  if (options.tls !== undefined && options.takesPlain) {
    admitPlain(secureOf(app.server), options.headersTimeoutMs);
  }
  const wire = openWire(app.server);
  app.server.maxConnections = options.connectionsMax;
  app.server.on("drop", () => options.log.fact("warn", "connection.dropped", {}));
  await app.listen({ host: options.host, port: options.port });
  recall(app.server, deps);

  const { port } = app.server.address() as AddressInfo;
  let closed: Promise<void> | undefined;
  return {
    url: `${options.tls === undefined ? "http" : "https"}://${reachableHost(options.host)}:${port}`,
    port,
    present(identity) {
      if (options.tls === undefined) return;
      const { cert, key } = identity;
      deps.names = openNames(identity);
      secureOf(app.server).setSecureContext({ cert, key });
    },
    close() {
      deps.isClosing = true;
      for (const response of deps.streams) response.end();
      closed ??= close(app, wire, options.drainMs);
      return closed;
    },
  };
}

/** Fastify's types tell the two kinds of servers apart; to us they are one. */
function secureOf(server: Server): SecureServer {
  return server as unknown as SecureServer;
}

function openApp(
  deps: ServeContext,
  options: Required<
    Pick<ListenOptions, "headersTimeoutMs" | "requestTimeoutMs" | "idleTimeoutMs">
  > &
    Pick<ListenOptions, "tls">,
): FastifyInstance {
  const limits = {
    headersTimeout: options.headersTimeoutMs,
    connectionsCheckingInterval: lookEveryMs,
  };
  const manner = {
    logger: false,
    genReqId: () => deps.ids.next(),
    requestIdHeader: false,
    exposeHeadRoutes: false,
    // While we close, each room says for itself what it still does.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    requestTimeout: options.requestTimeoutMs,
    keepAliveTimeout: options.idleTimeoutMs,
    routerOptions: {
      caseSensitive: false,
      ignoreDuplicateSlashes: true,
      ignoreTrailingSlash: true,
      maxParamLength: nameCharactersMax,
      querystringParser: parseQuery,
    },
    frameworkErrors(error, request, reply) {
      if (error.code === "FST_ERR_BAD_URL") answer(deps, request, reply, replyToFault("malformed"));
      else refuseUnknown(deps, request, reply);
    },
    clientErrorHandler: (error, socket) => answerBroken(error, socket, deps.ids.next()),
  } as const satisfies FastifyServerOptions;
  if (options.tls === undefined) return fastify({ ...manner, http: limits });
  deps.names = openNames(options.tls);
  const https = {
    ...limits,
    cert: options.tls.cert,
    key: options.tls.key,
    handshakeTimeout: options.headersTimeoutMs,
    SNICallback(name: string, done: (error: Error | null, context?: SecureContext) => void) {
      deps.names?.(name.toLowerCase()).then((context) => done(null, context), done);
    },
  };
  const app = fastify({ ...manner, https } as FastifyServerOptions);
  // The usual one: a client that does not trust our certificate.
  app.server.on("tlsClientError", (error: Error & { code?: string }, socket: Socket) => {
    const { code } = error;
    deps.log.fact("debug", "connection.failed", { remote: remoteOf(socket), code });
  });
  return app;
}

async function close(app: FastifyInstance, wire: Wire, drainMs: number): Promise<void> {
  const cut = setTimeout(() => wire.cut(), drainMs);
  try {
    const closed = app.close();
    wire.close();
    await closed;
  } finally {
    clearTimeout(cut);
  }
}

function addRoute(app: FastifyInstance, deps: ServeContext, route: Route): void {
  app.route({
    method: route.method === "GET" ? ["GET", "HEAD"] : route.method,
    url: route.path,
    // Everything happens in this first hook, before Fastify looks at the content type.
    onRequest(request, reply) {
      reply.hijack();
      const cached = { route, params: request.params, query: request.query } as CachedRoute;
      deps.routeCache.remember(request.raw, cached);
      void serve(deps, cached, { requestId: request.id, incoming: request.raw }, reply.raw);
    },
    handler: unreachable,
  });
}

/**
 * Publishers post to the same few URLs over and over. To route such a request anew, and to make
 * Fastify's request and reply for it, costs a tenth of what a publish costs altogether.
 */
function recall(server: Server, deps: ServeContext): void {
  const listeners = server.listeners("request") as RequestListener[];
  server.removeAllListeners("request");
  server.on("request", (incoming, response) => {
    const cached = deps.routeCache.find(incoming);
    if (cached === undefined) {
      for (const listener of listeners) listener.call(server, incoming, response);
    } else void serve(deps, cached, { requestId: deps.ids.next(), incoming }, response);
  });
}

interface Incoming {
  readonly requestId: string;
  readonly incoming: IncomingMessage;
}

/** Never rejects. */
async function serve(
  deps: ServeContext,
  { route, params, query }: CachedRoute,
  { requestId, incoming }: Incoming,
  response: ServerResponse,
): Promise<void> {
  try {
    const { socket, headers, method = "" } = incoming;
    const body = await readBody(incoming, deps.bodyBytesMax).catch((error) => {
      if (error instanceof Refusal) deps.onTurnedAway?.(pathOf(incoming.url), error);
      throw error;
    });
    if (body === null) return;
    const remote = remoteOf(socket);
    const scheme = "encrypted" in socket ? "https" : "http";
    const reply = await route.handle({ method, params, query, headers, body, remote, scheme });
    write(deps, response, { reply, requestId, more: route.headers });
  } catch (error) {
    const reply = replyToError(deps, error, { requestId, route });
    write(deps, response, { reply, requestId, more: route.headers });
  }
}

function replyToError(
  { log }: ServeContext,
  error: unknown,
  { requestId, route }: { readonly requestId: string; readonly route: Route },
): Reply {
  if (error instanceof Refusal) return replyToRefusal(error);
  // The route and not the URL, which may hold a key.
  const { method, path } = route;
  log.fact("error", "request.failed", { requestId, method, path, error });
  return replyToFault("internal");
}

// What no room is asked about.

function answer(
  deps: ServeContext,
  request: FastifyRequest,
  response: FastifyReply,
  reply: Reply,
  more?: Readonly<Record<string, string>>,
): void {
  response.hijack();
  const { id: requestId, method } = request;
  deps.log.fact("debug", "request.refused", { requestId, method, status: reply.status });
  write(deps, response.raw, { reply, requestId, more });
}

function refuseUnknown(deps: ServeContext, request: FastifyRequest, response: FastifyReply): void {
  const refusal = new Refusal(
    "NotFound",
    "No HTTP resource was found that matches the request URI.",
  );
  deps.onTurnedAway?.(pathOf(request.url), refusal);
  answer(deps, request, response, replyToRefusal(refusal));
}

function pathOf(url = ""): string {
  return url.split("?", 1)[0] ?? "";
}

/** Routes that differ in their method alone. */
function groupByPath(routes: readonly Route[]): Iterable<readonly Route[]> {
  return Map.groupBy(routes, ({ path }) => path.toLowerCase().replace(/:[^/]+/g, ":")).values();
}

/**
 * The methods that a path does not have are refused with those it has. HEAD is not among them: the
 * service does not find what has no GET.
 */
function addOtherMethods(app: FastifyInstance, deps: ServeContext, routes: readonly Route[]): void {
  const [first] = routes;
  if (first === undefined) return;
  const allow = routes
    .map((route) => route.method)
    .toSorted()
    .join(", ");
  const has = (method: string) => routes.some((route) => route.method === method);
  app.route({
    method: app.supportedMethods.filter((method) => method !== "HEAD" && !has(method)),
    url: first.path,
    onRequest(request, reply) {
      const refusal = new Refusal(
        "MethodNotAllowed",
        `The method ${request.method} is not allowed here; allowed: ${allow}.`,
      );
      deps.onTurnedAway?.(pathOf(request.url), refusal);
      answer(deps, request, reply, replyToRefusal(refusal), { ...first.headers, allow });
    },
    handler: unreachable,
  });
}

function unreachable(): never {
  throw new Error("a request went on after its answer");
}

/** Of a parameter that is given more than once the first counts. */
function parseQuery(text: string): Record<string, string> {
  const query = parse(text);
  for (const name in query) {
    const value = query[name];
    if (Array.isArray(value)) query[name] = value[0];
  }
  return query as Record<string, string>;
}

/** A host that a client can connect to, also when we listen on all of them. */
function reachableHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}
