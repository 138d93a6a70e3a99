// Requests that the service itself makes to endpoints, as plain values, and how their answers are
// read. There are two handshakes, chosen by the delivery schema: an event with a code to be
// returned
// (https://learn.microsoft.com/azure/event-grid/end-point-validation-event-grid-events-schema), and
// the handshake of CloudEvents' web hooks, an OPTIONS request with headers.
//
// A status alone is not an agreement: what counts is the code, or the header. handshake.ts decides
// when to ask again and what happens to the subscription.

import type { Instant } from "../ports.ts";
import type { Handshake, Subscription, SubscriptionTerms } from "../subscription.ts";
import { type Headers, joinHeaders } from "../text/header-names.ts";
import { isoInstant } from "../text/time.ts";

/**
 * A request of our own to an endpoint: the handshake before any event, the notice after the last.
 */
export type Ask = (question: {
  readonly method: "POST" | "OPTIONS";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly waitMs: number;
  readonly signal: AbortSignal;
}) => Promise<EndpointAnswer>;

/** Never rejects because of the endpoint. A redirect is an answer; a long body is cut. */
export type EndpointAnswer =
  | {
      readonly kind: "answered";
      readonly status: number;
      /** Names in lower case. */
      readonly headers: Readonly<Record<string, string | string[] | undefined>>;
      readonly body: string;
    }
  /**
   * `why` is a sentence without secrets. `isRefusal`: there is no such host, or nothing listens
   * there.
   */
  | { readonly kind: "noReply"; readonly why: string; readonly isRefusal?: true };

export type Question = Omit<Parameters<Ask>[0], "waitMs" | "signal">;

/** What an answer means. `why` is a sentence without secrets. */
export type Finding =
  | { readonly kind: "agreed"; readonly allowedRate: number | null; readonly why: string }
  /** It is there and accepted the question without answering it: a person may answer. */
  | { readonly kind: "heard"; readonly why: string }
  /** `isRefusal`: a no, and neither silence nor trouble; asking again hardly changes it. */
  | { readonly kind: "failed"; readonly why: string; readonly isRefusal?: true };

/** The origin we name. Endpoints that check it were written for the service. */
const origin = "eventgrid.azure.net";

/**
 * Requests a minute that we ask for. High, because some endpoints grant what they are asked for,
 * and that is then the limit.
 */
const requestRate = 600_000;

/** The address a client used to reach us, which is repeated in the validation URL. */
export interface CallerUrl {
  /** `scheme://host[:port]`. */
  readonly baseUrl: string;
  /** Of the management API; absent: the client was not one of Azure's. */
  readonly apiVersion?: string;
}

const apiVersionDefault = "2025-02-15";

const excerptCharsMax = 200;

/** The URL that agrees instead of the endpoint. `id` proves it, `token` says which subscription. */
export function validationUrlOf(
  { id, name }: Pick<Subscription, "id" | "name">,
  { code, startedAt }: Handshake,
  { baseUrl, apiVersion = apiVersionDefault }: CallerUrl,
): string {
  const query = `id=${code}&t=${isoInstant(startedAt)}&apiVersion=${apiVersion}&token=${id}`;
  return `${baseUrl}/eventsubscriptions/${encodeURIComponent(name)}/validate?${query}`;
}

export interface Occasion {
  readonly name: string;
  /** The terms that the question is about. */
  readonly terms: SubscriptionTerms;
  /** Where their endpoint is. */
  readonly url: string;
  /** ARM id of the topic or domain. */
  readonly topicId: string;
  /** For an event made by the broker itself. */
  readonly eventId: string;
  readonly now: Instant;
}

export function questionOf(
  occasion: Occasion,
  asked: { readonly code: string; readonly validationUrl: string },
): Question {
  const { terms } = occasion;
  if (terms.deliverySchema === "CloudEventSchemaV1_0") {
    return {
      method: "OPTIONS",
      url: occasion.url,
      headers: joinHeaders(staticHeaders(terms), {
        "webhook-request-origin": origin,
        "webhook-request-callback": asked.validationUrl,
        "webhook-request-rate": String(requestRate),
      }),
      body: null,
    };
  }
  const data = { validationCode: asked.code, validationUrl: asked.validationUrl };
  return {
    method: "POST",
    url: occasion.url,
    headers: headersOf(occasion, "SubscriptionValidation", eventHeaders),
    body: eventBody(occasion, "Microsoft.EventGrid.SubscriptionValidationEvent", data),
  };
}

/** The notice to a webhook when its subscription is deleted. The answer is not awaited. */
export function deletionNoticeOf(occasion: Occasion, subscriptionArmId: string): Question {
  const { terms } = occasion;
  const type = "Microsoft.EventGrid.SubscriptionDeletedEvent";
  const data = { eventSubscriptionId: subscriptionArmId };
  const isCloudEvent = terms.deliverySchema === "CloudEventSchemaV1_0";
  return {
    method: "POST",
    url: occasion.url,
    headers: headersOf(
      occasion,
      "SubscriptionDeletion",
      isCloudEvent ? cloudEventHeaders : eventHeaders,
    ),
    body: isCloudEvent ? cloudEventBody(occasion, type, data) : eventBody(occasion, type, data),
  };
}

