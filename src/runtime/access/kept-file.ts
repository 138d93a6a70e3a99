// What is made once and kept in a file: keys and certificates. A file is never seen half written,
// and of two makers at the same moment one wins and both go on with what that one made.

import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";

/** Only the broker's own user may read it, whatever the umask. */
const fileMode = 0o600;
const folderMode = 0o700;

/** The text of the file; `make` is asked when there is none or nothing in it. */
export function keepSecret(path: string, make: () => string): string {
  const kept = readKept(path);
  if (kept !== null) return kept;
  const made = make();
  const draft = writeDraft(path, made);
  try {
    linkSync(draft, path);
    unlinkSync(draft);
    return made;
  } catch (error) {
    const winner = (error as NodeJS.ErrnoException).code === "EEXIST" ? readKept(path) : null;
    if (winner === null) {
      // Not every file system has links. Without them the later of two makers would win, and the
      // earlier learns of it at its next start.
      renameSync(draft, path);
      return made;
    }
    unlinkSync(draft);
    return winner;
  }
}

/** Puts the text in the place of what was there. */
export function keepText(path: string, text: string): void {
  renameSync(writeDraft(path, text), path);
}

/**
 * Leaves a text in the file for as long as the broker runs, for programs on the same machine. The
 * answer takes it away, unless someone else has left theirs meanwhile. A folder that is not there
 * is not made for it.
 */
export function writeKept(path: string, text: string): () => void {
  if (!existsSync(dirname(path))) return () => {};
  keepText(path, text);
  return () => {
    if (readKept(path) === text) unlinkSync(path);
  };
}

/** Null when there is no such file, or nothing in it. */
export function readKept(path: string): string | null {
  try {
    return readFileSync(path, "utf8").trim() || null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

let drafts = 0;

function writeDraft(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true, mode: folderMode });
  const draft = `${path}.${process.pid}-${++drafts}`;
  try {
    writeFileSync(draft, `${text.trimEnd()}\n`, { mode: fileMode, flush: true });
  } catch (error) {
    // A full disk leaves half a file.
    rmSync(draft, { force: true });
    throw error;
  }
  return draft;
}
