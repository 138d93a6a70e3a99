// Copies the embedded store while it is in use.
//
// The copy is made by SQLite itself, a few pages at a time. Pages that change meanwhile are
// updated: when it is done, it is the complete store as of that moment. Only then does it get its
// name. Rounds are run between two steps and never during one: SQLite refuses a step while a
// transaction is open, and Node reports a first step that was refused as "not an error". So every
// round is committed meanwhile, and none is in the journal alone.

import { renameSync, rmSync } from "node:fs";
import { backup, type DatabaseSync } from "node:sqlite";
import { makePrivateFile } from "../private-files.ts";

/** Two megabytes at a time: rounds wait for no more than that. */
const pagesPerStep = 512;

/**
 * Only within `betweenSteps` may the database be written to until the copy is made; when it throws,
 * there is no copy.
 */
export async function copyStore(
  database: DatabaseSync,
  path: string,
  betweenSteps: () => void,
): Promise<void> {
  const draft = `${path}.part`;
  rmSync(draft, { force: true });
  makePrivateFile(draft);
  try {
    await backup(database, draft, { rate: pagesPerStep, progress: betweenSteps });
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}
