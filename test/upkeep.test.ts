// The commands that keep a broker well, on the real program: doctor, backup, restore and portal.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { startProgram } from "./fixtures/program.ts";

const program = join(import.meta.dirname, "../bin/posthorn.js");

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-upkeep-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function run(...args: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...args], (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}

interface Finding {
  readonly check: string;
  readonly state: string;
  readonly found: string;
  readonly advice: string | null;
}

async function examine(...args: readonly string[]): Promise<Ran & { findings: Finding[] }> {
  const ran = await run("doctor", ...args);
  return { ...ran, findings: JSON.parse(ran.out) as Finding[] };
}

test("what Node makes of the program is kept for its threads, too", async (t) => {
  const XDG_CACHE_HOME = makeFolder(t);
  // Threads get this environment, and learn of it in no other way.
  const file = join(XDG_CACHE_HOME, "on-exit.cjs");
  writeFileSync(file, 'process.on("exit", () => console.log(process.env.NODE_COMPILE_CACHE))');
  const env = { ...process.env, XDG_CACHE_HOME, NODE_COMPILE_CACHE: "" };
  const ran = Promise.withResolvers<string>();
  const args = ["--require", file, program, "version"];
  execFile(process.execPath, args, { env }, (_, out) => ran.resolve(out));
  assert.equal((await ran.promise).split("\n")[1], join(XDG_CACHE_HOME, "posthorn"));
});

test("the doctor finds nothing wrong with a fresh folder and free ports", async (t) => {
  const data = join(makeFolder(t), "data");
  const ports = ["--http", "127.0.0.1:0", "--https", "127.0.0.1:0"];
  const { code, findings } = await examine("--data", data, ...ports);
  assert.equal(code, 0);
  assert.deepEqual(
    findings.filter(({ state }) => state === "problem"),
    [],
  );
  for (const check of ["settings", "data folder", "disk sync", "clock", "store", "profile"]) {
    assert.ok(
      findings.some((finding) => finding.check === check),
      check,
    );
  }
  assert.equal(existsSync(data), false, "it changes nothing");
});

test("the doctor tells of a setting that cannot be and of a port that is taken", async (t) => {
  const data = makeFolder(t);
  const bad = await examine("--profile", "azzure");
  assert.equal(bad.code, 1);
  assert.match(bad.findings[0]?.found ?? "", /profile must be/);
  const other = createServer((_, response) => response.end("not a broker")).listen(0, "127.0.0.1");
  t.after(() => other.close());
  await new Promise((resolve) => other.once("listening", resolve));
  const { port } = other.address() as AddressInfo;
  const taken = await examine("--data", data, "--http", `127.0.0.1:${port}`, "--https", "off");
  assert.equal(taken.code, 1);
  const finding = taken.findings.find(({ check }) => check === "http");
  assert.equal(finding?.state, "problem");
  assert.match(finding.advice ?? "", /Another program has the port/);
});

test("the doctor tells of a broker with another data folder on the port", async (t) => {
  const [data, other] = [makeFolder(t), makeFolder(t)];
  const sameKey = ["--admin-key", "a-key-that-both-brokers-have"];
  const running = await startProgram(["--data", other, ...sameKey]);
  const address = running.url.replace("http://", "");
  const settings = ["--http", address, "--https", "off", ...sameKey];
  const foreign = await examine("--data", data, ...settings);
  const own = await examine("--data", other, ...settings);
  await running.end("SIGTERM");
  assert.equal(foreign.code, 1);
  const finding = foreign.findings.find(({ check }) => check === "http");
  assert.equal(finding?.state, "problem");
  assert.match(
    finding.found,
    /^127\.0\.0\.1:\d+ is taken by another broker, with another data fol/,
  );
  assert.match(finding.advice ?? "", /--data/);
  assert.equal(own.findings.find(({ check }) => check === "http")?.state, "fine");
});

