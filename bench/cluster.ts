// One, two and three brokers on one PostgreSQL, beside the embedded store: processor time of
// brokers and of the database for each delivered event at a fixed rate; how long deliveries pause
// when a broker is killed or stops; what many waiting deliveries and many subscriptions cost.
//
// The database is a real one, started for the bench on the disk of the temporary folder.

import { type Postgres, startPostgres } from "../test/fixtures/postgres.ts";
import { type Partner, startPartner } from "./intercom.ts";
import { cpuSeconds, median, nowMs, residentBytes, sleep } from "./measure.ts";
import { findClosedPort } from "./ports.ts";
import type { Published, PublishOrder } from "./publisher.ts";
import type { Received, ReceiverQuestion } from "./receiver.ts";
import type { Result } from "./report.ts";
import {
  type BrokerServer,
  key,
  makeDataFolder,
  startBrokerWith,
  subscriptionTo,
} from "./servers.ts";

/** What is measured, each on brokers and databases of its own. */
export const clusterParts = ["flow", "pauses", "waiting", "idle", "endpoint"] as const;

export interface ClusterOptions {
  /** Null: all of them. */
  readonly part: (typeof clusterParts)[number] | null;
  readonly rounds: number;
  readonly roundMs: number;
  /** Deliveries of three brokers before the first round, and of fewer in proportion. */
  readonly warmUpEvents: number;
  readonly connections: number;
  readonly perSecond: number;
  readonly waiting: number;
  readonly subscriptions: readonly number[];
}

/** Each with an endpoint, so that there is something to share out. */
const TOPICS = 6;
const MEBIBYTE = 1024 * 1024;
const IDLE_MS = 20_000;
/** By then a thread that was busy has given its memory back (runtime/give-back.ts). */
const SETTLED_MS = 75_000;
const IDLE_BEFORE_MS = 3_000;
const PAUSE_STEP_MS = 20;

type Parts = AsyncDisposableStack;

export async function runCluster(options: ClusterOptions): Promise<Result[]> {
  const measure = {
    flow: () => measureFlow(options),
    pauses: () => measurePauses(options),
    waiting: () => measureWaiting(options),
    idle: () => measureIdle(Math.max(...options.subscriptions)),
    endpoint: () => measureEndpoint(options),
  };
  const results: Result[] = [];
  for (const part of clusterParts) {
    if (options.part === null || options.part === part) results.push(...(await measure[part]()));
  }
  return results;
}

/** Ends with the parts. */
async function openDatabase(parts: Parts): Promise<{ postgres: Postgres; url: string }> {
  const ends: (() => unknown)[] = [];
  parts.defer(async () => {
    for (const end of ends) await end();
  });
  const postgres = await startPostgres({ after: (end) => void ends.push(end) });
  return { postgres, url: await postgres.newDatabase() };
}

function configTo(port: number, more: object = {}): object {
  const topics = Array.from({ length: TOPICS }, (_, index) => [
    `topic-${index}`,
    { key1: key, subscriptions: { one: subscriptionTo(`http://127.0.0.1:${port}/${index}`) } },
  ]);
  return { topics: { ...Object.fromEntries(topics), ...more } };
}

async function openBrokers(
  parts: Parts,
  count: number,
  config: object,
  store: string | null,
  settings: readonly string[] = [],
) {
  const brokers: BrokerServer[] = [];
  for (let index = 0; index < count; index += 1) {
    const folder = parts.use(makeDataFolder());
    const more = store === null ? [] : ["--store", store, ...settings];
    const broker = await startBrokerWith(folder.path, config, ["--handshake", "off", ...more]);
    parts.defer(() => broker[Symbol.asyncDispose]());
    brokers.push(broker);
  }
  return brokers;
}

class Crowd {
  readonly #publishers: readonly Partner<PublishOrder, Published>[];
  #first = 0;

