// The broker under torture: the real program, started, killed and asked. Null is its address while
// it is down.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { type Program, startProgram } from "../fixtures/program.ts";

export const adminKey = "torture-admin-key";
export const topicKey = "torture-topic-key";

export class Broker {
  readonly #settings: readonly string[];
  #program: Program | null = null;

  constructor(settings: readonly string[]) {
    this.#settings = settings;
  }

  get url(): string | null {
    return this.#program?.url ?? null;
  }

  async start(): Promise<void> {
    this.#program = await startProgram(this.#settings, { POSTHORN_ADMIN_KEY: adminKey });
  }

  /** Its exit code or signal. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<number | string> {
    const program = this.#program;
    this.#program = null;
    return (await program?.end(signal)) ?? "not running";
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#program?.child.kill(signal);
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
