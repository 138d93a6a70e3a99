import assert from "node:assert/strict";
import { test } from "node:test";
import { isNameOfThisMachine } from "./admin-lock.ts";

test("this machine is called by its address or by a name that only it has", () => {
  for (const host of [
    "localhost",
    "LOCALHOST:5888",
    "orders.localhost:4438",
    "127.0.0.1:5888",
    "[::1]:5888",
    "192.168.1.5",
  ]) {
    assert.equal(isNameOfThisMachine(host), true, host);
  }
  for (const host of [
    "",
    "evil.example",
    "evil.example:5888",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "notlocalhost",
  ]) {
    assert.equal(isNameOfThisMachine(host), false, host);
  }
});
