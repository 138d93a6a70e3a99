// What is measured and how: processor time and memory of another process from /proc (therefore
// Linux only), latencies in a histogram, medians because the machine is noisy.

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const LATENCY_STEP_MS = 0.01;
const LATENCY_STEPS = 200_000;

const TICKS_PER_SECOND = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** The fields of a /proc stat file after the name, which may hold anything. */
function statFields(path: string): number[] {
  const stat = readFileSync(path, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.map(Number);
}

/** Seconds of processor time of processes, their threads and children, user and system. */
export function cpuSeconds(...pids: readonly number[]): number {
  let ticks = 0;
  for (const one of pids.flatMap((pid) => [pid, ...childrenOf(pid)])) {
    const fields = statFields(`/proc/${one}/stat`);
    // Its own user and system time, and that of children that have ended.
    for (const place of [11, 12, 13, 14]) ticks += fields[place] ?? 0;
  }
  return ticks / TICKS_PER_SECOND;
}

function childrenOf(pid: number): number[] {
  const path = `/proc/${pid}/task/${pid}/children`;
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  return text.split(" ").filter(Boolean).map(Number);
}

/** Seconds of processor time by thread, under its name and number. */
export function threadSeconds(pid: number): Map<string, number> {
  const seconds = new Map<string, number>();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${thread}`;
    const name = readFileSync(`${folder}/comm`, "utf8").trim();
    const fields = statFields(`${folder}/stat`);
    seconds.set(`${name} ${thread}`, ((fields[11] ?? 0) + (fields[12] ?? 0)) / TICKS_PER_SECOND);
  }
  return seconds;
}

/** Of all that was used between two readings, each thread's share in percent, the largest first. */
export function threadShares(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): { readonly name: string; readonly percent: number }[] {
  const used = [...after].map(([key, seconds]) => ({
    name: key.replace(/ \d+$/, ""),
    seconds: seconds - (before.get(key) ?? 0),
  }));
  const all = used.reduce((sum, { seconds }) => sum + seconds, 0);
  return used
    .map(({ name, seconds }) => ({ name, percent: (100 * seconds) / Math.max(all, 1e-9) }))
    .filter(({ percent }) => percent >= 0.5)
    .sort((a, b) => b.percent - a.percent);
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

/** Milliseconds with fractions on the machine's one steady clock, the same in every process. */
export function nowMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resolves when the processes have used no processor time for `quietMs`, or after `withinMs`. */
export async function untilQuiet(
  pids: readonly number[],
  { quietMs = 400, withinMs = 15_000 } = {},
): Promise<void> {
  const endAt = nowMs() + withinMs;
  for (let before = cpuSeconds(...pids); nowMs() < endAt; ) {
    await sleep(quietMs);
    const after = cpuSeconds(...pids);
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
