// Pull delivery beside push, of the same events through the same broker in the same run: published
// in batches of a hundred to a topic of a namespace, and received and acknowledged in batches of a
// hundred, or sent to a webhook in batches of a hundred. Then a thousand requests wait at an empty
// queue: what do they cost? Clients and webhook are in this process, whose time does not count.

import { Agent, createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { cpuSeconds, median, nowMs, residentBytes, untilQuiet } from "./measure.ts";
import type { Result } from "./report.ts";
import { makeDataFolder, startBrokerWith } from "./servers.ts";

export interface PullOptions {
  readonly rounds: number;
  readonly quick: boolean;
}

const batch = 100;
const receivers = 16;
const idle = 1_000;
const idleMs = 15_000;
const key = "YmVuY2gta2V5LTAxMjM0NTY3ODlhYmNkZWY=";
const filling = "x".repeat(900);
const MEBIBYTE = 1024 * 1024;

/** One client with connections of its own. */
class Client {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  /** `started` is called with what ends the request early. */
  post(path: string, body = "", type = "application/json", started?: (end: () => void) => void) {
    return new Promise<string>((resolve, reject) => {
      const query = path.includes("?") ? "&" : "?";
      const sending = httpRequest(
        {
          ...{ agent: this.#agent, host: "127.0.0.1", port: this.#port, method: "POST" },
          path: `${path}${query}api-version=2024-06-01`,
          headers: {
            authorization: `SharedAccessKey ${key}`,
            "content-type": type,
            "content-length": Buffer.byteLength(body),
          },
        },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on("data", (chunk: Buffer) => chunks.push(chunk));
          answer.on("end", () => {
            const text = Buffer.concat(chunks).toString();
            if (answer.statusCode === 200) resolve(text);
            else reject(new Error(`${path}: ${answer.statusCode} ${text}`));
          });
        },
      );
      sending.on("error", reject);
      started?.(() => sending.destroy());
      sending.end(body);
    });
  }

  async publish(topic: string, events: number): Promise<void> {
    let next = 0;
    const one = async (): Promise<void> => {
      while (next < events) {
        const first = next;
        next += batch;
        const sent = Array.from({ length: batch }, (_, index) => ({
          ...{ id: `${first + index}`, source: "/bench", type: "bench", specversion: "1.0" },
          data: { filling },
        }));
        await this.post(
          `/topics/${topic}:publish`,
          JSON.stringify(sent),
          "application/cloudevents-batch+json",
        );
      }
    };
    await Promise.all(Array.from({ length: receivers }, one));
  }

  /** Receives and acknowledges until so many are gone. */
  async drain(topic: string, events: number): Promise<void> {
    const at = `/topics/${topic}/eventsubscriptions/all`;
    let left = events;
    let unsettled = events;
    const over = Promise.withResolvers<void>();
    const ends = new Map<number, () => void>();
    const one = async (_: unknown, number: number): Promise<void> => {
      while (left > 0) {
        const path = `${at}:receive?maxEvents=${batch}&maxWaitTime=120`;
        const text = await this.post(path, "", "text/plain", (end) => void ends.set(number, end));
        const { value } = JSON.parse(text) as {
          value: { brokerProperties: { lockToken: string } }[];
        };
        left -= value.length;
        if (value.length === 0) continue;
        const lockTokens = value.map(({ brokerProperties }) => brokerProperties.lockToken);
        ends.delete(number);
        await this.post(`${at}:acknowledge`, JSON.stringify({ lockTokens }));
        unsettled -= value.length;
        if (unsettled === 0) over.resolve();
      }
    };
    const all = Array.from({ length: receivers }, (_, number) => one(_, number).catch(() => {}));
    await over.promise;
    // Whoever still waits for more gives up.
    for (const end of ends.values()) end();
    await Promise.all(all);
  }

  close(): void {
    this.#agent.destroy();
  }
}

export async function runPull({ rounds, quick }: PullOptions): Promise<Result[]> {
  await using parts = new AsyncDisposableStack();
  const hook = parts.adopt(await openHook(), (open) => open.close());
  const folder = parts.use(makeDataFolder());
  const broker = parts.use(await startBrokerWith(folder.path, configOf(hook.port), []));
  const client = parts.adopt(new Client(broker.target.port), (open) => open.close());
  const events = quick ? 1_000 : 20_000;
  const ways: Readonly<Record<string, () => Promise<void>>> = {
    "pull, published first": async () => {
      await client.drain("queued", events);
    },
    "pull, from the publish on": async () => {
      await Promise.all([client.publish("queued", events), client.drain("queued", events)]);
    },
    "push, from the publish on": async () => {
      const arrived = hook.arrive(events);
      await client.publish("pushed", events);
      await arrived;
    },
  };
  const figures = new Map<string, { perSecond: number; cpuMicros: number }[]>();
  // The first round warms up and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, run] of Object.entries(ways)) {
      if (name === "pull, published first") await client.publish("queued", events);
      await untilQuiet(broker.pids);
      const [startedAt, before] = [nowMs(), cpuSeconds(...broker.pids)];
      await run();
      const ms = nowMs() - startedAt;
      const cpuMicros = ((cpuSeconds(...broker.pids) - before) * 1e6) / events;
      if (round === 0) continue;
      figures.set(name, [
        ...(figures.get(name) ?? []),
        { perSecond: (events * 1e3) / ms, cpuMicros },
      ]);
    }
  }
  const flows = [...figures].map(([system, all]) => ({
    ...{ scenario: "pull", system, events },
    perSecond: median(all.map(({ perSecond }) => perSecond)),
    cpuMicros: median(all.map(({ cpuMicros }) => cpuMicros)),
  }));
  return [...flows, await measureIdle(client, broker.pids, quick ? 50 : idle)];
}

