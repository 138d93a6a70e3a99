import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { configurationDoc, helpText } from "./manual.ts";
import { settingList } from "./settings.ts";

test("docs/configuration.md is what the table of settings says", () => {
  const page = readFileSync(
    join(import.meta.dirname, "..", "..", "docs", "configuration.md"),
    "utf8",
  );
  const advice = "run: node bin/posthorn.js config doc > docs/configuration.md";
  assert.ok(page === configurationDoc(), `docs/configuration.md is out of date; ${advice}`);
});

test("the page has a row for every setting, with its variable and default", () => {
  for (const { name, env, default: byDefault } of settingList) {
    const row = configurationDoc()
      .split("\n")
      .find((line) => line.startsWith(`| \`${name}\` | \`${env}\` |`));
    assert.ok(row !== undefined, name);
    if (byDefault !== null) assert.ok(row.includes(`\`${byDefault}\``), row);
  }
});

test("the help has every option and fits a terminal", () => {
  for (const { name, isOption } of settingList) {
    assert.equal(helpText().includes(`\n  --${name}`), isOption, name);
  }
  for (const line of helpText().split("\n")) assert.ok(line.length <= 96, line);
});
