// What makes the command line quick to use every day: names of brokers, short words, options in any
// place, watching, and the names that completion offers.

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { openCommandLine, runCommandLine } from "../fixtures/command-line.ts";
import { openReceiver } from "../fixtures/receiver.ts";

const quick = ["--store", "memory"];

test("a broker is kept under a name, and its key is only for that server", async (t) => {
  const cli = await openCommandLine(t, [...quick, "--admin-key", "the-key"]);
  const env = { XDG_CONFIG_HOME: join(cli.folder, "config") };
  const run = (line: string, more = {}) => runCommandLine(line, { env: { ...env, ...more } });
  const { code, err } = await run(`context set here --server ${cli.broker.url} --key the-key`);
  assert.equal(code, 0, err);
  assert.match(err, /the context here is kept and in use/);
  const file = join(cli.folder, "config/posthorn/contexts.json");
  assert.equal(statSync(file).mode & 0o777, 0o600, "it holds a key");

  assert.equal((await run("topic create -n orders")).code, 0);
  const names = async (line: string, more = {}) =>
    JSON.parse((await run(`${line} topic list --query [].name`, more)).out) as string[];
  assert.deepEqual(await names(""), ["orders"], "the one in use");
  await run("context set away --server http://127.0.0.1:1");
  assert.deepEqual(await names("--context here"), ["orders"]);
  assert.deepEqual(await names("", { POSTHORN_CONTEXT: "here" }), ["orders"]);
  const other = await run(`topic list --server ${cli.broker.url}`);
  assert.match(other.err, /asks for its admin key/, "another server does not get this key");

  const listed = await run("context list -o json");
  assert.ok(!listed.out.includes("the-key"));
  const kept = JSON.parse(listed.out) as { name: string; isCurrent: boolean }[];
  assert.deepEqual(
    kept.map(({ name, isCurrent }) => [name, isCurrent]),
    [
      ["here", true],
      ["away", false],
    ],
  );
  assert.equal((await run("names context")).out, "here\naway\n");
  assert.equal((await run("context use away")).code, 0);
  assert.match((await run("topic list")).err, /127\.0\.0\.1:1 cannot be reached/);
  assert.equal((await run("context delete away")).code, 0);
  const unknown = await run("topic list --context hre");
  assert.equal(unknown.code, 2);
  assert.match(unknown.err, /there is no context "hre"; did you mean here\?/);
});

test("options may come first, words may be short, and names can be listed", async (t) => {
  const cli = await openCommandLine(t, quick);
  const { url } = await openReceiver(t);
  await cli.json("--verbose topics create -n orders");
  await cli.json([
    "sub",
    "create",
    "-t",
    "orders",
    "-n",
    "billing",
    "--endpoint",
    url,
    "--no-wait",
  ]);
  const names = (await cli.json("-o json --query [].name sub ls -t orders")) as string[];
  assert.deepEqual(names, ["billing"]);
  assert.equal((await cli.run("names topic")).out, "orders\n");
  assert.equal((await cli.run("names subscription")).out, "billing\n");
  assert.match((await cli.run("topic list -v")).err, /^posthorn: GET http.* → 200, \d+ ms\n/);
  assert.match((await runCommandLine("-v")).out, /^\d+\.\d+\.\d+/);
});

test("a list is shown again while it changes, until an interrupt", async (t) => {
  const cli = await openCommandLine(t, quick);
  await cli.json("topic create -n orders");
  const watching = cli.start("topic list --watch --query [].name -o tsv");
  await watching.said(/^orders$/);
  await cli.json("topic create -n invoices");
  await watching.said(/^invoices$/);
  const { code, out } = await watching.end("SIGINT");
  assert.equal(code, 0);
  assert.equal(out, "orders\ninvoices\norders\n", "in a pipe only what has changed");
});

test("stats show what was counted, of the broker or of each subscription", async (t) => {
  const cli = await openCommandLine(t, [...quick, "--handshake", "off"]);
  const { url } = await openReceiver(t);
  await cli.json("topic create -n orders");
  await cli.json(["sub", "create", "-t", "orders", "-n", "billing", "--endpoint", url]);
  await cli.json("publish -t orders --count 3");
  const line = "stats --of subscription --last 30m -t orders";
  const counted = async () =>
    ((await cli.json(line)) as { series: { totals: { delivered: number } }[] }).series[0]?.totals;
  while (((await counted())?.delivered ?? 0) < 3) await setImmediate();
  const { out } = await cli.run(`${line} -o table`);
  assert.match(out, /orders\/billing +3 +3 +0 +100 %/);
  const wrong = await cli.run("stats --last soon");
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /--last must be a time such as 30m, 6h or 7d/);
});
