// Whether publishes can be written at present. After one that could not, a small record is written
// until that succeeds: publishers may have stopped meanwhile.

import type { Alarms } from "./alarms.ts";
import { oneLine, retryAfterMs } from "./database.ts";

export class WriteHealth {
  readonly #alarms: Alarms;
  readonly #probe: () => Promise<unknown>;
  #failure: string | null = null;

  constructor(alarms: Alarms, probe: () => Promise<unknown>) {
    this.#alarms = alarms;
    this.#probe = probe;
  }

  /** Of the last round of publishes; null: it was written. */
  get failure(): string | null {
    return this.#failure;
  }

  async watch<T>(write: () => Promise<T>): Promise<T> {
    try {
      const answer = await write();
      this.#failure = null;
      return answer;
    } catch (error) {
      if (this.#failure === null) this.#tryLater();
      this.#failure = oneLine((error as Error).cause ?? error);
      throw error;
    }
  }

  #tryLater(): void {
    this.#alarms.later(retryAfterMs, async () => {
      if (this.#failure === null) return;
      try {
        await this.#probe();
        this.#failure = null;
      } catch {
        this.#tryLater();
      }
    });
  }
}
