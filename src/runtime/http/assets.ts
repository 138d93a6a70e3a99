// Static files of a folder: found by name, in the smallest encoding a client accepts. The folder is
// listed once; other names do not exist. Files are read on first use and kept in memory, so the
// folder must contain only what was built.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix, relative, sep } from "node:path";
import { takes } from "./encodings.ts";

export interface Asset {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  /** `br`, `gzip`; null: as it is. */
  readonly encoding: string | null;
}

export interface Assets {
  /** In the best of the encodings in an `Accept-Encoding`; null: there is none. */
  find(name: string, accepts: string): Asset | null;
}

/** The better first. */
const twins = [
  { encoding: "br", suffix: ".br" },
  { encoding: "gzip", suffix: ".gz" },
] as const;

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".md": "text/plain; charset=utf-8",
};

/** A missing folder is an empty one. */
export function openAssets(folder: string): Assets {
  const names = existsSync(folder) ? new Set(namesIn(folder)) : new Set<string>();
  const kept = new Map<string, Uint8Array>();
  const read = (name: string): Uint8Array | null => {
    const bytes = kept.get(name) ?? readBytes(join(folder, name));
    if (bytes !== null) kept.set(name, bytes);
    return bytes;
  };
  return {
    find(name, accepts) {
      const contentType = contentTypes[posix.extname(name)];
      if (contentType === undefined || !names.has(name)) return null;
      const twin = twins.find(
        ({ encoding, suffix }) => names.has(name + suffix) && takes(accepts, encoding),
      );
      const bytes = read(name + (twin?.suffix ?? ""));
      return bytes && { bytes, contentType, encoding: twin?.encoding ?? null };
    },
  };
}

/** Null: it is gone, because the folder was rebuilt meanwhile. */
function readBytes(path: string): Uint8Array | null {
  try {
    return readFileSync(path);
  } catch {
    return null;
  }
}

function namesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, "/"));
}