test("the doctor calls at a running broker's endpoints and dead-letter stores", async (t) => {
  const data = makeFolder(t);
  const config = join(data, "config.json");
  const destination = {
    endpointType: "WebHook",
    properties: { endpointUrl: "http://127.0.0.1:1/hook" },
  };
  writeFileSync(
    config,
    JSON.stringify({
      topics: { orders: { key1: "k", subscriptions: { billing: { destination } } } },
      storageAccounts: { letters: { connectionString: unreachable } },
    }),
  );
  const running = await startProgram(["--data", data, "--config", config]);
  const address = running.url.replace("http://", "");
  const { code, findings } = await examine(
    ...["--data", data, "--config", config, "--http", address, "--https", "off"],
  );
  await running.end("SIGTERM");
  assert.equal(code, 0);
  const said = findings.map(({ check, state }) => `${check}: ${state}`);
  assert.ok(said.includes("http: fine"), said.join());
  assert.ok(said.includes("store: fine"), said.join());
  assert.ok(said.includes("endpoint: warning"), said.join());
  assert.ok(said.includes("storage account: warning"), said.join());
});

const unreachable =
  "DefaultEndpointsProtocol=http;AccountName=letters;AccountKey=a2V5;" +
  "BlobEndpoint=http://127.0.0.1:1/letters;";

test("a backup is brought here, and restored into another folder", async (t) => {
  const folder = makeFolder(t);
  const data = join(folder, "data");
  const running = await startProgram(["--data", data]);
  const server = ["--server", running.url, "--data", data];
  assert.equal((await run("topic", "create", "-n", "orders", ...server)).code, 0);
  const copy = join(folder, "copy.db");
  const taken = await run("backup", copy, ...server);
  assert.equal(taken.code, 0, taken.err);
  assert.equal((JSON.parse(taken.out) as { file: string }).file, copy);
  const bytes = readFileSync(copy);
  const refused = await run("backup", copy, ...server);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /^posthorn: \S+copy\.db exists already; --overwrite replaces it\n$/);
  assert.deepEqual(readFileSync(copy), bytes);
  assert.deepEqual(readdirSync(join(data, "backups")), [], "and nothing was made for it");
  writeFileSync(copy, "old");
  assert.equal((await run("backup", copy, "--overwrite", ...server)).code, 0);
  assert.deepEqual(readFileSync(copy).subarray(0, 6), Buffer.from("SQLite"));
  const inUse = await run("restore", copy, "--data", data, "--replace");
  assert.equal(inUse.code, 2);
  assert.match(inUse.err, /^posthorn: .*store\.db is in use; stop the broker first\n$/);
  await running.end("SIGTERM");

  const other = join(folder, "other");
  const restored = await run("restore", copy, "--data", other);
  assert.deepEqual([restored.code, restored.err], [0, ""]);
  const again = await startProgram(["--data", other]);
  const list = await run("topic", "list", "--server", again.url, "--data", other);
  await again.end("SIGTERM");
  assert.deepEqual(
    (JSON.parse(list.out) as { name: string }[]).map(({ name }) => name),
    ["orders"],
  );
});

test("what cannot be restored is refused in one line", async (t) => {
  const folder = makeFolder(t);
  const wrong: readonly (readonly [args: readonly string[], said: RegExp])[] = [
    [[], /a file must be named; use posthorn restore FILE/],
    [["a", "b"], /one file is restored/],
    [["--dta", "x"], /there is no option "--dta"; did you mean --data\?/],
    [["copy.db", "--data"], /--data must be followed by a folder/],
    [[join(folder, "missing.db")], /there is no file/],
  ];
  for (const [args, said] of wrong) {
    const { code, err } = await run("restore", ...args);
    assert.equal(code, 2, err);
    assert.match(err, said);
    assert.equal(err.split("\n").length, 2, "one line");
  }
});

test("the printed link of the portal, and a new one, sign a browser in once", async (t) => {
  const data = makeFolder(t);
  const running = await startProgram(["--data", data]);
  const started = running.facts.find(({ fact }) => fact === "broker.started");
  const made = await run("portal", "--server", running.url, "--data", data);
  assert.equal(made.code, 0, made.err);
  for (const link of [String(started?.portal), made.out.trim()]) {
    const page = await fetch(link);
    assert.equal(page.status, 200, link);
    const cookie = (page.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    const seen = await fetch(`${running.url}/api/v1/overview`, { headers: { cookie } });
    assert.equal(seen.status, 200);
    assert.equal((await fetch(link)).status, 401);
  }
  assert.equal((await fetch(`${running.url}/api/v1/overview`)).status, 401);
  await running.end("SIGTERM");
});
