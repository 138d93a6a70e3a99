// `npm run cluster:faults -- [--scale N] [CASE …]`: the faults of a cluster, longer than in the
// tests. Prints each ledger, and ends with 1 when something was lost or against the law.

import { parseArgs } from "node:util";
import { cases } from "./faults.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { scale: { type: "string", default: "5" } },
});
let isGood = true;
for (const [name, { about, run }] of Object.entries(cases)) {
  if (positionals.length > 0 && !positionals.some((word) => name.includes(word))) continue;
  const ends: (() => unknown)[] = [];
  const begun = performance.now();
  console.log(`${name}: ${about}`);
  try {
    const verdict = await run({ after: (end) => void ends.push(end) }, Number(values.scale));
    for (const line of verdict.lines) console.log(`  ${line}`);
    isGood &&= verdict.lost === 0 && verdict.trespasses === 0;
  } finally {
    for (const end of ends.reverse()) await end();
  }
  console.log(`  ${((performance.now() - begun) / 1_000).toFixed(0)} s`);
}
process.exit(isGood ? 0 : 1);
