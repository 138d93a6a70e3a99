// The tests of the laws in src/core, named by the arguments, in this one process: they are pure and
// do not disturb each other, and starting a process for each takes longer than they do.

import { join } from "node:path";

for (const file of process.argv.slice(2)) await import(join(process.cwd(), file));
