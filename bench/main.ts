// `npm run bench`: what the broker costs, measured beside a yardstick and peers in the same run.
// Publishers, servers and receiver are processes of their own on loopback. Needs Linux for /proc.
// Everything is bounded in number and time, and whatever was started is ended.

import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { cpus } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { runCatalog } from "./catalog.ts";
import { clusterParts, runCluster } from "./cluster.ts";
import { runBatches, runFanOut, runSteady } from "./flow.ts";
import { runMatching } from "./matching.ts";
import { median } from "./measure.ts";
import { runPull } from "./pull.ts";
import { type Result, renderLines, renderTable } from "./report.ts";
import { makeDataFolder } from "./servers.ts";
import { runSick } from "./sick.ts";
import { runSoak } from "./soak.ts";
import { runWaiting } from "./waiting.ts";

/** Every scenario and what its table is about. */
const titles = {
  steady: "Events flow through one by one",
  batch: "A hundred events in a request and in a delivery",
  "fan-out": "One event to many subscriptions",
  sick: "A healthy endpoint beside fifty dead and fifty hanging ones",
  waiting: "Deliveries wait behind a dead endpoint",
  pull: "Clients fetch, beside push of the same events",
  matching: "Events find their subscriptions",
  catalog: "One more subscription among many",
  cluster: "Several brokers on one PostgreSQL",
  soak: "Events flow for minutes",
} as const;

type Scenario = keyof typeof titles;

const HELP = `npm run bench -- [options]
  --only NAME            one scenario instead of all: ${Object.keys(titles).join(", ")};
                         a soak is run only if it is named
  --matching             the same as --only matching
  --system relay|broker  in steady: one system alone, without a ratio
  --beside FOLDER        another checkout of the broker, as one more system
  --no-peers             without BullMQ and graphile-worker, and what they need
  --quick                a smoke run of a few seconds; its figures mean nothing
  --rounds N             measured rounds per system and load (5)
  --seconds N            length of a round (4)
  --warm-up N            deliveries per system before the first round (100000)
  --connections N        publishers' connections (32)
  --sends N              connections from the server to the receiver (64)
  --rate N               events per second under the fixed load (1000)
  --waiting N            deliveries behind the dead endpoint (1000000)
  --copies N             in fan-out: subscriptions that get each event (20 and 100)
  --part NAME            in cluster: one part alone: ${clusterParts.join(", ")}
  --minutes N            in soak: how long (10)
  --subscriptions N      in catalog: beside so many alone (10, 1000 and 5000)`;

const RUN_MINUTES_MAX = 60;

const scenarios = Object.keys(titles) as Scenario[];

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
      rate: { type: "string", default: "1000" },
      beside: { type: "string" },
      "no-peers": { type: "boolean", default: false },
      waiting: { type: "string" },
      copies: { type: "string", multiple: true },
      part: { type: "string" },
      minutes: { type: "string", default: "10" },
      subscriptions: { type: "string", multiple: true },
    },
  });
  const { quick } = values;
  return {
    isHelp: values.help,
    quick,
    scenario: oneOf("--only", values.matching ? "matching" : values.only, scenarios),
    only: oneOf("--system", values.system, ["relay", "broker"]),
    beside: values.beside === undefined ? null : resolve(values.beside),
    hasPeers: !values["no-peers"] && !quick,
    rounds: wholeNumber("--rounds", values.rounds ?? (quick ? "1" : "5")),
    roundMs: 1000 * wholeNumber("--seconds", values.seconds ?? (quick ? "1" : "4")),
    warmUpEvents: wholeNumber("--warm-up", values["warm-up"] ?? (quick ? "500" : "100000")),
    connections: wholeNumber("--connections", values.connections),
    sends: wholeNumber("--sends", values.sends),
    perSecond: wholeNumber("--rate", values.rate),
    part: oneOf("--part", values.part, clusterParts),
    minutes: wholeNumber("--minutes", values.minutes),
    copies: (values.copies ?? (quick ? ["20"] : ["20", "100"])).map((text) =>
      wholeNumber("--copies", text),
    ),
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

type Options = ReturnType<typeof readOptions>;

/** A text, or results that become a table. */
const runs: Readonly<Record<Scenario, (options: Options) => Promise<readonly Result[] | string>>> =
  {
    steady: runSteady,
    batch: runBatches,
    "fan-out": (options) => runFanOut(options, options.copies),
    sick: runSick,
    waiting: runWaiting,
    pull: runPull,
    matching: runMatching,
    catalog: runCatalog,
    cluster: runCluster,
    soak: runSoak,
  };

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options.isHelp) return console.log(HELP);
  const watchdog = setTimeout(() => {
    console.error(`The bench has not ended within ${RUN_MINUTES_MAX} minutes.`);
    process.exit(1);
  }, RUN_MINUTES_MAX * 60_000);
  console.log(JSON.stringify(describeMachine()));
  for (const name of scenarios) {
    const isAsked = options.scenario === null ? name !== "soak" : options.scenario === name;
    if (!isAsked) continue;
    const results = await runs[name](options);
    const isText = typeof results === "string";
    const shown = isText ? results : `${renderTable(results)}\n\n${renderLines(results)}`;
    console.log(`\n## ${titles[name]}\n\n${shown}`);
  }
  clearTimeout(watchdog);
}

await main();
