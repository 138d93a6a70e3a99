// What the portal's tests look at is what was built, so it is built first if someone has changed it
// since.

import { execFile } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const portal = join(import.meta.dirname, "../../portal");

export async function buildPortal(): Promise<void> {
  if (isStale()) await promisify(execFile)(process.execPath, [join(portal, "build.ts")]);
}

function isStale(): boolean {
  const built = join(portal, "dist/index.html");
  if (!existsSync(built)) return true;
  const builtAt = statSync(built).mtimeMs;
  return [portal, join(portal, "../src/core")].some((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => !name.startsWith("dist") && /\.(tsx?|css|html|svg)$/.test(name))
      .some((name) => statSync(join(folder, name)).mtimeMs > builtAt),
  );
}
