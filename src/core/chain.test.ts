import assert from "node:assert/strict";
import { test } from "node:test";
import { Chain, type Linked } from "./chain.ts";

interface Item extends Linked<Item> {
  readonly name: string;
}

function chainOf(names: string) {
  const chain = new Chain<Item>();
  const items = [...names].map((name): Item => ({ name, before: null, after: null }));
  for (const item of items) chain.add(item);
  return {
    chain,
    items,
    names: () =>
      chain
        .list()
        .map(({ name }) => name)
        .join(""),
  };
}

test("what is taken out is gone, and the others keep their order", () => {
  for (const [taken, left] of [
    [[0], "bcd"],
    [[3], "abc"],
    [[1, 2], "ad"],
    [[2, 0, 3], "b"],
    [[3, 2, 1, 0], ""],
  ] as const) {
    const { chain, items, names } = chainOf("abcd");
    for (const index of taken) assert.equal(chain.remove(items[index] as Item), true);
    assert.equal(names(), left);
    assert.equal(chain.first?.name ?? "", left.slice(0, 1));
  }
});

test("what is not there cannot be taken out", () => {
  const { chain, items, names } = chainOf("ab");
  const [a, b] = items as [Item, Item];
  assert.equal(chain.remove(a), true);
  assert.equal(chain.remove(a), false);
  assert.equal(names(), "b");
  assert.equal(chain.remove(b), true);
  assert.equal(chain.remove(b), false);
  assert.equal(chain.first, null);
});

test("what was taken out points at nothing, and can be added again", () => {
  const { chain, items, names } = chainOf("abc");
  const [a, b] = items as [Item, Item];
  chain.remove(b);
  assert.deepEqual([b.before, b.after], [null, null]);
  chain.remove(a);
  chain.add(b);
  chain.add(a);
  assert.equal(names(), "cba");
});
