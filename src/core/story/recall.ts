// Reads a stored event again: what filters saw of it when it was published. We wrote the stored
// text ourselves, so nothing is checked here.

import type { Event, EventFields } from "../event.ts";
import { readTrace } from "../tracing/trace.ts";
import type { Entry } from "./chronicle.ts";

export type Recalled = Pick<Event, "schema" | "dataVersion" | "text" | "envelope">;

/** Refuses nothing: what is missing is empty. */
export function recallFields({ schema, dataVersion, text, envelope }: Recalled): EventFields {
  const parsed = objectIn(text);
  const outer = envelope === null ? parsed : objectIn(envelope);
  const isCloudEvent = schema === "CloudEventSchemaV1_0";
  return {
    id: textOf(outer.id),
    subject: textOf(outer.subject),
    eventType: textOf(isCloudEvent ? outer.type : outer.eventType),
    topic: textOf(isCloudEvent ? outer.source : outer.topic),
    dataVersion,
    schema,
    parsed,
  };
}

/** The event itself, as it was kept with its story; null: it was not. */
export function recallEvent(entry: Entry): Event | null {
  const { event: systemId, topic, acceptedAt: publishedAt, schema, dataVersion } = entry;
  const { text, envelope, traceparent } = entry;
  if (text === null) return null;
  const trace = readTrace(traceparent, null);
  return { systemId, topic, publishedAt, schema, dataVersion, text, envelope, trace, hops: 0 };
}

/** The domain topic in the resource id of events of the Event Grid schema, or null. */
export function domainTopicIn(armId: string): string | null {
  return /\/domains\/[^/]+\/topics\/([^/]+)$/i.exec(armId)?.[1] ?? null;
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(text);
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
