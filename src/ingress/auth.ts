// Who may publish: clients with one of the topic's two keys, a signature made with one, or a valid
// bearer token. Texts follow Event Grid's:
// https://learn.microsoft.com/azure/event-grid/authenticate-with-access-keys-shared-access-signatures
//
// The key path runs on every publish and is synchronous; only bearer tokens need a promise.
// Deliberately absent: roles. *Differs:* the service checks whether a token may send to this topic;
// here every valid token may send to every topic.

import { type KeyObject, timingSafeEqual } from "node:crypto";
import type { Clock, Instant } from "../core/ports.ts";
import { Refusal } from "../core/refusal.ts";
import type { RequestHead } from "../core/request.ts";
import { isoInstant } from "../core/text/time.ts";
import { shownAs } from "../core/text/wording.ts";
import type { Topic } from "../core/topic.ts";
import { covers, isSignedWith, parseSasToken, signerOf } from "./sas.ts";

export interface AuthDeps {
  /** Expiry of signatures is compared with it. */
  readonly clock: Clock;
  /** Null when a bearer token is valid, otherwise why not, as a sentence without secrets. */
  readonly whyNoBearer?: (token: string) => Promise<string | null>;
}

/** The credential that was accepted, as named in stories. */
export type Credential = "key1" | "key2" | "sas key1" | "sas key2" | "bearer";

/** Refusals: Unauthorized, InvalidSas, and those of `whyNoBearer`. */
export function authorize(
  topic: Topic,
  request: RequestHead,
  deps: AuthDeps,
): Credential | Promise<Credential> {
  const { scheme, credential } = authorizationOf(request);
  if (topic.disableLocalAuth) {
    if (scheme === "bearer") return checkBearer(credential, deps);
    throw refuse("Local authentication is disabled for this topic: send a bearer token.");
  }
  const key = given(request, "aeg-sas-key");
  if (key !== undefined) return checkKey(topic, request, key);
  const token = given(request, "aeg-sas-token");
  if (token !== undefined) return checkToken(topic, request, token.value, deps.clock.now());
  if (scheme === "sharedaccesssignature") {
    return checkToken(topic, request, credential, deps.clock.now());
  }
  if (scheme === "bearer") return checkBearer(credential, deps);
  throw refuse(
    scheme === ""
      ? "Request must contain one of the following authorization signature: aeg-sas-token, aeg-sas-key."
      : "Request has an unsupported Authorization scheme (must be SharedAccessSignature or Bearer).",
  );
}

/** The scheme in lower case, and the rest. */
export function authorizationOf({ headers }: RequestHead) {
  const text = (headers.authorization ?? "").toString().trim();
  const blank = text.indexOf(" ");
  return blank < 0
    ? { scheme: text.toLowerCase(), credential: "" }
    : { scheme: text.slice(0, blank).toLowerCase(), credential: text.slice(blank + 1).trim() };
}

interface Credentials {
  readonly value: string;
  readonly isInQuery: boolean;
}

/** In the header, or else in the query, whose names are case-insensitive. */
export function given({ headers, query }: RequestHead, name: string): Credentials | undefined {
  const header = headers[name];
  const inHeader = Array.isArray(header) ? header[0] : header;
  if (inHeader !== undefined) return checkGiven(name, { value: inHeader, isInQuery: false });
  for (const each in query) {
    if (each.toLowerCase() !== name) continue;
    return checkGiven(name, { value: query[each] ?? "", isInQuery: true });
  }
  return undefined;
}

function checkGiven(name: string, found: Credentials): Credentials {
  if (found.value !== "") return found;
  throw new Refusal("InvalidSas", `The value of ${name} is empty.`);
}

