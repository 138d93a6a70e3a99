// `npm run sim`: replays one seed and tells what happened, or runs fresh seeds for a while.
//
//   npm run sim -- --seed N [--store memory|shared|sqlite] [--visits N] [--verbose]
//   npm run sim -- --count N        so many fresh seeds
//   npm run sim -- --minutes M      fresh seeds for so long
//   npm run sim -- --brokers 3      the same with so many brokers at once on one database
//
// Ends with 1 when an invariant is violated, and says how to see that run again.

import { parseArgs } from "node:util";
import { type ClusterReport, simulateCluster } from "./cluster/world.ts";
import { replayOf } from "./verdict.ts";
import { drawWeather, type StoreKind, storeKinds, tellWeather, type Weather } from "./weather.ts";
import { type Run, simulate } from "./world.ts";

const dayMs = 24 * 3_600_000;
/** Stories told in full for one run; more would bury them. */
const storiesMax = 3;
const seedMax = 2 ** 31;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    store: { type: "string" },
    visits: { type: "string" },
    verbose: { type: "boolean", default: false },
    count: { type: "string" },
    minutes: { type: "string" },
    brokers: { type: "string" },
  },
});

const store = readStore(values.store);
const brokers = readNumber("brokers", values.brokers ?? "1");
if (values.seed !== undefined) {
  await replay(readNumber("seed", values.seed));
} else if (values.minutes !== undefined) {
  const endAt = Date.now() + readNumber("minutes", values.minutes) * 60_000;
  await runFresh(() => Date.now() < endAt);
} else {
  const count = readNumber("count", values.count ?? "100");
  await runFresh((done) => done < count);
}

async function replayCluster(seed: number): Promise<void> {
  const run = await simulateCluster(seed, brokers);
  console.log(summaryOfCluster(run));
  tellCluster(run);
}

function summaryOfCluster({ processes, publishes, sends, simulatedMs }: ClusterReport): string {
  const disturbances = processes.flatMap(({ disturbances }) =>
    disturbances.map(({ kind }) => kind),
  );
  const counts = Map.groupBy(disturbances, (kind) => kind);
  return [
    `${(simulatedMs / 60_000).toFixed(0)} minutes, ${processes.length} processes`,
    [...counts].map(([kind, all]) => `${kind}: ${all.length}`).join(", "),
    `${publishes.length} published, ${publishes.filter(({ isAccepted }) => isAccepted).length} accepted`,
    `${sends.length} sends`,
  ].join("\n");
}

function tellCluster({ seed, violations }: ClusterReport): void {
  if (violations.length === 0) return;
  process.exitCode = 1;
  for (const words of violations) console.log(`VIOLATED ${words}`);
  console.log(`\nAgain: npm run sim -- --seed ${seed} --brokers ${brokers}`);
}

/** `--visits`: so many instead of those drawn. */
function drawn(seed: number): Weather {
  const weather = drawWeather(seed, store);
  if (values.visits === undefined) return weather;
  return { ...weather, visits: readNumber("visits", values.visits) };
}

async function replay(seed: number): Promise<void> {
  if (brokers > 1) return await replayCluster(seed);
  const weather = drawn(seed);
  console.log(tellWeather(weather));
  const run = await simulate({ weather, isTraced: true });
  if (values.verbose) for (const line of run.journal.tell()) console.log(line);
  console.log(summary(run));
  tellViolations(run);
}

async function runFresh(goesOn: (done: number) => boolean): Promise<void> {
  const first = Math.floor(Math.random() * seedMax);
  console.log(`fresh seeds from ${first}`);
  const startedAt = Date.now();
  let done = 0;
  let simulatedMs = 0;
  let sends = 0;
  while (goesOn(done)) {
    if (brokers > 1) {
      const run = await simulateCluster((first + done) % seedMax, brokers);
      done += 1;
      simulatedMs += run.simulatedMs;
      sends += run.sends.length;
      tellCluster(run);
      continue;
    }
    const weather = drawn((first + done) % seedMax);
    const run = await simulate({ weather });
    done += 1;
    simulatedMs += run.simulatedMs;
    sends += run.journal.sends.length;
    if (run.violations.length > 0) {
      console.log(tellWeather(weather));
      tellViolations(await simulate({ weather, isTraced: true }));
    }
  }
  const minutes = (Date.now() - startedAt) / 60_000;
  const days = simulatedMs / dayMs;
  console.log(
    `${done} seeds, ${days.toFixed(0)} simulated days and ${sends} sends in ` +
      `${(minutes * 60).toFixed(1)} s: ${(done / minutes).toFixed(0)} seeds and ` +
      `${(days / minutes).toFixed(0)} simulated days per minute`,
  );
}

function summary({ journal, simulatedMs, calls, hash }: Run): string {
  const accepted = journal.publications.filter(({ answer }) => answer === "accepted").length;
  const crashes = journal.lives.filter(({ ended }) => ended?.how === "crash").length;
  return [
    `${(simulatedMs / dayMs).toFixed(1)} days, ${journal.lives.length} lives, ${crashes} crashes`,
    `${journal.publications.length} events published, ${accepted} accepted`,
    `${journal.sends.length} sends, ${journal.settles.length} settlements, ${calls} port calls`,
    `trace ${hash}`,
  ].join("\n");
}

function tellViolations({ weather, journal, violations }: Run): void {
  if (violations.length === 0) return;
  process.exitCode = 1;
  for (const { rule, words } of violations) console.log(`VIOLATED ${rule}: ${words}`);
  const numbers = new Set(violations.map(({ publication }) => publication));
  for (const number of [...numbers].slice(0, storiesMax)) {
    if (number === null) continue;
    console.log(`\nThe story of e${number}:`);
    for (const line of journal.tell(number)) console.log(`  ${line}`);
  }
  console.log(`\nAgain: ${replayOf(weather)}`);
}

function readNumber(name: string, text: string): number {
  const number = Number(text);
  if (Number.isFinite(number) && number >= 0) return number;
  throw new RangeError(`--${name} must be a number, and is ${text}`);
}

function readStore(text: string | undefined): StoreKind | undefined {
  const known = storeKinds.find((kind) => kind === text);
  if (known === undefined && text !== undefined) {
    throw new RangeError(`--store must be one of ${storeKinds.join(", ")}, and is ${text}`);
  }
  return known;
}
