// What the single executable runs first: it unpacks the program that it carries into the user's
// cache, once, and starts it from there. Threads and what is loaded when needed are files.

const {
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} = require("node:fs");
const { createRequire } = require("node:module");
const { homedir, tmpdir } = require("node:os");
const { dirname, isAbsolute, join } = require("node:path");
const { getAsset } = require("node:sea");

const { name, files } = JSON.parse(getAsset("contents", "utf8"));
const folder = join(cacheFolder(), name);
if (!existsSync(folder)) unpack();
void createRequire(join(folder, "package.json"))("./dist/main.js").main();

function unpack() {
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 });
  const draft = mkdtempSync(`${folder}-`);
  try {
    for (const file of files) {
      mkdirSync(dirname(join(draft, file)), { recursive: true });
      writeFileSync(join(draft, file), Buffer.from(getAsset(file)));
    }
    renameSync(draft, folder);
  } catch (error) {
    // Another one may have been faster.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** The user's own folder, because what lies there is run; else one for this start alone. */
function cacheFolder() {
  try {
    const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "posthorn");
    mkdirSync(cache, { recursive: true, mode: 0o700 });
    if (isAbsolute(cache)) return cache;
  } catch {
    // A user without a home, or one that cannot be written.
  }
  const passing = mkdtempSync(join(tmpdir(), "posthorn-"));
  process.on("exit", () => rmSync(passing, { recursive: true, force: true }));
  return passing;
}