function checkKey(
  topic: Topic,
  request: RequestHead,
  { value, isInQuery }: Credentials,
): Credential {
  const { memory } = request;
  // The same bytes of the same connection, and the same keys: it was compared before.
  if (memory?.about === topic) return memory.value as Credential;
  const key = keyOf(topic, value);
  if (memory !== undefined && key !== null) Object.assign(memory, { about: topic, value: key });
  if (key !== null) return key;
  // Keys are base64, and an unencoded plus sign is read as a blank.
  const other = isInQuery ? keyOf(topic, value.replaceAll(" ", "+")) : null;
  if (other !== null) return other;
  const host = (request.headers.host || topic.name).toString().toUpperCase();
  throw refuse(`The request authorization key is not authorized for ${host}.`);
}

function checkToken(topic: Topic, request: RequestHead, text: string, now: Instant): Credential {
  const token = parseSasToken(text);
  if (token === null) {
    throw refuse("The SAS token is malformed: it must be r=<resource>&e=<expiry>&s=<signature>.");
  }
  const { signers } = locksOf(topic);
  if (signers.length === 0) {
    const words =
      "SAS tokens are signed with a base64 key, and the keys of this topic are not base64";
    throw refuse(`${words}: send one as aeg-sas-key, or give the topic a base64 key.`);
  }
  const signer = signers.find(({ key }) => isSignedWith(token, key));
  if (signer === undefined) {
    throw refuse("The signature of the SAS token was made with neither key of this topic.");
  }
  const host = (request.headers.host ?? "").toString();
  const isByPath = request.params.topic !== undefined;
  if (!covers(token.resource, { topic: topic.name, host, isByPath })) {
    throw refuse(`The SAS token is for ${shownAs(token.resource)}, which is not this topic.`);
  }
  if (token.expiresAt <= now) {
    throw refuse(`The SAS token has expired: it was good until ${isoInstant(token.expiresAt)}.`);
  }
  return `sas ${signer.name}`;
}

export async function checkBearer(token: string, { whyNoBearer }: AuthDeps): Promise<Credential> {
  if (token === "") throw refuse("The bearer token is empty.");
  if (whyNoBearer === undefined) throw refuse("This broker takes no bearer tokens.");
  const why = await whyNoBearer(token);
  if (why !== null) throw refuse(why);
  return "bearer";
}

export function refuse(words: string): Refusal {
  return new Refusal("Unauthorized", words);
}

interface Locks {
  readonly key1: Buffer;
  readonly key2: Buffer;
  /** The keys that can sign. */
  readonly signers: readonly { readonly name: "key1" | "key2"; readonly key: KeyObject }[];
}

/** A topic's record is a new value after each change, so a cache keyed by it cannot be stale. */
const locks = new WeakMap<Topic, Locks>();

export function locksOf(topic: Topic): Locks {
  const known = locks.get(topic);
  if (known !== undefined) return known;
  const { key1, key2 } = topic;
  const made = {
    key1: Buffer.from(padded(key1)),
    key2: Buffer.from(padded(key2)),
    signers: [...signersOf("key1", key1), ...signersOf("key2", key2)],
  };
  locks.set(topic, made);
  return made;
}

function signersOf(name: "key1" | "key2", text: string): Locks["signers"] {
  const key = signerOf(text);
  return key === null ? [] : [{ name, key }];
}

const keyBytesMax = 256;
const lengthBytes = 2;
const pad = Buffer.alloc(lengthBytes + keyBytesMax);

/**
 * The key's length, its bytes, and zeros, so that all have one length. Valid until the next call.
 */
function padded(key: string): Buffer {
  pad.fill(0);
  pad.writeUInt16LE(Math.min(Buffer.byteLength(key), 0xffff));
  pad.write(key, lengthBytes);
  return pad;
}

/**
 * The time this takes says nothing about the keys: buffers of one length are compared to the last
 * byte, and the second comparison is made even if the first has succeeded.
 */
export function keyOf(topic: Topic, value: string): "key1" | "key2" | null {
  if (Buffer.byteLength(value) > keyBytesMax) return null;
  const { key1, key2 } = locksOf(topic);
  const ours = padded(value);
  const isFirst = timingSafeEqual(ours, key1);
  const isSecond = timingSafeEqual(ours, key2);
  return isFirst ? "key1" : isSecond ? "key2" : null;
}
