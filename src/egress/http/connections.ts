// Connections to origins, kept open between requests. The caller takes one, and gives it back or
// drops it; the caller limits the connections in use, this file the idle ones.
//
// Deliberately absent: a queue of requests, and a limit per origin: an endpoint that hangs must not
// hold up its neighbours at the same host (decision 0006).

import { isIP, type Socket, connect as tcpConnect } from "node:net";
import {
  checkServerIdentity,
  createSecureContext,
  getCACertificates,
  type SecureContext,
  type TLSSocket,
  connect as tlsConnect,
} from "node:tls";
import type { Clock, Instant } from "../../core/ports.ts";
import { type EgressPolicy, isOwn, type OwnInboxes } from "../policy.ts";
import { Connection } from "./connection.ts";

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
  /** Our own inboxes: who answers there is this process, whatever its certificate says. */
  readonly inboxes?: OwnInboxes | undefined;
}

/**
 * Which certificates are accepted: those of known authorities; those of any authority, if name and
 * dates are right; or all.
 */
export type Trust = "known" | "anyAuthority" | "all";

/** A connection, made or not yet, in the hands of its taker. */
export interface Taken {
  readonly connection: Connection;
  /** How long it had been idle; null for a new one. */
  readonly idleMs: number | null;
}

/** A peer that closes an idle connection after so long is not relied on for the last of it. */
const keepAliveMarginMs = 1_000;
const probeAfterMs = 60_000;
/** A longer answer is read in pieces. */
const answerBytes = 4_096;
/** Of TLS, to resume; one for each origin. */
const sessionsMax = 100;

