import assert from "node:assert/strict";
import { test } from "node:test";
import { nearest, refuseName, refuseValue, shownAs } from "./wording.ts";

test("a refusal names the field, what is allowed and what was found", () => {
  const refusal = refuseValue({ field: "log-level", value: "loud", allowed: "debug or info" });
  assert.equal(refusal.code, "InvalidSetting");
  assert.equal(refusal.message, 'log-level must be debug or info, and is "loud"');
});

test("a refused secret is described by its shape and never shown", () => {
  const refusal = refuseValue({
    field: "key1",
    value: "hush hush",
    allowed: "longer",
    secret: true,
  });
  assert.equal(refusal.message, "key1 must be longer, and is a text of 9 characters");
  assert.ok(!refusal.message.includes("hush"));
});

test("a long value is cut, so that an error stays one line", () => {
  const shown = shownAs(`line\n${"x".repeat(5000)}`);
  assert.ok(shown.length < 100);
  assert.ok(!shown.includes("\n"));
  assert.match(shown, /5005 characters/);
});

test("an unknown name is answered with the nearest known one", () => {
  const known = ["http", "data", "log-level", "log-format", "clock"];
  assert.equal(nearest("htpp", known), "http");
  assert.equal(nearest("LOG-LEVLE", known), "log-level");
  assert.equal(nearest("colck", known), "clock");
  assert.equal(nearest("log", known), "log-level");
  assert.equal(nearest("wholly-else", known), null);
  assert.equal(
    refuseName({ what: "option", name: "--htp", known: ["--http"] }).message,
    'there is no option "--htp"; did you mean --http?',
  );
  assert.equal(
    refuseName({ what: "command", name: "frobnicate", known: ["serve", "help"] }).message,
    'there is no command "frobnicate"; known are serve, help',
  );
});
