// The failure log as an operator has it: lines of a real program, in a file or among its facts.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openLines } from "../src/runtime/failure-log.ts";
import { startProgram } from "./fixtures/program.ts";
import { eventText } from "./fixtures/publish-routes.ts";
import { openReceiver } from "./fixtures/receiver.ts";

interface Line {
  readonly category?: string;
  readonly operationName?: string;
  readonly message?: string;
}

/** A program whose only endpoint takes nothing; one event is published, and one is refused. */
async function failAndEnd(t: TestContext, target: string, folder: string) {
  const receiver = await openReceiver(t);
  receiver.answer = () => 400;
  const config = join(folder, "config.json");
  const properties = { endpointUrl: `${receiver.url}/hook?code=hush` };
  const all = { destination: { endpointType: "WebHook", properties } };
  writeFileSync(config, JSON.stringify({ topics: { orders: { subscriptions: { all } } } }));
  const program = await startProgram([
    ...["--config", config, "--data", join(folder, "data"), "--store", "memory", "--auth", "off"],
    ...["--failure-log", target],
  ]);
  t.after(() => program.end("SIGKILL"));
  const url = `${program.url}/topics/orders/api/events`;
  assert.equal((await fetch(url, { method: "POST", body: eventText() })).status, 200);
  assert.equal((await fetch(url, { method: "POST", body: "[{}]" })).status, 400);
  await program.told("delivery.dropped");
  assert.equal(await program.end("SIGTERM"), 0);
  return program.facts as readonly Line[];
}

const categories = (lines: readonly Line[]) =>
  lines.flatMap(({ category }) => category ?? []).toSorted();

function openFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-failures-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("failed attempts and refused publishes are appended to a file, a line of JSON each", async (t) => {
  const folder = openFolder(t);
  const file = join(folder, "failures.jsonl");
  writeFileSync(file, "before\n");
  const facts = await failAndEnd(t, file, folder);
  assert.deepEqual(categories(facts), []);
  const [before, ...lines] = readFileSync(file, "utf8").trimEnd().split("\n");
  assert.equal(before, "before");
  const records = lines.map((line) => JSON.parse(line) as Line);
  assert.deepEqual(categories(records), ["DeliveryFailures", "PublishFailures"]);
  const delivery = records.find(({ operationName }) => operationName === "Deliver");
  assert.match(delivery?.message ?? "", /^outcome=BadRequest, .*id=1807, .*url=http:[^?]*\/hook,/);
  assert.equal(lines.join().includes("hush"), false);
});

test("or they stand among the facts of the log", async (t) => {
  const facts = await failAndEnd(t, "stdout", openFolder(t));
  assert.deepEqual(categories(facts), ["DeliveryFailures", "PublishFailures"]);
});

test("without it nothing of the kind is written", async (t) => {
  assert.deepEqual(categories(await failAndEnd(t, "off", openFolder(t))), []);
});

test("a file that cannot be written is refused before anything is listened to", async (t) => {
  const file = join(openFolder(t), "no-such-folder", "failures.jsonl");
  await assert.rejects(
    startProgram(["--store", "memory", "--auth", "off", "--failure-log", file]),
    /ended with 2 .*failure-log must be a file that can be written, and .* cannot \(ENOENT\)/,
  );
});

test("a new file is for its owner alone, whatever the umask", async (t) => {
  const file = join(openFolder(t), "failures.jsonl");
  const before = process.umask(0);
  t.after(() => process.umask(before));
  await openLines(file).close();
  assert.equal(statSync(file).mode & 0o777, 0o600);
});
