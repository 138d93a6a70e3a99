// A dead letter read back: the text of a blob → its records, and of each the event and why it was
// undeliverable. The inverse of record.ts, and more tolerant: everything Azure writes, or copying
// tools make of it, is read as well: a single record without an array, one record per line, a byte
// order mark, names in other letter case, times with more or fewer digits, and the wrapping that
// namespaces use.
//
// The publisher's text does not change: an event is cut out of the record's text. What cannot be
// read is reported as a sentence and never thrown, because one bad record must not hide the others.

import type { Instant } from "../ports.ts";
import { findElements, findMembers } from "../text/json.ts";
import { parseInstant } from "../text/time.ts";

/** What a letter says of its event, without the event itself. */
export interface LetterHead {
  /** An event of a custom schema is an Event Grid event here, with the original as its data. */
  readonly form: "eventGrid" | "cloudEvent";
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  /** The topic's ARM id, or the source of a CloudEvent; empty: it has none. */
  readonly source: string;
  readonly reason: string;
  readonly outcome: string;
  readonly status: number | null;
  readonly attempts: number;
  readonly publishedAt: Instant | null;
  readonly lastAttemptAt: Instant | null;
}

export interface Letter extends LetterHead {
  /** The event without what dead-lettering added, as text. */
  readonly text: string;
}

/** Which records of a blob are wanted: the heads of all, or some by their indexes, whole. */
export type WantedRecords = "heads" | readonly number[];

/** `index`: of the record in its blob, from 0. */
export type ReadRecord = { readonly index: number } & (
  | { readonly kind: "head"; readonly letter: LetterHead }
  | { readonly kind: "letter"; readonly letter: Letter; readonly record: string }
  | { readonly kind: "unreadable"; readonly why: string }
);

export type LetterRecord = {
  /** As written. */
  readonly record: string;
} & (
  | { readonly kind: "letter"; readonly letter: Letter }
  | { readonly kind: "unreadable"; readonly why: string }
);

/** The names that Azure's namespaces and other tiers use; all in lower case. */
const remarkNames = {
  reason: ["deadletterreason"],
  attempts: ["deliveryattempts"],
  outcome: ["lastdeliveryoutcome", "deliveryresult"],
  status: ["lasthttpstatuscode"],
  publishedAt: ["publishtime", "publishutc"],
  lastAttemptAt: ["lastdeliveryattempttime", "deliveryattemptutc"],
} as const;

/** Members that are not the event's own, by the tier of the service that writes them. */
const besideEvent = [
  ...["deadletterreason", "deliveryattempts", "lastdeliveryoutcome", "lasthttpstatuscode"],
  ...["publishtime", "lastdeliveryattempttime"],
];
const wrappingNames = ["deadletterproperties", "brokerproperties"];
const besideWrapping = [...wrappingNames, "customdeliveryproperties"];

/** Only these, in lower case. */
const eventGridNames: ReadonlyMap<string, string> = new Map(
  [
    "id",
    "topic",
    "subject",
    "data",
    "eventType",
    "eventTime",
    "dataVersion",
    "metadataVersion",
  ].map((name) => [name.toLowerCase(), name]),
);

interface Part {
  readonly name: string;
  /** The same in lower case. */
  readonly lower: string;
  readonly json: string;
  /** Where the value ends in the text it was cut from. */
  readonly end: number;
}

/** The records of a blob, in order. */
export function readLetters(blob: string): readonly LetterRecord[] {
  const text = blob.replace(/^\uFEFF/, "");
  if (text.trim() === "") return [unreadable("", "The blob is empty.")];
  const whole = parse(text);
  if (whole === undefined) return readLines(text);
  if (!Array.isArray(whole)) return [readRecord(text.trim(), whole)];
  return findElements(text).map(({ start, end }, index) =>
    readRecord(text.slice(start, end), whole[index]),
  );
}

/** An index that the blob does not have is left out. */
export function readRecords(blob: string, wanted: WantedRecords): readonly ReadRecord[] {
  return readLetters(blob).flatMap((read, index): readonly ReadRecord[] => {
    if (wanted !== "heads" && !wanted.includes(index)) return [];
    if (read.kind === "unreadable") return [{ kind: "unreadable", index, why: read.why }];
    const { letter, record } = read;
    if (wanted !== "heads") return [{ kind: "letter", index, letter, record }];
    const { text: _, ...head } = letter;
    return [{ kind: "head", index, letter: head }];
  });
}

/** One record per line, as some tools that copy blobs write them. */
function readLines(text: string): readonly LetterRecord[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  const values = lines.map((line) => parse(line));
  if (values.every((value) => value === undefined)) {
    return [unreadable(text, "The blob is not JSON.")];
  }
  return lines.map((line, index) => {
    const value = values[index];
    return value === undefined
      ? unreadable(line, `Line ${index + 1} is not JSON.`)
      : readRecord(line.trim(), value);
  });
}

