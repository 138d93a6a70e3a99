// Events flow through several systems that take turns, round by round, so that whatever else the
// machine does falls on all of them. A figure is the median of the rounds; a ratio is the median of
// the ratios of neighbouring rounds, with the lowest and the highest beside it.

import { startPartner } from "./intercom.ts";
import {
  cpuSeconds,
  median,
  nowMs,
  sleep,
  threadSeconds,
  threadShares,
  untilQuiet,
} from "./measure.ts";
import type { Published, PublishOrder } from "./publisher.ts";
import type { Received, ReceiverQuestion } from "./receiver.ts";
import type { Result } from "./report.ts";
import type { Server } from "./servers.ts";

export interface RoundOptions {
  readonly rounds: number;
  readonly roundMs: number;
  /** A count and not a time: what V8 makes of our code hangs on how often it ran. */
  readonly warmUpEvents: number;
  readonly connections: number;
  /** Connections to the receiver that every system may open. */
  readonly sends: number;
  /** A system that is never quiet: what it does after a round is not waited for, nor counted. */
  readonly isRestless?: boolean;
}

/** What is asked of a system. */
export interface Load {
  readonly name: string;
  /** Requests per second; null: as fast as it goes. */
  readonly perSecond: number | null;
  readonly eventsPerRequest: number;
}

/** A system and how many deliveries it makes of an event. */
export interface Contestant {
  readonly server: Server;
  readonly copies: number;
}

interface Round {
  readonly deliveries: number;
  readonly deliveredPerSecond: number;
  readonly cpuMicros: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly arrivalP50Ms: number;
  readonly arrivalP99Ms: number;
  readonly busiestPercent: number;
  readonly repeated: number;
  readonly refused: number;
  readonly threads: string;
}

const DRAIN_MS_MAX = 60_000;
const WARM_UP_MS_MAX = 60_000;

/** Publishers and a receiver, as processes of their own. */
export class Course implements AsyncDisposable {
  readonly #parts = new AsyncDisposableStack();
  readonly #publisher = this.#parts.use(startPartner<PublishOrder, Published>("publisher.ts"));
  readonly #receiver = this.#parts.use(startPartner<ReceiverQuestion, Received>("receiver.ts"));
  #first = 0;

