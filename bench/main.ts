// `npm run bench`: what the broker costs, measured beside a yardstick in the same run. Publishers,
// server and receiver are processes of their own on loopback. Needs Linux for /proc. Everything is
// bounded in number and time, and whatever was started is ended.

import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runCatalog } from "./catalog.ts";
import { runMatching } from "./matching.ts";
import { median } from "./measure.ts";
import { type Result, renderLines, renderTable } from "./report.ts";
import { makeDataFolder } from "./servers.ts";
import { runSteady } from "./steady.ts";
import { runWaiting } from "./waiting.ts";

const HELP = `npm run bench -- [options]
  --only steady|waiting|matching|catalog  one scenario instead of all four
  --matching             the same as --only matching
  --system relay|broker  in steady: one system alone, without a ratio
  --quick                a smoke run of a few seconds; its figures mean nothing
  --rounds N             measured rounds per system and load (5)
  --seconds N            length of a round (4)
  --warm-up N            events per system before the first round (30000)
  --connections N        publishers' connections (32)
  --sends N              connections from the server to the receiver (64)
  --rate N               events per second under the fixed load (2000)
  --waiting N            deliveries behind the dead endpoint (1000000)
  --subscriptions N      in catalog: beside so many alone (10, 1000 and 5000)`;

const RUN_MINUTES_MAX = 40;

const scenarios = ["steady", "waiting", "matching", "catalog"] as const;

function readOptions(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      matching: { type: "boolean", default: false },
      only: { type: "string" },
      system: { type: "string" },
      rounds: { type: "string" },
      seconds: { type: "string" },
      "warm-up": { type: "string" },
      connections: { type: "string", default: "32" },
      sends: { type: "string", default: "64" },
      rate: { type: "string", default: "2000" },
      waiting: { type: "string" },
      subscriptions: { type: "string", multiple: true },
    },
  });
  const { quick } = values;
  return {
    isHelp: values.help,
    only: oneOf("--only", values.matching ? "matching" : values.only, scenarios),
    system: oneOf("--system", values.system, ["relay", "broker"]),
    rounds: wholeNumber("--rounds", values.rounds ?? (quick ? "1" : "5")),
    roundMs: 1000 * wholeNumber("--seconds", values.seconds ?? (quick ? "1" : "4")),
    warmUpEvents: wholeNumber("--warm-up", values["warm-up"] ?? (quick ? "500" : "30000")),
    connections: wholeNumber("--connections", values.connections),
    sends: wholeNumber("--sends", values.sends),
    perSecond: wholeNumber("--rate", values.rate),
    subscriptions: (values.subscriptions ?? (quick ? ["10", "100"] : ["10", "1000", "5000"])).map(
      (text) => wholeNumber("--subscriptions", text),
    ),
    waiting: wholeNumber("--waiting", values.waiting ?? (quick ? "5000" : "1000000")),
  };
}

function oneOf<T extends string>(
  name: string,
  value: string | undefined,
  choices: readonly T[],
): T | null {
  if (value === undefined) return null;
  const choice = choices.find((candidate) => candidate === value);
  if (choice === undefined) throw new Error(`${name} is one of ${choices.join(", ")}`);
  return choice;
}

function wholeNumber(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`${name} is a whole number from 1`);
  return Number(text);
}

/** What the figures depend on besides us. */
function describeMachine(): Result {
  return {
    scenario: "machine",
    system: `${cpus()[0]?.model ?? "unknown"}, ${cpus().length} cores`,
    node: process.version,
    load: readFileSync("/proc/loadavg", "utf8").split(" ").slice(0, 3).join(" "),
    fsyncMs: measureFsync(),
  };
}

/** The price of one small durable write, without which a publish rate says little. */
function measureFsync(): number {
  using folder = makeDataFolder();
  const file = openSync(join(folder.path, "fsync"), "w");
  const times = Array.from({ length: 50 }, () => {
    const startedAt = performance.now();
    writeSync(file, Buffer.alloc(4096));
    fsyncSync(file);
    return performance.now() - startedAt;
  });
  closeSync(file);
  return Number(median(times).toFixed(3));
}

function print(title: string, results: readonly Result[]): void {
  console.log(`\n## ${title}\n\n${renderTable(results)}\n\n${renderLines(results)}`);
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options.isHelp) return console.log(HELP);
  const watchdog = setTimeout(() => {
    console.error(`The bench has not ended within ${RUN_MINUTES_MAX} minutes.`);
    process.exit(1);
  }, RUN_MINUTES_MAX * 60_000);
  console.log(JSON.stringify(describeMachine()));
  const isAsked = (name: (typeof scenarios)[number]) => (options.only ?? name) === name;
  if (isAsked("steady")) {
    const systems = options.system === null ? (["relay", "broker"] as const) : [options.system];
    print("Events flow through", await runSteady({ ...options, systems }));
  }
  if (isAsked("waiting")) {
    print("Deliveries wait behind a dead endpoint", await runWaiting(options));
  }
  if (isAsked("matching")) console.log(`\n## Events find their subscriptions\n\n${runMatching()}`);
  if (isAsked("catalog")) {
    print("One more subscription among many", await runCatalog(options));
  }
  clearTimeout(watchdog);
}

await main();
