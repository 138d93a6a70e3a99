import assert from "node:assert/strict";
import { test } from "node:test";
import { addMarks, markBound, markOf, negativeMark, routingMark } from "./routing-mark.ts";

test("the mark does not depend on the order of the records", () => {
  const [a, b, c] = [1, 2, 3].map((id) => ({ id, revision: 2 ** 32 * id + 7 }));
  assert.ok(a && b && c);
  assert.equal(routingMark(9, [a, b, c]), routingMark(9, [c, a, b]));
});

test("every change makes another mark", () => {
  const one = { id: 1, revision: 5 };
  const two = { id: 2, revision: 7 };
  const marks = [
    routingMark(9, [one, two]),
    routingMark(10, [one, two]),
    routingMark(9, [one]),
    routingMark(9, []),
    routingMark(9, [{ ...one, revision: 6 }, two]),
    routingMark(9, [
      { ...one, revision: 7 },
      { ...two, revision: 5 },
    ]),
    routingMark(9, [{ ...one, revision: 5 + 2 ** 32 }, two]),
    routingMark(9, [{ id: 2, revision: 12 }]),
  ];
  assert.equal(new Set(marks).size, marks.length);
});

test("many records have marks of their own, all of them whole and below the bound", () => {
  const marks = new Set<number>();
  for (let id = 0; id < 300; id++) {
    for (let revision = 1; revision <= 300; revision++) marks.add(markOf({ id, revision }));
  }
  assert.equal(marks.size, 90_000);
  for (const mark of marks) assert.ok(Number.isInteger(mark) && mark >= 0 && mark < markBound);
});

test("what is added can be taken away again", () => {
  const one = { id: 4, revision: 11 };
  const both = routingMark(9, [one]);
  assert.equal(addMarks(both, negativeMark(markOf(one))), routingMark(9, []));
  assert.equal(addMarks(0, negativeMark(0)), 0);
});
