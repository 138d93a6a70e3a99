// Which faults the mutation run puts into a piece of code.

import assert from "node:assert/strict";
import { test } from "node:test";
import { mutantsOf } from "./mutants.ts";

/** The code with each fault in turn. */
function broken(source: string): readonly string[] {
  return mutantsOf(source).map(
    ({ start, end, text }) => source.slice(0, start) + text + source.slice(end),
  );
}

for (const [source, ...expected] of [
  ["x = a < b;", ";", "x = a <= b;"],
  ["if (a) b();", "if (true) b();", "if (false) b();", "if (a) ;"],
  ["x = !a && b;", ";", "x = !a || b;", "x = a && b;"],
  ["x = a ?? (b || c);", ";", "x = a && (b || c);", "x = a ?? (b && c);"],
  ["x = a ?? b.every(c);", ";", "x = a && b.every(c);", "x = a ?? b.some(c);"],
  ["const x = a ? true : 1;", "const x = true ? true : 1;", "const x = false ? true : 1;"].concat(
    "const x = a ? false : 1;",
    "const x = a ? true : 2;",
  ),
  ["while (a) { continue; }", "while (false) { continue; }", "while (a) { ; }"],
  ['function f() { throw new Error("-"); }', "function f() { ; }"],
  ["const x: 1 = a as 2;"],
  ['import { a } from "./a.ts";'],
]) {
  test(`of ${source}`, () => assert.deepEqual(broken(source as string), expected));
}

test("what would not be code is left out", () => {
  assert.deepEqual(broken("const x = (a && b) ?? c;"), [
    "const x = (a && b) && c;",
    "const x = (a || b) ?? c;",
  ]);
  assert.deepEqual(broken("const x = a && b || c;"), [
    "const x = a && b && c;",
    "const x = a || b || c;",
  ]);
});
