// A crash at any call of a port, on the shared store.

import { crashAnywhere } from "./crash-anywhere.ts";

crashAnywhere("shared");
