import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PrefixTree } from "./prefix-tree.ts";

function treeOf(texts: readonly string[], side: "front" | "back" = "front"): PrefixTree<string> {
  const tree = new PrefixTree<string>(side);
  for (const text of texts) {
    tree.add(text);
    tree.filedAt(text).push(text);
  }
  return tree;
}

function visited(tree: PrefixTree<string>, text: string): string[] {
  const found: string[] = [];
  tree.visit(text, (filed) => found.push(...filed));
  return found.sort();
}

test("a text finds every beginning it has in the tree, and no other", () => {
  const tree = treeOf(["/a", "/a/b", "/a/bc", "/ab", "/b", "", "/a/b/c"]);
  assert.deepEqual(visited(tree, "/a/b/d"), ["", "/a", "/a/b"]);
  assert.deepEqual(visited(tree, "/a/b"), ["", "/a", "/a/b"]);
  assert.deepEqual(visited(tree, "/"), [""]);
  assert.deepEqual(visited(tree, ""), [""]);
  assert.deepEqual(visited(treeOf([]), "/a"), []);
});

test("a text finds its ends likewise", () => {
  const tree = treeOf([".jpg", "g", "a.jpg", ".png"], "back");
  assert.deepEqual(visited(tree, "/a.jpg"), [".jpg", "a.jpg", "g"]);
  assert.deepEqual(visited(tree, "/b.png"), [".png", "g"]);
  assert.deepEqual(visited(tree, "jpg"), ["g"]);
});

test("the tree finds and counts what trying every text finds, whatever came and went", () => {
  const words = fc.string({ unit: fc.constantFrom("a", "b", "\u{1f600}", "é"), maxLength: 6 });
  const side = fc.constantFrom("front" as const, "back" as const);
  fc.assert(
    fc.property(side, fc.array(fc.tuple(words, fc.boolean())), words, (side, some, text) => {
      const has = (long: string, short: string) =>
        side === "front" ? long.startsWith(short) : long.endsWith(short);
      const tree = treeOf(
        some.map(([word]) => word),
        side,
      );
      const left: string[] = [];
      for (const [word, isToGo] of some) {
        if (!isToGo) left.push(word);
        else {
          const filed = tree.filedAt(word);
          filed.splice(filed.indexOf(word), 1);
          tree.remove(word);
        }
      }
      const of = (isOne: (word: string) => boolean) => left.filter(isOne).sort();
      assert.deepEqual(
        visited(tree, text),
        of((word) => has(text, word)),
      );
      const together = of((word) => has(text, word) || has(word, text));
      assert.equal(tree.count(text), together.length);
    }),
  );
});
