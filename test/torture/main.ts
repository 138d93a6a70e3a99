// `posthorn torture [--minutes N] [--seed N]`: the real program on a real disk, under kills,
// freezes, a disk without room, broken files, endpoints that hang, bursts of load, and all the time
// requests that make no sense. At the end every endpoint is well, and every event that was accepted
// must have arrived. Prints a ledger, and ends with 1 when an event is lost, an answer has no
// excuse or memory is over its bound.
//
// The seed gives the same acts and requests in the same order; what a kill meets is up to the
// machine. On Linux, for prlimit and /proc. Everything is on loopback and ends with the run.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Dice } from "../sim/dice.ts";
import { acts, dealActs, type Stage } from "./acts.ts";
import { adminKey, Broker, topicKey } from "./broker.ts";
import { openEndpoints } from "./endpoints.ts";
import { Ledger } from "./ledger.ts";
import { mutatedRequest } from "./mutated-request.ts";
import { openCrowd, pause } from "./publishers.ts";

const usage = `posthorn torture [--minutes N] [--seed N] [--mutated N] [--memory MIB]

  --minutes N   how long; default: 1
  --seed N      the same acts and requests again
  --mutated N   mutated requests a second; default: 400
  --memory MIB  what the broker's process may take; default: 1024
`;
/** Requests under way at once; a broker that is slower gets fewer. */
const mutatedAtOnce = 64;
/** Many promise a body that never comes; the broker would wait for it. */
const mutatedMsMax = 1_000;
const drainMsMax = 600_000;

