// When a dead letter is written (L-3): after the pause, and together with others that were given up
// at about the same time, so that a bad minute is a few blobs and not hundreds. The first of them
// is written when its pause is over, to the millisecond; those given up a little later wait for one
// another until the end of a short window. Nothing is ever written before its own pause is over.

import type { Instant } from "../ports.ts";

/** When the first of those that are written together was given up. */
export interface LetterWindow {
  readonly since: Instant;
}

/** The pause has so many windows. */
const windowsPerPause = 30;

export function gatherLetter(
  window: LetterWindow | null,
  now: Instant,
  pauseMs: number,
): { readonly window: LetterWindow; readonly at: Instant } {
  const windowMs = Math.floor(pauseMs / windowsPerPause);
  if (window === null || now < window.since || now > window.since + windowMs) {
    return { window: { since: now }, at: now + pauseMs };
  }
  const isFirst = now === window.since;
  return { window, at: window.since + pauseMs + (isFirst ? 0 : windowMs) };
}
