import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { commands } from "./commands.ts";
import { helpFor, isNoun, optionsOf, reference } from "./help.ts";
import { readOptions } from "./option.ts";

/** As a shell would split it. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? "",
  );
}

test("every command and every noun has its page, which fits a terminal", () => {
  const nouns = new Set(
    commands.flatMap(({ words }) => {
      const parts = words.split(" ");
      return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join(" "));
    }),
  );
  for (const name of ["", ...nouns, ...commands.map(({ words }) => words)]) {
    const page = helpFor(commands, name === "" ? [] : name.split(" "));
    assert.ok(page !== null, name);
    assert.match(page, /Usage:\n/, name);
    if (name !== "")
      assert.match(page, /\nExamples?:\n {2}\S*posthorn |\n {2}\S+ "\$\(posthorn /, name);
    assert.ok(!/\n {2}\S+ +\n/.test(page), `${name}: each noun says what it is`);
    const tooLong = page
      .split("\n")
      .filter((line) => [...line].length > 96 && !/^ {2}(posthorn|--)/.test(line));
    assert.deepEqual(tooLong, [], name);
  }
  assert.equal(helpFor(commands, ["nothing"]), null);
});

/** Which take the settings of the broker, or are read by the process itself. */
const ofProcess = ["serve", "doctor", "restore", "config list", "config doc", "openapi"];

test("no page offers an option that the process would refuse", () => {
  for (const name of ofProcess) {
    const page = helpFor(commands, name.split(" ")) ?? "";
    assert.ok(!page.includes("--verbose") && page.includes("--help"), name);
  }
  assert.match(helpFor(commands, ["topic", "list"]) ?? "", /--verbose/);
});

test("each example is a command line that its command takes", () => {
  for (const command of commands) {
    assert.ok(command.examples.length > 0, command.words);
    if (ofProcess.includes(command.words)) continue;
    for (const line of command.examples) {
      // Without what a shell adds.
      const [own = ""] = line.slice(line.indexOf("posthorn ")).split(/ [|>] |\)"?$/);
      const words = wordsOf(own);
      const count = command.words.split(" ").length;
      assert.equal(words.slice(0, count + 1).join(" "), `posthorn ${command.words}`, line);
      readOptions(words.slice(count + 1), optionsOf(command), command.operands ?? null);
    }
  }
});

test("no two commands have the same words, and none is a noun with verbs of its own", () => {
  const names = commands.map(({ words }) => words);
  assert.equal(new Set(names).size, names.length);
  assert.deepEqual(
    names.filter((name) => isNoun(commands, name)),
    [],
  );
});

test("the reference in docs/cli.md is what the table of commands says", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/cli.md"), "utf8");
  const [, made = ""] = page.split("<!-- Made by `posthorn help --reference`. -->\n\n");
  const how = "write it again: what `posthorn help --reference` prints goes below its mark";
  assert.ok(made.trimEnd() === reference(commands).trimEnd(), how);
});