/** Requests that wait at an empty queue. */
async function measureIdle(
  client: Client,
  pids: readonly number[],
  count: number,
): Promise<Result> {
  await untilQuiet(pids);
  const pid = pids[0] as number;
  const memory = residentBytes(pid).now;
  const ends: (() => void)[] = [];
  const waits = Array.from({ length: count }, () =>
    client
      .post(
        "/topics/empty/eventsubscriptions/all:receive?maxWaitTime=120",
        "",
        "text/plain",
        (end) => ends.push(end),
      )
      .catch(() => ""),
  );
  await untilQuiet(pids);
  const before = cpuSeconds(...pids);
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  const seconds = cpuSeconds(...pids) - before;
  const more = residentBytes(pid).now - memory;
  for (const end of ends) end();
  await Promise.all(waits);
  return {
    ...{ scenario: "pull", system: `${count} requests wait` },
    memoryMiB: more / MEBIBYTE,
    cpuPercent: (100 * seconds * 1_000) / idleMs,
  };
}

function configOf(port: number): object {
  const queue = { deliveryConfiguration: { deliveryMode: "Queue" } };
  const properties = {
    ...{ endpointUrl: `http://127.0.0.1:${port}/`, maxEventsPerBatch: batch },
    preferredBatchSizeInKilobytes: 1_024,
  };
  const push = { destination: { endpointType: "WebHook", properties } };
  const pushed = { deliveryConfiguration: { deliveryMode: "Push", push } };
  const topics = {
    queued: { subscriptions: { all: queue } },
    empty: { subscriptions: { all: queue } },
    pushed: { subscriptions: { all: pushed } },
  };
  return { namespaces: { bench: { key1: key, topics } }, handshake: "off" };
}

/** A webhook that counts events. */
async function openHook() {
  let count = 0;
  let wanted = Number.POSITIVE_INFINITY;
  let resolve = () => {};
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      count += (JSON.parse(Buffer.concat(chunks).toString()) as unknown[]).length;
      response.end();
      if (count >= wanted) resolve();
    });
  });
  server.listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  return {
    port: (server.address() as AddressInfo).port,
    arrive(events: number): Promise<void> {
      const arrived = Promise.withResolvers<void>();
      count = 0;
      wanted = events;
      resolve = arrived.resolve;
      return arrived.promise;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
