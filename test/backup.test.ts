// A backup taken from the real program under load, restored into another folder: every event that
// was acknowledged before the backup was begun is there again, and is delivered from there.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { restoreStore } from "../src/store/sqlite/backup.ts";
import { startProgram } from "./fixtures/program.ts";
import { openReceiver } from "./fixtures/receiver.ts";

test("a restored backup has every event accepted before it", { timeout: 120_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-backup-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const receiver = await openReceiver(t);
  receiver.answer = () => 503;
  const config = join(folder, "config.json");
  writeFileSync(config, JSON.stringify({ topics: { orders: topicWith(receiver.url) } }));
  const start = (data: string) =>
    startProgram([
      "--config",
      config,
      "--data",
      data,
      "--auth",
      "off",
      "--health-failures",
      "1000",
    ]);
  const first = await start(join(folder, "first"));

  const accepted: string[] = [];
  const load = { isOver: false };
  const publishing = publishOn(first.url, accepted, load);
  while (accepted.length < 200) await turn();
  const before = [...accepted];
  const taken = await ask(first.url, "POST", "/api/v1/backups");
  const download = await fetch(`${first.url}/api/v1/backups/${taken.name}`);
  const copy = join(folder, "copy.db");
  writeFileSync(copy, Buffer.from(await download.arrayBuffer()));
  assert.equal(Number(download.headers.get("content-length")), taken.bytes);
  const listed = await ask(first.url, "GET", "/api/v1/backups");
  assert.deepEqual(listed.value, [taken]);
  await ask(first.url, "DELETE", `/api/v1/backups/${taken.name}`);
  load.isOver = true;
  await publishing;
  await first.end("SIGTERM");

  const second = join(folder, "second");
  restoreStore({ from: copy, folder: second, replaces: false, stamp: "now" });
  const arrived = new Set<string>();
  const all = Promise.withResolvers<void>();
  receiver.answer = ({ body }) => {
    for (const { id } of JSON.parse(body) as { id: string }[]) arrived.add(id);
    if (before.every((id) => arrived.has(id))) all.resolve();
    return 200;
  };
  const restored = await start(second);
  await ask(restored.url, "POST", "/api/v1/topics/orders/subscriptions/billing/hasten");
  await all.promise;
  await restored.end("SIGTERM");
});

test("what is kept in memory cannot be backed up, and says so", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-backup-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const program = await startProgram(["--store", "memory", "--data", folder, "--auth", "off"]);
  const response = await fetch(`${program.url}/api/v1/backups`, { method: "POST" });
  assert.equal(response.status, 409);
  assert.match(await response.text(), /keeps its events in memory: there is no store to copy/);
  await program.end("SIGTERM");
});

function topicWith(url: string): object {
  const destination = { endpointType: "WebHook", properties: { endpointUrl: url } };
  return { key1: "key", subscriptions: { billing: { destination } } };
}

async function publishOn(url: string, accepted: string[], load: { isOver: boolean }) {
  for (let count = 0; !load.isOver; count += 10) {
    const events = Array.from({ length: 10 }, (_, index) => ({
      id: `event-${count + index}`,
      subject: "/orders",
      eventType: "Order.Placed",
      eventTime: "2030-01-01T00:00:00Z",
      data: { filler: "x".repeat(1_000) },
      dataVersion: "1",
    }));
    const body = JSON.stringify(events);
    const response = await fetch(`${url}/topics/orders/api/events`, { method: "POST", body });
    assert.equal(response.status, 200);
    accepted.push(...events.map(({ id }) => id));
  }
}

async function ask(url: string, method: string, path: string) {
  const response = await fetch(`${url}${path}`, { method });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text);
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
