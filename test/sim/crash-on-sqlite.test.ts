// A crash at any call of a port, on the sqlite store.

import { crashAnywhere } from "./crash-anywhere.ts";

crashAnywhere("sqlite");
