// Runs the tests: `node test/run.ts` all of them, `node test/run.ts src/store test/sim` those under
// these paths. Each file is a process of its own, but the tests in src/core, which are pure, share
// one. What some tests need and the machine lacks is fetched first, so that no test waits for it.
//
// A file in which no test begins or ends for a minute hangs, whether it waits, spins or only stays
// alive after its last test: it is ended, with the processes it has started, and counts as failed.
// `--silence SECONDS` sets another limit.

import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { Readable } from "node:stream";
import { run } from "node:test";
import type { TestEvent } from "node:test/reporters";
import { parseArgs, promisify } from "node:util";
import { fetchTools } from "./fetch-tools.ts";
import report from "./reporter.ts";

/** Tests wait for disks, sockets and processes, too: more files than cores, but not many more. */
const filesAtOnce = availableParallelism() + 1;

const { values: options, positionals: paths } = parseArgs({
  allowPositionals: true,
  options: { silence: { type: "string", default: "60" } },
});
const silenceMs = Number(options.silence) * 1_000;

/** One step under these paths takes longer on a slow machine. */
const silencesMs: Readonly<Record<string, number>> = {
  "src/egress/amqp-broker.test.ts": 180_000, // a RabbitMQ starts
  "src/store/postgres/": 180_000, // a PostgreSQL is made and started
  "test/package.test.ts": 300_000, // npm packs and installs
  "test/cluster/": 300_000, // a whole fault, with what follows it, is one test
  "test/crash.test.ts": 180_000, // twenty lives of one broker are one test
  "test/faults.test.ts": 180_000, // a day for every statement that can fail is one test
  "test/sim/": 180_000, // fifty seeds are one test
  "test/differential": 180_000, // all runs on a PostgreSQL are one test
  "test/torture.test.ts": 180_000, // a run, with what is left at its end, is one test
  "test/portal/": 180_000, // a test waits a minute for what it wants to see, and says what it was
};

/** These take longest, so they begin first. */
const longest = [
  "test/cluster/",
  "test/portal/",
  "test/sim/",
  "test/package.test.ts",
  "test/profiles.test.ts",
];

interface Job {
  readonly file: string;
  readonly args: readonly string[];
}

// Types are stripped and code is compiled once, not in each of some hundred processes.
process.env.NODE_COMPILE_CACHE ??= join(process.cwd(), "node_modules/.cache/compiled");
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void killTree("").finally(() => process.exit(1)));
}
const files = findFiles();
await fetchTools(files);
for await (const text of report(runAll(planJobs()))) process.stdout.write(text);

function findFiles(): readonly string[] {
  const found = globSync("{src,test}/**/*.test.ts").toSorted();
  const asked = paths.map((path) => relative("", path));
  if (asked.length === 0) return found;
  return found.filter((file) => asked.some((path) => file.startsWith(path)));
}

function planJobs(): readonly Job[] {
  const isLaw = (file: string) => file.startsWith("src/core/");
  const isLong = (file: string) => longest.some((path) => file.startsWith(path));
  const laws = files.filter(isLaw);
  const others = files.filter((file) => !isLaw(file));
  const ordered = [...others.filter(isLong), ...others.filter((file) => !isLong(file))];
  const jobs = ordered.map((file) => ({ file, args: [] }));
  return laws.length === 0 ? jobs : [...jobs, { file: "test/in-one-process.ts", args: laws }];
}

/** What a file reports comes in one piece, when the file is done. */
async function* runAll(jobs: readonly Job[]): AsyncGenerator<TestEvent> {
  const waiting = [...jobs];
  const stream = new Readable({ objectMode: true, read() {} });
  const work = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      for (const event of await runFile(job)) stream.push(event);
    }
  };
  Promise.all(Array.from({ length: filesAtOnce }, work)).then(
    () => stream.push(null),
    (error) => stream.destroy(error),
  );
  yield* stream;
}

async function runFile({ file, args }: Job): Promise<readonly TestEvent[]> {
  const path = join(process.cwd(), file);
  const [, limitMs = silenceMs] =
    Object.entries(silencesMs).find(([of]) => file.startsWith(of)) ?? [];
  const events: TestEvent[] = [];
  const underWay = new Set<string>();
  const end = async () => {
    const where = underWay.size === 0 ? "" : ` in ${[...underWay].join(", ")}`;
    process.stdout.write(`\nENDED ${file}: nothing for ${limitMs / 1_000} s${where}\n`);
    await killTree(path);
  };
  let timer = setTimeout(end, limitMs);
  for await (const event of run({ files: [path], argv: args, concurrency: 1 })) {
    clearTimeout(timer);
    timer = setTimeout(end, limitMs);
    if (event.type === "test:dequeue" && event.data.name !== path) underWay.add(event.data.name);
    if (event.type === "test:complete") underWay.delete(event.data.name);
    if (event.type === "test:fail") process.exitCode = 1;
    events.push(event);
  }
  clearTimeout(timer);
  return events;
}

/** Ends the process that runs a file, or all of them, with everything they have started. */
async function killTree(file: string): Promise<void> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid=,ppid=,args="]);
  const all = stdout.split("\n").map((line) => {
    const [, pid, parent, args = ""] = /^\s*(\d+)\s+(\d+)\s(.*)$/.exec(line) ?? [];
    return { pid: Number(pid), parent: Number(parent), args };
  });
  const tree = all.filter(({ parent, args }) => parent === process.pid && args.includes(file));
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  for (const { pid } of tree) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }
}
