// The faults that a cluster must live through, each with real processes, a real database, load from
// several publishers at several brokers, and a ledger. `scale`: 1 is as short as a test of every
// day wants it.

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type PostgresOptions, startPostgres } from "../fixtures/postgres.ts";
import { startPostgresProxy } from "../fixtures/postgres-proxy.ts";
import type { Scope } from "../fixtures/webhook.ts";
import { type Cluster, concurrency, openCluster, pause } from "./brokers.ts";

export interface Verdict {
  readonly lines: readonly string[];
  readonly lost: number;
  readonly trespasses: number;
  /** Publishes that an ordinary client could not get through. */
  readonly given: number;
  readonly pauseMs: number;
}

export interface Case {
  readonly about: string;
  /** Whether a root is needed, for a disk of its own. */
  readonly needsRoot?: boolean;
  run(t: Scope, scale: number): Promise<Verdict>;
}

/** Of a broker's claim to its endpoints; see the setting `store-lease`. */
export const leaseMs = 6_000;

/** Under load from before the fault until after it. */
async function judge(cluster: Cluster, act: (cluster: Cluster) => Promise<void>): Promise<Verdict> {
  cluster.publish(6, 15);
  await untilAccepted(cluster, 50);
  await act(cluster);
  await untilAccepted(cluster, cluster.ledger.accepted.size + 50);
  await cluster.stop();
  await cluster.untilArrived();
  // What must not come would come soon.
  await pause(500);
  const { ledger, endpoints } = cluster;
  // A machine that is busy enough freezes a broker by itself.
  for (const at of cluster.lostLeases()) ledger.lostLease(at - leaseMs, at);
  const trespasses = ledger.trespasses(endpoints, concurrency);
  return {
    lines: ledger.tell(endpoints, trespasses),
    lost: ledger.lost(endpoints).length,
    trespasses: trespasses.length,
    given: ledger.given.length,
    pauseMs: ledger.longestPauseMs,
  };
}

async function untilAccepted({ ledger }: Cluster, count: number): Promise<void> {
  while (ledger.accepted.size < count) await pause(20);
}

async function openOn(t: Scope, options: PostgresOptions = {}) {
  const postgres = await startPostgres(t, options);
  return { postgres, url: await postgres.newDatabase() };
}

