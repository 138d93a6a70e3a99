// `npm run mutate`: puts small faults into the code, one at a time, and runs the tests concerned.
// A fault that no test notices is printed: a test is missing there, or the code is not needed.
//
//   npm run mutate -- --files 'src/core/delivery/*.ts' [--count N] [--seed N] [--minutes M]
//   npm run mutate -- --at src/core/delivery/retry.ts:282        those on one line
//
// The tests concerned are those of the same room that import the file, by however many steps, the
// nearest first; then those of other rooms that import it themselves. Without --count all faults
// are tried.

import { spawn } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { availableParallelism, constants, setPriority } from "node:os";
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { Dice } from "../sim/dice.ts";
import { type Mutant, mutantsOf } from "./mutants.ts";

const { values: options } = parseArgs({
  options: {
    files: { type: "string", multiple: true, default: ["src/core/**/*.ts"] },
    at: { type: "string", multiple: true },
    count: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    minutes: { type: "string", default: "20" },
  },
});

/** Which tests prove a room, beside its own: the store's models are held against each other. */
const alsoProvedBy: Readonly<Record<string, readonly string[]>> = {
  "src/store/": ["test/differential.test.ts"],
  "src/ingress/": ["test/publish.test.ts"],
};

/** A mutant may wait for ever, or go round in circles. */
const limitMs = 60_000;

interface Trial extends Mutant {
  readonly file: string;
}

type Verdict = "noticed" | "timed out" | "lived" | "unproved";

const root = process.cwd();
const importsOf = memoize((file: string): readonly string[] => {
  const found = readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+\.ts)"/g);
  return [...found].map(([, path]) => relative(root, join(root, dirname(file), path as string)));
});

const testsOf = memoize(findTests);
const trials = drawTrials();
const until = Date.now() + Number(options.minutes) * 60_000;
console.log(`${trials.length} mutants, seed ${options.seed}`);
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
if (
  (await run(null, [...new Set(trials.flatMap(({ file }) => testsOf(file).flat()))])) !== "lived"
) {
  console.error("These tests fail without any fault put in; mend them first.");
  process.exit(1);
}
const verdicts: Record<Verdict, number> = { noticed: 0, "timed out": 0, lived: 0, unproved: 0 };
await Promise.all(Array.from({ length: availableParallelism() }, work));
const { noticed, lived, unproved } = verdicts;
const timedOut = verdicts["timed out"];
console.log(`${noticed + timedOut} noticed (${timedOut} by the time they took), ${lived} lived`);
if (unproved > 0) console.log(`${unproved} are in files that no test imports`);
if (trials.length > 0) console.log(`${trials.length} were not tried for want of time`);

async function work(): Promise<void> {
  while (trials.length > 0 && Date.now() < until) {
    const trial = trials.shift() as Trial;
    const verdict = await judge(trial);
    verdicts[verdict] += 1;
    if (verdict === "lived" || verdict === "unproved") console.log(tell(trial, verdict));
  }
}

function drawTrials(): Trial[] {
  const { at } = options;
  const globs = at?.map((place) => place.split(":", 1)[0] as string) ?? options.files;
  const files = new Set(globSync(globs).filter((file) => !file.endsWith(".test.ts")));
  const all = [...files].toSorted().flatMap((file) => {
    const source = readFileSync(file, "utf8");
    const mutants = mutantsOf(source).map((mutant) => ({ ...mutant, file }));
    return mutants.filter(({ start }) => at?.includes(`${file}:${lineAt(source, start)}`) ?? true);
  });
  const dice = new Dice(Number(options.seed), "mutants");
  const drawn = all.map((trial) => ({ trial, at: dice.next() })).toSorted((a, b) => a.at - b.at);
  return drawn.slice(0, Number(options.count ?? all.length)).map(({ trial }) => trial);
}

async function judge(trial: Trial): Promise<Verdict> {
  const groups = testsOf(trial.file);
  if (groups.length === 0) return "unproved";
  for (const tests of groups) {
    const verdict = await run(trial, tests);
    if (verdict !== "lived") return verdict;
  }
  return "lived";
}

function findTests(file: string): readonly (readonly string[])[] {
  const room = `${file.split("/").slice(0, 2).join("/")}/`;
  const isOwn = (test: string) => test.startsWith(room) || alsoProvedBy[room]?.includes(test);
  const found = globSync(["src/**/*.test.ts", ...(alsoProvedBy[room] ?? [])])
    .map((test) => ({ test, steps: distance(test, file) }))
    .filter(({ steps }) => steps < Number.POSITIVE_INFINITY);
  const [near, far] = byDistance(found.filter(({ test }) => isOwn(test)));
  const outside = found.filter(
    ({ test, steps }) => !isOwn(test) && (steps === 1 || near.length === 0),
  );
  const [others] = byDistance(outside);
  return [near, far, others].filter((tests) => tests.length > 0);
}

type Found = readonly { readonly test: string; readonly steps: number }[];

/** The nearest, and the rest. */
function byDistance(found: Found): readonly [readonly string[], readonly string[]] {
  const nearest = Math.min(...found.map(({ steps }) => steps));
  const pick = (isNear: boolean) =>
    found.filter(({ steps }) => (steps === nearest) === isNear).map(({ test }) => test);
  return [pick(true), pick(false)];
}

/** How many imports lie between; infinite when none lead there. */
function distance(from: string, to: string): number {
  let ring = [from];
  const seen = new Set(ring);
  for (let steps = 0; ring.length > 0; steps += 1) {
    if (ring.includes(to)) return steps;
    ring = ring.flatMap(importsOf).filter((file) => !seen.has(file) && seen.add(file));
  }
  return Number.POSITIVE_INFINITY;
}

/** All in one process, which is ended at the first test that fails. */
function run(trial: Trial | null, tests: readonly string[]): Promise<Verdict> {
  const hook = new URL("apply.ts", import.meta.url).href;
  const args = ["--test-reporter=tap", "--test-force-exit", "test/in-one-process.ts", ...tests];
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "ignore"],
    env: {
      ...process.env,
      NODE_OPTIONS: `--import=${hook}`,
      NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compiled"),
      ...(trial && {
        POSTHORN_MUTANT: JSON.stringify({ ...trial, file: join(root, trial.file) }),
      }),
    },
  });
  return new Promise((resolve) => {
    let verdict: Verdict | null = null;
    const settle = (as: Verdict) => {
      verdict ??= as;
      child.kill("SIGKILL");
    };
    const timer = setTimeout(() => settle("timed out"), trial === null ? 10 * limitMs : limitMs);
    child.stdout.setEncoding("utf8").on("data", (said: string) => {
      if (!/^\s*not ok /m.test(said)) return;
      if (trial === null) console.error(said);
      settle("noticed");
    });
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve(verdict ?? (code === 0 ? "lived" : "noticed"));
    });
  });
}

function tell({ file, start, end, text }: Trial, verdict: Verdict): string {
  const source = readFileSync(file, "utf8");
  const from = source.lastIndexOf("\n", start) + 1;
  const before = source.slice(from, start).trimStart();
  const after = source.slice(end).split("\n", 1)[0];
  const was = source.slice(start, end).replace(/\s+/g, " ");
  return `${verdict}: ${file}:${lineAt(source, start)}: ${before}⟦${was} → ${text}⟧${after}`;
}

function lineAt(source: string, offset: number): number {
  return source.slice(0, offset).split("\n").length;
}

function memoize<T>(compute: (key: string) => T): (key: string) => T {
  const known = new Map<string, T>();
  return (key) => {
    const value = known.get(key) ?? compute(key);
    known.set(key, value);
    return value;
  };
}