const eventHeaders = {
  "content-type": "application/json; charset=utf-8",
  "aeg-data-version": "1",
};

/** A CloudEvent has no data version. */
const cloudEventHeaders = { "content-type": "application/cloudevents+json; charset=utf-8" };

function headersOf(occasion: Occasion, eventType: string, body: Headers): Record<string, string> {
  return joinHeaders(staticHeaders(occasion.terms), body, {
    "aeg-event-type": eventType,
    "aeg-subscription-name": occasion.name.toUpperCase(),
    "aeg-delivery-count": "0",
    "aeg-metadata-version": "1",
  });
}

/** The subscription's own headers, which a protected endpoint needs (C-1). */
function staticHeaders({ headers }: SubscriptionTerms): Record<string, string> {
  const known = headers.flatMap((header) =>
    header.kind === "static" ? [[header.name, header.value] as const] : [],
  );
  return Object.fromEntries(known);
}

function eventBody(occasion: Occasion, eventType: string, data: unknown): string {
  const { eventId: id, topicId: topic, now } = occasion;
  const eventTime = isoInstant(now);
  const versions = { metadataVersion: "1", dataVersion: "1" };
  return JSON.stringify([{ id, topic, subject: "", data, eventType, eventTime, ...versions }]);
}

function cloudEventBody(occasion: Occasion, type: string, data: unknown): string {
  const { eventId: id, topicId: source, now } = occasion;
  const time = isoInstant(now);
  const datacontenttype = "application/json";
  return JSON.stringify({ specversion: "1.0", id, source, type, time, datacontenttype, data });
}

/** What an endpoint's answer to a question means. */
export function judge(question: Question, code: string, answer: EndpointAnswer): Finding {
  const { method } = question;
  if (answer.kind === "noReply") {
    const why = `The HTTP ${method} request got no answer: ${answer.why}`;
    return { kind: "failed", why, ...(answer.isRefusal && { isRefusal: true }) };
  }
  return method === "OPTIONS" ? judgeHeaders(answer) : judgeBody(code, answer);
}

type Answered = Extract<EndpointAnswer, { kind: "answered" }>;

function judgeBody(code: string, { status, body }: Answered): Finding {
  // A 202 is not accepted either: it says that the request will be looked at later.
  if (status !== 200) return failedWith("POST", status);
  const said = validationResponseIn(body);
  if (said === undefined) {
    return { kind: "heard", why: "The endpoint answered 200 without a validationResponse." };
  }
  // A code that was parsed as a GUID may be written differently.
  if (typeof said === "string" && said.trim().toLowerCase() === code.toLowerCase()) {
    return { kind: "agreed", allowedRate: null, why: "The endpoint said the code back." };
  }
  return { kind: "failed", why: "The endpoint answered with another code than it was sent." };
}

/** In practice the name occurs in any letter case. */
function validationResponseIn(body: string): unknown {
  try {
    const value = JSON.parse(body.replace(/^\uFEFF/, "")) ?? {};
    const found = Object.entries(value).find(([name]) => /^validationresponse$/i.test(name));
    return found?.[1];
  } catch {
    return undefined;
  }
}

function judgeHeaders({ status, headers }: Answered): Finding {
  const allowed = textOf(headers["webhook-allowed-origin"]);
  const origins = allowed.split(",").map((each) => each.trim().toLowerCase());
  if (origins.includes("*") || origins.includes(origin)) {
    const allowedRate = rateIn(headers["webhook-allowed-rate"]);
    const rate = allowedRate === null ? "any rate" : `${allowedRate} requests a minute`;
    return { kind: "agreed", allowedRate, why: `The endpoint allows ${origin}, at ${rate}.` };
  }
  if (allowed !== "") {
    const why = `The endpoint allows another origin than ${origin} in WebHook-Allowed-Origin.`;
    return { kind: "failed", why };
  }
  if (status < 200 || status > 299) return failedWith("OPTIONS", status);
  const why = `The endpoint answered ${status} without WebHook-Allowed-Origin.`;
  return { kind: "heard", why };
}

/** A client's mistake stays one, unless it is about time (408) or number (429). */
function failedWith(method: string, status: number): Finding {
  const why = `Http ${method} request failed with response code ${status}.`;
  const isRefusal = status >= 400 && status < 500 && status !== 408 && status !== 429;
  return { kind: "failed", why, ...(isRefusal && { isRefusal }) };
}

/** Requests a minute; null for an asterisk, for nothing and for what is not a number. */
export function rateIn(header: string | string[] | undefined): number | null {
  const rate = /^\s*(\d{1,9})\s*$/.exec(textOf(header))?.[1];
  return rate === undefined || Number(rate) === 0 ? null : Number(rate);
}

function textOf(header: string | string[] | undefined): string {
  return typeof header === "string" ? header : (header?.join(",") ?? "");
}

/** An answer as a readable text. */
export function wordsOfAnswer(answer: EndpointAnswer): string {
  if (answer.kind === "noReply") return answer.why;
  const body = answer.body.replace(/\s+/g, " ").trim();
  const excerpt = body.length > excerptCharsMax ? `${body.slice(0, excerptCharsMax)}…` : body;
  return excerpt === "" ? `${answer.status}` : `${answer.status} ${excerpt}`;
}
