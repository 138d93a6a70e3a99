// How wrong credentials are answered: the first few at once, and then more and more slowly for each
// address, so that keys cannot be tried out quickly. A right credential is never slowed down.

import type { Instant } from "../ports.ts";

/** What is kept of an address that sent wrong credentials. */
export interface Guesses {
  readonly count: number;
  readonly lastAt: Instant;
}

/** Enough for a mistyped key, or for a client with an old key. */
const free = 20;
const firstDelayMs = 100;
const delayMsMax = 2_000;
/** After this time without a wrong credential, an address is removed. */
const forgottenMs = 600_000;

export function guessesAfter(before: Guesses | undefined, at: Instant): Guesses {
  const isOver = before === undefined || at - before.lastAt >= forgottenMs;
  return { count: isOver ? 1 : before.count + 1, lastAt: at };
}

export function delayOf({ count }: Guesses): number {
  return count <= free ? 0 : Math.min(delayMsMax, firstDelayMs * 2 ** (count - free - 1));
}

/** The key for an address: for IPv6 the whole network, because a client usually has all of it. */
export function guesserOf(remote: string): string {
  if (!remote.includes(":")) return remote;
  const [address = ""] = remote.split("%", 1);
  const [front = "", back] = address.split("::");
  const groups = front.split(":").filter((group) => group !== "");
  const behind = back?.split(":").filter((group) => group !== "").length ?? 0;
  const zeros = back === undefined ? 0 : Math.max(0, 8 - groups.length - behind);
  return [...groups, ...Array<string>(zeros).fill("0")].slice(0, 4).join(":");
}
