// Test inboxes and the first minute with the portal, in a real browser.

import { browserForTests } from "./browser.ts";
import { inbox } from "./inbox.ts";

inbox(browserForTests());
