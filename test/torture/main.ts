// `posthorn torture [--minutes N] [--seed N]`: the real program on a real disk, under kills,
// freezes, a disk without room, broken files, endpoints that hang, bursts of load, and all the time
// requests that make no sense; or three of them on one PostgreSQL, which is killed, cut off and
// filled, too. At the end every endpoint is well, and every event that was accepted must have
// arrived. Prints a ledger, and ends with 1 when an event is lost, an answer has no excuse or
// memory is over its bound.
//
// The seed gives the same acts and requests in the same order; what a kill meets is up to the
// machine. On Linux, for prlimit and /proc. Everything is on loopback and ends with the run.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { isTarget, shownTarget } from "../../src/core/text/connection-string.ts";
import { Dice } from "../sim/dice.ts";
import { type Acts, dealActs, type Stage, stopPolitely, usualActs } from "./acts.ts";
import { Broker, Fleet, scratchKey, topicKey } from "./broker.ts";
import { type Database, openDatabase } from "./database.ts";
import { openEndpoints } from "./endpoints.ts";
import { fileActs } from "./file-acts.ts";
import { Ledger } from "./ledger.ts";
import { openMutation } from "./mutation.ts";
import { operatorActs } from "./operator-acts.ts";
import { openCrowd, pause } from "./publishers.ts";

/** A second. */
const mutatedUsually = 400;
const usage = `posthorn torture [--minutes N] [--seed N] [--mutated N] [--memory MIB] [--store STORE]

  --minutes N    how long; default: 1
  --seed N       the same acts and requests again
  --mutated N    mutated requests a second; default: ${mutatedUsually}
  --memory MIB   what a broker's process may take; default: 1024
  --store STORE  sqlite: one broker, the default; postgres: three on a throw-away server of this
                 machine's binaries; postgres://user@host/database: three on that database, in a
                 schema of their own that is removed at the end
`;
const brokersOnDatabase = 3;
const drainMsMax = 600_000;

