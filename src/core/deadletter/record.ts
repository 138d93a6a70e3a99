// The record of an undeliverable event, exactly as Event Grid writes it, and the blob it goes into.
// Imitates https://learn.microsoft.com/azure/event-grid/manage-event-delivery#dead-lettered-events.
//
// A record is the event as its subscriber would have got it, with the dead-letter members added to
// its own (L-6, L-7). An event of a custom schema is wrapped, because its own members may have any
// name (L-8). The publisher's part is raw text, as in a delivery.
//
// *Differs:* our times have milliseconds; the digits that the service has beyond them are zeros.

import type { Delivery } from "../delivery/delivery.ts";
import type { Parcel } from "../delivery/sink.ts";
import type { DeliverySchema, Event } from "../event.ts";
import type { Instant } from "../ports.ts";
import { isHandOut } from "../pull/pull-rules.ts";
import { renderEvent } from "../schema/convert.ts";
import { findMembers } from "../text/json.ts";
import { longInstant } from "../text/time.ts";
import { splitTopicName } from "../topic.ts";

/** What a record says about a delivery. */
export type GivenUp = Pick<Delivery, "event" | "last" | "reason">;

/** It expired before it was sent: the service's word for a destination under delayed delivery. */
const neverSent = "Probation";

const remarkNames = [
  "deadLetterReason",
  "deliveryAttempts",
  "lastDeliveryOutcome",
  "lastHttpStatusCode",
  "publishTime",
  "lastDeliveryAttemptTime",
].flatMap((name) => [name, name.toLowerCase()]);

/** A member of the record: its name, and its value as JSON. */
type Remark = readonly [name: string, json: string];

/** The record of one event, as JSON. */
export function deadLetterOf(givenUp: GivenUp, schema: DeliverySchema): string {
  const { event } = givenUp;
  const remarks = remarksOn(givenUp);
  const isCloudEvent = schema === "CloudEventSchemaV1_0" || event.schema === "CloudEventSchemaV1_0";
  if (isCloudEvent) {
    const lower = remarks.map(([name, json]): Remark => [name.toLowerCase(), json]);
    return remarked(renderEvent(event, "CloudEventSchemaV1_0").text, lower);
  }
  return event.envelope === null ? remarked(event.text, remarks) : wrapped(event, remarks);
}

/** What a blob holds: the records of a parcel, as a JSON array. */
export function deadLettersOf({ subscription, deliveries }: Parcel): string {
  const isInNamespace = splitTopicName(subscription.topic).namespace !== null;
  const records = deliveries.map((delivery) =>
    isInNamespace
      ? namespaceLetterOf(delivery, subscription)
      : deadLetterOf(delivery, subscription.deliverySchema),
  );
  return `[${records.join(",")}]`;
}

/**
 * In the container; the hour is that of the write, in UTC, and no number has leading zeros. Names
 * are in upper case, except in a namespace, whose own and whose topic's stand before (N-51).
 */
export function deadLetterPath(blob: {
  readonly topic: string;
  readonly subscription: string;
  readonly at: Instant;
  readonly id: string;
}): string {
  const at = new Date(blob.at);
  const day = `${at.getUTCFullYear()}/${at.getUTCMonth() + 1}/${at.getUTCDate()}`;
  const isInNamespace = splitTopicName(blob.topic).namespace !== null;
  const name = isInNamespace
    ? `${blob.topic}/${blob.subscription}`
    : blob.subscription.toUpperCase();
  return `${name}/${day}/${at.getUTCHours()}/${blob.id}.json`;
}

/** N-50. The service's wording for the last two is not known. */
const namespaceReasons: Readonly<Record<string, string>> = {
  MaxDeliveryAttemptsExceeded: "Maximum delivery attempts was exceeded.",
  Rejected: "Event was rejected.",
  TimeToLiveExceeded: "Event time to live has expired.",
};

/** N-52: the remarks and the event beside one another. */
function namespaceLetterOf(
  { event, last, reason }: GivenUp,
  { destination, headers }: Parcel["subscription"],
): string {
  const isFetched = destination.kind === "pull";
  const outcome = last?.outcome ?? (isFetched ? "None" : neverSent);
  const isForgotten = last !== null && isHandOut(last);
  const remarks: Remark[] = [
    [
      "deadletterreason",
      JSON.stringify(namespaceReasons[reason ?? ""] ?? "Undeliverable due to client error"),
    ],
    ["deliveryattempts", String(last?.number ?? 0)],
    [
      "deliveryresult",
      JSON.stringify(isForgotten ? "Event was not acknowledged nor rejected." : outcome),
    ],
    ["publishutc", jsonTime(event.publishedAt)],
    ...(last === null ? [] : ([["deliveryattemptutc", jsonTime(last.at)]] as const)),
  ];
  // Values that come from the event are in it; secrets are left out.
  const shown = headers.flatMap((header): Remark[] =>
    header.kind === "static" && !header.isSecret
      ? [[header.name, JSON.stringify(header.value)]]
      : [],
  );
  const members: Remark[] = [
    ["deadLetterProperties", `{${joined(remarks)}}`],
    ...(shown.length === 0 ? [] : [["customDeliveryProperties", `{${joined(shown)}}`] as const]),
    ["event", event.text],
  ];
  return `{${joined(members)}}`;
}

function remarksOn({ event, last, reason }: GivenUp): readonly Remark[] {
  const status = last?.status ?? null;
  return [
    ["deadLetterReason", JSON.stringify(reason)],
    ["deliveryAttempts", String(last?.number ?? 0)],
    ["lastDeliveryOutcome", JSON.stringify(last?.outcome ?? neverSent)],
    ...(status === null ? [] : ([["lastHttpStatusCode", String(status)]] as const)),
    ["publishTime", jsonTime(event.publishedAt)],
    ...(last === null ? [] : ([["lastDeliveryAttemptTime", jsonTime(last.at)]] as const)),
  ];
}

function jsonTime(at: Instant): string {
  return `"${longInstant(at)}"`;
}

function joined(members: readonly Remark[]): string {
  return members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",");
}

/** `text`: an object that has members. */
function remarked(text: string, remarks: readonly Remark[]): string {
  return `${withoutRemarks(text).slice(0, -1)},${joined(remarks)}}`;
}

/**
 * When someone publishes a dead letter again and that one is undeliverable too, the event has
 * dead-letter members already: a CloudEvent keeps them as extensions, and no name may occur twice.
 */
function withoutRemarks(text: string): string {
  const members = findMembers(text, 0)?.members ?? [];
  const kept = members.filter(({ name }) => !remarkNames.includes(name));
  if (kept.length === members.length) return text;
  return `{${joined(kept.map(({ name, start, end }) => [name, text.slice(start, end)]))}}`;
}

/** The members of the envelope in the order of the service's example, the original last (L-8). */
const envelopeOrder = [
  "id",
  "eventTime",
  "eventType",
  "dataVersion",
  "metadataVersion",
  "topic",
  "subject",
];

function wrapped({ envelope, text }: Event, remarks: readonly Remark[]): string {
  const outer = envelope ?? "{}";
  const raw = new Map<string, string>();
  for (const { name, start, end } of findMembers(outer, 0)?.members ?? []) {
    raw.set(name, outer.slice(start, end));
  }
  const members = envelopeOrder.map((name): Remark => [name, raw.get(name) ?? "null"]);
  return `{${joined([...members, ...remarks, ["data", text]])}}`;
}
