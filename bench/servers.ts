// The two systems under test as processes of their own, behind one face: where to publish, whose
// processor time to count, how to end it. The broker is started by its command, like anybody's.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { endChild, startPartner, watchChild } from "./intercom.ts";
import type { Target } from "./load.ts";
import { nowMs } from "./measure.ts";
import type { RelayQuestion, RelayState } from "./relay.ts";

/** Where deliveries go, and over how many connections at most: the same for both systems. */
export interface Receiver {
  readonly port: number;
  readonly connections: number;
}

export interface Server extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
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
const KEY = "bench-key-0123456789abcdef0123456789abcdef";
const PATH = "/topics/orders/api/events";

export async function startRelay(to: Receiver): Promise<Server & { state(): Promise<RelayState> }> {
  const relay = startPartner<RelayQuestion, RelayState>("relay.ts");
  const { port } = await relay.ask({ receiver: to });
  return {
    name: "relay",
    pid: relay.pid,
    target: { port, path: PATH, key: KEY },
    state: () => relay.ask({}),
    [Symbol.asyncDispose]: () => relay[Symbol.asyncDispose](),
  };
}

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
  return { path, [Symbol.dispose]: remove };
}

/** A broker with one subscription, to the receiver. */
export function startBroker(dataFolder: string, to: Receiver): Promise<BrokerServer> {
  const bench = subscriptionTo(`http://127.0.0.1:${to.port}/hook`);
  const config = { topics: { orders: { key1: KEY, subscriptions: { bench } } } };
  return startBrokerWith(dataFolder, config, ["--endpoint-concurrency", String(to.connections)]);
}

/** A subscription as the file and ARM's API write it. */
export function subscriptionTo(endpointUrl: string) {
  return { destination: { endpointType: "WebHook", properties: { endpointUrl } } };
}

export async function startBrokerWith(
  dataFolder: string,
  config: object,
  more: readonly string[],
): Promise<BrokerServer> {
  const startedAt = nowMs();
  const file = join(dataFolder, "bench.json");
  writeFileSync(file, JSON.stringify(config));
  const child = spawn(process.execPath, [...brokerArgs(dataFolder, file), ...more], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "inherit"],
  });
  watchChild(child);
  try {
    const port = await readPort(child);
    const readyMs = nowMs() - startedAt;
    return {
      name: "broker",
      pid: child.pid ?? 0,
      target: { port, path: PATH, key: KEY },
      readyMs,
      kill: async () => {
        child.kill("SIGKILL");
        await endChild(child);
      },
      [Symbol.asyncDispose]: () => endChild(child, 30_000),
    };
  } catch (error) {
    await endChild(child);
    throw error;
  }
}

function brokerArgs(dataFolder: string, file: string): string[] {
  return [
    join(ROOT, "bin/posthorn.js"),
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

/** A port at which nobody listens: one that was free a moment ago. */
export function findClosedPort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
