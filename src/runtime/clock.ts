// The real clock, for every day. Beside it stands virtual.ts, whose time moves only when told to.

import type { Activity, Clock, Instant } from "../core/ports.ts";

/**
 * The longest that one timer of the system is trusted with. A longer wait looks at the clock in
 * between: timers end at 2^31 ms, and a machine that was asleep has timers that do not know it.
 */
const timerMsMax = 60_000;

export function realClock(): Clock {
  const now = steady(Date.now);
  return {
    now,
    after(ms, ring) {
      if (!(ms > 0)) {
        const soon = setImmediate(ring);
        return () => clearImmediate(soon);
      }
      const dueAt = now() + ms;
      const look = () => {
        const leftMs = dueAt - now();
        if (leftMs <= 0) ring();
        else timer = setTimeout(look, Math.min(leftMs, timerMsMax));
      };
      let timer = setTimeout(look, Math.min(ms, timerMsMax));
      return () => clearTimeout(timer);
    },
  };
}

/**
 * A clock that never goes back, made of one that may. When the system's clock is set back, ours
 * goes on at half its pace until both agree again: nothing stands still, and the error heals.
 */
export function steady(read: () => number): () => Instant {
  let latest = read();
  /** The reading and our time when the system's clock was last set back; null: they agree. */
  let setBack: { readonly wall: number; readonly ours: Instant } | null = null;
  return () => {
    const wall = read();
    const time = setBack === null ? wall : setBack.ours + Math.floor((wall - setBack.wall) / 2);
    if (wall >= time) setBack = null;
    if (Math.max(wall, time) < latest) setBack = { wall, ours: latest };
    latest = Math.max(wall, time, latest);
    return latest;
  };
}

/** For the real clock, which waits for nobody. */
export const realActivity: Activity = { begin: () => () => {} };
