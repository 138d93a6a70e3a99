import assert from "node:assert/strict";
import { test } from "node:test";
import { joinHeaders } from "./header-names.ts";

test("a later header takes the place of an earlier one in any letter case, and keeps its own", () => {
  assert.deepEqual(joinHeaders({ "user-agent": "us", a: "1" }, { "User-Agent": "them", B: "2" }), {
    "User-Agent": "them",
    a: "1",
    B: "2",
  });
  assert.deepEqual(joinHeaders(), {});
});
