import assert from "node:assert/strict";
import { test } from "node:test";
import { delayOf, type Guesses, guesserOf, guessesAfter } from "./guessing.ts";

test("the first guesses cost nothing, the next ones more and more, up to a bound", () => {
  let guesses: Guesses | undefined;
  const delays: number[] = [];
  for (let count = 0; count < 30; count++) {
    guesses = guessesAfter(guesses, count);
    delays.push(delayOf(guesses));
  }
  assert.deepEqual(delays.slice(0, 20), Array<number>(20).fill(0));
  assert.deepEqual(delays.slice(20, 27), [100, 200, 400, 800, 1_600, 2_000, 2_000]);
});

test("an address that has been quiet for ten minutes is forgotten", () => {
  const before = { count: 50, lastAt: 1_000 };
  assert.deepEqual(guessesAfter(before, 600_999), { count: 51, lastAt: 600_999 });
  assert.deepEqual(guessesAfter(before, 601_000), { count: 1, lastAt: 601_000 });
});

test("addresses of one network of IPv6 are one guesser", () => {
  const table: [remote: string, guesser: string][] = [
    ["192.0.2.7", "192.0.2.7"],
    ["", ""],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8:1:2::6", "2001:db8:1:2"],
    ["2001:db8::6", "2001:db8:0:0"],
    ["::1", "0:0:0:0"],
    ["fe80::1%eth0", "fe80:0:0:0"],
  ];
  for (const [remote, guesser] of table) assert.equal(guesserOf(remote), guesser, remote);
});
