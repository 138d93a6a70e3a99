import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../core/refusal.ts";
import { retryStale, triesMax } from "./stale-write.ts";

const stale = new Refusal("PreconditionFailed", "It was changed.");

/** A change that collides so many times before it succeeds. */
async function attempt(collisions: number, error: Error = stale) {
  const steps: string[] = [];
  const change = async () => {
    steps.push("change");
    if (steps.filter((step) => step === "change").length <= collisions) throw error;
    return "done";
  };
  const readAgain = async () => void steps.push("read");
  const end = await retryStale(change, readAgain).catch((refusal: Refusal) => refusal.code);
  return [end, steps.join(" ")];
}

test("a change that collides is made again, after reading, for a few times", async () => {
  assert.deepEqual(await attempt(0), ["done", "change"]);
  assert.deepEqual(await attempt(2), ["done", "change read change read change"]);
  assert.equal((await attempt(triesMax - 1))[0], "done");
  const [end, steps = ""] = await attempt(triesMax);
  assert.equal(end, "Conflict");
  assert.equal(steps.split(" ").filter((step) => step === "change").length, triesMax);
});

test("any other refusal ends it at once", async () => {
  const refused = new Refusal("NotFound", "There is none.");
  assert.deepEqual(await attempt(1, refused), ["NotFound", "change"]);
});
