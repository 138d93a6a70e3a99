// The portal in a real browser, against the real program. One Chromium serves all of it. What is
// looked at is what was built, so it is built first if someone has changed it since.

import { execFile } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import { openChromium } from "../fixtures/chromium.ts";
import { access } from "./access.ts";
import { forms } from "./forms.ts";
import { journeys } from "./journeys.ts";

const portal = join(import.meta.dirname, "../../portal");

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

describe("the portal", () => {
  const ends: (() => unknown)[] = [];
  let browser: Browser | undefined;
  before(async () => {
    if (isStale()) await promisify(execFile)(process.execPath, [join(portal, "build.ts")]);
    browser = await openChromium({ after: (end) => ends.push(end) });
  });
  after(async () => {
    for (const end of ends) await end();
  });
  const open = (): Browser => {
    if (browser === undefined) throw new Error("the browser is not open yet");
    return browser;
  };
  journeys(open);
  forms(open);
  access(open);
});
