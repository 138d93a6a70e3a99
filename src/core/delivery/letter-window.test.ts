import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { gatherLetter, type LetterWindow } from "./letter-window.ts";

const pauseMs = 300_000;

function writesOf(givenUpAt: readonly number[]): number[] {
  let window: LetterWindow | null = null;
  return givenUpAt.map((now) => {
    const next = gatherLetter(window, now, pauseMs);
    window = next.window;
    return next.at;
  });
}

test("one letter is written when its pause is over (L-3)", () => {
  assert.deepEqual(writesOf([1_000]), [301_000]);
  assert.deepEqual(writesOf([1_000, 1_000, 1_000]), [301_000, 301_000, 301_000]);
});

test("what is given up within ten seconds is written in two blobs (L-3)", () => {
  const within = Array.from({ length: 200 }, (_, index) => 1_000 + index * 5);
  assert.deepEqual(new Set(writesOf(within)), new Set([301_000, 311_000]));
  assert.deepEqual(writesOf([1_000, 11_000, 11_001]), [301_000, 311_000, 311_001]);
});

test("nothing is written before its pause is over, or much after it (L-3)", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(100_000), { maxLength: 200 }), (times) => {
      const sorted = times.toSorted((one, other) => one - other);
      const writes = writesOf(sorted);
      for (const [index, at] of writes.entries()) {
        const lateMs = at - ((sorted[index] ?? 0) + pauseMs);
        assert.ok(lateMs >= 0 && lateMs <= 10_000, `${lateMs} ms`);
      }
    }),
  );
});

test("without a pause nothing waits", () => {
  assert.equal(gatherLetter({ since: 5 }, 7, 0).at, 7);
});
