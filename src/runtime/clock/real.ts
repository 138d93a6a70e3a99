// The real clock. virtual.ts is the one whose time moves on request.

import { Chain, type Linked } from "../../core/chain.ts";
import type { Activity, Clock, Instant } from "../../core/ports.ts";

/**
 * The longest single timer. A longer wait checks the clock in between: timers are limited to 2^31
 * ms, and a machine's sleep does not count in them.
 */
const timerMsMax = 60_000;

/**
 * The most alarms of one length in one turn of the event loop. Sends that were started together
 * time out together, by the hundred: who publishes meanwhile must not wait for all of them.
 */
const rungPerTurnMax = 16;

/** `onSetBack`: called when the system's clock goes back, with how far it is behind ours. */
export function realClock(onSetBack?: (byMs: number) => void): Clock {
  const now = steady({ wall: Date.now, elapsed: () => performance.now(), onSetBack });
  /** By length. */
  const waits = new Map<number, Wait>();
  return {
    now,
    after(ms, ring) {
      if (!(ms > 0)) {
        const soon = setImmediate(ring);
        return () => clearImmediate(soon);
      }
      let wait = waits.get(ms);
      if (wait === undefined) {
        wait = new Wait(ms, { now, onOver: () => waits.delete(ms) });
        waits.set(ms, wait);
      }
      return wait.add(ring);
    },
  };
}

interface Alarm extends Linked<Alarm> {
  readonly dueAt: Instant;
  readonly ring: () => void;
}

/**
 * All alarms of one length. They ring in the order in which they were set, so that one timer, for
 * the first of them, is enough. Nearly every alarm is the timeout of a send that is answered, and
 * is cancelled: then it costs a place in a chain, and no timer.
 */
class Wait {
  readonly #ms: number;
  readonly #deps: { readonly now: () => Instant; readonly onOver: () => void };
  readonly #alarms = new Chain<Alarm>();
  #timer: NodeJS.Timeout;

  constructor(ms: number, deps: { readonly now: () => Instant; readonly onOver: () => void }) {
    this.#ms = ms;
    this.#deps = deps;
    this.#timer = this.#start(ms);
  }

  add(ring: () => void): () => void {
    const alarms = this.#alarms;
    if (alarms.first === null) this.#timer.ref();
    const dueAt = this.#deps.now() + this.#ms;
    const alarm: Alarm = { dueAt, ring, before: null, after: null };
    alarms.add(alarm);
    return () => {
      // Without alarms the timer goes on, in case there are new ones soon, but does not keep the
      // process alive.
      if (alarms.remove(alarm) && alarms.first === null) this.#timer.unref();
    };
  }

  #start(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#look(), Math.min(ms, timerMsMax));
  }

  #look(): void {
    // One reading for all: an alarm set while others ring never rings in the same turn.
    const now = this.#deps.now();
    let rung = 0;
    const alarms = this.#alarms;
    for (let alarm = alarms.first; alarm !== null; alarm = alarms.first) {
      const leftMs = alarm.dueAt - now;
      if (leftMs > 0) {
        this.#timer = this.#start(leftMs);
        return;
      }
      if (rung === rungPerTurnMax) {
        setImmediate(() => this.#look());
        return;
      }
      rung += 1;
      alarms.remove(alarm);
      alarm.ring();
    }
    this.#deps.onOver();
  }
}

/** How far a clock that was set back is followed. */
const followedMsMax = 5 * 60_000;

/**
 * A clock that never goes back, made of one that may (`wall`) and of one that only counts
 * (`elapsed`). When the system's clock is set back a little, ours runs at half speed until both
 * agree again: nothing stands still, and the error goes away. When it is set back further, that
 * would take too long: ours runs at normal speed, ahead of the system's until that is corrected or
 * the process ends.
 */
export function steady(given: {
  readonly wall: () => number;
  readonly elapsed: () => number;
  readonly onSetBack?: ((byMs: number) => void) | undefined;
}): () => Instant {
  let latest = given.wall();
  /** Our time when the system's clock was last set back, and since; null: they agree. */
  let setBack: { readonly at: number; readonly ours: Instant; readonly pace: number } | null = null;
  return () => {
    const wall = given.wall();
    const gone = setBack === null ? 0 : (given.elapsed() - setBack.at) * setBack.pace;
    const time = setBack === null ? wall : setBack.ours + Math.floor(gone);
    if (wall >= time) setBack = null;
    if (setBack === null && wall < latest) {
      const byMs = latest - wall;
      const pace = byMs > followedMsMax ? 1 : 0.5;
      setBack = { at: given.elapsed(), ours: latest, pace };
      given.onSetBack?.(byMs);
    }
    latest = Math.max(wall, time, latest);
    return latest;
  };
}

/** For the real clock, which waits for nothing. */
export const realActivity: Activity = { begin: () => ended };

function ended(): void {}

// A steady beat in real time, also under a virtual clock: for live views. It does not keep the
// process alive.

export function startBeat(everyMs: number, ring: () => void): () => void {
  const timer = setInterval(ring, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

// A stopwatch, for measurements and never for decisions: it runs while a virtual clock stands
// still.

/** The result returns how many seconds have passed since. */
export function startWatch(): () => number {
  const startedMs = performance.now();
  return () => (performance.now() - startedMs) / 1000;
}
