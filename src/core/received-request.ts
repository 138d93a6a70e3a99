// What a receiver of deliveries got: which kind of request, and which events. For `posthorn listen`
// and for test inboxes.

import type { Arrived } from "./receiver.ts";
import { isObject } from "./template/expression.ts";

export interface ArrivedEvent {
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  readonly body: unknown;
}

export type ReceivedRequest =
  /** The validation event, with the code to return. */
  | { readonly kind: "validation"; readonly code: string }
  /** The handshake of CloudEvents. */
  | { readonly kind: "options"; readonly origin: string }
  | { readonly kind: "deletion" }
  | {
      readonly kind: "events";
      readonly schema: "EventGrid" | "CloudEvents" | "custom";
      readonly events: readonly ArrivedEvent[];
    }
  | { readonly kind: "unknown"; readonly why: string };

export function readReceived({ method, headers, body }: Arrived): ReceivedRequest {
  const origin = headers["webhook-request-origin"];
  if (method === "OPTIONS" && origin !== undefined) return { kind: "options", origin };
  if (method !== "POST") return { kind: "unknown", why: `${method} brings no events` };
  const value = contentOf(headers, body);
  if (value === undefined) return { kind: "unknown", why: "its body is not JSON" };
  const all = Array.isArray(value) ? value : [value];
  const about = headers["aeg-event-type"]?.toLowerCase();
  if (about === "subscriptiondeletion") return { kind: "deletion" };
  if (about === "subscriptionvalidation") {
    const [first] = all;
    const told = isObject(first) && isObject(first.data) ? first.data : {};
    return { kind: "validation", code: String(told.validationCode ?? "") };
  }
  const isCloud = all.every((each) => isObject(each) && "specversion" in each);
  const isGrid = all.every((each) => isObject(each) && "eventType" in each);
  return {
    kind: "events",
    schema: isCloud ? "CloudEvents" : isGrid ? "EventGrid" : "custom",
    events: all.map(eventOf),
  };
}

/** CloudEvents may also come with their attributes as headers. */
function contentOf(headers: Arrived["headers"], body: string): unknown {
  let value: unknown;
  try {
    value = body === "" ? undefined : (JSON.parse(body) as unknown);
  } catch {
    if (headers["ce-specversion"] === undefined) return undefined;
    value = body;
  }
  if (headers["ce-specversion"] === undefined) return value;
  const attributes = Object.entries(headers).flatMap(([name, text]) =>
    name.startsWith("ce-") ? [[name.slice(3), text]] : [],
  );
  return { ...Object.fromEntries(attributes), data: value };
}

function eventOf(body: unknown): ArrivedEvent {
  const members = isObject(body) ? body : {};
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  return {
    id: text(members.id),
    type: text(members.eventType) || text(members.type),
    subject: text(members.subject),
    body,
  };
}
