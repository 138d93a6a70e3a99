// The portal in a real browser, against the real program. One Chromium serves all of it.

import { after, before, describe } from "node:test";
import type { Browser } from "playwright-core";
import { openChromium } from "../fixtures/chromium.ts";
import { access } from "./access.ts";
import { forms } from "./forms.ts";
import { journeys } from "./journeys.ts";

describe("the portal", () => {
  const ends: (() => unknown)[] = [];
  let browser: Browser | undefined;
  before(async () => {
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
