// What the readers of all schemas share: a publish as text → the objects in it, each with its
// position in the text, checked for what any event must have. Parse or refuse, never guess: one bad
// event refuses the whole request.
//
// Refusals name the event and the field, but of a value only its type, because events may hold
// secrets and refusals are logged.
//
// *Differs:* the service ends its error texts with a sentence about whom to report them to. Ours
// have the request's id only in `x-ms-request-id`, and say more about what is wrong.

import type { InputSchema } from "../event.ts";
import type { Instant } from "../ports.ts";
import { Refusal } from "../refusal.ts";
import { shapeOf } from "../text/check.ts";
import { countUtf8Bytes, findObjects, isNestedDeeper, type ObjectSpan } from "../text/json.ts";
import type { Trace } from "../tracing/trace.ts";
import { isDateTime } from "./datetime.ts";
import { type PublishLimits, refuseSize } from "./limits.ts";
import type { InputMapping } from "./mapping.ts";

/** What the events of one publish share. */
export interface Reading {
  /** Name of the topic or domain. */
  readonly topic: string;
  /** Of the topic, or of the domain. */
  readonly topicArmId: string;
  /** By the rules of the IoT Edge module, which requires other members (module.ts). */
  readonly asModule?: boolean;
  /** Then every event says which topic of the domain it is for. */
  readonly isDomain: boolean;
  readonly mapping: InputMapping | null;
  readonly publishedAt: Instant;
  /** That of the request; null: it has none, but an event may have its own. */
  readonly trace: Trace | null;
  readonly hops: number;
  readonly systemId: () => string;
  readonly limits: PublishLimits;
}

/** An event as parsed; which members it has is not checked yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

export interface EventText {
  readonly text: string;
  readonly span: ObjectSpan;
  readonly value: JsonObject;
  readonly index: number;
  readonly schema: InputSchema;
}

/** What a refusal of one event needs. */
export type EventIndex = Pick<EventText, "schema" | "index">;

/** The schemas as the service calls them in headers and errors; the last name is ours. */
export const schemaNames: Readonly<Record<InputSchema, string>> = {
  EventGridSchema: "EventGridEvent",
  CloudEventSchemaV1_0: "CloudEventV10",
  CustomEventSchema: "CustomEvent",
};

/**
 * Shorter texts do not keep the parser busy for long, however deep they are: 60 ms were measured.
 */
const shortCharsMax = 262_144;

/** Refusals: InputJsonInvalid, PayloadTooLarge. */
export function parseText(text: string, limits: PublishLimits): unknown {
  if (isLonger(text, 0, text.length, limits.requestBytesMax)) {
    throw refuseSize("The request", limits.requestBytesMax);
  }
  // One more for the array around the events.
  if (text.length > shortCharsMax && isNestedDeeper(text, limits.depthMax + 1)) {
    throw refuseDepth(limits);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refusal("InputJsonInvalid", `The body is not valid JSON${placeOf(error)}.`);
  }
}

/**
 * The events of a parsed text. A single object counts as an array of one. An empty array is
 * accepted as an empty list of events: a publisher that flushes an empty buffer has made no
 * mistake. Refusals: InputJsonInvalid, PayloadTooLarge.
 */
export function findEvents(
  text: string,
  parsed: unknown,
  { schema, limits }: { readonly schema: InputSchema; readonly limits: PublishLimits },
): readonly EventText[] {
  const values: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  if (values.length > limits.eventsMax) {
    throw new Refusal(
      "PayloadTooLarge",
      `The request has ${values.length} events; at most ${limits.eventsMax} are allowed.`,
    );
  }
  values.forEach((value, index) => {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return;
    throw refuseShape({ schema, index }, "the event", "an object", value);
  });
  // From here on every element is an object; findObjects relies on it.
  const spans = findObjects(text, limits.depthMax);
  if (spans === null) throw refuseDepth(limits);
  return spans.map((span, index) => {
    const place = { text, span, value: values[index] as JsonObject, index, schema };
    if (isLonger(text, span.start, span.end, limits.eventBytesMax)) {
      throw refuseSize(`The event at index ${index}`, limits.eventBytesMax);
    }
    checkNames(place);
    return place;
  });
}

