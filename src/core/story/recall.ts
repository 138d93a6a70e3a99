// Reads a stored event again: what filters saw of it when it was published. We wrote the stored
// text ourselves, so nothing is checked here.

import type { Event, EventFields } from "../event.ts";

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
