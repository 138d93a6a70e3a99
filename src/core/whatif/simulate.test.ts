import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { SimulateOrder } from "../api/orders.ts";
import { healthRules } from "../delivery/health.ts";
import { type ProfileName, profileNames, profiles } from "../delivery/profile.ts";
import { additionMsMax, additionShareMax } from "../delivery/retry.ts";
import { Refusal } from "../refusal.ts";
import { simulate } from "./simulate.ts";

const [second, minute, hour] = [1_000, 60_000, 3_600_000];
const least = { seeded: () => ({ draw: () => 0 }) };
/** Without additions or time for answers, so that the schedule is seen as it is written. */
const bare = { answerMs: 0, seed: 0 };

function times(order: SimulateOrder): number[] {
  return simulate({ ...bare, ...order }, least).attempts.map(({ atMs }) => atMs / second);
}

const always = (does: number | string) => [{ fromMs: 0, untilMs: null, does }];

test("an endpoint that is well gets the event at once (D-3)", () => {
  const { attempts, end, load } = simulate({ profile: "azure", outage: [] });
  assert.deepEqual(
    attempts.map(({ number, atMs, saw }) => [number, atMs, saw]),
    [[1, 0, "200"]],
  );
  assert.equal(end.kind, "delivered");
  assert.equal(load, null);
});

test("each profile's schedule is what is simulated (P-4, P-5, P-6)", () => {
  const first = [0, 10, 40, 100, 400, 1000, 2800, 6400];
  const law: Partial<Record<ProfileName, readonly number[]>> = {
    "preview-2017": first,
    azure: [...first, 17_200, 38_800, 82_000],
    "iot-edge": [0, 60, 660, 1260, 1860, 2460, 3060, 3660, 4260, 4860, 5460, 6060, 6660],
  };
  for (const [profile, seconds] of Object.entries(law)) {
    assert.deepEqual(times({ profile, outage: always(500) }), seconds, profile);
  }
});

test("limits, statuses and silences end a simulation as they end a delivery", () => {
  const table: [Partial<SimulateOrder>, string, string, number][] = [
    [{ outage: always(500) }, "dropped", "TimeToLiveExceeded", 11],
    [{ outage: always(500), deadLetter: true }, "deadLettered", "TimeToLiveExceeded", 11],
    [{ outage: always(500), maxDeliveryAttempts: 3 }, "dropped", "MaxDeliveryAttemptsExceeded", 3],
    [{ outage: always(500), eventTimeToLiveInMinutes: 10 }, "dropped", "TimeToLiveExceeded", 5],
    [{ outage: always(413) }, "dropped", "UndeliverableDueToHttpRequestEntityTooLarge", 1],
    [{ outage: always(401) }, "dropped", "UndeliverableDueToHttpUnauthorized", 1],
    [
      { outage: always(401), destination: "resource", maxDeliveryAttempts: 2 },
      "dropped",
      "MaxDeliveryAttemptsExceeded",
      2,
    ],
    [{ outage: always("timeout") }, "dropped", "TimeToLiveExceeded", 11],
  ];
  for (const [order, kind, reason, count] of table) {
    const { attempts, end } = simulate({ profile: "azure", ...order });
    assert.deepEqual([end.kind, end.reason, attempts.length], [kind, reason, count]);
  }
});

test("a dead letter is written five minutes after the end (L-3)", () => {
  const { end } = simulate(
    { ...bare, profile: "azure", outage: always(400), deadLetter: true },
    least,
  );
  assert.deepEqual([end.atMs, end.writtenAtMs], [0, 5 * minute]);
  assert.match(end.words, /dead letter to be written after 5 min$/);
});

test("no answer takes the profile's wait, and the retry counts from its end (P-2, R-1)", () => {
  assert.deepEqual(
    times({ profile: "azure", outage: always("timeout") }).slice(0, 3),
    [0, 40, 100],
  );
  assert.deepEqual(times({ profile: "azure", outage: always("refused") }).slice(0, 3), [0, 10, 40]);
});

test("Retry-After and the smallest wait by status are heeded (P-8)", () => {
  const spell = { fromMs: 0, untilMs: null, does: 503 };
  assert.deepEqual(times({ profile: "azure", outage: [spell] }).slice(0, 3), [0, 30, 60]);
  const asked = { ...spell, retryAfterMs: 90 * second };
  assert.deepEqual(times({ profile: "azure", outage: [asked] }).slice(0, 3), [0, 90, 180]);
});

