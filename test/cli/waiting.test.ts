// What the command line says while it waits: for an endpoint to agree, and for virtual time.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { openCommandLine } from "../fixtures/command-line.ts";
import { freePort } from "../fixtures/scope.ts";

async function openScene(t: TestContext, options: readonly string[]) {
  const cli = await openCommandLine(t, ["--store", "memory", ...options], {
    topics: { orders: { key1: "k" } },
  });
  return { cli, endpoint: `http://127.0.0.1:${await freePort()}/` };
}

test("each question to an endpoint that says no is shown, and it ends soon", async (t) => {
  // Time stands still until the first answer was shown.
  const options = ["--clock", "virtual", "--handshake-refused-persist", "700ms"];
  const { cli, endpoint } = await openScene(t, options);
  const create = `event-subscription create -n billing --topic-name orders --endpoint ${endpoint}`;
  const waiting = cli.start(create);
  await waiting.said(/next try in/);
  await cli.json("clock advance 1s");
  const { code, err, out } = await waiting.end();
  assert.equal(code, 1);
  assert.equal(out, "");
  const lines = err.trimEnd().split("\n");
  assert.equal(lines.length, 2, err);
  assert.match(lines[0] ?? "", /^posthorn: asked POST http:.*ECONNREFUSED.*; next try in \d+ s$/);
  assert.match(lines[1] ?? "", /^posthorn: Webhook validation handshake failed for http/);
});

test("nobody has to wait: with an option, or with an interrupt that says how to go on", async (t) => {
  const { cli, endpoint } = await openScene(t, ["--handshake-refused-persist", "1h"]);
  const create = `event-subscription create --topic-name orders --endpoint ${endpoint} -n`;
  const quick = await cli.run(`${create} quick --no-wait`);
  assert.deepEqual([quick.code, quick.out], [0, ""]);
  assert.match(
    quick.err,
    /look with `posthorn event-subscription show -n quick --topic-name orders`/,
  );

  const waiting = cli.start(`${create} slow`);
  await waiting.said(/next try in/);
  const { code, err } = await waiting.end("SIGINT");
  assert.equal(code, 130);
  assert.match(err, /the broker goes on; .*validate -n slow --topic-name orders`\n$/);
  const { provisioningState } = (await cli.json(
    "event-subscription show -n slow --topic-name orders",
  )) as { provisioningState: string };
  assert.equal(provisioningState, "Creating", "the handshake goes on");
});

test("an endpoint that leaves the answer to a person is named with the URL to open", async (t) => {
  const { cli } = await openScene(t, []);
  const server = createServer((_, response) => response.end("hello")).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const create = "event-subscription create --topic-name orders -n hand --endpoint";
  const { code, err } = await cli.run(`${create} http://127.0.0.1:${port}/`);
  assert.equal(code, 0);
  const [, url = ""] = /a person has to agree: open (http\S+)/.exec(err) ?? [];
  assert.equal((await fetch(url)).status, 200);
  const { provisioningState } = (await cli.json(
    "event-subscription show -n hand --topic-name orders",
  )) as { provisioningState: string };
  assert.equal(provisioningState, "Succeeded");
});

test("virtual time is moved by durations as people write them", async (t) => {
  const options = ["--clock", "virtual", "--clock-start", "2030-01-01T00:00:00Z"];
  const { cli } = await openScene(t, options);
  const { now } = (await cli.json("clock advance 12h")) as { now: string };
  assert.equal(now, "2030-01-01T12:00:00.000Z");
  const later = (await cli.json("clock advance 2030-01-02T00:00:00Z")) as { now: string };
  assert.equal(later.now, "2030-01-02T00:00:00.000Z");
  const shown = (await cli.json("clock show")) as { now: string; nextDueAt: null };
  assert.deepEqual([shown.now, shown.nextDueAt], [later.now, null]);
  const wrong = await cli.run("clock advance tomorrow");
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /HOW-FAR must be a duration such as 45s/);
});

test("real time cannot be moved, and that is said", async (t) => {
  const { cli } = await openScene(t, []);
  const { code, err } = await cli.run("clock advance 1h");
  assert.equal(code, 1);
  assert.match(err, /runs on real time; one started with --clock virtual can be moved/);
});
