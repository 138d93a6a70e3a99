// Measures the machine a broker runs on, or will run on: what exists, how fast it is, what answers.
// Facts only; core/diagnosis.ts interprets them. Nothing is changed.

import { X509Certificate } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from "node:fs";
import { connect, createServer } from "node:net";
import { dirname, join, resolve } from "node:path";
import type { FolderFacts, PortFacts, ReachFacts, TlsFacts } from "../core/diagnosis.ts";
import type { Address } from "../core/text/setting-kinds.ts";

const syncs = 20;
const blockBytes = 4_096;
const connectMs = 3_000;
const askMs = 3_000;

/** Of the data folder, or of the nearest existing one above it. */
export function lookAtFolder(path: string): FolderFacts {
  const folder = nearest(resolve(path));
  const { bavail, bsize } = statfsSync(folder);
  const seen = { path, isThere: folder === resolve(path), freeBytes: bavail * bsize };
  try {
    const place = mkdtempSync(join(folder, ".posthorn-doctor-"));
    try {
      const { syncMs, writtenAt } = timeSyncs(join(place, "probe"));
      return { ...seen, isWritable: true, syncMs, clockSkewMs: writtenAt - Date.now() };
    } finally {
      rmSync(place, { recursive: true });
    }
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    return { ...seen, isWritable: false, why };
  }
}

function nearest(path: string): string {
  return existsSync(path) ? path : nearest(dirname(path));
}

/** The median of several, and the file system's time. */
function timeSyncs(path: string): { readonly syncMs: number; readonly writtenAt: number } {
  const file = openSync(path, "w");
  const block = Buffer.alloc(blockBytes, 1);
  const times: number[] = [];
  try {
    for (let count = 0; count < syncs; count++) {
      const begun = performance.now();
      writeSync(file, block);
      fsyncSync(file);
      times.push(performance.now() - begun);
    }
  } finally {
    closeSync(file);
  }
  const middle = times.toSorted((one, other) => one - other)[syncs / 2] ?? 0;
  return { syncMs: middle, writtenAt: statSync(path).mtimeMs };
}

/** Whether it can be listened on; and if not, whether a broker does. */
export async function lookAtPort(address: Address): Promise<PortFacts> {
  const why = await new Promise<string | null>((settle) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
    server.listen({ host: address.host, port: address.port, exclusive: true }, () =>
      server.close(() => settle(null)),
    );
  });
  return { address, why };
}

/** Whether a broker answers there. */
export async function isBroker(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(askMs) });
    const body = (await response.json()) as { status?: unknown };
    return body.status === "alive";
  } catch {
    return false;
  }
}

/** A broker's answer to a request with the admin key. */
export async function askBroker<T>(url: string, key: string): Promise<T> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(askMs) });
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  return (await response.json()) as T;
}

/** Whether a connection can be made; nothing is sent. */
export async function lookAtEndpoint(name: string, url: string): Promise<ReachFacts> {
  const parsed = URL.parse(url);
  if (parsed === null) return { name, why: "its address is invalid" };
  const host = parsed.hostname.replace(/^\[|\]$/g, "");
  const port = Number(parsed.port) || (parsed.protocol === "http:" ? 80 : 443);
  const why = await new Promise<string | null>((settle) => {
    const socket = connect({ host, port });
    const end = (said: string | null) => {
      socket.destroy();
      settle(said);
    };
    socket.setTimeout(connectMs, () => end("no answer within 3 s"));
    socket.once("connect", () => end(null));
    socket.once("error", (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });
  return { name, why };
}

/** Of a PEM file; null when there is none. */
export function lookAtCertificate(path: string): TlsFacts | null {
  if (!existsSync(path)) return null;
  try {
    const { validTo, subjectAltName = "" } = new X509Certificate(readFileSync(path));
    return { path, endsInMs: Date.parse(validTo) - Date.now(), names: subjectAltName, why: null };
  } catch (error) {
    return { path, endsInMs: 0, names: "", why: String(error) };
  }
}
