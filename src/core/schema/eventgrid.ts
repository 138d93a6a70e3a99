// The Event Grid schema: a publish as text → events, checked and stamped. Parse or refuse, never
// guess: one event that will not do refuses the whole request.
//
// Imitates https://learn.microsoft.com/azure/event-grid/event-schema. What is kept is put together
// from the publisher's raw text, so nothing inside `data` changes on its way. Refusals say which
// event and which field, and of a value only its shape.
//
// *Differs:* the service ends its error texts with a sentence about whom to report them to. Ours
// carry the request's id in `x-ms-request-id` alone.

import { shapeOf } from "../check.ts";
import type { Event, EventFields, Published } from "../event.ts";
import { countUtf8Bytes, findObjects, type ObjectSpan } from "../json.ts";
import type { Instant } from "../ports.ts";
import { Refusal } from "../refusal.ts";
import { type PublishLimits, refuseSize } from "./limits.ts";

/** What the events of one publish share. */
export interface Reading {
  /** Name of the topic. */
  readonly topic: string;
  readonly topicArmId: string;
  readonly publishedAt: Instant;
  readonly systemId: () => string;
  readonly limits: PublishLimits;
}

/** Refusals: InputJsonInvalid, PayloadTooLarge, Unauthorized (an event names another topic). */
export function readEventGridEvents(text: string, reading: Reading): readonly Published[] {
  const { limits } = reading;
  if (isLonger(text, 0, text.length, limits.requestBytesMax)) {
    throw refuseSize("The request", limits.requestBytesMax);
  }
  const values = parseEvents(text);
  if (values.length > limits.eventsMax) {
    throw new Refusal(
      "PayloadTooLarge",
      `The request has ${values.length} events; at most ${limits.eventsMax} are allowed.`,
    );
  }
  values.forEach(checkObject);
  const stamp = JSON.stringify(reading.topicArmId);
  // From here on every element is an object, which is what findObjects relies on.
  return findObjects(text).map((span, index) => {
    const place = { text, span, value: values[index] as Given, index };
    const fields = checkEvent(place, reading);
    return { event: writeEvent(place, reading, stamp), fields };
  });
}

/** An event as parsed; which of its members are there is still to be seen. */
type Given = Readonly<Record<string, unknown>>;

interface Place {
  readonly text: string;
  readonly span: ObjectSpan;
  readonly value: Given;
  readonly index: number;
}

/**
 * A bare object counts as an array of one, which is what whoever sends it means. An empty array is
 * an empty list of events and is accepted: there is nothing in it that could be refused, and a
 * publisher who flushes a buffer that happens to be empty has made no mistake.
 */
function parseEvents(text: string): readonly unknown[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Refusal("InputJsonInvalid", `The body is not valid JSON${placeOf(error)}.`);
  }
  return Array.isArray(value) ? value : [value];
}

/** The engine's own words may quote the text, so only the place is taken from them. */
function placeOf(error: unknown): string {
  const words = error instanceof Error ? error.message : "";
  if (words === "Unexpected end of JSON input") return ": it ends too early";
  const place = / \(line (\d+) column (\d+)\)$/.exec(words);
  return place === null ? "" : ` (line ${place[1]}, column ${place[2]})`;
}

function checkObject(value: unknown, index: number): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw refuseShape(index, "the event", "an object", value);
  }
}

function checkEvent(place: Place, reading: Reading): EventFields {
  checkSize(place, reading.limits);
  checkNames(place);
  // The first one missing is named, in the order in which the service looks for them.
  const subject = readRequired(place, "subject");
  const id = readRequired(place, "id");
  const eventType = readRequired(place, "eventType");
  checkTime(place, readRequired(place, "eventTime"));
  checkTopic(place, reading);
  checkMetadataVersion(place);
  return { id, subject, eventType };
}

/** `topicStamp`: the topic's ARM id as JSON, made once for all events of the request. */
function writeEvent(place: Place, reading: Reading, topicStamp: string): Event {
  const raw = rawMembers(place.text, place.span);
  const dataVersion = readOptional(place, "dataVersion") ?? "";
  // Left out rather than made null when the publisher left it out: null is a value of its own.
  const data = place.value.data === undefined ? "" : `,"data":${raw.data}`;
  return {
    systemId: reading.systemId(),
    topic: reading.topic,
    publishedAt: reading.publishedAt,
    schema: "EventGridSchema",
    dataVersion,
    text:
      `{"id":${raw.id},"topic":${topicStamp},"subject":${raw.subject}${data}` +
      `,"eventType":${raw.eventType},"eventTime":${raw.eventTime}` +
      `,"dataVersion":${dataVersion === "" ? '""' : raw.dataVersion},"metadataVersion":"1"}`,
  };
}

interface RawMembers {
  id: string;
  subject: string;
  data: string;
  eventType: string;
  eventTime: string;
  dataVersion: string;
}

