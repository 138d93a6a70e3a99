// The processes the bench starts: every one is known here and ends with the bench, however that
// ends. Those that are parts of the bench answer questions over Node's own channel, one at a time.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** A process of the bench that answers questions of type `Q` with answers of type `A`. */
export interface Partner<Q, A> extends AsyncDisposable {
  readonly pid: number;
  ask(question: Q): Promise<A>;
}

export function startPartner<Q extends object, A>(file: string): Partner<Q, A> {
  const child = fork(join(import.meta.dirname, file), {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  watchChild(child);
  const ended = once(child, "exit");
  return {
    pid: child.pid ?? 0,
    async ask(question) {
      const answer = once(child, "message");
      child.send(question);
      const [value] = await Promise.race([answer, ended.then(() => Promise.reject(gone(file)))]);
      return value;
    },
    [Symbol.asyncDispose]: () => endChild(child),
  };
}

const running = new Set<ChildProcess>();

/** Sees to it that a process we started does not outlive us. */
export function watchChild(child: ChildProcess): void {
  running.add(child);
  child.once("exit", () => running.delete(child));
}

process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));

/** Ends a process we started: politely, then for good. */
export async function endChild(
  child: ChildProcess,
  { graceMs = 10_000, signal = "SIGTERM" as NodeJS.Signals } = {},
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
  await ended;
  clearTimeout(timer);
}

/** The other side: answers every question of the process that started this one. */
export function answerParent<Q, A>(answer: (question: Q) => A | Promise<A>): void {
  process.on("message", async (question: Q) => process.send?.(await answer(question)));
  process.on("disconnect", () => process.exit());
}

function gone(file: string): Error {
  return new Error(`${file} has ended`);
}
