import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { SimulateOrder } from "../core/api/orders.ts";
import { healthRules } from "../core/delivery/health.ts";
import { type ChosenProfile, profileNames, profiles } from "../core/delivery/profile.ts";
import { additionMsMax, additionShareMax } from "../core/delivery/retry.ts";
import { Refusal } from "../core/refusal.ts";
import { simulate } from "./simulate.ts";

const [second, minute, hour] = [1_000, 60_000, 3_600_000];
const least = { seeded: () => ({ draw: () => 0 }) };
/** Without additions or time for answers, so that the schedule is exactly as documented. */
const bare = { answerMs: 0, seed: 0 };

async function times(order: SimulateOrder): Promise<number[]> {
  const { attempts } = await simulate({ ...bare, ...order }, least);
  return attempts.map(({ atMs }) => atMs / second);
}

const always = (does: number | string) => [{ fromMs: 0, untilMs: null, does }];

test("an endpoint that is well gets the event at once (D-3)", async () => {
  const { attempts, end, load } = await simulate({ profile: "azure", outage: [] });
  assert.deepEqual(
    attempts.map(({ number, atMs, saw }) => [number, atMs, saw]),
    [[1, 0, "200"]],
  );
  assert.equal(end.kind, "delivered");
  assert.equal(load, null);
});

test("each profile's schedule is what is simulated (P-4, P-5, P-6)", async () => {
  const first = [0, 10, 40, 100, 400, 1000, 2800, 6400];
  const law: Partial<Record<ChosenProfile, readonly number[]>> = {
    "preview-2017": first,
    azure: [...first, 17_200, 38_800, 82_000],
    "iot-edge": [0, 60, 660, 1260, 1860, 2460, 3060, 3660, 4260, 4860, 5460, 6060, 6660],
  };
  for (const [profile, seconds] of Object.entries(law)) {
    assert.deepEqual(
      await times({ profile: profile as ChosenProfile, outage: always(500) }),
      seconds,
      profile,
    );
  }
});

test("limits, statuses and silences end a simulation as they end a delivery", async () => {
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
    const { attempts, end } = await simulate({ profile: "azure", ...order });
    assert.deepEqual([end.kind, end.reason, attempts.length], [kind, reason, count]);
  }
});

test("a dead letter is written five minutes after the end (L-3)", async () => {
  const { end } = await simulate(
    { ...bare, profile: "azure", outage: always(400), deadLetter: true },
    least,
  );
  assert.deepEqual([end.atMs, end.writtenAtMs], [0, 5 * minute]);
  assert.match(end.words, /dead letter to be written after 5 min$/);
});

test("no answer takes the profile's wait, and the retry counts from its end (P-2, R-1)", async () => {
  assert.deepEqual(
    (await times({ profile: "azure", outage: always("timeout") })).slice(0, 3),
    [0, 40, 100],
  );
  assert.deepEqual(
    (await times({ profile: "azure", outage: always("refused") })).slice(0, 3),
    [0, 10, 40],
  );
});

test("Retry-After and the smallest wait by status are heeded (P-8)", async () => {
  const spell = { fromMs: 0, untilMs: null, does: 503 };
  assert.deepEqual((await times({ profile: "azure", outage: [spell] })).slice(0, 3), [0, 30, 60]);
  const asked = { ...spell, retryAfterMs: 90 * second };
  assert.deepEqual((await times({ profile: "azure", outage: [asked] })).slice(0, 3), [0, 90, 180]);
});

