// The torture run that `posthorn torture` gives users, for a few seconds.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { program } from "./fixtures/program.ts";
import { Dice } from "./sim/dice.ts";
import { acts, dealActs } from "./torture/acts.ts";
import { openEndpoints } from "./torture/endpoints.ts";
import { Ledger } from "./torture/ledger.ts";
import { mutatedRequest } from "./torture/mutated-request.ts";

const run = promisify(execFile);
const isLinux = process.platform === "linux";

test("a short run loses nothing, and says so", { skip: !isLinux && "Linux only" }, async () => {
  const args = ["torture", "--minutes", "0.1", "--seed", "3", "--mutated", "50"];
  const { stdout } = await run(process.execPath, [program, ...args]);
  assert.match(stdout, /^accepted: +[1-9]/m);
  assert.match(stdout, /^mutated requests: +[1-9]/m);
  assert.match(stdout, /^faults: +0$/m);
  assert.match(stdout, /^lost: +0$/m);
  assert.match(stdout, /^again: +posthorn torture --minutes 0.1 --seed 3$/m);
});

test("a bad option is refused with the usage", async () => {
  const bad = run(process.execPath, [program, "torture", "--minutes", "x"]);
  await assert.rejects(bad, { code: 2, stderr: /no number|Linux/ });
});

test("a ledger finds what was lost, and what nothing explains", async (t) => {
  const endpoints = await openEndpoints(new Dice(1, "endpoints"));
  t.after(() => endpoints.close());
  endpoints.mood = "well";
  const ledger = new Ledger();
  for (const id of ["a-1", "b-1"]) ledger.accepted.add(id);
  for (const url of endpoints.urls.values()) {
    await fetch(url, { method: "POST", body: '[{"id":"a-1"}]' });
  }
  assert.deepEqual(ledger.lost(endpoints), ["healthy b-1", "moody b-1"]);
  const end = ledger.trouble("full disk", [503]);
  ledger.judge(503, performance.now(), () => "a 503 on a full disk");
  assert.ok(ledger.isClean);
  ledger.judge(500, performance.now(), () => "a 500 on a full disk");
  assert.ok(!ledger.isClean);
  end();
  assert.match(ledger.tell(endpoints, []), /faults: +1\n +a 500 on a full disk/);
});

test("the same seed gives the same acts and requests, and every act has its share", () => {
  const draw = (seed: number) => {
    const deals = dealActs(new Dice(seed, "acts"));
    const all = Object.values(acts).reduce((sum, { times }) => sum + times, 0);
    return Array.from({ length: all }, () => deals.next().value as string);
  };
  assert.deepEqual(draw(1), draw(1));
  assert.notDeepEqual(draw(1), draw(2));
  assert.deepEqual(new Set(draw(1)), new Set(Object.keys(acts)));
  const ask = (seed: number) => mutatedRequest(new Dice(seed, "mutated"), "key");
  assert.equal(ask(1), ask(1));
  assert.notEqual(ask(1), ask(2));
});
