// Runs the test files named by the arguments in this one process. For those that do not disturb
// each other, such as the pure tests in src/core: starting a process for each takes longer than
// they do.

import { join } from "node:path";

for (const file of process.argv.slice(2)) await import(join(process.cwd(), file));
