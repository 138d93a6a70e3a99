// Alarms in the order in which they ring: by time, and within one time in the order in which they
// were set. A binary heap in which each alarm knows its position, so that a cancelled one is
// removed at once: most alarms are timeouts of sends that are answered, and must not pile up while
// time stands still.

import type { Instant } from "../../core/ports.ts";

export interface Alarm {
  readonly at: Instant;
  /** Position in the order of creation. */
  readonly order: number;
  readonly ring: () => void;
  /** Index in the heap; -1 once it has left. */
  place: number;
}

export class AlarmHeap {
  readonly #alarms: Alarm[] = [];
  #created = 0;

  /** How many were ever set: a limit for "those there before now". */
  get created(): number {
    return this.#created;
  }

  get size(): number {
    return this.#alarms.length;
  }

  add(at: Instant, ring: () => void): Alarm {
    const alarm = { at, order: this.#created++, ring, place: this.#alarms.length };
    this.#alarms.push(alarm);
    this.#rise(alarm);
    return alarm;
  }

  first(): Alarm | undefined {
    return this.#alarms[0];
  }

  /** Removing one that has left already is no error. */
  remove(alarm: Alarm): void {
    const { place } = alarm;
    if (place < 0) return;
    alarm.place = -1;
    const last = this.#alarms.pop();
    if (last === undefined || last === alarm) return;
    this.#put(last, place);
    this.#rise(last);
    this.#sink(last);
  }

  #rise(alarm: Alarm): void {
    while (alarm.place > 0) {
      const above = this.#alarms[(alarm.place - 1) >> 1];
      if (above === undefined || !isBefore(alarm, above)) return;
      this.#swap(alarm, above);
    }
  }

  #sink(alarm: Alarm): void {
    for (;;) {
      const left = this.#alarms[2 * alarm.place + 1];
      const right = this.#alarms[2 * alarm.place + 2];
      const below = left && right && isBefore(right, left) ? right : left;
      if (below === undefined || !isBefore(below, alarm)) return;
      this.#swap(below, alarm);
    }
  }

  #swap(one: Alarm, other: Alarm): void {
    const place = one.place;
    this.#put(one, other.place);
    this.#put(other, place);
  }

  #put(alarm: Alarm, place: number): void {
    this.#alarms[place] = alarm;
    alarm.place = place;
  }
}

function isBefore(one: Alarm, other: Alarm): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
