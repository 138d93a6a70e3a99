// The backups in the data folder: copies of the store, each a file named by its time. They stay
// until they are deleted.

import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

export interface Backup {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  readonly takenAt: number;
}

export interface BackupFolder {
  /** The newest first. */
  list(): readonly Backup[];
  find(name: string): Backup | null;
  /** Makes a copy under a new name. */
  take(at: number): Promise<Backup>;
  remove(name: string): void;
}

/** No other file of the folder can be requested. */
const nameRule = /^store-\d{8}T\d{6}\.\d{3}Z\.db$/;

/** The name of an incomplete copy; see store/sqlite/backup.ts. */
const draftEnding = ".db.part";

export function openBackups({
  folder,
  copyTo,
}: {
  readonly folder: string;
  readonly copyTo: (path: string) => Promise<void>;
}): BackupFolder {
  removeDrafts(folder);
  const find = (name: string): Backup | null => {
    const path = join(folder, name);
    const found = nameRule.test(name) ? statSync(path, { throwIfNoEntry: false }) : undefined;
    return found?.isFile() ? { name, path, bytes: found.size, takenAt: found.mtimeMs } : null;
  };
  return {
    find,
    list() {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const names = readdirSync(folder).toSorted().toReversed();
      return names.flatMap((name) => find(name) ?? []);
    },
    async take(at) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const name = `store-${new Date(at).toISOString().replace(/[-:]/g, "")}.db`;
      await copyTo(join(folder, name));
      return find(name) as Backup;
    },
    remove(name) {
      const found = find(name);
      if (found !== null) rmSync(found.path);
    },
  };
}

/** What a crash in the middle of a copy has left. */
function removeDrafts(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    if (name.endsWith(draftEnding)) rmSync(join(folder, name));
  }
}
