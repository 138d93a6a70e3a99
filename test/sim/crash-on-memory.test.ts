// A crash at any call of a port, on the memory store.

import { crashAnywhere } from "./crash-anywhere.ts";

crashAnywhere("memory");
