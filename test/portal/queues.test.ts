// Pull queues in a real browser.

import { browserForTests } from "./browser.ts";
import { queues } from "./queues.ts";

queues(browserForTests());
