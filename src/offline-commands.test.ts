import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "./core/refusal.ts";
import { takeForm } from "./offline-commands.ts";

test("a terminal gets a table and a program JSON, unless it is said", () => {
  const rest = ["--data", "d"];
  assert.deepEqual(takeForm(rest, true), { form: "table", rest });
  assert.deepEqual(takeForm(rest, false), { form: "json", rest });
  assert.deepEqual(takeForm(["-o", "json", ...rest], true), { form: "json", rest });
  assert.deepEqual(takeForm([...rest, "--output=table"], false), { form: "table", rest });
});

test("another form is refused with those there are", () => {
  const table: [string[], RegExp][] = [
    [["-o", "yaml"], /^-o must be table or json, and is "yaml"$/],
    [["--output"], /^--output must be table or json, and is missing$/],
  ];
  for (const [args, words] of table) {
    assert.throws(
      () => takeForm(args, true),
      (error) => error instanceof Refusal && words.test(error.message),
    );
  }
});
