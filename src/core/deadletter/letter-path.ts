// Where a dead letter is: its path in the service's layout, and the ids by which people name one
// record. An id contains the whole location, so no index has to be kept.
//
// The layouts: `<SUBSCRIPTION>/<yyyy>/<M>/<d>/<H>/<guid>.json`, and that of namespaces, which has
// `<namespace>/<topic>/<subscription>` in front. A blob elsewhere is also read as a dead letter,
// with the time that its store reports.

import { containerNameRule } from "../azure/storage.ts";
import type { Instant } from "../ports.ts";
import { Refusal } from "../refusal.ts";
import { topicNameRule } from "../topic.ts";
import type { BlobContainer, BlobListing } from "./letter-store.ts";

export interface LetterPath extends BlobContainer {
  readonly path: string;
  /** The record's position in its blob, from 0. */
  readonly index: number;
}

/** When a blob was written: in this interval, the end exclusive. */
export interface Written {
  readonly from: Instant;
  readonly until: Instant;
}

const hourMs = 3_600_000;
const layout = /^((?:[^/]+\/){0,2}([^/]+))\/(\d{4})\/(\d{1,2})\/(\d{1,2})\/(\d{1,2})\/[^/]+$/;
const pathCharsMax = 1_024;

/** Whether a name can be a blob of dead letters. */
export const isLetterBlob = (path: string) => /\.(json|jsonl|ndjson)$/i.test(path);

/** The name in the path, as written; empty if there is none. */
export function subscriptionIn(path: string): string {
  return layout.exec(path)?.[2] ?? path.split("/").at(-2) ?? "";
}

/**
 * The hour comes from the path, because a copied blob is younger than its dead letters and a store
 * does not know the virtual clock. Within the hour, or without one, the store's own time is used.
 */
export function writtenOf({ path, modifiedAt }: BlobListing): Written {
  const exactly = { from: modifiedAt, until: modifiedAt + 1 };
  const [, , , year, month, day, hour] = layout.exec(path) ?? [];
  if (year === undefined) return exactly;
  const from = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour));
  const until = from + hourMs;
  return modifiedAt >= from && modifiedAt < until ? exactly : { from, until };
}

export function letterId({ account, container, path, index }: LetterPath): string {
  return encode([account, container, path, index]);
}

/** Refusal: InvalidSetting, naming `field`. The result can never point outside a container. */
export function parseLetterId(id: string, field = "id"): LetterPath {
  const [account, container, path, index] = decode(id) ?? [];
  if (
    typeof account === "string" &&
    topicNameRule.test(account) &&
    typeof container === "string" &&
    containerNameRule.test(container) &&
    typeof path === "string" &&
    isSafePath(path) &&
    typeof index === "number" &&
    Number.isSafeInteger(index) &&
    index >= 0
  ) {
    return { account, container, path, index };
  }
  throw new Refusal("InvalidSetting", `${field} is not the id of a dead letter`, { target: field });
}

/** Where a list stopped: the last record shown, and the hour of its blob. */
export interface Bookmark extends LetterPath {
  readonly until: Instant;
}

export function bookmarkOf({ account, container, path, index, until }: Bookmark): string {
  return encode([account, container, path, index, until]);
}

/** Refusal: InvalidSetting, naming `field`. */
export function parseBookmark(text: string, field: string): Bookmark {
  const parts = decode(text);
  const until = parts?.[4];
  if (parts?.length !== 5 || typeof until !== "number" || !Number.isSafeInteger(until)) {
    const words = `${field} must be the \`next\` of a page before`;
    throw new Refusal("InvalidSetting", words, { target: field });
  }
  return { ...parseLetterId(encode(parts.slice(0, 4)), field), until };
}

function isSafePath(path: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  if (path.length > pathCharsMax || /[\\\u0000-\u001f]/.test(path)) return false;
  return path.split("/").every((name) => name !== "" && name !== "." && name !== "..");
}

/** Base64 of JSON, in the URL-safe alphabet. */
function encode(parts: readonly unknown[]): string {
  const bytes = new TextEncoder().encode(JSON.stringify(parts));
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function decode(text: string): readonly unknown[] | null {
  if (!/^[\w-]{1,4096}$/.test(text)) return null;
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
    const parts: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return Array.isArray(parts) ? parts : null;
  } catch {
    return null;
  }
}
