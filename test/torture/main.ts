// `npm run torture -- [--minutes N] [--seed N]`: the real program on a real disk, under kills,
// freezes, a disk without room, endpoints that hang, bursts of load and requests that make no
// sense, one after the other for as long as is said. At the end every event that was accepted is
// accounted for. Prints a ledger, and ends with 1 when an event is lost or an answer has no excuse.
//
// On Linux, for prlimit and /proc. Everything is on loopback and ends with the run.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { SqliteEngine } from "../../src/store/sqlite/engine.ts";
import { type Program, startProgram } from "../fixtures/program.ts";
import { Dice } from "../sim/dice.ts";
import { mutatedRequest } from "./mutated-request.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const endsAt = Date.now() + Number(values.minutes) * 60_000;
const seed = Number(values.seed);
const dice = new Dice(seed, "torture");
const key = "torture-key";
const publishers = 4;
const mutatedPerAct = 2_000;
const burstConnections = 200;

const folder = mkdtempSync(join(tmpdir(), "posthorn-torture-"));
const data = join(folder, "data");
const ledger = {
  accepted: new Set<string>(),
  delivered: new Map<string, number>(),
  refused: 0,
  unanswered: 0,
  mutated: 0,
  /** Answers of 5xx while nothing was wrong with the machine. */
  unexplained: [] as string[],
  acts: {} as Record<string, number>,
  residentMax: 0,
  /** Of publishes while nothing was wrong. */
  publishMs: [] as number[],
};
/** Set while the disk, the process or the machine gives a reason for a 5xx. */
let trouble: string | null = null;
let program: Program | null = null;
let isOver = false;

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A healthy endpoint, one that fails now and then, and one that never answers. */
const endpoints = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    if (request.url === "/hanging") return;
    if (request.url === "/moody" && dice.isHit(0.3) && !isOver) {
      response.writeHead(503).end();
      return;
    }
    const events = JSON.parse(Buffer.concat(chunks).toString()) as { id: string }[];
    for (const { id } of events) {
      const name = `${request.url} ${id}`;
      ledger.delivered.set(name, (ledger.delivered.get(name) ?? 0) + 1);
    }
    response.end();
  });
});
await new Promise<void>((resolve) => endpoints.listen(0, "127.0.0.1", resolve));
const { port } = endpoints.address() as AddressInfo;
const names = ["healthy", "moody", "hanging"];
const subscriptions = Object.fromEntries(
  names.map((name) => [
    name,
    {
      destination: {
        endpointType: "WebHook",
        properties: { endpointUrl: `http://127.0.0.1:${port}/${name}` },
      },
    },
  ]),
);
const config = join(folder, "config.json");
writeFileSync(config, JSON.stringify({ topics: { orders: { key1: key, subscriptions } } }));
const settings = ["--config", config, "--data", data, "--handshake", "off", "--log-level", "warn"];

function eventsOf(ids: readonly string[]): string {
  const eventTime = "2030-01-01T00:00:00Z";
  return JSON.stringify(
    ids.map((id) => ({ id, subject: "s", eventType: "t", eventTime, data: {}, dataVersion: "1" })),
  );
}

async function publish(ids: readonly string[]): Promise<void> {
  const at = program?.url;
  if (at === undefined) return await pause(20);
  const excuse = trouble;
  const begun = performance.now();
  try {
    const answer = await fetch(`${at}/topics/orders/api/events`, {
      method: "POST",
      headers: { "aeg-sas-key": key },
      body: eventsOf(ids),
      signal: AbortSignal.timeout(60_000),
    });
    await answer.arrayBuffer();
    if (answer.status === 200) for (const id of ids) ledger.accepted.add(id);
    else ledger.refused += 1;
    const isCalm = excuse === null && trouble === null;
    if (isCalm && answer.status >= 500) ledger.unexplained.push(`publish: ${answer.status}`);
    if (isCalm && answer.status === 200) ledger.publishMs.push(performance.now() - begun);
  } catch {
    ledger.unanswered += 1;
    await pause(20);
  }
}

async function publishOn(publisher: number): Promise<void> {
  for (let count = 0; !isOver; count += 1) {
    await publish([`p${publisher}-${count}`]);
    await pause(5);
  }
}

const acts: Readonly<Record<string, (running: Program) => Promise<void>>> = {
  async kill(running) {
    program = null;
    await running.end("SIGKILL");
    program = await startProgram(settings);
  },
  async stop(running) {
    program = null;
    await running.end("SIGTERM");
    program = await startProgram(settings);
  },
  async freeze({ child }) {
    child.kill("SIGSTOP");
    await pause(dice.whole(200, 3_000));
    child.kill("SIGCONT");
  },
  async "full disk"({ child }) {
    execFileSync("prlimit", ["--pid", String(child.pid), "--fsize=16384:"]);
    await pause(dice.whole(200, 2_000));
    execFileSync("prlimit", ["--pid", String(child.pid), "--fsize=unlimited:"]);
    await untilReady();
  },
  async overload() {
    const ids = Array.from({ length: burstConnections }, (_, index) =>
      Array.from({ length: 20 }, (_, at) => `o${ledger.acts.overload}-${index}-${at}`),
    );
    await Promise.all(ids.map(publish));
  },
  async "mutated requests"({ url }) {
    const target = Number(new URL(url).port);
    for (let sent = 0; sent < mutatedPerAct && program !== null; sent += 20) {
      await Promise.all(Array.from({ length: 20 }, () => sendMutated(target)));
    }
  },
};

