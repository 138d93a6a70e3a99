// The package as its users get it: packed, installed into an empty folder, and used from there: the
// command line, the broker with its threads, TLS and portal, what it loads when it is needed, and
// the test kit with its types. And what a Node that is too old for it makes of it.

import assert from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, type TestContext, test } from "node:test";
import { promisify } from "node:util";
// These tools are what the tests below that run other test files need.
import { installAzurite } from "./fixtures/azurite.ts";
import { installPostgres } from "./fixtures/postgres.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "posthorn-package-"));
const installed = join(folder, "node_modules", "posthorn");
const program = join(installed, "bin/posthorn.js");
// A runner that believes to be part of ours would tell us alone.
const { NODE_TEST_CONTEXT: _, ...env } = process.env;
const limits = { cwd: folder, env, timeout: 240_000 };
const megabytesMax = 25;

let tarball = "";
/** What npm had to say about the installation. */
let complaints = "";

before(async () => {
  const packed = ["pack", "--pack-destination", folder];
  await run("npm", packed, { ...limits, cwd: root });
  const name = readdirSync(folder).find((each) => each.endsWith(".tgz"));
  assert.ok(name);
  tarball = join(folder, name);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "mine", type: "module" }));
  const loud = { ...limits, env: { ...env, npm_config_loglevel: "warn" } };
  complaints = (await run("npm", ["install", tarball, "--no-audit", "--no-fund"], loud)).stderr;
  rmSync(join(root, "dist"), { recursive: true });
});

after(() => rmSync(folder, { recursive: true, force: true }));

/** What the examples use beside the package is not part of it. */
function borrow(...names: readonly string[]): void {
  for (const name of names) {
    const place = join(folder, "node_modules", name);
    if (existsSync(place)) continue;
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(join(root, "node_modules", name), place);
  }
}

test("it is small, brings no other package, and npm has nothing to complain about", () => {
  const inside = readdirSync(installed);
  assert.deepEqual(inside.toSorted(), [
    ...[
      "ARCHITECTURE.md",
      "CHANGELOG.md",
      "CONTRIBUTING.md",
      "LICENSE",
      "README.md",
      "SECURITY.md",
    ],
    ...["bin", "dist", "docs", "examples", "package.json", "portal"],
  ]);
  const others = readdirSync(join(folder, "node_modules"));
  assert.deepEqual(
    others.filter((name) => !name.startsWith(".")),
    ["posthorn"],
  );
  const files = readdirSync(installed, { recursive: true, encoding: "utf8" });
  const bytes = files.reduce((sum, name) => sum + statSync(join(installed, name)).size, 0);
  assert.ok(bytes < megabytesMax * 1e6, `${bytes} bytes`);
  // npm also speaks of the machine's own settings.
  assert.doesNotMatch(complaints, /EBADENGINE|deprecated|scripts/);
});

test("the licences of the packages inside it come with it", () => {
  const notices = readFileSync(join(installed, "dist/THIRD-PARTY.md"), "utf8");
  for (const name of ["jose", "@azure/service-bus", "@opentelemetry/api", "rhea"]) {
    assert.match(notices, new RegExp(`^## .*${name} \\d`, "m"));
  }
});

