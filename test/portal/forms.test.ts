// The portal's forms in a real browser, against the real program.

import { browserForTests } from "./browser.ts";
import { forms } from "./forms.ts";

forms(browserForTests());
