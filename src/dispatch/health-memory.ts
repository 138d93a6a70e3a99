// Keeps unhealthy endpoints over a restart, so that one that is known to be down does not get its
// whole backlog at once. A small record is written to the store when the kind of an endpoint's
// health changes, in the background: nothing waits for it, and only the latest state of each
// endpoint is written. A crash may lose the last change; then the state before it is used.

import { type Slot, slotOfKey } from "../core/cluster/slot.ts";
import {
  type Health,
  healthyStart,
  recallHealth,
  rememberedHealth,
} from "../core/delivery/health.ts";
import type { Clock, Log } from "../core/ports.ts";
import type { Memos, Trouble } from "../core/steering.ts";

/** The kind of memo, by endpoint. */
export const healthMemo = "endpoint.health";
const retryMs = 1_000;

export interface HealthMemoryDeps {
  readonly store: Memos;
  readonly clock: Clock;
  readonly log: Log;
}

export class HealthMemory {
  readonly #deps: HealthMemoryDeps;
  /** As in the store, or about to be; healthy ones are not stored. */
  readonly #remembered = new Map<string, Health>();
  /** What was the matter, for people; only of those remembered. */
  readonly #troubles = new Map<string, Trouble>();
  /** The records that are not yet written; null: to be removed. */
  readonly #changed = new Map<string, object | null>();
  #writing: Promise<void> | null = null;
  #callOff: (() => void) | null = null;
  #isClosed = false;

  constructor(deps: HealthMemoryDeps) {
    this.#deps = deps;
  }

  /** Before anything is sent to the endpoints of these slots. */
  async recall(isOf: (slot: Slot) => boolean): Promise<void> {
    const { store, clock } = this.#deps;
    for (const { key, record } of await store.notes(healthMemo)) {
      // The key of an endpoint, after a word about its rules.
      if (!isOf(slotOfKey(key.slice(key.indexOf(" ") + 1)))) continue;
      const health = recallHealth(record, clock.now());
      if (health === null) this.#changed.set(key, null);
      else {
        this.#remembered.set(key, health);
        if ("trouble" in record) this.#setTrouble(key, record.trouble as Trouble | null);
      }
    }
    this.#write();
  }

  healthOf(key: string): Health {
    return this.#remembered.get(key) ?? healthyStart;
  }

  troubleOf(key: string): Trouble | null {
    return this.#troubles.get(key) ?? null;
  }

  put(key: string, health: Health, trouble: Trouble | null = null): void {
    const before = this.#remembered.get(key) ?? null;
    const after = rememberedHealth(health, before);
    if (after === before || this.#isClosed) return;
    if (after === null) this.#remembered.delete(key);
    else this.#remembered.set(key, after);
    this.#setTrouble(key, after === null ? null : trouble);
    this.#changed.set(key, after && { ...after, trouble });
    this.#write();
  }

  /** Another broker goes on with the endpoint: its health is only forgotten here. */
  forget(key: string): void {
    this.#remembered.delete(key);
    this.#troubles.delete(key);
  }

  #setTrouble(key: string, trouble: Trouble | null): void {
    if (trouble === null) this.#troubles.delete(key);
    else this.#troubles.set(key, trouble);
  }

  /** Resolves when nothing is being written. */
  async written(): Promise<void> {
    await this.#writing;
  }

  /** Resolves when everything is written, or has failed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#callOff?.();
    if (this.#callOff !== null && this.#changed.size > 0) this.#write();
    await this.#writing;
  }

  #write(): void {
    this.#callOff = null;
    if (this.#writing !== null || this.#changed.size === 0) return;
    this.#writing = this.#writeAll().finally(() => {
      this.#writing = null;
    });
  }

  async #writeAll(): Promise<void> {
    const { store, clock, log } = this.#deps;
    while (this.#changed.size > 0) {
      // Together, so that they share a round of the store: each round with a memo ends with COMMIT.
      const batch = [...this.#changed];
      this.#changed.clear();
      const writes = batch.map(async ([key, record]) => {
        await store.putMemo(healthMemo, key, record);
      });
      const ends = await Promise.allSettled(writes);
      const failed = ends.find((end) => end.status === "rejected");
      if (failed === undefined) continue;
      for (const [index, [key, record]] of batch.entries()) {
        const isLost = ends[index]?.status === "rejected";
        if (isLost && !this.#changed.has(key)) this.#changed.set(key, record);
      }
      log.fact("warn", "store.failed", { verb: "putMemo", error: String(failed.reason) });
      if (!this.#isClosed) this.#callOff = clock.after(retryMs, () => this.#write());
      return;
    }
  }
}
