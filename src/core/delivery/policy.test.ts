import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../refusal.ts";
import type { RetryPolicy, Subscription } from "../subscription.ts";
import { checkRetryPolicy, type PolicyDefaults, policyOf } from "./policy.ts";
import { type ProfileName, profileNames, profiles } from "./profile.ts";

const minute = 60_000;

type Given = Pick<Subscription, "destination" | "retryPolicy" | "deadLetter">;

function given(retryPolicy: Partial<RetryPolicy> = {}, container: string | null = null): Given {
  return {
    destination: { kind: "webhook", url: "https://subscriber.example/hook" },
    retryPolicy: { maxDeliveryAttempts: null, eventTimeToLiveMs: null, ...retryPolicy },
    deadLetter: container === null ? null : { kind: "blob", resourceId: "/account", container },
  };
}

function limits(
  name: ProfileName,
  retryPolicy?: Partial<RetryPolicy>,
  defaults?: PolicyDefaults,
): [number | null, number] {
  const policy = policyOf(given(retryPolicy), profiles[name], defaults);
  return [policy.attemptsMax, policy.ttlMs / minute];
}

test("a subscription that says nothing has its profile's limits (P-5, P-6)", () => {
  assert.deepEqual(limits("preview-2017"), [null, 120]);
  assert.deepEqual(limits("ga-2018"), [null, 1440]);
  assert.deepEqual(limits("azure-2020"), [30, 1440]);
  assert.deepEqual(limits("azure"), [30, 1440]);
  assert.deepEqual(limits("iot-edge"), [30, 120]);
  assert.deepEqual(limits("azure-latest"), [30, 1440]);
});

test("a subscription's limits replace the profile's, one by one (R-5)", () => {
  assert.deepEqual(limits("azure", { maxDeliveryAttempts: 3 }), [3, 1440]);
  assert.deepEqual(limits("azure-2020", { eventTimeToLiveMs: 5 * minute }), [30, 5]);
});

test("under a profile without such settings a subscription's limits change nothing (P-5, P-6)", () => {
  const asked = { maxDeliveryAttempts: 1, eventTimeToLiveMs: minute };
  assert.deepEqual(limits("preview-2017", asked), [null, 120]);
  assert.deepEqual(limits("ga-2018", asked), [null, 1440]);
});

test("limits set for all hold under iot-edge, and a subscription overrides them (E-1)", () => {
  const forAll = { attemptsMax: 3, ttlMs: 30 * minute };
  assert.deepEqual(limits("iot-edge", {}, forAll), [3, 30]);
  assert.deepEqual(limits("iot-edge", {}, { attemptsMax: 3 }), [3, 120]);
  assert.deepEqual(limits("iot-edge", { maxDeliveryAttempts: 7 }, forAll), [7, 30]);
  assert.deepEqual(limits("iot-edge", { eventTimeToLiveMs: 9 * minute }, forAll), [3, 9]);
  for (const name of profileNames.filter((each) => each !== "iot-edge")) {
    assert.deepEqual(limits(name, {}, forAll), limits(name), name);
  }
});

test("there are dead letters where the profile has them and a container is named (P-11)", () => {
  const names = { "preview-2017": false, "ga-2018": false, "azure-2020": true, azure: true };
  for (const [name, expected] of Object.entries({
    ...names,
    "iot-edge": false,
    "azure-latest": true,
  })) {
    const profile = profiles[name as ProfileName];
    assert.equal(policyOf(given({}, "letters"), profile).deadLetter, expected, name);
    assert.equal(policyOf(given(), profile).deadLetter, false, name);
  }
});

test("a dead letter waits five minutes and is kept four hours, unless set otherwise (L-3, L-4)", () => {
  const usual = policyOf(given(), profiles.azure);
  assert.deepEqual([usual.deadLetterPauseMs, usual.deadLetterLimitMs], [300_000, 14_400_000]);
  const set = policyOf(given(), profiles.azure, { deadLetterPauseMs: 0, deadLetterLimitMs: 1 });
  assert.deepEqual([set.deadLetterPauseMs, set.deadLetterLimitMs], [0, 1]);
});

test("retry policies in range are taken, and what is left out stays open (R-5)", () => {
  const field = "retryPolicy";
  assert.deepEqual(checkRetryPolicy({}, field), {
    maxDeliveryAttempts: null,
    eventTimeToLiveMs: null,
  });
  assert.deepEqual(
    checkRetryPolicy({ maxDeliveryAttempts: null, eventTimeToLiveInMinutes: 1 }, field),
    { maxDeliveryAttempts: null, eventTimeToLiveMs: minute },
  );
  assert.deepEqual(
    checkRetryPolicy({ maxDeliveryAttempts: 1, eventTimeToLiveInMinutes: 1440 }, field),
    { maxDeliveryAttempts: 1, eventTimeToLiveMs: 1440 * minute },
  );
  assert.equal(checkRetryPolicy({ maxDeliveryAttempts: 30 }, field).maxDeliveryAttempts, 30);
});

test("under iot-edge more attempts and longer lives are taken, as its module took them (E-1)", () => {
  const edge = profiles["iot-edge"];
  const given = { maxDeliveryAttempts: 50, eventTimeToLiveInMinutes: 2880 };
  assert.deepEqual(checkRetryPolicy(given, "p", edge), {
    maxDeliveryAttempts: 50,
    eventTimeToLiveMs: 2880 * minute,
  });
  for (const [wrong, words] of [
    [{ maxDeliveryAttempts: 100_001 }, /from 1 to 100000, and is the number 100001/],
    [{ eventTimeToLiveInMinutes: 525_601 }, /from 1 to 525600, and is the number 525601/],
  ] as const) {
    assert.throws(() => checkRetryPolicy(wrong, "p", edge), words);
  }
});

test("retry policies out of range or not whole are refused, naming field and shape (R-5)", () => {
  const attempts =
    "sub.retryPolicy.maxDeliveryAttempts must be a whole number from 1 to 30, and is";
  const life =
    "sub.retryPolicy.eventTimeToLiveInMinutes must be a whole number from 1 to 1440, and is";
  const table: [Parameters<typeof checkRetryPolicy>[0], string][] = [
    [{ maxDeliveryAttempts: 0 }, `${attempts} the number 0`],
    [{ maxDeliveryAttempts: 31 }, `${attempts} the number 31`],
    [{ maxDeliveryAttempts: 2.5 }, `${attempts} the number 2.5`],
    [{ maxDeliveryAttempts: "30" }, `${attempts} a text of 2 characters`],
    [{ maxDeliveryAttempts: Number.NaN }, `${attempts} the number NaN`],
    [{ maxDeliveryAttempts: true }, `${attempts} true`],
    [{ eventTimeToLiveInMinutes: 0 }, `${life} the number 0`],
    [{ eventTimeToLiveInMinutes: 1441 }, `${life} the number 1441`],
    [{ eventTimeToLiveInMinutes: 0.5 }, `${life} the number 0.5`],
    [{ eventTimeToLiveInMinutes: [60] }, `${life} an array of 1`],
    [{ eventTimeToLiveInMinutes: {} }, `${life} an object`],
    [{ eventTimeToLiveInMinutes: "" }, `${life} an empty text`],
  ];
  for (const [wrong, message] of table) {
    assert.throws(
      () => checkRetryPolicy(wrong, "sub.retryPolicy"),
      (error) =>
        error instanceof Refusal && error.code === "InvalidSetting" && error.message === message,
      message,
    );
  }
});