test("the pages that its README links to are in it", () => {
  const readme = readFileSync(join(installed, "README.md"), "utf8");
  const links = [...readme.matchAll(/\]\(([^)#]+)[^)]*\)/g)].flatMap(([, to = ""]) => to);
  assert.ok(links.length > 10);
  for (const link of links) assert.ok(existsSync(join(installed, link)), link);
});

test("the command line runs, from npx and from a global folder", async () => {
  const { stdout } = await run("npx", ["posthorn", "--version"], limits);
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  const global = join(folder, "global");
  await run("npm", ["install", "--global", "--prefix", global, tarball], limits);
  assert.equal((await run(join(global, "bin/posthorn"), ["--version"], limits)).stdout, stdout);
});

test("a torture run of the package loses nothing", {
  skip: process.platform !== "linux" && "Linux only",
}, async () => {
  const args = ["posthorn", "torture", "--minutes", "0.05", "--mutated", "20"];
  assert.match((await run("npx", args, limits)).stdout, /^lost: +0$/m);
  await installPostgres();
  const several = [...args, "--store", "postgres"];
  assert.match((await run("npx", several, limits)).stdout, /^lost: +0$/m);
});

/** A broker of the package with the embedded store, and commands that find it. */
async function openBroker(t: TestContext) {
  const data = join(folder, "data");
  const args = [
    "serve",
    "--http",
    "127.0.0.1:0",
    "--https",
    "127.0.0.1:0",
    "--auth",
    "off",
    "--data",
    data,
  ];
  const child = spawn(process.execPath, [program, ...args], {
    ...{ env, cwd: folder, stdio: ["ignore", "pipe", "inherit"] },
  });
  t.after(() => child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = (await once(lines, "line")) as [string];
  const { http, https } = JSON.parse(line) as { http: string; https: string };
  return {
    ...{ http, https, data },
    async posthorn(...words: readonly string[]) {
      const found = [...words, "--data", data, "-o", "json"];
      return JSON.parse((await run(process.execPath, [program, ...found], limits)).stdout);
    },
    async stop() {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      return (await ended)[0];
    },
  };
}

test("the broker runs: store, stories, TLS, portal", { timeout: 60_000 }, async (t) => {
  const { http, https, data, posthorn, stop } = await openBroker(t);
  const page = await fetch(`${http}/`);
  assert.match(await page.text(), /<div id="root">/);
  const ca = readFileSync(join(data, "ca.pem"));
  const status = await new Promise((resolve, reject) => {
    const sent = request(`${https}/readyz`, { ca }, ({ statusCode }) => resolve(statusCode));
    sent.on("error", reject).end();
  });
  assert.equal(status, 200);
  await posthorn("topic", "create", "-n", "orders");
  const { ids } = await posthorn("publish", "-t", "orders", "--body", '{"amount":12}');
  const story = await posthorn("explain", ids[0]);
  assert.equal(story.id, ids[0]);
  assert.equal(await stop(), 0);
  assert.ok(existsSync(join(data, "story.db")));
});

test("a what-if runs", async () => {
  const asked = ["simulate", "--outage", "0s..2h", "-o", "json"];
  const { stdout } = await run(process.execPath, [program, ...asked], limits);
  assert.ok(JSON.parse(stdout).attempts.length > 0);
});

/** Tests of ours, on the installed program instead of the checkout's. */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  "destination.test.ts": [
    "an event arrives in a real queue",
    "queues, topics and hubs get events",
    "a managed identity opens Service Bus",
  ],
  "telemetry.test.ts": ["a publish and each attempt are spans", "a batch from several traces"],
  "redrive.test.ts": ["what failed is listed, read, grouped"],
};

for (const [file, names] of Object.entries(elsewhere)) {
  test(`${file} passes on the installed program`, { timeout: 240_000 }, async () => {
    await installAzurite();
    const chosen = names.map((name) => `--test-name-pattern=${name}`);
    const args = ["--test", "--test-reporter=tap", ...chosen, join(root, "test", file)];
    const { stdout } = await run(process.execPath, args, {
      ...limits,
      env: { ...env, PROGRAM_UNDER_TEST: program },
    });
    assert.match(stdout, new RegExp(`^# pass ${names.length}$`, "m"));
  });
}

test("the examples run with node:test and with Vitest", { timeout: 120_000 }, async () => {
  borrow("@azure/eventgrid", "@azure/core-auth", "vitest");
  cpSync(join(root, "examples", "testing"), folder, { recursive: true });
  const files = ["--test", "orders.test.ts", "azure.test.ts"];
  const node = await run(process.execPath, files, limits);
  assert.match(node.stdout, /pass 3/);
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const args = ["run", "--root", folder, "--config", join(folder, "vitest.config.ts")];
  writeFileSync(
    join(folder, "vitest.config.ts"),
    'export default { test: { include: ["*.vitest.ts"] } };',
  );
  const plain = { ...limits, env: { ...env, NO_COLOR: "1" } };
  const { stdout } = await run(process.execPath, [vitest, ...args], plain);
  assert.match(stdout, /Tests {2}1 passed/);
});

const useKit = `startPosthorn({ store: "disk", https: true, patienceMs: 60_000 }).then(async (grid) => {
  await grid.topic("orders");
  await grid.subscribe("orders", "billing", await grid.endpoint());
  const [id] = await grid.publish("orders", {});
  await grid.delivered(id);
  await grid.close();
  console.log("delivered");
}, (error) => console.log(error.message));`;

const ways = {
  "kit.cjs": `const { startPosthorn } = require("posthorn/testing");\n${useKit}`,
  "kit.mjs": `import { startPosthorn } from "posthorn/testing";\n${useKit}`,
};

for (const [name, text] of Object.entries(ways)) {
  test(`the test kit runs in ${name}, and tells an old Node what it needs`, async (t) => {
    writeFileSync(join(folder, name), text);
    assert.equal((await run(process.execPath, [name], limits)).stdout, "delivered\n");
    const old = findOldNode();
    if (old === null) return t.diagnostic("no older Node here");
    const { stdout } = await run(old, [name], limits);
    assert.match(stdout, /^posthorn\/testing needs Node 24\.15 or newer, and this is v.*\n$/);
  });
}

test("its types are there for whoever checks them", { timeout: 60_000 }, async () => {
  writeFileSync(
    join(folder, "typed.ts"),
    'import { startPosthorn, type Posthorn } from "posthorn/testing";\n' +
      'const grid: Posthorn = await startPosthorn({ store: "memory" });\n' +
      'const ids: string[] = await grid.publish("orders", { data: 1 });\n' +
      "// @ts-expect-error there is no such store\n" +
      'await startPosthorn({ store: "cloud" });\n' +
      "// @ts-expect-error views are typed, too\n" +
      "(await grid.overview()).nowhere;\n" +
      "console.log(ids);\n",
  );
  borrow("@types/node", "undici-types");
  const flags = ["--noEmit", "--strict", "--module", "nodenext", "--target", "esnext"];
  const tsc = join(root, "node_modules", ".bin", "tsc");
  await run(tsc, [...flags, "--types", "node", "typed.ts"], limits);
});

/** The first Node of this machine that is too old for Posthorn; null: there is none. */
function findOldNode(): string | null {
  const places = (process.env.PATH ?? "").split(delimiter).map((place) => join(place, "node"));
  for (const path of places.filter((each) => existsSync(each))) {
    const major = Number(
      execFileSync(path, ["-p", "process.versions.node"]).toString().split(".")[0],
    );
    if (major >= 20 && major < 24) return path;
  }
  return null;
}

/** An npm that installs nothing but a link to this Node, or nothing at all. */
function fakeNpm(name: string, does: string): string {
  const place = join(folder, name);
  mkdirSync(place);
  writeFileSync(join(place, "npm"), `#!/bin/sh\n${does}\n`);
  chmodSync(join(place, "npm"), 0o755);
  return place;
}

test("an old Node fetches a newer one, once, and runs the program with it", async (t) => {
  const old = findOldNode();
  if (old === null) return t.skip("no older Node here");
  const packageName = `node-${process.platform}-${process.arch}`;
  const npm = fakeNpm(
    "npm-that-works",
    `mkdir -p "$3/node_modules/${packageName}/bin"\n` +
      `ln -s "${process.execPath}" "$3/node_modules/${packageName}/bin/node"`,
  );
  const PATH = `${npm}${delimiter}${process.env.PATH}`;
  const fresh = { ...limits, env: { ...env, PATH, XDG_CACHE_HOME: join(folder, "cache") } };
  const first = await run(old, [program, "--version"], fresh);
  assert.match(first.stdout, /^\d+\.\d+\.\d+\n$/);
  assert.match(
    first.stderr,
    /^posthorn needs Node 24\.15 .* Fetching Node 24 into .*, once \.\.\.\n$/,
  );
  const second = await run(old, [program, "--version"], fresh);
  assert.deepEqual([second.stdout, second.stderr], [first.stdout, ""]);
  // Exit codes come through.
  await assert.rejects(run(old, [program, "nonsense"], fresh), { code: 2 });
});

test("where no Node can be fetched, one line says what to do", async (t) => {
  const old = findOldNode();
  if (old === null) return t.skip("no older Node here");
  const PATH = `${fakeNpm("npm-that-fails", "exit 1")}${delimiter}${process.env.PATH}`;
  const away = { ...limits, env: { ...env, PATH, XDG_CACHE_HOME: join(folder, "no-cache") } };
  await assert.rejects(run(old, [program, "--version"], away), {
    code: 1,
    stderr:
      /\nposthorn needs Node 24\.15 or newer, and this is v\S+; install Node 24\.15 or newer.*\n$/,
  });
});

test("in a checkout an old Node finds the one that came with it", async (t) => {
  const old = findOldNode();
  if (old === null) return t.skip("no older Node here");
  const { stdout, stderr } = await run(old, [join(root, "bin/posthorn.js"), "--version"], limits);
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  assert.equal(stderr, "");
});
