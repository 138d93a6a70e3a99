// Generated ids: random in the broker, a fixed sequence where a run must be repeatable.
//
// The fixed sequence starts over with every process, so it is only for stores that do so too: with
// an older data folder it would give ids a second time.

import { hash, randomBytes, randomUUID } from "node:crypto";
import type { Ids } from "../core/ports.ts";

export function realIds(): Ids {
  return { next: () => randomUUID() };
}

/** An access key, in the form of Azure's. */
export function makeKey(): string {
  return randomBytes(32).toString("base64");
}

export function seededIds(seed: number): Ids {
  let count = 0;
  return {
    next() {
      const hex = hash("sha256", `${seed}\n${count++}`);
      // The version and variant digits say "random", as readers of UUIDs expect.
      const variant = (8 + (Number.parseInt(hex.charAt(15), 16) % 4)).toString(16);
      const ends = `${variant}${hex.slice(16, 19)}-${hex.slice(19, 31)}`;
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(12, 15)}-${ends}`;
    },
  };
}
