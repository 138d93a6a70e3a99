// Many subscriptions. What does one more put cost beside them, alone, fifty at once
// and with a publish after it; and how long does a broker take to start whose file declares them?

import { cpuSeconds, median, nowMs, untilQuiet } from "./measure.ts";
import { findClosedPort } from "./ports.ts";
import type { Result } from "./report.ts";
import { type BrokerServer, makeDataFolder, startBrokerWith, subscriptionTo } from "./servers.ts";

export interface CatalogOptions {
  readonly rounds: number;
  readonly roundMs: number;
  /** How many subscriptions there are, from case to case. */
  readonly subscriptions: readonly number[];
}

const PUTS_PER_ROUND = 150;
const AT_ONCE = 50;
const GROUP = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn";
const PROVIDER = "/providers/Microsoft.EventGrid";

export async function runCatalog(options: CatalogOptions): Promise<Result[]> {
  const results: Result[] = [];
  for (const count of options.subscriptions) results.push(await measureBeside(count, options));
  return results;
}

async function measureBeside(count: number, options: CatalogOptions): Promise<Result> {
  using folder = makeDataFolder();
  const port = await findClosedPort();
  const draft = (name: string) => ({
    ...subscriptionTo(`http://127.0.0.1:${port}/${name}`),
    filter: { includedEventTypes: [`Wanted.By.${name}`] },
  });
  const names = Array.from({ length: count }, (_, index) => `declared-${index}`);
  const subscriptions = Object.fromEntries(names.map((name) => [name, draft(name)]));
  const config = { topics: { orders: { subscriptions } } };
  const start = () => startBrokerWith(folder.path, config, ["--auth", "off", "--handshake", "off"]);
  const first = await start();
  await first[Symbol.asyncDispose]();
  await using broker = await start();
  let made = 0;
  const paths: string[] = [];
  const put = async () => {
    made += 1;
    const name = `another-${made}`;
    const place = `${GROUP}${PROVIDER}/topics/orders${PROVIDER}/eventSubscriptions/${name}`;
    const path = `${place}?api-version=2022-06-15`;
    paths.push(path);
    await ask(broker, "PUT", path, { properties: draft(name) });
  };
  /** Those that were put would soon be more than were there. */
  const removePut = async () => {
    for (const path of paths.splice(0)) await ask(broker, "DELETE", path);
  };
  const ways = {
    putCpuMs: { puts: 1, act: put },
    putAtOnceCpuMs: {
      puts: AT_ONCE,
      act: async () => void (await Promise.all(Array.from({ length: AT_ONCE }, put))),
    },
    putAndPublishCpuMs: {
      puts: 1,
      act: async () => {
        await put();
        await ask(broker, "POST", broker.target.path, [eventOf(made)]);
      },
    },
  };
  const figures: Record<string, number> = {};
  for (const [name, way] of Object.entries(ways)) {
    await way.act();
    const rounds: number[] = [];
    for (let round = 0; round < options.rounds; round += 1) {
      rounds.push(await cpuMsPerPut(broker, way, options.roundMs));
      await removePut();
    }
    figures[name] = median(rounds);
  }
  return {
    scenario: "catalog",
    system: "broker",
    subscriptions: count,
    ...figures,
    applyMs: first.readyMs,
    readyMs: broker.readyMs,
  };
}

/** Processor time of the broker, over as many puts as the time allows. */
async function cpuMsPerPut(
  { pids }: BrokerServer,
  { puts, act }: { readonly puts: number; readonly act: () => Promise<void> },
  msMax: number,
): Promise<number> {
  await untilQuiet(pids);
  const before = cpuSeconds(...pids);
  const endAt = nowMs() + msMax;
  let done = 0;
  for (; done < PUTS_PER_ROUND && nowMs() < endAt; done += puts) await act();
  await untilQuiet(pids);
  return ((cpuSeconds(...pids) - before) * 1000) / done;
}

async function ask(
  { target }: BrokerServer,
  method: string,
  path: string,
  body?: unknown,
): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${target.port}${path}`, {
    method,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${text}`);
}

function eventOf(id: number): object {
  return {
    id: String(id),
    subject: "bench",
    eventType: "Wanted.By.Nobody",
    eventTime: "2026-01-01T00:00:00Z",
    data: {},
    dataVersion: "1",
  };
}
