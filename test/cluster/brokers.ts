// A cluster under test: brokers as real processes on one database, publishers that go round all of
// them as a load balancer would, and their ledger.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Program, startProgram } from "../fixtures/program.ts";
import type { Scope } from "../fixtures/webhook.ts";
import { type ClusterEndpoints, endpointNames, openClusterEndpoints } from "./endpoints.ts";
import { attemptsMax, ClusterLedger } from "./ledger.ts";

export const adminKey = "cluster-admin-key";
const topicKey = "cluster-topic-key";
export const concurrency = 16;

export interface ClusterOptions {
  readonly url: string;
  readonly brokers: number;
  readonly settings?: readonly string[];
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

export class Cluster {
  readonly ledger = new ClusterLedger();
  readonly endpoints: ClusterEndpoints;
  readonly folder: string;
  readonly #options: ClusterOptions;
  readonly #programs: (Program | null)[] = [];
  /** Also those that have ended. */
  readonly #started: Program[] = [];
  readonly #publishing: Promise<void>[] = [];
  #isOver = false;
  #made = 0;
  #turn = 0;

  constructor(options: ClusterOptions, endpoints: ClusterEndpoints, folder: string) {
    this.#options = options;
    this.endpoints = endpoints;
    this.folder = folder;
  }

  get size(): number {
    return this.#programs.length;
  }

  program(index: number): Program {
    const program = this.#programs[index];
    if (program === null || program === undefined) throw new Error(`broker ${index} is down`);
    return program;
  }

  urls(): readonly string[] {
    return this.#programs.flatMap((program) => (program === null ? [] : [program.url]));
  }

  async start(index: number): Promise<void> {
    const { url, settings = [] } = this.#options;
    const data = join(this.folder, `broker-${index}`);
    this.#programs[index] = null;
    const program = await startProgram(
      [
        ...["--store", url, "--data", data, "--config", join(this.folder, "config.json")],
        ...["--handshake", "off", "--log-level", "warn", "--health-failures", "10000"],
        ...["--endpoint-concurrency", String(concurrency), ...settings],
      ],
      { POSTHORN_ADMIN_KEY: adminKey },
    );
    this.#programs[index] = program;
    this.#started.push(program);
  }

  /** When brokers said that they had lost what they owned, in milliseconds of this process. */
  lostLeases(): readonly number[] {
    const lost = this.#started.flatMap(({ facts }) =>
      facts.filter(({ fact }) => fact === "slots.lost"),
    );
    return lost.map(({ time }) => Date.parse(String(time)) - performance.timeOrigin);
  }

  async end(index: number, signal: "SIGKILL" | "SIGTERM"): Promise<number | string> {
    const program = this.program(index);
    this.#programs[index] = null;
    return await program.end(signal);
  }

  async endAll(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const running = this.#programs.flatMap((program, index) => (program === null ? [] : [index]));
    await Promise.all(running.map((index) => this.end(index, signal)));
  }

  /** So many publishers, each of one event at a time, until `stop`. */
  publish(publishers: number, everyMs: number): void {
    for (let number = 0; number < publishers; number += 1) {
      this.#publishing.push(this.#publishOn(number, everyMs));
    }
    this.#publishing.push(this.#watchPauses());
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#publishing);
  }

  /** Resolves when everything that was accepted has arrived; rejects after a while without news. */
  async untilArrived(): Promise<void> {
    let left = this.ledger.lost(this.endpoints).length;
    for (let quietMs = 0; left > 0 && quietMs < 60_000; quietMs += 200) {
      await pause(200);
      const now = this.ledger.lost(this.endpoints).length;
      if (now < left) quietMs = 0;
      left = now;
    }
  }

  async ask<T>(index: number, path: string): Promise<T> {
    const answer = await fetch(`${this.program(index).url}${path}`, {
      headers: { authorization: `Bearer ${adminKey}` },
    });
    return (await answer.json()) as T;
  }

  async untilReady(index: number): Promise<void> {
    for (;;) {
      const answer = await fetch(`${this.program(index).url}/readyz`).catch(() => null);
      await answer?.arrayBuffer();
      if (answer?.status === 200) return;
      await pause(50);
    }
  }

  async #publishOn(publisher: number, everyMs: number): Promise<void> {
    while (!this.#isOver) {
      this.#made += 1;
      await this.#publishOne(`p${publisher}-${this.#made}`);
      await pause(everyMs);
    }
  }

  /** As clients do: again after a moment, at the next broker; each try is an event of its own. */
  async #publishOne(name: string): Promise<void> {
    for (let tried = 0; !this.#isOver; tried += 1) {
      const id = `${name}.${tried}`;
      const status = await this.#send(id);
      if (status === 200) {
        this.ledger.accepted.add(id);
        return;
      }
      this.ledger.failedTries += 1;
      if (tried === clientTries) this.ledger.given.push(name);
      await pause(Math.min(1_000, 100 * 2 ** tried));
    }
  }

  async #send(id: string): Promise<number> {
    const urls = this.urls();
    const url = urls[this.#turn++ % Math.max(1, urls.length)];
    if (url === undefined) return 0;
    const event = { id, subject: "s", eventType: "t", eventTime: "2030-01-01T00:00:00Z" };
    try {
      const answer = await fetch(`${url}/topics/orders/api/events`, {
        method: "POST",
        headers: { "aeg-sas-key": topicKey },
        body: JSON.stringify([{ ...event, data: { filling: "x".repeat(300) }, dataVersion: "1" }]),
        signal: AbortSignal.timeout(10_000),
      });
      await answer.arrayBuffer();
      return answer.status;
    } catch {
      return 0;
    }
  }

  async #watchPauses(): Promise<void> {
    const begun = performance.now();
    while (!this.#isOver) {
      const pauseMs = performance.now() - Math.max(begun, this.endpoints.lastAt);
      this.ledger.longestPauseMs = Math.max(this.ledger.longestPauseMs, pauseMs);
      await pause(20);
    }
  }
}

/** What the retry policies of usual clients do at least. */
const clientTries = 4;

export async function openCluster(t: Scope, options: ClusterOptions): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-cluster-"));
  const endpoints = await openClusterEndpoints(t);
  const subscriptions = Object.fromEntries(
    endpointNames.map((name) => [
      name,
      {
        destination: { endpointType: "WebHook", properties: { endpointUrl: endpoints.url(name) } },
        ...(name === "never" && {
          retryPolicy: { maxDeliveryAttempts: attemptsMax, eventTimeToLiveInMinutes: 60 },
        }),
      },
    ]),
  );
  const topics = { orders: { key1: topicKey, subscriptions } };
  writeFileSync(join(folder, "config.json"), JSON.stringify({ topics }));
  const cluster = new Cluster(options, endpoints, folder);
  t.after(async () => {
    await cluster.endAll("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  await Promise.all(Array.from({ length: options.brokers }, (_, index) => cluster.start(index)));
  return cluster;
}
