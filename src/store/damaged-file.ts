// What is kept for people must not stop deliveries: a file that is damaged is moved out of the way,
// and another one begun.

import { existsSync, renameSync } from "node:fs";
import { Refusal } from "../core/refusal.ts";
import { isDamage } from "./sqlite/database.ts";

/** `setAside`: what a damaged file is called now; null: it was not damaged. */
export function openOrMoveAway<T>(
  path: string,
  open: () => T,
): { readonly opened: T; readonly setAside: string | null } {
  try {
    return { opened: open(), setAside: null };
  } catch (error) {
    if (!isDamage(error instanceof Refusal ? error.cause : error)) throw error;
    const setAside = moveAway(path);
    return { opened: open(), setAside };
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
