// Numbers for events, taken from the database in ranges: so they are known before an event is
// written, and nobody waits for another broker.

import type { Session } from "./database.ts";

/** As the sequence counts in schema.ts. */
const rangeLength = 4096;
const nextRange = { name: "next_range", text: "select nextval('event_numbers')" };
const lastRange = { name: "last_range", text: "select last_value from event_numbers" };

export class EventNumbers {
  readonly #database: Session;
  #next = 0;
  #left = 0;

  constructor(database: Session) {
    this.#database = database;
  }

  async take(count: number): Promise<readonly number[]> {
    const numbers: number[] = [];
    while (numbers.length < count) {
      if (this.#left === 0) await this.#fill();
      const some = Math.min(this.#left, count - numbers.length);
      for (let index = 0; index < some; index++) numbers.push(this.#next + index);
      this.#next += some;
      this.#left -= some;
    }
    return numbers;
  }

  /** No number given out so far, by anyone, is higher; ours are from now on. */
  async bound(): Promise<number> {
    this.#left = 0;
    const [row] = await this.#database.query(lastRange);
    return row?.[0] as number;
  }

  async #fill(): Promise<void> {
    const [row] = await this.#database.query(nextRange);
    // Another round may have filled it meanwhile: then that range is lost, and it does not matter.
    this.#next = (row?.[0] as number) - rangeLength + 1;
    this.#left = rangeLength;
  }
}
