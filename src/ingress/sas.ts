// Shared access signatures: `r=<resource>&e=<expiry>&s=<signature>`, each part URL-encoded. The
// signature is the HMAC-SHA256, under the decoded key, of the text before `&s=` as it was sent:
// https://learn.microsoft.com/azure/event-grid/authenticate-with-access-keys-shared-access-signatures
//
// Clients differ in how they encode (hex digits in either case, blanks as `+` or `%20`) and in how
// they write a time, so the text is never re-encoded and a time is read in every known form. A time
// without a zone is UTC. docs/decisions/0007 says why resources are compared as here.

import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import type { Instant } from "../core/ports.ts";

export interface SasToken {
  /** The text that is signed. */
  readonly signed: string;
  readonly signature: Buffer;
  readonly resource: string;
  readonly expiresAt: Instant;
}

/** Null when it is not well formed. */
export function parseSasToken(text: string): SasToken | null {
  const place = text.lastIndexOf("&s=");
  if (place < 0) return null;
  const signed = text.slice(0, place);
  const parts = new Map<string, string>();
  for (const part of signed.split("&")) {
    const [, name, value] = /^([re])=(.+)$/.exec(part) ?? [];
    const decoded = value === undefined ? null : decode(value.replaceAll("+", " "));
    // Unknown or duplicate parts could be read differently by others, so they are refused.
    if (name === undefined || decoded === null || parts.has(name)) return null;
    parts.set(name, decoded);
  }
  const expiresAt = parseExpiry(parts.get("e") ?? "");
  const resource = parts.get("r");
  // A plus sign here belongs to unencoded base64.
  const signature = decode(text.slice(place + 3));
  if (resource === undefined || expiresAt === null || signature === null) return null;
  return { signed, resource, expiresAt, signature: Buffer.from(signature, "base64") };
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

const clock = String.raw`(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?`;
const zone = String.raw`(?: ?(Z|[+-]\d{2}:?\d{2}))?`;
/** `1/31/2030 1:05:09 PM`, with or without a zone; hours up to 23 where there is no AM or PM. */
const american = new RegExp(
  String.raw`^(\d{1,2})/(\d{1,2})/(\d{4}),? ${clock}(?: ?([AP])M)?${zone}$`,
  "i",
);
/** `2030-01-31T13:05:09.000001`, with a blank for the T, and with or without a zone. */
const iso = new RegExp(String.raw`^(\d{4})-(\d{2})-(\d{2})[T ]${clock}${zone}$`, "i");

/** Null if it is not a time. Fractions of a second are ignored. */
export function parseExpiry(text: string): Instant | null {
  // Newer libraries put a narrow no-break space before AM and PM.
  const plain = text.replace(/\s+/g, " ").trim();
  const us = american.exec(plain);
  if (us !== null) {
    const [, month, day, year, hour, minute, second, half, offset] = us;
    return instantOf({ year, month, day, hour: hourOf(hour, half), minute, second, offset });
  }
  const [, year, month, day, hour, minute, second, offset] = iso.exec(plain) ?? [];
  if (year === undefined) return null;
  return instantOf({ year, month, day, hour: Number(hour), minute, second, offset });
}

/** On a 12-hour clock; NaN for an hour that it does not have. */
function hourOf(hour: string | undefined, half: string | undefined): number {
  const shown = Number(hour);
  if (half === undefined) return shown;
  if (shown < 1 || shown > 12) return Number.NaN;
  return (shown % 12) + (half.toUpperCase() === "P" ? 12 : 0);
}

interface TimeParts {
  readonly year: string | undefined;
  readonly month: string | undefined;
  readonly day: string | undefined;
  readonly hour: number;
  readonly minute: string | undefined;
  readonly second: string | undefined;
  readonly offset: string | undefined;
}

function instantOf({ year, month, day, hour, minute, second, offset }: TimeParts): Instant | null {
  const at = Date.UTC(Number(year), Number(month) - 1, Number(day));
  const date = new Date(at);
  const isDay = date.getUTCDate() === Number(day) && date.getUTCMonth() === Number(month) - 1;
  const isTime = hour < 24 && Number(minute) < 60 && Number(second ?? 0) < 60;
  if (!isDay || !isTime) return null;
  const seconds = (hour * 60 + Number(minute)) * 60 + Number(second ?? 0);
  return at + seconds * 1_000 - offsetMs(offset ?? "Z");
}

function offsetMs(zone: string): number {
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(zone) ?? [];
  if (sign === undefined) return 0;
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

/**
 * What a key signs with; null when it is not base64. Clients disagree about how to sign with other
 * keys, and some would sign with an empty key, which anybody can.
 */
export function signerOf(key: string): KeyObject | null {
  const isBase64 = key.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(key);
  const bytes = isBase64 ? Buffer.from(key, "base64") : null;
  return bytes === null || bytes.length === 0 ? null : createSecretKey(bytes);
}

export function isSignedWith({ signed, signature }: SasToken, key: KeyObject): boolean {
  const ours = createHmac("sha256", key).update(signed).digest();
  return signature.length === ours.length && timingSafeEqual(signature, ours);
}

export interface RequestTarget {
  /** The topic's name. */
  readonly topic: string;
  /** As the client named the host; empty when it did not. */
  readonly host: string;
  /** Whether the topic was in the path, or known by host or port. */
  readonly isByPath: boolean;
}

/** Whether the resource is a prefix, in whole segments, of a URL of the topic. */
export function covers(resource: string, { topic, host, isByPath }: RequestTarget): boolean {
  const [, itsHost = "", itsPath = ""] =
    /^(?:[a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)([^?#]*)/.exec(resource.toLowerCase()) ?? [];
  const named = ["topics", topic.toLowerCase(), "api", "events"];
  const bare = ["api", "events"];
  const segments = itsPath.split("/").filter((segment) => segment !== "");
  const isPrefixOf = (path: readonly string[]) =>
    segments.length <= path.length && segments.every((segment, place) => segment === path[place]);
  if (segments.length >= 2 && isPrefixOf(named)) return true;
  if (itsHost.split(/[.:]/, 1)[0] === named[1] && isPrefixOf(bare)) return true;
  const isSameHost = itsHost !== "" && withoutPort(itsHost) === withoutPort(host.toLowerCase());
  return isSameHost && isPrefixOf(isByPath ? named : bare);
}

/** Some clients leave out a default port. */
function withoutPort(host: string): string {
  return host.replace(/:(?:80|443)$/, "");
}
