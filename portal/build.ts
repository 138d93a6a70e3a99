// Builds the portal into portal/dist: bundles it with Vite, adds a compressed copy of every file
// where that helps, and fails when the first load of the overview is too large.
//
// Runs in the prepare step of an installation. Without the build tools (`npm ci --omit=dev`) it
// silently does nothing.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, posix } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { Rolldown } from "vite";

const root = import.meta.dirname;
const dist = join(root, "dist");
const cache = join(root, "../node_modules/.cache");

/** Compressed size until the overview is shown. */
const firstLoadBytesMax = 200_000;
const compressedFrom = 1_024;

async function main(): Promise<void> {
  if (!isInstalled("vite")) return;
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(join(cache, "portal-"));
  try {
    // The broker may run as another user than the one who installs it.
    chmodSync(draft, 0o755);
    const bytes = await buildInto(draft);
    const words = `the overview's first load is ${bytes} bytes compressed`;
    if (bytes > firstLoadBytesMax) throw new Error(`${words}, more than ${firstLoadBytesMax}`);
    putInPlace(draft);
    console.log(`portal: ${words}`);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** How large the first load is. */
async function buildInto(draft: string): Promise<number> {
  const { build } = await import("vite");
  const built = await build({
    root,
    base: "/portal/",
    configFile: false,
    logLevel: "warn",
    publicDir: false,
    build: {
      outDir: draft,
      emptyOutDir: true,
      target: "es2023",
      modulePreload: { polyfill: false },
      // Nothing inline: the Content-Security-Policy allows no data: scripts or styles.
      assetsInlineLimit: 0,
      reportCompressedSize: false,
      chunkSizeWarningLimit: 1_000,
      license: { fileName: "licenses.md" },
      rolldownOptions: {
        onLog(level, log, tell) {
          // Fluent marks its modules for server rendering, which is not used here.
          if (log.code !== "MODULE_LEVEL_DIRECTIVE") tell(level, log);
        },
      },
    },
  });
  for (const path of filesIn(draft)) compress(path);
  return firstLoad((built as Rolldown.RolldownOutput).output, draft);
}

/** In two renames, so that a running broker misses nothing for longer. */
function putInPlace(draft: string): void {
  const old = `${draft}-old`;
  if (existsSync(dist)) renameSync(dist, old);
  renameSync(draft, dist);
  rmSync(old, { recursive: true, force: true });
}

function isInstalled(name: string): boolean {
  return existsSync(join(root, "../node_modules", name, "package.json"));
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** A compressed copy that is no smaller is not written. */
function compress(path: string): void {
  const plain = readFileSync(path);
  if (plain.length < compressedFrom || path.endsWith(".html") || path.endsWith(".png")) return;
  const brotli = brotliCompressSync(plain, {
    params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY },
  });
  if (brotli.length < plain.length) writeFileSync(`${path}.br`, brotli);
  const gzip = gzipSync(plain, { level: 9 });
  if (gzip.length < plain.length) writeFileSync(`${path}.gz`, gzip);
}

/** The page, its scripts, their static imports, and the overview with all of its own. */
function firstLoad(output: Rolldown.RolldownOutput["output"], folder: string): number {
  const wanted = new Set<string>();
  const visit = (name: string): void => {
    if (wanted.has(name)) return;
    wanted.add(name);
    const chunk = output.find((each) => each.fileName === name);
    if (chunk?.type === "chunk") for (const next of chunk.imports) visit(next);
  };
  for (const each of output) {
    const isFirst =
      each.type === "chunk"
        ? each.isEntry || (each.facadeModuleId ?? "").endsWith(posix.join("pages", "overview.tsx"))
        : /\.(html|css|svg)$/.test(each.fileName);
    if (isFirst) visit(each.fileName);
  }
  const sizeOf = (name: string) => {
    const path = join(folder, name);
    return readFileSync(existsSync(`${path}.br`) ? `${path}.br` : path).length;
  };
  return [...wanted].reduce((sum, name) => sum + sizeOf(name), 0);
}

await main();
