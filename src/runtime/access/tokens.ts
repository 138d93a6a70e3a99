// Bearer tokens: those of our own sign-in, which count as the admin key for an hour, and those of a
// configured Entra issuer, which may publish.
//
// Real time, also under a virtual clock: a token's lifetime was set by another clock. An invalid
// token is a sentence, without the token; only an issuer whose keys cannot be read is a refusal.

import { hash, hkdfSync, timingSafeEqual } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import type { JWTPayload, JWTVerifyGetKey } from "jose";
import type { Log } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";

export interface EntraTerms {
  readonly issuer: string;
  /** Any of these. */
  readonly audiences: readonly string[];
  /** The issuer's public keys, as a path or a URL. */
  readonly jwks: string;
}

export interface Tokens {
  isAdminKey(key: string): boolean;
  /** A token that counts as the admin key, or an id token that only names the user. */
  issue(kind: "access" | "id", claims: Readonly<Record<string, string>>): Promise<string>;
  /** Null when the token is the admin key or counts as it, otherwise why not. */
  whyNoAdmin(token: string): Promise<string | null>;
  /** Null when the token may publish, otherwise why not. Refusal: Unavailable. */
  whyNoBearer(token: string): Promise<string | null>;
}

export const tokenLifeMs = 3_600_000;

/** The type in a token's head, so that an id token is never accepted for access. */
const types = { access: "at+jwt", id: "JWT" } as const;

export function openTokens(deps: {
  readonly adminKey: string;
  readonly entra: EntraTerms | null;
  readonly now?: () => number;
  readonly log: Log;
}): Tokens {
  const { adminKey, entra, now = Date.now, log } = deps;
  const secret = new Uint8Array(hkdfSync("sha256", adminKey, "", "posthorn sign-in", 32));
  const keyDigest = digest(adminKey);
  const issuerKeys = entra && openKeys(entra.jwks, log);
  const currentDate = () => new Date(now());
  const isAdminKey = (key: string) => timingSafeEqual(digest(key), keyDigest);
  const whyNotOurs = (token: string) =>
    whyNot(async (jose) => {
      const options = { algorithms: ["HS256"], typ: types.access, currentDate: currentDate() };
      await jose.jwtVerify(token, secret, options);
    });
  const whyNotEntra = (token: string, { issuer, audiences }: EntraTerms) =>
    whyNot(async (jose) => {
      await jose.jwtVerify(token, issuerKeys as JWTVerifyGetKey, {
        issuer,
        audience: [...audiences],
        algorithms: publicAlgorithms,
        requiredClaims: ["exp"],
        clockTolerance: skewSeconds,
        currentDate: currentDate(),
      });
    });
  return {
    isAdminKey,
    async issue(kind, claims) {
      const { SignJWT } = await import("jose");
      const at = Math.floor(now() / 1000);
      const payload: JWTPayload = { ...claims, iat: at, nbf: at, exp: at + tokenLifeMs / 1000 };
      return await new SignJWT(payload)
        .setProtectedHeader({ alg: "HS256", typ: types[kind] })
        .sign(secret);
    },
    whyNoAdmin: async (token) => (isAdminKey(token) ? null : await whyNotOurs(token)),
    async whyNoBearer(token) {
      if (isAdminKey(token)) return null;
      const isOurs = (await algorithmOf(token)) === "HS256";
      return isOurs || entra === null ? await whyNotOurs(token) : await whyNotEntra(token, entra);
    },
  };
}

/** Only asymmetric algorithms: a shared secret is not among these. */
const publicAlgorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384"];

/** The allowed difference between the issuer's clock and ours. */
const skewSeconds = 300;

/** Digests have one length, so that comparing them says nothing about the key. */
function digest(key: string): Buffer {
  return hash("sha256", key, "buffer");
}

type Jose = typeof import("jose");

/** A message about why a token is refused; our own errors are thrown. */
async function whyNot(check: (jose: Jose) => Promise<void>): Promise<string | null> {
  const jose = await import("jose");
  const { errors } = jose;
  try {
    await check(jose);
    return null;
  } catch (error) {
    if (error instanceof errors.JWTExpired) return "The bearer token has expired.";
    if (error instanceof errors.JWTClaimValidationFailed) {
      return `The bearer token is not meant for this broker: its claim "${error.claim}" does not fit.`;
    }
    const isForeign =
      error instanceof errors.JWSSignatureVerificationFailed ||
      error instanceof errors.JWKSNoMatchingKey ||
      error instanceof errors.JOSEAlgNotAllowed;
    if (isForeign)
      return "The bearer token was signed by an issuer that this broker does not trust.";
    if (error instanceof errors.JOSEError) {
      return "The bearer token is neither the admin key nor a well-formed token.";
    }
    throw error;
  }
}

async function algorithmOf(token: string): Promise<string | undefined> {
  const { decodeProtectedHeader } = await import("jose");
  try {
    return decodeProtectedHeader(token).alg;
  } catch {
    return undefined;
  }
}

const keysTimeoutMs = 5_000;

/** Read with the first token, and again when they may have changed. */
function openKeys(source: string, log: Log): JWTVerifyGetKey {
  const find = /^https?:/i.test(source) ? remoteKeys(source) : fileKeys(source);
  return async (...asked) => {
    const { errors } = await import("jose");
    try {
      return await find(...asked);
    } catch (error) {
      const isAnswer =
        error instanceof errors.JWKSNoMatchingKey ||
        error instanceof errors.JWKSMultipleMatchingKeys;
      if (isAnswer) throw error;
      log.fact("warn", "entra.keysFailed", { source, error: String(error) });
      const words = "The keys of the token's issuer cannot be read at the moment.";
      throw new Refusal("Unavailable", words, { retryAfterMs: keysTimeoutMs, cause: error });
    }
  };
}

function remoteKeys(url: string): JWTVerifyGetKey {
  let find: JWTVerifyGetKey | null = null;
  return async (...asked) => {
    const { createRemoteJWKSet } = await import("jose");
    find ??= createRemoteJWKSet(new URL(url), { timeoutDuration: keysTimeoutMs });
    return await find(...asked);
  };
}

function fileKeys(path: string): JWTVerifyGetKey {
  let find: JWTVerifyGetKey | null = null;
  let readAt = 0;
  return async (...asked) => {
    const { createLocalJWKSet } = await import("jose");
    const changedAt = statSync(path).mtimeMs;
    if (find === null || changedAt !== readAt) {
      find = createLocalJWKSet(JSON.parse(readFileSync(path, "utf8")));
      readAt = changedAt;
    }
    return await find(...asked);
  };
}
