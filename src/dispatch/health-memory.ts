// Keeps unhealthy endpoints over a restart, so that one that is known to be down does not get its
// whole backlog at once. A small record is written to the store when the kind of an endpoint's
// health changes, in the background: nothing waits for it, and only the latest state of each
// endpoint is written. A crash may lose the last change; then the state before it is used.

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
  /** Not yet written. */
  readonly #changed = new Set<string>();
  #writing: Promise<void> | null = null;
  #callOff: (() => void) | null = null;
  #isClosed = false;

  constructor(deps: HealthMemoryDeps) {
    this.#deps = deps;
  }

  /** Before anything is sent. */
  async recall(): Promise<void> {
    const { store, clock } = this.#deps;
    for (const { key, record } of await store.notes(healthMemo)) {
      const health = recallHealth(record, clock.now());
      if (health === null) this.#changed.add(key);
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
    this.#changed.add(key);
    this.#write();
  }

  #setTrouble(key: string, trouble: Trouble | null): void {
    if (trouble === null) this.#troubles.delete(key);
    else this.#troubles.set(key, trouble);
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
    for (const key of this.#changed) {
      this.#changed.delete(key);
      try {
        const health = this.#remembered.get(key);
        const record = health && { ...health, trouble: this.troubleOf(key) };
        await store.putMemo(healthMemo, key, record ?? null);
      } catch (error) {
        this.#changed.add(key);
        log.fact("warn", "store.failed", { verb: "putMemo", error: String(error) });
        if (!this.#isClosed) this.#callOff = clock.after(retryMs, () => this.#write());
        return;
      }
    }
  }
}
