// One Chromium for all tests of a file, and the portal as it is now, built.

import { after, before } from "node:test";
import type { Browser } from "playwright-core";
import { openChromium } from "../fixtures/chromium.ts";
import { buildPortal } from "./build.ts";

/** The browser is there once a test runs. */
export function browserForTests(): () => Browser {
  const ends: (() => unknown)[] = [];
  let browser: Browser | undefined;
  before(async () => {
    await buildPortal();
    browser = await openChromium({ after: (end) => ends.push(end) });
  });
  after(async () => {
    for (const end of ends) await end();
  });
  return () => {
    if (browser === undefined) throw new Error("the browser is not open yet");
    return browser;
  };
}
