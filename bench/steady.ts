// Scenario one: events flow through. The broker and the bare relay take turns, round by round, so
// that whatever else the machine does falls on both; the figure is the median of the rounds'
// ratios. Two loads: as fast as it goes, and a fixed rate that leaves the processors some air.

import { startPartner } from "./intercom.ts";
import { cpuSeconds, median, nowMs, sleep, untilQuiet } from "./measure.ts";
import type { Published, PublishOrder } from "./publisher.ts";
import type { Received, ReceiverQuestion } from "./receiver.ts";
import type { Result } from "./report.ts";
import { makeDataFolder, type Server, startBroker, startRelay } from "./servers.ts";

export interface SteadyOptions {
  readonly rounds: number;
  readonly roundMs: number;
  /** A count and not a time: what V8 makes of our code hangs on how often it ran. */
  readonly warmUpEvents: number;
  readonly connections: number;
  /** Connections to the receiver that either system may open. */
  readonly sends: number;
  readonly perSecond: number;
  readonly systems: readonly ("relay" | "broker")[];
}

interface Round {
  readonly delivered: number;
  readonly deliveredPerSecond: number;
  readonly cpuMicrosPerEvent: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly repeated: number;
  readonly refused: number;
}

type Publish = (order: Omit<PublishOrder, "first">) => Promise<Published>;
type Receive = (kind: ReceiverQuestion["kind"]) => Promise<Received>;

const DRAIN_MS_MAX = 60_000;
const WARM_UP_MS_MAX = 60_000;

export async function runSteady(options: SteadyOptions): Promise<Result[]> {
  await using parts = new AsyncDisposableStack();
  const publisher = parts.use(startPartner<PublishOrder, Published>("publisher.ts"));
  const receiver = parts.use(startPartner<ReceiverQuestion, Received>("receiver.ts"));
  const receive: Receive = (kind) => receiver.ask({ kind });
  let first = 0;
  const publish: Publish = async (order) => {
    const published = await publisher.ask({ ...order, first });
    first = published.next;
    return published;
  };
  const { port } = await receive("report");
  const to = { port, connections: options.sends };
  const servers: Server[] = [];
  if (options.systems.includes("relay")) {
    servers.push(parts.use(await startRelay(to)));
  }
  if (options.systems.includes("broker")) {
    const folder = parts.use(makeDataFolder());
    servers.push(parts.use(await startBroker(folder.path, to)));
  }
  for (const server of servers) {
    const warmUp = { events: options.warmUpEvents, ms: WARM_UP_MS_MAX };
    await runRound(server, { ...options, ...warmUp, perSecond: null }, publish, receive);
  }
  const results: Result[] = [];
  for (const perSecond of [null, options.perSecond]) {
    results.push(...(await compare(servers, { ...options, perSecond }, publish, receive)));
  }
  return results;
}

async function compare(
  servers: readonly Server[],
  options: Omit<SteadyOptions, "perSecond"> & { readonly perSecond: number | null },
  publish: Publish,
  receive: Receive,
): Promise<Result[]> {
  const load = options.perSecond === null ? "as fast as it goes" : `${options.perSecond}/s`;
  const rounds = new Map<string, Round[]>(servers.map(({ name }) => [name, []]));
  for (let number = 1; number <= options.rounds; number += 1) {
    // Who goes first changes, so that a slow drift of the machine favours nobody.
    for (const server of number % 2 === 1 ? servers : servers.toReversed()) {
      const length = { events: Number.MAX_SAFE_INTEGER, ms: options.roundMs };
      const round = await runRound(server, { ...options, ...length }, publish, receive);
      rounds.get(server.name)?.push(round);
    }
  }
  const results = [...rounds].map(([system, list]): Result => {
    return { scenario: "steady", load, system, rounds: list.length, ...medians(list) };
  });
  const [relay, broker] = [rounds.get("relay"), rounds.get("broker")];
  if (relay !== undefined && broker !== undefined) {
    results.push({ scenario: "steady", load, system: "broker / relay", ...ratios(broker, relay) });
  }
  return results;
}

async function runRound(
  server: Server,
  order: {
    readonly connections: number;
    readonly perSecond: number | null;
    readonly events: number;
    readonly ms: number;
  },
  publish: Publish,
  receive: Receive,
): Promise<Round> {
  await receive("reset");
  const cpuBefore = cpuSeconds(server.pid);
  const published = await publish({
    target: server.target,
    connections: order.connections,
    eventsPerRequest: 1,
    eventsMax: order.events,
    msMax: order.ms,
    perSecond: order.perSecond,
  });
  const received = await untilDelivered(published.accepted, receive);
  // What the server does afterwards, such as cleaning up, is part of the price of these events.
  await untilQuiet(server.pid);
  const cpu = cpuSeconds(server.pid) - cpuBefore;
  return {
    delivered: received.unique,
    deliveredPerSecond: received.unique / ((received.lastAt - published.startedAt) / 1000),
    cpuMicrosPerEvent: (cpu * 1e6) / received.unique,
    p50Ms: published.p50Ms,
    p99Ms: published.p99Ms,
    repeated: received.repeated,
    refused: published.refused,
  };
}

async function untilDelivered(events: number, receive: Receive): Promise<Received> {
  const endAt = nowMs() + DRAIN_MS_MAX;
  for (;;) {
    const received = await receive("report");
    if (received.unique >= events) return received;
    if (nowMs() > endAt) {
      throw new Error(`accepted ${events} events, delivered ${received.unique}`);
    }
    await sleep(50);
  }
}

function medians(rounds: readonly Round[]): Round {
  const of = (pick: (round: Round) => number): number => median(rounds.map(pick));
  return {
    delivered: of((round) => round.delivered),
    deliveredPerSecond: of((round) => round.deliveredPerSecond),
    cpuMicrosPerEvent: of((round) => round.cpuMicrosPerEvent),
    p50Ms: of((round) => round.p50Ms),
    p99Ms: of((round) => round.p99Ms),
    repeated: of((round) => round.repeated),
    refused: of((round) => round.refused),
  };
}

/** Of each pair of neighbouring rounds, then the median: noise that lasts hits both of a pair. */
function ratios(ours: readonly Round[], yardstick: readonly Round[]) {
  const each = (pick: (round: Round) => number): number[] =>
    ours.map((round, i) => pick(round) / pick(yardstick[i] as Round));
  const of = (pick: (round: Round) => number): number => median(each(pick));
  return {
    // How far the rounds are apart says how much to believe of the median.
    cpuRatios: each((round) => round.cpuMicrosPerEvent)
      .map((ratio) => ratio.toFixed(2))
      .join(" "),
    deliveredPerSecond: of((round) => round.deliveredPerSecond),
    cpuMicrosPerEvent: of((round) => round.cpuMicrosPerEvent),
    p50Ms: of((round) => round.p50Ms),
    p99Ms: of((round) => round.p99Ms),
  };
}
