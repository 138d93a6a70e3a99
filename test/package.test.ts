// The package as its users get it: packed, installed into an empty folder, and used from there: the
// command line, the broker, the portal's files and the test kit with its types.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "posthorn-package-"));
const bin = join(folder, "node_modules", ".bin");
// A runner that believes to be part of ours would tell us alone.
const { NODE_TEST_CONTEXT: _, ...outer } = process.env;
const env = { ...outer, PATH: `${bin}:${process.env.PATH}`, npm_config_loglevel: "error" };
const limits = { cwd: folder, env, timeout: 240_000 };

before(async () => {
  const packed = ["pack", "--pack-destination", folder];
  await run("npm", packed, { ...limits, cwd: root });
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  assert.ok(tarball);
  // The package that brings Node fetches it by a script.
  const mine = { name: "mine", type: "module", allowScripts: { node: true } };
  writeFileSync(join(folder, "package.json"), JSON.stringify(mine));
  const quick = ["--no-audit", "--no-fund", "--prefer-offline"];
  await run("npm", ["install", `./${tarball}`, ...quick], limits);
  rmSync(join(root, "dist"), { recursive: true });
});

after(() => rmSync(folder, { recursive: true, force: true }));

/** What the examples use beside the package is not part of it. */
function borrow(...names: readonly string[]): void {
  for (const name of names) {
    const place = join(folder, "node_modules", name);
    // Some come along with the package, in a version of their own.
    if (existsSync(place)) continue;
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(join(root, "node_modules", name), place);
  }
}

test("nothing that only developers need is in it", async () => {
  const inside = readdirSync(join(folder, "node_modules", "posthorn"));
  assert.deepEqual(inside.toSorted(), [
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "bin",
    "dist",
    "package.json",
    "portal",
  ]);
  const installed = readdirSync(join(folder, "node_modules"));
  for (const name of ["react", "vite", "vitest", "typescript", "fast-check"]) {
    assert.ok(!installed.includes(name), name);
  }
});

test("the command line runs", async () => {
  const { stdout } = await run("npx", ["posthorn", "--version"], limits);
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  const config = await run("npx", ["posthorn", "config", "list"], limits);
  assert.ok(Array.isArray(JSON.parse(config.stdout)));
});

test("the broker runs, and serves the portal", { timeout: 60_000 }, async () => {
  const args = ["serve", "--http", "127.0.0.1:0", "--https", "off", "--auth", "off"];
  const child = spawn(join(bin, "posthorn"), [...args, "--data", join(folder, "data")], {
    ...{ env, cwd: folder, stdio: ["ignore", "pipe", "inherit"] },
  });
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = (await once(lines, "line")) as [string];
  const { http } = JSON.parse(line) as { http: string };
  assert.equal((await fetch(`${http}/readyz`)).status, 200);
  const page = await fetch(`${http}/`);
  assert.match(await page.text(), /<div id="root">/);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  assert.equal(await ended, 0);
});

test("the examples run with node:test and with Vitest", { timeout: 120_000 }, async () => {
  borrow("@azure/eventgrid", "@azure/core-auth", "vitest");
  cpSync(join(root, "examples", "testing"), folder, { recursive: true });
  const node = await run(join(bin, "node"), ["--test", "orders.test.ts", "azure.test.ts"], limits);
  assert.match(node.stdout, /pass 3/);
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const files = ["run", "--root", folder, "--config", join(folder, "vitest.config.ts")];
  writeFileSync(
    join(folder, "vitest.config.ts"),
    'export default { test: { include: ["*.vitest.ts"] } };',
  );
  const plain = { ...limits, env: { ...env, NO_COLOR: "1" } };
  const { stdout } = await run(join(bin, "node"), [vitest, ...files], plain);
  assert.match(stdout, /Tests {2}1 passed/);
});

test("its types are there for whoever checks them", { timeout: 60_000 }, async () => {
  writeFileSync(
    join(folder, "typed.ts"),
    'import { startPosthorn, type Posthorn } from "posthorn/testing";\n' +
      'const grid: Posthorn = await startPosthorn({ store: "memory" });\n' +
      'const ids: string[] = await grid.publish("orders", { data: 1 });\n' +
      "// @ts-expect-error there is no such store\n" +
      'await startPosthorn({ store: "cloud" });\n' +
      "console.log(ids);\n",
  );
  borrow("@types/node", "undici-types");
  const flags = ["--noEmit", "--strict", "--module", "nodenext", "--target", "esnext"];
  const tsc = join(root, "node_modules", ".bin", "tsc");
  await run(tsc, [...flags, "--types", "node", "--skipLibCheck", "typed.ts"], limits);
});
