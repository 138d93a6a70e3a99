// The faults that a cluster must live through, in short: nothing that was answered 200 is lost, and
// no law of delivery is broken. `npm run cluster:faults` runs them longer.

import assert from "node:assert/strict";
import { test } from "node:test";
import { whyNoSmallDisk } from "../fixtures/postgres.ts";
import { openClusterEndpoints } from "./endpoints.ts";
import { cases } from "./faults.ts";
import { ClusterLedger } from "./ledger.ts";

for (const [name, { about, needsRoot, run }] of Object.entries(cases)) {
  const skip = needsRoot === true ? (whyNoSmallDisk() ?? false) : false;
  test(`${name}: ${about}`, { skip, timeout: 290_000 }, async (t) => {
    const { lines, lost, trespasses, given } = await run(t, 1);
    for (const line of lines) t.diagnostic(line);
    assert.equal(lost, 0, lines.join("\n"));
    assert.equal(trespasses, 0, lines.join("\n"));
    if (name.startsWith("6")) assert.equal(given, 0, "an ordinary retry cures it");
  });
}

test("the ledger finds what is lost, early, doubled or one too many", async (t) => {
  const endpoints = await openClusterEndpoints(t);
  const ledger = new ClusterLedger();
  const send = async (name: "steady" | "never", id: string, count: number) => {
    const headers = { "aeg-delivery-count": String(count) };
    await fetch(endpoints.url(name), { method: "POST", headers, body: `[{"id":"${id}"}]` });
  };
  for (const id of ["a-1", "b-1"]) ledger.accepted.add(id);
  await send("steady", "a-1", 0);
  assert.deepEqual(ledger.lost(endpoints), ["steady b-1", "moody a-1", "moody b-1"]);
  assert.deepEqual(ledger.trespasses(endpoints, 16), []);
  await send("steady", "a-1", 0);
  await send("never", "b-1", 0);
  await send("never", "b-1", 1);
  await send("never", "b-1", 2);
  const found = ledger.trespasses(endpoints, 0).join("\n");
  assert.match(found, /steady a-1: sent again \d+ ms after it was accepted/);
  assert.match(found, /never b-1: sent after \d+ ms, too early/);
  assert.match(found, /never b-1: attempt 3 of 2/);
  assert.match(found, /steady: 1 requests at once, of 0/);
  ledger.fault("kill")();
  assert.doesNotMatch(ledger.trespasses(endpoints, 16).join(), /sent again/, "a fault explains it");
});
