// The laws of pull delivery as tables, each row with the rule it comes from.

import assert from "node:assert/strict";
import { test } from "node:test";
import { runningFlow } from "../delivery/flow.ts";
import type { Instant } from "../ports.ts";
import { plainSubscription } from "../subscription.ts";
import {
  afterLock,
  afterRejection,
  afterRelease,
  afterRenewal,
  expiredSince,
  expiresAt,
  explainFate,
  type Fate,
  type Handed,
  lastReason,
  type PullRules,
  pullRulesOf,
  releaseDelays,
  renewalMs,
  settlementOf,
} from "./pull-rules.ts";

const second = 1_000;
const minute = 60 * second;
const day = 86_400_000;
const now: Instant = Date.UTC(2030, 0, 2);

const rules: PullRules = {
  lockMs: minute,
  countMax: 10,
  lifeMs: day,
  deadLetter: true,
  deadLetterPauseMs: 5 * minute,
  flowState: runningFlow,
};

/** Handed out half a minute ago for the first time, an hour after it was published. */
function handed(over: Partial<Handed> & { receivedAt?: Instant } = {}): Handed {
  const { receivedAt = now - 30 * second, ...rest } = over;
  const attempts = rest.attempts ?? 1;
  const last = { at: receivedAt, number: attempts, outcome: "Received", status: null };
  return { id: { event: 7, subscription: 3 }, attempts, since: now - 60 * minute, last, ...rest };
}

const letterAt = now + 5 * minute;

test("the rules of a queue: its own, its topic's, the service's (N-33, N-36, N-41)", () => {
  const destination = { kind: "pull", lockMs: 2 * minute } as const;
  const plain = { ...plainSubscription, destination };
  const own = { ...plain, retryPolicy: { maxDeliveryAttempts: 4, eventTimeToLiveMs: minute } };
  const deadLetter = { kind: "blob", resourceId: "/a", container: "c" } as const;
  const table: [PullRules, Partial<PullRules>][] = [
    [pullRulesOf(plain, {}, {}), { lockMs: 2 * minute, countMax: 10, lifeMs: day }],
    [pullRulesOf(plain, { retentionDays: 7 }, {}), { lifeMs: 7 * day }],
    [pullRulesOf(own, { retentionDays: 7 }, {}), { countMax: 4, lifeMs: minute }],
    [pullRulesOf(plain, {}, {}), { deadLetter: false }],
    [pullRulesOf({ ...plain, deadLetter }, {}, {}), { deadLetter: true }],
    // Limits for all subscriptions are those of other topics.
    [pullRulesOf(plain, {}, { attemptsMax: 3, ttlMs: minute }), { countMax: 10, lifeMs: day }],
    [pullRulesOf(plain, {}, { deadLetterPauseMs: 1 }), { deadLetterPauseMs: 1 }],
  ];
  for (const [made, expected] of table) {
    for (const [name, value] of Object.entries(expected)) {
      assert.deepEqual(made[name as keyof PullRules], value, name);
    }
  }
});

test("a release: at once, later, or the end of it (N-32, N-36, N-37, N-42)", () => {
  const old = now - day;
  const table: [string, Handed, number, PullRules, Fate][] = [
    ["in its old place", handed(), 0, rules, { kind: "available", at: now - 60 * minute }],
    ["later", handed(), 10 * second, rules, { kind: "available", at: now + 10 * second }],
    [
      "not beyond its life",
      handed({ since: now - day + minute }),
      60 * minute,
      rules,
      { kind: "available", at: now + minute },
    ],
    [
      "the ninth of ten",
      handed({ attempts: 9 }),
      0,
      rules,
      { kind: "available", at: now - 60 * minute },
    ],
    [
      "the tenth, whose delay is not waited out",
      handed({ attempts: 10 }),
      600 * second,
      rules,
      { kind: "deadLetter", at: letterAt, reason: "MaxDeliveryAttemptsExceeded" },
    ],
    [
      "the tenth, without a destination",
      handed({ attempts: 10 }),
      0,
      { ...rules, deadLetter: false },
      { kind: "dropped", reason: "MaxDeliveryAttemptsExceeded" },
    ],
    [
      "expired while it was locked",
      handed({ since: old }),
      0,
      rules,
      { kind: "deadLetter", at: letterAt, reason: "TimeToLiveExceeded" },
    ],
    [
      "a millisecond before it expires",
      handed({ since: old + 1 }),
      0,
      rules,
      { kind: "available", at: old + 1 },
    ],
  ];
  for (const [title, one, delayMs, law, fate] of table) {
    assert.deepEqual(afterRelease(one, law, { now, delayMs }), fate, title);
  }
  assert.deepEqual(releaseDelays, [0, 10, 60, 600, 3600]);
});

test("a lock that ends: available again, or the end (N-34, N-36, N-42)", () => {
  const free = { kind: "available", at: now - 60 * minute };
  assert.deepEqual(afterLock(handed(), rules, now), free);
  const spent = { kind: "dropped", reason: "MaxDeliveryAttemptsExceeded" };
  const nowhere = { ...rules, deadLetter: false };
  assert.deepEqual(afterLock(handed({ attempts: 10 }), nowhere, now), spent);
  const old = { kind: "dropped", reason: "TimeToLiveExceeded" };
  assert.deepEqual(afterLock(handed({ since: now - day }), nowhere, now), old);
  // A higher limit frees what would have ended.
  assert.deepEqual(afterLock(handed({ attempts: 2 }), { ...rules, countMax: 3 }, now), free);
});

