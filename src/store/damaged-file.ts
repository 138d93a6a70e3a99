// What is kept for people must not stop deliveries: a file that is damaged is moved out of the way,
// and another one begun.

import { existsSync, renameSync, rmSync } from "node:fs";
import { Refusal } from "../core/refusal.ts";
import { makePrivateFile } from "./private-files.ts";
import { isDamage } from "./sqlite/database.ts";

/** Found in what was read of a file, where SQLite noticed nothing. */
export class DamagedContent extends Error {}

/** Beside a file that was found damaged in use. */
const markOf = (path: string) => `${path}.is-damaged`;

/** `setAside`: what a damaged file is called now; null: it was not damaged. */
export function openOrMoveAway<T>(
  path: string,
  open: () => T,
): { readonly opened: T; readonly setAside: string | null } {
  if (existsSync(markOf(path))) {
    const setAside = moveAway(path);
    rmSync(markOf(path));
    return { opened: open(), setAside };
  }
  try {
    return { opened: open(), setAside: null };
  } catch (error) {
    if (!isDamage(error instanceof Refusal ? error.cause : error)) throw error;
    const setAside = moveAway(path);
    return { opened: open(), setAside };
  }
}

/** Damage that is met in use is marked: the next start moves the file away. */
export function markingDamage<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (isDamage(error) || error instanceof DamagedContent) makePrivateFile(markOf(path));
    throw error;
  }
}

/** Answers with its new name. */
function moveAway(path: string): string {
  let number = 1;
  while (existsSync(`${path}.damaged-${number}`)) number += 1;
  const aside = `${path}.damaged-${number}`;
  for (const ending of ["", "-wal"]) {
    if (existsSync(`${path}${ending}`)) renameSync(`${path}${ending}`, `${aside}${ending}`);
  }
  return aside;
}
