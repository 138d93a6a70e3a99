// What Azure's clients have in common here: they are loaded with their first event, because that
// takes a while and most brokers never need them; they make one attempt, because the retry rules
// decide about the next; and their errors become outcomes.

import type { Outcome } from "../../core/delivery/outcome.ts";
import { silent } from "../http/exchange.ts";
import { silenceOf, wordsOf } from "../http/message.ts";

/** Creates something on first use; after a failure it is created again the next time. */
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
 * Loads one package after the other: they share parts in two module systems, and loaded in parallel
 * one would find parts that another has not finished.
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

/** If no token could be obtained, the outcome is the same as for an invalid token. */
export function isNoToken({ name }: Error): boolean {
  return /^(Authentication|CredentialUnavailable)/.test(name);
}

/** The result of a request to the storage service, or of its token request. */
export function storageOutcome(error: Error & { statusCode?: number; code?: string }): Outcome {
  const { name, statusCode, code } = error;
  if (isNoToken(error)) return { kind: "answered", status: 401, detail: name };
  if (statusCode === undefined) return silent(silenceOf(error), wordsOf(error));
  // The client's own message may quote the request; its code does not.
  return { kind: "answered", status: statusCode, detail: code ?? name };
}