  async receiverPort(): Promise<number> {
    return (await this.#receiver.ask({ kind: "report" })).port;
  }

  async publish(order: Omit<PublishOrder, "first">): Promise<Published> {
    const published = await this.#publisher.ask({ ...order, first: this.#first });
    this.#first = published.next;
    return published;
  }

  async warmUp({ server, copies }: Contestant, options: RoundOptions, load: Load): Promise<void> {
    const events = Math.ceil(options.warmUpEvents / copies);
    const order = { ...options, ...load, perSecond: null, events, ms: WARM_UP_MS_MAX };
    await this.run(server, { ...order, copies });
  }

  /** The medians of each system. */
  async compare(
    contestants: readonly Contestant[],
    options: RoundOptions,
    load: Load,
  ): Promise<ReadonlyMap<string, readonly Round[]>> {
    const rounds = new Map<string, Round[]>(contestants.map(({ server }) => [server.name, []]));
    for (let number = 1; number <= options.rounds; number += 1) {
      // Who goes first changes, so that a slow drift of the machine favours nobody.
      for (const one of number % 2 === 1 ? contestants : contestants.toReversed()) {
        const length = { events: Number.MAX_SAFE_INTEGER, ms: options.roundMs };
        const order = { ...options, ...load, ...length, copies: one.copies };
        rounds.get(one.server.name)?.push(await this.run(one.server, order));
      }
    }
    return rounds;
  }

  async run(
    server: Server,
    order: Pick<PublishOrder, "connections" | "perSecond" | "eventsPerRequest"> & {
      readonly isRestless?: boolean;
      readonly events: number;
      readonly ms: number;
      readonly copies: number;
    },
  ): Promise<Round> {
    await this.#receiver.ask({ kind: "reset", copies: order.copies });
    const cpuBefore = cpuSeconds(...server.pids);
    const threadsBefore = threadSeconds(server.pids[0] as number);
    const published = await this.publish({
      target: server.target,
      connections: order.connections,
      eventsPerRequest: order.eventsPerRequest,
      eventsMax: order.events,
      msMax: order.ms,
      perSecond: order.perSecond,
    });
    const received = await this.#untilDelivered(published.accepted * order.copies);
    // What the server does afterwards, such as cleaning up, is part of the price of these events.
    if (!order.isRestless) await untilQuiet(server.pids);
    const cpu = cpuSeconds(...server.pids) - cpuBefore;
    const shares = threadShares(threadsBefore, threadSeconds(server.pids[0] as number));
    return {
      deliveries: received.unique,
      deliveredPerSecond: received.unique / ((received.lastAt - published.startedAt) / 1000),
      cpuMicros: (cpu * 1e6) / received.unique,
      p50Ms: published.p50Ms,
      p99Ms: published.p99Ms,
      arrivalP50Ms: received.arrivalP50Ms,
      arrivalP99Ms: received.arrivalP99Ms,
      busiestPercent: shares[0]?.percent ?? 0,
      repeated: received.repeated,
      refused: published.refused,
      threads: describeThreads(shares),
    };
  }

  async #untilDelivered(deliveries: number): Promise<Received> {
    const endAt = nowMs() + DRAIN_MS_MAX;
    for (;;) {
      const received = await this.#receiver.ask({ kind: "report" });
      if (received.unique >= deliveries) return received;
      if (nowMs() > endAt) {
        throw new Error(`accepted ${deliveries} deliveries, made ${received.unique}`);
      }
      await sleep(50);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.disposeAsync();
  }
}

/** Threads of one name, such as V8's helpers, are added up. */
function describeThreads(shares: readonly { name: string; percent: number }[]): string {
  const byName = Object.entries(Object.groupBy(shares, ({ name }) => name));
  return byName
    .map(([name, list = []]) => {
      const percent = list.reduce((sum, share) => sum + share.percent, 0);
      return `${name} ${percent.toFixed(0)}${list.length > 1 ? ` (${list.length})` : ""}`;
    })
    .join(", ");
}

const figures = [
  "deliveries",
  "deliveredPerSecond",
  "cpuMicros",
  "p50Ms",
  "p99Ms",
  "arrivalP50Ms",
  "arrivalP99Ms",
  "busiestPercent",
  "repeated",
  "refused",
] as const;

/** A row for each system, then one for the ratio of `ours` to each of the others. */
export function resultsOf(
  scenario: string,
  load: string,
  rounds: ReadonlyMap<string, readonly Round[]>,
  ours: string,
): Result[] {
  const own = rounds.get(ours);
  const others = [...rounds].filter(([name]) => name !== ours);
  return [
    ...[...rounds].map(([system, list]): Result => {
      const medians = figures.map((name) => [name, median(list.map((round) => round[name]))]);
      const { threads = "" } = list.at(-1) ?? {};
      const count = list.length;
      return { scenario, load, system, rounds: count, ...Object.fromEntries(medians), threads };
    }),
    ...others.map(([name, list]): Result => {
      return { scenario, load, system: `${ours} / ${name}`, ...ratios(own ?? [], list) };
    }),
  ];
}

/** Of each pair of neighbouring rounds, then the median: noise that lasts hits both of a pair. */
function ratios(ours: readonly Round[], others: readonly Round[]): Record<string, number | string> {
  const each = (name: (typeof figures)[number]): number[] =>
    ours.map((round, i) => round[name] / (others[i] as Round)[name]);
  const shown = [
    "deliveredPerSecond",
    "cpuMicros",
    "p50Ms",
    "p99Ms",
    "arrivalP50Ms",
    "arrivalP99Ms",
  ] as const;
  const listed = (name: (typeof figures)[number]) =>
    each(name)
      .map((ratio) => ratio.toFixed(2))
      .join(" ");
  return {
    ...Object.fromEntries(shown.map((name) => [name, median(each(name))])),
    cpuRatios: listed("cpuMicros"),
    p99Ratios: listed("p99Ms"),
    arrivalP99Ratios: listed("arrivalP99Ms"),
  };
}