  constructor(parts: Parts) {
    this.#publishers = Array.from({ length: TOPICS }, () =>
      parts.use(startPartner<PublishOrder, Published>("publisher.ts")),
    );
  }

  /** Each publisher has a topic, and goes to one of the brokers. Answers how many were accepted. */
  async publish(
    brokers: readonly BrokerServer[],
    {
      topic = null,
      ...order
    }: Pick<PublishOrder, "eventsPerRequest" | "eventsMax" | "msMax" | "connections"> & {
      readonly perSecond: number | null;
      /** One for all; null: each its own. */
      readonly topic?: string | null;
    },
  ): Promise<{ readonly accepted: number; readonly ms: number }> {
    const { perSecond, eventsMax } = order;
    const rangeLength = 2_000_000;
    const done = await Promise.all(
      this.#publishers.map((publisher, index) => {
        const broker = brokers[index % brokers.length] as BrokerServer;
        return publisher.ask({
          ...order,
          target: { ...broker.target, path: `/topics/${topic ?? `topic-${index}`}/api/events` },
          first: this.#first + index * rangeLength,
          eventsMax: Math.ceil(eventsMax / TOPICS),
          perSecond: perSecond === null ? null : perSecond / TOPICS,
        });
      }),
    );
    this.#first += Math.max(
      ...done.map(({ next }, index) => next - this.#first - index * rangeLength),
    );
    const accepted = done.reduce((sum, each) => sum + each.accepted, 0);
    return { accepted, ms: Math.max(...done.map(({ ms }) => ms)) };
  }
}

/**
 * At a fixed rate with more and more brokers, each of which then has less to do; and one broker
 * with as little to do, because that alone makes an event dearer.
 */
async function measureFlow(options: ClusterOptions): Promise<Result[]> {
  const { perSecond } = options;
  const results: Result[] = [];
  for (const brokers of [0, 1, 2, 3]) {
    results.push(await measureFlowOf(brokers, perSecond, options));
  }
  for (const part of [2, 3]) {
    results.push(await measureFlowOf(1, Math.round(perSecond / part), options));
  }
  return results;
}

async function measureFlowOf(
  count: number,
  perSecond: number,
  options: ClusterOptions,
): Promise<Result> {
  await using parts = new AsyncDisposableStack();
  const receiver = parts.use(startPartner<ReceiverQuestion, Received>("receiver.ts"));
  const { port } = await receiver.ask({ kind: "report" });
  const { postgres, url } = count === 0 ? { postgres: null, url: null } : await openDatabase(parts);
  const brokers = await openBrokers(parts, Math.max(1, count), configTo(port), url);
  const crowd = new Crowd(parts);
  const pids = brokers.flatMap((broker) => broker.pids);
  const arrive = async (accepted: number): Promise<number> => {
    let delivered = 0;
    for (const until = nowMs() + 30_000; delivered < accepted && nowMs() < until; ) {
      await sleep(100);
      delivered = (await receiver.ask({ kind: "report" })).unique;
    }
    return delivered;
  };
  // As much for each, however many there are: code that has seldom run costs several times as much.
  await receiver.ask({ kind: "reset", copies: 1 });
  const warm = await crowd.publish(brokers, {
    ...{ eventsPerRequest: 1, eventsMax: (options.warmUpEvents / 3) * brokers.length },
    ...{ msMax: 120_000, connections: 8, perSecond: null },
  });
  await arrive(warm.accepted);
  // What each costs whatever it does: heartbeats, polls, timers.
  await sleep(IDLE_BEFORE_MS);
  const used = () => ({ broker: cpuSeconds(...pids), database: postgres?.cpuSeconds() ?? 0 });
  const idleBefore = used();
  await sleep(options.roundMs);
  const idleAfter = used();
  const rounds: { broker: number; database: number; delivered: number }[] = [];
  // The first round is not counted: the database cleans up after the warm-up.
  for (let round = 0; round <= options.rounds; round += 1) {
    await receiver.ask({ kind: "reset", copies: 1 });
    const before = used();
    const { accepted } = await crowd.publish(brokers, {
      ...{ eventsPerRequest: 1, eventsMax: Number.MAX_SAFE_INTEGER, msMax: options.roundMs },
      ...{ connections: 2, perSecond },
    });
    const delivered = await arrive(accepted);
    const after = used();
    const [broker, database] = [after.broker - before.broker, after.database - before.database];
    if (round > 0) rounds.push({ broker, database, delivered });
  }
  const micros = (of: "broker" | "database") =>
    median(rounds.map((round) => (round[of] * 1e6) / Math.max(1, round.delivered)));
  const idle = (of: "broker" | "database") =>
    ((idleAfter[of] - idleBefore[of]) * 100_000) / options.roundMs;
  return {
    scenario: "cluster",
    system: count === 0 ? "embedded" : `${count} on PostgreSQL`,
    measured: `at ${perSecond}/s`,
    cpuMicros: micros("broker"),
    databaseMicros: micros("database"),
    idlePercent: idle("broker") / brokers.length,
    databaseIdlePercent: idle("database"),
    delivered: rounds.reduce((sum, round) => sum + round.delivered, 0),
  };
}

