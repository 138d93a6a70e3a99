// The request to a webhook, and how its answer is read: pure functions that accept anything a
// publisher may write and an endpoint may answer.

import type { Silence } from "../../core/delivery/outcome.ts";
import type { Delivery, Instant, Parcel } from "../../core/ports.ts";
import { hopsHeader, isPublishPath } from "../../core/routing/hops.ts";
import { bodyOf, contentTypeOf, type Rendered, renderEvent } from "../../core/schema/convert.ts";
import { findField } from "../../core/schema/mapping.ts";
import type { DeliveryHeader, Forward, WebHookDestination } from "../../core/subscription.ts";
import { joinHeaders } from "../../core/text/header-names.ts";
import { findMembers } from "../../core/text/json.ts";
import { traceFields } from "../../core/tracing/trace.ts";
import { forwardHeaders, withTopic } from "./forward.ts";

export interface Target {
  readonly origin: string;
  /** With the query, which is sent with every request. */
  readonly path: string;
  /** Both together. */
  readonly url: string;
}

export interface Post {
  readonly method: "POST";
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Event Grid's limit for custom headers; a data version may be as long as an event. */
const headerCharsMax = 4_096;

/** Null if it is not an http(s) URL. Such are refused when written, but the sink never throws. */
export function targetOf(destination: WebHookDestination): Target | null {
  const url = URL.parse(destination.url);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  const { origin, pathname, search } = url;
  const path = pathname + search;
  return { origin, path, url: origin + path };
}

/**
 * In the subscription's schema, with its own headers (C-1). Headers about one event are those of
 * the first. The service sends no `Accept`.
 */
export function postOf(
  { subscription, deliveries, trace }: Parcel,
  path: string,
  more: Readonly<Record<string, string>> = {},
): Post {
  const { deliverySchema, batch } = subscription;
  const isBatched = batch !== null && batch.maxEvents > 1;
  const [first] = deliveries as readonly [Delivery, ...Delivery[]];
  const rendered = deliveries.map(({ event }) => renderEvent(event, deliverySchema));
  const forward = forwardIn(subscription);
  const isStamped = forward !== undefined && deliverySchema === "EventGridSchema";
  const texts = rendered.map(({ text }) => (isStamped ? withTopic(text, forward) : text));
  return {
    method: "POST",
    path,
    headers: joinHeaders(
      {
        "content-type": contentTypeOf(deliverySchema, isBatched),
        "user-agent": "posthorn",
        ...traceFields(trace),
        ...(isPublishPath(path) && { [hopsHeader]: hopsOf(deliveries) }),
      },
      ownHeaders(subscription.headers, first.event.text),
      forward === undefined
        ? gridFields(subscription, first, { rendered: rendered[0] as Rendered, say: headerText })
        : forwardHeaders(forward),
      more,
    ),
    body: bodyOf(texts, deliverySchema, isBatched),
  };
}

/** Of the batch, one more than its farthest event has had. */
function hopsOf(deliveries: readonly Delivery[]): string {
  return String(Math.max(...deliveries.map(({ event }) => event.hops)) + 1);
}

function forwardIn({ destination }: Parcel["subscription"]): Forward | undefined {
  return destination.kind === "webhook" ? destination.forward : undefined;
}

/**
 * The service's metadata of an event, for every kind of destination except queues. `say` makes a
 * publisher's text safe.
 */
export function gridFields(
  { name }: Parcel["subscription"],
  { attempts, event }: Delivery,
  { rendered, say }: { readonly rendered: Rendered; readonly say: (text: string) => string },
): Record<string, string> {
  const { metadataVersion, dataVersion } = rendered;
  return {
    "aeg-event-type": "Notification",
    "aeg-subscription-name": name.toUpperCase(),
    "aeg-delivery-count": String(attempts),
    "aeg-metadata-version": metadataVersion,
    ...(dataVersion === null ? {} : { "aeg-data-version": say(dataVersion) }),
    "aeg-output-event-id": say(event.systemId),
  };
}

/** The subscription's own headers with their values, without those that the event does not have. */
export function ownFields(
  headers: readonly DeliveryHeader[],
  text: string,
): (readonly [name: string, value: string])[] {
  return headers.flatMap((header) => {
    const value = header.kind === "static" ? header.value : valueAt(text, header.sourceField);
    return value === null ? [] : [[header.name, value] as const];
  });
}

function ownHeaders(headers: readonly DeliveryHeader[], text: string): Record<string, string> {
  const own: Record<string, string> = {};
  for (const [name, value] of ownFields(headers, text)) own[name] = headerText(value);
  return own;
}

/**
 * The value at the path in the published event; null if it is missing, null, or not a single value:
 * then the header is left out.
 */
function valueAt(text: string, path: string): string | null {
  const span = findMembers(text, 0);
  const member = span && findField(text, span, path);
  if (!member) return null;
  const raw = text.slice(member.start, member.end);
  if (raw.startsWith('"')) return JSON.parse(raw) as string;
  return raw === "null" || /^[[{]/.test(raw) ? null : raw;
}

/**
 * A publisher's text as a header's value. What is not printable ASCII, line ends above all, is
 * percent-encoded as UTF-8: no text can break the request or smuggle a header into it.
 */
export function headerText(text: string): string {
  const bounded = text.length > headerCharsMax ? text.slice(0, headerCharsMax) : text;
  if (!/[^ -~]/.test(bounded)) return bounded;
  const encoded = bounded.toWellFormed().replace(/[^ -~]+/g, encodeURIComponent);
  if (encoded.length <= headerCharsMax) return encoded;
  // Never inside an escape, nor between those of one character: what is left can be decoded.
  const cut = encoded.slice(0, headerCharsMax).replace(/%[0-9A-F]?$/, "");
  return cut.replace(unfinishedEscapes, "");
}

/** Escapes at the end that begin a character of UTF-8 and do not finish it. */
const unfinishedEscapes =
  /(?:%[CD][0-9A-F]|%E[0-9A-F](?:%[89AB][0-9A-F])?|%F[0-7](?:%[89AB][0-9A-F]){0,2})$/;

/** By the codes of Node and OpenSSL. Everything else is a connection failure. */
export function silenceOf(error: Error): Silence {
  const code = codeOf(error);
  if (/^(ENOTFOUND|ENODATA|EAI_\w+)$/.test(code)) return "dns";
  const isTls = /CERT|^CRL_|^ERR_(SSL|TLS)|^EPROTO$|^UNABLE_TO_|^HOSTNAME_|^INVALID_(CA|PURPOSE)$/;
  return isTls.test(code) ? "tls" : "connection";
}

/** Several addresses that failed together have a code but no message. */
export function wordsOf(error: Error): string {
  return error.message || codeOf(error) || error.name;
}

function codeOf(error: Error): string {
  return "code" in error ? String(error.code) : "";
}

/** The first bytes of an answer as text. A character cut in two at the end is left out. */
export function excerptOf(answer: readonly Buffer[], bytesMax: number): string {
  if (answer.length === 0) return "";
  const bytes = Buffer.concat(answer).subarray(0, bytesMax);
  return new TextDecoder().decode(bytes, { stream: bytes.length === bytesMax });
}

// Retry-After, as an endpoint may send it with any answer: a number of seconds, or an HTTP date. An
// invalid value is ignored. The two obsolete date formats are not supported: nobody has sent them
// for decades, and one of them has no zone.

const secondsForm = /^\d{1,9}$/;
const dateForm = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** In milliseconds from now; a past date means at once. */
export function readRetryAfter(value: string, now: Instant): number | undefined {
  const text = value.trim();
  if (secondsForm.test(text)) return Number(text) * 1_000;
  const at = dateForm.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
