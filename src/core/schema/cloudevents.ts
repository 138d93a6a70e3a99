// CloudEvents 1.0 in JSON: a publish as text, of one event or of an array → events, checked.
// Follows spec.md and formats/json-format.md of https://github.com/cloudevents/spec, version 1.0.2.
//
// An event is kept exactly as its publisher wrote it, `source` included. Only attributes that are
// null, which means not set, are left out.

import type { Published } from "../event.ts";
import type { Refusal } from "../refusal.ts";
import { readTrace, type Trace } from "../tracing/trace.ts";
import { isRfc3339 } from "./datetime.ts";
import { findMapped, refuseUnmapped } from "./mapping.ts";
import {
  type EventText,
  findEvents,
  parseText,
  quoteName,
  type Reading,
  readOptional,
  refuseField,
  refuseForm,
  refuseMissing,
  refuseShape,
} from "./reading.ts";

const schema = "CloudEventSchemaV1_0";

/** Refusals: InputJsonInvalid, PayloadTooLarge. */
export function readCloudEvents(
  text: string,
  form: "single" | "batch",
  reading: Reading,
): readonly Published[] {
  const { limits } = reading;
  const parsed = parseText(text, limits);
  if (form === "single" && Array.isArray(parsed)) throw refuseToken("StartObject", "StartArray");
  const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
  if (form === "batch" && isObject) throw refuseToken("StartArray", "StartObject");
  const places = findEvents(text, parsed, { schema, limits });
  return places.map((place) => readEvent(place, reading));
}

/** In the service's own wording. */
function refuseToken(expected: string, received: string): Refusal {
  return refuseForm(schema, `Token Expected: ${expected}, Actual Token Received: ${received}.`);
}

function readEvent(place: EventText, reading: Reading): Published {
  // The first one missing is named, in the order and by the names of the service.
  const version = readSet(place, "specversion");
  if (version !== "1.0") throw refuseShape(place, "'specversion'", `"1.0"`, version);
  const eventType = readSet(place, "type", "eventType");
  const source = readSet(place, "source");
  const id = readSet(place, "id");
  checkMembers(place);
  checkContent(place);
  const subject = readOptional(place, "subject") ?? "";
  return {
    event: {
      systemId: reading.systemId(),
      topic: reading.topic,
      publishedAt: reading.publishedAt,
      schema,
      dataVersion: "",
      text: writeEvent(place),
      envelope: null,
      trace: reading.trace ?? ownTrace(place),
      hops: reading.hops,
    },
    fields: { id, subject, eventType, topic: source, dataVersion: "", schema, parsed: place.value },
    domainTopic: reading.isDomain ? domainTopicOf(place, reading, source) : null,
  };
}

/**
 * From the distributed tracing extension. It says where the event began, and the request's headers
 * say where it comes from: so the headers win, and the event keeps its attributes either way.
 */
function ownTrace({ value }: EventText): Trace | null {
  return value.traceparent === undefined ? null : readTrace(value.traceparent, value.tracestate);
}

/** What the specification requires to be there and not empty. */
function readSet(place: EventText, name: string, calledAs = name): string {
  const text = readOptional(place, name);
  if (text === undefined || text === "") throw refuseMissing(place, name, calledAs);
  return text;
}

/** The length of a name is not limited; the specification recommends twenty. */
const attributeNameRule = /^[a-z0-9]+$/;

function checkMembers(place: EventText): void {
  for (const { name } of place.span.members) {
    switch (name) {
      case "data":
      case "data_base64":
        break;
      case "time": {
        const time = readOptional(place, name);
        if (time === undefined || isRfc3339(time)) break;
        throw refuseShape(place, "'time'", "an RFC 3339 time such as 2030-01-31T13:05:09Z", time);
      }
      case "subject":
      case "dataschema":
      case "datacontenttype":
        readOptional(place, name);
        break;
      default:
        checkExtension(place, name);
    }
  }
}

/** What has been checked already passes here too: it is a string. */
function checkExtension(place: EventText, name: string): void {
  if (!attributeNameRule.test(name)) {
    throw refuseField(
      place,
      `${quoteName(name)} must be a name of lower-case letters and digits, as attributes have`,
    );
  }
  const value = place.value[name];
  if (typeof value !== "object" || value === null) return;
  throw refuseShape(place, `'${name}'`, "a string, a number or a boolean", value);
}

function checkContent(place: EventText): void {
  const { data } = place.value;
  const base64 = readOptional(place, "data_base64");
  if (base64 === undefined) return;
  if (data !== undefined && data !== null) {
    throw refuseField(place, "'data' and 'data_base64' must not both be there");
  }
  if (!isBase64(base64)) throw refuseShape(place, "'data_base64'", "base64", base64);
}

function isBase64(text: string): boolean {
  const digits = text.replace(/={1,2}$/, "");
  return text.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(digits);
}

function writeEvent({ text, span, value }: EventText): string {
  const isSet = (name: string) =>
    value[name] !== null || (name === "data" && typeof value.data_base64 !== "string");
  if (span.members.every(({ name }) => isSet(name))) return text.slice(span.start, span.end);
  const kept = span.members.filter(({ name }) => isSet(name));
  return `{${kept.map(({ name, start, end }) => `"${name}":${text.slice(start, end)}`).join()}}`;
}

function domainTopicOf(place: EventText, { mapping }: Reading, source: string): string {
  if (mapping === null || mapping.topic.sourceField === null) return source;
  const mapped = findMapped(place, mapping.topic);
  if (mapped === undefined || mapped.text === "") {
    throw refuseUnmapped(place, "topic", mapping.topic);
  }
  return mapped.text;
}
