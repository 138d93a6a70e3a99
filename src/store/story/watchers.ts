// Live watchers: each gets every note as it is made, whatever the chronicle does with it. And the
// chronicle that keeps nothing, for `--story off`, which can still be watched.

import { Refusal } from "../../core/refusal.ts";
import type { Chronicle } from "../../core/story/chronicle.ts";
import type { StoryNote } from "../../core/story/note.ts";

export class Watchers {
  #listeners: readonly ((note: StoryNote) => void)[] = [];

  listen(listener: (note: StoryNote) => void): () => void {
    const own = (note: StoryNote) => listener(note);
    this.#listeners = [...this.#listeners, own];
    return () => {
      this.#listeners = this.#listeners.filter((one) => one !== own);
    };
  }

  tell(note: StoryNote): void {
    for (const listener of this.#listeners) listener(note);
  }
}

export function openForgetful(): Chronicle {
  const relay = new Watchers();
  const refuse = async () => {
    throw new Refusal("Conflict", "No stories are kept: the broker runs with `story` off.");
  };
  return {
    note: (note) => relay.tell(note),
    listen: (listener) => relay.listen(listener),
    search: refuse,
    find: refuse,
    close: async () => {},
  };
}
