// The texts about an endpoint's health say what the rules did.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fold, type Health, type HealthFact, healthRules, healthyStart } from "./health.ts";
import { closureText, healthChangeText, healthRulesText, healthText } from "./health-text.ts";

function after(health: Health, ...facts: readonly HealthFact[]): Health {
  return facts.reduce((state, fact) => fold(state, fact), health);
}

const failed: HealthFact = { kind: "failed", at: 0 };
const sick = after(healthyStart, ...Array.from({ length: 10 }, () => failed));
const probing = after(sick, { kind: "sent", at: 30_000 });

test("each state of an endpoint is told in words (H-1, H-2)", () => {
  const told = [healthyStart, after(healthyStart, failed), sick, probing].map((health) =>
    healthText(health, null, 29_999),
  );
  assert.deepEqual(told, [
    "healthy",
    "healthy; 1 failure in a row",
    "unhealthy: next probe at 1970-01-01T00:00:30.000Z",
    "unhealthy: its probe is in flight since 1970-01-01T00:00:30.000Z",
  ]);
  assert.equal(healthText(sick, null, 30_000), "unhealthy: the next send is its probe");
  const recovering = after(probing, { kind: "succeeded", at: 30_001 });
  assert.equal(healthText(recovering, null, 30_001), "recovering: at most 1 send at once");
});

test("a closed endpoint says since when and why, whatever its health", () => {
  const closure = { at: 0, because: "moving house" };
  const words = "closed by an operator since 1970-01-01T00:00:00.000Z: moving house";
  assert.equal(healthText(sick, closure, 0), words);
  assert.equal(closureText("opened", ""), "opened by an operator");
});

test("every change is told with its reason (H-1, H-2)", () => {
  const change = (before: Health, fact: HealthFact) =>
    healthChangeText(before, fold(before, fact), healthRules);
  const nine = after(healthyStart, ...Array.from({ length: 9 }, () => failed));
  assert.equal(change(nine, failed), "10 failures in a row; nothing is sent for 30 s");
  assert.equal(change(sick, { kind: "sent", at: 30_000 }), "a probe is sent");
  assert.equal(change(sick, { kind: "succeeded", at: 1 }), "a send succeeded");
  const test = { at: 31_000, sentAt: 30_000 };
  const failure = change(probing, { kind: "failed", ...test });
  assert.equal(failure, "the probe failed; nothing is sent for 1 min");
  assert.equal(change(probing, { kind: "unsent" }), "the probe was aborted");
  const success = { kind: "succeeded", ...test } as const;
  assert.equal(change(probing, success), "the probe succeeded");
  const recovering = fold(probing, success);
  const relapse = change(recovering, { kind: "failed", at: 40_000, sentAt: 35_000 });
  assert.equal(relapse, "a send failed while it recovered; nothing is sent for 30 s");
  const nearly: Health = { kind: "recovering", startedAt: 0, atOnce: 15, waitMs: 1 };
  assert.equal(change(nearly, { kind: "succeeded", at: 1 }), "16 sends at once succeed");
});

test("the rules in force are shown with their numbers", () => {
  assert.equal(
    healthRulesText(healthRules),
    "unhealthy after 10 failures in a row; probed after 30 s, and after each failed probe 2 times " +
      "as long, up to 2 h; healthy again at 16 sends at once",
  );
});