test("spells follow each other, and when they are over the event arrives", async () => {
  const { attempts, end, returnsAtMs } = await simulate(
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

test("the words of an attempt count from the publish, and name no date", async () => {
  const { attempts } = await simulate({ profile: "azure", outage: always(503) });
  assert.match(
    attempts[0]?.words ?? "",
    /^503: at least 30 s; .*; next attempt after 31 s 550 ms;/,
  );
  assert.ok(attempts.every(({ words }) => !/\d{4}-\d\d-\d\d/.test(words)));
});

test("a backlog turns the endpoint unhealthy, and nothing but probes reach it (H-1, H-2)", async () => {
  const outage = [{ fromMs: 0, untilMs: 2 * hour, does: 503 }];
  const { attempts, saved, lost, load } = await simulate({
    profile: "azure",
    outage,
    backlog: 1000,
  });
  assert.equal(saved, 1000);
  assert.equal(lost, 0);
  assert.ok(
    attempts.some(({ heldMs }) => heldMs > 0),
    "the event that is followed waits, too",
  );
  assert.match(attempts.find(({ heldMs }) => heldMs > 0)?.words ?? "", /^held back for /);
  const [first] = load?.filter(({ requests }) => requests > 0) ?? [];
  const waitedMs = (first?.atMs ?? 0) - 2 * hour;
  assert.ok(waitedMs <= healthRules.waitMaxMs, "the probe comes within the longest wait");
  assert.equal(
    load?.reduce((sum, { requests }) => sum + requests, 0),
    1001,
  );
});

test("what expires while the endpoint is unhealthy is lost, and costs no attempts (H-3, R-6)", async () => {
  const outage = [{ fromMs: 0, untilMs: 3 * hour, does: 500 }];
  const order = { profile: "azure", outage, backlog: 300, eventTimeToLiveInMinutes: 120 };
  const { saved, lost, end } = await simulate(order);
  assert.equal(saved + lost, 300);
  assert.ok(lost > 100 && saved > 50, `${saved} saved, ${lost} lost`);
  assert.equal(end.reason, "TimeToLiveExceeded");
});

test("batches make fewer requests of the same backlog (B-1)", async () => {
  const outage = [{ fromMs: 0, untilMs: hour, does: 503 }];
  const order = { profile: "azure", outage, backlog: 500 };
  const count = async (more: Partial<SimulateOrder>) => {
    const { load } = await simulate({ ...order, ...more });
    return load?.reduce((sum, { requests }) => sum + requests, 0) ?? 0;
  };
  assert.equal(await count({}), 501);
  assert.ok((await count({ batch: { maxEventsPerBatch: 50 } })) < 60);
  const small = await count({ batch: { preferredBatchSizeInKilobytes: 5 } });
  assert.ok(small > 100 && small < 250, `${small} requests of four events each`);
});

test("without delayed delivery a backlog is met on the schedule alone (P-10)", async () => {
  const outage = [{ fromMs: 0, untilMs: 10 * minute, does: 503 }];
  const { attempts, saved } = await simulate({ profile: "ga-2018", outage, backlog: 200 });
  assert.ok(attempts.every(({ heldMs }) => heldMs === 0));
  assert.equal(saved, 200);
});

test("whatever is asked, every event comes to one end, and attempts keep the schedule (R-1, R-2)", async () => {
  const spells = fc.array(
    fc.record({
      lengthMs: fc.integer({ min: 1, max: 6 * hour }),
      does: fc.constantFrom<number | string>(200, 400, 404, 429, 500, 503, "timeout", "refused"),
    }),
    { maxLength: 4 },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...profileNames),
      spells,
      fc.integer({ min: 0, max: 200 }),
      fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined }),
      async (profile, lengths, backlog, maxEventsPerBatch) => {
        let fromMs = 0;
        const outage = lengths.map(({ lengthMs, does }) => {
          const spell = { fromMs, untilMs: fromMs + lengthMs, does };
          fromMs += lengthMs;
          return spell;
        });
        const isBatching = profiles[profile].batching && maxEventsPerBatch !== undefined;
        const batch = isBatching ? { batch: { maxEventsPerBatch } } : {};
        const result = await simulate({ profile, outage, backlog, ...batch });
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
          await simulate({ profile, outage, backlog, ...batch }),
          result,
          "again the same",
        );
      },
    ),
    { numRuns: 60 },
  );
});

test("without a seed each addition is half its largest (R-2)", async () => {
  const { attempts } = await simulate({ profile: "azure", outage: always(500), answerMs: 0 });
  const step = 10 * second;
  const additionMs = Math.min(step * additionShareMax, additionMsMax) / 2;
  assert.equal(attempts[1]?.atMs, step + additionMs);
});

test("an order that cannot be is refused, naming the member and what is allowed", async () => {
  const outage = always(500);
  const table: [unknown, RegExp][] = [
    [null, /^the order must be an object, and is null$/],
    [{ outage }, /^profile must be preview-2017, /],
    [{ profile: "azur", outage }, /^profile must be .*, and is "azur"; did you mean azure\?$/],
    [
      { profile: "azure", outrage: [] },
      /^there is no member "outrage" in the order; did you mean outage/,
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
      /^outage\[0\]\.untilMs must be later than 5, and is the number 5$/,
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
      /^maxDeliveryAttempts must be left out: the profile ga-2018 does not support a number/,
    ],
    [
      { profile: "ga-2018", outage, eventTimeToLiveInMinutes: 3 },
      /does not support a time to live/,
    ],
    [{ profile: "ga-2018", outage, deadLetter: true }, /does not support dead letters/],
    [{ profile: "ga-2018", outage, batch: { maxEventsPerBatch: 2 } }, /does not support batches/],
    [
      { profile: "azure", outage, destination: "queue" },
      /^destination must be webhook or resource/,
    ],
    [{ profile: "azure", outage, seed: -1 }, /^seed must be a whole number/],
    [{ profile: "azure", outage, allowedRate: 0 }, /^allowedRate must be a whole number from 1 /],
    [{ profile: "azure", outage, deadLetterOutage: outage }, /^deadLetterOutage must be left out/],
    [{ profile: "azure", outage, deadLetter: "yes" }, /^deadLetter must be true or false/],
  ];
  for (const [order, words] of table) {
    await assert.rejects(
      simulate(order),
      (error) =>
        error instanceof Refusal && error.code === "InvalidSetting" && words.test(error.message),
      JSON.stringify(order),
    );
  }
});

