// `npm run cluster`: a throw-away PostgreSQL and three brokers on it. Publishes to all of them,
// kills one, and shows what happened. Everything is on loopback and ends with it; `--stay` leaves
// the cluster running until Ctrl-C, to look at.

import { parseArgs } from "node:util";
import { findPostgres, startPostgres } from "../fixtures/postgres.ts";
import { adminKey, concurrency, openCluster, pause } from "./brokers.ts";

const { values } = parseArgs({ options: { stay: { type: "boolean", default: false } } });
const ends: (() => unknown)[] = [];
const t = { after: (end: () => unknown) => void ends.push(end) };

async function show(): Promise<number> {
  if (findPostgres() === null) {
    console.log(
      "PostgreSQL is not installed here: apt install postgresql, dnf install postgresql-server or " +
        "brew install postgresql; or name a folder of its binaries in POSTHORN_TEST_POSTGRES.",
    );
    return 2;
  }
  console.log("Starting PostgreSQL …");
  const postgres = await startPostgres(t);
  const url = await postgres.newDatabase();
  console.log(`Starting three brokers on ${url} …`);
  const cluster = await openCluster(t, { url, brokers: 3 });
  for (const each of cluster.urls()) console.log(`  ${each}  (admin key: ${adminKey})`);
  const { ledger, endpoints } = cluster;

  console.log("Publishing to all of them …");
  cluster.publish(6, 10);
  while (ledger.accepted.size < 500) await pause(20);
  console.log(`  ${ledger.accepted.size} accepted, ${endpoints.accepted("steady").size} delivered`);

  console.log("Killing the first (SIGKILL) …");
  const end = ledger.fault("kill");
  ledger.longestPauseMs = 0;
  const tries = ledger.failedTries;
  await cluster.end(0, "SIGKILL");
  const before = ledger.accepted.size;
  while (ledger.accepted.size < before + 500) await pause(20);
  await pause(8_000);
  end();
  console.log(
    `  publishes went on at the others (${ledger.failedTries - tries} tries were repeated); ` +
      `deliveries paused for at most ${(ledger.longestPauseMs / 1_000).toFixed(1)} s`,
  );

  console.log("Starting it again …");
  await cluster.start(0);
  await cluster.untilReady(0);
  while (ledger.accepted.size < before + 1_000) await pause(20);
  if (values.stay) {
    console.log("Running until Ctrl-C.");
    await new Promise<void>((resolve) => process.once("SIGINT", () => resolve()));
  }
  await cluster.stop();
  await cluster.untilArrived();
  const trespasses = ledger.trespasses(endpoints, concurrency);
  console.log("What happened:");
  for (const line of ledger.tell(endpoints, trespasses)) console.log(`  ${line}`);
  return ledger.lost(endpoints).length + trespasses.length === 0 ? 0 : 1;
}

const code = await show().finally(async () => {
  for (const end of ends.reverse()) await end();
});
process.exit(code);
