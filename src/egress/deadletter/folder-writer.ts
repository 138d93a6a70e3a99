// Writes blobs to a folder on disk, without Azure: a container is a folder, a blob a file, under
// the same names. Missing folders are created.
//
// A file is written atomically: under another name in the same folder, and renamed when it is on
// stable storage. It counts as written only after the folders are synced as well, because the event
// is deleted after that.
//
// Both are for the broker's own user alone, whatever the umask: letters hold whole events. A folder
// that is there already keeps its mode.
//
// Disk errors are given the status that a service would use, so that outcomes look the same.

import { mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Outcome } from "../../core/delivery/outcome.ts";
import { canceled } from "../http/exchange.ts";
import { openFolderReader } from "./folder-reader.ts";
import type { BlobStore } from "./sink.ts";

const statuses: Readonly<Record<string, number>> = {
  EACCES: 403,
  EPERM: 403,
  EROFS: 403,
  EEXIST: 409,
  ENOTDIR: 409,
  EDQUOT: 507,
  ENOSPC: 507,
};

const folderMode = 0o700;
const fileMode = 0o600;

export function openFolder({ path: root }: { readonly path: string }): BlobStore {
  return {
    ...openFolderReader(root),
    async put({ container, path, text }, signal): Promise<Outcome> {
      const file = resolve(join(root, container, ...path.split("/")));
      const unfinished = `${file}.part`;
      try {
        const made = await mkdir(dirname(file), { recursive: true, mode: folderMode });
        await writeDurably(unfinished, text);
        if (signal.aborted) {
          await rm(unfinished, { force: true });
          return canceled;
        }
        await rename(unfinished, file);
        await syncFolders(dirname(file), made);
        const url = pathToFileURL(file).href;
        const bytes = Buffer.byteLength(text);
        const written = { container, path, url, etag: `"${basename(path, ".json")}"`, bytes };
        return { kind: "answered", status: 201, written };
      } catch (error) {
        await rm(unfinished, { force: true }).catch(() => {});
        const { code = "unknown" } = error as { readonly code?: string };
        return { kind: "answered", status: statuses[code] ?? 500, detail: code };
      }
    },
  };
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, "w", fileMode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The folder of the file, and those above it up to the first new one. */
async function syncFolders(folder: string, firstMade: string | undefined): Promise<void> {
  const last = firstMade === undefined ? folder : dirname(firstMade);
  for (let each = folder; ; each = dirname(each)) {
    await syncFolder(each);
    if (each === last || each === dirname(each)) return;
  }
}

/** Systems that cannot open a folder sync its entries by themselves. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r").catch(() => null);
  if (folder === null) return;
  try {
    await folder.sync();
  } catch (error) {
    if (!["EINVAL", "EISDIR", "EPERM"].includes((error as { code?: string }).code ?? ""))
      throw error;
  } finally {
    await folder.close();
  }
}