/** The longest time without an arrival at any endpoint, after one of three brokers has ended. */
async function measurePauses(options: ClusterOptions): Promise<Result[]> {
  const results: Result[] = [];
  for (const how of ["SIGKILL", "SIGTERM"] as const) {
    await using parts = new AsyncDisposableStack();
    const receiver = parts.use(startPartner<ReceiverQuestion, Received>("receiver.ts"));
    const { port } = await receiver.ask({ kind: "report" });
    const { url } = await openDatabase(parts);
    const [gone, ...left] = await openBrokers(parts, 3, configTo(port), url);
    const crowd = new Crowd(parts);
    await receiver.ask({ kind: "reset", copies: 1 });
    const msMax = 20_000;
    const publishing = crowd.publish(left, {
      ...{ eventsPerRequest: 1, eventsMax: Number.MAX_SAFE_INTEGER, msMax, connections: 2 },
      perSecond: Math.min(300, options.perSecond),
    });
    await sleep(5_000);
    const endedAt = nowMs();
    const ended = how === "SIGKILL" ? gone?.kill() : gone?.[Symbol.asyncDispose]();
    const { accepted } = await publishing;
    await ended;
    // What waited behind the broker that is gone came last, and its delay is the pause.
    let report = await receiver.ask({ kind: "report" });
    for (const until = nowMs() + 30_000; report.unique < accepted && nowMs() < until; ) {
      await sleep(PAUSE_STEP_MS);
      report = await receiver.ask({ kind: "report" });
    }
    results.push({
      scenario: "cluster",
      system: "3 on PostgreSQL",
      measured: `pause after ${how}`,
      arrivalP99Ms: report.arrivalP99Ms,
      pauseMs: report.longestMs,
      secondsSince: (nowMs() - endedAt) / 1_000,
      delivered: report.unique,
    });
  }
  return results;
}

/** Behind dead endpoints: memory of each broker, publishing against an empty one, time to ready. */
async function measureWaiting(options: ClusterOptions): Promise<Result[]> {
  await using parts = new AsyncDisposableStack();
  const port = await findClosedPort();
  const [empty, full] = [await openDatabase(parts), await openDatabase(parts)];
  const crowd = new Crowd(parts);
  // As many: each more makes a broker wait longer for company.
  const others = await openBrokers(parts, 2, configTo(port), empty.url);
  const brokers = await openBrokers(parts, 2, configTo(port), full.url);
  const rate = async (some: readonly BrokerServer[]) => {
    const { accepted, ms } = await crowd.publish(some, {
      ...{ eventsPerRequest: 1, eventsMax: Number.MAX_SAFE_INTEGER, msMax: options.roundMs },
      ...{ connections: options.connections / TOPICS, perSecond: null },
    });
    return (accepted * 1_000) / ms;
  };
  const filled = await crowd.publish(brokers, {
    ...{ eventsPerRequest: 500, eventsMax: options.waiting, msMax: 900_000 },
    ...{ connections: 1, perSecond: null },
  });
  const ratios: number[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const base = await rate(others.slice(0, 1));
    ratios.push((await rate(brokers.slice(0, 1))) / base);
  }
  const memories = () =>
    Math.max(...brokers.map(({ pids }) => residentBytes(pids[0] as number).now / MEBIBYTE));
  const memory = memories();
  await sleep(SETTLED_MS);
  const quietMemory = memories();
  const [third] = await openBrokers(parts, 1, configTo(port), full.url);
  return [
    {
      scenario: "cluster",
      system: "2 on PostgreSQL",
      measured: `${filled.accepted} waiting`,
      memoryMiB: memory,
      quietMemoryMiB: quietMemory,
      publishRatio: median(ratios),
      readyMs: third?.readyMs ?? 0,
      delivered: filled.accepted,
    },
  ];
}

async function measureIdle(count: number): Promise<Result[]> {
  return [await measureIdleWith(count, "on"), await measureIdleWith(count, "off")];
}

