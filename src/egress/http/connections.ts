// Connections to origins, kept open between requests. Each is one undici Client, which connects
// with the first request, and again if the peer has closed the connection.
//
// Deliberately absent: undici's Pool and Agent. They do not say which connection a request is on,
// cannot drop a request that still waits for one, and have one limit for all endpoints of an
// origin. The caller limits the connections in use; this file limits idle ones.

import { isIP } from "node:net";
import {
  checkServerIdentity,
  createSecureContext,
  getCACertificates,
  type SecureContext,
  TLSSocket,
} from "node:tls";
import { buildConnector, Client, type Dispatcher } from "undici";
import type { Clock, Instant } from "../../core/ports.ts";
import type { EgressPolicy } from "../policy.ts";
import { UnaskedContinue } from "./unasked-continue.ts";

export interface ConnectionsOptions {
  readonly clock: Clock;
  /** How long a connection may be idle; less if the peer asks for less. */
  readonly keepAliveMs: number;
  /** How many may be idle, over all origins. */
  readonly idleMax: number;
  /** Authorities to trust in addition to the system's, as PEM. */
  readonly ca: readonly string[];
  readonly trust?: Trust;
  /** Without it every address may be connected to. */
  readonly policy?: EgressPolicy | undefined;
}

/**
 * Which certificates are accepted: those of known authorities; those of any authority, if name and
 * dates are right; or all.
 */
export type Trust = "known" | "anyAuthority" | "all";

/** Gets undici's events of a request. */
export type Listener = Dispatcher.DispatchHandler;
export type Controller = Dispatcher.DispatchController;

/** One connection, made or not yet; its taker gives it back or drops it. */
export interface Connection {
  readonly client: Client;
  readonly origin: Origin;
  /** Also aborts a connection that is still being made, which undici would not. */
  readonly cut: AbortController;
  readonly unasked: UnaskedContinue;
  /** Answers received on the current connection. */
  served: number;
  /** When it was last given back, and how long it had been idle when it was last taken. */
  idleSince: Instant;
  idleMs: number;
}

interface Origin {
  readonly url: string;
  /** The last one given back is taken first, so that surplus ones stay idle and are closed. */
  readonly idle: Connection[];
  connections: number;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #trust: SecureContext;
  /** Only origins with connections. */
  readonly #origins = new Map<string, Origin>();
  readonly #all = new Set<Connection>();
  #idle = 0;
  #isClosed = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    // Created once: parsing a few hundred certificates for every connection takes milliseconds.
    this.#trust = createSecureContext(
      options.ca.length === 0 ? {} : { ca: [...getCACertificates("default"), ...options.ca] },
    );
  }

  /** An idle connection if there is one, otherwise a new one. */
  take(url: string): Connection {
    const idle = this.#origins.get(url)?.idle;
    const connection = idle?.pop();
    if (idle === undefined || connection === undefined) return this.open(url);
    this.#idle -= 1;
    connection.idleMs = this.#options.clock.now() - connection.idleSince;
    if (connection.idleMs < this.#options.keepAliveMs) {
      connection.unasked.begin();
      return connection;
    }
    // undici closes idle connections in real time. Where time is virtual, hours may have passed:
    // a peer would have closed this one long ago, and the others have been idle even longer.
    for (const old of [connection, ...idle]) this.drop(old);
    return this.open(url);
  }

  open(url: string): Connection {
    const origin = this.#origins.get(url) ?? { url, idle: [], connections: 0 };
    const cut = new AbortController();
    const unasked = new UnaskedContinue();
    const client = new Client(url, {
      pipelining: 1,
      allowH2: false,
      // Timeouts use our clock, not real time.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: watched(unasked, this.#connector(cut.signal)),
      keepAliveTimeout: this.#options.keepAliveMs,
      keepAliveMaxTimeout: this.#options.keepAliveMs,
    });
    const connection = { client, origin, cut, unasked, served: 0, idleSince: 0, idleMs: 0 };
    client.on("disconnect", () => {
      connection.served = 0;
      if (origin.idle.includes(connection)) this.drop(connection);
    });
    origin.connections += 1;
    this.#origins.set(url, origin);
    this.#all.add(connection);
    return connection;
  }

  #connector(signal: AbortSignal): buildConnector.connector {
    const { trust = "known", policy } = this.#options;
    const rejectUnauthorized = trust === "known";
    const connect = allowedBy(
      policy,
      buildConnector({
        ...{ timeout: 0, secureContext: this.#trust, signal, rejectUnauthorized },
        ...(policy !== undefined && { lookup: policy.lookup }),
      }),
    );
    if (trust !== "anyAuthority") return connect;
    return (target, done) =>
      connect(target, (...made) => {
        const [, socket] = made;
        const error = socket instanceof TLSSocket ? faultOf(socket, target.hostname) : undefined;
        if (error === undefined) return done(...made);
        socket?.destroy();
        done(error, null);
      });
  }

  /** For a connection whose last answer was read completely. */
  giveBack(connection: Connection): void {
    if (this.#isClosed || this.#idle >= this.#options.idleMax) {
      this.drop(connection);
      return;
    }
    connection.idleSince = this.#options.clock.now();
    connection.origin.idle.push(connection);
    this.#idle += 1;
  }

  /** Closes a connection and aborts what is on it. */
  drop(connection: Connection): void {
    const { client, origin, cut } = connection;
    if (client.destroyed) return;
    const place = origin.idle.indexOf(connection);
    if (place >= 0) {
      origin.idle.splice(place, 1);
      this.#idle -= 1;
    }
    origin.connections -= 1;
    if (origin.connections === 0) this.#origins.delete(origin.url);
    void client.destroy().then(() => this.#all.delete(connection));
    cut.abort();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const connection of this.#all) this.drop(connection);
    await Promise.all([...this.#all].map(({ client }) => client.destroy()));
  }
}

/** Connects to the addresses that the policy allows. */
function allowedBy(
  policy: EgressPolicy | undefined,
  connect: buildConnector.connector,
): buildConnector.connector {
  if (policy === undefined) return connect;
  return (target, done) => {
    const host = target.hostname.replace(/^\[|\]$/g, "");
    const why = isIP(host) === 0 ? null : policy.whyBlocked(host);
    if (why === null) connect(target, done);
    else queueMicrotask(() => done(why, null));
  };
}

/** A server may send an unasked `100 Continue`: see unasked-continue.ts. */
function watched(
  unasked: UnaskedContinue,
  connect: buildConnector.connector,
): buildConnector.connector {
  return (target, done) =>
    connect(target, (...made) => {
      const [, socket] = made;
      if (socket) unasked.watch(socket);
      done(...made);
    });
}

/** OpenSSL's codes for a chain that ends with an unknown authority. */
const unknownAuthority =
  /^(UNABLE_TO_GET_ISSUER_CERT(_LOCALLY)?|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/;

/** If the chain is invalid, Node does not check the name any more; so it is done here. */
function faultOf(socket: TLSSocket, host: string): Error | undefined {
  if (socket.authorized) return undefined;
  const code = String(socket.authorizationError);
  if (!unknownAuthority.test(code)) {
    return Object.assign(new Error(`The certificate will not do: ${code}`), { code });
  }
  return checkServerIdentity(host.replace(/^\[|\]$/g, ""), socket.getPeerCertificate());
}
