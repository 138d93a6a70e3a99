// The connections of a listener: which of them are unused, so that closing need not wait for them,
// and whether each is plain or TLS if a port offers both.
//
// Assumes one of Node's own servers. Deliberately absent: HTTP.

import type { Server } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";
import { createSecureContext, type SecureContext } from "node:tls";

/** Certificate and key of a TLS server, as PEM. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
  /** For a name that the certificate does not have; null: that one is used. */
  forName?(name: string): Promise<Identity | null>;
}

export interface Wire {
  /** From now on new connections are refused, and those that were never used are ended. */
  close(): void;
  /** Closes every connection, whatever is in progress. */
  cut(): void;
}

export function openWire(server: Server | SecureServer): Wire {
  const sockets = new Set<Socket>();
  const isSecure = "setSecureContext" in server;
  // By the client's address: Node reports the end of a handshake with another socket than its
  // beginning.
  const greeting = new Map<string, Socket>();
  let isClosing = false;
  const admit = (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  };
  server.on("connection", (socket: Socket) => {
    if (isClosing) socket.destroy();
    if (!isSecure) return admit(socket);
    const end = otherEndOf(socket);
    greeting.set(end, socket);
    socket.once("close", () => greeting.delete(end));
  });
  server.on("secureConnection", (socket: Socket) => {
    greeting.delete(otherEndOf(socket));
    admit(socket);
  });
  return {
    close() {
      isClosing = true;
      for (const socket of greeting.values()) socket.destroy();
      // For Node a connection is idle only after its first request; one that a client has opened
      // ahead of need would delay closing.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    },
    cut() {
      for (const socket of [...sockets, ...greeting.values()]) socket.destroy();
    },
  };
}

function otherEndOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** The most names with a certificate of their own. */
const namesMax = 1_000;

/** Selects the certificate for the name that a client asks for. */
export function openNames(
  identity: Identity,
): (name: string) => Promise<SecureContext | undefined> {
  const known = new Map<string, Promise<SecureContext | undefined>>();
  const find = async (name: string) => {
    const own = await identity.forName?.(name);
    return own ? createSecureContext({ cert: own.cert, key: own.key }) : undefined;
  };
  return (name) => {
    const found = known.get(name);
    if (found !== undefined || known.size >= namesMax) return found ?? Promise.resolve(undefined);
    const finding = find(name);
    known.set(name, finding);
    // What went wrong once may go well the next time, and a name that is not ours may become so.
    const forget = () => known.delete(name);
    finding.then((context) => context === undefined && forget(), forget);
    return finding;
  };
}

/** A TLS handshake begins with this byte, and no HTTP method does. */
const handshakeByte = 0x16;

/**
 * Lets a TLS server also take plain HTTP: the first byte decides. A client has `patienceMs` to send
 * it. Must come before anything else listens for connections.
 */
export function admitPlain(server: SecureServer, patienceMs: number): void {
  const secure = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    const giveUp = () => socket.destroy();
    socket.setTimeout(patienceMs, giveUp);
    socket.on("error", giveUp);
    socket.once("data", (first: Buffer) => {
      socket.setTimeout(0, giveUp);
      socket.off("timeout", giveUp);
      socket.off("error", giveUp);
      socket.pause();
      socket.unshift(first);
      if (first[0] === handshakeByte) {
        for (const listener of secure) listener.call(server, socket);
      } else {
        // Node treats a plain connection and a decrypted one alike.
        server.emit("secureConnection", socket);
        socket.resume();
      }
    });
  });
}

/** An IPv4 address on an IPv6 socket is shown as IPv4. */
export function remoteOf({ remoteAddress = "" }: Socket): string {
  return remoteAddress.startsWith("::ffff:") && remoteAddress.includes(".")
    ? remoteAddress.slice(7)
    : remoteAddress;
}
