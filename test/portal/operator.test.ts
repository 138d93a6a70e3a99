// What an operator asks: what is wrong, since when, what did the endpoint say, and what helps.

import { browserForTests } from "./browser.ts";
import { operator } from "./operator.ts";

operator(browserForTests());
