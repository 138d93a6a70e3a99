import assert from "node:assert/strict";
import { test } from "node:test";
import { ListChanges } from "./list-changes.ts";

interface Item {
  readonly name: string;
  readonly count: number;
}

const item = (name: string, count = 0): Item => ({ name, count });
const open = (run = "r") => new ListChanges<Item>(run, ({ name }) => name);

test("who has seen a revision gets what has changed since, and what is gone", () => {
  const list = open();
  const first = list.answer([item("a"), item("b")], undefined);
  assert.deepEqual([first.isWhole, first.items.length, first.gone], [true, 2, []]);
  const same = list.answer([item("a"), item("b")], first.revision);
  assert.deepEqual(same, { revision: first.revision, isWhole: false, items: [], gone: [] });
  const changed = list.answer([item("a", 1), item("c")], first.revision);
  assert.deepEqual(changed.items, [item("a", 1), item("c")]);
  assert.deepEqual(changed.gone, ["b"]);
  const later = list.answer([item("a", 1), item("c")], changed.revision);
  assert.deepEqual([later.items, later.gone], [[], []]);
  const slow = list.answer([item("a", 2), item("c")], first.revision);
  assert.deepEqual(slow.items, [item("a", 2), item("c")], "what was missed comes, too");
  assert.deepEqual(slow.gone, ["b"]);
});

test("what comes back is there, and not gone", () => {
  const list = open();
  const { revision } = list.answer([item("a")], undefined);
  list.answer([], undefined);
  const back = list.answer([item("a")], revision);
  assert.deepEqual([back.items, back.gone], [[item("a")], []]);
});

test("a revision of another run, of the future, or of nonsense gets everything", () => {
  const list = open("now");
  const { revision } = list.answer([item("a")], undefined);
  for (const seen of ["before.1", "now.99", "now.-1", "now.x", "", "now", undefined]) {
    assert.equal(list.answer([item("a")], seen).isWhole, true, seen);
  }
  assert.equal(list.answer([item("a")], revision).isWhole, false);
});

test("who has not asked for so long that it is forgotten what went gets everything", () => {
  const list = open();
  const many = (from: number) => Array.from({ length: 6_000 }, (_, at) => item(`${from + at}`));
  const first = list.answer(many(0), undefined);
  const second = list.answer(many(6_000), undefined);
  list.answer(many(12_000), undefined);
  assert.equal(list.answer(many(12_000), first.revision).isWhole, true);
  assert.equal(list.answer(many(12_000), second.revision).gone.length, 6_000);
});
