// Who may publish: whoever holds one of the topic's two keys, in the header or the query parameter
// `aeg-sas-key`. Texts follow Event Grid's:
// https://learn.microsoft.com/azure/event-grid/authenticate-with-access-keys-shared-access-signatures
//
// Deliberately absent for now: SAS tokens and bearer tokens. They are refused in words when they
// are all that was given, because "no credential" would send their owner looking in the wrong
// place.

import { hash, timingSafeEqual } from "node:crypto";
import type { Request } from "../core/ports.ts";
import { Refusal } from "../core/refusal.ts";
import type { Topic } from "../core/topic.ts";

/** Refusals: Unauthorized, InvalidSas. */
export function authorize(topic: Topic, request: Request): void {
  const inHeader = single(request.headers["aeg-sas-key"]);
  if (inHeader !== undefined) {
    checkGiven(inHeader);
    if (isKeyOf(topic, inHeader)) return;
    throw refuseKey(topic, request);
  }
  const inQuery = findParameter(request, "aeg-sas-key");
  if (inQuery !== undefined) {
    checkGiven(inQuery);
    // Keys are base64, and a plus sign that nobody encoded is read as a blank.
    if (isKeyOf(topic, inQuery) || isKeyOf(topic, inQuery.replaceAll(" ", "+"))) return;
    throw refuseKey(topic, request);
  }
  throw refuseOthers(request);
}

interface Digests {
  readonly key1: Buffer;
  readonly key2: Buffer;
}

/** A topic's record is a new value after each change, so what is kept with it cannot grow stale. */
const digestsOf = new WeakMap<Topic, Digests>();

/**
 * The time this takes says nothing about the keys: digests have one length and are compared to the
 * last byte, and the second comparison is made even when the first has succeeded.
 */
function isKeyOf(topic: Topic, given: string): boolean {
  let digests = digestsOf.get(topic);
  if (digests === undefined) {
    digests = { key1: digest(topic.key1), key2: digest(topic.key2) };
    digestsOf.set(topic, digests);
  }
  const ours = digest(given);
  const isFirst = timingSafeEqual(ours, digests.key1);
  const isSecond = timingSafeEqual(ours, digests.key2);
  return isFirst || isSecond;
}

function digest(key: string): Buffer {
  return hash("sha256", key, "buffer");
}

function checkGiven(key: string): void {
  if (key === "") throw new Refusal("InvalidSas", "The value of aeg-sas-key is empty.");
}

function refuseKey(topic: Topic, request: Request): Refusal {
  const host = single(request.headers.host) || topic.name;
  return new Refusal(
    "Unauthorized",
    `The request authorization key is not authorized for ${host.toUpperCase()}.`,
  );
}

/** *Differs:* the service also takes SAS tokens and bearer tokens. */
function refuseOthers(request: Request): Refusal {
  const authorization = single(request.headers.authorization);
  const scheme = authorization?.trimStart().split(" ", 1)[0]?.toLowerCase();
  const isToken =
    scheme === "sharedaccesssignature" ||
    request.headers["aeg-sas-token"] !== undefined ||
    findParameter(request, "aeg-sas-token") !== undefined;
  if (isToken) return refuseUnsupported("SAS tokens");
  if (scheme === "bearer") return refuseUnsupported("bearer tokens");
  if (scheme !== undefined) {
    return new Refusal(
      "Unauthorized",
      "Request has an unsupported Authorization scheme (must be SharedAccessSignature or Bearer).",
    );
  }
  return new Refusal(
    "Unauthorized",
    "Request must contain one of the following authorization signature: " +
      "aeg-sas-token, aeg-sas-key.",
  );
}

function refuseUnsupported(what: string): Refusal {
  return new Refusal(
    "Unauthorized",
    `This broker does not support ${what}: send one of the topic's keys as aeg-sas-key.`,
  );
}

/** Names of parameters are compared without regard to letter case. */
function findParameter({ query }: Request, name: string): string | undefined {
  for (const each in query) if (each.toLowerCase() === name) return query[each];
  return undefined;
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
