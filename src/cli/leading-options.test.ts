import assert from "node:assert/strict";
import { test } from "node:test";
import { withOptionsLast } from "./leading-options.ts";

test("options before the command mean the same as behind it", () => {
  const table: [string, string][] = [
    ["topic list", "topic list"],
    ["--server http://a topic list -o json", "topic list --server http://a -o json"],
    ["-o json topic list", "topic list -o json"],
    ["--verbose topic show -n a", "topic show --verbose -n a"],
    ["--data ./d -v status", "status --data ./d -v"],
    ["--server=http://a topic list", "topic list --server=http://a"],
    ["--http 127.0.0.1:0 serve --data d", "serve --http 127.0.0.1:0 --data d"],
    ["--help", "--help"],
    ["--server", "--server"],
  ];
  for (const [given, meant] of table) {
    assert.equal(withOptionsLast(given.split(" "), ["http"]).join(" "), meant, given);
  }
});