export const cases: Readonly<Record<string, Case>> = {
  "1 kill": {
    about: "brokers are killed, one after the other",
    async run(t, scale) {
      const { url } = await openOn(t);
      const cluster = await openCluster(t, { url, brokers: 3 });
      return await judge(cluster, async ({ ledger }) => {
        for (let kill = 0; kill < 4 * scale; kill += 1) {
          await untilAccepted(cluster, ledger.accepted.size + 60);
          const end = ledger.fault("kill");
          await cluster.end(kill % 3, "SIGKILL");
          await cluster.start(kill % 3);
          await pause(leaseMs / 2);
          end();
        }
      });
    },
  },
  "2 freeze": {
    about: "a broker is frozen for three lease lengths, and wakes up",
    async run(t, scale) {
      const { url } = await openOn(t);
      const cluster = await openCluster(t, { url, brokers: 3 });
      return await judge(cluster, async ({ ledger }) => {
        for (let round = 0; round < scale; round += 1) {
          const { child } = cluster.program(round % 3);
          const end = ledger.fault("freeze");
          child.kill("SIGSTOP");
          // What was in flight is explained until others have taken over; what comes later is not.
          await pause(leaseMs + 4_000);
          end();
          await pause(2 * leaseMs - 4_000);
          child.kill("SIGCONT");
          await pause(4_000);
        }
      });
    },
  },
  "3 database": {
    about: "every process of the database is killed",
    async run(t, scale) {
      const { postgres, url } = await openOn(t);
      const cluster = await openCluster(t, { url, brokers: 2 });
      return await judge(cluster, async ({ ledger }) => {
        for (let kill = 0; kill < scale; kill += 1) {
          await untilAccepted(cluster, ledger.accepted.size + 60);
          const end = ledger.fault("database");
          await postgres.kill();
          await pause(1_000);
          await postgres.start();
          await untilAccepted(cluster, ledger.accepted.size + 10);
          end();
        }
      });
    },
  },
  "4 primary": {
    about: "the primary is killed, and its synchronous standby promoted",
    async run(t) {
      const { postgres, url } = await openOn(t);
      const standby = await postgres.addStandby();
      const both = url.replace(/@([^/]+)\//, `@$1,127.0.0.1:${standby.port}/`);
      const cluster = await openCluster(t, { url: both, brokers: 2 });
      return await judge(cluster, async ({ ledger }) => {
        const end = ledger.fault("primary");
        await postgres.kill();
        await pause(500);
        await standby.promote();
        await untilAccepted(cluster, ledger.accepted.size + 20);
        end();
      });
    },
  },
  "5 network": {
    about: "connections to the database are cut, stall, and lose the answer to a commit",
    async run(t, scale) {
      const { postgres, url } = await openOn(t);
      const proxy = await startPostgresProxy(t, postgres.port);
      const cluster = await openCluster(t, { url: proxy.through(url), brokers: 2 });
      return await judge(cluster, async ({ ledger }) => {
        for (let round = 0; round < scale; round += 1) {
          const end = ledger.fault("network");
          proxy.cut();
          await pause(1_500);
          proxy.flow();
          await untilAccepted(cluster, ledger.accepted.size + 20);
          for (let lost = 0; lost < 5; lost += 1) {
            await proxy.loseAnswers(1);
            await untilAccepted(cluster, ledger.accepted.size + 5);
          }
          proxy.stall();
          await pause(leaseMs + 2_000);
          proxy.flow();
          await untilAccepted(cluster, ledger.accepted.size + 20);
          end();
        }
      });
    },
  },
  "6 rolling": {
    about: "all brokers are restarted in turn, politely",
    async run(t, scale) {
      const { url } = await openOn(t);
      const cluster = await openCluster(t, { url, brokers: 3 });
      const pauses = { end: 0, start: 0 };
      const verdict = await judge(cluster, async ({ ledger }) => {
        const measure = async (of: "end" | "start", act: () => Promise<void>) => {
          const before = ledger.longestPauseMs;
          ledger.longestPauseMs = 0;
          await act();
          await untilAccepted(cluster, ledger.accepted.size + 60);
          pauses[of] = Math.max(pauses[of], ledger.longestPauseMs);
          ledger.longestPauseMs = Math.max(before, ledger.longestPauseMs);
        };
        for (let turn = 0; turn < 3 * scale; turn += 1) {
          await measure("end", async () => {
            const code = await cluster.end(turn % 3, "SIGTERM");
            if (code !== 0) ledger.given.push(`a polite end gave ${code}`);
          });
          await measure("start", async () => {
            await cluster.start(turn % 3);
            await cluster.untilReady(turn % 3);
          });
        }
      });
      const { end, start } = pauses;
      const words = `longest pause at an end ${Math.round(end)} ms, at a start ${Math.round(start)} ms`;
      return { ...verdict, lines: [...verdict.lines, words] };
    },
  },
  "7 disk": {
    about: "the disk of the database is full for a while",
    needsRoot: true,
    async run(t) {
      const { postgres, url } = await openOn(t, { diskMegabytes: 300 });
      const cluster = await openCluster(t, { url, brokers: 2 });
      return await judge(cluster, async ({ ledger }) => {
        const end = ledger.fault("disk");
        const ballast = join(postgres.folder, "ballast");
        try {
          writeFileSync(ballast, Buffer.alloc(300 * 1_048_576));
        } catch {
          // That was the aim.
        }
        const before = ledger.failedTries;
        while (ledger.failedTries < before + 5) await pause(100);
        rmSync(ballast);
        // A server whose log had no room has ended itself; whoever runs it starts it again.
        await postgres.stop("immediate");
        await postgres.start();
        await untilAccepted(cluster, ledger.accepted.size + 20);
        end();
      });
    },
  },
};
