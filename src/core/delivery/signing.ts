// Signed deliveries: which secrets a subscription signs with, and how they are rotated. During a
// rotation a receiver that has the new or the old secret must be able to check every request, so
// several are active and each request is signed with all of them. Follows
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md.
//
// Pure, without clock or cryptography: the signature itself is made in egress/http/signature.ts.

import type { Instant } from "../ports.ts";

export interface SigningSecret {
  /** `whsec_` and the bytes of the key in base64. */
  readonly secret: string;
  /** Null: until it is replaced. Always null for the newest. */
  readonly expiresAt: Instant | null;
}

/** The newest first; none: deliveries are not signed. */
export type Signing = readonly SigningSecret[];

/** The most active secrets; a fourth replaces the oldest. */
export const signingSecretsMax = 3;

/** What the specification requires of a key. */
export const signingKeyBytes = { min: 24, max: 64 } as const;

/** The default time for which older secrets stay active. */
export const overlapMsDefault = 86_400_000;
export const overlapMsMax = 30 * 86_400_000;

export const secretPrefix = "whsec_";

export const signatureHeaderNames = [
  "webhook-id",
  "webhook-timestamp",
  "webhook-signature",
] as const;

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export function isSigningSecret(value: unknown): value is string {
  if (typeof value !== "string" || !value.startsWith(secretPrefix)) return false;
  const key = value.slice(secretPrefix.length);
  if (!base64.test(key)) return false;
  const bytes = (key.length / 4) * 3 - (key.length - key.replace(/=+$/, "").length);
  return bytes >= signingKeyBytes.min && bytes <= signingKeyBytes.max;
}

export function secretsInForce(signing: Signing, now: Instant): Signing {
  return signing.filter(({ expiresAt }) => expiresAt === null || expiresAt > now);
}

/** A new secret in front; older ones stay for the overlap, unless they end sooner. */
export function rotateSecrets(
  signing: Signing,
  { secret, overlapMs, now }: { secret: string; overlapMs: number; now: Instant },
): Signing {
  const endsAt = now + overlapMs;
  const before = secretsInForce(signing, now)
    .map((old) => ({ ...old, expiresAt: Math.min(old.expiresAt ?? endsAt, endsAt) }))
    .filter((old) => old.expiresAt > now);
  return [{ secret, expiresAt: null }, ...before].slice(0, signingSecretsMax);
}
