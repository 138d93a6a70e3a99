// Events that were accepted a moment ago and are still under way: they are held back, so that most
// are written once, when they are over. Whoever reads presses, and then nothing is held.

import type { Instant } from "../../core/ports.ts";
import { isOpen } from "../../core/story/chronicle.ts";
import type { Act, EventNotes } from "./group-notes.ts";

const heldMsMax = 2_000;
const heldMax = 4_000;

export class Held {
  #events = new Map<string, EventNotes>();
  /** The greatest number of the store's that was told. */
  #storedMax: number;

  constructor(storedMax: number) {
    this.#storedMax = storedMax;
  }

  get size(): number {
    return this.#events.size;
  }

  /** The store's number up to which all that was told is written. */
  get storedThrough(): number {
    let through = this.#storedMax;
    for (const { head } of this.#events.values()) {
      through = Math.min(through, (head?.number ?? Number.POSITIVE_INFINITY) - 1);
    }
    return through;
  }

  /** Takes what is told, and returns what is over, or cannot be held. */
  take(tellings: readonly EventNotes[], now: Instant): EventNotes[] {
    const due: EventNotes[] = [];
    for (const telling of tellings) {
      this.#storedMax = Math.max(this.#storedMax, telling.head?.number ?? 0);
      const known = this.#events.size === 0 ? undefined : this.#events.get(telling.event);
      if (known === undefined) {
        if (this.size < heldMax && isHeld(telling, now)) this.#events.set(telling.event, telling);
        else due.push(telling);
      } else {
        join(known, telling);
        if (isHeld(known, now)) continue;
        this.#events.delete(telling.event);
        due.push(known);
      }
    }
    return due;
  }

  /** Returns what has been held for long enough; with `isPressed`, all. */
  release(now: Instant, isPressed: boolean): EventNotes[] {
    const due: EventNotes[] = [];
    const held = new Map<string, EventNotes>();
    for (const telling of this.#events.values()) {
      if (!isPressed && isHeld(telling, now)) held.set(telling.event, telling);
      else due.push(telling);
    }
    this.#events = held;
    return due;
  }

  /** What was to be written could not be, and what is held may depend on it. */
  undo(): void {
    this.#events.clear();
  }
}

function join(known: EventNotes, { acts, ...later }: EventNotes): void {
  known.acts.push(...acts);
  if (later.isAccepted || known.head === null) {
    const { head, particulars, isAccepted, roll, text, acceptedAt } = later;
    Object.assign(known, { head, particulars, isAccepted, roll, text, acceptedAt });
  }
}

function isHeld(telling: EventNotes, now: Instant): boolean {
  const isYoung = (telling.head?.acceptedAt ?? 0) > now - heldMsMax;
  return telling.isAccepted && isYoung && isUnderWay(telling.acts);
}

/** Most events have few deliveries, for which a set would cost more than looking again. */
const fewActs = 16;

function isUnderWay(acts: readonly Act[]): boolean {
  if (acts.length <= fewActs) return acts.some((act, index) => isLeftOpen(act, acts, index));
  const open = new Set<number>();
  for (const { subscription, state } of acts) {
    if (state === "") continue;
    if (isOpen(state)) open.add(subscription);
    else open.delete(subscription);
  }
  return open.size > 0;
}

/** Whether it leaves its delivery open, and nothing later says how that ended. */
function isLeftOpen({ subscription, state }: Act, acts: readonly Act[], index: number): boolean {
  if (state === "" || !isOpen(state)) return false;
  for (let later = index + 1; later < acts.length; later += 1) {
    const act = acts[later] as Act;
    if (act.subscription === subscription && act.state !== "") return false;
  }
  return true;
}
