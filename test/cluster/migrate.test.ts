// The whole program moves from a data folder into PostgreSQL and back: what waited is delivered
// from there, with its attempts.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { startPostgres } from "../fixtures/postgres.ts";
import { program, startProgram } from "../fixtures/program.ts";
import { openClusterEndpoints } from "./endpoints.ts";

const run = promisify(execFile);
const key = "migrate-key";

test("what waits is moved by the program, and delivered from there", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-migrate-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const postgres = await startPostgres(t, { login: "scram" });
  const url = await postgres.newDatabase();
  const env = { ...process.env, POSTHORN_STORE_PASSWORD: postgres.password };
  const endpoints = await openClusterEndpoints(t);
  const [here, back] = [join(folder, "here"), join(folder, "back")];
  const config = join(folder, "config.json");
  const destination = {
    endpointType: "WebHook",
    properties: { endpointUrl: endpoints.url("moody") },
  };
  const topics = { orders: { key1: key, subscriptions: { one: { destination } } } };
  writeFileSync(config, JSON.stringify({ topics }));
  const start = (...args: readonly string[]) =>
    startProgram(["--config", config, "--handshake", "off", ...args], {
      POSTHORN_STORE_PASSWORD: postgres.password,
    });
  const migrate = async (from: string, to: string) =>
    (await run(process.execPath, [program, "migrate", "--from", from, "--to", to], { env })).stdout;

  const first = await start("--data", here);
  const event = { id: "p-9.0", subject: "s", eventType: "t", eventTime: "2030-01-01T00:00:00Z" };
  const answer = await fetch(`${first.url}/topics/orders/api/events`, {
    method: "POST",
    headers: { "aeg-sas-key": key },
    body: JSON.stringify([{ ...event, data: {}, dataVersion: "1" }]),
  });
  assert.equal(answer.status, 200);
  while (endpoints.arrivals.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await assert.rejects(migrate(here, url), /in use by another broker/);
  assert.equal(await first.end("SIGTERM"), 0);

  assert.match(await migrate(here, url), /1 subscriptions, 0 retired, 1 events, 1 deliveries/);
  assert.match(await migrate(url, back), /1 deliveries/);
  await assert.rejects(migrate(here, url), /has a store already/);
  const second = await start("--data", join(folder, "broker"), "--store", url);
  t.after(() => second.end("SIGKILL"));
  await assert.rejects(migrate(url, join(folder, "more")), /in use by .*: stop every broker/);
  // The schedule goes on where it was: this endpoint fails this event twice.
  while (endpoints.accepted("moody").size === 0) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.deepEqual(
    endpoints.arrivals.map(({ count }) => count),
    [0, 1, 2],
  );
});

test("a migration that cannot be is refused with how to write it", async () => {
  const cases: readonly (readonly [string[], RegExp])[] = [
    [[], /one side is a folder and the other a database; use posthorn migrate/],
    [["--from", "a", "--to", "b"], /one side is a folder/],
    [["--from", "a", "--to", "postgres://x"], /names no|must look like/],
    [["--from", "a", "--to", "postgres://u@h/d", "--fast"], /one side is a folder/],
  ];
  for (const [args, words] of cases) {
    const refused = run(process.execPath, [program, "migrate", ...args]);
    await assert.rejects(refused, { code: 2, stderr: words });
  }
});
