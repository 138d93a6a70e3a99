// Send rates: requests to an endpoint that allows a number per minute in its handshake, and events
// of a subscription that drains, both evenly spaced. A pure function without a clock; a rate
// belongs to one endpoint, with all its senders, or to one subscription.

import type { Instant } from "../ports.ts";

export interface Pace {
  readonly perMinute: number;
  /** Not rounded, so that rates above one request per millisecond work too. */
  readonly nextAt: Instant;
}

const minuteMs = 60_000;
/** Claimed ahead of its turn: as much as may be sent in this time. */
const aheadMs = 1_000;

/** Keeps the next turn of an endpoint whose rate has changed. Null: no limit. */
export function changePace(pace: Pace | null, perMinute: number | null): Pace | null {
  if (perMinute === null || perMinute === pace?.perMinute) return perMinute === null ? null : pace;
  return { perMinute, nextAt: pace?.nextAt ?? 0 };
}

/** From a rate per second. */
export function paceOf(perSecond: number): Pace {
  return { perMinute: perSecond * 60, nextAt: 0 };
}

/** When the next one may be sent. */
export function turnAt({ nextAt }: Pace): Instant {
  return Math.floor(nextAt);
}

/** After one that was sent now, or several together. */
export function takeTurn({ perMinute, nextAt }: Pace, now: Instant, count = 1): Pace {
  return { perMinute, nextAt: Math.max(nextAt, now) + (count * minuteMs) / perMinute };
}

/** How many to have ready. */
export function readyAhead({ perMinute }: Pace): number {
  return Math.max(1, Math.floor((perMinute * aheadMs) / minuteMs));
}
