// Whether a text is one of a few keys, in constant time; and what stands for something secret.

import { hash, timingSafeEqual } from "node:crypto";

/** Empty keys match nothing. */
export function openKeys(keys: readonly (string | null)[]): (given: string) => boolean {
  const digests = keys
    .filter((key) => key !== null && key !== "")
    .map((key) => digestOf(key ?? ""));
  return (given) => {
    const digest = digestOf(given);
    // All of them are compared, so that the time does not depend on the key.
    return digests.filter((each) => timingSafeEqual(each, digest)).length > 0;
  };
}

function digestOf(text: string): Buffer {
  return Buffer.from(hash("sha256", text), "hex");
}

/** Equal for what is equal, and says nothing about it. */
export function fingerprintOf(what: unknown): string {
  return hash("sha256", JSON.stringify(what)).slice(0, 16);
}