test("spells follow each other, and when they are over the event arrives", () => {
  const { attempts, end, returnsAtMs } = simulate(
    {
      ...bare,
      profile: "azure",
      outage: [
        { fromMs: 0, untilMs: 2 * hour, does: "refused" },
        { fromMs: 2 * hour, untilMs: 5 * hour, does: 503 },
      ],
    },
    least,
  );
  const saw = attempts.map((each) => each.saw);
  assert.deepEqual(saw, [...Array<string>(8).fill("refused"), "503", "200"]);
  assert.deepEqual([end.kind, end.atMs], ["delivered", 38_800 * second]);
  assert.equal(returnsAtMs, 5 * hour);
});

test("the words of an attempt count from the publish, and name no date", () => {
  const { attempts } = simulate({ profile: "azure", outage: always(503) });
  assert.match(
    attempts[0]?.words ?? "",
    /^503: at least 30 s; .*; next attempt after 31 s 550 ms;/,
  );
  assert.ok(attempts.every(({ words }) => !/\d{4}-\d\d-\d\d/.test(words)));
});

test("a backlog turns the endpoint sick, and nothing but probes reach it (H-1, H-2)", () => {
  const outage = [{ fromMs: 0, untilMs: 2 * hour, does: 503 }];
  const { attempts, saved, lost, load } = simulate({ profile: "azure", outage, backlog: 1000 });
  assert.equal(saved, 1000);
  assert.equal(lost, 0);
  assert.ok(
    attempts.some(({ heldMs }) => heldMs > 0),
    "the event that is followed waits, too",
  );
  assert.match(attempts.find(({ heldMs }) => heldMs > 0)?.words ?? "", /^held back for /);
  const [first] = load?.filter(({ requests }) => requests > 0) ?? [];
  const sickMs = (first?.atMs ?? 0) - 2 * hour;
  assert.ok(sickMs <= healthRules.waitMaxMs, "the probe comes within the longest wait");
  assert.equal(
    load?.reduce((sum, { requests }) => sum + requests, 0),
    1001,
  );
});

test("what expires while the endpoint is sick is lost, and costs no attempts (H-3, R-6)", () => {
  const outage = [{ fromMs: 0, untilMs: 3 * hour, does: 500 }];
  const order = { profile: "azure", outage, backlog: 300, eventTimeToLiveInMinutes: 120 };
  const { saved, lost, end } = simulate(order);
  assert.equal(saved + lost, 300);
  assert.ok(lost > 100 && saved > 50, `${saved} saved, ${lost} lost`);
  assert.equal(end.reason, "TimeToLiveExceeded");
});

test("batches make fewer requests of the same backlog (B-1)", () => {
  const outage = [{ fromMs: 0, untilMs: hour, does: 503 }];
  const order = { profile: "azure", outage, backlog: 500 };
  const count = (more: Partial<SimulateOrder>) =>
    simulate({ ...order, ...more }).load?.reduce((sum, { requests }) => sum + requests, 0) ?? 0;
  assert.equal(count({}), 501);
  assert.ok(count({ batch: { maxEventsPerBatch: 50 } }) < 60);
  const small = count({ batch: { preferredBatchSizeInKilobytes: 5 } });
  assert.ok(small > 100 && small < 250, `${small} requests of four events each`);
});

test("without delayed delivery a backlog is met on the schedule alone (P-10)", () => {
  const outage = [{ fromMs: 0, untilMs: 10 * minute, does: 503 }];
  const { attempts, saved } = simulate({ profile: "ga-2018", outage, backlog: 200 });
  assert.ok(attempts.every(({ heldMs }) => heldMs === 0));
  assert.equal(saved, 200);
});

