// Lists that the broker sends as changes: the first answer is whole, each later one has only what
// changed since. Rows that did not change stay the same objects, so that they are not drawn again.

import { useRef } from "react";
import { type Asked, apiPath, ask, useRead } from "./api.ts";

interface Changes<T> {
  readonly value: readonly T[];
  readonly revision?: string;
  readonly isWhole?: boolean;
  readonly gone?: readonly string[];
}

interface Held<T> {
  readonly revision: string | null;
  readonly rows: ReadonlyMap<string, T>;
  /** The same array for as long as nothing changes. */
  readonly shown: readonly T[];
}

export function useChanging<T>(
  segments: readonly string[],
  keyOf: (row: T) => string,
  tick: number,
): Asked<readonly T[]> {
  const held = useRef<Held<T>>({ revision: null, rows: new Map(), shown: [] });
  return useRead<readonly T[]>(segments.join("/"), tick, async (hold, signal) => {
    const { revision, rows, shown } = held.current;
    const path = apiPath(segments, { since: revision });
    const changes = await ask<Changes<T>>("GET", path, undefined, signal);
    const isWhole = changes.isWhole ?? true;
    if (!isWhole && changes.value.length === 0 && changes.gone?.length === 0) {
      held.current = { revision: changes.revision ?? null, rows, shown };
      hold(shown);
      return;
    }
    const next = new Map(isWhole ? [] : rows);
    for (const key of changes.gone ?? []) next.delete(key);
    for (const row of changes.value) next.set(keyOf(row), row);
    const all = [...next.values()];
    held.current = { revision: changes.revision ?? null, rows: next, shown: all };
    hold(all);
  });
}
