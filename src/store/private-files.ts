// Files and folders that only the broker's own user may read, whatever the umask: the store holds
// the keys of topics, and events. SQLite gives its log the mode of the database beside it.

import { closeSync, mkdirSync, openSync } from "node:fs";

export const privateFolderMode = 0o700;
export const privateFileMode = 0o600;

/** A folder that is there already keeps its mode. */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: privateFolderMode });
}

/** An empty file, unless there is one. */
export function makePrivateFile(path: string): void {
  closeSync(openSync(path, "a", privateFileMode));
}
