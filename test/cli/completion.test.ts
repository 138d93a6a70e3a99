// The scripts that complete commands in a shell, in the shells that are there.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runCommandLine } from "../fixtures/command-line.ts";

async function scriptOf(t: TestContext, shell: string): Promise<string> {
  const { code, out } = await runCommandLine(`completion ${shell}`);
  assert.equal(code, 0);
  const folder = mkdtempSync(join(tmpdir(), "posthorn-completion-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, `posthorn.${shell}`);
  writeFileSync(file, out);
  return file;
}

const isThere = (shell: string) => spawnSync(shell, ["-c", "true"]).status === 0;

test("bash completes nouns, verbs, options and their values", {
  skip: !isThere("bash"),
}, async (t) => {
  const file = await scriptOf(t, "bash");
  const complete = (line: string) => {
    const words = line.split(" ");
    const program = `source "$1"; shift
      COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _posthorn; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const ran = spawnSync("bash", ["-c", program, "bash", file, ...words], { encoding: "utf8" });
    assert.equal(ran.stderr, "");
    return ran.stdout.trim().split("\n");
  };
  assert.deepEqual(complete("posthorn dom"), ["domain"]);
  assert.deepEqual(complete("posthorn topic k"), ["key"]);
  assert.deepEqual(complete("posthorn eventgrid topic sh"), ["show"]);
  assert.deepEqual(complete("posthorn domain topic event-subscription cr"), ["create"]);
  assert.deepEqual(complete("posthorn topic create --input-s"), ["--input-schema"]);
  assert.deepEqual(complete("posthorn topic list -o j"), ["json", "jsonc"]);
  assert.deepEqual(complete("posthorn simulate --profile ga"), ["ga-2018"]);
  assert.deepEqual(complete("posthorn completion f"), ["fish"]);
  assert.ok(complete("posthorn serve --ht").includes("--http"));
});

for (const shell of ["zsh", "fish"]) {
  test(`${shell} reads its script`, { skip: !isThere(shell) }, async (t) => {
    const ran = spawnSync(shell, ["-n", await scriptOf(t, shell)], { encoding: "utf8" });
    assert.deepEqual([ran.status, ran.stderr], [0, ""]);
  });
}

test("each script knows every command", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { out } = await runCommandLine(`completion ${shell}`);
    for (const words of [
      "topic create",
      "event-subscription pause",
      "deadletter redrive",
      "listen",
    ]) {
      assert.ok(
        out.includes(`${shell === "fish" ? "'" : '"'}${words}${shell === "fish" ? "'" : '"'}`),
        words,
      );
    }
  }
});
