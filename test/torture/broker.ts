// The brokers under torture: the real program, started, killed and asked. Null: the address of one
// that is down.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { type Program, startProgram } from "../fixtures/program.ts";
import type { Dice } from "../sim/dice.ts";

export const adminKey = "torture-admin-key";
export const topicKey = "torture-topic-key";
export const scratchKey = "torture-scratch-key";

/**
 * Its system's clock goes wrong by as many milliseconds as a file says, in every thread, while time
 * that only counts goes on: as if somebody had set it.
 */
const clockModule = `
  import { readFileSync } from "node:fs";
  const now = Date.now;
  let by = 0;
  const look = () => void (by = Number(readFileSync(process.env.TORTURE_CLOCK, "utf8")));
  look();
  setInterval(look, 50).unref();
  Date.now = () => now() + by;
  globalThis.Date = new Proxy(Date, {
    construct: (real, args, as) => Reflect.construct(real, args.length > 0 ? args : [Date.now()], as),
  });
`;

export class Broker {
  readonly #settings: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  readonly #clock: string;
  #program: Program | null = null;
  kills = 0;
  /** When it was last ended, frozen or woken. */
  goneAt = Number.NEGATIVE_INFINITY;

  /** `env`: what nobody should see in a list of processes. `clock`: a file for its clock. */
  constructor(
    settings: readonly string[],
    { env, clock }: { env: Readonly<Record<string, string>>; clock: string },
  ) {
    this.#settings = settings;
    this.#clock = clock;
    this.setClock(0);
    writeFileSync(`${clock}.mjs`, clockModule);
    const options = `${process.env.NODE_OPTIONS ?? ""} --import ${pathToFileURL(clock)}.mjs`;
    this.#env = { ...env, NODE_OPTIONS: options, TORTURE_CLOCK: clock };
  }

  /** How far it is ahead, in milliseconds; seen within a moment. */
  setClock(byMs: number): void {
    writeFileSync(this.#clock, String(byMs));
  }

  get url(): string | null {
    return this.#program?.url ?? null;
  }

  /** `descriptors`: how many it may have. */
  async start(descriptors?: number): Promise<void> {
    const env = { ...this.#env, POSTHORN_ADMIN_KEY: adminKey };
    const limit = `--nofile=${descriptors}:${descriptors}`;
    const through = descriptors === undefined ? [] : ["prlimit", limit];
    this.#program = await startProgram(this.#settings, env, through);
  }

  /** Its exit code or signal. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<number | string> {
    const program = this.#program;
    this.#program = null;
    if (signal === "SIGKILL") this.kills += 1;
    this.goneAt = performance.now();
    return (await program?.end(signal)) ?? "not running";
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#program?.child.kill(signal);
    this.goneAt = performance.now();
  }

  /** How long a file of it may become. */
  limitFiles(bytes: string): void {
    const pid = String(this.#program?.child.pid);
    execFileSync("prlimit", ["--pid", pid, `--fsize=${bytes}:`]);
  }

  /** In MiB. */
  resident(): number {
    try {
      const status = readFileSync(`/proc/${this.#program?.child.pid}/status`, "utf8");
      return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1_024;
    } catch {
      return 0;
    }
  }

  /** Our own API, as the operator. */
  async ask<T>(method: "GET" | "POST", path: string, body?: unknown): Promise<T> {
    const answer = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as T;
  }

  async untilReady(): Promise<void> {
    for (;;) {
      const answer = await fetch(`${this.url}/readyz`).catch(() => null);
      await answer?.arrayBuffer();
      if (answer?.status === 200) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** A lease, and what a busy machine needs beside it. */
const takeOverMs = 15_000;

/** All brokers of a run: one, or several on one database. */
export class Fleet {
  readonly brokers: readonly Broker[];
  #turn = 0;

  constructor(brokers: readonly Broker[]) {
    this.brokers = brokers;
  }

  /** Of the next one that runs, as a load balancer would choose. */
  get url(): string | null {
    const urls = this.brokers.flatMap(({ url }) => url ?? []);
    this.#turn += 1;
    return urls[this.#turn % Math.max(1, urls.length)] ?? null;
  }

  get kills(): number {
    return this.brokers.reduce((sum, broker) => sum + broker.kills, 0);
  }

  /** Among several, what one of them served waits until its lease is over. */
  isOwnerGone(at: number): boolean {
    return this.brokers.length > 1 && this.brokers.some(({ goneAt }) => at - goneAt < takeOverMs);
  }

  pick(dice: Dice): Broker {
    return dice.pick(this.brokers);
  }

  async start(): Promise<void> {
    await Promise.all(this.brokers.map((broker) => broker.start()));
  }

  async untilReady(): Promise<void> {
    await Promise.all(this.brokers.map((broker) => broker.untilReady()));
  }

  /** Of the one that takes most, in MiB. */
  resident(): number {
    return Math.max(...this.brokers.map((broker) => broker.resident()));
  }
}