/** The last one given back is taken first, so that surplus ones stay idle and are closed. */
type Idle = { readonly connection: Connection; readonly since: Instant; readonly restMs: number }[];

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #secureContext: SecureContext;
  /** By origin; only those that have any. */
  readonly #idle = new Map<string, Idle>();
  readonly #all = new Map<Connection, Promise<void>>();
  readonly #origins = new WeakMap<Connection, string>();
  readonly #sessions = new Map<string, Buffer>();
  #idleCount = 0;
  #isClosed = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    // Created once: parsing a few hundred certificates for every connection takes milliseconds.
    this.#secureContext = createSecureContext(
      options.ca.length === 0 ? {} : { ca: [...getCACertificates("default"), ...options.ca] },
    );
  }

  /** An idle connection if there is one, otherwise a new one. */
  take(origin: string): Taken {
    const idle = this.#idle.get(origin);
    const last = idle?.pop();
    if (idle === undefined || last === undefined) return this.open(origin);
    this.#idleCount -= 1;
    if (idle.length === 0) this.#idle.delete(origin);
    const idleMs = this.#options.clock.now() - last.since;
    if (idleMs < last.restMs) return { connection: last.connection, idleMs };
    // Idle connections close in real time. Where time is virtual, hours may have passed: a peer
    // would have closed this one long ago, and the others have been idle even longer.
    for (const { connection } of [last, ...idle]) this.drop(connection);
    return this.open(origin);
  }

  open(origin: string): Taken {
    const closed = Promise.withResolvers<void>();
    const url = new URL(origin);
    const isSecure = url.protocol === "https:";
    const read = (chunk: Buffer) => connection.read(chunk);
    const socket = isSecure ? this.#openTls(url) : this.#openTcp(url, read);
    const connection = new Connection({
      socket,
      host: url.host,
      madeBy: isSecure ? "secureConnect" : "connect",
      judge: isSecure ? () => this.#faultOf(socket as TLSSocket, url) : undefined,
      isRead: !isSecure,
      onClose: () => {
        this.#forget(connection);
        this.#all.delete(connection);
        closed.resolve();
      },
    });
    this.#all.set(connection, closed.promise);
    this.#origins.set(connection, origin);
    return { connection, idleMs: null };
  }

  /** Our own inboxes are reached whatever it says. */
  #policyFor({ origin }: URL): EgressPolicy | undefined {
    const { policy } = this.#options;
    return policy && isOwn(policy, origin) ? undefined : policy;
  }

  #addressOf(url: URL) {
    const { hostname, port, protocol } = url;
    const { keepAliveMs } = this.#options;
    const policy = this.#policyFor(url);
    return {
      host: bare(hostname),
      port: Number(port || (protocol === "https:" ? 443 : 80)),
      noDelay: true,
      timeout: keepAliveMs,
      keepAlive: true,
      keepAliveInitialDelay: probeAfterMs,
      ...(policy !== undefined && { lookup: policy.lookup }),
    };
  }

  /** Reads into one piece of memory: Node would allocate one of 64 KiB for each answer. */
  #openTcp(url: URL, read: (chunk: Buffer) => void): Socket {
    const buffer = Buffer.allocUnsafeSlow(answerBytes);
    const callback = (length: number) => {
      read(buffer.subarray(0, length));
      return true;
    };
    return this.#checked(
      url,
      tcpConnect({ ...this.#addressOf(url), onread: { buffer, callback } }),
    );
  }

  #openTls(url: URL): TLSSocket {
    const trust = this.#trustOf(url);
    const host = bare(url.hostname);
    const session = this.#sessions.get(url.origin);
    const socket = tlsConnect({
      ...this.#addressOf(url),
      ...(isIP(host) === 0 && { servername: host }),
      ALPNProtocols: ["http/1.1"],
      secureContext: this.#secureContext,
      rejectUnauthorized: trust === "known",
      ...(session !== undefined && { session }),
    });
    // One of a peer that was not fully checked is not resumed: a resumed one is not checked again.
    if (trust === "known") {
      socket.on("session", (given) => {
        const [oldest] = this.#sessions.size < sessionsMax ? [] : this.#sessions.keys();
        if (oldest !== undefined) this.#sessions.delete(oldest);
        this.#sessions.set(url.origin, given);
      });
    }
    return this.#checked(url, socket);
  }

  /** A name's addresses are judged by the policy's own lookup, a bare address here. */
  #checked<T extends Socket>(url: URL, socket: T): T {
    const host = bare(url.hostname);
    const why = isIP(host) === 0 ? null : (this.#policyFor(url)?.whyBlocked(host) ?? null);
    if (why !== null) socket.destroy(why);
    return socket;
  }

  #trustOf({ origin }: URL): Trust {
    const { trust = "known", inboxes } = this.#options;
    return inboxes?.origin() === origin ? "all" : trust;
  }

  #faultOf(socket: TLSSocket, url: URL): Error | undefined {
    const isAny = this.#trustOf(url) === "anyAuthority";
    return isAny ? faultOf(socket, bare(url.hostname)) : undefined;
  }

  /** For a connection whose last answer was read completely. */
  giveBack(connection: Connection): void {
    const { idleMax, keepAliveMs, clock } = this.#options;
    const said = connection.keepAliveMs ?? Number.POSITIVE_INFINITY;
    const restMs = Math.min(keepAliveMs, said - keepAliveMarginMs);
    if (this.#isClosed || this.#idleCount >= idleMax || restMs <= 0) {
      this.drop(connection);
      return;
    }
    const origin = this.#origins.get(connection) as string;
    const idle = this.#idle.get(origin) ?? [];
    idle.push({ connection, since: clock.now(), restMs });
    this.#idle.set(origin, idle);
    this.#idleCount += 1;
  }

  /** Closes a connection and aborts what is on it. */
  drop(connection: Connection): void {
    this.#forget(connection);
    connection.close();
  }

  /** It is no longer among the idle ones. */
  #forget(connection: Connection): void {
    const origin = this.#origins.get(connection) as string;
    const idle = this.#idle.get(origin) ?? [];
    const place = idle.findIndex((one) => one.connection === connection);
    if (place < 0) return;
    idle.splice(place, 1);
    this.#idleCount -= 1;
    if (idle.length === 0) this.#idle.delete(origin);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const ends = [...this.#all.values()];
    for (const connection of this.#all.keys()) this.drop(connection);
    await Promise.all(ends);
  }
}

/** An address of IPv6 stands in brackets in a URL. */
function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
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
  return checkServerIdentity(host, socket.getPeerCertificate());
}
