// Who may publish to a namespace topic, and receive from it (N-7 to N-9): clients with a key of the
// namespace or of the topic, a signature made with one, or a valid bearer token.
//
// Deliberately absent: roles. *Differs:* the service checks whether a token may send or receive;
// here every valid token may do both.

import type { Clock, Instant } from "../core/ports.ts";
import type { RequestHead } from "../core/request.ts";
import { isoInstant } from "../core/text/time.ts";
import { shownAs } from "../core/text/wording.ts";
import { splitTopicName, type Topic } from "../core/topic.ts";
import {
  type AuthDeps,
  authorizationOf,
  type Credential,
  checkBearer,
  given,
  keyOf,
  locksOf,
  refuse,
} from "../ingress/auth.ts";
import { isSignedWith, parseSasToken } from "../ingress/sas.ts";

export interface Access {
  readonly namespace: Topic;
  readonly topic: Topic;
  /** Null: the request publishes. */
  readonly subscription: string | null;
}

/** Refusals: Unauthorized, InvalidSas, and those of `whyNoBearer`. */
export function authorizeAccess(
  access: Access,
  head: RequestHead,
  deps: AuthDeps & { readonly clock: Clock },
): Credential | Promise<Credential> {
  const { scheme, credential } = authorizationOf(head);
  const key = given(head, "aeg-sas-key");
  if (key !== undefined) return checkKey(access, [key.value, key.value.replaceAll(" ", "+")]);
  const token = given(head, "aeg-sas-token");
  const now = deps.clock.now();
  if (token !== undefined) return checkToken(access, head, token.value, now);
  switch (scheme) {
    case "sharedaccesskey":
      return checkKey(access, [credential]);
    case "sharedaccesssignature":
      return checkToken(access, head, credential, now);
    case "bearer":
      return checkBearer(credential, deps);
    case "":
      throw refuse(
        "The request has no credential: send Authorization with SharedAccessKey, " +
          "SharedAccessSignature or Bearer, or aeg-sas-key, or aeg-sas-token.",
      );
    default:
      throw refuse(
        "The Authorization scheme must be SharedAccessKey, SharedAccessSignature or Bearer.",
      );
  }
}

function checkKey({ namespace, topic }: Access, values: readonly string[]): Credential {
  for (const value of values) {
    const found = keyOf(topic, value) ?? keyOf(namespace, value);
    if (found !== null) return found;
  }
  throw refuse(`The key is neither of the namespace ${namespace.name} nor of this topic.`);
}

function checkToken(access: Access, head: RequestHead, text: string, now: Instant): Credential {
  const token = parseSasToken(text);
  if (token === null) {
    throw refuse("The SAS token is malformed: it must be r=<resource>&e=<expiry>&s=<signature>.");
  }
  const signer = [access.topic, access.namespace]
    .flatMap((record) => locksOf(record).signers)
    .find(({ key }) => isSignedWith(token, key));
  if (signer === undefined) {
    throw refuse("The SAS token was signed with no key of the namespace or of this topic.");
  }
  if (!opens(token.resource, access, (head.headers.host ?? "").toString())) {
    throw refuse(`The SAS token is for ${shownAs(token.resource)}, which does not cover this.`);
  }
  if (token.expiresAt <= now) {
    throw refuse(`The SAS token has expired: it was good until ${isoInstant(token.expiresAt)}.`);
  }
  return `sas ${signer.name}`;
}

/**
 * N-8: the namespace's URL opens all of it, a topic's all of the topic, and a subscription's what
 * is received from it. Whole segments count. A host is that of the request, or one that begins with
 * the namespace's name.
 */
function opens(resource: string, access: Access, host: string): boolean {
  const { namespace, subscription } = access;
  const [, itsHost = "", itsPath = ""] =
    /^(?:[a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)([^?#]*)/.exec(resource.toLowerCase()) ?? [];
  const name = namespace.name.toLowerCase();
  const isHost =
    bareHost(itsHost) === bareHost(host.toLowerCase()) || itsHost.split(/[.:]/, 1)[0] === name;
  if (!isHost) return false;
  const segments = itsPath.split("/").filter((segment) => segment !== "");
  const inside =
    segments[0] === "namespaces" && segments[1] === name ? segments.slice(2) : segments;
  const { topic } = splitTopicName(access.topic.name.toLowerCase());
  const path = [
    ...["topics", topic],
    ...(subscription === null ? [] : ["eventsubscriptions", subscription.toLowerCase()]),
  ];
  // Clients also sign the whole address of an operation.
  const bare = inside.map((segment, place) =>
    place === inside.length - 1 ? segment.replace(/:[a-z]+$/, "") : segment,
  );
  return bare.length <= path.length && bare.every((segment, place) => segment === path[place]);
}

/** Some clients leave out a default port. */
function bareHost(host: string): string {
  return host.replace(/:(?:80|443)$/, "");
}
