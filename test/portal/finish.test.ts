// Searching, forms and the small things that make the portal quick, in a real browser.

import { browserForTests } from "./browser.ts";
import { finish } from "./finish.ts";

finish(browserForTests());
