// The common parts of the API of the retired Event Grid module on IoT Edge: its one version, its
// key header, and its errors.
//
// Imitates https://learn.microsoft.com/azure/event-grid/edge/api. *Differs:* only two of the
// module's own detail codes are known, `UnAuthorized` and `InvalidDestination`; the others are
// ours.

import { Refusal, type RefusalCode } from "../core/refusal.ts";
import type { Reply, Request, RequestHead, Verdict } from "../core/request.ts";
import { shownAs } from "../core/text/wording.ts";

export const moduleApiVersion = "2019-01-01-preview";

interface Wording {
  readonly status: number;
  /** .NET's name of the status. */
  readonly name: string;
  readonly detail: string;
}

const badRequest = { status: 400, name: "BadRequest" };
const unsupported = { status: 415, name: "UnsupportedMediaType" };

const wordings: Readonly<Record<RefusalCode, Wording>> = {
  InputJsonInvalid: { ...badRequest, detail: "InputJsonInvalid" },
  InvalidCloudEventHeader: { ...badRequest, detail: "InvalidCloudEventHeader" },
  InvalidApiVersion: { ...badRequest, detail: "InvalidApiVersion" },
  InvalidSetting: { ...badRequest, detail: "InvalidRequest" },
  EventLoop: { ...badRequest, detail: "EventLoop" },
  InvalidSas: { ...badRequest, detail: "InvalidSasKey" },
  Unauthorized: { status: 401, name: "Unauthorized", detail: "UnAuthorized" },
  Forbidden: { status: 403, name: "Forbidden", detail: "Forbidden" },
  NotFound: { status: 404, name: "NotFound", detail: "NotFound" },
  MethodNotAllowed: { status: 405, name: "MethodNotAllowed", detail: "MethodNotAllowed" },
  Conflict: { status: 409, name: "Conflict", detail: "Conflict" },
  PreconditionFailed: { status: 412, name: "PreconditionFailed", detail: "PreconditionFailed" },
  PayloadTooLarge: { status: 413, name: "RequestEntityTooLarge", detail: "PayloadTooLarge" },
  InvalidContentType: { ...unsupported, detail: "InvalidContentType" },
  InvalidContentEncoding: { ...unsupported, detail: "InvalidContentEncoding" },
  TooManyRequests: { status: 429, name: "TooManyRequests", detail: "TooManyRequests" },
  Unavailable: { status: 503, name: "ServiceUnavailable", detail: "ServiceUnavailable" },
};

/** Only in this API: `details` is an object, and there is no other member. */
export function replyToModuleRefusal({ code, message, target, retryAfterMs }: Refusal): Reply {
  const { status, name, detail } = wordings[code];
  const isDestination = code === "InvalidSetting" && /\bdestination\b/.test(target ?? "");
  const details = { code: isDestination ? "InvalidDestination" : detail, message };
  const wait = Math.max(1, Math.ceil((retryAfterMs ?? 0) / 1_000));
  return {
    status,
    headers: {
      "content-type": "application/json; charset=utf-8",
      ...((status === 429 || status === 503) && { "retry-after": String(wait) }),
    },
    body: JSON.stringify({ error: { code: name, details } }),
  };
}

type Judge = (head: RequestHead) => Promise<Verdict>;

/** The same judge, whose refusals, and those of what it gives, are answers. */
export function withReplies(
  judge: Judge,
  replyTo: (refusal: Refusal, head: RequestHead) => Reply,
): Judge {
  return async (head) => {
    const answer = async <T>(act: () => T | Promise<T>): Promise<T | Reply> => {
      try {
        return await act();
      } catch (error) {
        if (error instanceof Refusal) return replyTo(error, head);
        throw error;
      }
    };
    const verdict = await answer(() => judge(head));
    return typeof verdict === "function" ? (body) => answer(() => verdict(body)) : verdict;
  };
}

/** Every request names the version. Refusal: InvalidApiVersion. */
export function checkModuleVersion({ query }: RequestHead): void {
  const given = queried(query, "api-version");
  if (given === moduleApiVersion) return;
  const words = `api-version must be ${moduleApiVersion}, and is ${shownAs(given)}.`;
  throw new Refusal("InvalidApiVersion", words);
}

/** The module's key, in the header or, as with the service, in the query. */
export function sasKeyIn({ headers, query }: RequestHead): string | null {
  const header = headers["aeg-sas-key"];
  return (Array.isArray(header) ? header[0] : header) ?? queried(query, "aeg-sas-key") ?? null;
}

/** Names in a query are case-insensitive. */
function queried(query: Request["query"], wanted: string): string | undefined {
  for (const name in query) if (name.toLowerCase() === wanted) return query[name];
  return undefined;
}
