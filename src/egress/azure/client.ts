// What Azure's clients have in common here: they are loaded and made when the first event comes for
// them, because that takes a while and most brokers never need them; they make one try, because
// when the next one is made is the law's to say; and what they throw becomes an outcome.

import type { Outcome } from "../../core/delivery/outcome.ts";
import { silent } from "../http/exchange.ts";
import { silenceOf, wordsOf } from "../http/message.ts";

/** Makes a thing when it is first asked for; what could not be made is made anew the next time. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make().catch((error) => {
      made = null;
      throw error;
    });
    return made;
  };
}

let loading: Promise<unknown> = Promise.resolve();

/**
 * Loads one package after the other: they share parts in two module systems, and loaded at once one
 * would find what another has not finished.
 */
export function inTurn<T>(load: () => Promise<T>): Promise<T> {
  const loaded = loading.then(load);
  loading = loaded.catch(() => {});
  return loaded;
}

export const storageClientOptions = {
  retryOptions: { maxTries: 1 },
  userAgentOptions: { userAgentPrefix: "posthorn" },
} as const;

/**
 * A token that could not be had says nothing about who would have been shown it: it is as if it
 * were not good.
 */
export function isNoToken({ name }: Error): boolean {
  return /^(Authentication|CredentialUnavailable)/.test(name);
}

/** Of what the storage service, or whoever gives out tokens for it, made of a request. */
export function storageOutcome(error: Error & { statusCode?: number; code?: string }): Outcome {
  const { name, statusCode, code } = error;
  if (isNoToken(error)) return { kind: "answered", status: 401, detail: name };
  if (statusCode === undefined) return silent(silenceOf(error), wordsOf(error));
  // The client's own words of an answer may quote the request; its code does not.
  return { kind: "answered", status: statusCode, detail: code ?? name };
}
