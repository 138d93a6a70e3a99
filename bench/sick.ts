// One healthy endpoint beside fifty dead and fifty hanging ones, which belong to another topic:
// what becomes of its latencies? A broker that has the healthy one alone takes turns with it, in
// more and shorter rounds than elsewhere: they begin with the first sends to the sick ones, and go
// on over their timeouts, their retries and their probes. A p99 is a few requests of a round, so
// look at the ratios of all rounds.

import { findClosedPort } from "./ports.ts";
import type { Result } from "./report.ts";
import { Course, type RoundOptions, resultsOf } from "./rounds.ts";
import { key, makeDataFolder, startBrokerWith, subscriptionTo } from "./servers.ts";

const EACH = 50;
/** For each round elsewhere. */
const ROUNDS_FOR_ONE = 2;
/** Of another topic, which all of the sick ones get. */
const SICK_EVENTS = 200;

export interface SickOptions extends RoundOptions {
  readonly perSecond: number;
}

export async function runSick(options: SickOptions): Promise<Result[]> {
  await using course = new Course();
  await using parts = new AsyncDisposableStack();
  const port = await course.receiverPort();
  const closed = await findClosedPort();
  const draft = (of: number, path: string) => subscriptionTo(`http://127.0.0.1:${of}/${path}`);
  const orders = { key1: key, subscriptions: { bench: draft(port, "hook") } };
  const sick = Array.from({ length: EACH }, (_, index) => [
    [`dead-${index}`, draft(closed, `dead-${index}`)],
    [`hanging-${index}`, draft(port, `hang-${index}`)],
  ]).flat();
  const subscriptions = Object.fromEntries(sick);
  const start = async (name: string, topics: object) => {
    const folder = parts.use(makeDataFolder());
    const words = ["--handshake", "off", "--endpoint-concurrency", String(options.sends)];
    const server = parts.use(await startBrokerWith(folder.path, { topics }, words));
    return { server: { ...server, name }, copies: 1 };
  };
  const alone = await start("alone", { orders });
  const beside = await start("beside the sick", { orders, sick: { key1: key, subscriptions } });
  const load = {
    name: `${options.perSecond}/s`,
    perSecond: options.perSecond,
    eventsPerRequest: 1,
  };
  for (const one of [alone, beside]) await course.warmUp(one, options, load);
  const { target } = beside.server;
  await course.publish({
    target: { ...target, path: target.path.replace("orders", "sick") },
    connections: 1,
    eventsPerRequest: 1,
    eventsMax: SICK_EVENTS,
    msMax: 30_000,
    perSecond: null,
  });
  const many = { ...options, rounds: ROUNDS_FOR_ONE * options.rounds, isRestless: true };
  const rounds = await course.compare([alone, beside], many, load);
  return resultsOf("sick", load.name, rounds, "beside the sick");
}
