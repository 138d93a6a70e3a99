// The request to a webhook, and how its answer is read: pure functions that accept anything a
// publisher may write and an endpoint may answer.

import type { Delivery } from "../../core/delivery/delivery.ts";
import type { Silence } from "../../core/delivery/outcome.ts";
import type { Parcel } from "../../core/delivery/sink.ts";
import type { Instant } from "../../core/ports.ts";
import { hopsHeader, isPublishPath } from "../../core/routing/hops.ts";
import { contentTypeOf, piecesOf, type Rendered, renderEvent } from "../../core/schema/convert.ts";
import { findField } from "../../core/schema/mapping.ts";
import type { DeliveryHeader, Forward, WebHookDestination } from "../../core/subscription.ts";
import { joinHeaders } from "../../core/text/header-names.ts";
import { findMembers } from "../../core/text/json.ts";
import { splitTopicName } from "../../core/topic.ts";
import { traceFields } from "../../core/tracing/trace.ts";
import { linesOf, type Message } from "./connection.ts";
import { forwardHeaders, withTopic } from "./forward.ts";

export interface Target {
  readonly origin: string;
  /** With the query, which is sent with every request. */
  readonly path: string;
  /** Both together. */
  readonly url: string;
}

export interface Post extends Message {
  readonly method: "POST";
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
  parcel: Parcel,
  path: string,
  more?: Readonly<Record<string, string>>,
): Post {
  const { subscription, deliveries, trace } = parcel;
  const { deliverySchema } = subscription;
  const forward = forwardIn(subscription);
  const isStamped = forward !== undefined && deliverySchema === "EventGridSchema";
  const [{ event }] = deliveries as readonly [Delivery, ...Delivery[]];
  const first = renderEvent(event, deliverySchema);
  const texts = deliveries.map((delivery, index) => {
    const { text } = index === 0 ? first : renderEvent(delivery.event, deliverySchema);
    return isStamped ? withTopic(text, forward) : text;
  });
  const pieces = piecesOf(texts, deliverySchema, isBatched(subscription));
  const isPlain = !trace && forward === undefined && more === undefined;
  if (isPlain && subscription.headers.length === 0 && !isPublishPath(path)) {
    return new PlainPost(parcel, path, first, pieces);
  }
  const headers = headersOf(parcel, path, first, more);
  return { method: "POST", path, headers, body: pieces.join("") };
}

/** Whose headers and body are wanted as they are sent, and seldom as a record and one text. */
class PlainPost implements Post {
  readonly method = "POST";
  readonly path: string;
  readonly pieces: readonly string[];
  readonly lines: string;
  readonly #parcel: Parcel;
  readonly #rendered: Rendered;

  constructor(parcel: Parcel, path: string, rendered: Rendered, pieces: readonly string[]) {
    this.path = path;
    this.pieces = pieces;
    this.lines = plainLines(parcel, rendered);
    this.#parcel = parcel;
    this.#rendered = rendered;
  }

  get body(): string {
    return this.pieces.join("");
  }

  get headers(): Record<string, string> {
    return headersOf(this.#parcel, this.path, this.#rendered);
  }
}

function headersOf(
  { subscription, deliveries, trace }: Parcel,
  path: string,
  rendered: Rendered,
  more?: Readonly<Record<string, string>>,
): Record<string, string> {
  const [first] = deliveries as readonly [Delivery, ...Delivery[]];
  const common: Record<string, string> = {
    "content-type": contentTypeOf(subscription.deliverySchema, isBatched(subscription)),
    "user-agent": "posthorn",
    ...traceFields(trace),
  };
  if (isPublishPath(path)) common[hopsHeader] = hopsOf(deliveries);
  const forward = forwardIn(subscription);
  const ours =
    forward === undefined
      ? gridFields(subscription, first, { rendered, say: headerText })
      : forwardHeaders(forward);
  const own = subscription.headers;
  // Only names that others have chosen can be there twice.
  const isPlain = own.length === 0 && forward === undefined && more === undefined;
  return isPlain
    ? Object.assign(common, ours)
    : joinHeaders(common, ownHeaders(own, first.event.text), ours, more ?? {});
}

/** The headers of a plain request as they are sent: what `headersOf` says, without a record. */
function plainLines({ subscription, deliveries }: Parcel, rendered: Rendered): string {
  const [{ attempts, event }] = deliveries as readonly [Delivery, ...Delivery[]];
  const { metadataVersion, dataVersion } = rendered;
  let last = lastLinesOf.get(subscription);
  if (last?.attempts !== attempts || last.dataVersion !== dataVersion) {
    const version = dataVersion === null ? "" : `aeg-data-version: ${headerText(dataVersion)}\r\n`;
    const lines =
      `${sameLines(subscription)}aeg-delivery-count: ${attempts}\r\n` +
      `aeg-metadata-version: ${metadataVersion}\r\n${version}aeg-output-event-id: `;
    last = { attempts, dataVersion, lines };
    if ((dataVersion?.length ?? 0) <= knownVersionChars) lastLinesOf.set(subscription, last);
  }
  return `${last.lines}${headerText(event.systemId)}\r\n`;
}

/** A longer data version is written anew each time. */
const knownVersionChars = 64;

interface LastLines {
  readonly attempts: number;
  readonly dataVersion: string | null;
  /** All but the event's id. */
  readonly lines: string;
}

/** A subscription's record is a new value after each change, so a cache by it cannot be stale. */
const sameLinesOf = new WeakMap<Parcel["subscription"], string>();
/** Of its last plain request: most are first attempts of events of one data version. */
const lastLinesOf = new WeakMap<Parcel["subscription"], LastLines>();

/** Those that are the same in all plain requests of a subscription. */
function sameLines(subscription: Parcel["subscription"]): string {
  const known = sameLinesOf.get(subscription);
  if (known !== undefined) return known;
  const lines = linesOf({
    "content-type": contentTypeOf(subscription.deliverySchema, isBatched(subscription)),
    "user-agent": "posthorn",
    ...steadyFields(subscription),
  });
  sameLinesOf.set(subscription, lines);
  return lines;
}

function isBatched({ batch }: Parcel["subscription"]): boolean {
  return batch !== null && batch.maxEvents > 1;
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
  subscription: Parcel["subscription"],
  { attempts, event }: Delivery,
  { rendered, say }: { readonly rendered: Rendered; readonly say: (text: string) => string },
): Record<string, string> {
  const { metadataVersion, dataVersion } = rendered;
  return {
    ...steadyFields(subscription),
    "aeg-delivery-count": String(attempts),
    "aeg-metadata-version": metadataVersion,
    ...(dataVersion === null ? {} : { "aeg-data-version": say(dataVersion) }),
    "aeg-output-event-id": say(event.systemId),
  };
}

/** The same for all events of a subscription; the last one only in a namespace (N-56). */
function steadyFields({ name, topic }: Parcel["subscription"]): Record<string, string> {
  return {
    "aeg-event-type": "Notification",
    "aeg-subscription-name": name.toUpperCase(),
    ...(splitTopicName(topic).namespace !== null && { "aeg-compatibility-mode-enabled": "false" }),
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
