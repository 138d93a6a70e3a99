// The broker under test as a process of its own, started by its command like anybody's, behind the
// face that its peers have too: where to publish, whose processor time to count, how to end it.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { endChild, watchChild } from "./intercom.ts";
import type { Target } from "./load.ts";
import { nowMs } from "./measure.ts";
import type { Receiver } from "./peers/doors.ts";

export interface Server extends AsyncDisposable {
  readonly name: string;
  /** The processes whose processor time counts, with their children. */
  readonly pids: readonly number[];
  readonly target: Target;
}

export interface BrokerServer extends Server {
  /** From the start of the process to the fact that it takes publishes. */
  readonly readyMs: number;
  /** Ends it without a word, like a power cut. */
  kill(): Promise<void>;
}

const ROOT = join(import.meta.dirname, "..");
const READY_MS_MAX = 300_000;
export const key = "bench-key-0123456789abcdef0123456789abcdef";
export const eventsPath = "/topics/orders/api/events";

/**
 * A folder for a broker's store, on the disk of the checkout: a RAM disk would have a free fsync.
 */
export function makeDataFolder(): { readonly path: string } & Disposable {
  const parent = join(ROOT, "posthorn-data");
  mkdirSync(parent, { recursive: true });
  const path = mkdtempSync(join(parent, "bench-"));
  const remove = (): void => rmSync(path, { recursive: true, force: true });
  // Also when the bench is interrupted, which skips everything that is disposed of in order.
  process.once("exit", remove);
  const dispose = () => {
    process.off("exit", remove);
    remove();
  };
  return { path, [Symbol.dispose]: dispose };
}

export interface BrokerShape {
  /** So many, each of which gets every event. */
  readonly subscriptions?: number;
  /** Events that a delivery may have. */
  readonly batch?: number;
  readonly more?: readonly string[];
  /** A checkout other than ours. */
  readonly root?: string;
}

/** A broker whose subscriptions all go to the receiver. */
export function startBroker(
  dataFolder: string,
  to: Receiver,
  { subscriptions = 1, batch = 1, more = [], root = ROOT }: BrokerShape = {},
): Promise<BrokerServer> {
  const names = Array.from({ length: subscriptions }, (_, index) => `bench-${index}`);
  const draft = (name: string) => subscriptionTo(`http://127.0.0.1:${to.port}/${name}`, batch);
  const drafts = Object.fromEntries(names.map((name) => [name, draft(name)]));
  const config = { topics: { orders: { key1: key, subscriptions: drafts } } };
  const sends = ["--endpoint-concurrency", String(to.connections)];
  return startBrokerWith(dataFolder, config, [...sends, "--handshake", "off", ...more], root);
}

/** A subscription as the file and ARM's API write it. */
export function subscriptionTo(endpointUrl: string, batch = 1) {
  const batching = batch > 1 && {
    maxEventsPerBatch: batch,
    preferredBatchSizeInKilobytes: 1_024,
  };
  const properties = { endpointUrl, ...batching };
  return { destination: { endpointType: "WebHook", properties } };
}

export async function startBrokerWith(
  dataFolder: string,
  config: object,
  more: readonly string[],
  root = ROOT,
): Promise<BrokerServer> {
  const startedAt = nowMs();
  const file = join(dataFolder, "bench.json");
  writeFileSync(file, JSON.stringify(config));
  const child = spawn(process.execPath, [...brokerArgs(root, dataFolder, file), ...more], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  watchChild(child);
  try {
    const port = await readPort(child);
    const readyMs = nowMs() - startedAt;
    return {
      name: "broker",
      pids: [child.pid ?? 0],
      target: { port, path: eventsPath, key },
      readyMs,
      kill: async () => {
        child.kill("SIGKILL");
        await endChild(child);
      },
      [Symbol.asyncDispose]: () => endChild(child, { graceMs: 30_000 }),
    };
  } catch (error) {
    await endChild(child);
    throw error;
  }
}

function brokerArgs(root: string, dataFolder: string, file: string): string[] {
  return [
    join(root, "bin/posthorn.js"),
    "serve",
    ...["--config", file],
    ...["--http", "127.0.0.1:0"],
    ...["--https", "off"],
    ...["--data", join(dataFolder, "store")],
    ...["--log-level", "warn"],
  ];
}

/** Reads the broker's facts until it says where it listens, and lets the rest flow by. */
function readPort(child: ChildProcess): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const said: string[] = [];
  if (child.stdout === null) throw new Error("the broker has no output");
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (said.push(line) > 20) said.shift();
    const address = /"fact":"broker\.started".*"http":"http:\/\/[^"]*:(\d+)/.exec(line)?.[1];
    if (address !== undefined) resolve(Number(address));
  });
  child.once("error", reject);
  child.once("exit", () => reject(new Error(`the broker ended. It said:\n${said.join("\n")}`)));
  const timer = setTimeout(() => reject(new Error("the broker is not ready")), READY_MS_MAX);
  return promise.finally(() => clearTimeout(timer));
}
