// Builds what the npm package is made of, into dist/: the program and the test kit as a few files
// with all of their packages inside, the types of the test kit, and the licences of those packages.
//
// What only some brokers use (Azure's clients, OpenTelemetry) are files of their own, loaded when
// they are needed. All files lie in one folder: the program finds package.json and the portal
// beside it.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build, type OutputChunk } from "rolldown";
import { noticesOf } from "./notices.ts";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

/** The threads are files of their own, because each starts itself again as a thread. */
const entries = {
  main: "src/main.ts",
  testing: "src/testing/grid.ts",
  torture: "test/torture/main.ts",
  "store-thread": "src/store/sqlite/thread.ts",
  "story-thread": "src/store/story/thread.ts",
  "story-reader-thread": "src/store/story/reader-thread.ts",
  "figure-thread": "src/store/figures/thread.ts",
  "letter-thread": "src/egress/deadletter/letter-thread.ts",
};

async function main(): Promise<void> {
  rmSync(dist, { recursive: true, force: true });
  const chunks = await bundle();
  writeFileSync(
    join(dist, "THIRD-PARTY.md"),
    noticesOf(chunks.flatMap(({ moduleIds }) => moduleIds)),
  );
  copyTypes();
}

async function bundle(): Promise<OutputChunk[]> {
  const { output } = await build({
    cwd: root,
    input: entries,
    platform: "node",
    // A format of lists of blobs that we never ask for.
    external: ["apache-arrow"],
    // With `main` first, a package of @peculiar/x509 is there twice, and neither works.
    resolve: { mainFields: ["module", "main"] },
    output: {
      dir: dist,
      format: "esm",
      entryFileNames: "[name].js",
      chunkFileNames: "[name]-[hash].js",
      // Names are kept: traces of errors and the names of errors show them.
      minify: { compress: true, mangle: false, codegen: { removeWhitespace: false } },
      comments: { legal: false, annotation: false, jsdoc: false },
    },
  });
  return output.filter((each) => each.type === "chunk");
}

/** Only the files that the test kit's own types lead to. */
function copyTypes(): void {
  mkdirSync(join(root, "node_modules/.cache"), { recursive: true });
  const all = mkdtempSync(join(root, "node_modules/.cache/types-"));
  try {
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const flags = ["-p", join(root, "tsconfig.build.json"), "--outDir", all];
    execFileSync(process.execPath, [tsc, ...flags], { stdio: "inherit" });
    const wanted = new Set<string>();
    const follow = (path: string): void => {
      if (wanted.has(path)) return;
      wanted.add(path);
      for (const [, next = ""] of readFileSync(path, "utf8").matchAll(/from "(\.[^"]+)\.[jt]s"/g)) {
        follow(join(dirname(path), `${next}.d.ts`));
      }
    };
    follow(join(all, "testing/grid.d.ts"));
    for (const path of wanted) {
      const to = join(dist, "types", relative(all, path));
      mkdirSync(dirname(to), { recursive: true });
      writeFileSync(to, readFileSync(path, "utf8").replace(/(from "\.[^"]+)\.ts"/g, '$1.js"'));
    }
  } finally {
    rmSync(all, { recursive: true, force: true });
  }
}

await main();
