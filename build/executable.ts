// Builds the whole program as one executable for this platform, by Node's own means (SEA):
// `npm run sea [file]`. It is this Node with the npm package inside. Tried on Linux alone; on macOS
// the file has to be signed again.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

const root = join(import.meta.dirname, "..");
const target = resolve(process.argv[2] ?? join(root, "dist-executable", "posthorn"));
/** Marks the place in Node's binary; the same in every release. */
const fuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

function main(): void {
  for (const script of ["portal/build.ts", "build/package.ts"]) {
    execFileSync(process.execPath, [join(root, script)], { stdio: "inherit" });
  }
  const draft = mkdtempSync(join(tmpdir(), "posthorn-sea-"));
  try {
    const blob = pack(draft);
    mkdirSync(dirname(target), { recursive: true });
    rmSync(target, { force: true });
    copyFileSync(process.execPath, target);
    chmodSync(target, 0o755);
    const inject = ["postject", target, "NODE_SEA_BLOB", blob, "--sentinel-fuse", fuse];
    const npm = ["exec", "--yes", "--package=postject@1.0.0-alpha.6", "--", ...inject];
    // It warns of sections that every build of Node has; an error shows what it wrote.
    execFileSync("npm", npm, { stdio: "pipe" });
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  console.log(`${target}: ${Math.round(statSync(target).size / 1e6)} MB`);
}

/** The path of the blob with everything in it. */
function pack(draft: string): string {
  const files = [
    "package.json",
    ...filesIn("dist").filter((path) => !path.startsWith("dist/types")),
    ...filesIn("portal/dist"),
  ];
  const hash = createHash("sha256");
  for (const path of files) hash.update(path).update(readFileSync(join(root, path)));
  const name = `program-${hash.digest("hex").slice(0, 16)}`;
  const contents = join(draft, "contents.json");
  writeFileSync(contents, JSON.stringify({ name, files }));
  const output = join(draft, "blob");
  const config = join(draft, "config.json");
  const assets = Object.fromEntries(files.map((path) => [path, join(root, path)]));
  writeFileSync(
    config,
    JSON.stringify({
      main: join(root, "build/executable-main.cjs"),
      output,
      disableExperimentalSEAWarning: true,
      assets: { ...assets, contents },
    }),
  );
  execFileSync(process.execPath, ["--experimental-sea-config", config], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return output;
}

function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
}

main();