export async function torture(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string", default: "1" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      mutated: { type: "string", default: String(mutatedUsually) },
      memory: { type: "string", default: "1024" },
      store: { type: "string", default: "sqlite" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  const numbers = [values.minutes, values.seed, values.mutated, values.memory].map(Number);
  const { store } = values;
  const isStore = store === "sqlite" || store === "postgres" || isTarget(store);
  if (process.platform !== "linux" || numbers.some((number) => !(number >= 0)) || !isStore) {
    const why = isStore ? "an option is no number" : "--store is none of the three";
    const words = process.platform === "linux" ? why : "it needs Linux";
    process.stderr.write(`posthorn: ${words}\n${usage}`);
    return 2;
  }
  const [minutes = 0, seed = 0, mutatedPerSecond = 0, memoryMax = 0] = numbers;
  const ends: (() => unknown)[] = [];
  const t = { after: (end: () => unknown) => void ends.push(end) };
  try {
    const database = store === "sqlite" ? null : await openDatabase(t, store);
    if (typeof database === "string") {
      process.stderr.write(`posthorn: ${database}\n`);
      return 2;
    }
    const folder = mkdtempSync(join(tmpdir(), "posthorn-torture-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    console.log(`torture: seed ${seed}, ${minutes} min, ${shownTarget(store)}, in ${folder}`);
    return await run({ folder, minutes, seed, mutatedPerSecond, memoryMax, store, database });
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

interface Order {
  readonly folder: string;
  readonly minutes: number;
  readonly seed: number;
  readonly mutatedPerSecond: number;
  readonly memoryMax: number;
  readonly store: string;
  /** Null: the store is in a file. */
  readonly database: Database | null;
}

async function run(order: Order): Promise<number> {
  const { folder, minutes, seed, mutatedPerSecond, memoryMax, store, database } = order;
  const ledger = new Ledger();
  const endpoints = await openEndpoints(new Dice(seed, "endpoints"));
  const fleet = openFleet(order, endpoints.urls);
  const acts: Acts = {
    ...usualActs,
    ...operatorActs(database === null),
    ...(database === null ? fileActs : database.acts),
  };
  await fleet.start();
  ledger.isOwnerGone = (at) => fleet.isOwnerGone(at);
  const crowd = openCrowd(fleet, ledger);
  const dice = new Dice(seed, "acts");
  const stage: Stage = {
    ...{ fleet, crowd, dice, endpoints, ledger },
    ...{ data: dataOf(folder, 0), scratch: join(folder, "scratch") },
  };

  crowd.publishOn("healthy", 20, true);
  for (const name of ["one", "two", "three"]) crowd.publishOn(name, 10, false);
  const mutating = openMutation(ledger, {
    dice: new Dice(seed, "mutated"),
    perSecond: mutatedPerSecond,
    url: () => fleet.url,
  });
  const watch = setInterval(() => {
    ledger.residentMax = Math.max(ledger.residentMax, fleet.resident());
  }, 250);

  const endsAt = performance.now() + minutes * 60_000;
  const reports = setInterval(() => tellProgress(ledger, fleet), 60_000);
  try {
    for (const name of dealActs(acts, dice)) {
      await pause(dice.whole(50, 2_500));
      if (performance.now() >= endsAt) break;
      const act = acts[name];
      if (act === undefined) continue;
      const end = ledger.trouble(name, act.explains);
      await act.run(stage);
      end();
      ledger.acts.set(name, (ledger.acts.get(name) ?? 0) + 1);
    }
    await mutating.stop();
    await crowd.stop();
    endpoints.mood = "well";
    const left = await drain(fleet);
    if (left !== 0) ledger.fault(`${left} deliveries wait at the end`);
  } catch (error) {
    ledger.fault(`the run ended early: ${error instanceof Error ? error.stack : error}`);
    await Promise.all([mutating.stop(), crowd.stop()]);
  }
  clearInterval(watch);
  clearInterval(reports);
  await Promise.all(fleet.brokers.map((broker) => stopPolitely(broker, ledger)));
  if (ledger.residentMax > memoryMax) {
    ledger.fault(`${ledger.residentMax.toFixed(0)} MiB resident, more than ${memoryMax}`);
  }
  endpoints.close();
  const lost = ledger.lost(endpoints);
  console.log(ledger.tell(endpoints, lost, fleet.kills));
  const where = store === "sqlite" ? "" : ` --store ${shownTarget(store)}`;
  const pace = mutatedPerSecond === mutatedUsually ? "" : ` --mutated ${mutatedPerSecond}`;
  const again = `--minutes ${minutes} --seed ${seed}${pace}${where}`;
  console.log(`again:                 posthorn torture ${again}`);
  return lost.length === 0 && ledger.isClean ? 0 : 1;
}

const dataOf = (folder: string, number: number) => join(folder, `data-${number}`);

function openFleet({ folder, database }: Order, urls: ReadonlyMap<string, string>): Fleet {
  const config = join(folder, "config.json");
  writeFileSync(config, configOf(urls));
  const settings = [
    ...["--config", config, "--handshake", "off", "--log-level", "error"],
    // A mutated endpoint is sent to only on this machine.
    ...["--egress-block", "0.0.0.0/0,::/0", "--egress-allow", "loopback"],
  ];
  // The stories of an hour must not fill a small disk.
  const ofDatabase: readonly string[] =
    database === null ? [] : ["--story-bytes", String(100 * 1_048_576)];
  const env: Record<string, string> = database === null ? {} : { POSTHORN_STORE: database.url };
  const numbers = Array.from({ length: database === null ? 1 : brokersOnDatabase }, (_, at) => at);
  return new Fleet(
    numbers.map(
      (at) =>
        new Broker([...settings, ...ofDatabase, "--data", dataOf(folder, at)], {
          env,
          clock: join(folder, `clock-${at}`),
        }),
    ),
  );
}

function tellProgress({ acts: done, accepted, mutated, isClean }: Ledger, { kills }: Fleet): void {
  const count = [...done.values()].reduce((sum, each) => sum + each, 0);
  console.log(
    `${count} acts (${kills} kills), ${accepted.size} accepted, ${mutated} mutated, ` +
      `${isClean ? "no" : "SOME"} faults so far`,
  );
}

function configOf(urls: ReadonlyMap<string, string>): string {
  const subscriptionOf = (name: string, endpointUrl: string) => ({
    destination: { endpointType: "WebHook", properties: { endpointUrl } },
    ...(name.startsWith("hanging") && { filter: { subjectBeginsWith: "sampled" } }),
  });
  const subscriptions = Object.fromEntries(
    [...urls].map(([name, url]) => [name, subscriptionOf(name, url)]),
  );
  const queue = { deliveryConfiguration: { deliveryMode: "Queue", queue: {} } };
  return JSON.stringify({
    topics: { orders: { key1: topicKey, subscriptions }, scratch: { key1: scratchKey } },
    namespaces: {
      scratched: { key1: scratchKey, topics: { events: { subscriptions: { mine: queue } } } },
    },
  });
}

interface Listed<T> {
  readonly value: readonly T[];
}

/** Everything is tried now, again and again; resolves with how many deliveries still wait. */
async function drain(fleet: Fleet): Promise<number> {
  const givesUpAt = performance.now() + drainMsMax;
  await fleet.untilReady();
  const [broker] = fleet.brokers;
  if (broker === undefined) return 0;
  for (;;) {
    const waiting = await hastenAll(broker).catch(() => null);
    if (waiting === 0) return 0;
    if (performance.now() > givesUpAt) return waiting ?? Number.NaN;
    await pause(1_000);
  }
}

/** How many wait. Rejects while one that serves some of it is being replaced. */
async function hastenAll(broker: Broker): Promise<number> {
  const { value: endpoints } = await broker.ask<Listed<{ readonly endpoint: string }>>(
    "GET",
    "/endpoints",
  );
  for (const { endpoint } of endpoints) {
    await broker.ask("POST", "/endpoints/reset", { endpoint });
  }
  const { value } = await broker.ask<Listed<{ readonly name: string; readonly waiting: number }>>(
    "GET",
    "/topics/orders/subscriptions",
  );
  for (const { name } of value) {
    // The hasty operator may have left it paused.
    await broker.ask("POST", `/topics/orders/subscriptions/${name}/resume`);
    await broker.ask("POST", `/topics/orders/subscriptions/${name}/hasten`, {});
  }
  return value.reduce((sum, queue) => sum + queue.waiting, 0);
}
