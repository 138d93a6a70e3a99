// How much room there is on the disk of a folder, as users other than root see it.

import { statfsSync } from "node:fs";

export interface DiskRoom {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** Null: the system does not say. */
export function roomOnDisk(folder: string): DiskRoom | null {
  try {
    const { bavail, blocks, bsize } = statfsSync(folder);
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch {
    return null;
  }
}
