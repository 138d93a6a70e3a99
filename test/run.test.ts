// The runner ends what hangs. It is run on small files written for the purpose, in a folder of
// their own.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";

const runner = join(import.meta.dirname, "run.ts");

async function runTests(t: TestContext, sources: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-run-"));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "test"));
  for (const [name, source] of Object.entries(sources)) {
    const file = join(folder, "test", `${name}.test.ts`);
    writeFileSync(file, `import { test } from "node:test";\n${source}`);
  }
  // Without this the inner runner takes itself for a part of the outer one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, [runner, "--silence", "3"], { cwd: folder, env });
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  return { said: await text(child.stdout), status: await exited };
}

/** One that has ended may stay in the list until its parent takes notice. */
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return /^[^Z\s]/.test(stdout);
}

test("files that wait, spin or stay alive are ended by name, and the others are run", async (t) => {
  const { said, status } = await runTests(t, {
    waits: `test("never", () => new Promise(() => setInterval(() => {}, 1_000)));`,
    spins: `test("round and round", () => { for (;;); });`,
    stays: `test("fine", () => { setInterval(() => {}, 1_000); });`,
    good: `test("good", () => {});`,
  });
  assert.match(said, /ENDED test\/waits\.test\.ts: nothing for 3 s in never\n/);
  assert.match(said, /ENDED test\/spins\.test\.ts: nothing for 3 s\n/);
  assert.match(said, /ENDED test\/stays\.test\.ts: nothing for 3 s\n/);
  assert.match(said, /\n2 passed, 3 failed\n$/);
  assert.equal(status, 1);
});

test("what a hanging file has started is ended with it", async (t) => {
  const { said } = await runTests(t, {
    parent: `
      import { spawn } from "node:child_process";
      test("never", async () => {
        const child = spawn("sleep", ["600"]);
        console.log("started " + child.pid);
        await new Promise(() => {});
      });`,
  });
  const pid = Number(/started (\d+)/.exec(said)?.[1]);
  assert.ok(pid > 0);
  assert.ok(!isAlive(pid));
});

test("a run in which nothing fails ends with 0", async (t) => {
  const { said, status } = await runTests(t, { good: `test("good", () => {});` });
  assert.match(said, /\n1 passed, 0 failed\n$/);
  assert.equal(status, 0);
});
