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

export interface ClusterOptions {
  readonly rounds: number;
  readonly roundMs: number;
  readonly connections: number;
  readonly perSecond: number;
  readonly waiting: number;
  readonly subscriptions: readonly number[];
}

/** Each with an endpoint, so that there is something to share out. */
const TOPICS = 6;
const MEBIBYTE = 1024 * 1024;
const IDLE_MS = 20_000;
const PAUSE_STEP_MS = 20;

type Parts = AsyncDisposableStack;

export async function runCluster(options: ClusterOptions): Promise<Result[]> {
  return [
    ...(await measureFlow(options)),
    ...(await measurePauses(options)),
    ...(await measureWaiting(options)),
    await measureIdle(Math.max(...options.subscriptions)),
  ];
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

async function openBrokers(parts: Parts, count: number, config: object, store: string | null) {
  const brokers: BrokerServer[] = [];
  for (let index = 0; index < count; index += 1) {
    const folder = parts.use(makeDataFolder());
    const more = store === null ? [] : ["--store", store];
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
    order: Pick<PublishOrder, "eventsPerRequest" | "eventsMax" | "msMax" | "connections"> & {
      readonly perSecond: number | null;
    },
  ): Promise<{ readonly accepted: number; readonly ms: number }> {
    const { perSecond, eventsMax } = order;
    const rangeLength = 2_000_000;
    const done = await Promise.all(
      this.#publishers.map((publisher, index) => {
        const broker = brokers[index % brokers.length] as BrokerServer;
        return publisher.ask({
          ...order,
          target: { ...broker.target, path: `/topics/topic-${index}/api/events` },
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

async function measureFlow(options: ClusterOptions): Promise<Result[]> {
  const results: Result[] = [];
  for (const count of [0, 1, 2, 3]) {
    await using parts = new AsyncDisposableStack();
    const receiver = parts.use(startPartner<ReceiverQuestion, Received>("receiver.ts"));
    const { port } = await receiver.ask({ kind: "report" });
    const { postgres, url } =
      count === 0 ? { postgres: null, url: null } : await openDatabase(parts);
    const brokers = await openBrokers(parts, Math.max(1, count), configTo(port), url);
    const crowd = new Crowd(parts);
    const pids = brokers.flatMap((broker) => broker.pids);
    const rounds: { broker: number; database: number; delivered: number }[] = [];
    // The first round warms up and is not counted.
    for (let round = 0; round <= options.rounds; round += 1) {
      await receiver.ask({ kind: "reset", copies: 1 });
      const [before, beforeDatabase] = [cpuSeconds(...pids), postgres?.cpuSeconds() ?? 0];
      const { accepted } = await crowd.publish(brokers, {
        ...{ eventsPerRequest: 1, eventsMax: Number.MAX_SAFE_INTEGER, msMax: options.roundMs },
        ...{ connections: 2, perSecond: options.perSecond },
      });
      let delivered = 0;
      for (const until = nowMs() + 30_000; delivered < accepted && nowMs() < until; ) {
        await sleep(100);
        delivered = (await receiver.ask({ kind: "report" })).unique;
      }
      const broker = cpuSeconds(...pids) - before;
      const database = (postgres?.cpuSeconds() ?? 0) - beforeDatabase;
      if (round > 0) rounds.push({ broker, database, delivered });
    }
    const micros = (of: "broker" | "database") =>
      median(rounds.map((round) => (round[of] * 1e6) / Math.max(1, round.delivered)));
    results.push({
      scenario: "cluster",
      system: count === 0 ? "embedded" : `${count} on PostgreSQL`,
      measured: `at ${options.perSecond}/s`,
      cpuMicros: micros("broker"),
      databaseMicros: micros("database"),
      delivered: rounds.reduce((sum, round) => sum + round.delivered, 0),
    });
  }
  return results;
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
  const [one] = await openBrokers(parts, 1, configTo(port), empty.url);
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
    const base = await rate([one as BrokerServer]);
    ratios.push((await rate(brokers.slice(0, 1))) / base);
  }
  const memory = brokers.map(({ pids }) => residentBytes(pids[0] as number).now / MEBIBYTE);
  const [third] = await openBrokers(parts, 1, configTo(port), full.url);
  return [
    {
      scenario: "cluster",
      system: "2 on PostgreSQL",
      measured: `${filled.accepted} waiting`,
      memoryMiB: Math.max(...memory),
      publishRatio: median(ratios),
      readyMs: third?.readyMs ?? 0,
      delivered: filled.accepted,
    },
  ];
}

async function measureIdle(count: number): Promise<Result> {
  await using parts = new AsyncDisposableStack();
  const port = await findClosedPort();
  const { postgres, url } = await openDatabase(parts);
  const names = Array.from({ length: count }, (_, index) => `idle-${index}`);
  const subscriptions = Object.fromEntries(
    names.map((name) => [name, subscriptionTo(`http://127.0.0.1:${port}/${name}`)]),
  );
  const config = configTo(port, { many: { key1: key, subscriptions } });
  const brokers = await openBrokers(parts, 2, config, url);
  // What a start leaves behind is not idleness.
  await sleep(IDLE_MS / 2);
  const pids = brokers.flatMap((broker) => broker.pids);
  const [before, beforeDatabase] = [cpuSeconds(...pids), postgres.cpuSeconds()];
  await sleep(IDLE_MS);
  const percent = (seconds: number) => (seconds * 100_000) / IDLE_MS;
  return {
    scenario: "cluster",
    system: "2 on PostgreSQL",
    measured: `${count} idle subscriptions`,
    idlePercent: percent(cpuSeconds(...pids) - before) / brokers.length,
    databaseIdlePercent: percent(postgres.cpuSeconds() - beforeDatabase),
  };
}
