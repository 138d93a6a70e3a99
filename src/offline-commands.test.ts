import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "./core/refusal.ts";
import { describeApi, takeForm } from "./offline-commands.ts";

test("a terminal gets a table and a program JSON by default", () => {
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

test("the API is described without a broker, for programs and for people", () => {
  const written: string[] = [];
  const world = {
    ...{ env: {}, readFile: () => "" },
    stdout: { isTTY: false, write: (text: string) => written.push(text) },
  };
  assert.equal(describeApi(world, [], "1.2.3"), 0);
  const { openapi, info, paths } = JSON.parse(written.join(""));
  assert.deepEqual([openapi, info.version], ["3.1.0", "1.2.3"]);
  assert.ok("/api/v1/events/{id}/resend" in paths);
  written.length = 0;
  describeApi(world, ["-o", "table"], "1.2.3");
  assert.match(written.join(""), /^POST {3}\/api\/v1\/events\/\{id\}\/resend\n {9}Send a kept/m);
  assert.throws(() => describeApi(world, ["--all"], "1.2.3"), /there is no option "--all"/);
});
