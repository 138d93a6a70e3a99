// What is measured and how: processor time and memory of another process from /proc (therefore
// Linux only), latencies in a histogram, medians because the machine is noisy.

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const LATENCY_STEP_MS = 0.01;
const LATENCY_STEPS = 200_000;

const TICKS_PER_SECOND = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/**
 * Seconds of processor time used by a process since it began, in all its threads, user and system.
 */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name in the second field may hold anything, so we count from its closing bracket.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Memory of a process that is in RAM now, and the most that ever was. */
export function residentBytes(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const read = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? Number.NaN) * 1024;
  return { now: read("VmRSS"), peak: read("VmHWM") };
}

export function folderBytes(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => statSync(join(folder, name)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
}

/** Milliseconds since 1970 with fractions: comparable between processes of one machine. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resolves when the process has used no processor time for `quietMs`, or after `withinMs`. */
export async function untilQuiet(
  pid: number,
  { quietMs = 400, withinMs = 15_000 } = {},
): Promise<void> {
  const endAt = nowMs() + withinMs;
  for (let before = cpuSeconds(pid); nowMs() < endAt; ) {
    await sleep(quietMs);
    const after = cpuSeconds(pid);
    // One tick is what a timer or the collector of garbage costs.
    if (after - before <= 1.5 / TICKS_PER_SECOND) return;
    before = after;
  }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

/** Counts latencies in steps of 10 µs up to two seconds; what is longer counts as two seconds. */
export class Latencies {
  #steps = new Uint32Array(LATENCY_STEPS);
  #count = 0;

  add(ms: number): void {
    const step = Math.min(LATENCY_STEPS - 1, Math.floor(ms / LATENCY_STEP_MS));
    this.#steps[step] = (this.#steps[step] ?? 0) + 1;
    this.#count += 1;
  }

  /** The latency that `share` of all did not exceed; 0 when there were none. */
  quantile(share: number): number {
    let left = Math.ceil(this.#count * share);
    if (left === 0) return 0;
    const step = this.#steps.findIndex((count) => {
      left -= count;
      return left <= 0;
    });
    return (step + 1) * LATENCY_STEP_MS;
  }
}
