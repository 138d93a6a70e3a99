// The signing secrets under `posthorn.signing`: read, and shown as `Hidden` except by the routes
// made for it (api/signing.ts). Writing back `Hidden` keeps a secret.

import {
  isSigningSecret,
  type Signing,
  type SigningSecret,
  secretPrefix,
  signatureHeaderNames,
  signingKeyBytes,
  signingSecretsMax,
} from "../../core/delivery/signing.ts";
import type { Instant } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import { isAskable, type SubscriptionTerms } from "../../core/subscription.ts";
import { isoInstant, parseInstant } from "../../core/text/time.ts";
import { checkMembers, refuseValue } from "../../core/text/wording.ts";

/** Shown instead of a secret. */
const hidden = "Hidden";

export interface SigningContext {
  readonly stored: Signing;
  /** 32 random bytes in base64. Without it secrets cannot be generated, and have to be given. */
  readonly makeKey?: (() => string) | undefined;
}

export function makeSecret(makeKey: () => string): string {
  return secretPrefix + makeKey();
}

/** Without `secrets`, the stored ones stay, or the first is generated. Refusal: InvalidSetting. */
export function checkSigning(
  value: unknown,
  field: string,
  { stored, makeKey }: SigningContext,
): Signing {
  if ((value ?? null) === null) return [];
  const { secrets } = checkMembers(value, field, ["secrets"]);
  if ((secrets ?? null) !== null) return checkSecrets(secrets, `${field}.secrets`, stored);
  if (stored.length > 0) return stored;
  if (makeKey !== undefined) return [{ secret: makeSecret(makeKey), expiresAt: null }];
  const words = `${field}.secrets must be there: in a file, secrets have to be written`;
  throw new Refusal("InvalidSetting", words, { target: `${field}.secrets` });
}

function checkSecrets(value: unknown, field: string, stored: Signing): Signing {
  if (!Array.isArray(value) || value.length === 0 || value.length > signingSecretsMax) {
    const allowed = `a list of one to ${signingSecretsMax} secrets, the newest first`;
    throw refuseValue({ field, value, allowed, secret: true });
  }
  const isKept = value.length === stored.length;
  const signing = value.map((each: unknown, index) =>
    checkOne(each, `${field}[${index}]`, isKept ? stored[index] : undefined),
  );
  const again = signing.findIndex(({ secret }, index) =>
    signing.slice(0, index).some((other) => other.secret === secret),
  );
  if (again >= 0) {
    const target = `${field}[${again}].secret`;
    throw new Refusal("InvalidSetting", `${target} must be another than those before it`, {
      target,
    });
  }
  if (signing[0]?.expiresAt === null) return signing;
  const target = `${field}[0].expiresAt`;
  const words = `${target} must be left out: the newest secret stays until another follows`;
  throw new Refusal("InvalidSetting", words, { target });
}

function checkOne(value: unknown, field: string, stored: SigningSecret | undefined): SigningSecret {
  const { secret, expiresAt } = checkMembers(value, field, ["secret", "expiresAt"]);
  const end = checkEnd(expiresAt ?? null, `${field}.expiresAt`);
  if (secret === hidden && stored !== undefined) return { secret: stored.secret, expiresAt: end };
  return { secret: checkSecret(secret, `${field}.secret`), expiresAt: end };
}

/** Refusal: InvalidSetting, which does not repeat the secret. */
export function checkSecret(value: unknown, field: string): string {
  if (isSigningSecret(value)) return value;
  const { min, max } = signingKeyBytes;
  const allowed = `${secretPrefix} and ${min} to ${max} bytes in base64`;
  throw refuseValue({ field, value, allowed, secret: true });
}

function checkEnd(value: unknown, field: string): Instant | null {
  if (value === null) return null;
  if (typeof value === "string") return parseInstant(value, field);
  throw refuseValue({ field, value, allowed: "an ISO 8601 instant or null" });
}

/** Refusal: InvalidSetting, for what cannot be signed or would be signed twice. */
export function refuseUnsignable(
  { signing, destination, headers }: SubscriptionTerms,
  field: string,
): void {
  if (signing.length === 0) return;
  if (!isAskable(destination)) {
    const why = "only requests to webhooks and functions can be signed";
    throw new Refusal("InvalidSetting", `${field} must be null: ${why}`, { target: field });
  }
  const names: readonly string[] = signatureHeaderNames;
  const taken = headers.find(({ name }) => names.includes(name.toLowerCase()));
  if (taken === undefined) return;
  const why = `there is a delivery attribute ${taken.name}, which is a header of the signature`;
  throw new Refusal("InvalidSetting", `${field} must be null: ${why}`, { target: field });
}

export function renderSigning(
  signing: Signing,
  { showsSecrets }: { readonly showsSecrets: boolean },
): { secrets: { secret: string; expiresAt: string | null }[] } {
  return {
    secrets: signing.map(({ secret, expiresAt }) => ({
      secret: showsSecrets ? secret : hidden,
      expiresAt: expiresAt === null ? null : isoInstant(expiresAt),
    })),
  };
}
