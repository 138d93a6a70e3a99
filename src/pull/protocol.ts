// The common parts of the namespaces' data plane: its versions, its errors (N-4, N-5), and which
// operation a path names (N-2, N-3).

import { Refusal, type RefusalCode } from "../core/refusal.ts";
import type { Reply, RequestHead, Verdict } from "../core/request.ts";
import { shownAs } from "../core/text/wording.ts";

export const dataVersions = [
  "2023-06-01-preview",
  "2023-09-01-preview",
  "2023-10-01-preview",
  "2023-11-01",
  "2024-06-01",
];

export type Operation = "publish" | "receive" | "acknowledge" | "release" | "reject" | "renewLock";

const ofSubscriptions: readonly Operation[] = [
  "receive",
  "acknowledge",
  "release",
  "reject",
  "renewLock",
];

export interface Target {
  readonly operation: Operation;
  readonly topic: string;
  /** Null for a publish. */
  readonly subscription: string | null;
}

/** The last colon separates the name and the operation. Refusal: NotFound. */
export function targetIn({ params }: RequestHead): Target {
  const { topic = "", subscription } = params;
  const last = subscription ?? topic;
  const colon = last.lastIndexOf(":");
  const word = last.slice(colon + 1).toLowerCase();
  const name = last.slice(0, Math.max(0, colon));
  const known = subscription === undefined ? (["publish"] as const) : ofSubscriptions;
  const operation = known.find((each) => each.toLowerCase() === word);
  if (operation === undefined || name === "") {
    const allowed = known.map((each) => `:${each}`).join(", ");
    const words = `There is no such operation: the path must end with ${allowed}.`;
    throw new Refusal("NotFound", words);
  }
  return subscription === undefined
    ? { operation, topic: name, subscription: null }
    : { operation, topic, subscription: name };
}

/** Names in a query are case-insensitive. */
export function queried({ query }: RequestHead, wanted: string): string | undefined {
  for (const name in query) if (name.toLowerCase() === wanted.toLowerCase()) return query[name];
  return undefined;
}

/** Refusal: InvalidApiVersion. */
export function checkDataVersion(head: RequestHead): void {
  const given = queried(head, "api-version");
  if (given !== undefined && dataVersions.includes(given.toLowerCase())) return;
  const words = `api-version must be one of ${dataVersions.join(", ")}, and is ${shownAs(given)}.`;
  throw new Refusal("InvalidApiVersion", words);
}

/** Refusal: InvalidSetting. */
export function queriedInteger(
  head: RequestHead,
  name: string,
  {
    min,
    max,
    default: usual,
  }: { readonly min: number; readonly max: number; readonly default: number },
): number {
  const text = queried(head, name);
  if (text === undefined || text === "") return usual;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  const words = `${name} must be a whole number from ${min} to ${max}, and is ${shownAs(text)}.`;
  throw new Refusal("InvalidSetting", words, { target: name });
}

interface Wording {
  readonly status: number;
  readonly code: string;
}

const badRequest = { status: 400, code: "BadRequest" };

/** *Differs:* the service's codes are not known; these are the names of the statuses. */
const wordings: Readonly<Record<RefusalCode, Wording>> = {
  InputJsonInvalid: badRequest,
  InvalidCloudEventHeader: badRequest,
  InvalidApiVersion: { status: 400, code: "InvalidApiVersion" },
  InvalidSetting: badRequest,
  EventLoop: badRequest,
  InvalidSas: badRequest,
  Unauthorized: { status: 401, code: "Unauthorized" },
  Forbidden: { status: 403, code: "Forbidden" },
  NotFound: { status: 404, code: "NotFound" },
  MethodNotAllowed: { status: 405, code: "MethodNotAllowed" },
  Conflict: { status: 409, code: "Conflict" },
  PreconditionFailed: { status: 412, code: "PreconditionFailed" },
  PayloadTooLarge: { status: 413, code: "PayloadTooLarge" },
  InvalidContentType: { status: 415, code: "UnsupportedMediaType" },
  InvalidContentEncoding: { status: 415, code: "UnsupportedMediaType" },
  TooManyRequests: { status: 429, code: "TooManyRequests" },
  Unavailable: { status: 503, code: "ServiceUnavailable" },
};

const json = "application/json; charset=utf-8";

/** A client that gets an error without this body loses even the status. */
export function replyToPullRefusal({ code: why, message, retryAfterMs, target }: Refusal): Reply {
  const { status, code } = wordings[why];
  const wait = Math.max(1, Math.ceil((retryAfterMs ?? 0) / 1_000));
  return {
    status,
    headers: {
      "content-type": json,
      "x-ms-error-code": code,
      ...((status === 429 || status === 503) && { "retry-after": String(wait) }),
    },
    body: JSON.stringify({ error: { code, message, ...(target !== undefined && { target }) } }),
  };
}

/** The same, whose refusals, and those of what it gives, are answers. */
export async function answering(judge: () => Verdict | Promise<Verdict>): Promise<Verdict> {
  const caught = async <T>(act: () => T | Promise<T>): Promise<T | Reply> => {
    try {
      return await act();
    } catch (error) {
      if (error instanceof Refusal) return replyToPullRefusal(error);
      throw error;
    }
  };
  const verdict = await caught(judge);
  return typeof verdict === "function" ? (body) => caught(() => verdict(body)) : verdict;
}

export function replyWith(body: string): Reply {
  return { status: 200, headers: { "content-type": json }, body };
}