export async function torture(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string", default: "1" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      mutated: { type: "string", default: "400" },
      memory: { type: "string", default: "1024" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  const numbers = [values.minutes, values.seed, values.mutated, values.memory].map(Number);
  if (process.platform !== "linux" || numbers.some((number) => !(number >= 0))) {
    const why = process.platform === "linux" ? "an option is no number" : "it needs Linux";
    process.stderr.write(`posthorn: ${why}\n${usage}`);
    return 2;
  }
  const [minutes = 0, seed = 0, mutatedPerSecond = 0, memoryMax = 0] = numbers;
  const folder = mkdtempSync(join(tmpdir(), "posthorn-torture-"));
  try {
    console.log(`torture: seed ${seed}, ${minutes} min, in ${folder}`);
    return await run({ folder, minutes, seed, mutatedPerSecond, memoryMax });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Order {
  readonly folder: string;
  readonly minutes: number;
  readonly seed: number;
  readonly mutatedPerSecond: number;
  readonly memoryMax: number;
}

async function run({ folder, minutes, seed, mutatedPerSecond, memoryMax }: Order): Promise<number> {
  const ledger = new Ledger();
  const endpoints = await openEndpoints(new Dice(seed, "endpoints"));
  const data = join(folder, "data");
  const config = join(folder, "config.json");
  writeFileSync(config, configOf(endpoints.urls));
  const settings = ["--config", config, "--data", data];
  const broker = new Broker([...settings, "--handshake", "off", "--log-level", "error"]);
  await broker.start();
  const crowd = openCrowd(broker, ledger);
  const dice = new Dice(seed, "acts");
  const stage: Stage = {
    ...{ broker, crowd, dice, endpoints, ledger, data },
    scratch: join(folder, "scratch"),
  };

  crowd.publishOn("healthy", 20, true);
  for (const name of ["one", "two", "three"]) crowd.publishOn(name, 10, false);
  const mutating = openMutation(broker, ledger, { seed, perSecond: mutatedPerSecond });
  const watch = setInterval(() => {
    ledger.residentMax = Math.max(ledger.residentMax, broker.resident());
  }, 250);

  const endsAt = performance.now() + minutes * 60_000;
  const reports = setInterval(() => tellProgress(ledger), 60_000);
  try {
    for (const name of dealActs(dice)) {
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
    const left = await drain(broker);
    if (left > 0) ledger.fault(`${left} deliveries wait at the end`);
  } catch (error) {
    ledger.fault(`the run ended early: ${error instanceof Error ? error.stack : error}`);
    await Promise.all([mutating.stop(), crowd.stop()]);
  }
  clearInterval(watch);
  clearInterval(reports);
  const code = await broker.end("SIGTERM");
  if (code !== 0) ledger.fault(`the last end gave ${code}`);
  if (ledger.residentMax > memoryMax) {
    ledger.fault(`${ledger.residentMax.toFixed(0)} MiB resident, more than ${memoryMax}`);
  }
  endpoints.close();
  const lost = ledger.lost(endpoints);
  console.log(ledger.tell(endpoints, lost));
  console.log(`again:                 posthorn torture --minutes ${minutes} --seed ${seed}`);
  return lost.length === 0 && ledger.isClean ? 0 : 1;
}

function tellProgress({ acts: done, accepted, mutated, isClean }: Ledger): void {
  const count = [...done.values()].reduce((sum, each) => sum + each, 0);
  const kills = (done.get("kill") ?? 0) + (done.get("kill under load") ?? 0);
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
  return JSON.stringify({
    topics: { orders: { key1: topicKey, subscriptions }, scratch: { key1: "nobodys-key" } },
  });
}

interface Mutation {
  stop(): Promise<void>;
}

/** Sends at the given pace, whatever else happens; what meets nobody does not count. */
function openMutation(
  broker: Broker,
  ledger: Ledger,
  { seed, perSecond }: { readonly seed: number; readonly perSecond: number },
): Mutation {
  const dice = new Dice(seed, "mutated");
  const begunAt = performance.now();
  let sent = 0;
  let isOver = false;
  const work = async () => {
    while (!isOver) {
      const ahead = sent / perSecond - (performance.now() - begunAt) / 1_000;
      if (broker.url === null || ahead > 0) await pause(20);
      else {
        sent += 1;
        // From many addresses: one that guesses keys is soon answered slowly, whatever it asks.
        const from = `127.${dice.whole(1, 99)}.${dice.whole(0, 255)}.${dice.whole(1, 254)}`;
        const text = mutatedRequest(dice, adminKey);
        await sendMutated({ url: broker.url, from, text }, ledger);
      }
    }
  };
  const all = Array.from({ length: perSecond > 0 ? mutatedAtOnce : 0 }, work);
  return {
    async stop() {
      isOver = true;
      await Promise.all(all);
    },
  };
}

interface Sending {
  readonly url: string;
  readonly from: string;
  readonly text: string;
}

/** Bytes on a bare connection; whatever comes back is read. */
function sendMutated({ url, from, text }: Sending, ledger: Ledger): Promise<void> {
  const begun = performance.now();
  return new Promise((resolve) => {
    let answer = "";
    const to = { host: "127.0.0.1", port: Number(new URL(url).port), localAddress: from };
    const socket = connect(to, () => socket.end(text));
    const cut = setTimeout(() => socket.destroy(), mutatedMsMax);
    socket.on("data", (chunk) => {
      if (answer.length < 1_000) answer += chunk.toString("latin1");
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(cut);
      // A hundred, to one who asked whether to go on, is not yet the answer.
      const statuses = [...answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, code]) =>
        Number(code),
      );
      const status = statuses.at(-1) ?? 0;
      if (status > 0) ledger.mutated += 1;
      const kind = status === 0 ? "not" : `${Math.floor(status / 100)}xx`;
      ledger.mutatedBy.set(kind, (ledger.mutatedBy.get(kind) ?? 0) + 1);
      ledger.judge(status, begun, () => `${status} to ${JSON.stringify(text.slice(0, 600))}`);
      resolve();
    });
  });
}

interface Listed<T> {
  readonly value: readonly T[];
}

/** Everything is tried now, again and again; resolves with how many deliveries still wait. */
async function drain(broker: Broker): Promise<number> {
  const givesUpAt = performance.now() + drainMsMax;
  await broker.untilReady();
  for (;;) {
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
      await broker.ask("POST", `/topics/orders/subscriptions/${name}/hasten`, {});
    }
    const waiting = value.reduce((sum, queue) => sum + queue.waiting, 0);
    if (waiting === 0 || performance.now() > givesUpAt) return waiting;
    await pause(1_000);
  }
}