function readRecord(record: string, value: unknown): LetterRecord {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return unreadable(record, "The record is not an object.");
  }
  const parts = partsOf(record);
  const wrapping = find(parts, wrappingNames);
  const isWrapped = wrapping?.json.startsWith("{") === true;
  const remarks = isWrapped ? partsOf(wrapping.json) : parts;
  const reason = textOf(find(remarks, remarkNames.reason));
  if (reason === "") return unreadable(record, "The record has no deadLetterReason.");
  const text = isWrapped ? unwrapped(record, parts) : without(record, parts, besideEvent);
  const event = partsOf(text);
  const has = (name: string) => find(event, [name]) !== undefined;
  const isCloudEvent = has("specversion") || (has("source") && has("type") && !has("eventtype"));
  const missing = (isCloudEvent ? cloudEventNeeds : eventGridNeeds).find(
    (name) => textOf(find(event, [name.toLowerCase()])) === "",
  );
  if (missing !== undefined) return unreadable(record, `The record has no ${missing}.`);
  const named = (name: string) => textOf(find(event, [name]));
  const letter: Letter = {
    form: isCloudEvent ? "cloudEvent" : "eventGrid",
    text: isCloudEvent ? asCloudEvent(text, event) : asEventGrid(text, event),
    id: named("id"),
    type: named(isCloudEvent ? "type" : "eventtype"),
    subject: named("subject"),
    source: named(isCloudEvent ? "source" : "topic"),
    reason,
    outcome: textOf(find(remarks, remarkNames.outcome)),
    status: countOf(find(remarks, remarkNames.status)),
    attempts: countOf(find(remarks, remarkNames.attempts)) ?? 0,
    publishedAt: instantOf(find(remarks, remarkNames.publishedAt)),
    lastAttemptAt: instantOf(find(remarks, remarkNames.lastAttemptAt)),
  };
  return { kind: "letter", letter, record };
}

const eventGridNeeds = ["id", "eventType", "eventTime"];
const cloudEventNeeds = ["id", "source", "type"];

/** The event in a namespace's record: a member of its own, or the remaining members. */
function unwrapped(record: string, parts: readonly Part[]): string {
  const event = find(parts, ["event"]);
  return event?.json.startsWith("{") === true ? event.json : without(record, parts, besideWrapping);
}

/**
 * The record's text up to what was added at its end, blanks included. If the service put that
 * elsewhere, the remaining members are joined.
 */
function without(record: string, parts: readonly Part[], names: readonly string[]): string {
  const isAdded = ({ lower }: Part) => names.includes(lower);
  const first = parts.findIndex(isAdded);
  if (first < 0) return record;
  const last = parts[first - 1];
  if (last === undefined || !parts.slice(first).every(isAdded)) {
    return joined(parts.filter((part) => !isAdded(part)));
  }
  return `${record.slice(0, record.indexOf(",", last.end))}}`;
}

/** Names in the letter case of the schema; unknown members stay as they are. */
function asEventGrid(text: string, parts: readonly Part[]): string {
  const names = new Set(parts.map(({ name }) => name));
  const properName = ({ name, lower }: Part) => {
    const proper = eventGridNames.get(lower);
    return proper === undefined || names.has(proper) ? name : proper;
  };
  if (parts.every((part) => properName(part) === part.name)) return text;
  return joined(parts.map((part) => ({ ...part, name: properName(part) })));
}

/**
 * The service's own example has no version; without it the event would not be recognised as a
 * CloudEvent.
 */
function asCloudEvent(text: string, parts: readonly Part[]): string {
  if (parts.some(({ name }) => name === "specversion")) return text;
  const name = "specversion";
  return joined([{ name, lower: name, json: '"1.0"', end: 0 }, ...parts]);
}

/** `text`: valid JSON of an object. */
function partsOf(text: string): readonly Part[] {
  const members = findMembers(text, text.indexOf("{"))?.members ?? [];
  return members.map(({ name, start, end }) => {
    return { name, lower: name.toLowerCase(), json: text.slice(start, end), end };
  });
}

function find(parts: readonly Part[], names: readonly string[]): Part | undefined {
  return parts.find(({ lower }) => names.includes(lower));
}

function joined(parts: readonly Part[]): string {
  return `{${parts.map(({ name, json }) => `${JSON.stringify(name)}:${json}`).join(",")}}`;
}

function textOf(part: Part | undefined): string {
  const value: unknown = part === undefined ? "" : JSON.parse(part.json);
  return typeof value === "string" ? value : "";
}

/** Also when it was written as a string. */
function countOf(part: Part | undefined): number | null {
  const value = part === undefined ? Number.NaN : Number(JSON.parse(part.json) || Number.NaN);
  return Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function instantOf(part: Part | undefined): Instant | null {
  const text = textOf(part);
  if (text === "") return null;
  try {
    return parseInstant(text, "time");
  } catch {
    return null;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unreadable(record: string, why: string): LetterRecord {
  return { kind: "unreadable", record, why };
}
