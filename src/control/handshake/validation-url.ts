// The validation URL, called by a person's browser or by the endpoint itself: the code in it agrees
// instead of the endpoint. No key is required, because the code is one.

import { rateIn } from "../../core/handshake/question.ts";
import type { Reply, Request, Route } from "../../core/request.ts";
import type { SubscriptionId } from "../../core/subscription.ts";

export interface Call {
  readonly subscription: SubscriptionId;
  readonly code: string;
  readonly method: string;
  /** The rate in a POST of a CloudEvents endpoint; null: any rate. */
  readonly allowedRate: number | null;
  /** A HEAD request, as from link previews; agrees to nothing. */
  readonly isLook: boolean;
}

const path = "/eventsubscriptions/:name/validate";

const replies = {
  agreed: reply(200, "Webhook successfully validated as a subscription endpoint."),
  over: reply(410, "This validation has ended: create or update the event subscription again."),
  unknown: reply(404, "No validation is in progress for this URL."),
} as const;

export function validationRoutes(
  take: (call: Call) => Promise<keyof typeof replies>,
): readonly Route[] {
  const handle = async (request: Request) => replies[await take(callIn(request))];
  return [
    { method: "GET", path, handle },
    { method: "POST", path, handle },
  ];
}

function callIn({ method, query, headers }: Request): Call {
  return {
    subscription: Number(query.token),
    code: query.id ?? "",
    method,
    allowedRate: rateIn(headers["webhook-allowed-rate"]),
    isLook: method === "HEAD",
  };
}

function reply(status: number, body: string): Reply {
  const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
  return { status, headers, body };
}
