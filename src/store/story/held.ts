// Events that were accepted a moment ago and are still under way: they are held back, so that most
// are written once, when they are over. Whoever reads presses, and then nothing is held.

import type { Instant } from "../../core/ports.ts";
import { isOpen } from "../../core/story/chronicle.ts";
import type { EventNotes } from "./group-notes.ts";

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

  /** Takes what is told, and returns what is to be written now, the earliest first. */
  exchange(tellings: readonly EventNotes[], now: Instant, isPressed: boolean): EventNotes[] {
    const before = this.#events;
    const fresh: EventNotes[] = [];
    for (const telling of tellings) {
      this.#storedMax = Math.max(this.#storedMax, telling.head?.number ?? 0);
      const known = before.size === 0 ? undefined : before.get(telling.event);
      if (known === undefined) fresh.push(telling);
      else join(known, telling);
    }
    this.#events = new Map();
    const due: EventNotes[] = [];
    for (const some of [before.values(), fresh]) {
      for (const telling of some) {
        if (isPressed || !this.#isHeld(telling, now)) due.push(telling);
        else this.#events.set(telling.event, telling);
      }
    }
    return due;
  }

  #isHeld(telling: EventNotes, now: Instant): boolean {
    const isYoung = (telling.head?.acceptedAt ?? 0) > now - heldMsMax;
    return telling.isAccepted && isYoung && this.size < heldMax && isUnderWay(telling);
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

function isUnderWay({ acts }: EventNotes): boolean {
  const open = new Set<number>();
  for (const { subscription, state } of acts) {
    if (state === "") continue;
    if (isOpen(state)) open.add(subscription);
    else open.delete(subscription);
  }
  return open.size > 0;
}
