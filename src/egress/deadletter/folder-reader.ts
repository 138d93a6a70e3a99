// Reads blobs from a folder on disk. A missing container is an empty one, because it is created
// with its first blob. Links are not followed.

import { access, constants, open, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { BlobContainer, NotRead } from "../../core/deadletter/letter-store.ts";
import { type BlobReader, blobBytesMax, notRead, tooLarge } from "./reader.ts";

const namesPerPage = 1_000;

export function openFolderReader(root: string): BlobReader {
  const placeOf = ({ container }: BlobContainer, path: string) =>
    join(root, container, ...path.split("/"));
  return {
    async list(container, { prefix, after }) {
      const folder = placeOf(container, prefix);
      try {
        const entries = (await readdir(folder, { withFileTypes: true }))
          .filter(({ name }) => after === null || name > after)
          .sort((one, other) => (one.name < other.name ? -1 : 1));
        const page = entries.slice(0, namesPerPage);
        const files = page.filter((entry) => entry.isFile());
        const blobs = files.map(async ({ name }) => {
          const { size, mtimeMs } = await stat(join(folder, name));
          return { path: prefix + name, bytes: size, modifiedAt: Math.floor(mtimeMs) };
        });
        return {
          kind: "listed",
          folders: page.filter((entry) => entry.isDirectory()).map(({ name }) => name),
          blobs: await Promise.all(blobs),
          next: entries.length > page.length ? (page.at(-1)?.name ?? null) : null,
        };
      } catch (error) {
        if (codeOf(error) === "ENOENT" && prefix === "") {
          return { kind: "listed", folders: [], blobs: [], next: null };
        }
        return notReadOf(error);
      }
    },
    async read(container, path) {
      try {
        const file = await open(placeOf(container, path), "r");
        try {
          const { size, mtimeMs } = await file.stat();
          if (size > blobBytesMax) return tooLarge;
          const bytes = await file.readFile();
          return { kind: "read", bytes, modifiedAt: Math.floor(mtimeMs) };
        } finally {
          await file.close();
        }
      } catch (error) {
        return notReadOf(error);
      }
    },
    async whyUnreachable(container) {
      for (let folder = placeOf(container, ""); ; folder = dirname(folder)) {
        try {
          if (!(await stat(folder)).isDirectory()) return `${folder} is not a folder.`;
          await access(folder, constants.W_OK);
          return null;
        } catch (error) {
          const isToBeMade = codeOf(error) === "ENOENT" && folder !== dirname(folder);
          if (!isToBeMade) return notReadOf(error).why;
        }
      }
    },
  };
}

function codeOf(error: unknown): string {
  return String((error as { readonly code?: unknown }).code ?? "unknown");
}

function notReadOf(error: unknown): NotRead {
  const code = codeOf(error);
  const isMissing = code === "ENOENT" || code === "ENOTDIR";
  return { ...notRead(`The disk answered ${code}`), isMissing };
}
