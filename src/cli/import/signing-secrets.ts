// Signing secrets in what is exported, imported and compared: the broker returns them on request,
// and elsewhere as `Hidden`. They are exported like other secrets, or become parameters.

import { addressOf } from "../../core/azure/arm-id.ts";
import { isObject } from "../../core/template/expression.ts";
import type { Members } from "../../core/text/wording.ts";
import { isInNamespace } from "./az-shape.ts";

/** The part of a client that is needed here. */
interface Asking {
  ask(method: string, path: string): Promise<{ readonly status: number; readonly body: Members }>;
}

/** Where our own API has something of a subscription. */
export function ownPath(id: string, what: string): string {
  const segments = (addressOf(id)?.label ?? "").split("/");
  // A topic of a namespace is one name to us.
  if (isInNamespace(id)) segments.unshift(segments.splice(0, 2).join("/"));
  const [topic, ...rest] = segments.map(encodeURIComponent);
  const within = rest.length > 1 ? `?domainTopic=${rest[0]}` : "";
  return `/api/v1/topics/${topic}/subscriptions/${rest.at(-1)}/${what}${within}`;
}

/** The active ones, the newest first; none if deliveries are not signed. */
export async function signingOf(client: Asking, id: string): Promise<readonly Members[]> {
  const { status, body } = await client.ask("GET", ownPath(id, "signing"));
  return status === 200 && Array.isArray(body.secrets) ? body.secrets.filter(isObject) : [];
}

/**
 * Posthorn's own settings of a subscription with their secrets in clear, or as `hide` replaces
 * them.
 */
export function ownWithSecrets(
  posthorn: unknown,
  signing: readonly Members[],
  hide: ((wish: string) => string) | null,
): Members {
  if (!isObject(posthorn)) return {};
  const { flow, signing: shown, ...rest } = posthorn;
  const secrets = signing.map(({ secret, expiresAt }, index) => ({
    secret: hide === null ? String(secret) : hide(`signing_${index + 1}`),
    ...((expiresAt ?? null) !== null && { expiresAt }),
  }));
  const own = {
    ...rest,
    ...(isObject(flow) && { flow: flowToSay(flow) }),
    ...(isObject(shown) && { signing: { secrets } }),
  };
  return Object.keys(own).length === 0 ? {} : { posthorn: own };
}

/** Since when it is paused counts for the events that wait, and nowhere else. */
function flowToSay({ kind, perSecond }: Members): Members {
  return { kind, ...(perSecond !== undefined && { perSecond }) };
}

/** The wanted settings, with those kept by leaving them out or by `Hidden`. */
export function ownToCompare(posthorn: unknown, signing: readonly Members[]): Members {
  if (!isObject(posthorn)) return {};
  const { splitOnFailure, preferredBatchSizeInBytes, signing: wanted } = posthorn;
  const secrets = isObject(wanted) ? (wanted.secrets ?? signing) : [];
  return {
    ...(splitOnFailure === true && { splitOnFailure }),
    preferredBatchSizeInBytes,
    signing: Array.isArray(secrets) ? secrets.map((each, at) => toCompare(each, signing[at])) : [],
  };
}

function toCompare(wanted: unknown, stored: Members | undefined): unknown {
  if (!isObject(wanted)) return wanted;
  const { secret, expiresAt } = wanted;
  const end = typeof expiresAt === "string" ? Date.parse(expiresAt) : null;
  return [secret === "Hidden" ? (stored?.secret ?? secret) : secret, end];
}
