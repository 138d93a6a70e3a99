// How many files and connections the system lets this process have open.

import { readFileSync } from "node:fs";

/** Where the system does not say. */
const usual = 10_000;

export function openFilesMax(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? usual);
  } catch {
    return usual;
  }
}
