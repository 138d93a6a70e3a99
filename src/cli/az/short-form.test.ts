import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../../core/refusal.ts";
import { readShortForm } from "./short-form.ts";

test("an object in az's short form, or as JSON", () => {
  const table: [string, object][] = [
    ['{"a":{"b":[1,"2"]}}', { a: { b: [1, "2"] } }],
    [
      "{deliveryMode:Queue,queue:{receiveLockDurationInSeconds:60,eventTimeToLive:P1D}}",
      {
        deliveryMode: "Queue",
        queue: { receiveLockDurationInSeconds: 60, eventTimeToLive: "P1D" },
      },
    ],
    ["{ a : [ x, y ] , b : true, c: null }", { a: ["x", "y"], b: true, c: null }],
    ["{a:'it''s, fine','b c':\"1\"}", { a: "it's, fine", "b c": "1" }],
    ["{url:https://a.test/x?y=1}", { url: "https://a.test/x?y=1" }],
    ["[{a:-1.5}]", [{ a: -1.5 }]],
    ["{}", {}],
  ];
  for (const [text, value] of table) assert.deepEqual(readShortForm(text, "--x"), value, text);
});

test("what is neither is refused by the option's name", () => {
  for (const text of ["", "a", "{a}", "{a:}", "{a:b", "[1,", "{a:b}c", "1", "{a:b,,c:d}"]) {
    assert.throws(() => readShortForm(text, "--x"), /^Refusal: --x must be JSON/, text);
    assert.throws(() => readShortForm(text, "--x"), Refusal);
  }
});
