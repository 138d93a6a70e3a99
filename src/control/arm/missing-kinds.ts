// What Azure has around Event Grid and Posthorn does not: lists are empty, so that read-only
// scripts continue, and everything else is refused by name.

import { Refusal } from "../../core/refusal.ts";
import type { Reply } from "../../core/request.ts";
import type { Call } from "./find-topic.ts";
import { done, reply } from "./reply.ts";

/** By the word in the path, in lower case. */
const kinds: ReadonlyMap<string, string> = new Map([
  ["systemtopics", "system topics"],
  ["partnertopics", "partner topics"],
  ["partnernamespaces", "partner namespaces and their channels"],
  ["partnerregistrations", "partner registrations"],
  ["partnerconfigurations", "partner configurations"],
  ["partnerdestinations", "partner destinations"],
  ["eventchannels", "channels of partners"],
  ["channels", "channels of partners"],
  ["verifiedpartners", "verified partners"],
  ["namespaces", "MQTT: clients, topic spaces and certificates of namespaces"],
  ["privateendpointconnections", "private endpoints"],
  ["privatelinkresources", "private links"],
  ["networksecurityperimeterconfigurations", "network security perimeters"],
  ["locks", "locks"],
  ["roleassignments", "roles"],
  ["roledefinitions", "roles"],
  ["denyassignments", "roles"],
  ["policyassignments", "policies"],
]);

export interface Missing {
  readonly kind: "missing";
  /** For messages. */
  readonly what: string;
  /** Whether it is a list. */
  readonly isList: boolean;
}

/** Null for anything else. `segments` begin with the kind. */
export function missingIn([first, ...rest]: readonly string[]): Missing | null {
  const what = kinds.get(first?.toLowerCase() ?? "");
  return what === undefined ? null : { kind: "missing", what, isList: rest.length === 0 };
}

export function listNone(): Reply {
  return reply(200, { value: [] });
}

/** Deleting what does not exist succeeds. */
export function removeNone(): Reply {
  return done;
}

/** Refusal: NotFound. */
export function showNone(call: Call, { what }: Missing): never {
  throw new Refusal("NotFound", wordsFor(call, what));
}

/** Refusal: InvalidSetting. */
export function refuseMissingKind(call: Call, { what }: Missing): never {
  throw new Refusal("InvalidSetting", wordsFor(call, what));
}

function wordsFor({ baseUrl }: Call, what: string): string {
  const where = `what there is: ${baseUrl}/docs, and docs/compatibility.md`;
  return `Posthorn has no ${what}; ${where}.`;
}