async function untilReady(): Promise<void> {
  for (;;) {
    const answer = await fetch(`${program?.url}/readyz`).catch(() => null);
    if (answer?.status === 200) return;
    await pause(50);
  }
}

/** Bytes on a bare connection; whatever comes back is read, and a 500 is never right. */
function sendMutated(target: number): Promise<void> {
  const text = mutatedRequest(dice);
  ledger.mutated += 1;
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(target, "127.0.0.1", () => socket.end(text));
    const cut = setTimeout(() => socket.destroy(), 5_000);
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(cut);
      if (/^HTTP\/1\.1 500/.test(answer)) ledger.unexplained.push(`500 to ${text.slice(0, 200)}`);
      resolve();
    });
  });
}

function residentOf({ child }: Program): number {
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1_024;
}

function waitingIn(store: string): ReadonlySet<string> {
  const engine = new SqliteEngine({ path: store });
  const found = new Set<string>();
  const ask = <T>(op: Parameters<SqliteEngine["run"]>[0][number]) => {
    const [answer] = engine.run([op]).answers;
    if (answer?.kind !== "done") throw new Error("the store cannot be read");
    return answer.value as T;
  };
  const { subscriptions: all } = ask<{ subscriptions: { id: number; name: string }[] }>({
    kind: "catalog",
    only: undefined,
  });
  for (const { id, name } of all) {
    let after = 0;
    for (;;) {
      const queue = { subscription: id, stage: "deliver" } as const;
      type Seen = { readonly id: { readonly event: number }; readonly event: { text: string } };
      const page = ask<readonly Seen[]>({ kind: "waiting", queue, after, limit: 500 });
      for (const { event } of page) found.add(`/${name} ${JSON.parse(event.text).id}`);
      if (page.length < 500) break;
      after = page.at(-1)?.id.event ?? 0;
    }
  }
  engine.close();
  return found;
}

console.log(`torture: seed ${seed}, ${values.minutes} min, store in ${data}`);
program = await startProgram(settings);
const publishing = Array.from({ length: publishers }, (_, number) => publishOn(number));
while (Date.now() < endsAt) {
  await pause(dice.whole(50, 1_500));
  const name = dice.pick(Object.keys(acts));
  ledger.acts[name] = (ledger.acts[name] ?? 0) + 1;
  trouble = name === "mutated requests" ? trouble : name;
  await acts[name]?.(program as Program);
  ledger.residentMax = Math.max(ledger.residentMax, residentOf(program as Program));
  // What was asked during the trouble may be answered a little after it.
  await pause(500);
  trouble = null;
}
isOver = true;
await Promise.all(publishing);
await untilReady();
const missing = () =>
  [...ledger.accepted].filter((id) => !ledger.delivered.has(`/healthy ${id}`)).length;
for (let tries = 0; missing() > 0 && tries < 600; tries += 1) await pause(100);
const code = await (program as Program).end("SIGTERM");
endpoints.closeAllConnections();
endpoints.close();

const waiting = waitingIn(join(data, "store.db"));
const lost = [...ledger.accepted].flatMap((id) =>
  names
    .map((name) => `/${name} ${id}`)
    .filter((name) => !ledger.delivered.has(name) && !waiting.has(name)),
);
const sorted = ledger.publishMs.toSorted((one, other) => one - other);
const quantile = (share: number) => sorted[Math.floor(sorted.length * share)]?.toFixed(1) ?? "–";
const repeated = [...ledger.delivered.values()].filter((count) => count > 1).length;
console.log(
  [
    `acts:                ${JSON.stringify(ledger.acts)}`,
    `accepted:            ${ledger.accepted.size}`,
    `delivered:           ${ledger.delivered.size}, more than once ${repeated}`,
    `waiting:             ${waiting.size}`,
    `refused, unanswered: ${ledger.refused}, ${ledger.unanswered}`,
    `mutated requests:    ${ledger.mutated}`,
    `publish in calm:     p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms`,
    `resident at most:    ${ledger.residentMax.toFixed(0)} MiB`,
    `exit code at the end: ${code}`,
    `unexplained:         ${ledger.unexplained.length}`,
    ...ledger.unexplained.slice(0, 10),
    `lost:                ${lost.length}`,
    ...lost.slice(0, 10),
  ].join("\n"),
);
rmSync(folder, { recursive: true, force: true });
process.exit(lost.length === 0 && ledger.unexplained.length === 0 && code === 0 ? 0 : 1);
