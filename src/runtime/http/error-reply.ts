// Error replies in Event Grid's own form. One table has the status and code of each refusal: {
// "error": { "code": …, "message": …, "details": [{ "code": …, "message": … }] } }
//
// `code` is the name of the status and the detail's code the finer reason, as recorded from the
// service; clients show both. Anything that is not a refusal is our own fault, and its reply has no
// details.

import type { Refusal, RefusalCode } from "../../core/refusal.ts";
import type { Reply } from "../../core/request.ts";

interface Wording {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
}

const refusals: Readonly<Record<RefusalCode, Wording>> = {
  InputJsonInvalid: { status: 400, code: "BadRequest", detail: "InputJsonInvalid" },
  InvalidCloudEventHeader: { status: 400, code: "BadRequest", detail: "InvalidCloudEventHeader" },
  InvalidApiVersion: { status: 400, code: "BadRequest", detail: "InvalidApiVersion" },
  InvalidSetting: { status: 400, code: "BadRequest", detail: "InvalidSetting" },
  EventLoop: { status: 400, code: "BadRequest", detail: "EventLoop" },
  InvalidSas: { status: 400, code: "BadRequest", detail: "InvalidSas" },
  Unauthorized: { status: 401, code: "Unauthorized", detail: "Unauthorized" },
  Forbidden: { status: 403, code: "Forbidden", detail: "Forbidden" },
  NotFound: { status: 404, code: "NotFound", detail: "ResourceNotFound" },
  MethodNotAllowed: { status: 405, code: "MethodNotAllowed", detail: "MethodNotAllowed" },
  Conflict: { status: 409, code: "Conflict", detail: "Conflict" },
  PreconditionFailed: { status: 412, code: "PreconditionFailed", detail: "PreconditionFailed" },
  PayloadTooLarge: { status: 413, code: "RequestEntityTooLarge", detail: "PayloadTooLarge" },
  InvalidContentType: { status: 415, code: "UnsupportedMediaType", detail: "InvalidContentType" },
  InvalidContentEncoding: {
    status: 415,
    code: "UnsupportedMediaType",
    detail: "InvalidContentEncoding",
  },
  TooManyRequests: { status: 429, code: "TooManyRequests", detail: "TooManyRequests" },
  Unavailable: { status: 503, code: "ServiceUnavailable", detail: "ServiceUnavailable" },
};

/** Errors outside of any room: in the connection, or a bug. */
const faults = {
  malformed: {
    ...{ status: 400, code: "BadRequest", detail: "BadRequest" },
    message: "The request is not well-formed HTTP.",
  },
  late: {
    ...{ status: 408, code: "RequestTimeout", detail: "RequestTimeout" },
    message: "The request did not arrive in time.",
  },
  headTooLarge: {
    ...{ status: 431, code: "RequestHeaderFieldsTooLarge", detail: "HeadersTooLarge" },
    message: "The headers of the request are too large.",
  },
  internal: {
    ...{ status: 500, code: "InternalServerError", detail: "InternalServerError" },
    message: "The request could not be carried out; the broker's log says why.",
  },
} as const satisfies Readonly<Record<string, Wording & { readonly message: string }>>;

export type Fault = keyof typeof faults;

const contentType = "application/json; charset=utf-8";

export function replyToRefusal({ code, message, retryAfterMs }: Refusal): Reply {
  // Another broker of the cluster may be newer.
  const wording = Object.hasOwn(refusals, code) ? refusals[code] : refusals.Unavailable;
  const headers: Record<string, string> = { "content-type": contentType };
  // Clients retry only with a Retry-After; and with one on a 413 a client would send what is too
  // large again and again.
  if (wording.status === 429 || wording.status === 503) {
    headers["retry-after"] = String(Math.max(1, Math.ceil((retryAfterMs ?? 0) / 1000)));
  }
  return { status: wording.status, headers, body: errorBody(wording, message) };
}

export function replyToFault(fault: Fault): Reply {
  const wording = faults[fault];
  const body = errorBody(wording, wording.message);
  return { status: wording.status, headers: { "content-type": contentType }, body };
}

function errorBody({ code, detail }: Wording, message: string): string {
  return JSON.stringify({ error: { code, message, details: [{ code: detail, message }] } });
}
