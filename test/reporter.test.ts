// Runs the real runner with our reporter on small files written for the purpose, because the
// reporter's input is whatever this version of Node's runner says.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

const folder = mkdtempSync(join(tmpdir(), "posthorn-reporter-"));
after(() => rmSync(folder, { recursive: true }));

function runTests(name: string, source: string): { lines: string[]; status: number | null } {
  const file = join(folder, `${name}.test.mjs`);
  writeFileSync(file, `import { describe, it, test } from "node:test";\n${source}`);
  // Without this the inner runner takes itself for a part of the outer one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ["--test", `--test-reporter=${import.meta.dirname}/reporter.ts`, file];
  const { stdout, status } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
  return { lines: stdout.trimEnd().split("\n"), status };
}

test("the report ends with the counts of leaf tests, and passing ends with status 0", () => {
  const { lines, status } = runTests(
    "passing",
    `test("a", () => {});
     test("parent", async (t) => { await t.test("b", () => {}); await t.test("c", () => {}); });
     describe("suite", () => { it("d", () => {}); it("e", { skip: "why" }, () => {}); });`,
  );
  assert.equal(lines.at(-1), "4 passed, 0 failed, 1 skipped");
  assert.equal(status, 0);
});

test("a failure is told once, with its place among its parents, its file and its error", () => {
  const { lines, status } = runTests(
    "failing",
    `test("parent", async (t) => {
       await t.test("child", () => { throw new Error("boom"); });
     });`,
  );
  const text = lines.join("\n");
  assert.equal(lines.at(-1), "0 passed, 1 failed");
  assert.match(text, /^FAILED parent › child\n.*failing\.test\.mjs:3\n.*Error: boom\n.*at /m);
  assert.doesNotMatch(text, /node:internal/);
  assert.notEqual(status, 0);
});

test("a file that fails while it is imported counts as a failure and shows why", () => {
  const { lines, status } = runTests("broken", `import "./missing.mjs";`);
  assert.equal(lines.at(-1), "0 passed, 1 failed");
  assert.match(lines.join("\n"), /Cannot find module/);
  assert.match(lines.join("\n"), /broken\.test\.mjs: the file itself failed \(exit code 1\)/);
  assert.notEqual(status, 0);
});

test("a file without tests does not count as a test that passed", () => {
  const { lines } = runTests("empty", `void [describe, it, test];`);
  assert.equal(lines.at(-1), "0 passed, 0 failed");
});

test("what a test prints itself is shown", () => {
  const { lines } = runTests("talking", `test("a", () => console.log("seed 4711"));`);
  assert.ok(lines.includes("seed 4711"));
});
