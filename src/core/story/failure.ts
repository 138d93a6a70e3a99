// Failures in the form of the service's diagnostic logs, for tools that read those: one record with
// a category, an operation and a flat list of values as its message. Imitates
// https://learn.microsoft.com/azure/event-grid/monitor-push-reference#schemas.
//
// *Differs:* what has no meaning here has the value that the service writes when it is not set;
// URLs have no query, which may contain a secret; for a refused publish its events are not
// described. Event bodies are never included.

import { explain } from "../delivery/retry.ts";
import type { DeliverySchema, Event } from "../event.ts";
import type { Instant } from "../ports.ts";
import { schemaNames } from "../schema/reading.ts";
import { endpointOf } from "../subscription.ts";
import { findMembers } from "../text/json.ts";
import { isoInstant } from "../text/time.ts";
import { type Topic, topicArmId } from "../topic.ts";
import type { AttemptedNote, EndedNote } from "./note.ts";

export interface FailureRecord {
  readonly time: string;
  /** In upper case, as the service writes it. */
  readonly resourceId: string;
  readonly eventSubscriptionName?: string;
  readonly category: "DeliveryFailures" | "PublishFailures";
  readonly operationName: "Deliver" | "Post";
  readonly message: string;
}

/** An attempt that failed, or an event that expired before its attempt was made. */
export function deliveryFailure(note: AttemptedNote | EndedNote, topic: Topic): FailureRecord {
  const { subscription, delivery } = note;
  const { event } = delivery;
  const isAttempt = note.kind === "attempted";
  const at = isAttempt ? note.endedAt : note.at;
  const facts = factsIn(event);
  const schema = schemaNames[event.schema];
  const deliveryTime = americanTime(isAttempt ? note.startedAt : note.at);
  return {
    time: isoInstant(at),
    resourceId: topicArmId(topic).toUpperCase(),
    eventSubscriptionName: subscription.name.toUpperCase(),
    category: "DeliveryFailures",
    operationName: "Deliver",
    message: listed([
      ["outcome", isAttempt ? note.outcomeName : "Aborted"],
      ["latencyInMs", isAttempt ? note.endedAt - note.startedAt : 0],
      ["id", facts.id],
      ["systemId", event.systemId],
      ["state", "FilteredFailingDelivery"],
      ["deliveryTime", deliveryTime],
      ["deliveryCount", isAttempt ? note.number - 1 : 0],
      ["probationCount", 0],
      ["deliverySchema", deliverySchemaNames[subscription.deliverySchema]],
      ["eventSubscriptionDeliverySchema", deliverySchemaNames[subscription.deliverySchema]],
      ["requestExpiration", americanTime(null)],
      ["delivered", "False"],
      ["publishTime", americanTime(event.publishedAt)],
      ["eventTime", americanTime(facts.time)],
      ["eventType", facts.type],
      ["filteringState", "FilteredWithRpc"],
      ["inputSchema", schema],
      ["publisher", topic.name.toUpperCase()],
      ["size", event.text.length],
      ["url", endpointOf(subscription.destination)],
      ["deliveryResponse", responseOf(note)],
    ]),
  };
}

export interface RefusedPublish {
  readonly at: Instant;
  /** Null: the topic is not known. */
  readonly topic: Topic | null;
  readonly code: string;
  readonly reason: string;
}

export function publishFailure({ at, topic, code, reason }: RefusedPublish): FailureRecord {
  const id = topic === null ? "" : topicArmId(topic);
  return {
    time: isoInstant(at),
    resourceId: id.toUpperCase(),
    category: "PublishFailures",
    operationName: "Post",
    message: listed([
      ["inputEventsCount", "null"],
      ["requestUri", topic === null ? "null" : `/topics/${topic.name}/api/events`],
      ["inputSchema", topic === null ? "null" : schemaNames[topic.inputSchema]],
      ["armResourceId", id === "" ? "null" : id],
      ["errorType", code],
      ["errorMessage", reason],
    ]),
  };
}

const deliverySchemaNames: Readonly<Record<DeliverySchema, string>> = {
  EventGridSchema: schemaNames.EventGridSchema,
  CloudEventSchemaV1_0: schemaNames.CloudEventSchemaV1_0,
  CustomInputSchema: schemaNames.CustomEventSchema,
};

/** A longer text could be a body. */
const valueCharsMax = 1_024;

function listed(pairs: readonly (readonly [string, string | number])[]): string {
  return pairs.map(([name, value]) => `${name}=${oneLine(String(value))}`).join(", ");
}

function oneLine(text: string): string {
  const plain = text.replace(/\s+/g, " ").trim();
  return plain.length <= valueCharsMax ? plain : `${plain.slice(0, valueCharsMax)}…`;
}

function responseOf(note: AttemptedNote | EndedNote): string {
  if (note.kind === "ended") return note.words;
  const { outcome, decision } = note;
  const saw =
    outcome.kind === "answered"
      ? `${outcome.status}: ${outcome.excerpt ?? outcome.detail ?? ""}`
      : `${outcome.why}: ${outcome.detail ?? ""}`;
  return `${saw.replace(/: $/, "")} (${explain(decision)})`;
}

interface EventFacts {
  readonly id: string;
  readonly type: string;
  readonly time: Instant | null;
}

/**
 * What the event says about itself, as its publisher wrote it or as the topic's mapping made it.
 */
function factsIn({ text, envelope }: Event): EventFacts {
  const source = envelope ?? text;
  const members = findMembers(source, 0)?.members ?? [];
  const textOf = (...names: readonly string[]) => {
    const member = members.find(({ name }) => names.includes(name));
    const raw = member === undefined ? "" : source.slice(member.start, member.end);
    return raw.startsWith('"') ? (JSON.parse(raw) as string) : "";
  };
  const time = Date.parse(textOf("eventTime", "time"));
  return {
    id: textOf("id"),
    type: textOf("eventType", "type"),
    time: Number.isNaN(time) ? null : time,
  };
}

/** As .NET writes an instant in the United States; null is its first. */
function americanTime(at: Instant | null): string {
  if (at === null) return "1/1/0001 12:00:00 AM";
  const time = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  const hour = time.getUTCHours();
  const date = `${time.getUTCMonth() + 1}/${time.getUTCDate()}/${time.getUTCFullYear()}`;
  const clock = `${hour % 12 || 12}:${two(time.getUTCMinutes())}:${two(time.getUTCSeconds())}`;
  return `${date} ${clock} ${hour < 12 ? "AM" : "PM"}`;
}
