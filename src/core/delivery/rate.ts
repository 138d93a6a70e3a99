// How fast we send: requests to an endpoint that said in its handshake how many it allows, and
// events of a subscription that is being drained. So many a minute, evenly spaced. A law without a
// clock of its own; a pace belongs to one endpoint, whoever sends, or to one subscription.

import type { Instant } from "../ports.ts";

export interface Pace {
  readonly perMinute: number;
  /** Not rounded, so that rates beyond a request a millisecond are kept as well. */
  readonly nextAt: Instant;
}

const minuteMs = 60_000;
/** What is taken in hand ahead of its turn: as much as may go out in so long. */
const aheadMs = 1_000;

/** Keeps the turn of an endpoint whose rate has changed. Null: as fast as we can. */
export function changePace(pace: Pace | null, perMinute: number | null): Pace | null {
  if (perMinute === null || perMinute === pace?.perMinute) return perMinute === null ? null : pace;
  return { perMinute, nextAt: pace?.nextAt ?? 0 };
}

/** From a rate by the second. */
export function paceOf(perSecond: number): Pace {
  return { perMinute: perSecond * 60, nextAt: 0 };
}

/** When the next may go out. */
export function turnAt({ nextAt }: Pace): Instant {
  return Math.floor(nextAt);
}

/** After one that went out now, or several together. */
export function takeTurn({ perMinute, nextAt }: Pace, now: Instant, count = 1): Pace {
  return { perMinute, nextAt: Math.max(nextAt, now) + (count * minuteMs) / perMinute };
}

/** How many to have ready. */
export function readyAhead({ perMinute }: Pace): number {
  return Math.max(1, Math.floor((perMinute * aheadMs) / minuteMs));
}
