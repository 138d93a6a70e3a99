// Progress in one line that is rewritten in place; nothing if no person watches.

import type { Outside } from "../client.ts";

export interface Progress {
  /** `done` of `total`, and the rate as text. */
  tell(done: number, total: number, more?: string): void;
  /** Removes the line. */
  end(): void;
}

const barColumnsMax = 40;
/** More often cannot be read. */
const showMs = 100;

export function openProgress({ tell, isShown, columns, now }: Outside): Progress {
  if (!isShown) return { tell() {}, end() {} };
  let shownAt = Number.NEGATIVE_INFINITY;
  let width = 0;
  const write = (line: string) => {
    const text = line.slice(0, Math.max(20, columns - 1));
    tell(`\r${text.padEnd(width)}`);
    width = text.length;
  };
  return {
    tell(done, total, more = "") {
      const at = now();
      if (at - shownAt < showMs && done < total) return;
      shownAt = at;
      const share = total === 0 ? 1 : Math.min(1, done / total);
      const barColumns = Math.min(barColumnsMax, Math.max(10, columns - 40));
      const full = Math.round(share * barColumns);
      const bar = `${"█".repeat(full)}${"░".repeat(barColumns - full)}`;
      write(`${bar} ${done}/${total}${more === "" ? "" : `  ${more}`}`);
    },
    end() {
      if (width > 0) tell(`\r${" ".repeat(width)}\r`);
      width = 0;
    },
  };
}
