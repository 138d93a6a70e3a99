// The event: one internal form, whatever schema it arrived in.
//
// An event is kept as the text it will most often be sent as, so that a delivery usually needs no
// conversion, and so that the publisher's numbers, escapes and member order inside `data` arrive as
// written.

import type { Instant } from "./ports.ts";
import type { Trace } from "./tracing/trace.ts";

export type InputSchema = "EventGridSchema" | "CloudEventSchemaV1_0" | "CustomEventSchema";

/** The schema a subscription wants its events in. */
export type DeliverySchema = "EventGridSchema" | "CloudEventSchemaV1_0" | "CustomInputSchema";

export interface Event {
  /** Our own id, unique per accepted event; sent as `aeg-output-event-id`. */
  readonly systemId: string;
  /** Name of the topic or domain it was published to. */
  readonly topic: string;
  readonly publishedAt: Instant;
  readonly schema: InputSchema;
  /** Sent as `aeg-data-version`; empty for CloudEvents, which have none. */
  readonly dataVersion: string;
  /** The event as JSON text in its own schema, stamped with what the service adds. */
  readonly text: string;
  /**
   * Only for the custom schema: what the topic's mapping made of the event, as JSON text of an
   * Event Grid event without `data`. Made once, so that a generated id is the same for all
   * subscriptions and attempts.
   */
  readonly envelope: string | null;
  /** The trace context it was published with, which is sent with every attempt. */
  readonly trace: Trace | null;
  /** How often brokers had passed it on before it was published here (routing/hops.ts). */
  readonly hops: number;
}

/** What filters look at. It exists only during one publish and is never stored. */
export interface EventFields {
  readonly id: string;
  readonly subject: string;
  readonly eventType: string;
  /** ARM id of the topic or domain topic; of a CloudEvent its source. */
  readonly topic: string;
  readonly dataVersion: string;
  readonly schema: InputSchema;
  /** The event as its publisher wrote it, parsed. Names are theirs: `__proto__` may be one. */
  readonly parsed: Readonly<Record<string, unknown>>;
}

/** An event that has been read and checked, and not yet routed. */
export interface Published {
  readonly event: Event;
  readonly fields: EventFields;
  /** Which topic of the domain it is for; null when it was published to a topic. */
  readonly domainTopic: string | null;
}