test("a rejection ends it, whatever is left (N-39)", () => {
  const letter = { kind: "deadLetter", at: letterAt, reason: "Rejected" };
  assert.deepEqual(afterRejection(rules, now), letter);
  const dropped = { kind: "dropped", reason: "Rejected" };
  assert.deepEqual(afterRejection({ ...rules, deadLetter: false }, now), dropped);
});

test("a lock is renewed from now on, within an hour of its receive (N-40)", () => {
  const until = now + minute;
  const renewed = { kind: "renewed", until, isLast: false };
  assert.deepEqual(afterRenewal(handed(), rules, now), renewed);
  const atTheHour = handed({ receivedAt: now - renewalMs });
  assert.deepEqual(afterRenewal(atTheHour, rules, now), renewed);
  assert.equal(afterRenewal(handed({ receivedAt: now - renewalMs - 1 }), rules, now), null);
  const last = { ...renewed, isLast: true };
  assert.deepEqual(afterRenewal(handed({ attempts: 10 }), rules, now), last);
});

test("a pause ages nothing (R-6, N-41)", () => {
  assert.equal(expiredSince(rules, now), now - day);
  assert.equal(expiresAt(rules, now - minute, now), now - minute + day);
  const pauses = [{ from: now - 10 * minute, until: now - 5 * minute }];
  const paused = { ...rules, flowState: { ...runningFlow, pauses } };
  assert.equal(expiredSince(paused, now), now - day - 5 * minute);
  assert.equal(expiresAt(paused, now - 60 * minute, now), now - 55 * minute + day);
  const flow = { kind: "paused", since: now - minute } as const;
  assert.equal(expiresAt({ ...rules, flowState: { flow, pauses: [] } }, now, now), null);
});

test("each fate as the store gets it", () => {
  const one = { ...handed(), lease: 42 };
  const named = { delivery: one.id, lease: 42, lockedAt: now };
  const kept = { kind: "due", since: one.since, attempts: 1, last: one.last };
  const locked = { now, isLocked: true };
  const table: [Fate, object][] = [
    [{ kind: "acknowledged" }, { ...named, kind: "gone" }],
    [
      { kind: "dropped", reason: "Rejected" },
      { ...named, kind: "gone" },
    ],
    [
      { kind: "available", at: now + 5 },
      {
        ...{ ...named, ...kept, at: now + 5, stage: "deliver", reason: null },
        last: { ...one.last, outcome: "Released" },
      },
    ],
    [
      { kind: "renewed", until: now + 9, isLast: false },
      { ...named, ...kept, at: now + 9, stage: "deliver", reason: null },
    ],
    [
      { kind: "renewed", until: now + 9, isLast: true },
      { ...named, ...kept, at: now + 9, stage: "deliver", reason: lastReason },
    ],
    [
      { kind: "deadLetter", at: letterAt, reason: "Rejected" },
      {
        ...{ ...named, ...kept, at: letterAt, stage: "deadLetter", since: now, attempts: 0 },
        ...{ last: { ...one.last, outcome: "Rejected" }, reason: "Rejected" },
      },
    ],
    [
      { kind: "deadLetter", at: letterAt, reason: "TimeToLiveExceeded" },
      {
        ...{ ...named, ...kept, at: letterAt, stage: "deadLetter", since: now, attempts: 0 },
        reason: "TimeToLiveExceeded",
      },
    ],
  ];
  for (const [fate, settlement] of table) {
    assert.deepEqual(settlementOf(one, fate, locked), settlement, fate.kind);
  }
  const free = settlementOf(one, { kind: "acknowledged" }, { now, isLocked: false });
  assert.deepEqual(free, { kind: "gone", delivery: one.id, lease: 42 });
});

test("each fate in words", () => {
  const one = handed({ attempts: 2 });
  const table: [Fate, string][] = [
    [{ kind: "acknowledged" }, "acknowledged (delivery 2 of 10)"],
    [{ kind: "available", at: now }, "available again (delivery 2 of 10)"],
    [{ kind: "renewed", until: now, isLast: false }, "lock renewed"],
    [
      { kind: "dropped", reason: "TimeToLiveExceeded" },
      "TimeToLiveExceeded: not acknowledged within 1 d, handed out 2 times; dropped, as there is no dead-letter destination",
    ],
    [
      { kind: "deadLetter", at: now, reason: "MaxDeliveryAttemptsExceeded" },
      "MaxDeliveryAttemptsExceeded: handed out 2 of 10 times and not acknowledged; dead-lettered",
    ],
    [
      { kind: "deadLetter", at: now, reason: "Rejected" },
      "Rejected: a receiver rejected it; dead-lettered",
    ],
  ];
  for (const [fate, words] of table) assert.equal(explainFate(fate, one, rules), words);
});
