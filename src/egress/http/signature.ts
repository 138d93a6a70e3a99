// Signs requests as in Standard Webhooks: an id that is the same in all attempts, the time of this
// one, and a signature of both and the body for every active secret. A subscription without secrets
// gets exactly what Event Grid sends.

import { createHash, createHmac } from "node:crypto";
import { type Signing, secretPrefix, secretsInForce } from "../../core/delivery/signing.ts";
import type { Parcel } from "../../core/delivery/sink.ts";
import type { Instant } from "../../core/ports.ts";
import { joinHeaders } from "../../core/text/header-names.ts";
import type { Post } from "./message.ts";

export function sign(post: Post, parcel: Parcel, now: Instant): Post {
  const { signing } = parcel.subscription;
  if (signing.length === 0) return post;
  const headers = signatureHeaders({
    id: idOf(parcel),
    sentAt: now,
    body: post.body,
    secrets: secretsInForce(signing, now),
  });
  const { method, path, body } = post;
  return { method, path, body, headers: joinHeaders(post.headers, headers) };
}

/**
 * A receiver drops duplicates by this id. So it identifies the delivery and not the event, which
 * another subscription may send to the same endpoint; and for a batch it depends on all its events,
 * because events that failed together may be sent again in different batches.
 */
function idOf({ subscription, deliveries }: Parcel): string {
  const ids = deliveries.map(({ event }) => event.systemId);
  if (ids.length === 1) return `${ids[0]}-${subscription.id}`;
  return `batch-${createHash("sha256").update(ids.join("\n")).digest("hex")}-${subscription.id}`;
}

function signatureHeaders(what: {
  readonly id: string;
  readonly sentAt: Instant;
  readonly body: string;
  readonly secrets: Signing;
}): Record<string, string> {
  const seconds = Math.floor(what.sentAt / 1000);
  const signed = `${what.id}.${seconds}.${what.body}`;
  const signatures = what.secrets.map(({ secret }) => {
    const key = Buffer.from(secret.slice(secretPrefix.length), "base64");
    return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
  });
  return {
    "webhook-id": what.id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signatures.join(" "),
  };
}
