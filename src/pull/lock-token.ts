// Lock tokens (N-27): which delivery, of which subscription, under which lease, signed with the
// namespace's own secret, so that nobody can make one. Nothing is kept about them: any broker that
// has the namespace's record can read a token, also after a restart.

import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import type { Delivery } from "../core/delivery/delivery.ts";
import type { Lock } from "../core/pull/receivers.ts";
import type { SubscriptionId } from "../core/subscription.ts";
import type { Topic } from "../core/topic.ts";

const signatureBytes = 16;
const form = /^([0-9a-z]{1,11})\.([0-9a-z]{1,11})\.([0-9a-z]{1,11})$/;

/** A record is a new value after each change, so a cache keyed by it cannot be stale. */
const keys = new WeakMap<Topic, KeyObject>();

function keyOf(namespace: Topic): KeyObject {
  const known = keys.get(namespace) ?? createSecretKey(namespace.lockKey ?? "", "utf8");
  keys.set(namespace, known);
  return known;
}

function sign(namespace: Topic, text: string): Buffer {
  const whole = createHmac("sha256", keyOf(namespace)).update(text).digest();
  return whole.subarray(0, signatureBytes);
}

export function lockTokenOf(namespace: Topic, { id, lease }: Delivery): string {
  const text = [id.event, id.subscription, lease].map((part) => part.toString(36)).join(".");
  // The text comes first, so that a token begins with a letter: a command would take one that
  // begins with a hyphen for an option.
  return Buffer.concat([Buffer.from(text), sign(namespace, text)]).toString("base64url");
}

/** Null if it is not a token of this subscription. */
export function parseLockToken(
  namespace: Topic,
  subscription: SubscriptionId,
  token: string,
): Lock | null {
  if (!/^[\w-]{1,128}$/.test(token)) return null;
  const bytes = Buffer.from(token, "base64url");
  // Letters that stand for no bytes would make two texts of one token.
  if (bytes.toString("base64url") !== token) return null;
  const text = bytes.subarray(0, -signatureBytes).toString("latin1");
  const [, event = "", owner = "", lease = ""] = form.exec(text) ?? [];
  if (event === "" || Number.parseInt(owner, 36) !== subscription) return null;
  if (!timingSafeEqual(bytes.subarray(-signatureBytes), sign(namespace, text))) return null;
  return { event: Number.parseInt(event, 36), lease: Number.parseInt(lease, 36) };
}
