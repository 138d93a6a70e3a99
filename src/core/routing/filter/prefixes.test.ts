import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { countWithin, tabulate } from "./prefixes.ts";

function beginningsOf(text: string, beginnings: readonly string[]): string[] {
  const found: string[] = [];
  tabulate(new Map(beginnings.map((each) => [each, each]))).visit(text, (each) => found.push(each));
  return found.sort();
}

test("a text finds every beginning it has in the table, and no other", () => {
  const table = ["/a", "/a/b", "/a/bc", "/ab", "/b", "", "/a/b/c"];
  assert.deepEqual(beginningsOf("/a/b/d", table), ["", "/a", "/a/b"]);
  assert.deepEqual(beginningsOf("/a/b", table), ["", "/a", "/a/b"]);
  assert.deepEqual(beginningsOf("/", table), [""]);
  assert.deepEqual(beginningsOf("", table), [""]);
  assert.deepEqual(beginningsOf("/a", []), []);
});

test("the table finds what trying every beginning finds, and counts likewise", () => {
  const words = fc.string({ unit: fc.constantFrom("a", "b", "\u{1f600}", "é"), maxLength: 6 });
  fc.assert(
    fc.property(fc.array(words), words, (some, text) => {
      const beginnings = [...new Set(some)];
      assert.deepEqual(
        beginningsOf(text, beginnings),
        beginnings.filter((each) => text.startsWith(each)).sort(),
      );
      const within = some.filter((each) => each.startsWith(text)).length;
      assert.equal(countWithin([...some].sort(), text), within);
    }),
  );
});