/** Brokers tell each other by notices, or look. */
async function measureIdleWith(count: number, notify: "on" | "off"): Promise<Result> {
  await using parts = new AsyncDisposableStack();
  const port = await findClosedPort();
  const { postgres, url } = await openDatabase(parts);
  const names = Array.from({ length: count }, (_, index) => `idle-${index}`);
  const subscriptions = Object.fromEntries(
    names.map((name) => [name, subscriptionTo(`http://127.0.0.1:${port}/${name}`)]),
  );
  const config = configTo(port, { many: { key1: key, subscriptions } });
  const more = ["--store-notify", notify];
  const brokers = await openBrokers(parts, 2, config, url, more);
  // What a start leaves behind is not idleness, nor is the collection of a thread that was busy.
  await sleep(SETTLED_MS);
  const pids = brokers.flatMap((broker) => broker.pids);
  const [before, beforeDatabase] = [cpuSeconds(...pids), postgres.cpuSeconds()];
  await sleep(IDLE_MS);
  const percent = (seconds: number) => (seconds * 100_000) / IDLE_MS;
  return {
    scenario: "cluster",
    system: "2 on PostgreSQL",
    measured: `${count} idle subscriptions${notify === "on" ? "" : ", store-notify off"}`,
    idlePercent: percent(cpuSeconds(...pids) - before) / brokers.length,
    databaseIdlePercent: percent(postgres.cpuSeconds() - beforeDatabase),
  };
}

/**
 * The most that one endpoint gets, whoever publishes: it belongs to one broker. And the ways beyond
 * it: batches, and several URLs, each with a part of the events. In turns at the same brokers, so
 * that whatever else the machine does, it does to all of them.
 */
async function measureEndpoint(options: ClusterOptions): Promise<Result[]> {
  await using parts = new AsyncDisposableStack();
  const receiver = parts.use(startPartner<ReceiverQuestion, Received>("receiver.ts"));
  const { port } = await receiver.ask({ kind: "report" });
  const { postgres, url } = await openDatabase(parts);
  const brokers = await openBrokers(parts, 3, configTo(port, endpointWays(port)), url);
  const pids = brokers.flatMap((broker) => broker.pids);
  const used = () => ({ broker: cpuSeconds(...pids), database: postgres.cpuSeconds() });
  const crowd = new Crowd(parts);
  const rounds: { way: string; rate: number; broker: number; database: number }[] = [];
  // The first round of each warms up and is not counted.
  for (let round = 0; round <= options.rounds; round += 1) {
    for (const way of Object.keys(endpointWays(port))) {
      await receiver.ask({ kind: "reset", copies: 1 });
      const [before, begunAt] = [used(), nowMs()];
      const { accepted } = await crowd.publish(brokers, {
        ...{ eventsPerRequest: 20, eventsMax: Number.MAX_SAFE_INTEGER, msMax: options.roundMs },
        ...{ connections: 4, perSecond: null, topic: way },
      });
      let delivered = 0;
      for (const until = nowMs() + 60_000; delivered < accepted && nowMs() < until; ) {
        await sleep(50);
        delivered = (await receiver.ask({ kind: "report" })).unique;
      }
      const [rate, after] = [(delivered * 1_000) / (nowMs() - begunAt), used()];
      const micros = (of: "broker" | "database") =>
        ((after[of] - before[of]) * 1e6) / Math.max(1, delivered);
      const costs = { broker: micros("broker"), database: micros("database") };
      if (round > 0) rounds.push({ way, rate, ...costs });
    }
  }
  return Object.keys(endpointWays(port)).map((way) => {
    const its = rounds.filter((round) => round.way === way);
    return {
      ...{ scenario: "cluster", system: "3 on PostgreSQL", measured: way.replaceAll("-", " ") },
      deliveredPerSecond: median(its.map(({ rate }) => rate)),
      cpuMicros: median(its.map(({ broker }) => broker)),
      databaseMicros: median(its.map(({ database }) => database)),
    };
  });
}

/** A topic for each way. */
function endpointWays(port: number) {
  const url = (path: string) => `http://127.0.0.1:${port}/${path}`;
  const part = (digits: string) => ({
    ...subscriptionTo(url(`parts?part=${digits}`)),
    filter: {
      advancedFilters: [{ operatorType: "StringEndsWith", key: "id", values: [...digits] }],
    },
  });
  const subscriptions = { "012": part("012"), "3456": part("3456"), "789": part("789") };
  return {
    "one-endpoint": { key1: key, subscriptions: { one: subscriptionTo(url("one")) } },
    "batches-of-100": { key1: key, subscriptions: { one: subscriptionTo(url("batches"), 100) } },
    "three-URLs-by-filter": { key1: key, subscriptions },
  };
}
