// The portal for everybody, in a real browser: keyboard, screen readers, phones, slow lines.

import { access } from "./access.ts";
import { browserForTests } from "./browser.ts";

access(browserForTests());