test("a long backlog is played out, and every event of it has one end", async () => {
  const outage = [{ fromMs: 0, untilMs: 2 * hour, does: 503 }];
  const { saved, lost } = await simulate({ profile: "azure", outage, backlog: 10_000 });
  assert.equal(saved + lost, 10_000);
});

test("an order that would take too many requests is refused", async () => {
  const outage = [{ fromMs: 0, untilMs: hour, does: 500 }];
  const order = { profile: "ga-2018", outage, backlog: 100 };
  await assert.rejects(simulate(order, { requestsMax: 150 }), {
    code: "InvalidSetting",
    target: "backlog",
    message: "backlog must be smaller: this would take more than 150 requests",
  });
});

test("the event loop is given to others while a long one is played", async () => {
  const outage = [{ fromMs: 0, untilMs: 10 * hour, does: 503 }];
  let turns = 0;
  let isPlaying = true;
  const turn = () => {
    turns += 1;
    if (isPlaying) setImmediate(turn);
  };
  setImmediate(turn);
  await simulate({ profile: "ga-2018", outage, backlog: 2_000 });
  isPlaying = false;
  assert.ok(turns > 10, `${turns} turns`);
});

test("an answer that comes late is taken, if it is a success (R-4)", async () => {
  const slow = [{ fromMs: 0, untilMs: null, does: 200, answerMs: 45 * second }];
  const { attempts, end } = await simulate({ ...bare, profile: "azure", outage: slow }, least);
  // The retry is due 10 s after the timeout; the answer comes 15 s after it, and so too late.
  assert.deepEqual(
    attempts.map(({ atMs, saw, lateAtMs }) => [atMs / second, saw, lateAtMs]),
    [
      [0, "timeout", null],
      [40, "timeout", 85 * second],
    ],
  );
  assert.deepEqual([end.kind, end.atMs], ["delivered", 85 * second]);
  const sooner = await simulate({ ...bare, profile: "azure", outage: [], answerMs: 35_000 }, least);
  assert.deepEqual([sooner.attemptsMade, sooner.end.atMs], [1, 35_000]);
  const never = await simulate({ profile: "azure", outage: [], answerMs: 200_000 });
  assert.equal(never.end.reason, "TimeToLiveExceeded");
});

test("a dead-letter store that is away is tried again, until its time is over (L-4)", async () => {
  const outage = always(400);
  const order = { ...bare, profile: "azure", outage, deadLetter: true };
  const away = (untilMs: number | null) => [{ fromMs: 0, untilMs, does: 503 }];
  const { end, deadLetters } = await simulate(
    { ...order, deadLetterOutage: away(7 * minute) },
    least,
  );
  assert.deepEqual(
    deadLetters?.attempts.map(({ number, atMs, saw }) => [number, atMs / second, saw]),
    [
      [1, 300, "503"],
      [2, 310, "503"],
      [3, 370, "503"],
      [4, 670, "201"],
    ],
  );
  assert.deepEqual([end.kind, end.atMs, end.writtenAtMs], ["deadLettered", 0, 670 * second]);
  assert.deepEqual([deadLetters?.written, deadLetters?.lost], [1, 0]);
  const lost = await simulate({ ...order, deadLetterOutage: away(null) }, least);
  assert.equal(lost.end.writtenAtMs, null);
  assert.ok((lost.deadLetters?.lostAtMs ?? 0) >= 4 * hour);
});

test("an endpoint with a rate gets no more than it allows, however many wait", async () => {
  const outage = [{ fromMs: 0, untilMs: 10 * minute, does: 503 }];
  const order = { profile: "azure", outage, backlog: 100 };
  const free = await simulate(order);
  const paced = await simulate({ ...order, allowedRate: 30 });
  assert.ok(free.peakPerSecond > 1);
  assert.equal(paced.peakPerSecond, 1);
  assert.equal(paced.saved, 100);
});

test("of very many attempts the first are shown, and all are counted", async () => {
  const order = { profile: "iot-edge", maxDeliveryAttempts: 5_000, outage: always(500) };
  const { attempts, attemptsMade } = await simulate({
    ...order,
    eventTimeToLiveInMinutes: 60_000,
  });
  assert.deepEqual([attempts.length, attemptsMade], [2_000, 5_000]);
});
