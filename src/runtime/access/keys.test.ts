import assert from "node:assert/strict";
import { test } from "node:test";
import { openKeys } from "./keys.ts";

test("a key is one of those given, sign for sign, and an empty one never", () => {
  const isKey = openKeys(["first", null, "second", ""]);
  for (const good of ["first", "second"]) assert.ok(isKey(good), good);
  for (const bad of ["", "First", "firs", "first ", "null"]) assert.ok(!isKey(bad), bad);
  assert.ok(!openKeys([])(""));
});
