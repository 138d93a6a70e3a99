import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Alarm, AlarmHeap } from "./alarms.ts";

test("alarms leave in the order of their times, equal times in the order they were set", () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant("add" as const), at: fc.integer({ min: 0, max: 9 }) }),
      fc.record({ kind: fc.constant("remove" as const), which: fc.nat(30) }),
      fc.record({ kind: fc.constant("leave" as const) }),
    ),
    { maxLength: 200 },
  );
  fc.assert(
    fc.property(steps, (todo) => {
      const heap = new AlarmHeap();
      let model: Alarm[] = [];
      for (const step of todo) {
        if (step.kind === "add") {
          model.push(heap.add(step.at, () => {}));
          model = model.toSorted((one, other) => one.at - other.at);
        } else {
          const gone = step.kind === "leave" ? heap.first() : model[step.which];
          if (gone !== undefined) heap.remove(gone);
          model = model.filter((alarm) => alarm !== gone);
          if (gone !== undefined) heap.remove(gone);
        }
        assert.equal(heap.first(), model[0]);
        assert.equal(heap.size, model.length);
      }
    }),
  );
});
