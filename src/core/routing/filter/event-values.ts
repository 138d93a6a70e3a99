// What a filter sees of an event: the values at its keys, each looked up once per event however
// many filters need it, sorted by JSON type and with letter case folded.
//
// Keys are those of https://learn.microsoft.com/azure/event-grid/event-filtering: names of the
// envelope, case-insensitive, and `data.` with a case-sensitive path. The event is someone else's
// JSON, so only an object's own members are ever followed: neither a prototype, nor the length of a
// string, nor an index of an array can be reached.

import type { EventFields } from "../../event.ts";
import { foldCase } from "../../text/compare.ts";

export type Key = {
  /** Different for keys that may find different things. */
  readonly id: string;
  /** For messages. */
  readonly words: string;
} & (
  | { readonly kind: "field"; readonly field: "eventType" | "subject" }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "data"; readonly path: readonly string[] }
);

export interface Found {
  /** As in the event; undefined when it is missing. */
  readonly value: unknown;
  /**
   * `nothing`: missing, or null. `one`: a text, number or truth value. `many`: an array. `opaque`:
   * an object or an array of nothing but objects, which cannot be compared.
   */
  readonly kind: "nothing" | "one" | "many" | "opaque";
  /** Folded. */
  readonly texts: readonly string[];
  readonly numbers: readonly number[];
  readonly truths: readonly boolean[];
}

/** One event during its routing. */
export interface EventValues {
  find(key: Key): Found;
}

/** What the filters on event types and on the subject look at, in every schema. */
export const eventTypeKey: Key = fieldKey("eventType");
export const subjectKey: Key = fieldKey("subject");

function fieldKey(field: "eventType" | "subject"): Key {
  return { id: `field:${field}`, words: field, kind: "field", field };
}

/** There is no escape: a member whose name contains a dot cannot be named. */
export function parseKey(text: string): Key {
  const identity = { id: nameOf(`key:${text}`), words: text };
  const [first = "", ...path] = text.split(".").map(nameOf);
  return first.toLowerCase() === "data"
    ? { ...identity, kind: "data", path }
    : { ...identity, kind: "name", name: text.toLowerCase() };
}

/** The same text as V8 keeps names of members, once: they are found and compared faster. */
function nameOf(text: string): string {
  return Object.keys({ [text]: null })[0] as string;
}

export function openEventValues(fields: EventFields): EventValues {
  return new ValuesOnce(fields);
}

/** What a map costs is worth it beyond so many. */
const listedMax = 6;

/** Most filters look at the type or the subject, and few at many other keys. */
class ValuesOnce implements EventValues {
  readonly #fields: EventFields;
  #eventType: Found | null = null;
  #subject: Found | null = null;
  #last: Seen | null = null;
  #listed = 0;
  #others: Map<string, Found> | null = null;

  constructor(fields: EventFields) {
    this.#fields = fields;
  }

  find(key: Key): Found {
    if (key === eventTypeKey) {
      this.#eventType ??= look(this.#fields, key);
      return this.#eventType;
    }
    if (key === subjectKey) {
      this.#subject ??= look(this.#fields, key);
      return this.#subject;
    }
    for (let seen = this.#last; seen !== null; seen = seen.before) {
      if (seen.id === key.id) return seen.found;
    }
    const known = this.#others?.get(key.id);
    if (known !== undefined) return known;
    const found = look(this.#fields, key);
    if (this.#listed < listedMax) {
      this.#listed += 1;
      this.#last = { id: key.id, found, before: this.#last };
    } else {
      this.#others ??= new Map();
      this.#others.set(key.id, found);
    }
    return found;
  }
}

interface Seen {
  readonly id: string;
  readonly found: Found;
  readonly before: Seen | null;
}

function look(fields: EventFields, key: Key): Found {
  if (key.kind === "field") return sort(fields[key.field]);
  if (key.kind === "data") return sort(follow(rootOf(fields), key.path));
  if (fields.schema !== "CloudEventSchemaV1_0") return sort(envelopeOf(fields, key.name));
  return sort(attributeOf(fields.parsed, key.name), { isAttribute: true });
}

/** Below `data`: in the custom schema that is the published event itself. */
function rootOf({ schema, parsed }: EventFields): unknown {
  return schema === "CustomEventSchema" ? parsed : memberOf(parsed, "data");
}

function follow(root: unknown, path: readonly string[]): unknown {
  let value = root;
  for (const name of path) value = memberOf(value, name);
  return value;
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}

/** Of an event in the custom schema: the envelope made by its mapping. */
function envelopeOf(fields: EventFields, name: string): string | undefined {
  switch (name) {
    case "id":
      return fields.id;
    case "topic":
      return fields.topic;
    case "subject":
      return fields.subject;
    case "eventtype":
      return fields.eventType;
    case "dataversion":
      return fields.dataVersion;
    default:
      return undefined;
  }
}

/** Older documentation's names for the attributes of a CloudEvent in filters. */
const formerNames: ReadonlyMap<string, string> = new Map([
  ["eventid", "id"],
  ["eventtype", "type"],
]);

/** Names of attributes are in lower case; other events are refused. */
function attributeOf(event: EventFields["parsed"], name: string): unknown {
  return memberOf(event, name) ?? memberOf(event, formerNames.get(name) ?? name);
}

const none: readonly never[] = [];
const nothing = { texts: none, numbers: none, truths: none };

/** An attribute of a CloudEvent is text in headers, so a number also counts as its text. */
function sort(value: unknown, { isAttribute = false } = {}): Found {
  if (value === undefined || value === null) return { value, kind: "nothing", ...nothing };
  if (Array.isArray(value)) return sortArray(value);
  if (typeof value === "object") return { value, kind: "opaque", ...nothing };
  return {
    value,
    kind: "one",
    texts: typeof value === "string" || isAttribute ? [foldCase(String(value))] : none,
    numbers: typeof value === "number" ? [value] : none,
    truths: typeof value === "boolean" ? [value] : none,
  };
}

function sortArray(value: readonly unknown[]): Found {
  const texts: string[] = [];
  const numbers: number[] = [];
  const truths: boolean[] = [];
  let objects = 0;
  for (const element of value) {
    if (typeof element === "string") texts.push(foldCase(element));
    else if (typeof element === "number") numbers.push(element);
    else if (typeof element === "boolean") truths.push(element);
    else if (element !== null) objects += 1;
  }
  const isOpaque = objects > 0 && objects === value.length;
  return { value, kind: isOpaque ? "opaque" : "many", texts, numbers, truths };
}
