// Lists in a real browser, against the real program.

import { browserForTests } from "./browser.ts";
import { lists } from "./lists.ts";

lists(browserForTests());
