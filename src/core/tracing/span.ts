// What is recorded of a publish and of an attempt, in the words of OpenTelemetry's conventions for
// messaging and HTTP (https://opentelemetry.io/docs/specs/semconv/messaging/). Neither the query of
// a URL nor anything of an event but its id is recorded.
//
// An attempt is a child of the publish it follows from, however much later it is made. A batch of
// events from several traces cannot be a child of all of them: it starts a trace of its own, linked
// to each.

import type { Delivery, Stage } from "../delivery/delivery.ts";
import type { Outcome } from "../delivery/outcome.ts";
import type { Instant } from "../ports.ts";
import { endpointOf, type Subscription } from "../subscription.ts";
import { isSameTrace, sharedTrace, type Trace } from "./trace.ts";

/** Records what happened as spans, if there is a collector. */
export interface Tracer {
  begin(span: SpanDraft): Span;
}

export interface SpanDraft {
  readonly name: string;
  /** `server`: a request to us; `client`: a request from us. */
  readonly kind: "server" | "client";
  readonly startedAt: Instant;
  /** Null: it starts a trace of its own. */
  readonly parent: Trace | null;
  /** Other spans it follows from. */
  readonly links: readonly Trace[];
  readonly attributes: SpanAttributes;
}

export type SpanAttributes = Readonly<Record<string, string | number>>;

export interface Span {
  /** For spans that follow from it. */
  readonly trace: Trace;
  /** Called once. `error`: an error name; null: none. */
  end(
    at: Instant,
    how: { readonly error: string | null; readonly attributes?: SpanAttributes },
  ): void;
}

/** As many as the exporters keep. */
const linksMax = 128;

/** The name that the conventions have for the service. */
const system = { "messaging.system": "eventgrid" };

export interface PublishSpan {
  /** Null if there is no such topic: clients may ask for any name. */
  readonly topic: string | null;
  readonly startedAt: Instant;
  readonly parent: Trace | null;
  readonly links: readonly Trace[];
}

export function publishSpan({ topic, startedAt, parent, links }: PublishSpan): SpanDraft {
  return {
    name: topic === null ? "publish" : `publish ${topic}`,
    kind: "server",
    ...{ startedAt, parent, links: distinct(links) },
    attributes: {
      ...system,
      "messaging.operation.name": "publish",
      "messaging.operation.type": "send",
      "http.request.method": "POST",
      ...(topic !== null && { "messaging.destination.name": topic }),
    },
  };
}

export interface AttemptSpan {
  readonly subscription: Subscription;
  readonly deliveries: readonly Delivery[];
  readonly stage: Stage;
  readonly startedAt: Instant;
}

export function attemptSpan(attempt: AttemptSpan): SpanDraft {
  const { subscription, deliveries, stage, startedAt } = attempt;
  const { topic, domainTopic, name } = subscription;
  const traces = deliveries.map(({ event }) => event.trace);
  const parent = sharedTrace(traces);
  const links = parent === null ? traces.filter((each) => each !== null) : [];
  const operation = stage === "deliver" ? "deliver" : "deadLetter";
  const [first] = deliveries;
  return {
    name: `${operation} ${topic}/${name}`,
    kind: "client",
    ...{ startedAt, parent, links: distinct(links) },
    attributes: {
      ...system,
      "messaging.operation.name": operation,
      "messaging.operation.type": "send",
      "messaging.destination.name": domainTopic === null ? topic : `${topic}/${domainTopic}`,
      "messaging.destination.subscription.name": name,
      "messaging.batch.message_count": deliveries.length,
      ...(deliveries.length === 1 && { "messaging.message.id": first?.event.systemId ?? "" }),
      "http.request.resend_count": first?.attempts ?? 0,
      ...(stage === "deliver" && addressIn(endpointOf(subscription.destination))),
    },
  };
}

/** What is known at the end of an attempt. */
export function attemptEnd(outcome: Outcome, name: string, isDelivered: boolean) {
  const attributes: SpanAttributes =
    outcome.kind === "answered" ? { "http.response.status_code": outcome.status } : {};
  return { error: isDelivered ? null : name, attributes };
}

function distinct(traces: readonly Trace[]): readonly Trace[] {
  const found: Trace[] = [];
  for (const trace of traces) {
    if (found.length >= linksMax) break;
    if (!found.some((known) => isSameTrace(known, trace))) found.push(trace);
  }
  return found;
}

function addressIn(endpoint: string): SpanAttributes {
  const [, scheme, host = "", port] =
    /^(https?):\/\/(\[[^\]]+\]|[^/:]+)(?::(\d+))?/.exec(endpoint) ?? [];
  if (scheme === undefined) return { "url.full": endpoint };
  return {
    "url.full": endpoint,
    "server.address": host,
    "server.port": port === undefined ? (scheme === "https" ? 443 : 80) : Number(port),
  };
}
