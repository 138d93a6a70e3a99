// An event in the schema that its subscriber wants: its text, and the body and headers around it.
// Imitates https://learn.microsoft.com/azure/event-grid/event-schema and its neighbours.
//
// In its own schema an event is sent as stored, without parsing. Conversions assemble raw text, so
// that `data` arrives as published whatever the schema.

import type { DeliverySchema, Event, InputSchema } from "../event.ts";
import { findMembers } from "../text/json.ts";
import { isDateTime, toRfc3339 } from "./datetime.ts";

export interface Rendered {
  readonly text: string;
  /** `aeg-metadata-version`. */
  readonly metadataVersion: string;
  /** `aeg-data-version`; null when there is none, as with CloudEvents. */
  readonly dataVersion: string | null;
}

/** The schemas in which a topic's events may be delivered. The first is the default. */
export const deliverySchemasOf: Readonly<Record<InputSchema, readonly DeliverySchema[]>> = {
  EventGridSchema: ["EventGridSchema", "CloudEventSchemaV1_0"],
  // Conversion to the Event Grid schema was possible until 2020. It would lose extensions and
  // binary data.
  CloudEventSchemaV1_0: ["CloudEventSchemaV1_0"],
  CustomEventSchema: ["CustomInputSchema", "EventGridSchema", "CloudEventSchemaV1_0"],
};

export function isConversionAllowed(input: InputSchema, delivery: DeliverySchema): boolean {
  return deliverySchemasOf[input].includes(delivery);
}

export function defaultDeliverySchema(input: InputSchema): DeliverySchema {
  return deliverySchemasOf[input][0] as DeliverySchema;
}

/** Of events that were converted: most go to several subscriptions, at about the same time. */
const cloudEvents = new WeakMap<Event, string>();

export function renderEvent(event: Event, delivery: DeliverySchema): Rendered {
  if (delivery !== "CloudEventSchemaV1_0") {
    const { dataVersion } = event;
    return { text: convert(event, delivery), metadataVersion: "1", dataVersion };
  }
  let text = cloudEvents.get(event);
  if (text === undefined) {
    text = convert(event, delivery);
    if (text !== event.text) cloudEvents.set(event, text);
  }
  return { text, metadataVersion: "1.0", dataVersion: null };
}

/**
 * Subscriptions that ask for another conversion are refused when they are written. If such an event
 * still occurs, because its topic was replaced by one with another schema while it waited, it is
 * sent as published: anything else would lose a part of it.
 */
function convert({ schema, text, envelope }: Event, delivery: DeliverySchema): string {
  if (schema === "EventGridSchema" && delivery === "CloudEventSchemaV1_0") {
    return toCloudEvent(text);
  }
  if (envelope === null || delivery === "CustomInputSchema") return text;
  const whole = `${envelope.slice(0, -1)},"data":${text}}`;
  return delivery === "CloudEventSchemaV1_0" ? toCloudEvent(whole) : whole;
}

/**
 * Of an Event Grid event. An empty data version or subject is left out: CloudEvents have no empty
 * attributes.
 */
function toCloudEvent(text: string): string {
  const raw = new Map<string, string>();
  for (const { name, start, end } of findMembers(text, 0)?.members ?? []) {
    raw.set(name, text.slice(start, end));
  }
  const subject = raw.get("subject");
  const version = raw.get("dataVersion");
  return (
    `{"specversion":"1.0","id":${raw.get("id")},"source":${raw.get("topic")}` +
    (isEmpty(subject) ? "" : `,"subject":${subject}`) +
    `,"type":${raw.get("eventType")}${timeOf(raw.get("eventTime"))}` +
    (isEmpty(version) ? "" : `,"dataschema":"#${version?.slice(1)}`) +
    `,"data":${raw.get("data") ?? "null"}}`
  );
}

function isEmpty(json: string | undefined): boolean {
  return json === undefined || json === '""';
}

/** Stays as written if possible; what is not a time is left out, which CloudEvents allow. */
function timeOf(json: string | undefined): string {
  const time = json === undefined ? "" : (JSON.parse(json) as string);
  if (!isDateTime(time)) return "";
  const wanted = toRfc3339(time);
  return `,"time":${wanted === time ? json : JSON.stringify(wanted)}`;
}

/** `isBatched`: the subscription asks for batches, also when this one has a single event. */
export function contentTypeOf(delivery: DeliverySchema, isBatched: boolean): string {
  if (delivery !== "CloudEventSchemaV1_0") return "application/json; charset=utf-8";
  return isBatched
    ? "application/cloudevents-batch+json; charset=utf-8"
    : "application/cloudevents+json; charset=utf-8";
}

/**
 * The body in pieces, one after the other: an array, also of one event; only a CloudEvent that is
 * not batched is sent by itself.
 */
export function piecesOf(
  texts: readonly string[],
  delivery: DeliverySchema,
  isBatched: boolean,
): readonly string[] {
  if (delivery === "CloudEventSchemaV1_0" && !isBatched && texts.length === 1) return texts;
  if (texts.length === 1) return ["[", texts[0] as string, "]"];
  const pieces: string[] = [];
  for (const text of texts) pieces.push(pieces.length === 0 ? "[" : ",", text);
  pieces.push("]");
  return pieces;
}
