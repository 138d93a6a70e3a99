// What other parts of the broker keep in the store by kind and key, and how often dead letters have
// been redriven.

import type { Redriven, RedrivenNote } from "../../core/deadletter/letter-store.ts";
import { redriveLimits } from "../../core/deadletter/redrive.ts";
import type { Memo, Memos } from "../../core/steering.ts";

export class MemoryMemos implements Memos, Redriven {
  readonly #memos = new Map<string, Map<string, object>>();
  /** In the order in which they were last noted. */
  readonly #redriven = new Map<string, number>();

  async notes(kind: string): Promise<readonly Memo[]> {
    return [...(this.#memos.get(kind) ?? [])]
      .map(([key, record]) => ({ key, record }))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1));
  }

  async putMemo(kind: string, key: string, record: object | null): Promise<void> {
    const memos = this.#memos.get(kind) ?? new Map<string, object>();
    this.#memos.set(kind, memos);
    if (record === null) memos.delete(key);
    else memos.set(key, structuredClone(record));
  }

  async keepMemo(kind: string, key: string, record: object): Promise<object> {
    const kept = this.#memos.get(kind)?.get(key);
    if (kept === undefined) await this.putMemo(kind, key, record);
    return kept ?? record;
  }

  async redriven(keys: readonly string[]): Promise<readonly number[]> {
    return keys.map((key) => this.#redriven.get(key) ?? 0);
  }

  async noteRedriven(notes: readonly RedrivenNote[]): Promise<void> {
    for (const { key, times } of notes) {
      const known = this.#redriven.get(key) ?? 0;
      this.#redriven.delete(key);
      this.#redriven.set(key, Math.max(known + 1, times));
    }
    for (const key of this.#redriven.keys()) {
      if (this.#redriven.size <= redriveLimits.rememberedMax) break;
      this.#redriven.delete(key);
    }
  }
}
