// Events flow through, in three shapes: one by one beside the relay and the peers; a hundred in one
// request and in one delivery; and one event to many subscriptions.

import type { Receiver } from "./peers/doors.ts";
import { peerNames, startPeer, startRelay } from "./peers/start.ts";
import type { Result } from "./report.ts";
import { type Contestant, Course, type Load, type RoundOptions, resultsOf } from "./rounds.ts";
import { type BrokerShape, makeDataFolder, type Server, startBroker } from "./servers.ts";

export interface FlowOptions extends RoundOptions {
  readonly perSecond: number;
  /** Which systems; null: all that can be started. */
  readonly only: "relay" | "broker" | null;
  readonly hasPeers: boolean;
  /** Another checkout, whose broker takes part; null: none. */
  readonly beside: string | null;
}

const STORIES_OFF = { more: ["--story", "off"] };
const BATCH = 100;

const fastest: Load = { name: "as fast as it goes", perSecond: null, eventsPerRequest: 1 };

export async function runSteady(options: FlowOptions): Promise<Result[]> {
  await using course = new Course();
  await using servers = new Servers(await receiverOf(course, options), options.beside);
  if (options.only !== "broker") await servers.add(startRelay(servers.to));
  if (options.only !== "relay") await servers.addBroker("broker", {});
  if (options.hasPeers && options.only === null) {
    for (const name of peerNames) {
      const peer = await startPeer(name, servers.to);
      if (peer !== null) await servers.add(peer);
    }
  }
  const { perSecond } = options;
  const loads = [fastest, { ...fastest, name: `${perSecond}/s`, perSecond }];
  return await race("steady", course, servers.list, options, loads, "broker");
}

export async function runBatches(options: FlowOptions): Promise<Result[]> {
  await using course = new Course();
  await using servers = new Servers(await receiverOf(course, options), options.beside);
  await servers.add(startRelay(servers.to));
  await servers.addBroker("broker", { batch: BATCH });
  await servers.addBroker("broker, no stories", { batch: BATCH, ...STORIES_OFF });
  const load = { name: `${BATCH} per request`, perSecond: null, eventsPerRequest: BATCH };
  const few = { ...options, connections: Math.min(options.connections, 4) };
  return await race("batch", course, servers.list, few, [load], "broker");
}

export async function runFanOut(options: FlowOptions, copies: readonly number[]) {
  const results: Result[] = [];
  for (const count of copies) {
    await using course = new Course();
    await using servers = new Servers(await receiverOf(course, options), options.beside);
    await servers.addBroker("broker", { subscriptions: count }, count);
    await servers.addBroker("broker, no stories", { subscriptions: count, ...STORIES_OFF }, count);
    const load = { ...fastest, name: `one to ${count}` };
    const few = { ...options, connections: 2 };
    results.push(...(await race("fan-out", course, servers.list, few, [load], "broker")));
  }
  return results;
}

/** The systems of a scenario, which end with it. */
class Servers implements AsyncDisposable {
  readonly #parts = new AsyncDisposableStack();
  readonly list: Contestant[] = [];
  readonly to: Receiver;
  readonly #beside: string | null;

  constructor(to: Receiver, beside: string | null) {
    this.to = to;
    this.#beside = beside;
  }

  async add(server: Server | Promise<Server>, copies = 1): Promise<void> {
    this.list.push({ server: this.#parts.use(await server), copies });
  }

  async addBroker(name: string, shape: BrokerShape, copies = 1): Promise<void> {
    const roots = [undefined, ...(this.#beside === null ? [] : [this.#beside])];
    for (const root of roots) {
      const folder = this.#parts.use(makeDataFolder());
      const ofRoot = { ...shape, ...(root !== undefined && { root }) };
      const server = await startBroker(folder.path, this.to, ofRoot);
      await this.add({ ...server, name: root === undefined ? name : `${name}, beside` }, copies);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.disposeAsync();
  }
}

async function receiverOf(course: Course, { sends }: RoundOptions): Promise<Receiver> {
  return { port: await course.receiverPort(), connections: sends };
}

async function race(
  scenario: string,
  course: Course,
  contestants: readonly Contestant[],
  options: RoundOptions,
  loads: readonly Load[],
  ours: string,
): Promise<Result[]> {
  for (const one of contestants) await course.warmUp(one, options, loads[0] as Load);
  const results: Result[] = [];
  for (const load of loads) {
    const rounds = await course.compare(contestants, options, load);
    results.push(...resultsOf(scenario, load.name, rounds, ours));
  }
  return results;
}
