// A test inbox: a webhook inside the broker, which shows what comes and answers as it was told to.
// Here is what is pure of it: how a request is understood, how it is answered, and how much of it
// is kept. The endpoint itself is in control/inbox.

import type { Instant } from "../ports.ts";
import { type ReceivedRequest, readReceived } from "../received-request.ts";
import type { Arrived } from "../receiver.ts";

export const inboxModes = ["accept", "fail", "slow", "flapping", "tooLarge"] as const;

/** How an inbox answers deliveries. Handshakes are always answered well. */
export interface InboxAnswer {
  /**
   * `accept`: 200. `fail`: 500. `slow`: 200 after the delay. `flapping`: 500 and 200 by turns.
   * `tooLarge`: 413.
   */
  readonly mode: (typeof inboxModes)[number];
  /** Before every answer. */
  readonly delayMs: number;
}

export const inboxLimits = {
  inboxesMax: 20,
  requestsMax: 100,
  /** Of all requests of one inbox together. */
  bytesMax: 1_048_576,
  bodyCharsMax: 65_536,
  delayMsMax: 600_000,
  /** Of `slow`, by default. */
  slowMs: 5_000,
} as const;

export const inboxNameRule = /^[A-Za-z0-9-]{2,64}$/;

/** A request as it is kept. */
export interface InboxRequest {
  /** Rises with time. */
  readonly number: number;
  readonly at: Instant;
  readonly kind: "handshake" | "events" | "deletion" | "other";
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The beginning, if it is long. */
  readonly body: string;
  readonly bytes: number;
  readonly isCut: boolean;
  readonly events: number;
  /** The publisher's ids. */
  readonly eventIds: readonly string[];
  readonly status: number;
  readonly delayMs: number;
}

export interface InboxReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly delayMs: number;
}

const idsShown = 100;

/** `turn`: how many deliveries came before. */
export function receive(
  arrived: Arrived,
  how: InboxAnswer,
  { turn, number, at }: { readonly turn: number; readonly number: number; readonly at: Instant },
): { readonly reply: InboxReply; readonly kept: InboxRequest } {
  const received = readReceived(arrived);
  const reply = replyTo(received, how, turn);
  const events = received.kind === "events" ? received.events : [];
  const { method, headers, body } = arrived;
  const kept: InboxRequest = {
    ...{ number, at, kind: kindOf(received), method, headers },
    body: body.slice(0, inboxLimits.bodyCharsMax),
    bytes: body.length,
    isCut: body.length > inboxLimits.bodyCharsMax,
    events: events.length,
    eventIds: events.slice(0, idsShown).map(({ id }) => id),
    status: reply.status,
    delayMs: reply.delayMs,
  };
  return { reply, kept };
}

function kindOf({ kind }: ReceivedRequest): InboxRequest["kind"] {
  if (kind === "validation" || kind === "options") return "handshake";
  return kind === "unknown" ? "other" : kind;
}

function replyTo(received: ReceivedRequest, how: InboxAnswer, turn: number): InboxReply {
  const now = (status: number, headers: Record<string, string>, body = "") => ({
    ...{ status, headers, body, delayMs: 0 },
  });
  switch (received.kind) {
    case "validation":
      return now(200, jsonType, JSON.stringify({ validationResponse: received.code }));
    case "options":
      return now(200, {
        "webhook-allowed-origin": received.origin,
        "webhook-allowed-rate": "*",
      });
    case "deletion":
      return now(200, {});
    case "unknown":
      return now(400, textType, `A test inbox takes deliveries; of this ${received.why}.`);
    case "events":
      return deliveryReply(how, turn);
    default:
      return received satisfies never;
  }
}

const jsonType = { "content-type": "application/json; charset=utf-8" };
const textType = { "content-type": "text/plain; charset=utf-8" };

function deliveryReply({ mode, delayMs }: InboxAnswer, turn: number): InboxReply {
  const told = (status: number, body: string): InboxReply => ({
    ...{ status, headers: textType, body, delayMs },
  });
  switch (mode) {
    case "accept":
    case "slow":
      return told(200, "");
    case "fail":
      return told(500, "This test inbox was told to fail.");
    case "tooLarge":
      return told(413, "This test inbox was told to find everything too large.");
    case "flapping":
      return turn % 2 === 0
        ? told(500, "This test inbox was told to fail every other time.")
        : told(200, "");
    default:
      return mode satisfies never;
  }
}

/** The latest last; the oldest make room. */
export function keepLatest(
  requests: readonly InboxRequest[],
  latest: InboxRequest,
): readonly InboxRequest[] {
  const all = [...requests, latest].slice(-inboxLimits.requestsMax);
  let bytes = all.reduce((sum, { body }) => sum + body.length, 0);
  const first = all.findIndex(({ body }, index) => {
    if (bytes <= inboxLimits.bytesMax || index === all.length - 1) return true;
    bytes -= body.length;
    return false;
  });
  return all.slice(first);
}
