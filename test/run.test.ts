// The runner ends what hangs. It is run on small files written for the purpose, in a folder of
// their own.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";

const runner = join(import.meta.dirname, "run.ts");

type Sources = Readonly<Record<string, string>>;

function startRun(t: TestContext, sources: Sources, silenceSeconds = 10) {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-run-"));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "test"));
  for (const [name, source] of Object.entries(sources)) {
    const file = join(folder, "test", `${name}.test.ts`);
    writeFileSync(file, `import { test } from "node:test";\n${source}`);
  }
  // Without this the inner runner takes itself for a part of the outer one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, [runner, "--silence", `${silenceSeconds}`], {
    ...{ cwd: folder, env },
  });
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  return { folder, child, exited };
}

async function runTests(t: TestContext, sources: Sources) {
  const { child, exited } = startRun(t, sources);
  return { said: await text(child.stdout), status: await exited };
}

/** One that has ended may stay in the list until its parent takes notice. */
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return /^[^Z\s]/.test(stdout);
}

/** It was killed, which a busy machine gets to a moment later. */
async function untilGone(pid: number): Promise<void> {
  while (isAlive(pid)) await pause();
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

test("files that wait, spin or stay alive are ended by name, and the others are run", async (t) => {
  const { said, status } = await runTests(t, {
    waits: `test("never", () => new Promise(() => setInterval(() => {}, 1_000)));`,
    spins: `test("round and round", () => { for (;;); });`,
    stays: `test("fine", () => { setInterval(() => {}, 1_000); });`,
    good: `test("good", () => {});`,
  });
  assert.match(said, /ENDED test\/waits\.test\.ts: nothing for 10 s in never\n/);
  assert.match(said, /ENDED test\/spins\.test\.ts: nothing for 10 s\n/);
  assert.match(said, /ENDED test\/stays\.test\.ts: nothing for 10 s\n/);
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
  await untilGone(pid);
});

test("a run that is ended leaves nothing behind", async (t) => {
  const waits = `
    import { renameSync, writeFileSync } from "node:fs";
    test("never", async () => {
      writeFileSync("draft", String(process.pid));
      renameSync("draft", "pid");
      await new Promise(() => setInterval(() => {}, 1_000));
    });`;
  const { folder, child, exited } = startRun(t, { waits }, 60);
  const file = join(folder, "pid");
  while (!existsSync(file)) await pause();
  child.kill("SIGTERM");
  assert.equal(await exited, 1);
  await untilGone(Number(readFileSync(file, "utf8")));
});

test("a run in which nothing fails ends with 0", async (t) => {
  const { said, status } = await runTests(t, { good: `test("good", () => {});` });
  assert.match(said, /\n1 passed, 0 failed\n$/);
  assert.equal(status, 0);
});
