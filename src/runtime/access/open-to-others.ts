// Which parts of a data folder other users of the machine may read or write. What we make ourselves
// is for our own user alone; a folder from before, or one that somebody else made, may not be.

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** The folder itself first. Empty where there is no such folder, or where there are no modes. */
export function openToOthers(folder: string): readonly string[] {
  if (process.platform === "win32" || !isOpen(folder)) return [];
  const inside = readdirSync(folder).map((name) => join(folder, name));
  return [folder, ...inside.filter(isOpen)];
}

/** Nothing in a folder that is closed to others can be reached by them. */
function isOpen(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (found.mode & 0o077) !== 0;
}
