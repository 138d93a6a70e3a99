// The custom schema: a publish of arbitrary JSON objects → events, each with an Event Grid envelope
// made by the topic's mapping. Imitates
// https://learn.microsoft.com/azure/event-grid/input-mappings.
//
// The object itself is kept as written and becomes the `data` of deliveries in another schema. The
// envelope is made here, once, with its generated values.

import type { Event, Published } from "../event.ts";
import { longInstant } from "../text/time.ts";
import {
  findMapped,
  type InputMapping,
  type MappedText,
  mappedText,
  needMapped,
  noMapping,
  refuseUnmapped,
} from "./mapping.ts";
import {
  armIdOf,
  type EventText,
  findEvents,
  parseText,
  quoteName,
  type Reading,
  readTime,
} from "./reading.ts";

const schema = "CustomEventSchema";

/** Refusals: InputJsonInvalid, PayloadTooLarge. */
export function readCustomEvents(text: string, reading: Reading): readonly Published[] {
  const { limits } = reading;
  const places = findEvents(text, parseText(text, limits), { schema, limits });
  const mapping = reading.mapping ?? noMapping;
  return places.map((place) => readEvent(place, reading, mapping));
}

function readEvent(place: EventText, reading: Reading, mapping: InputMapping): Published {
  const subject = needMapped(place, "subject", mapping.subject);
  const eventType = needMapped(place, "eventType", mapping.eventType);
  const dataVersion = needMapped(place, "dataVersion", mapping.dataVersion);
  const eventTime = findTime(place, mapping) ?? mappedText(longInstant(reading.publishedAt));
  const domainTopic = reading.isDomain ? domainTopicOf(place, mapping) : null;
  const id = findMapped(place, mapping.id) ?? mappedText(reading.systemId());
  const topic = armIdOf(reading, domainTopic);
  const event: Event = {
    systemId: reading.systemId(),
    topic: reading.topic,
    publishedAt: reading.publishedAt,
    schema,
    dataVersion: dataVersion.text,
    text: place.text.slice(place.span.start, place.span.end),
    envelope:
      `{"id":${id.json},"topic":${JSON.stringify(topic)},"subject":${subject.json}` +
      `,"eventType":${eventType.json},"eventTime":${eventTime.json}` +
      `,"dataVersion":${dataVersion.json},"metadataVersion":"1"}`,
    trace: reading.trace,
    hops: reading.hops,
  };
  const fields = {
    id: id.text,
    subject: subject.text,
    eventType: eventType.text,
    topic,
    dataVersion: dataVersion.text,
    schema,
    parsed: place.value,
  } as const;
  return { event, fields, domainTopic };
}

function findTime(place: EventText, { eventTime }: InputMapping): MappedText | undefined {
  const found = findMapped(place, eventTime);
  if (found === undefined) return undefined;
  const time = readTime(place, quoteName(eventTime.sourceField ?? ""), found.text);
  return time === found.text ? found : mappedText(time);
}

/** On a topic, the mapping of `topic` has no effect: the topic is stamped. */
function domainTopicOf(place: EventText, { topic }: InputMapping): string {
  const found = findMapped(place, topic);
  if (found === undefined || found.text === "") throw refuseUnmapped(place, "topic", topic);
  return found.text;
}
