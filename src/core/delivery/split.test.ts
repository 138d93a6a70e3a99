// Halving: a bad event of a batch is found, and no other event pays for it.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { plainSubscription } from "../subscription.ts";
import { policyOf } from "./policy.ts";
import { profiles } from "./profile.ts";
import { halfOf, isSplit, togetherMax } from "./split.ts";

const policy = policyOf(
  { ...plainSubscription, destination: { kind: "webhook", url: "http://a/" } },
  profiles.azure,
);
const batch = { size: 2, stage: "deliver", splitOnFailure: true } as const;
const answered = (status: number) => ({ kind: "answered", status }) as const;

test("a batch is halved when its answer is never retried, and only then (R-3, P-7)", () => {
  for (const status of [400, 401, 403, 404, 413]) {
    assert.ok(isSplit(batch, policy, answered(status)), String(status));
  }
  for (const status of [200, 204, 301, 408, 429, 500, 503]) {
    assert.ok(!isSplit(batch, policy, answered(status)), String(status));
  }
  assert.ok(!isSplit(batch, policy, { kind: "noReply", why: "timeout" }));
});

test("halving is asked for, concerns batches alone, and never dead letters", () => {
  assert.ok(!isSplit({ ...batch, splitOnFailure: false }, policy, answered(400)));
  assert.ok(!isSplit({ ...batch, size: 1 }, policy, answered(400)));
  assert.ok(!isSplit({ ...batch, stage: "deadLetter" }, policy, answered(400)));
});

test("events under suspicion travel apart from all others", () => {
  const sizes = new Map([
    [1, 2],
    [2, 2],
    [3, 2],
    [4, 1],
  ]);
  assert.equal(togetherMax([1, 2, 3, 4, 5], sizes), 2);
  assert.equal(togetherMax([3, 4, 5], sizes), 1);
  assert.equal(togetherMax([4, 5], sizes), 1);
  assert.equal(togetherMax([5, 6, 1], sizes), 2);
  assert.equal(togetherMax([5, 6], new Map()), 2);
  assert.equal(togetherMax([], sizes), 0);
});

test("any poison among any events is found, alone, and all others are delivered", () => {
  const events = fc.uniqueArray(fc.nat(500), { minLength: 1, maxLength: 120 });
  fc.assert(
    fc.property(events, fc.func(fc.boolean()), fc.integer({ min: 1, max: 64 }), (all, is, max) => {
      const poison = new Set(all.filter((event) => is(event)));
      const delivered: number[] = [];
      const givenUp: number[] = [];
      const sizes = new Map<number, number>();
      let line = all;
      let sends = 0;
      while (line.length > 0) {
        const together = line.slice(0, Math.min(max, togetherMax(line, sizes)));
        line = line.slice(together.length);
        sends += 1;
        if (!together.some((event) => poison.has(event))) delivered.push(...together);
        else if (together.length === 1) givenUp.push(...together);
        else {
          for (const event of together) sizes.set(event, halfOf(together.length));
          line = [...line, ...together];
        }
      }
      assert.deepEqual(new Set(givenUp), poison);
      assert.deepEqual(new Set(delivered), new Set(all).difference(poison));
      assert.ok(sends <= 3 * all.length);
    }),
  );
});
