// Journeys through the portal in a real browser, against the real program.

import { browserForTests } from "./browser.ts";
import { journeys } from "./journeys.ts";

journeys(browserForTests());