/** A duplicate name is ambiguous: whichever value we took, someone would expect the other. */
function checkNames(place: EventText): void {
  const { members } = place.span;
  if (members.length === countNames(place.value)) return;
  const seen = new Set<string>();
  for (const { name } of members) {
    if (seen.has(name)) throw refuseField(place, `${quoteName(name)} occurs more than once`);
    seen.add(name);
  }
}

/** Without a list of them, which every event would have to make. */
function countNames(value: JsonObject): number {
  let count = 0;
  for (const _name in value) count += 1;
  return count;
}

/** Null counts as left out, because clients write it that way. */
export function readOptional(place: EventText, name: string): string | undefined {
  const text = place.value[name];
  if (typeof text === "string") return text;
  if (text === undefined || text === null) return undefined;
  throw refuseShape(place, `'${name}'`, "a string", text);
}

export function readRequired(place: EventText, name: string): string {
  const text = readOptional(place, name);
  if (text === undefined) throw refuseMissing(place, name);
  return text;
}

/**
 * The time as it was written. Without a zone, as `Get-Date -Format s` writes it in the service's
 * own examples, it is taken as UTC and says so from here on.
 */
export function readTime(spot: EventIndex, what: string, text: string): string {
  if (isDateTime(text)) return text;
  if (isDateTime(`${text}Z`)) return `${text}Z`;
  throw refuseShape(spot, what, "a date and time such as 2030-01-31T13:05:09Z", text);
}

/** The ARM id that an event carries as its topic: that of the domain topic, where there is one. */
export function armIdOf({ topicArmId }: Reading, domainTopic: string | null): string {
  return domainTopic === null ? topicArmId : `${topicArmId}/topics/${domainTopic}`;
}

/** The engine's message may quote the text, so only the position is taken from it. */
function placeOf(error: unknown): string {
  const words = error instanceof Error ? error.message : "";
  if (words === "Unexpected end of JSON input") return ": it ends too early";
  const place = / \(line (\d+) column (\d+)\)$/.exec(words);
  return place === null ? "" : ` (line ${place[1]}, column ${place[2]})`;
}

/** Counts bytes only if the number of characters is not enough to decide. */
function isLonger(text: string, start: number, end: number, bytesMax: number): boolean {
  const length = end - start;
  if (length > bytesMax) return true;
  return length * 3 > bytesMax && countUtf8Bytes(text, start, end) > bytesMax;
}

/** `calledAs`: the service's name for the property, if it is different. */
export function refuseMissing(place: EventText, name: string, calledAs = name): Refusal {
  return new Refusal(
    "InputJsonInvalid",
    `This resource is configured for '${schemaNames[place.schema]}' schema and requires ` +
      `'${calledAs}' property to be set. Event at index ${place.index}: ` +
      `'${name}' is ${shapeWithoutContent(place.value[name])}.`,
  );
}

export function refuseShape(
  spot: EventIndex,
  what: string,
  wanted: string,
  value: unknown,
): Refusal {
  return refuseField(spot, `${what} must be ${wanted}, and is ${shapeWithoutContent(value)}`);
}

export function refuseField({ schema, index }: EventIndex, what: string): Refusal {
  return refuseForm(schema, `Event at index ${index}: ${what}.`);
}

/** `what` is a whole sentence. */
export function refuseForm(schema: InputSchema, what: string): Refusal {
  return new Refusal(
    "InputJsonInvalid",
    `This resource is configured to receive event in '${schemaNames[schema]}' schema. ` +
      `The JSON received does not conform to the expected schema. ${what}`,
  );
}

function refuseDepth({ depthMax }: PublishLimits): Refusal {
  return new Refusal(
    "InputJsonInvalid",
    `An event is nested too deep: at most ${depthMax} objects and arrays may lie within each other.`,
  );
}

/** A number in a setting may be shown; one in an event may not. */
export function shapeWithoutContent(value: unknown): string {
  return typeof value === "number" ? "a number" : shapeOf(value);
}

/** Names of members come from the publisher, so an unusual one is not repeated. */
export function quoteName(name: string): string {
  return /^[\w$.-]{1,64}$/.test(name) ? `'${name}'` : "a member's name";
}
