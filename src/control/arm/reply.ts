// Replies of the control plane in the shape of Azure Resource Manager. One table has the code of
// each refusal there: { "error": { "code", "message", "target", "details" } }.

import type { Refusal, RefusalCode } from "../../core/refusal.ts";
import type { Reply } from "../../core/request.ts";

interface Wording {
  readonly status: number;
  readonly code: string;
}

const wordings: Readonly<Record<RefusalCode, Wording>> = {
  InputJsonInvalid: { status: 400, code: "InvalidRequestContent" },
  InvalidCloudEventHeader: { status: 400, code: "InvalidRequestContent" },
  InvalidApiVersion: { status: 400, code: "InvalidApiVersionParameter" },
  InvalidSetting: { status: 400, code: "InvalidRequest" },
  EventLoop: { status: 400, code: "BadRequest" },
  InvalidSas: { status: 400, code: "InvalidRequest" },
  Unauthorized: { status: 401, code: "AuthenticationFailed" },
  Forbidden: { status: 403, code: "AuthorizationFailed" },
  NotFound: { status: 404, code: "ResourceNotFound" },
  MethodNotAllowed: { status: 405, code: "MethodNotAllowed" },
  Conflict: { status: 409, code: "Conflict" },
  PreconditionFailed: { status: 412, code: "PreconditionFailed" },
  PayloadTooLarge: { status: 413, code: "RequestEntityTooLarge" },
  InvalidContentType: { status: 415, code: "UnsupportedMediaType" },
  InvalidContentEncoding: { status: 415, code: "UnsupportedMediaType" },
  TooManyRequests: { status: 429, code: "TooManyRequests" },
  Unavailable: { status: 503, code: "ServiceUnavailable" },
};

/** With every answer of the control plane, as with Azure's. */
export const armHeaders = {
  "cache-control": "no-cache",
  pragma: "no-cache",
  expires: "-1",
  "x-content-type-options": "nosniff",
};

/** A JSON body. Some clients only respect `Retry-After`. */
export function reply(
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  return {
    status,
    headers: { "content-type": "application/json; charset=utf-8", ...headers },
    body: JSON.stringify(body),
  };
}

export const done: Reply = { status: 204 };

export function replyToRefusal({ code, message, target, retryAfterMs }: Refusal): Reply {
  const wording = wordings[code];
  const about = target === undefined ? {} : { target };
  const error = { code: wording.code, message, ...about, details: [] };
  const headers: Record<string, string> = {};
  if (wording.status === 429 || wording.status === 503) {
    headers["retry-after"] = String(Math.max(1, Math.ceil((retryAfterMs ?? 0) / 1000)));
  }
  return reply(wording.status, { error }, headers);
}