/**
 * The members of the schema as they were written. Others are dropped: the schema is not extensible,
 * and a subscriber who checks it would refuse what we pass on.
 */
function rawMembers(text: string, span: ObjectSpan): RawMembers {
  const raw = { id: "", subject: "", data: "", eventType: "", eventTime: "", dataVersion: "" };
  for (const { name, start, end } of span.members) {
    switch (name) {
      case "id":
      case "subject":
      case "data":
      case "eventType":
      case "eventTime":
      case "dataVersion":
        raw[name] = text.slice(start, end);
    }
  }
  return raw;
}

function checkSize({ text, span, index }: Place, { eventBytesMax }: PublishLimits): void {
  if (isLonger(text, span.start, span.end, eventBytesMax)) {
    throw refuseSize(`The event at index ${index}`, eventBytesMax);
  }
}

/** A name that stands twice means two things; whichever we took, someone would expect the other. */
function checkNames({ span, value, index }: Place): void {
  if (span.members.length === Object.keys(value).length) return;
  const seen = new Set<string>();
  for (const { name } of span.members) {
    if (seen.has(name)) throw refuseField(index, `${quoteName(name)} stands there more than once`);
    seen.add(name);
  }
}

type Name = "subject" | "id" | "eventType" | "eventTime" | "dataVersion";

function readRequired(place: Place, name: Name): string {
  const text = readOptional(place, name);
  if (text !== undefined) return text;
  throw new Refusal(
    "InputJsonInvalid",
    `This resource is configured for 'EventGridEvent' schema and requires '${name}' property to ` +
      `be set. Event at index ${place.index}: '${name}' is ${shapeOf(place.value[name])}.`,
  );
}

/** Null counts as not given, because clients write it for what they leave out. */
function readOptional({ value, index }: Place, name: Name): string | undefined {
  const text = value[name];
  if (typeof text === "string") return text;
  if (text === undefined || text === null) return undefined;
  throw refuseShape(index, `'${name}'`, "a string", text);
}

/** A foreign topic is answered like a key that does not open this one, as the service does. */
function checkTopic({ value, index }: Place, { topicArmId }: Reading): void {
  const { topic } = value;
  if (topic === undefined || topic === null || topic === topicArmId) return;
  throw new Refusal(
    "Unauthorized",
    `The event at index ${index} is not for this topic: 'topic' must be left out or be ` +
      `'${topicArmId}', and is ${shapeWithoutContent(topic)}.`,
  );
}

function checkMetadataVersion({ value, index }: Place): void {
  const { metadataVersion } = value;
  if (metadataVersion === undefined || metadataVersion === null || metadataVersion === "1") return;
  throw refuseShape(index, "'metadataVersion'", `left out or "1"`, metadataVersion);
}

/**
 * Date, time and zone as ISO 8601 writes them. Seconds may be missing and the zone may do without
 * its colon, because `date +%Y-%m-%dT%H:%M:%S%z`, the way of the service's own examples, does.
 */
const dateRule = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T/i;
const timeRule =
  /^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)$/i;

function checkTime({ index }: Place, text: string): void {
  if (dateRule.test(text) && timeRule.test(text.slice(11)) && isDay(text)) return;
  const wanted = "a date and time with a zone such as 2030-01-31T13:05:09Z";
  throw refuseShape(index, "'eventTime'", wanted, text);
}

/** Whether the month has such a day. */
function isDay(dateTime: string): boolean {
  const day = Number(dateTime.slice(8, 10));
  if (day <= 28) return true;
  const monthAfter = Date.UTC(Number(dateTime.slice(0, 4)), Number(dateTime.slice(5, 7)), 1);
  return day <= new Date(monthAfter - 1).getUTCDate();
}

/** Counts bytes only where the number of characters does not settle it. */
function isLonger(text: string, start: number, end: number, bytesMax: number): boolean {
  const length = end - start;
  if (length > bytesMax) return true;
  return length * 3 > bytesMax && countUtf8Bytes(text, start, end) > bytesMax;
}

function refuseShape(index: number, what: string, wanted: string, value: unknown): Refusal {
  return refuseField(index, `${what} must be ${wanted}, and is ${shapeWithoutContent(value)}`);
}

function refuseField(index: number, what: string): Refusal {
  return new Refusal(
    "InputJsonInvalid",
    "This resource is configured to receive event in 'EventGridEvent' schema. The JSON received " +
      `does not conform to the expected schema. Event at index ${index}: ${what}.`,
  );
}

/** A number in a setting may be shown; one in someone's event may not. */
function shapeWithoutContent(value: unknown): string {
  return typeof value === "number" ? "a number" : shapeOf(value);
}

/** Names of members are the publisher's, so a strange one is not repeated. */
function quoteName(name: string): string {
  return /^[\w$-]{1,64}$/.test(name) ? `'${name}'` : "a member's name";
}
