// Keys and certificates that are created once and kept in a file. A file is never seen half
// written, and of two creators at the same moment one wins and both use its result.

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
import { basename, dirname } from "node:path";
import type { Memos } from "../../core/steering.ts";

/** Readable only by the broker's own user, whatever the umask. */
const fileMode = 0o600;
const folderMode = 0o700;

/** The text of the file; `make` is called when it is missing or empty. */
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
      // Not every file system has links. Without them the later of two creators wins, and the
      // earlier one notices at its next start.
      renameSync(draft, path);
      return made;
    }
    unlinkSync(draft);
    return winner;
  }
}

/**
 * The secret of a cluster: made once by whichever broker comes first, from its file if it has one,
 * and kept in the database; every broker's file holds it.
 */
export async function shareSecret(memos: Memos, path: string, make: () => string): Promise<string> {
  const own = readKept(path);
  const kept = await memos.keepMemo(secretMemo, basename(path), { text: own ?? make() });
  const { text } = kept as { readonly text: string };
  if (own !== text.trim()) keepText(path, text);
  return text.trim();
}

const secretMemo = "cluster.secret";

/** Replaces the text of the file. */
export function keepText(path: string, text: string): void {
  renameSync(writeDraft(path, text), path);
}

/**
 * Keeps a text in the file for as long as the broker runs, for programs on the same machine. The
 * result removes it, unless someone else has replaced it meanwhile. A missing folder is not
 * created.
 */
export function writeKept(path: string, text: string): () => void {
  if (!existsSync(dirname(path))) return () => {};
  keepText(path, text);
  return () => {
    if (readKept(path) === text) unlinkSync(path);
  };
}

/** Null when the file is missing or empty. */
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
