// Which parts of a data folder other users of the machine may read or write. What we create
// ourselves is only for our own user; an older folder, or one that somebody else created, may not
// be.

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** The folder itself first. Empty if there is no such folder, or no modes. */
export function openToOthers(folder: string): readonly string[] {
  if (process.platform === "win32" || !isOpen(folder)) return [];
  const inside = readdirSync(folder).map((name) => join(folder, name));
  return [folder, ...inside.filter(isOpen)];
}

/** Nothing in a closed folder can be reached by others. */
function isOpen(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (found.mode & 0o077) !== 0;
}
