import assert from "node:assert/strict";
import { test } from "node:test";
import { plainSubscription } from "../subscription.ts";
import { unusedUnder, usualRetryPolicy, whyUnused } from "./allowance.ts";
import { profileNames } from "./profile.ts";

const minute = 60_000;
const header = { name: "a", kind: "static", value: "v", isSecret: false } as const;

/** A subscription that asks for everything. */
const greedy = {
  ...plainSubscription,
  retryPolicy: { maxDeliveryAttempts: 3, eventTimeToLiveMs: 5 * minute },
  batch: { maxEvents: 10, preferredBytes: 1024 },
  deadLetter: { kind: "blob", resourceId: "/account", container: "box" },
  headers: [header],
} as const;

test("each profile knows the settings of its time, and no others (P-5, P-6, P-9, P-11, P-12)", () => {
  const abouts = profileNames.map((name) => unusedUnder(name, greedy).map(({ about }) => about));
  const none = [
    "a number of attempts per subscription",
    "a time to live per subscription",
    "batches",
    "delivery headers",
    "dead letters",
  ];
  assert.deepEqual(abouts, [
    none,
    none,
    ["delivery headers"],
    [],
    ["delivery headers", "dead letters"],
    [],
  ]);
  for (const name of profileNames) assert.deepEqual(unusedUnder(name, plainSubscription), []);
});

test("batches of one event ask for nothing (B-5)", () => {
  const batch = { maxEvents: 1, preferredBytes: 131_072 };
  assert.deepEqual(unusedUnder("ga-2018", { ...plainSubscription, batch }), []);
});

test("what clients write unasked, and what a profile does anyway, is as good as nothing (R-5)", () => {
  const none = { maxDeliveryAttempts: null, eventTimeToLiveMs: null };
  const written = { maxDeliveryAttempts: 30, eventTimeToLiveMs: 1440 * minute };
  for (const name of ["preview-2017", "ga-2018"] as const) {
    assert.deepEqual(usualRetryPolicy(name, written), none, name);
  }
  const own = { maxDeliveryAttempts: null, eventTimeToLiveMs: 120 * minute };
  assert.deepEqual(usualRetryPolicy("preview-2017", own), none);
  assert.deepEqual(usualRetryPolicy("ga-2018", own), own);
  for (const name of ["azure-2020", "azure", "iot-edge", "azure-latest"] as const) {
    assert.deepEqual(usualRetryPolicy(name, written), written, name);
  }
});

test("the words name the profile and what it does not know", () => {
  const words = whyUnused("ga-2018", { about: "batches" });
  assert.equal(words, "the profile ga-2018 does not support batches");
});
