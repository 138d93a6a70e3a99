// The Event Grid schema: a publish as text → events, checked and stamped.
//
// Imitates https://learn.microsoft.com/azure/event-grid/event-schema. The stored text is assembled
// from the publisher's raw text, so nothing inside `data` changes.

import type { Published } from "../event.ts";
import { Refusal } from "../refusal.ts";
import type { ObjectSpan } from "../text/json.ts";
import {
  armIdOf,
  type EventText,
  findEvents,
  parseText,
  type Reading,
  readOptional,
  readRequired,
  readTime,
  refuseMissing,
  refuseShape,
  shapeWithoutContent,
} from "./reading.ts";

const schema = "EventGridSchema";

/** The last topic's ARM id as JSON: most requests are for the topic of the one before. */
let stamp = { armId: "", json: '""' };

/** Refusals: InputJsonInvalid, PayloadTooLarge, Unauthorized (an event names another topic). */
export function readEventGridEvents(text: string, reading: Reading): readonly Published[] {
  const { limits, topicArmId } = reading;
  const places = findEvents(text, parseText(text, limits), { schema, limits });
  if (stamp.armId !== topicArmId) stamp = { armId: topicArmId, json: JSON.stringify(topicArmId) };
  const topicStamp = stamp.json;
  return places.map((place) => readEvent(place, reading, topicStamp));
}

/** `topicStamp`: the topic's ARM id as JSON. */
function readEvent(place: EventText, reading: Reading, topicStamp: string): Published {
  // The first one missing is named, in the order in which the service looks for them.
  const subject = readRequired(place, "subject");
  const id = readNumbered(place, "id") ?? readRequired(place, "id");
  const eventType = readRequired(place, "eventType");
  const eventTime = readRequired(place, "eventTime");
  const time = reading.asModule ? eventTime : readTime(place, "'eventTime'", eventTime);
  const domainTopic = checkTopic(place, reading);
  checkMetadataVersion(place);
  const dataVersion =
    readNumbered(place, "dataVersion") ??
    (reading.asModule
      ? readRequired(place, "dataVersion")
      : (readOptional(place, "dataVersion") ?? ""));
  const topic = armIdOf(reading, domainTopic);
  const ownStamp = domainTopic === null ? topicStamp : JSON.stringify(topic);
  const raw = rawMembers(place.text, place.span);
  return {
    event: {
      systemId: reading.systemId(),
      topic: reading.topic,
      publishedAt: reading.publishedAt,
      schema,
      dataVersion,
      // Without data, null is written, because official clients refuse to read an event without
      // that member.
      text:
        `{"id":${asText(raw.id)},"topic":${ownStamp},"subject":${raw.subject},"data":${raw.data || "null"}` +
        `,"eventType":${raw.eventType},"eventTime":${time === eventTime ? raw.eventTime : JSON.stringify(time)}` +
        `,"dataVersion":${dataVersion === "" ? '""' : asText(raw.dataVersion)},"metadataVersion":"1"}`,
      envelope: null,
      trace: reading.trace,
      hops: reading.hops,
    },
    fields: { id, subject, eventType, topic, dataVersion, schema, parsed: place.value },
    domainTopic,
  };
}

/**
 * A number instead of a text, as scripts send it (`Get-Random` in the service's own examples):
 * accepted with its digits as written. Undefined for anything else.
 */
function readNumbered({ text, span, value }: EventText, name: string): string | undefined {
  if (typeof value[name] !== "number") return undefined;
  for (const member of span.members) {
    if (member.name === name) return text.slice(member.start, member.end);
  }
  return undefined;
}

/** The raw text of a member in quotes, which a number does not have. */
function asText(raw: string): string {
  return raw.startsWith('"') ? raw : `"${raw}"`;
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
 * The members of the schema as written. Others are dropped: the schema is not extensible, and a
 * subscriber that validates would refuse them.
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

/** The domain topic of an event; null outside of domains. */
function checkTopic(place: EventText, reading: Reading): string | null {
  if (reading.isDomain) {
    const name = readRequired(place, "topic");
    if (name === "") throw refuseMissing(place, "topic");
    return name;
  }
  const { topicArmId } = reading;
  const { topic } = place.value;
  if (topic === undefined || topic === null || topic === topicArmId) return null;
  // A foreign topic gets the same answer as a wrong key, as in the service.
  throw new Refusal(
    "Unauthorized",
    `The event at index ${place.index} is not for this topic: 'topic' must be left out or be ` +
      `'${topicArmId}', and is ${shapeWithoutContent(topic)}.`,
  );
}

function checkMetadataVersion(place: EventText): void {
  const { metadataVersion } = place.value;
  if (metadataVersion === undefined || metadataVersion === null || metadataVersion === "1") return;
  throw refuseShape(place, "'metadataVersion'", `left out or "1"`, metadataVersion);
}
