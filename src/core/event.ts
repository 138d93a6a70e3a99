// The event: our one inner form, whatever schema it arrived in.
//
// An event is kept as the text it will most often be sent as, so that a delivery is a copy and not
// a conversion, and so that the publisher's numbers, escapes and member order inside `data` arrive
// as they were written.

import type { Instant } from "./ports.ts";

export type InputSchema = "EventGridSchema" | "CloudEventSchemaV1_0" | "CustomEventSchema";

/** What a subscription wants its events as. */
export type DeliverySchema = "EventGridSchema" | "CloudEventSchemaV1_0" | "CustomInputSchema";

export interface Event {
  /** Our own id, unique per accepted event; sent as `aeg-output-event-id`. */
  readonly systemId: string;
  /** Name of the topic it was published to. */
  readonly topic: string;
  readonly publishedAt: Instant;
  readonly schema: InputSchema;
  /** Sent as `aeg-data-version`. */
  readonly dataVersion: string;
  /** The event as JSON text in its own schema, stamped with what the service adds. */
  readonly text: string;
}

/** What filters look at. It lives as long as one publish and is never stored. */
export interface EventFields {
  readonly id: string;
  readonly subject: string;
  readonly eventType: string;
}

/** An event that has been read and checked, and not yet routed. */
export interface Published {
  readonly event: Event;
  readonly fields: EventFields;
}
