// Many deliveries wait behind an endpoint that is down. What does the broker cost
// then: memory, disk, time to start, and is publishing still as fast as with an empty store? A
// second broker with an empty store and the same dead endpoint takes turns with the full one.

import { startPartner } from "./intercom.ts";
import { cpuSeconds, folderBytes, median, residentBytes, sleep, untilQuiet } from "./measure.ts";
import type { Receiver } from "./peers/doors.ts";
import { findClosedPort } from "./ports.ts";
import type { Published, PublishOrder } from "./publisher.ts";
import type { Result } from "./report.ts";
import { type BrokerServer, makeDataFolder, startBroker } from "./servers.ts";

export interface WaitingOptions {
  readonly quick: boolean;
  readonly waiting: number;
  readonly rounds: number;
  readonly roundMs: number;
  readonly connections: number;
  readonly sends: number;
}

const FILL_EVENTS_PER_REQUEST = 500;
const FILL_CONNECTIONS = 4;
const FILL_MS_MAX = 900_000;
/** After it a broker that has nothing to do has given back what it can (runtime/give-back.ts). */
const QUIET_MS = 75_000;
const MEBIBYTE = 1024 * 1024;

type Publish = (order: Omit<PublishOrder, "first">) => Promise<Published>;

export async function runWaiting(options: WaitingOptions): Promise<Result[]> {
  await using parts = new AsyncDisposableStack();
  const publisher = parts.use(startPartner<PublishOrder, Published>("publisher.ts"));
  let first = 0;
  const publish: Publish = async (order) => {
    const published = await publisher.ask({ ...order, first });
    first = published.next;
    return published;
  };
  const to = { port: await findClosedPort(), connections: options.sends };
  const [emptyFolder, fullFolder] = [parts.use(makeDataFolder()), parts.use(makeDataFolder())];
  // The brokers are replaced by restarts; whichever runs at the end is ended.
  const brokers = { empty: await startBroker(emptyFolder.path, to) } as Brokers;
  parts.defer(() => brokers.empty[Symbol.asyncDispose]());
  brokers.full = await startBroker(fullFolder.path, to);
  parts.defer(() => brokers.full[Symbol.asyncDispose]());

  const filled = await fill(brokers.full, options, publish);
  const publishing = await comparePublishing(brokers, options, publish);
  const memory = residentBytes(brokers.full.pids[0] as number);
  const emptyMemory = residentBytes(brokers.empty.pids[0] as number);
  if (!options.quick) await sleep(QUIET_MS);
  const quietMemory = residentBytes(brokers.full.pids[0] as number);
  const emptyQuietMemory = residentBytes(brokers.empty.pids[0] as number);

  const clean = await restart(brokers, [emptyFolder.path, fullFolder.path], to, "stop");
  const killed = await restart(brokers, [emptyFolder.path, fullFolder.path], to, "kill");
  const base = { scenario: "waiting", waiting: filled.accepted };
  return [
    {
      ...base,
      system: "empty store",
      ...publishing.empty,
      memoryMiB: emptyMemory.now / MEBIBYTE,
      quietMemoryMiB: emptyQuietMemory.now / MEBIBYTE,
      peakMemoryMiB: emptyMemory.peak / MEBIBYTE,
      readyMs: clean.emptyMs,
      readyAfterKillMs: killed.emptyMs,
    },
    {
      ...base,
      system: "full store",
      fillPerSecond: (filled.accepted * 1000) / filled.ms,
      ...publishing.full,
      memoryMiB: memory.now / MEBIBYTE,
      quietMemoryMiB: quietMemory.now / MEBIBYTE,
      peakMemoryMiB: memory.peak / MEBIBYTE,
      readyMs: clean.fullMs,
      readyAfterKillMs: killed.fullMs,
      memoryAfterRestartMiB: residentBytes(brokers.full.pids[0] as number).now / MEBIBYTE,
      diskMiB: folderBytes(fullFolder.path) / MEBIBYTE,
    },
    { ...base, system: "full / empty", ...publishing.ratio },
  ];
}

/** One by one, as fast as it goes. */
interface Publishing {
  readonly publishedPerSecond: number;
  readonly cpuMicros: number;
}

interface Brokers {
  empty: BrokerServer;
  full: BrokerServer;
}

async function fill(
  broker: BrokerServer,
  { waiting }: WaitingOptions,
  publish: Publish,
): Promise<Published> {
  const filled = await publish({
    target: broker.target,
    connections: FILL_CONNECTIONS,
    eventsPerRequest: FILL_EVENTS_PER_REQUEST,
    eventsMax: waiting,
    msMax: FILL_MS_MAX,
    perSecond: null,
  });
  if (filled.accepted < waiting) throw new Error(`only ${filled.accepted} of ${waiting} accepted`);
  return filled;
}

async function comparePublishing(
  brokers: Brokers,
  options: WaitingOptions,
  publish: Publish,
): Promise<Record<"empty" | "full" | "ratio", Publishing>> {
  const measure = async ({ target, pids }: BrokerServer): Promise<Publishing> => {
    await untilQuiet(pids);
    const cpuBefore = cpuSeconds(...pids);
    const { accepted, ms } = await publish({
      target,
      connections: options.connections,
      eventsPerRequest: 1,
      eventsMax: Number.MAX_SAFE_INTEGER,
      msMax: options.roundMs,
      perSecond: null,
    });
    await untilQuiet(pids);
    const cpuMicros = ((cpuSeconds(...pids) - cpuBefore) * 1e6) / accepted;
    return { publishedPerSecond: (accepted * 1000) / ms, cpuMicros };
  };
  // The first round warms both up and is not counted.
  await measure(brokers.empty);
  await measure(brokers.full);
  const pairs: { empty: Publishing; full: Publishing }[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    pairs.push({ empty: await measure(brokers.empty), full: await measure(brokers.full) });
  }
  const medians = (of: (pair: (typeof pairs)[number], name: keyof Publishing) => number) => {
    const ofAll = (name: keyof Publishing) => median(pairs.map((pair) => of(pair, name)));
    return { publishedPerSecond: ofAll("publishedPerSecond"), cpuMicros: ofAll("cpuMicros") };
  };
  return {
    empty: medians(({ empty }, name) => empty[name]),
    full: medians(({ full }, name) => full[name]),
    ratio: medians(({ empty, full }, name) => full[name] / empty[name]),
  };
}

async function restart(
  brokers: Brokers,
  [emptyFolder, fullFolder]: readonly [string, string],
  to: Receiver,
  how: "stop" | "kill",
): Promise<{ emptyMs: number; fullMs: number }> {
  const end = (broker: BrokerServer): PromiseLike<void> =>
    how === "kill" ? broker.kill() : broker[Symbol.asyncDispose]();
  await end(brokers.empty);
  brokers.empty = await startBroker(emptyFolder, to);
  await end(brokers.full);
  brokers.full = await startBroker(fullFolder, to);
  return { emptyMs: brokers.empty.readyMs, fullMs: brokers.full.readyMs };
}
