// Requests of the portal go one at a time, and no answer is thrown away because it came slowly.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inTurn } from "../../portal/in-turn.ts";

/** Runs that end when the test says so. */
function openRuns() {
  const ends: (() => void)[] = [];
  let begun = 0;
  const refresh = inTurn(() => {
    begun += 1;
    return new Promise<void>((resolve) => ends.push(resolve));
  });
  const end = async () => {
    ends.shift()?.();
    await new Promise((go) => setImmediate(go));
  };
  return { refresh, end, begun: () => begun, open: () => ends.length };
}

test("whatever is asked for meanwhile is one more request, after the one under way", async () => {
  const { refresh, end, begun, open } = openRuns();
  refresh();
  for (let tick = 0; tick < 20; tick++) refresh();
  assert.deepEqual([begun(), open()], [1, 1]);
  await end();
  assert.deepEqual([begun(), open()], [2, 1]);
  await end();
  assert.deepEqual([begun(), open()], [2, 0], "nothing was asked for since");
  refresh();
  assert.equal(begun(), 3);
});
