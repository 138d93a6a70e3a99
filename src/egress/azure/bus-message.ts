// What goes to Service Bus and Event Hubs, and what comes back: an event as a single object in the
// delivery schema, with a webhook's headers as application properties (C-1); and their clients'
// errors, as the outcome of the same case over HTTP. Pure functions.

import type { Delivery } from "../../core/delivery/delivery.ts";
import type { Outcome } from "../../core/delivery/outcome.ts";
import type { Parcel } from "../../core/delivery/sink.ts";
import { contentTypeOf, renderEvent } from "../../core/schema/convert.ts";
import { traceFields } from "../../core/tracing/trace.ts";
import { silent } from "../http/exchange.ts";
import { gridFields, ownFields, silenceOf, wordsOf } from "../http/message.ts";
import { isNoToken } from "./client.ts";

/** An event for a bus, independent of which bus. */
export interface Load {
  readonly body: Buffer;
  readonly contentType: string;
  /** The same with every attempt. */
  readonly id: string;
  readonly properties: Record<string, string>;
  /** Those of the subscription's own headers that have a meaning for the bus, by name. */
  readonly known: ReadonlyMap<string, string>;
}

/**
 * `meant` are the names that have a meaning for the bus, in lower case.
 *
 * *Differs:* whether an event hub gets an object or an array of one is not documented; it is an
 * object here, as for Service Bus. Values of properties are always strings.
 */
export function loadsOf(
  { subscription, deliveries, trace }: Parcel,
  meant: readonly string[],
): readonly Load[] {
  const { deliverySchema, headers } = subscription;
  return deliveries.map((delivery: Delivery) => {
    const rendered = renderEvent(delivery.event, deliverySchema);
    const own = ownFields(headers, delivery.event.text).map(
      ([name, value]) => [name, bounded(value)] as const,
    );
    const isMeant = ([name]: readonly [string, string]) => meant.includes(name.toLowerCase());
    return {
      body: Buffer.from(rendered.text),
      contentType: contentTypeOf(deliverySchema, false),
      id: delivery.event.systemId,
      properties: {
        ...traceFields(trace),
        ...Object.fromEntries(own.filter((field) => !isMeant(field))),
        ...gridFields(subscription, delivery, { rendered, say: bounded }),
      },
      known: new Map(
        own.filter(isMeant).map(([name, value]) => [name.toLowerCase(), value] as const),
      ),
    };
  });
}

/** C-1: the event may have anything at the path. */
const valueBytesMax = 4_096;

function bounded(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= valueBytesMax) return text;
  // A character cut in two at the end is left out.
  return new TextDecoder().decode(bytes.subarray(0, valueBytesMax), { stream: true });
}

/** A successful send is a success under every profile (P-1): clients report no status. */
export const taken: Outcome = { kind: "answered", status: 200 };

/** Cases after which the service waits five minutes. Ours get a status with the same wait. */
const restMs = 300_000;

export type Meaning = Omit<Extract<Outcome, { kind: "answered" }>, "kind">;

const notFound: Meaning = { status: 404 };
const unauthorized: Meaning = { status: 401 };
const tooLarge: Meaning = { status: 413 };
const busy: Meaning = { status: 503 };
const disabled: Meaning = { status: 503, name: "Disabled", retryAfterMs: restMs };
const full: Meaning = { status: 503, name: "Full", retryAfterMs: restMs };
const badRequest: Meaning = { status: 400 };

/** By the codes of `ServiceBusError` and of `MessagingError`, from which the former is made. */
const meanings: Readonly<Record<string, Meaning>> = {
  MessagingEntityNotFound: notFound,
  MessagingEntityNotFoundError: notFound,
  UnauthorizedAccess: unauthorized,
  UnauthorizedError: unauthorized,
  PublisherRevokedError: unauthorized,
  MessageSizeExceeded: tooLarge,
  MessageTooLargeError: tooLarge,
  ServiceBusy: busy,
  ServerBusyError: busy,
  MessagingEntityDisabled: disabled,
  MessagingEntityDisabledError: disabled,
  QuotaExceeded: full,
  QuotaExceededError: full,
  ArgumentError: badRequest,
  ArgumentOutOfRangeError: badRequest,
  InvalidOperationError: badRequest,
  InvalidFieldError: badRequest,
  DecodeError: badRequest,
  NotImplementedError: badRequest,
  PreconditionFailedError: badRequest,
  InternalServerError: { status: 500 },
};

/** Of brokers that are not Azure's, by AMQP's own conditions. */
const conditions: Readonly<Record<string, Meaning>> = {
  "amqp:not-found": notFound,
  "amqp:unauthorized-access": unauthorized,
  "amqp:not-allowed": { status: 403 },
  "amqp:link:message-size-exceeded": tooLarge,
  "amqp:resource-limit-exceeded": full,
  "amqp:resource-locked": busy,
  "amqp:resource-deleted": notFound,
  "amqp:internal-error": { status: 500 },
  "amqp:connection:forced": busy,
};

/** Anything else is a message that the broker does not take. */
export function busMeaning(condition: string): Meaning {
  return conditions[condition] ?? badRequest;
}

/** Both the bus's own timeout, and the client's. */
const timeouts = ["ServiceTimeout", "ServiceUnavailableError", "OperationTimeoutError"];

export function busOutcome(error: Error): Outcome {
  const code = codeOf(error);
  if (timeouts.includes(code)) return silent("timeout", code);
  const meaning = meanings[code] ?? meaningOf(error, code);
  if (meaning === null) return silent(silenceOf(systemError(error, code)), wordsOf(error));
  const isSession = meaning === badRequest && /\bsession/i.test(error.message);
  return {
    kind: "answered",
    ...meaning,
    ...(isSession && { name: "SessionQueueNotSupported" }),
    detail: code || error.name,
  };
}

function meaningOf(error: Error, code: string): Meaning | null {
  if (isNoToken(error)) return unauthorized;
  // What the client itself refuses to send: for example a partition key that is too long.
  if (error instanceof TypeError || error instanceof RangeError) return badRequest;
  // Its name for not found, unless the system could not resolve the host.
  const isAbsent = /^ServiceCommunication(Problem|Error)$/.test(code) && !("syscall" in error);
  return isAbsent ? notFound : null;
}

/** A general error of Service Bus begins with the code; several have that of the first. */
function codeOf(error: Error & { readonly code?: unknown }): string {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) {
    return codeOf(error.errors[0]);
  }
  const code = typeof error.code === "string" ? error.code : "";
  return code === "GeneralError" ? (/^(\w+): /.exec(error.message)?.[1] ?? "") : code;
}

function systemError(error: Error, code: string): Error {
  return Object.assign(new Error(error.message), { code });
}