test("whatever is asked, every event comes to one end, and attempts keep the schedule (R-1, R-2)", () => {
  const spells = fc.array(
    fc.record({
      lengthMs: fc.integer({ min: 1, max: 6 * hour }),
      does: fc.constantFrom<number | string>(200, 400, 404, 429, 500, 503, "timeout", "refused"),
    }),
    { maxLength: 4 },
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...profileNames),
      spells,
      fc.integer({ min: 0, max: 200 }),
      fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined }),
      (profile, lengths, backlog, maxEventsPerBatch) => {
        let fromMs = 0;
        const outage = lengths.map(({ lengthMs, does }) => {
          const spell = { fromMs, untilMs: fromMs + lengthMs, does };
          fromMs += lengthMs;
          return spell;
        });
        const isBatching = profiles[profile].batching && maxEventsPerBatch !== undefined;
        const batch = isBatching ? { batch: { maxEventsPerBatch } } : {};
        const result = simulate({ profile, outage, backlog, ...batch });
        assert.equal(result.saved + result.lost, backlog);
        for (const [index, { number, atMs, heldMs }] of result.attempts.entries()) {
          assert.equal(number, index + 1);
          const before = result.attempts[index - 1];
          assert.equal(atMs - heldMs, before === undefined ? 0 : before.nextDueAtMs);
          if (before === undefined) continue;
          const { scheduleMs } = profiles[profile];
          const step = scheduleMs[Math.min(index, scheduleMs.length) - 1] as number;
          assert.ok(atMs - before.atMs >= step);
        }
        assert.deepEqual(
          simulate({ profile, outage, backlog, ...batch }),
          result,
          "again the same",
        );
      },
    ),
    { numRuns: 60 },
  );
});

test("without a seed each addition is half its largest (R-2)", () => {
  const { attempts } = simulate({ profile: "azure", outage: always(500), answerMs: 0 });
  const step = 10 * second;
  const additionMs = Math.min(step * additionShareMax, additionMsMax) / 2;
  assert.equal(attempts[1]?.atMs, step + additionMs);
});

test("an order that cannot be is refused, naming the member and what is allowed", () => {
  const outage = always(500);
  const table: [unknown, RegExp][] = [
    [null, /^order must be an object, and is null$/],
    [{ outage }, /^profile must be preview-2017, /],
    [{ profile: "azur", outage }, /^there is no profile "azur"; did you mean azure\?$/],
    [
      { profile: "azure", outrage: [] },
      /^there is no member "outrage" in order; did you mean outage/,
    ],
    [
      { profile: "azure", outage: 3 },
      /^outage must be a list of at most 100 spells, and is the num/,
    ],
    [
      { profile: "azure", outage: [{ fromMs: 0, does: 99 }] },
      /^outage\[0\]\.does must be a status fr/,
    ],
    [
      { profile: "azure", outage: [{ fromMs: 0, does: "down" }] },
      /or timeout, refused, dns or tls, and/,
    ],
    [
      { profile: "azure", outage: [{ fromMs: 5, untilMs: 5, does: 500 }] },
      /^outage\[0\]\.untilMs must be a whole number from 6 to /,
    ],
    [
      { profile: "azure", outage: [...outage, { fromMs: 9, untilMs: 10, does: 500 }] },
      /^outage must be spells that do not overlap/,
    ],
    [
      { profile: "azure", outage, backlog: 5 },
      /^backlog must be left out: the endpoint .* never ret/,
    ],
    [{ profile: "azure", outage: [], backlog: 1e9 }, /^backlog must be a whole number from 0 to/],
    [
      { profile: "azure", outage, maxDeliveryAttempts: 31 },
      /maxDeliveryAttempts must be a whole nu/,
    ],
    [
      { profile: "ga-2018", outage, maxDeliveryAttempts: 3 },
      /^maxDeliveryAttempts must be left out: the profile ga-2018 does not know a number/,
    ],
    [{ profile: "ga-2018", outage, eventTimeToLiveInMinutes: 3 }, /does not know a time to live/],
    [{ profile: "ga-2018", outage, deadLetter: true }, /does not know dead letters/],
    [{ profile: "ga-2018", outage, batch: { maxEventsPerBatch: 2 } }, /does not know batches/],
    [
      { profile: "azure", outage, destination: "queue" },
      /^destination must be webhook or resource/,
    ],
    [{ profile: "azure", outage, seed: 1 }, /^seed must be left out/],
    [{ profile: "azure", outage, deadLetter: "yes" }, /^deadLetter must be true or false/],
  ];
  for (const [order, words] of table) {
    assert.throws(
      () => simulate(order),
      (error) =>
        error instanceof Refusal && error.code === "InvalidSetting" && words.test(error.message),
      JSON.stringify(order),
    );
  }
});

test("a backlog of the largest size is played out in a moment", () => {
  const outage = [{ fromMs: 0, untilMs: 2 * hour, does: 503 }];
  const { saved, lost } = simulate({ profile: "azure", outage, backlog: 100_000 });
  assert.equal(saved + lost, 100_000);
});
